//! Requests a second at 64 connections: a decision, beside a bare warp route that echoes the same body.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a bench fails by panicking, and nothing outside can reach it"
)]

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use warp::Filter;

#[path = "../../tests/support/host.rs"]
mod host;
#[path = "../../tests/support/load.rs"]
mod load;
#[path = "../../tests/support/samples.rs"]
mod samples;
#[path = "../../tests/support/wait.rs"]
mod wait;

use self::load::{connect, request, run};
use self::samples::AGE_REQUEST;

fn requests(c: &mut Criterion) {
    let serving = Runtime::new().unwrap();
    let asking = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut group = c.benchmark_group("http");
    group.throughput(Throughput::Elements(1));

    let echo = warp::post()
        .and(warp::path!(
            "api" / "v1" / "conditions" / String / "evaluate"
        ))
        .and(warp::body::bytes())
        .map(|_: String, body: bytes::Bytes| warp::http::Response::new(body));
    let listener = serving.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    serving.spawn(warp::serve(echo).incoming(listener).run());
    let bytes = request(
        &address,
        "/api/v1/conditions/alcohol/evaluate",
        "none",
        AGE_REQUEST,
    );
    let mut connections = asking.block_on(connect(&address, &bytes));
    group.bench_function("echo", |b| {
        b.iter_custom(|count| asking.block_on(run(&mut connections, &bytes, count)));
    });

    let host = serving.block_on(async {
        let host = host::Host::start().await;
        let token = host.token("shop", &["ecs.editor", "ecs.evaluator"]).await;
        let condition = serde_json::json!({
            "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 },
        });
        let path = "/api/v1/entity-conditions/alcohol";
        let put = host
            .send(reqwest::Method::PUT, path, &token, &condition)
            .await;
        assert_eq!(put.0, 201);
        (host, token)
    });
    let (host, token) = host;
    let address = host.url.trim_start_matches("http://").to_owned();
    let bytes = request(
        &address,
        "/api/v1/conditions/alcohol/evaluate",
        &token,
        AGE_REQUEST,
    );
    let mut connections = asking.block_on(connect(&address, &bytes));
    group.bench_function("evaluate", |b| {
        b.iter_custom(|count| asking.block_on(run(&mut connections, &bytes, count)));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(8));
    targets = requests
}
criterion_main!(benches);
