//! The rows of a decision for a decision log, one for each item. A host asks for them with the answer, so it does not
//! parse the answer again. They hold nothing about the customer, and are about as long as the answer.

use crate::json::{push, write_text};
use crate::outcome::{ItemDecision, Outcome, Subject};
use crate::restriction::ProjectId;

/// The verdicts that a decision log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Those that do not allow the item.
    Denials,
    /// All.
    All,
}

impl Record {
    /// Returns the word that asks for these, and a space.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Denials => "record-denials ",
            Self::All => "record ",
        }
    }

    /// Splits off the word of a line that begins with one.
    pub(crate) fn split(line: &str) -> Option<(Self, &str)> {
        let mut records = [Self::All, Self::Denials].into_iter();
        records.find_map(|record| Some((record, line.strip_prefix(record.word())?)))
    }
}

/// Appends the row of an item, with a comma before it: `{ "itemId", "verdicts": [..], "unresolved"?: [..] }`, or nothing if
/// the log keeps none of it. Each condition has a verdict, `{ "conditionId", "decision", "reason"? }`, and so has the
/// project, `{ "projectId", "decision", "reason"?, "restriction"? }`: the first of its worst results. `unresolved` has the
/// ids of conditions that are not in force. An item without any of them has a verdict that names no rule.
#[cold]
#[inline(never)]
pub(crate) fn write_row(
    record: Record,
    item: &ItemDecision<'_>,
    unresolved: &[&str],
    project: Option<ProjectId>,
    out: &mut Vec<u8>,
) {
    // The project's results come last.
    let mut results = item.results.iter();
    let of_project = results.position(|result| matches!(result.subject, Subject::Restriction(_)));
    let at = of_project.unwrap_or(item.results.len());
    let (of_conditions, of_project) = item.results.split_at(at);
    let is_kept = |outcome: &Outcome<'_>| record == Record::All || outcome.reason.is_some();

    let begin = out.len();
    push(",{\"itemId\":", out);
    write_text(item.id, out);
    push(",\"verdicts\":[", out);
    let verdicts = out.len();
    for outcome in of_conditions.iter().filter(|outcome| is_kept(outcome)) {
        if let Subject::Age(id) | Subject::License(id) = outcome.subject {
            write_verdict("{\"conditionId\":\"", id, *outcome, out);
        }
    }
    let is_alone = item.results.is_empty() && unresolved.is_empty();
    let worst = of_project.iter().rev();
    let worst = worst.max_by_key(|outcome| outcome.decision());
    let worst = worst.copied().unwrap_or(ALLOWED);
    if is_kept(&worst) {
        match project {
            Some(id) => id.with_text(|id| write_verdict("{\"projectId\":\"", id, worst, out)),
            None if is_alone => push("{\"decision\":\"ALLOW\"},", out),
            None => {}
        }
    }
    if out.len() > verdicts {
        // The comma after the last one.
        out.pop();
    } else if unresolved.is_empty() {
        out.truncate(begin);
        return;
    }
    out.push(b']');
    for (index, id) in unresolved.iter().enumerate() {
        push(
            if index == 0 {
                ",\"unresolved\":[\""
            } else {
                ",\""
            },
            out,
        );
        // Ids never need escaping.
        push(id, out);
        out.push(b'"');
    }
    push(if unresolved.is_empty() { "}" } else { "]}" }, out);
}

/// The result of a project that restricts nothing.
const ALLOWED: Outcome<'_> = Outcome {
    subject: Subject::Restriction(None),
    reason: None,
};

