//! README's lines, run exactly as they stand: each block of `bash` against the demo, its output compared with the block
//! of `json` after it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::host::Program;

/// The blocks of bash and of JSON, in order.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some((_, block)), _) => *block += &format!("{line}\n"),
            (None, Some(language)) => open = Some((language.to_owned(), String::new())),
            (None, None) => {}
        }
    }
    blocks.retain(|(language, _)| language == "bash" || language == "json");
    blocks
}

fn printed(demo: &Program, name: &str) -> String {
    let lines = demo.printed.lines().map(str::trim);
    let value = lines.filter_map(|line| line.strip_prefix(name)).next();
    value.expect("the demo prints it").trim().to_owned()
}

#[test]
fn every_line_of_the_readme_does_what_it_says() {
    let demo = Program::demo();
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let blocks = blocks(&readme);
    let programs = Path::new(env!("CARGO_BIN_EXE_tillgate")).parent().unwrap();
    let mut script = format!("set -euo pipefail\nPATH='{}':$PATH\n", programs.display());
    let mut expected = Vec::new();
    for (language, block) in &blocks {
        if language == "bash" {
            script += &format!("{block}\nprintf '\\036'\n");
            expected.push(None);
        } else {
            *expected.last_mut().unwrap() = Some(serde_json::from_str::<Value>(block).unwrap());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials.json");
    let content = json!({
        "clientId": printed(&demo, "client id"), "clientSecret": printed(&demo, "secret"),
        "tokenUrl": printed(&demo, "token URL"), "audience": printed(&demo, "audience"),
    });
    std::fs::write(&credentials, content.to_string()).unwrap();
    let output = Command::new("bash")
        .args(["-c", &script])
        .env("TILLGATE_CREDENTIALS", credentials)
        .env("URL", &demo.url)
        .env("CLIENT_ID", printed(&demo, "client id"))
        .env("CLIENT_SECRET", printed(&demo, "secret"))
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<_> = answers.split_terminator('\u{1e}').collect();
    assert_eq!(answers.len(), expected.len());
    assert!(
        expected.iter().flatten().count() >= 10,
        "the README shows what comes back"
    );
    for (answer, expected) in answers.iter().zip(expected) {
        if let Some(expected) = expected {
            let answer: Value = serde_json::from_str(answer).expect(answer);
            assert_eq!(answer, expected);
        }
    }
}
