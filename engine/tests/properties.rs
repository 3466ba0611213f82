//! Properties of every decision, from `conditions.md`, tested with random documents and requests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use serde_json::{Value, json};
use tillgate_engine::face::{Line, Prepared};

const PROJECT_ID: &str = "3f1c2a60-5b1e-4c4e-9f52-0a6f4c1de001";
const IDS: [&str; 6] = ["a", "b", "c", "A", "a.b", "__proto__"];
const TEXTS: [&str; 6] = ["x", "y", "X", "", "true", "caf\u{e9}"];

// Strategies.

fn condition() -> impl Strategy<Value = Value> {
    let rule = prop_oneof![
        (0..=150).prop_map(|age| ("AGE_RESTRICTION", json!({ "minimum_age": age }))),
        Just(("LICENSE_REQUIREMENT", json!({}))),
    ];
    (rule, any::<bool>()).prop_map(|((rule, value), enabled)| {
        json!({ "rule": rule, "enabled": enabled, "condition_value": value })
    })
}

/// Conditions with distinct ids.
fn conditions() -> impl Strategy<Value = Value> {
    let ids = subsequence(IDS.to_vec(), 0..=IDS.len());
    (ids, prop::collection::vec(condition(), IDS.len())).prop_map(|(ids, conditions)| {
        let with_id = ids.iter().zip(conditions).map(|(id, mut condition)| {
            condition["id"] = json!(id);
            condition
        });
        with_id.collect()
    })
}

/// A member that is absent, null or present.
fn member(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Option<Value>> {
    prop_oneof![1 => Just(None), 1 => Just(Some(Value::Null)), 4 => value.prop_map(Some)]
}

fn customer() -> impl Strategy<Value = Value> {
    let license = select(&IDS[..]).prop_flat_map(|id| select(vec![json!(id), json!({ "id": id })]));
    let licenses = prop::collection::vec(license, 0..4).prop_map(Value::from);
    let age = (0..=150).prop_map(Value::from);
    (member(age), member(licenses)).prop_map(|(age, licenses)| {
        let mut customer = json!({});
        for (key, value) in [("customer_age", age), ("licenses", licenses)] {
            if let Some(value) = value {
                customer[key] = value;
            }
        }
        customer
    })
}

fn context() -> impl Strategy<Value = Value> {
    member(customer()).prop_map(|customer| match customer {
        Some(customer) => json!({ "customer": customer }),
        None => json!({}),
    })
}

fn listed_value() -> impl Strategy<Value = Value> {
    let text = select(&TEXTS[..]).prop_map(Value::from);
    prop_oneof![3 => text, 1 => any::<bool>().prop_map(Value::from)]
}

fn item_id() -> impl Strategy<Value = Value> {
    select(&["i", "j", "k", "I"][..]).prop_map(Value::from)
}

fn restriction() -> impl Strategy<Value = Value> {
    let name = || select(&["p", "q", "itemId"][..]);
    let values = || prop::collection::vec(listed_value(), 0..4);
    let items = || prop::collection::vec(item_id(), 0..4);
    let demand = prop_oneof![
        (name(), values()).prop_map(|(name, values)| {
            json!({ "type": "WHITELIST", "propertyName": name, "allowedValues": values })
        }),
        (name(), values()).prop_map(|(name, values)| {
            json!({ "type": "BLACKLIST", "propertyName": name, "deniedValues": values })
        }),
        (name(), any::<bool>()).prop_map(|(name, value)| {
            json!({ "type": "BOOLEAN", "propertyName": name, "value": value })
        }),
        items().prop_map(|items| json!({ "type": "WHITELISTEDITEMS", "itemIds": items })),
        items().prop_map(|items| json!({ "type": "BLACKLISTEDITEMS", "itemIds": items })),
    ];
    (demand, any::<bool>()).prop_map(|(mut demand, exclusive)| {
        demand["exclusive"] = json!(exclusive);
        demand
    })
}

fn restrictions() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(restriction(), 0..6)
}

fn item() -> impl Strategy<Value = Value> {
    let property = || {
        prop_oneof![
            4 => listed_value().prop_map(Some),
            1 => Just(Some(json!(1))),
            1 => Just(None),
        ]
    };
    (item_id(), property(), property()).prop_map(|(id, p, q)| {
        let mut properties = json!({});
        for (key, value) in [("p", p), ("q", q)] {
            if let Some(value) = value {
                properties[key] = value;
            }
        }
        json!({ "id": id, "additionalProperties": properties })
    })
}

fn basket_item() -> impl Strategy<Value = Value> {
    let asked = select(&["a", "b", "c", "A", "a.b", "__proto__", "nobody"][..]);
    (item(), prop::collection::vec(asked, 0..5)).prop_map(|(mut item, ids)| {
        item["conditionIds"] = json!(ids);
        item
    })
}