/// Appends a verdict, with a comma after it. The id of its rule never needs escaping.
fn write_verdict(open: &str, id: &str, outcome: Outcome<'_>, out: &mut Vec<u8>) {
    push(open, out);
    push(id, out);
    push("\",\"decision\":\"", out);
    push(outcome.decision().as_str(), out);
    out.push(b'"');
    if let Some(reason) = outcome.reason {
        push(",\"reason\":\"", out);
        push(reason.as_str(), out);
        out.push(b'"');
        if let Subject::Restriction(Some(target)) = outcome.subject {
            push(",\"restriction\":", out);
            write_text(target, out);
        }
    }
    push("},", out);
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
mod tests {
    use serde_json::{Value, json};

    use crate::face::{Line, Prepared};

    const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

    /// Returns the rows of a decision, whose answer must equal that of the same call without `record`.
    fn rows(line: &str, request: &Value) -> Value {
        let age = json!({ "id": "beer", "rule": "AGE_RESTRICTION", "scope": "TENANT", "enabled": true,
            "condition_value": { "minimum_age": 18 } });
        let paint =
            json!({ "type": "BLACKLIST", "propertyName": "group", "deniedValues": ["paint"] });
        let glue = json!({ "type": "WHITELISTEDITEMS", "itemIds": ["glue"] });
        let project = json!({ "projectId": PROJECT, "restrictions": [paint, glue] });
        let catalog = json!({ "global": [], "tenant": [age], "projects": [project] });
        let catalog = Prepared::new("catalog", catalog.to_string().as_bytes());
        let answer = |line: &str| {
            let (mut out, request) = (Vec::new(), request.to_string());
            let catalog = catalog.as_ref().unwrap();
            catalog.evaluate(Line::of(line), request.as_bytes(), None, &mut out);
            String::from_utf8(out).unwrap()
        };
        let plain = answer(line);
        let [all, denials] = ["record", "record-denials"].map(|word| {
            let recorded = answer(&format!("{word} {line}"));
            let (rows, rest) = recorded.split_once('\n').unwrap();
            assert_eq!(format!("0{rest}"), plain);
            serde_json::from_str::<Value>(rows.strip_prefix('0').unwrap()).unwrap()
        });
        assert_eq!(without_allowed(all.clone()), denials);
        all
    }

    /// Removes the verdicts that allow an item, and the rows that have nothing else.
    fn without_allowed(mut rows: Value) -> Value {
        let items = rows.as_array_mut().unwrap();
        items.retain_mut(|row| {
            let verdicts = row["verdicts"].as_array_mut().unwrap();
            verdicts.retain(|verdict| verdict["decision"] != "ALLOW");
            !verdicts.is_empty() || !row["unresolved"].is_null()
        });
        rows
    }

    #[test]
    fn a_condition_has_a_row() {
        for (age, verdict) in [
            (
                17,
                json!({ "conditionId": "beer", "decision": "HARD_DENY", "reason": "age_restriction.underage" }),
            ),
            (18, json!({ "conditionId": "beer", "decision": "ALLOW" })),
        ] {
            let request = json!({ "item": { "id": "a \"b\"\n" }, "context": { "customer": { "customer_age": age } } });
            let row = json!({ "itemId": "a \"b\"\n", "verdicts": [verdict] });
            for line in [
                "condition beer",
                "lenient condition beer",
                "explain condition beer",
            ] {
                assert_eq!(rows(line, &request), json!([row]));
            }
        }
    }

    #[test]
    fn a_project_has_the_first_of_its_worst_results() {
        let item = |id: &str, group: &str| json!({ "projectId": PROJECT, "item": { "id": id, "additionalProperties": { "group": group } } });
        let denied = |reason: &str, restriction: &str| {
            json!([{ "itemId": "pot", "verdicts": [
                { "projectId": PROJECT, "decision": "HARD_DENY", "reason": reason, "restriction": restriction },
            ] }])
        };
        let paint = denied("project_restriction.blacklist_met", "group");
        assert_eq!(rows("project", &item("pot", "paint")), paint);
        let wood = denied("project_restriction.whitelist_not_met", "itemId");
        assert_eq!(rows("project", &item("pot", "wood")), wood);
        let allowed = json!([{ "itemId": "glue", "verdicts": [{ "projectId": PROJECT, "decision": "ALLOW" }] }]);
        assert_eq!(rows("project", &item("glue", "wood")), allowed);
    }

    #[test]
    fn a_basket_has_a_row_for_each_item() {
        const NOWHERE: &str = "00000000-0000-4000-8000-000000000000";
        let basket = json!({
            "items": [{ "id": "bread" }, { "id": "ale", "conditionIds": ["beer", "nowhere", "gone"] }],
            "context": {},
        });
        let asked = json!({ "conditionId": "beer", "decision": "SOFT_DENY", "reason": "age_restriction.missing_context" });
        let bread = json!({ "itemId": "bread", "verdicts": [{ "decision": "ALLOW" }] });
        let ale =
            json!({ "itemId": "ale", "verdicts": [asked], "unresolved": ["nowhere", "gone"] });
        assert_eq!(rows("basket", &basket), json!([bread, ale]));
        let mut of_project = basket;
        of_project["projectId"] = json!(NOWHERE);
        let reason = "project_restriction.project_unreachable";
        let unreachable =
            json!({ "projectId": NOWHERE, "decision": "SOFT_DENY", "reason": reason });
        let bread = json!({ "itemId": "bread", "verdicts": [unreachable] });
        let ale = json!({ "itemId": "ale", "verdicts": [asked, unreachable], "unresolved": ["nowhere", "gone"] });
        assert_eq!(rows("explain basket", &of_project), json!([bread, ale]));
    }
}
