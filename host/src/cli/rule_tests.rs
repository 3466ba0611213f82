//! `tillgate test`: runs the tests beside the rules of a catalog, without a host, with the engine that hosts decide
//! with.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, Event};
use tillgate_engine::Fault;
use tillgate_engine::json::{Document, Faults};
use tillgate_engine::tests::{self, CatalogTests, DocumentTests, Report};

use tillgate_client::input::read;
use tillgate_client::output::{on_line, print, shown_path, tell};
use tillgate_client::{FOUND, MALFORMED};

#[derive(Args, Debug)]
pub(super) struct Test {
    /// Catalog with its tests, the answer of GET /api/v1/catalog?tests=true; - reads it from stdin
    #[arg(value_name = "CATALOG.json")]
    catalog: PathBuf,
    /// Format of the results
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A line for each test that fails, and the number of tests that pass and fail
    Text,
    /// One JSON object: the number of tests that passed, and the tests that failed
    Json,
    /// JUnit XML, for CI pipelines
    Junit,
}

/// Runs the tests. Returns exit code 0 if all pass.
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
    Ok(if has_failed {
        ExitCode::from(FOUND)
    } else {
        ExitCode::SUCCESS
    })
}

fn malformed(file: &Path, faults: &[Fault]) -> String {
    let mut told = format!("{} is not a catalog with tests:", shown_path(file));
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

/// Returns a suite for each condition or project that has tests, in the XML that JUnit and others write.
fn as_junit(tests: &CatalogTests<'_>) -> Result<String, String> {
    let ran: Vec<_> = tests.run().collect();
    let failed: usize = ran.iter().map(|(_, report)| report.failed.len()).sum();
    let all: usize = ran
        .iter()
        .map(|(document, _)| document.tests.all().len())
        .sum();
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 4);
    let written = xml
        .write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))
        .and_then(|()| {
            let root = xml.create_element("testsuites");
            let root = root.with_attributes([
                ("name", "tillgate"),
                ("tests", &all.to_string()),
                ("failures", &failed.to_string()),
                ("errors", "0"),
            ]);
            root.write_inner_content(|xml| {
                ran.iter()
                    .try_for_each(|(document, report)| suite(xml, document, report))
            })
        });
    written.map_err(|cause| cause.to_string())?;
    let mut xml = xml.into_inner();
    xml.push(b'\n');
    Ok(String::from_utf8_lossy(&xml).into_owned())
}

fn suite(
    xml: &mut Writer<Vec<u8>>,
    document: &DocumentTests<'_>,
    report: &Report<'_, '_>,
) -> io::Result<()> {
    let name = text(&format!("{} {}", document.kind(), document.id));
    let tests = document.tests.all();
    let suite = xml.create_element("testsuite").with_attributes([
        ("name", &*name),
        ("tests", &tests.len().to_string()),
        ("failures", &report.failed.len().to_string()),
        ("errors", "0"),
    ]);
    suite.write_inner_content(|xml| {
        for (index, test) in tests.iter().enumerate() {
            let case = xml.create_element("testcase");
            let case = case.with_attributes([("name", &*text(&test.name)), ("classname", &name)]);
            match report.failed.iter().find(|failure| failure.index == index) {
                None => case.write_empty()?,
                Some(failure) => case.write_inner_content(|xml| {
                    let failed = xml.create_element("failure");
                    let message = text(&failure.message());
                    failed
                        .with_attribute(("message", &*message))
                        .write_empty()?;
                    Ok(())
                })?,
            };
        }
        Ok(())
    })?;
    Ok(())
}

/// Returns a text without the characters that XML cannot contain.
fn text(text: &str) -> String {
    let has_no_place = |c: char| match c {
        '\t' | '\n' | '\r' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        _ => c.is_ascii_control(),
    };
    text.replace(has_no_place, "")
}
