//! `tillgate lint`: checks the rules of a catalog in a file, such as the answer of `GET /api/v1/catalog`. It needs no
//! running host: the engine checks the rules.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tillgate_engine::condition::Scope;
use tillgate_engine::findings::{Linted, RuleId, lint};

use tillgate_client::input::read;
use tillgate_client::output::{on_line, print, shown_path, tell};

#[derive(Args, Debug)]
pub(super) struct Lint {
    /// Catalog to read, the answer of GET /api/v1/catalog; - reads it from stdin
    #[arg(value_name = "CATALOG.json")]
    file: PathBuf,
    /// Output: a line for each finding, or JSON
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// The result for a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The rules have no findings.
    Clean,
    /// It is not a catalog.
    Malformed,
    /// Rules have findings.
    Found,
}

/// Prints the findings about the rules of a catalog.
pub(super) fn run(arguments: &Lint) -> Result<Verdict, String> {
    let catalog = read(&arguments.file)?;
    let linted = match lint(&catalog) {
        Ok(linted) => linted,
        Err(error) => {
            let faults = error.faults.iter().map(ToString::to_string);
            let name = shown_path(&arguments.file);
            tell(&format!(
                "{name} is not a catalog: {}",
                faults.collect::<Vec<_>>().join("; ")
            ));
            return Ok(Verdict::Malformed);
        }
    };
    let found = Found::all(&linted)?;
    print(&match arguments.format {
        Format::Text => lines(&found),
        Format::Json => json(&found)? + "\n",
    })?;
    Ok(if linted.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Found
    })
}

/// A finding about a rule.
#[derive(Serialize)]
struct Found<'l> {
    rule: Rule,
    #[serde(flatten)]
    finding: Finding<'l>,
}

/// A finding, as the engine writes it.
#[derive(Deserialize, Serialize)]
struct Finding<'l> {
    kind: &'l str,
    #[serde(borrow)]
    message: Cow<'l, str>,
    places: Vec<String>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    witness: Option<&'l RawValue>,
}

impl<'l> Found<'l> {
    fn all(linted: &'l [Linted]) -> Result<Vec<Self>, String> {
        let mut all = Vec::new();
        for Linted { rule, findings } in linted {
            let findings: Vec<Finding<'_>> =
                serde_json::from_slice(findings).map_err(|cause| cause.to_string())?;
            all.extend(findings.into_iter().map(|finding| Self {
                rule: Rule::of(rule),
                finding,
            }));
        }
        Ok(all)
    }
}

/// Returns a line for each finding: the rule, the kind, its places and a sentence.
fn lines(found: &[Found<'_>]) -> String {
    let mut lines = String::new();
    for Found { rule, finding } in found {
        let scope = match rule.scope {
            Some("GLOBAL") => "global ",
            _ => "",
        };
        let places = if finding.places.is_empty() {
            String::new()
        } else {
            format!(" at {}", finding.places.join(", "))
        };
        let (what, id, kind) = (rule.kind, &rule.id, finding.kind);
        let message = on_line(&finding.message);
        let _ = writeln!(lines, "{scope}{what} {id}: {kind}{places}: {message}");
    }
    lines
}

/// Returns `{ "findings": [{ "rule": { "kind", "id", "scope"? }, "kind", "message", "places", "witness"? }] }`.
fn json(found: &[Found<'_>]) -> Result<String, String> {
    let text = serde_json::to_string(found).map_err(|cause| cause.to_string())?;
    Ok(format!("{{\"findings\":{text}}}"))
}

/// The name of a rule.
#[derive(Serialize)]
struct Rule {
    kind: &'static str,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
}

impl Rule {
    fn of(id: &RuleId) -> Self {
        let (kind, id, scope) = match id {
            RuleId::Condition(scope, id) => ("condition", id.to_string(), Some(scope)),
            RuleId::Project(id) => ("project", id.to_string(), None),
        };
        Self {
            kind,
            id,
            scope: scope.copied().map(Scope::as_str),
        }
    }
}
