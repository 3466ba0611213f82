//! How decisions are printed: the lines as they are, CSV with a column for each member, or a register of refusals. In CSV no
//! cell is a formula for spreadsheets: one that would be begins with an apostrophe, as in the page.

use std::borrow::Cow;

use tillgate_engine::decision::Reason;

use crate::cli::output::print_on;
use crate::conditions::decision_log::Line;

/// About how much is printed at once.
const CHUNK: usize = 64 << 10;

/// What spreadsheets take for a formula when a cell begins with it (OWASP, "CSV Injection").
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

const COLUMNS: [&str; 18] = [
    "at",
    "tenantId",
    "clientId",
    "businessUnitId",
    "itemId",
    "conditionId",
    "projectId",
    "etag",
    "decision",
    "reason",
    "restriction",
    "engine",
    "catalog",
    "correlationId",
    "till",
    "sequence",
    "droppedBefore",
    "received",
];

const REFUSALS: [&str; 4] = ["date", "item", "reason", "meaning"];

/// What stands in place of a decision where decisions are missing.
const GAP: &str = "GAP";

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Csv,
    Json,
    Refusals,
}

/// What is to be printed.
#[derive(Debug)]
pub(super) struct Output {
    form: Form,
    text: Vec<u8>,
}

impl Output {
    /// With the titles of the columns.
    pub(super) fn new(form: Form) -> Result<Self, String> {
        let mut output = Self {
            form,
            text: Vec::new(),
        };
        match form {
            Form::Csv => output.row(&COLUMNS.map(Cow::Borrowed))?,
            Form::Refusals => output.row(&REFUSALS.map(Cow::Borrowed))?,
            Form::Json => {}
        }
        Ok(output)
    }

    /// Prints a line of the record, whose text this is. Answers whether anyone reads on.
    pub(super) fn line(&mut self, line: &Line<'_>, text: &[u8]) -> Result<bool, String> {
        match self.form {
            Form::Json => {
                self.text.extend_from_slice(text.trim_ascii_end());
                self.text.push(b'\n');
            }
            Form::Csv => self.row(&columns(line))?,
            Form::Refusals => self.row(&refusal(line))?,
        }
        match self.text.len() < CHUNK {
            true => Ok(true),
            false => self.print(),
        }
    }

    /// Prints what is left.
    pub(super) fn end(&mut self) -> Result<(), String> {
        self.print().map(drop)
    }

    fn print(&mut self) -> Result<bool, String> {
        let goes_on = print_on(&String::from_utf8_lossy(&self.text))?;
        self.text.clear();
        Ok(goes_on)
    }

    fn row(&mut self, cells: &[Cow<'_, str>]) -> Result<(), String> {
        let mut writer = csv::Writer::from_writer(&mut self.text);
        let written = writer.write_record(cells.iter().map(|cell| safe(cell).into_owned()));
        let written = written.and_then(|()| writer.flush().map_err(Into::into));
        written.map_err(|cause| cause.to_string())
    }
}

/// A cell that no spreadsheet runs.
fn safe(cell: &str) -> Cow<'_, str> {
    match cell.trim_start_matches('\'').starts_with(FORMULA) {
        true => Cow::Owned(format!("'{cell}")),
        false => Cow::Borrowed(cell),
    }
}

fn columns<'l>(line: &'l Line<'_>) -> [Cow<'l, str>; COLUMNS.len()] {
    let text = |text: &'l Option<Cow<'_, str>>| Cow::Borrowed(text.as_deref().unwrap_or_default());
    let number = |number: Option<u64>| match number {
        Some(number) => Cow::Owned(number.to_string()),
        None => Cow::Borrowed(""),
    };
    let (decision, reason) = match missing(line) {
        Some(missing) => (Cow::Borrowed(GAP), Cow::Owned(missing)),
        None => (text(&line.decision), text(&line.reason)),
    };
    [
        Cow::Borrowed(&*line.at),
        text(&line.tenant_id),
        text(&line.client_id),
        text(&line.business_unit_id),
        text(&line.item_id),
        text(&line.condition_id),
        text(&line.project_id),
        text(&line.etag),
        decision,
        reason,
        text(&line.restriction),
        text(&line.engine),
        text(&line.catalog),
        text(&line.correlation_id),
        text(&line.till),
        number(line.sequence),
        number(line.dropped_before),
        text(&line.received),
    ]
}

fn refusal<'l>(line: &'l Line<'_>) -> [Cow<'l, str>; REFUSALS.len()] {
    let at = Cow::Borrowed(&*line.at);
    if let Some(missing) = missing(line) {
        let gap = Cow::Borrowed(GAP);
        return [at, Cow::Borrowed(""), gap, Cow::Owned(missing)];
    }
    let item = line.item_id.as_deref().unwrap_or_default();
    let reason = line.reason.as_deref().unwrap_or_default();
    let meaning = Reason::from_code(reason).map_or("", Reason::description);
    [at, item.into(), reason.into(), meaning.into()]
}

/// What a gap says, in words.
fn missing(line: &Line<'_>) -> Option<String> {
    let gap = line.gap.as_ref()?;
    let (decisions, since) = (gap.decisions, &gap.since);
    Some(format!("{decisions} decisions since {since} are missing"))
}
