//! The rows of a decision for a decision log, one for each item. A host asks for them with the answer, so it does not
//! parse the answer again. They hold nothing about the customer, and are no longer than the answer.

use crate::decision::{Decision, ItemDecision, Subject, write_results};
use crate::json::{push, write_text};
use crate::restriction::ProjectId;

/// Appends the row of an item, with a comma before it: `{ "itemId", "results": [..], "unresolved": [..], "projectId"?,
/// "project"?: [..] }`. `results` has the results of conditions as in the answer, `unresolved` has the ids of
/// conditions that are not in force, and `project` has the first of the project's worst results, unless all of them
/// allow the item.
#[cold]
#[inline(never)]
pub(crate) fn write_row(
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
    push(",{\"itemId\":", out);
    write_text(item.id, out);
    push(",\"results\":[", out);
    write_results(of_conditions, out);
    out.push(b']');
    push(",\"unresolved\":[", out);
    for (index, id) in unresolved.iter().enumerate() {
        push(if index == 0 { "\"" } else { ",\"" }, out);
        // Ids never need escaping.
        push(id, out);
        out.push(b'"');
    }
    out.push(b']');
    if let Some(id) = project {
        id.with_text(|id| {
            push(",\"projectId\":\"", out);
            push(id, out);
        });
        push("\",\"project\":[", out);
        let worst = of_project
            .iter()
            .rev()
            .max_by_key(|result| result.decision());
        let worst = worst.filter(|result| result.decision() > Decision::Allow);
        write_results(worst.map(std::slice::from_ref).unwrap_or_default(), out);
        out.push(b']');
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
        let recorded = answer(&format!("record {line}"));
        let (rows, rest) = recorded.split_once('\n').unwrap();
        assert_eq!(format!("0{rest}"), plain);
        let rows = rows.strip_prefix('0').unwrap();
        serde_json::from_str(rows).unwrap()
    }

    /// Reduces the results in rows to the members that a log keeps.
    fn short(mut rows: Value) -> Value {
        for row in rows.as_array_mut().unwrap() {
            for member in ["results", "project"] {
                let results = row.get_mut(member).and_then(Value::as_array_mut);
                for result in results.into_iter().flatten() {
                    result.as_object_mut().unwrap().retain(|name, value| {
                        ["id", "decision", "reason", "restriction"].contains(&&**name)
                            && !value.is_null()
                    });
                }
            }
        }
        rows
    }

    #[test]
    fn a_condition_has_a_row() {
        let request = json!({ "item": { "id": "a \"b\"\n" }, "context": { "customer": { "customer_age": 17 } } });
        let result =
            json!({ "id": "beer", "decision": "HARD_DENY", "reason": "age_restriction.underage" });
        let row = json!({ "itemId": "a \"b\"\n", "results": [result], "unresolved": [] });
        for line in [
            "condition beer",
            "lenient condition beer",
            "explain condition beer",
        ] {
            assert_eq!(short(rows(line, &request)), json!([row]));
        }
    }

    #[test]
    fn a_project_has_the_first_of_its_worst_results() {
        let item = |id: &str, group: &str| json!({ "projectId": PROJECT, "item": { "id": id, "additionalProperties": { "group": group } } });
        let row = |item: &str, project: Value| json!([{ "itemId": item, "results": [], "unresolved": [], "projectId": PROJECT, "project": project }]);
        let denied = |reason: &str, restriction: &str| {
            row(
                "pot",
                json!([{ "decision": "HARD_DENY", "reason": reason, "restriction": restriction }]),
            )
        };
        let paint = denied("project_restriction.blacklist_met", "group");
        assert_eq!(short(rows("project", &item("pot", "paint"))), paint);
        let wood = denied("project_restriction.whitelist_not_met", "itemId");
        assert_eq!(short(rows("project", &item("pot", "wood"))), wood);
        let allowed = row("glue", json!([]));
        assert_eq!(short(rows("project", &item("glue", "wood"))), allowed);
    }

    #[test]
    fn a_basket_has_a_row_for_each_item() {
        const NOWHERE: &str = "00000000-0000-4000-8000-000000000000";
        let basket = json!({
            "items": [{ "id": "bread" }, { "id": "ale", "conditionIds": ["beer", "nowhere", "gone"] }],
            "context": {},
        });
        let asked = json!({ "id": "beer", "decision": "SOFT_DENY", "reason": "age_restriction.missing_context" });
        let mut bread = json!({ "itemId": "bread", "results": [], "unresolved": [] });
        let mut ale =
            json!({ "itemId": "ale", "results": [asked], "unresolved": ["nowhere", "gone"] });
        assert_eq!(short(rows("basket", &basket)), json!([bread, ale]));
        let mut of_project = basket;
        of_project["projectId"] = json!(NOWHERE);
        let reason = "project_restriction.project_unreachable";
        for row in [&mut bread, &mut ale] {
            row["projectId"] = json!(NOWHERE);
            row["project"] = json!([{ "decision": "SOFT_DENY", "reason": reason }]);
        }
        assert_eq!(
            short(rows("explain basket", &of_project)),
            json!([bread, ale])
        );
    }
}
