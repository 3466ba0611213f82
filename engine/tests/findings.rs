//! Checks the findings about rules against the decisions: for every item of a small domain, and for every customer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value as Json;
use tillgate_engine::catalog::{Catalog, decide_on};
use tillgate_engine::compare::difference;
use tillgate_engine::condition::{
    ConditionId, ConditionRequest, Customer, EntityCondition, Licenses, Rule, Scope,
};
use tillgate_engine::draft::Draft;
use tillgate_engine::findings::write;
use tillgate_engine::outcome::Decision;
use tillgate_engine::restriction::{Demand, Item, Project, Restriction, Value};
use tillgate_engine::restriction_checks::Checks;

const TEXTS: [&str; 3] = ["x", "X", ""];
const IDS: [&str; 3] = ["i", "j", "item"];

type Demands = Vec<Restriction<'static>>;

fn value() -> impl Strategy<Value = Value<'static>> {
    let text = select(&TEXTS[..]).prop_map(|text| Value::Text(text.into()));
    prop_oneof![2 => text, 1 => any::<bool>().prop_map(Value::Bool)]
}

fn restriction() -> impl Strategy<Value = Restriction<'static>> {
    let name = || select(&["p", "itemId"][..]);
    let values = || prop::collection::vec(value(), 0..4);
    let ids = || prop::collection::vec(select(&IDS[..]).prop_map(Into::into), 0..3);
    let demand = prop_oneof![
        (name(), values()).prop_map(|(name, values)| Demand::Whitelist(name.into(), values)),
        (name(), values()).prop_map(|(name, values)| Demand::Blacklist(name.into(), values)),
        (name(), any::<bool>()).prop_map(|(name, value)| Demand::Boolean(name.into(), value)),
        ids().prop_map(Demand::WhitelistedItems),
        ids().prop_map(Demand::BlacklistedItems),
    ];
    (demand, any::<bool>()).prop_map(|(demand, exclusive)| Restriction { demand, exclusive })
}

fn restrictions() -> impl Strategy<Value = Demands> {
    prop::collection::vec(restriction(), 0..5)
}

/// Two lists of restrictions; the second is often the first with one small change.
fn versions() -> impl Strategy<Value = (Demands, Demands)> {
    let changed = (
        restrictions(),
        restriction(),
        any::<prop::sample::Index>(),
        0..4,
    );
    let changed = changed.prop_map(|(before, new, place, change)| {
        let mut after = before.clone();
        match change {
            0 => after.reverse(),
            1 => after.push(new),
            _ if after.is_empty() => {}
            2 => drop(after.remove(place.index(before.len()))),
            _ => after.extend(before.get(place.index(before.len())).cloned()),
        }
        (before, after)
    });
    prop_oneof![3 => changed, 1 => (restrictions(), restrictions())]
}

fn draft(restrictions: &Demands) -> Draft<'static> {
    Draft::Project(Some(Project {
        id: None,
        name: None,
        restrictions: restrictions.clone(),
    }))
}

fn items() -> Vec<Item<'static>> {
    let texts = TEXTS.into_iter().chain(["other"]);
    let texts = texts.map(|text| Some(Value::Text(text.into())));
    let others = [
        None,
        Some(Value::Bool(true)),
        Some(Value::Bool(false)),
        Some(Value::Number),
    ];
    let values: Vec<_> = texts.chain(others).collect();
    let mut items = Vec::new();
    for id in IDS.into_iter().chain(["k"]) {
        for p in &values {
            for q in &values {
                let properties = [("p", p), ("itemId", q)].into_iter();
                let properties =
                    properties.filter_map(|(name, value)| Some((name.into(), value.clone()?)));
                items.push(Item {
                    id: id.into(),
                    properties: properties.collect(),
                });
            }
        }
    }
    items
}

/// Returns the findings about a project.
fn findings(project: &Draft<'_>) -> Vec<Json> {
    let mut out = Vec::new();
    write(project, &mut out);
    serde_json::from_slice(&out).expect("findings are JSON")
}

fn member<'j>(finding: &'j Json, member: &str) -> &'j str {
    finding.get(member).and_then(Json::as_str).unwrap()
}

fn decided(restrictions: &Demands, item: &Item<'_>) -> Decision {
    decide_on(Some(&Checks::new(restrictions)), item).decision()
}

/// Reads the item that a witness names.
fn witnessed(witness: &[u8]) -> Item<'static> {
    let witness: Json = serde_json::from_slice(witness).expect("a witness is JSON");
    let item = witness.get("item").expect("a witness has an item");
    let properties = item.get("additionalProperties").and_then(Json::as_object);
    let properties = properties.into_iter().flatten().map(|(name, value)| {
        let value = match value {
            Json::Bool(value) => Value::Bool(*value),
            value => Value::Text(value.as_str().unwrap().to_owned().into()),
        };
        (name.clone().into(), value)
    });
    Item {
        id: item
            .get("id")
            .and_then(Json::as_str)
            .unwrap()
            .to_owned()
            .into(),
        properties: properties.collect(),
    }
}

