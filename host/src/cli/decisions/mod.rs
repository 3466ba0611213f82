//! `tillgate decisions`: finds decisions in the files of a record (`[decisions] log`), those that were renamed included. It
//! needs no running host, reads one line at a time, and says what the record lacks.

mod output;
mod runs;
mod source;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use tillgate_engine::decision::Decision;

use self::output::Output;
use self::runs::{Repeats, Seen};
use self::source::{Sources, roots};
use super::MALFORMED;
use super::output::tell;
use crate::body::parse_time;
use crate::clock::Timestamp;
use crate::conditions::decision_log::{HostEvent, Line};

#[derive(Args, Debug)]
pub(super) struct Decisions {
    /// Files of a record, as decisions.log names them: those that they were renamed to are read first; - reads stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Those of a tenant
    #[arg(long, value_name = "ID")]
    tenant: Option<String>,
    /// Those of a business unit
    #[arg(long, value_name = "ID")]
    unit: Option<String>,
    /// Those that were made at that time or later, such as 2026-11-20 or 2026-11-20T17:40:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Those that were made before that time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
    /// Those that decided so: ALLOW, SOFT_DENY or HARD_DENY; several with commas between them
    #[arg(long, value_name = "DECISION", value_delimiter = ',', value_parser = decision)]
    decision: Vec<&'static str>,
    /// Those about an item
    #[arg(long, value_name = "ID")]
    item: Option<String>,
    /// Those by a condition
    #[arg(long, value_name = "ID")]
    condition: Option<String>,
    /// Those by a project
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// How to print them: CSV, or the lines as they are on record
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// Print a register of refusals: date, item and reason of what was denied for good (unless --decision says more), as CSV
    #[arg(long, conflicts_with = "format")]
    refusals: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Csv,
    Json,
}

/// A time, or the first moment of a day, in UTC.
fn time(text: &str) -> Result<Timestamp, String> {
    let found = parse_time(text).or_else(|| parse_time(&format!("{text}T00:00:00Z")));
    found.ok_or_else(|| "it is not a time such as 2026-11-20 or 2026-11-20T17:40:00Z".to_owned())
}

fn decision(text: &str) -> Result<&'static str, String> {
    let mut all = Decision::ALL.into_iter().map(Decision::as_str);
    let found = all.find(|decision| *decision == text);
    found.ok_or_else(|| "it is not ALLOW, SOFT_DENY or HARD_DENY".to_owned())
}

/// A search of records.
#[derive(Debug)]
struct Search<'a> {
    arguments: &'a Decisions,
    repeats: Repeats,
    output: Output,
    lacks: Lacks,
}

/// What was found out about records beside their decisions.
#[derive(Debug, Default)]
struct Lacks {
    /// Decisions that hosts and tills have dropped.
    dropped: u64,
    /// Where a host has ended without saying so: when the next one started.
    deaths: Vec<String>,
    /// Lines that are none of a record.
    malformed: u64,
}

/// A host, as far as its record is read.
#[derive(Debug, Default)]
struct Host {
    is_running: bool,
    /// When the last line was written, or decided.
    at: Option<Timestamp>,
}

/// Prints the decisions. Answers the exit code: 0 when all lines could be read.
pub(super) fn run(arguments: &Decisions) -> Result<ExitCode, String> {
    let form = match (arguments.refusals, arguments.format) {
        (true, _) => output::Form::Refusals,
        (false, Format::Csv) => output::Form::Csv,
        (false, Format::Json) => output::Form::Json,
    };
    let mut search = Search {
        arguments,
        repeats: Repeats::default(),
        output: Output::new(form)?,
        lacks: Lacks::default(),
    };
    let mut sources = Sources::default();
    let mut hosts: HashMap<&Path, Host> = HashMap::new();
    let (mut goes_on, mut has_read) = (Ok(true), false);
    for root in &roots(&arguments.files)? {
        let host = hosts.entry(root.record).or_default();
        goes_on = sources.each_line(root, |text| {
            has_read = true;
            search.line(host, text)
        });
        if goes_on != Ok(true) {
            break;
        }
    }
    // What was found before a file that cannot be read, too.
    if has_read || goes_on.is_ok() {
        search.output.end()?;
    }
    goes_on?;
    search.lacks.tell();
    for file in &sources.foreign {
        tell(&format!(
            "{file} has no line of a record: is it compressed?"
        ));
    }
    Ok(
        match search.lacks.malformed == 0 && sources.foreign.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::from(MALFORMED),
        },
    )
}

