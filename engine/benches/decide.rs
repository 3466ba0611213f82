//! Measures a decision in native code, both typed and from JSON to JSON. `tests/bench` compares it with the module.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a bench fails by panicking"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tillgate_engine::catalog::Catalog;
use tillgate_engine::condition::{
    ConditionId, ConditionRequest, Customer, EntityCondition, Rule, Scope,
};
use tillgate_engine::face::{Line, Prepared};

#[path = "../../tests/support/samples.rs"]
mod samples;

/// The number of rows decided in one call.
const ROWS: usize = 10_000;

fn decide(c: &mut Criterion) {
    let mut group = c.benchmark_group("native");

    let catalog = Catalog::from_conditions(&[EntityCondition {
        id: ConditionId::new("alcohol").unwrap(),
        scope: Scope::Tenant,
        enabled: true,
        rule: Rule::AgeRestriction { minimum_age: 18 },
    }]);
    let customer = Customer {
        age: Some(17),
        licenses: None,
    };
    let request = ConditionRequest {
        item_id: "sku-1".into(),
        customer: Some(customer),
    };
    group.bench_function("age_typed", |b| {
        b.iter(|| {
            catalog
                .decide(black_box("alcohol"), black_box(&request))
                .unwrap()
        });
    });

    let five = samples::five_restrictions();
    let (short, long) = (samples::whitelist(10), samples::whitelist(100_000));
    let (item, listed) = (samples::ITEM_REQUEST, samples::LISTED_REQUEST);
    let calls = [
        (
            "age_json",
            "catalog",
            samples::CATALOG,
            "condition alcohol",
            samples::AGE_REQUEST,
        ),
        (
            "age_explained_json",
            "catalog",
            samples::CATALOG,
            "explain condition alcohol",
            samples::AGE_REQUEST,
        ),
        ("five_restrictions_json", "project", &five, "project", item),
        (
            "five_restrictions_explained_json",
            "project",
            &five,
            "explain project",
            item,
        ),
        ("whitelist_10_json", "project", &short, "project", listed),
        ("whitelist_100000_json", "project", &long, "project", listed),
    ];
    for (name, kind, document, line, request) in calls {
        let prepared = Prepared::new(kind, document.as_bytes()).unwrap();
        let mut out = Vec::with_capacity(4096);
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                prepared.evaluate(
                    Line::of(line),
                    black_box(request.as_bytes()),
                    None,
                    &mut out,
                );
                out.len()
            });
        });
    }
    let rows = [
        (
            "age_rows_json",
            "catalog",
            samples::CATALOG,
            "condition alcohol",
            samples::age_rows(ROWS),
        ),
        (
            "five_restrictions_rows_json",
            "project",
            &five,
            "project",
            samples::item_rows(ROWS),
        ),
    ];
    for (name, kind, document, line, rows) in rows {
        let prepared = Prepared::new(kind, document.as_bytes()).unwrap();
        let mut out = Vec::with_capacity(4096);
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                prepared
                    .evaluate_many(Line::of(line), black_box(rows.as_bytes()), &mut out)
                    .unwrap();
                out.len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, decide);
criterion_main!(benches);