fn catalog() -> impl Strategy<Value = Value> {
    (conditions(), conditions(), restrictions(), any::<bool>()).prop_map(
        |(global, tenant, restrictions, has_project)| {
            let project = json!({ "projectId": PROJECT_ID, "restrictions": restrictions });
            let projects: Vec<Value> = has_project.then_some(project).into_iter().collect();
            json!({ "global": global, "tenant": tenant, "projects": projects })
        },
    )
}

// Calls.

fn prepare(line: &str, document: &Value) -> Prepared {
    Prepared::new(line, document.to_string().as_bytes()).expect("the document is valid")
}

fn ask(prepared: &Prepared, line: &str, request: &Value) -> Result<Value, Value> {
    let mut out = Vec::new();
    prepared.evaluate(
        Line::of(line),
        request.to_string().as_bytes(),
        None,
        &mut out,
    );
    let answer = serde_json::from_slice(&out[1..]).expect("an answer is JSON");
    if out[0] == b'0' {
        Ok(answer)
    } else {
        Err(answer)
    }
}

fn ask_basket(prepared: &Prepared, items: &[Value], context: &Value) -> Value {
    let request = json!({ "items": items, "projectId": PROJECT_ID, "context": context });
    ask(prepared, "basket", &request).expect("the basket is valid")
}

fn decisions(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().unwrap().iter();
    results
        .map(|result| result["decision"].as_str().unwrap())
        .collect()
}

fn is_answer(out: &[u8]) -> bool {
    let Some((first, text)) = out.split_first() else {
        return false;
    };
    matches!(first, b'0' | b'1') && serde_json::from_slice::<Value>(text).is_ok()
}

/// Returns the context `less`, with its unknown members filled in from `more`.
fn filled(less: &Value, more: &Value) -> Value {
    match (less, more) {
        (Value::Null, more) => more.clone(),
        (Value::Object(less), Value::Object(more)) => {
            let mut all = less.clone();
            for (key, value) in more {
                let there = all.get(key).unwrap_or(&Value::Null);
                let value = filled(there, value);
                all.insert(key.clone(), value);
            }
            all.into()
        }
        (less, _) => less.clone(),
    }
}

