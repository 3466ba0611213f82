//! `tillgate decisions`: finds decisions in the files of a record (`[decisions] log`), those that were renamed included. It
//! needs no running host, reads one line at a time, and says what the record lacks.

mod output;
mod runs;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use tillgate_engine::decision::Decision;

use self::output::Output;
use self::runs::Repeats;
use self::source::{Chain, chains};
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

/// What was found out about a record beside its decisions.
#[derive(Debug, Default)]
struct Lacks {
    /// Decisions that hosts and tills have dropped.
    dropped: u64,
    /// Where a host has ended without saying so: when the next one started.
    deaths: Vec<String>,
    /// Lines that are none of a record.
    malformed: u64,
}

/// Prints the decisions. Answers the exit code: 0 when all lines could be read.
pub(super) fn run(arguments: &Decisions) -> Result<ExitCode, String> {
    let mut output = Output::new(match (arguments.refusals, arguments.format) {
        (true, _) => output::Form::Refusals,
        (false, Format::Csv) => output::Form::Csv,
        (false, Format::Json) => output::Form::Json,
    })?;
    let (mut lacks, mut repeats) = (Lacks::default(), Repeats::default());
    for chain in chains(&arguments.files)? {
        if !read(chain, arguments, &mut repeats, &mut output, &mut lacks)? {
            break;
        }
    }
    output.end()?;
    lacks.tell();
    Ok(match lacks.malformed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(MALFORMED),
    })
}

/// Prints the decisions of a host's record. Answers whether anyone reads on.
fn read(
    chain: Chain,
    arguments: &Decisions,
    repeats: &mut Repeats,
    output: &mut Output,
    lacks: &mut Lacks,
) -> Result<bool, String> {
    let mut is_running = false;
    chain.each_line(|text| {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(text) else {
            lacks.malformed += 1;
            return Ok(true);
        };
        if let Some(event) = line.event {
            if event == HostEvent::Started && is_running {
                lacks.deaths.push(line.at.into_owned());
            }
            is_running = event == HostEvent::Started;
            return Ok(true);
        }
        is_running = true;
        if !arguments.is_in_scope(&line) || repeats.is_repeated(&line) {
            return Ok(true);
        }
        lacks.dropped += line.dropped_before.unwrap_or_default();
        lacks.dropped += line.gap.as_ref().map_or(0, |gap| gap.decisions);
        match line.gap.is_some() || arguments.matches(&line) {
            true => output.line(&line, text),
            false => Ok(true),
        }
    })
}

impl Decisions {
    /// Whether a line is one of the tenant and the time that are asked for. A gap is one whatever else is asked for: what is
    /// missing may have been that.
    fn is_in_scope(&self, line: &Line<'_>) -> bool {
        let at = parse_time(&line.at);
        is(self.tenant.as_ref(), line.tenant_id.as_deref())
            && self
                .since
                .is_none_or(|since| at.is_some_and(|at| at >= since))
            && self
                .until
                .is_none_or(|until| at.is_some_and(|at| at < until))
    }

    fn matches(&self, line: &Line<'_>) -> bool {
        let decisions = match (self.decision.is_empty(), self.refusals) {
            (true, true) => &[Decision::HardDeny.as_str()],
            _ => &*self.decision,
        };
        let decision = line.decision.as_deref();
        (decisions.is_empty() || decision.is_some_and(|decision| decisions.contains(&decision)))
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
