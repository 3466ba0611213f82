//! The rows of a decision for a decision log, one for each item and rule. A host asks for them with the answer, so it does not parse
//! the answer again. They hold nothing about the customer.

use crate::decision::{Decision, ItemDecision, Outcome, Subject, write_results};
use crate::json::{push, write_text};
use crate::restriction::ProjectId;

/// Appends the rows of an item, each with a comma before it: `{ "itemId", "result" }` with the result of a condition as it is
/// answered, `{ "itemId", "unresolved" }` with the id of a condition that is not in force, and for a project
/// `{ "itemId", "projectId", "result"? }` with the first of its worst results, or none where all allow the item. An item about
/// which nothing was asked has the row `{ "itemId" }`.
#[cold]
pub(crate) fn write_rows(
    item: &ItemDecision<'_>,
    unresolved: &[&str],
    project: Option<ProjectId>,
    out: &mut Vec<u8>,
) {
    let (mut worst, mut of_project) = (Decision::Allow, None);
    for result in &item.results {
        if !matches!(result.subject, Subject::Restriction(_)) {
            write_row(item.id, "", "", Some(result), out);
        } else if result.decision() > worst {
            (worst, of_project) = (result.decision(), Some(result));
        }
    }
    for id in unresolved {
        write_row(item.id, ",\"unresolved\":\"", id, None, out);
    }
    match project {
        Some(id) => id.with_text(|id| write_row(item.id, ",\"projectId\":\"", id, of_project, out)),
        None if item.results.is_empty() && unresolved.is_empty() => {
            write_row(item.id, "", "", None, out);
        }
        None => {}
    }
}

/// Appends a row. `member` begins a member whose value is an id, which never needs escaping.
#[cold]
#[inline(never)]
fn write_row(item: &str, member: &str, id: &str, result: Option<&Outcome<'_>>, out: &mut Vec<u8>) {
    push(",{\"itemId\":", out);
    write_text(item, out);
    if !member.is_empty() {
        push(member, out);
        push(id, out);
        out.push(b'"');
    }
    if let Some(result) = result {
        push(",\"result\":", out);
        write_results(std::slice::from_ref(result), out);
    }
    out.push(b'}');
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]
mod tests {
    use serde_json::{Value, json};

    use crate::face::{Line, Prepared};

    const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

    /// The rows of a decision, whose answer is that of the same call without `record`.
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
        let recorded = answer(&format!("record {line}"));
        let (rows, rest) = recorded.split_once('\n').unwrap();
        assert_eq!(format!("0{rest}"), plain);
        let rows = rows.strip_prefix('0').unwrap();
        serde_json::from_str(rows).unwrap()
    }

    /// A row, and of its result what a log takes.
    fn short(rows: Value) -> Value {
        let Value::Array(rows) = rows else {
            panic!("{rows}")
        };
        let short = rows.into_iter().map(|mut row| {
            if let Some(result) = row.get_mut("result").and_then(Value::as_object_mut) {
                result.retain(|name, value| {
                    ["id", "decision", "reason", "restriction"].contains(&&**name)
                        && !value.is_null()
                });
            }
            row
        });
        short.collect()
    }

    #[test]
    fn a_condition_has_one_row() {
        let request = json!({ "item": { "id": "a \"b\"\n" }, "context": { "customer": { "customer_age": 17 } } });
        let row = json!({ "itemId": "a \"b\"\n", "result": { "id": "beer", "decision": "HARD_DENY",
            "reason": "age_restriction.underage" } });
        for line in [
            "condition beer",
            "lenient condition beer",
            "explain condition beer",
        ] {
            assert_eq!(short(rows(line, &request)), json!([row]));
        }
    }

    #[test]
    fn a_project_has_one_row_with_the_first_of_its_worst_results() {
        let item = |id: &str, group: &str| json!({ "projectId": PROJECT, "item": { "id": id, "additionalProperties": { "group": group } } });
        let denied = |reason: &str, restriction: &str| {
            let result =
                json!({ "decision": "HARD_DENY", "reason": reason, "restriction": restriction });
            json!([{ "itemId": "pot", "projectId": PROJECT, "result": result }])
        };
        let paint = denied("project_restriction.blacklist_met", "group");
        assert_eq!(short(rows("project", &item("pot", "paint"))), paint);
        let wood = denied("project_restriction.whitelist_not_met", "itemId");
        assert_eq!(short(rows("project", &item("pot", "wood"))), wood);
        let allowed = json!([{ "itemId": "glue", "projectId": PROJECT }]);
        assert_eq!(short(rows("project", &item("glue", "wood"))), allowed);
    }

    #[test]
    fn a_basket_has_a_row_for_each_item_and_rule() {
        const NOWHERE: &str = "00000000-0000-4000-8000-000000000000";
        let basket = json!({
            "items": [{ "id": "bread" }, { "id": "ale", "conditionIds": ["beer", "nowhere"] }],
            "context": {},
        });
        let asked = json!({ "id": "beer", "decision": "SOFT_DENY", "reason": "age_restriction.missing_context" });
        let asked = json!({ "itemId": "ale", "result": asked });
        let unresolved = json!({ "itemId": "ale", "unresolved": "nowhere" });
        let expected = json!([{ "itemId": "bread" }, asked, unresolved]);
        assert_eq!(short(rows("basket", &basket)), expected);
        let mut of_project = basket;
        of_project["projectId"] = json!(NOWHERE);
        let unreachable = |item: &str| {
            let reason = "project_restriction.project_unreachable";
            let result = json!({ "decision": "SOFT_DENY", "reason": reason });
            json!({ "itemId": item, "projectId": NOWHERE, "result": result })
        };
        let expected = json!([unreachable("bread"), asked, unresolved, unreachable("ale")]);
        assert_eq!(short(rows("explain basket", &of_project)), expected);
    }
}
