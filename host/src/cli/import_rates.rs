//! `tillgate import-rates`: sends a document of the European Central Bank to a running host, unchanged. The host parses it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use tillgate_engine::rate::RateType;

use super::changes::Changes;
use super::output::{print, text};
use super::session::{HostOptions, Session, segment};
use crate::rates::reference::DocumentType;

/// The largest document that a host accepts.
const MAX_DOCUMENT: u64 = 16 << 20;

#[derive(Args, Debug)]
pub(super) struct ImportRates {
    #[command(flatten)]
    options: HostOptions,
    /// Document of the European Central Bank: eurofxref-daily.xml, eurofxref.csv, or one with more days
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Business unit at which the rates are set
    #[arg(long, value_name = "ID")]
    unit: String,
    /// Types of the rates: SALES, PURCHASE, INTERCOMPANY, or several separated by commas
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', required = true, value_parser = rate_type)]
    types: Vec<RateType>,
    /// Set the rates between the quoted currencies too, by way of the euro
    #[arg(long)]
    crosses: bool,
    /// Change nothing, and print what the import would change
    #[arg(long)]
    dry_run: bool,
}

fn rate_type(name: &str) -> Result<RateType, String> {
    RateType::parse(&name.to_ascii_uppercase()).map_err(|invalid| invalid.to_string())
}

impl ImportRates {
    fn path(&self) -> String {
        let types: Vec<&str> = self.types.iter().map(|it| it.as_str()).collect();
        let mut path = format!(
            "/api/v1/reference-rates/import?businessUnitId={}&exchangeRateTypes={}&source=ECB",
            segment(&self.unit),
            types.join(",")
        );
        for (name, is_set) in [("crosses", self.crosses), ("dryRun", self.dry_run)] {
            if is_set {
                path += &format!("&{name}=true");
            }
        }
        path
    }
}

pub(super) async fn run(arguments: ImportRates) -> Result<(), String> {
    let document = read(&arguments.file)?;
    let session = Session::open(&arguments.options).await?;
    let media_type = DocumentType::detect(&document).media_type();
    let answer = session
        .post(&arguments.path(), media_type, document)
        .await?;
    if arguments.options.json {
        return print(&format!("{}\n", answer.text));
    }
    if arguments.dry_run {
        return print(&dry_run(&answer.text)?);
    }
    print(&summary(&answer.value))
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let name = file.display();
    let unreadable = |cause: std::io::Error| format!("{name} cannot be read: {cause}");
    let size = std::fs::metadata(file).map_err(unreadable)?.len();
    if size > MAX_DOCUMENT {
        return Err(format!(
            "{name} is larger than 16 MiB, the most that a host accepts"
        ));
    }
    std::fs::read(file).map_err(unreadable)
}

/// What an import did.
fn summary(answer: &Value) -> String {
    let count = |member: &str| answer.get(member).and_then(Value::as_u64).unwrap_or(0);
    let mut summary = format!(
        "rates of {}: {} created, {} updated, {} unchanged\n",
        text(answer, "date"),
        count("created"),
        count("updated"),
        count("unchanged")
    );
    let stale = answer.get("stale").and_then(Value::as_array);
    let stale: Vec<&str> = stale
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !stale.is_empty() {
        let _ = writeln!(
            summary,
            "kept, but not in this document: {}",
            stale.join(", ")
        );
    }
    let _ = writeln!(summary, "correlation id {}", text(answer, "correlationId"));
    summary
}

/// What a change would publish.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DryRun<'j> {
    business_units: Affected,
    #[serde(borrow)]
    sample: Vec<Changes<'j>>,
}

#[derive(Deserialize)]
struct Affected {
    total: u64,
    affected: u64,
    #[serde(default)]
    shielded: u64,
}

/// What an import would do.
fn dry_run(answer: &str) -> Result<String, String> {
    let answer: DryRun<'_> = serde_json::from_str(answer)
        .map_err(|cause| format!("the answer is not what a dry run answers: {cause}"))?;
    let Affected {
        total,
        affected,
        shielded,
    } = answer.business_units;
    let mut summary = format!("would change rates of {affected} of {total} shops");
    if shielded > 0 {
        let _ = write!(
            summary,
            "; {shielded} keep rates that are set nearer to them"
        );
    }
    summary.push('\n');
    for changes in &answer.sample {
        let _ = writeln!(summary, "{changes}");
    }
    let more = affected.saturating_sub(u64::try_from(answer.sample.len()).unwrap_or(u64::MAX));
    if more > 0 {
        let _ = writeln!(summary, "and {more} more");
    }
    Ok(summary)
}
