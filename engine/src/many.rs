//! Decides about many items at once, in rows, by one condition or one project (`conditions.md`, "Beyond an answer").
//!
//! An answer has each distinct outcome once, and the number of its outcome for each row, so deciding about a long list
//! costs little more than reading it. A row is decided exactly as a request about its item would be.

use crate::catalog::decide_into;
use crate::condition::{MAX_ITEM_ID, Rule, read_customer};
use crate::error::Error;
use crate::index::{Index, Seed};
use crate::json::{Document, Faults, MAX_VALUES, Node, push, write_number};
use crate::outcome::{Decision, MAX_ANSWER, Outcome, too_large, worst, write_results};
use crate::restriction::Item;
use crate::restriction_checks::Checks;

/// The most rows in a call.
pub const MAX_ROWS: usize = 10_000;

/// The members of a row.
const ROW: [&str; 4] = ["id", "additionalProperties", "customer_age", "licenses"];

/// The condition or project that decides about rows.
#[derive(Clone, Copy, Debug)]
pub enum Decider<'c> {
    /// A condition, by its id and rule.
    Condition(&'c str, Rule),
    /// A project; `None` if it is unreachable.
    Project(Option<&'c Checks>),
}

impl<'c> Decider<'c> {
    /// Decides about `{ "rows": [{ "id", "additionalProperties"?, "customer_age"?, "licenses"? }] }` and appends
    /// `{ "outcomes": [{ "allow", "decision", "results" }], "rows": [0, ..] }`. A condition ignores the properties, and
    /// a project ignores the customer. `faults` determines whether unknown members are ignored.
    ///
    /// # Errors
    /// [`crate::Code::Invalid`] with a fault for every invalid member, or if there are more than [`MAX_ROWS`] rows, or
    /// the answer would be larger than [`MAX_ANSWER`]. In that case, discard the bytes already appended.
    pub fn decide_many(
        self,
        request: &[u8],
        mut faults: Faults,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let document = Document::parse_without_number_text(request, MAX_VALUES)?;
        let list = faults.object_with(document.root(), &["rows"]);
        let list = list.and_then(|root| faults.required(root, "rows"));
        let list = list.and_then(|list| faults.array(list));
        if let Some(list) = list
            && list.children().nth(MAX_ROWS).is_some()
        {
            faults.add(list, "must have at most 10000 rows");
        }
        // All keys come from this text.
        let text = std::str::from_utf8(request).unwrap_or_default();
        let mut outcomes = Outcomes {
            seen: Index::new(Seed::of(std::iter::once(text))),
            key: String::new(),
        };
        let (mut results, mut numbers) = (Vec::new(), Vec::new());
        let begin = out.len();
        push("{\"outcomes\":[", out);
        for row in list.unwrap_or_default().children().take(MAX_ROWS) {
            results.clear();
            let decided = self.decide(row, &mut faults, &mut results);
            if decided.is_some() && faults.is_empty() {
                numbers.push(outcomes.number(&results, out));
                if out.len() - begin > MAX_ANSWER {
                    return Err(too_large("$.rows"));
                }
            }
        }
        faults.none_or_error()?;
        push("],\"rows\":[", out);
        for (index, number) in numbers.into_iter().enumerate() {
            push(if index == 0 { "" } else { "," }, out);
            write_number(number, out);
        }
        push("]}", out);
        if out.len() - begin > MAX_ANSWER {
            return Err(too_large("$.rows"));
        }
        Ok(())
    }

    /// Reads a row and appends the results for it; `None` if the row cannot be read.
    fn decide(
        self,
        row: Node<'_, '_>,
        faults: &mut Faults,
        results: &mut Vec<Outcome<'c>>,
    ) -> Option<()> {
        match self {
            Self::Condition(id, rule) => {
                let row = faults.object_with(row, &ROW)?;
                let item_id = faults.required(row, "id");
                let item_id = item_id.and_then(|id| faults.name(id, MAX_ITEM_ID));
                let customer = read_customer(row, faults);
                item_id?;
                results.push(rule.decide(id, Some(&customer)));
            }
            Self::Project(checks) => decide_into(checks, &Item::read(row, &ROW, faults)?, results),
        }
        Some(())
    }
}

/// The outcomes that have been written.
struct Outcomes {
    /// The number of each outcome, by its key.
    seen: Index,
    /// The decisions of the results. All outcomes have the same checks, so the decisions determine the outcome.
    key: String,
}

impl Outcomes {
    /// Returns the number of an outcome; a new outcome is appended.
    fn number(&mut self, results: &[Outcome<'_>], out: &mut Vec<u8>) -> usize {
        self.key.clear();
        for result in results {
            self.key.push_str(match result.decision() {
                Decision::Allow => "a",
                Decision::SoftDeny => "s",
                Decision::HardDeny => "h",
            });
        }
        let next = self.seen.len();
        let number = self.seen.get_or_insert(&self.key, next);
        if number == next {
            let worst = worst(results);
            let allow = worst == Decision::Allow;
            push(if number == 0 { "" } else { "," }, out);
            push("{\"allow\":", out);
            push(if allow { "true" } else { "false" }, out);
            push(",\"decision\":\"", out);
            push(worst.as_str(), out);
            push("\",\"results\":[", out);
            write_results(results, out);
            push("]}", out);
        }
        number
    }
}
