//! `tillgate import-rates`: sends a document of the European Central Bank to a running host, unchanged. The host parses it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use tillgate_api::rate::DocumentType;
use tillgate_engine::rate::RateType;

use super::changes::Changes;
use super::deviation::Deviation;
use super::output::{print, shown_path, text};
use super::session::{HostOptions, Session, segment};

/// The largest document that a host accepts, in bytes.
const MAX_DOCUMENT: u64 = 16 << 20;

#[derive(Args, Debug)]
pub struct ImportRates {
    #[command(flatten)]
    options: HostOptions,
    /// Document of the European Central Bank: eurofxref-daily.xml, eurofxref.csv, one with more days, or a zip file of one
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Business unit at which the rates are set
    #[arg(long, value_name = "ID")]
    unit: String,
    /// Types of the rates: SALES, PURCHASE, INTERCOMPANY, or several separated by commas
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', required = true, value_parser = rate_type)]
    types: Vec<RateType>,
    /// Also set the rates between the quoted currencies, by way of the euro
    #[arg(long)]
    crosses: bool,
    /// Also set rates that move by more than the tolerance, instead of leaving them out
    #[arg(long)]
    accept_deviation: bool,
    /// Change nothing, and print what the import would change
    #[arg(long)]
    dry_run: bool,
}

fn rate_type(name: &str) -> Result<RateType, String> {
    RateType::parse(&name.to_ascii_uppercase()).map_err(|invalid| invalid.to_string())
}

impl ImportRates {
    /// Describes the fate of rates beyond the tolerance in a dry run.
    const fn would(&self) -> &'static str {
        if self.accept_deviation {
            "would be left out without --accept-deviation"
        } else {
            "would be left out"
        }
    }

    fn path(&self) -> String {
        let types: Vec<&str> = self.types.iter().map(|it| it.as_str()).collect();
        let mut path = format!(
            "/api/v1/reference-rates/import?businessUnitId={}&exchangeRateTypes={}&source=ECB",
            segment(&self.unit),
            types.join(",")
        );
        let flags = [
            ("crosses", self.crosses),
            ("acceptDeviation", self.accept_deviation),
            ("dryRun", self.dry_run),
        ];
        for (name, is_set) in flags {
            if is_set {
                path += &format!("&{name}=true");
            }
        }
        path
    }
}

/// Sends the document. Returns whether all of its rates were set, or would be.
pub async fn run(arguments: ImportRates) -> Result<bool, String> {
    let document = read(&arguments.file)?;
    let session = Session::open(&arguments.options).await?;
    let media_type = DocumentType::detect(&document).media_type();
    let answer = session
        .post(&arguments.path(), media_type, document)
        .await?;
    let left_out: LeftOut<'_> = serde_json::from_str(&answer.text)
        .map_err(|cause| format!("the answer is not that of an import: {cause}"))?;
    if arguments.options.json {
        print(&format!("{}\n", answer.text))?;
    } else if arguments.dry_run {
        print(&(dry_run(&answer.text)? + &left_out.summary(arguments.would())))?;
    } else {
        print(&(summary(&answer.value) + &left_out.summary("left out")))?;
    }
    Ok(left_out.deviations.is_empty() || arguments.accept_deviation)
}

/// The rates that move by more than their tolerance, with their numbers as the host wrote them.
#[derive(Deserialize)]
struct LeftOut<'j> {
    #[serde(borrow, default)]
    deviations: Vec<Deviation<'j>>,
}

impl LeftOut<'_> {
    /// Returns a line for each rate, or nothing if there is none.
    fn summary(&self, what: &str) -> String {
        if self.deviations.is_empty() {
            return String::new();
        }
        let mut summary = format!("{what}, because they exceed the tolerance:\n");
        for deviation in &self.deviations {
            let _ = writeln!(summary, "  {deviation}");
        }
        summary
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let name = shown_path(file);
    let unreadable = |cause: std::io::Error| format!("{name} cannot be read: {cause}");
    let size = std::fs::metadata(file).map_err(unreadable)?.len();
    if size > MAX_DOCUMENT {
        return Err(format!(
            "{name} is larger than 16 MiB, the most that a host accepts"
        ));
    }
    std::fs::read(file).map_err(unreadable)
}

/// Describes a completed import.
fn summary(answer: &Value) -> String {
    let count = |member: &str| answer.get(member).and_then(Value::as_u64).unwrap_or(0);
    let mut summary = format!(
        "rates of {}: {} created, {} updated, {} unchanged\n",
        text(answer, "date"),
        count("created"),
        count("updated"),
        count("unchanged")
    );
    if answer.get("older") == Some(&Value::Bool(true)) {
        summary
            .push_str("older than the present rates, which stay: only their history is filled\n");
    }
    let filled = count("filledDays");
    if filled > 0 {
        let _ = writeln!(summary, "added to the history: {filled} days");
    }
    for (member, what) in [
        ("stale", "kept, but not in this document"),
        ("skipped", "skipped, unknown or no longer quoted"),
    ] {
        let codes = answer.get(member).and_then(Value::as_array);
        let codes = codes.into_iter().flatten().filter_map(Value::as_str);
        let codes: Vec<&str> = codes.collect();
        if !codes.is_empty() {
            let _ = writeln!(summary, "{what}: {}", codes.join(", "));
        }
    }
    let _ = writeln!(summary, "correlation id {}", text(answer, "correlationId"));
    summary
}

/// The answer to a dry run.
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

/// Describes a dry run.
fn dry_run(answer: &str) -> Result<String, String> {
    let answer: DryRun<'_> = serde_json::from_str(answer)
        .map_err(|cause| format!("the answer is not that of a dry run: {cause}"))?;
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
