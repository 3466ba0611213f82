//! Runs the tests in files with the engine that the host decides with: a rule whose tests fail is not written.

use serde::Deserialize;
use tillgate_engine::tests::text;

use super::folder::{File, Files};
use super::kind::Kind;

#[derive(Deserialize)]
struct Report {
    failed: Vec<Failed>,
}

#[derive(Deserialize)]
struct Failed {
    index: usize,
    name: String,
    message: String,
}

/// Returns a line for each failing test.
pub(super) fn failing(files: &Files) -> Vec<String> {
    let of_rules = files.iter().filter(|(kind, _)| kind.has_tests());
    let all = of_rules.flat_map(|(kind, files)| files.values().map(|file| (*kind, file)));
    all.flat_map(|(kind, file)| failing_of(kind, file))
        .collect()
}

fn failing_of(kind: Kind, file: &File) -> Vec<String> {
    let begin: &[u8] = match kind {
        Kind::Projects => b"{\"project\":",
        _ => b"{\"condition\":",
    };
    let rule = file.says.document.members.to_json();
    let request = [begin, &rule, b"}"].concat();
    let mut answer = Vec::new();
    if let Err(error) = text::answer(&request, &mut answer) {
        let faults = error.faults.iter();
        return faults
            .map(|fault| format!("{}: {fault}", file.name))
            .collect();
    }
    let report: Option<Report> = serde_json::from_slice(&answer).ok();
    let failed = report.into_iter().flat_map(|report| report.failed);
    let line = |failed: Failed| {
        let name = serde_json::Value::from(failed.name);
        format!(
            "{}: $.tests[{}] {name}: {}",
            file.name, failed.index, failed.message
        )
    };
    failed.map(line).collect()
}