fn condition(scope: Scope) -> impl Strategy<Value = EntityCondition> {
    let age = select(&[0, 1, 17, 18, 149, 150][..]);
    let age = age.prop_map(|minimum_age| Rule::AgeRestriction { minimum_age });
    let rule = prop_oneof![3 => age, 1 => Just(Rule::LicenseRequirement)];
    (rule, any::<bool>()).prop_map(move |(rule, enabled)| EntityCondition {
        id: ConditionId::new("c").unwrap(),
        scope,
        enabled,
        rule,
    })
}

fn conditions() -> impl Strategy<Value = [Option<EntityCondition>; 2]> {
    let own = prop::option::of(condition(Scope::Tenant));
    let global = prop::option::of(condition(Scope::Global));
    (own, global).prop_map(|(own, global)| [own, global])
}

/// Returns the decisions of a catalog of these conditions, one for each customer.
fn decisions(conditions: &[Option<EntityCondition>; 2]) -> Vec<Option<Decision>> {
    let all: Vec<_> = conditions.iter().flatten().cloned().collect();
    let catalog = Catalog::from_conditions(&all);
    let ages = (0..=150).map(Some).chain([None]);
    let licenses = [None, Some(vec![]), Some(vec!["c".into()])];
    let customers = ages.flat_map(|age| {
        let licenses = licenses.clone().into_iter();
        licenses.map(move |licenses| Customer {
            age,
            licenses: licenses.map(Licenses::new),
        })
    });
    let decided = customers.map(|customer| {
        let request = ConditionRequest {
            item_id: "i".into(),
            customer: Some(customer),
        };
        let decision = catalog.decide("c", &request);
        decision.ok().map(|decision| decision.decision())
    });
    decided.collect()
}

proptest! {
    #[test]
    fn two_projects_are_the_same_exactly_if_they_decide_every_item_the_same(
        (before, after) in versions(),
    ) {
        let items = items();
        let differs = items.iter().any(|item| decided(&before, item) != decided(&after, item));
        let found = difference(Some(&draft(&before)), Some(&draft(&after)));
        prop_assert_eq!(found.is_some(), differs);
        if let Some(found) = found {
            let item = witnessed(&found.witness);
            prop_assert_eq!(found.before, Some(decided(&before, &item)));
            prop_assert_eq!(found.after, Some(decided(&after, &item)));
            prop_assert_ne!(found.before, found.after);
        }
    }

    #[test]
    fn two_conditions_are_the_same_exactly_if_they_decide_every_customer_the_same(
        before in conditions(),
        after in conditions(),
    ) {
        let [one, two] = [&before, &after].map(|[own, global]| Draft::Condition(own.clone(), global.clone()));
        let found = difference(Some(&one), Some(&two));
        prop_assert_eq!(found.is_some(), decisions(&before) != decisions(&after));
        prop_assert!(found.is_none_or(|found| found.before != found.after));
    }

    #[test]
    fn nothing_can_be_bought_exactly_if_every_item_is_denied(restrictions in restrictions()) {
        let items = items();
        let is_denied = items.iter().all(|item| decided(&restrictions, item) == Decision::HardDeny);
        let found = findings(&draft(&restrictions));
        let is_found = found.iter().any(|finding| member(finding, "kind") == "UNSATISFIABLE");
        prop_assert_eq!(is_found, is_denied);
    }

    #[test]
    fn a_restriction_that_adds_nothing_can_be_left_out(restrictions in restrictions()) {
        let project = draft(&restrictions);
        let mut idle = Vec::new();
        for finding in findings(&project) {
            if member(&finding, "message").contains(" adds nothing: ") {
                let places = finding.get("places").and_then(Json::as_array);
                idle.extend(places.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned));
            }
        }
        for place in idle {
            let position = place.trim_start_matches("$.restrictions[").trim_end_matches(']');
            let mut without = restrictions.clone();
            without.remove(position.parse().unwrap());
            prop_assert_eq!(difference(Some(&project), Some(&draft(&without))), None);
        }
    }
}

/// The project has as many values as are allowed, hard to tell apart, in as many restrictions.
#[test]
fn the_largest_projects_are_looked_at() {
    let text = |number: usize| {
        if number.is_multiple_of(2) {
            format!("é{number:0>8}")
        } else {
            format!("É{:0>8}", number - 1)
        }
    };
    let values =
        |line: usize| (0..100).map(move |number| Value::Text(text(line * 100 + number).into()));
    let restrictions = (0..1_000).map(|line| Restriction {
        demand: Demand::Whitelist("p".into(), values(line).collect()),
        exclusive: line % 2 == 0,
    });
    let restrictions: Demands = restrictions.collect();
    let project = draft(&restrictions);
    let found = findings(&project);
    assert_eq!(found.len(), 101);
    assert_eq!(
        found.first().map(|finding| member(finding, "kind")),
        Some("UNSATISFIABLE")
    );
    let mut changed = restrictions;
    changed.reverse();
    assert_eq!(difference(Some(&project), Some(&draft(&changed))), None);
}
