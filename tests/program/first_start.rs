//! The first start of a host: it works in any folder and never overwrites what is there.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::host::{Host, Program, client, read};
use crate::support::wait::output;

fn serve(folder: &Path, store: &str) -> Program {
    let mut command = Program::command();
    command
        .current_dir(folder)
        .args(["serve", "--listen", "127.0.0.1:0", "--store", store]);
    Program::spawn(&mut command, "")
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Program::command();
    let Output { status, stderr, .. } = output(command.current_dir(folder).args(arguments));
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_store_is_made_in_a_folder_that_is_named_in_any_way() {
    let folder = tempfile::tempdir().unwrap();
    for store in ["plain", "./dotted", "one/in/another"] {
        let mut program = serve(folder.path(), &format!("embedded:{store}"));
        assert_eq!(program.terminate(), Some(0), "{store}");
        assert!(folder.path().join(store).join("tillgate.db").exists());
    }
}

/// Returns the signing keys that a host publishes.
async fn published(url: &str) -> [Value; 2] {
    let http = client();
    let mut published = [Value::Null, Value::Null];
    let paths = ["/.well-known/jwks.json", "/oauth2/v1/certs"];
    for (path, keys) in paths.iter().zip(&mut published) {
        let answer = http.get(format!("{url}{path}")).send().await.unwrap();
        *keys = read(answer).await.1;
    }
    published
}

#[tokio::test]
async fn each_first_start_makes_signing_keys_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let one = Program::serve_in_memory(folder.path());
    let other = Program::serve_in_memory(folder.path());
    let (one, other) = (published(&one.url).await, published(&other.url).await);
    assert_eq!(one[0]["keys"].as_array().unwrap().len(), 1);
    assert_eq!(one[1].as_object().unwrap().len(), 1);
    assert_ne!(one[0], other[0]);
    assert_ne!(one[1], other[1]);
}

#[tokio::test]
async fn hosts_of_tests_sign_with_the_keys_that_they_are_given() {
    let (one, other) = (Host::start().await, Host::start().await);
    assert_eq!(published(&one.url).await, published(&other.url).await);
}

#[test]
fn a_store_without_its_file_is_not_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = serve(folder.path(), "embedded:store");
    program.kill();
    let file = folder.path().join("store/tillgate.db");
    let log = folder.path().join("store/tillgate.db-wal");
    let committed = fs::read(&log).unwrap();
    assert!(!committed.is_empty());
    for empty in [false, true] {
        if empty {
            fs::write(&file, "").unwrap()
        } else {
            fs::remove_file(&file).unwrap()
        }
        let arguments = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--store",
            "embedded:store",
        ];
        let (code, told) = run(folder.path(), &arguments);
        assert_eq!(code, Some(1), "{told}");
        assert!(
            told.contains("the store in store lacks its file tillgate.db"),
            "{told}"
        );
        assert_eq!(fs::read(&log).unwrap(), committed);
    }
}

#[test]
fn the_credentials_of_another_store_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("operator.json");
    fs::write(&file, "another").unwrap();
    let mut command = Program::command();
    command.current_dir(folder.path()).args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory:",
        "--operator-file",
        "operator.json",
    ]);
    let mut program = Program::spawn(&mut command, "");
    assert_eq!(program.terminate(), Some(0));
    let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert!(written["clientSecret"].is_string());
    let kept: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| *path != file)
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(kept, ["another"]);
}

#[test]
fn a_demo_takes_no_file_of_others_for_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".env");
    fs::write(&file, "MY=precious\n").unwrap();
    let arguments = ["demo", "--listen", "127.0.0.1:0", "--env-file", ".env"];
    let (code, told) = run(folder.path(), &arguments);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains(".env exists and was not written by a demo"),
        "{told}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "MY=precious\n");
}

#[test]
fn a_demo_that_a_shell_uses_prints_no_deliveries() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Program::command();
    let arguments = ["demo", "--listen", "127.0.0.1:0", "--env-file", ".env"];
    command.current_dir(folder.path()).args(arguments);
    let mut demo = Program::spawn(&mut command, "curl ");
    assert!(
        demo.printed
            .contains("\nThe page lists the deliveries to the webhooks. "),
        "{}",
        demo.printed
    );
    assert_eq!(demo.terminate(), Some(0));
    assert!(!folder.path().join(".env").exists());
}
