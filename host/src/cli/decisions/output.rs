//! Prints decisions as the lines of the log, as CSV with a column for each member, or as a register of refusals. No CSV
//! cell is a formula for spreadsheets: a cell that would be one gets a leading apostrophe, as in the page.

use std::borrow::Cow;

use tillgate_engine::outcome::Reason;
use tillgate_rules::decision_log::Line;

use tillgate_client::output::print_on;

/// The approximate number of bytes printed at once.
const CHUNK: usize = 64 << 10;

/// The characters that make a spreadsheet take a cell for a formula when it begins with one (OWASP, "CSV Injection").
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

const COLUMNS: [&str; 17] = [
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
    "received",
];

const REFUSALS: [&str; 4] = ["date", "item", "reason", "meaning"];

/// The text in place of a decision where decisions are missing.
const MISSING: &str = "MISSING";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Csv,
    Json,
    Refusals,
}

/// The output, printed in chunks.
#[derive(Debug)]
pub(super) struct Output {
    form: Form,
    text: Vec<u8>,
}

impl Output {
    /// Starts the output with the titles of the columns.
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

    /// Prints a line of the log, given with its text. Returns whether the output is still read.
    pub(super) fn line(&mut self, line: &Line<'_>, text: &[u8]) -> Result<bool, String> {
        match self.form {
            Form::Json => {
                self.text.extend_from_slice(text.trim_ascii_end());
                self.text.push(b'\n');
            }
            Form::Csv => self.row(&columns(line))?,
            Form::Refusals => self.row(&refusal(line))?,
        }
        self.flow()
    }

    fn flow(&mut self) -> Result<bool, String> {
        if self.text.len() < CHUNK {
            Ok(true)
        } else {
            self.print()
        }
    }

    /// Prints the rest.
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

/// Returns a cell that no spreadsheet evaluates.
fn safe(cell: &str) -> Cow<'_, str> {
    let is_formula = |c: &char| FORMULA.contains(c);
    let first = cell.chars().find(|c| is_formula(c) || !is_passed_over(*c));
    if first.as_ref().is_some_and(is_formula) {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

/// Returns whether a spreadsheet may find a formula behind this character: a blank, an apostrophe or an invisible
/// character (Unicode, `Default_Ignorable_Code_Point`).
fn is_passed_over(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\''
                | '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

fn columns<'l>(line: &'l Line<'_>) -> [Cow<'l, str>; COLUMNS.len()] {
    let text = |text: &'l Option<Cow<'_, str>>| Cow::Borrowed(text.as_deref().unwrap_or_default());
    let sequence = line.sequence.map(|number| number.to_string());
    let sequence = Cow::Owned(sequence.unwrap_or_default());
    let (decision, reason) = match missing(line) {
        Some(missing) => (Cow::Borrowed(MISSING), Cow::Owned(missing)),
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
        sequence,
        text(&line.received),
    ]
}

fn refusal<'l>(line: &'l Line<'_>) -> [Cow<'l, str>; REFUSALS.len()] {
    let at = Cow::Borrowed(&*line.at);
    if let Some(missing) = missing(line) {
        let reason = Cow::Borrowed(MISSING);
        return [at, Cow::Borrowed(""), reason, Cow::Owned(missing)];
    }
    let item = line.item_id.as_deref().unwrap_or_default();
    let reason = line.reason.as_deref().unwrap_or_default();
    let meaning = Reason::from_code(reason).map_or("", Reason::description);
    [at, item.into(), reason.into(), meaning.into()]
}

/// Returns the text of a line that reports missing decisions.
fn missing(line: &Line<'_>) -> Option<String> {
    let missing = line.missing?;
    Some(match (&line.till, &line.since) {
        (Some(till), _) => format!("{missing} earlier decisions of {till} are missing"),
        (None, Some(since)) => format!("{missing} decisions since {since} are missing"),
        (None, None) => format!("{missing} decisions are missing"),
    })
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn a_formula_after_blanks_or_what_is_not_seen_gets_an_apostrophe() {
        let hidden = "' \u{a0}\u{3000}\u{ad}\u{200b}\u{202e}\u{2060}\u{feff}\u{fe0f}\u{3164}\u{2800}\0\u{1b}";
        for hidden in hidden.chars() {
            for formula in ["=1", "+1", "-1", "@a", "\ta", "＝1"] {
                let cell = format!("{hidden} {formula}");
                assert_eq!(safe(&cell), format!("'{cell}"));
            }
            let text = format!("{hidden}a =1");
            assert_eq!(safe(&text), text);
        }
    }
}