/// Bytes that are almost valid input for a call.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let request = (context(), item(), basket_item()).prop_map(|(context, item, basket)| {
        json!({ "projectId": PROJECT_ID, "item": item, "items": [basket], "context": context })
    });
    let project = restrictions().prop_map(|list| json!({ "restrictions": list }));
    let document = prop_oneof![catalog(), project, request];
    let damage = prop::collection::vec((any::<Index>(), any::<Option<u8>>()), 0..4);
    let odd = select(&b"{}[]\",:\\0\x00\xff-e.tn"[..]);
    (document, damage, odd, any::<Index>()).prop_map(|(document, damage, odd, place)| {
        let mut bytes = document.to_string().into_bytes();
        bytes.insert(place.index(bytes.len()), odd);
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            match byte {
                Some(byte) => bytes[place] = byte,
                None => drop(bytes.remove(place)),
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn knowing_more_of_a_customer_never_softens_what_was_allowed(
        catalog in catalog(),
        less in context(),
        more in context(),
        id in select(&IDS[..]),
    ) {
        let catalog = prepare("catalog", &catalog);
        let ask = |context: &Value| {
            let request = json!({ "item": { "id": "i" }, "context": context });
            ask(&catalog, &format!("condition {id}"), &request).ok()
        };
        let (before, after) = (ask(&less), ask(&filled(&less, &more)));
        prop_assert_eq!(before.is_some(), after.is_some());
        if let (Some(before), Some(after)) = (before, after) {
            match decisions(&before)[0] {
                // A definite answer does not change.
                "ALLOW" | "HARD_DENY" => prop_assert_eq!(before, after),
                decision => prop_assert_eq!(decision, "SOFT_DENY"),
            }
        }
    }

    #[test]
    fn a_basket_is_decided_as_its_items_one_by_one(
        document in catalog(),
        context in context(),
        items in prop::collection::vec(basket_item(), 1..5),
    ) {
        let catalog = prepare("catalog", &document);
        let mut worst = "ALLOW";
        let mut expected = Vec::new();
        for item in &items {
            let (mut results, mut errors) = (Vec::new(), Vec::new());
            for id in item["conditionIds"].as_array().unwrap() {
                let request = json!({ "item": { "id": item["id"] }, "context": context });
                match ask(&catalog, &format!("condition {}", id.as_str().unwrap()), &request) {
                    Ok(answer) => results.extend(answer["results"].as_array().unwrap().clone()),
                    Err(error) => {
                        prop_assert_eq!(&error["code"], "condition_not_found");
                        errors.push(json!({ "conditionId": id, "status": 404 }));
                    }
                }
            }
            let mut alone = item.clone();
            alone.as_object_mut().unwrap().remove("conditionIds");
            let request = json!({ "projectId": PROJECT_ID, "item": alone });
            let project = ask(&catalog, "project", &request).unwrap();
            results.extend(project["results"].as_array().unwrap().clone());
            let allow = errors.is_empty() && results.iter().all(|result| result["allow"] == true);
            let mut answer = json!({ "id": item["id"], "allow": allow, "results": results });
            let soft = !errors.is_empty() || decisions(&answer).contains(&"SOFT_DENY");
            if decisions(&answer).contains(&"HARD_DENY") {
                worst = "HARD_DENY";
            } else if soft && worst == "ALLOW" {
                worst = "SOFT_DENY";
            }
            if !errors.is_empty() {
                answer["errors"] = errors.into();
            }
            expected.push(answer);
        }
        let allow = expected.iter().all(|answer| answer["allow"] == true);
        let basket = ask_basket(&catalog, &items, &context);
        prop_assert_eq!(basket, json!({ "allow": allow, "decision": worst, "items": expected }));
    }

    #[test]
    fn a_project_prepared_on_its_own_decides_as_in_a_catalog(
        restrictions in restrictions(),
        item in item(),
    ) {
        let project = json!({ "projectId": PROJECT_ID, "restrictions": restrictions });
        let request = json!({ "projectId": PROJECT_ID, "item": item });
        let alone = ask(&prepare("project", &project), "project", &request);
        let catalog = json!({ "global": [], "tenant": [], "projects": [project] });
        prop_assert_eq!(ask(&prepare("catalog", &catalog), "project", &request), alone);
    }

    #[test]
    fn answers_are_in_the_order_of_the_items(
        document in catalog(),
        context in context(),
        (items, shuffled) in prop::collection::vec(basket_item(), 1..6).prop_flat_map(|items| {
            let order = (0..items.len()).collect::<Vec<_>>();
            (Just(items), Just(order).prop_shuffle())
        }),
    ) {
        let catalog = prepare("catalog", &document);
        let before = ask_basket(&catalog, &items, &context);
        let moved: Vec<Value> = shuffled.iter().map(|&at| items[at].clone()).collect();
        let after = ask_basket(&catalog, &moved, &context);
        let answers: Vec<Value> = shuffled.iter().map(|&at| before["items"][at].clone()).collect();
        let (allow, decision) = (&before["allow"], &before["decision"]);
        prop_assert_eq!(after, json!({ "allow": allow, "decision": decision, "items": answers }));
    }

    #[test]
    fn whitelisting_more_never_denies_what_was_allowed(
        restrictions in restrictions(),
        values in prop::collection::vec(listed_value(), 0..4),
        ids in prop::collection::vec(item_id(), 0..4),
        item in item(),
    ) {
        let request = json!({ "projectId": PROJECT_ID, "item": item });
        let decide = |restrictions: &[Value]| {
            let project = prepare("project", &json!({ "restrictions": restrictions }));
            ask(&project, "project", &request).unwrap()
        };
        let mut wider = restrictions.clone();
        for restriction in &mut wider {
            let (list, more) = match restriction["type"].as_str() {
                Some("WHITELIST") => ("allowedValues", &values),
                Some("WHITELISTEDITEMS") => ("itemIds", &ids),
                _ => continue,
            };
            restriction[list].as_array_mut().unwrap().extend(more.iter().cloned());
        }
        let (before, after) = (decide(&restrictions), decide(&wider));
        let (before, after) = (decisions(&before), decisions(&after));
        prop_assert_eq!(before.len(), after.len());
        for (before, after) in before.into_iter().zip(after) {
            prop_assert!(before != "ALLOW" || after == "ALLOW");
        }
    }

    #[test]
    fn any_bytes_have_an_answer(
        document in damaged(),
        request in prop_oneof![damaged(), prop::collection::vec(any::<u8>(), 0..100)],
        prepared_line in select(&["catalog", "project", "", "catalog "][..]),
        line in "(condition [aA.]{0,3}|project|basket|\\PC{0,9})",
    ) {
        let catalog = json!({ "global": [], "tenant": [], "projects": [] });
        let project = json!({ "restrictions": [] });
        let ready = [prepare("catalog", &catalog), prepare("project", &project)];
        let made = Prepared::new(prepared_line, &document).ok();
        for prepared in ready.iter().chain(made.as_ref()) {
            for request in [&request, &document] {
                let mut out = Vec::new();
                prepared.evaluate(Line::of(&line), request, None, &mut out);
                prop_assert!(is_answer(&out), "{}", String::from_utf8_lossy(&out));
            }
        }
    }
}
