//! What a decision log needs of a decision: a row for each item and rule. A host that keeps such a log asks for the rows beside the
//! answer, and so need not read the answer again. They say nothing of the customer.

use crate::decision::{Decision, ItemDecision, Outcome, Subject};
use crate::json::{push, write_text};
use crate::restriction::ProjectId;

/// The reason in the row of a condition that is not in force, for which the answer has no result.
pub const NOT_IN_FORCE: &str = "condition.not_in_force";

/// Appends the rows of an item, each with a comma before it: `{ "itemId", "conditionId" or "projectId", "decision" }`, and
/// `reason` and `restriction` where it is not allowed. `unresolved` are conditions that are not in force. A project has one
/// row, with the first of its worst results. An item about which nothing was asked has one with neither.
pub(crate) fn write_rows(
    item: &ItemDecision<'_>,
    unresolved: &[&str],
    project: Option<ProjectId>,
    out: &mut Vec<u8>,
) {
    let mut of_project: Option<&Outcome<'_>> = None;
    for result in &item.results {
        match result.subject {
            Subject::Age(id) | Subject::License(id) => {
                open(item.id, Some(("conditionId", id)), result.decision(), out);
                close(result, out);
            }
            Subject::Restriction(_) => {
                let worst = of_project.map_or(Decision::Allow, Outcome::decision);
                if result.decision() > worst {
                    of_project = Some(result);
                }
            }
        }
    }
    for id in unresolved {
        open(item.id, Some(("conditionId", id)), Decision::SoftDeny, out);
        push(",\"reason\":\"", out);
        push(NOT_IN_FORCE, out);
        push("\"}", out);
    }
    if let Some(id) = project {
        let decision = of_project.map_or(Decision::Allow, Outcome::decision);
        open(item.id, Some(("projectId", &id.to_string())), decision, out);
        match of_project {
            Some(result) => close(result, out),
            None => out.push(b'}'),
        }
    } else if item.results.is_empty() && unresolved.is_empty() {
        open(item.id, None, Decision::Allow, out);
        out.push(b'}');
    }
}

/// Appends a row as far as its decision.
fn open(item: &str, rule: Option<(&str, &str)>, decision: Decision, out: &mut Vec<u8>) {
    push(",{\"itemId\":", out);
    write_text(item, out);
    if let Some((member, id)) = rule {
        push(",\"", out);
        push(member, out);
        push("\":\"", out);
        // Neither kind of id ever needs escaping.
        push(id, out);
        push("\"", out);
    }
    push(",\"decision\":\"", out);
    push(decision.as_str(), out);
    push("\"", out);
}

/// Appends the rest of the row of a result.
fn close(result: &Outcome<'_>, out: &mut Vec<u8>) {
    if let Some(reason) = result.reason {
        push(",\"reason\":\"", out);
        push(reason.as_str(), out);
        push("\"", out);
        if let Subject::Restriction(Some(target)) = result.subject {
            push(",\"restriction\":", out);
            write_text(target, out);
        }
    }
    out.push(b'}');
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

    #[test]
    fn a_condition_has_one_row() {
        let request = json!({ "item": { "id": "a \"b\"\n" }, "context": { "customer": { "customer_age": 17 } } });
        let row = json!({ "itemId": "a \"b\"\n", "conditionId": "beer", "decision": "HARD_DENY",
            "reason": "age_restriction.underage" });
        assert_eq!(rows("condition beer", &request), json!([row]));
        assert_eq!(rows("lenient condition beer", &request), json!([row]));
        assert_eq!(rows("explain condition beer", &request), json!([row]));
    }

    #[test]
    fn a_project_has_one_row_with_the_first_of_its_worst_results() {
        let item = |id: &str, group: &str| json!({ "projectId": PROJECT, "item": { "id": id, "additionalProperties": { "group": group } } });
        let row = |more: Value| {
            let mut row = json!({ "itemId": "pot", "projectId": PROJECT });
            if let (Some(row), Value::Object(more)) = (row.as_object_mut(), more) {
                row.extend(more);
            }
            json!([row])
        };
        assert_eq!(
            rows("project", &item("pot", "paint")),
            row(
                json!({ "decision": "HARD_DENY", "reason": "project_restriction.blacklist_met", "restriction": "group" })
            )
        );
        assert_eq!(
            rows("project", &item("pot", "wood")),
            row(
                json!({ "decision": "HARD_DENY", "reason": "project_restriction.whitelist_not_met", "restriction": "itemId" })
            )
        );
        let allowed = json!([{ "itemId": "glue", "projectId": PROJECT, "decision": "ALLOW" }]);
        assert_eq!(rows("project", &item("glue", "wood")), allowed);
    }

    #[test]
    fn a_basket_has_a_row_for_each_item_and_rule() {
        let basket = json!({
            "items": [{ "id": "bread" }, { "id": "ale", "conditionIds": ["beer", "nowhere"] }],
            "context": {},
        });
        let missing = json!({ "itemId": "ale", "conditionId": "beer", "decision": "SOFT_DENY",
            "reason": "age_restriction.missing_context" });
        let nowhere = json!({ "itemId": "ale", "conditionId": "nowhere", "decision": "SOFT_DENY",
            "reason": "condition.not_in_force" });
        let bread = json!({ "itemId": "bread", "decision": "ALLOW" });
        assert_eq!(rows("basket", &basket), json!([bread, missing, nowhere]));
        let mut of_project = basket;
        of_project["projectId"] = json!("00000000-0000-4000-8000-000000000000");
        let unreachable = |item: &str| {
            json!({ "itemId": item, "projectId": "00000000-0000-4000-8000-000000000000", "decision": "SOFT_DENY",
                "reason": "project_restriction.project_unreachable" })
        };
        let expected = json!([unreachable("bread"), missing, nowhere, unreachable("ale")]);
        assert_eq!(rows("explain basket", &of_project), expected);
    }
}
