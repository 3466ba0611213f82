//! Control characters, and characters that break or reverse a line, are escaped in the log and in the output of commands.

use std::fs::File;

use serde_json::Value;

use crate::support::host::Program;
use crate::support::wait::output;

/// A valid but hostile file name.
const NAME: &str = "a\u{1b}[31m\n\u{202e}\u{9b}\u{2028}b.json";
const SHOWN: &str = r"a\u001b[31m\u000a\u202e\u009b\u2028b.json";

/// Returns the log of a host whose operator's credentials are in a file of this name.
fn log(format: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = Program::command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", "memory:"])
        .arg("--operator-file")
        .arg(folder.path().join(NAME))
        .env("TILLGATE_LOG__FORMAT", format)
        .env("TILLGATE_LOG__LEVEL", "info")
        .stderr(File::create(&log).unwrap());
    let mut program = Program::spawn(&mut command, "");
    assert_eq!(program.terminate(), Some(0));
    std::fs::read_to_string(log).unwrap()
}

#[test]
fn a_value_in_the_log_neither_ends_its_line_nor_is_acted_on() {
    let text = log("text");
    let line = text.lines().find(|line| line.contains(SHOWN));
    let line = line.unwrap_or_else(|| panic!("{text:?}"));
    assert!(
        line.contains("the operator's credentials were written"),
        "{line}"
    );
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}

#[test]
fn a_value_in_the_log_in_json_is_escaped_and_the_same() {
    let text = log("json");
    assert!(
        !text.contains(['\u{202e}', '\u{9b}', '\u{2028}']),
        "{text:?}"
    );
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let files: Vec<String> = lines
        .filter_map(|line| Some(line["fields"]["file"].as_str()?.to_owned()))
        .collect();
    assert!(files.iter().any(|file| file.ends_with(NAME)), "{files:?}");
}

#[test]
fn commands_name_a_file_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(NAME);
    let (parent, missing) = (folder.path().display(), "No such file or directory");
    let run = |arguments: &[&str]| output(Program::command().args(arguments).arg(&file));
    for command in ["lint", "test"] {
        let refused = run(&[command]);
        assert_eq!(refused.status.code(), Some(1));
        let told = format!("tillgate: {parent}/{SHOWN} cannot be read: {missing} (os error 2)\n");
        assert_eq!(String::from_utf8(refused.stderr).unwrap(), told);
    }
    std::fs::write(&file, "[]").unwrap();
    let refused = run(&["lint"]);
    assert_eq!(refused.status.code(), Some(3));
    let told = String::from_utf8(refused.stderr).unwrap();
    let begin = format!("tillgate: {parent}/{SHOWN} is not a catalog: ");
    assert!(told.starts_with(&begin), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    let store = format!("embedded:{}/store", folder.path().display());
    let made = run(&["operator", "--store", &store, "--operator-file"]);
    assert_eq!(made.status.code(), Some(1));
    let told = format!("tillgate: {parent}/{SHOWN} already exists: name another file\n");
    assert_eq!(String::from_utf8(made.stderr).unwrap(), told);
}