impl Search<'_> {
    /// Prints a line of a host's record if it is asked for. Answers whether anyone reads on.
    fn line(&mut self, host: &mut Host, text: &[u8]) -> Result<bool, String> {
        let Some((line, at)) = parsed(text) else {
            self.lacks.malformed += 1;
            return Ok(true);
        };
        // Those of tills were decided elsewhere, by another clock.
        let before = match line.till {
            Some(_) => host.at,
            None => host.at.replace(at),
        };
        let was_running =
            std::mem::replace(&mut host.is_running, line.event != Some(HostEvent::Stopped));
        if let Some(event) = line.event {
            let has_died = event == HostEvent::Started && was_running;
            if !has_died || !self.arguments.is_between(before, at) {
                return Ok(true);
            }
            self.lacks.deaths.push(line.at.clone().into_owned());
            return self.output.lack(&line);
        }
        let Seen::New(before) = self.repeats.see(&line, at) else {
            return Ok(true);
        };
        if !is(self.arguments.tenant.as_ref(), line.tenant_id.as_deref()) {
            return Ok(true);
        }
        let since = line
            .gap
            .as_ref()
            .map_or(before, |gap| parse_time(&gap.since));
        let is_found = line.decision.is_some() && self.arguments.matches(&line, at);
        let missing = line
            .gap
            .as_ref()
            .map(|gap| gap.decisions)
            .or(line.dropped_before);
        if let Some(missing) = missing
            && self.arguments.is_between(since, at)
        {
            self.lacks.dropped = self.lacks.dropped.saturating_add(missing);
            // Otherwise the line itself says so.
            let is_said = is_found && !self.arguments.refusals;
            if !is_said && !self.output.lack(&line)? {
                return Ok(false);
            }
        }
        match is_found {
            true => self.output.line(&line, text),
            false => Ok(true),
        }
    }
}

/// A line of a record, and its time.
fn parsed(text: &[u8]) -> Option<(Line<'_>, Timestamp)> {
    let line: Line<'_> = serde_json::from_slice(text).ok()?;
    let at = parse_time(&line.at)?;
    let is_lack = line.gap.is_some() || line.dropped_before.is_some();
    (is_lack || line.decision.is_some() || line.event.is_some()).then_some((line, at))
}

impl Decisions {
    /// Whether something that happened after a time, which may be unknown, and until another may be of the time that is asked
    /// for.
    fn is_between(&self, after: Option<Timestamp>, until: Timestamp) -> bool {
        self.since.is_none_or(|since| until >= since)
            && self
                .until
                .is_none_or(|end| after.is_none_or(|after| after.min(until) < end))
    }

    fn matches(&self, line: &Line<'_>, at: Timestamp) -> bool {
        let decisions = match (self.decision.is_empty(), self.refusals) {
            (true, true) => &[Decision::HardDeny.as_str()],
            _ => &*self.decision,
        };
        let decision = line.decision.as_deref();
        self.is_between(Some(at), at)
            && (decisions.is_empty()
                || decision.is_some_and(|decision| decisions.contains(&decision)))
            && is(self.unit.as_ref(), line.business_unit_id.as_deref())
            && is(self.item.as_ref(), line.item_id.as_deref())
            && is(self.condition.as_ref(), line.condition_id.as_deref())
            && is(self.project.as_ref(), line.project_id.as_deref())
    }
}

/// Whether something is what is asked for, if anything is.
fn is(asked: Option<&String>, found: Option<&str>) -> bool {
    asked.is_none_or(|asked| Some(asked.as_str()) == found)
}

impl Lacks {
    /// Says what the record lacks, on stderr.
    fn tell(&self) {
        if self.dropped > 0 {
            tell(&format!("the record lacks {} decisions", self.dropped));
        }
        for started in &self.deaths {
            tell(&format!(
                "a host has ended without writing all, before it was started at {started}: decisions may be missing"
            ));
        }
        if self.malformed > 0 {
            tell(&format!("{} lines cannot be read", self.malformed));
        }
    }
}
