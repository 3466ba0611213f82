//! Measures a decision in the module under wasmtime, including the boundary. `tests/bench` compares it with native code.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench fails by panicking"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tillgate_base::engine::{Call, CompiledModule, Document, EnginePool};

#[path = "../../tests/support/samples.rs"]
mod samples;

fn decide(c: &mut Criterion) {
    let pool = EnginePool::new(CompiledModule::of_this_program().unwrap(), 1).unwrap();
    let mut group = c.benchmark_group("module");
    let catalog = Document::catalog(samples::CATALOG.into());
    let age = samples::AGE_REQUEST.as_bytes();
    group.bench_function("age_json", |b| {
        b.iter(|| {
            pool.evaluate(Call::Condition(&catalog, "alcohol"), black_box(age))
                .unwrap()
        });
    });
    let five = Document::project(samples::five_restrictions().into());
    let item = samples::ITEM_REQUEST.as_bytes();
    group.bench_function("five_restrictions_json", |b| {
        b.iter(|| {
            pool.evaluate(Call::Project(&five), black_box(item))
                .unwrap()
        });
    });
    for ids in [10, 100_000] {
        let whitelist = Document::project(samples::whitelist(ids).into());
        let listed = samples::LISTED_REQUEST.as_bytes();
        group.bench_function(format!("whitelist_{ids}_json"), |b| {
            b.iter(|| {
                pool.evaluate(Call::Project(&whitelist), black_box(listed))
                    .unwrap()
            });
        });
    }
    group.finish();
}

/// Measures the module's memory after ten thousand and after ten million decisions; `tests/bench` compares the two.
fn memory(_: &mut Criterion) {
    let pool = EnginePool::new(CompiledModule::of_this_program().unwrap(), 1).unwrap();
    let catalog = Document::catalog(samples::CATALOG.into());
    let age = samples::AGE_REQUEST.as_bytes();
    let bytes_after = |decisions: u32| {
        for _ in 0..decisions {
            let question = Call::Condition(&catalog, "alcohol");
            pool.evaluate(question, black_box(age)).unwrap();
        }
        pool.memory()
    };
    let (few, many) = (bytes_after(10_000), bytes_after(10_000_000));
    println!("module/memory: {few} bytes after ten thousand decisions, {many} after ten million");
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/criterion/memory.json"
    );
    std::fs::write(file, format!("[{few},{many}]")).unwrap();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = decide, memory
}
criterion_main!(benches);
