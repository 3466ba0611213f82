//! Measures requests per second at 64 connections: a decision, compared with a bare warp route that echoes the same
//! body. Also measures the processor time of a decision in the program, with and without writing it to the decision
//! log.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
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

use self::host::Program;
use self::load::{connect, request, run};
use self::samples::AGE_REQUEST;

const EVALUATE: &str = "/api/v1/conditions/alcohol/evaluate";

/// The number of times that processor time is measured without and with the log, and the number of decisions each time.
const ROUNDS: usize = 10;
const DECISIONS: u64 = 200_000;

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
    let bytes = request(&address, EVALUATE, "none", AGE_REQUEST);
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
    let bytes = request(&address, EVALUATE, &token, AGE_REQUEST);
    let mut connections = asking.block_on(connect(&address, &bytes));
    group.bench_function("evaluate", |b| {
        b.iter_custom(|count| asking.block_on(run(&mut connections, &bytes, count)));
    });
    group.finish();
}

/// Measures the processor time of a decision in microseconds, alternating between no log and a log of all decisions.
fn on_record(_: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let operator = folder.path().join("operator.json");
    let mut command = Program::command();
    command
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--store",
            "memory:",
            "--operator-file",
        ])
        .arg(&operator)
        .env(
            "TILLGATE_DECISIONS__LOG",
            folder.path().join("decisions.jsonl"),
        );
    let program = Program::spawn(&mut command, "");
    let asking = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let http = reqwest::Client::new();
    let token = asking.block_on(operator_token(&http, &program, &operator));
    let put = |path: &str, body: serde_json::Value| {
        let request = http
            .put(format!("{}{path}", program.url))
            .bearer_auth(&token);
        let answer = asking.block_on(request.json(&body).send()).unwrap();
        assert!(answer.status().is_success(), "{path}");
    };
    let condition = serde_json::json!({
        "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 },
    });
    put("/api/v1/entity-conditions/alcohol", condition);
    let address = program.url.trim_start_matches("http://").to_owned();
    let bytes = request(&address, EVALUATE, &token, AGE_REQUEST);
    let mut connections = asking.block_on(connect(&address, &bytes));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (choice, times) in ["none", "all"].into_iter().zip(&mut times) {
            let chosen = serde_json::json!({ "decisionLog": choice });
            put("/v1/tenants/platform/decision-log", chosen);
            asking.block_on(run(&mut connections, &bytes, DECISIONS / 10));
            let begin = program.processor_time();
            asking.block_on(run(&mut connections, &bytes, DECISIONS));
            times.push((program.processor_time() - begin) * 1e6 / DECISIONS as f64);
        }
    }
    let scraped = asking.block_on(async {
        let answer = http.get(format!("{}/metrics", program.url)).send().await;
        answer.unwrap().text().await.unwrap()
    });
    let dropped = scraped
        .lines()
        .filter(|line| line.starts_with("tillgate_decision_log_missing_total"))
        .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap());
    let dropped: f64 = dropped.sum();
    let [without, with] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    });
    println!(
        "http/on_record: a decision takes {without:.2} µs of a processor, on record {with:.2} µs: {:.3}; {dropped} dropped",
        with / without
    );
    let figures = serde_json::json!({ "without": without, "with": with, "dropped": dropped });
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/criterion/on_record.json"
    );
    std::fs::create_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
    std::fs::write(file, figures.to_string()).unwrap();
}

async fn operator_token(
    http: &reqwest::Client,
    program: &Program,
    file: &std::path::Path,
) -> String {
    let file = std::fs::read(file).unwrap();
    let file: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let text = |member: &str| file[member].as_str().unwrap().to_owned();
    host::token(http, &program.url, &text("clientId"), &text("clientSecret")).await
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(8));
    targets = requests, on_record
}
criterion_main!(benches);
