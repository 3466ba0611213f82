//! `tillgate test`: runs the tests beside the rules of a catalog, without a host. The engine is the one that hosts decide with.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use tillgate_engine::Fault;
use tillgate_engine::json::{Document, Faults};
use tillgate_engine::tests::{self, CatalogTests};

use super::input::read;
use super::output::{on_line, print, tell};
use super::{FOUND, MALFORMED};

#[derive(Args, Debug)]
pub(super) struct Test {
    /// Catalog with its tests, the answer of GET /api/v1/catalog?tests=true; - reads it from stdin
    #[arg(value_name = "CATALOG.json")]
    catalog: PathBuf,
    /// How to print what comes of the tests
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A line for each test that fails, and how many there are
    Text,
    /// One JSON object: how many passed, and those that failed
    Json,
    /// JUnit's XML, as pipelines read it
    Junit,
}

/// Runs the tests. Answers the exit code: 0 when all pass.
pub(super) fn run(arguments: &Test) -> Result<ExitCode, String> {
    let text = read(&arguments.catalog)?;
    let read = Document::parse_up_to(&text, usize::MAX).and_then(|document| {
        let mut faults = Faults::default();
        let tests = CatalogTests::read(document.root(), &mut faults);
        faults.none_or_error().map(|()| tests)
    });
    let tests = match read {
        Ok(tests) => tests,
        Err(error) => {
            tell(&malformed(&arguments.catalog, &error.faults));
            return Ok(ExitCode::from(MALFORMED));
        }
    };
    print(&match arguments.format {
        Format::Text => as_text(&tests),
        Format::Json => as_json(&tests),
        Format::Junit => as_junit(&tests)?,
    })?;
    let has_failed = tests.run().any(|(_, report)| !report.failed.is_empty());
    Ok(match has_failed {
        true => ExitCode::from(FOUND),
        false => ExitCode::SUCCESS,
    })
}

fn malformed(file: &Path, faults: &[Fault]) -> String {
    let mut told = format!("{} is not a catalog with tests:", file.display());
    for fault in faults {
        let _ = write!(told, "\n  {}", on_line(&fault.to_string()));
    }
    told
}

fn as_text(tests: &CatalogTests<'_>) -> String {
    let (mut text, mut passed, mut failed) = (String::new(), 0, 0);
    for (document, report) in tests.run() {
        passed += report.passed;
        failed += report.failed.len();
        for failure in &report.failed {
            let (kind, id, index) = (document.kind(), &document.id, failure.index);
            let (name, message) = (on_line(&failure.test.name), failure.message());
            let _ = writeln!(text, "{kind} {id}, tests[{index}] \"{name}\": {message}");
        }
    }
    let _ = writeln!(text, "{passed} passed, {failed} failed");
    text
}

fn as_json(tests: &CatalogTests<'_>) -> String {
    let mut json = Vec::new();
    tests::text::write_catalog(tests, &mut json);
    json.push(b'\n');
    String::from_utf8_lossy(&json).into_owned()
}

/// A suite for each condition or project that has tests.
fn as_junit(tests: &CatalogTests<'_>) -> Result<String, String> {
    let mut junit = Report::new("tillgate");
    for (document, report) in tests.run() {
        let name = format!("{} {}", document.kind(), document.id);
        let mut suite = TestSuite::new(name.as_str());
        for (index, test) in document.tests.all().iter().enumerate() {
            let failure = report.failed.iter().find(|failure| failure.index == index);
            let status = failure.map_or_else(TestCaseStatus::success, |failure| {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(failure.message());
                status
            });
            let mut case = TestCase::new(test.name.as_ref(), status);
            case.set_classname(name.as_str());
            suite.add_test_case(case);
        }
        junit.add_test_suite(suite);
    }
    junit.to_string().map_err(|cause| cause.to_string())
}
