//! `tillgate decisions`: finds decisions in the files of a decision log (`[decisions] log`), including renamed ones. It
//! needs no running host, reads one line at a time, and reports what the log lacks.

mod files;
mod output;

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use tillgate_base::body::parse_time;
use tillgate_engine::outcome::Decision;
use tillgate_rules::decision_log::Line;
use tillgate_store::clock::Timestamp;

use self::files::Files;
use self::output::Output;
use tillgate_client::MALFORMED;
use tillgate_client::output::tell;

#[derive(Args, Debug)]
pub(super) struct Decisions {
    /// Files of decision logs, as decisions.log names them; their renamed files are read first; - reads stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print only decisions of this tenant
    #[arg(long, value_name = "ID")]
    tenant: Option<String>,
    /// Print only decisions of this business unit
    #[arg(long, value_name = "ID")]
    unit: Option<String>,
    /// Print only decisions made at this time or later, such as 2026-11-20 or 2026-11-20T17:40:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Print only decisions made before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
    /// Print only these decisions: ALLOW, SOFT_DENY or HARD_DENY; separate several with commas
    #[arg(long, value_name = "DECISION", value_delimiter = ',', value_parser = decision)]
    decision: Vec<&'static str>,
    /// Print only decisions about this item
    #[arg(long, value_name = "ID")]
    item: Option<String>,
    /// Print only decisions by this condition
    #[arg(long, value_name = "ID")]
    condition: Option<String>,
    /// Print only decisions by this project
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Output: CSV, or the lines of the log
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// Print a register of refusals as CSV: date, item and reason of each HARD_DENY, or of the decisions of --decision
    #[arg(long, conflicts_with = "format")]
    refusals: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Csv,
    Json,
}

/// Parses a time, or the first moment of a day, in UTC.
fn time(text: &str) -> Result<Timestamp, String> {
    let found = parse_time(text).or_else(|| parse_time(&format!("{text}T00:00:00Z")));
    found.ok_or_else(|| "it is not a time such as 2026-11-20 or 2026-11-20T17:40:00Z".to_owned())
}

fn decision(text: &str) -> Result<&'static str, String> {
    let mut all = Decision::ALL.into_iter().map(Decision::as_str);
    let found = all.find(|decision| *decision == text);
    found.ok_or_else(|| "it is not ALLOW, SOFT_DENY or HARD_DENY".to_owned())
}

#[derive(Debug)]
struct Search<'a> {
    arguments: &'a Decisions,
    /// Hashes of the till lines read so far. A till that got no answer sends the same decisions again.
    known: HashSet<u64>,
    hasher: RandomState,
    output: Output,
    /// The number of decisions that hosts and tills report as missing.
    missing: u64,
    /// The number of lines that do not belong to a log.
    malformed: u64,
}

/// Prints the decisions. Returns exit code 0 if all lines could be read.
pub(super) fn run(arguments: &Decisions) -> Result<ExitCode, String> {
    let form = match (arguments.refusals, arguments.format) {
        (true, _) => output::Form::Refusals,
        (false, Format::Csv) => output::Form::Csv,
        (false, Format::Json) => output::Form::Json,
    };
    let mut files = Files::open(&arguments.files)?;
    let mut search = Search {
        arguments,
        known: HashSet::new(),
        hasher: RandomState::new(),
        output: Output::new(form)?,
        missing: 0,
        malformed: 0,
    };
    let searched = files.each_line(|text| search.line(text));
    // Also prints what was found before a file that cannot be read.
    search.output.end()?;
    searched?;
    if search.missing > 0 {
        tell(&format!("the log lacks {} decisions", search.missing));
    }
    if search.malformed > 0 {
        tell(&format!("{} lines cannot be read", search.malformed));
    }
    for file in &files.foreign {
        tell(&format!(
            "{file} has no line of a decision log: is it compressed?"
        ));
    }
    let is_whole = search.malformed == 0 && files.foreign.is_empty();
    Ok(if is_whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(MALFORMED)
    })
}

impl Search<'_> {
    /// Prints a log line if it matches. Returns whether the output is still read.
    fn line(&mut self, text: &[u8]) -> Result<bool, String> {
        let Some((line, at)) = parsed(text) else {
            self.malformed += 1;
            return Ok(true);
        };
        if self.is_repeated(&line) || !is_or_none(self.arguments.tenant.as_ref(), &line.tenant_id) {
            return Ok(true);
        }
        if let Some(missing) = line.missing {
            let since = line.since.as_deref().and_then(parse_time).unwrap_or(at);
            if !self.arguments.is_between(since, at) {
                return Ok(true);
            }
            self.missing = self.missing.saturating_add(missing);
        } else if !self.arguments.matches(&line, at) {
            return Ok(true);
        }
        self.output.line(&line, text)
    }

    /// Returns whether this line of a till was read before. The numbers of a forgotten till start over, so the time
    /// counts too.
    fn is_repeated(&mut self, line: &Line<'_>) -> bool {
        let till = (&line.tenant_id, &line.client_id, &line.till);
        let decision = (line.sequence, &line.at, line.missing);
        line.till.is_some() && !self.known.insert(self.hasher.hash_one((till, decision)))
    }
}

/// Parses a line of a log, and its time.
fn parsed(text: &[u8]) -> Option<(Line<'_>, Timestamp)> {
    let line: Line<'_> = serde_json::from_slice(text).ok()?;
    let at = parse_time(&line.at)?;
    (line.missing.is_some() || line.decision.is_some()).then_some((line, at))
}

impl Decisions {
    /// Returns whether the period between two moments overlaps the requested one.
    fn is_between(&self, first: Timestamp, last: Timestamp) -> bool {
        self.since.is_none_or(|since| last >= since) && self.until.is_none_or(|until| first < until)
    }

    fn matches(&self, line: &Line<'_>, at: Timestamp) -> bool {
        let decisions = match (self.decision.is_empty(), self.refusals) {
            (true, true) => &[Decision::HardDeny.as_str()],
            _ => &*self.decision,
        };
        let decision = line.decision.as_deref();
        self.is_between(at, at)
            && (decisions.is_empty()
                || decision.is_some_and(|decision| decisions.contains(&decision)))
            && is(self.unit.as_ref(), line.business_unit_id.as_deref())
            && is(self.item.as_ref(), line.item_id.as_deref())
            && is(self.condition.as_ref(), line.condition_id.as_deref())
            && is(self.project.as_ref(), line.project_id.as_deref())
    }
}

/// Returns whether a value is the requested one, or none is requested.
fn is(asked: Option<&String>, found: Option<&str>) -> bool {
    asked.is_none_or(|asked| Some(asked.as_str()) == found)
}

/// Like `is`, but a line without a value matches too.
fn is_or_none(asked: Option<&String>, found: &Option<Cow<'_, str>>) -> bool {
    found.is_none() || is(asked, found.as_deref())
}
