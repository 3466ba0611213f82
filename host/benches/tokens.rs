//! Measures tokens: signing and verifying one; tokens per second, compared with the signatures of `openssl speed`; how
//! soon one host acts on a change made on another; and whether the time of a refusal reveals that a client exists.
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

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use futures_util::FutureExt;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::identity::{Secret, TenantId};
use tillgate_base::keys::{KeyRing, NewKey, Schedule, StoredKeys};
use tillgate_store::MemoryStore;
use tillgate_store::clock::{Clock, StoppedClock, SystemClock};
use tillgate_tokens::client::StatusChange;
use tillgate_tokens::{BasicCredentials, Credentials};
use tokio::runtime::Runtime;

#[path = "../../tests/support/host.rs"]
mod host;
#[path = "../../tests/support/load.rs"]
mod load;
#[path = "../../tests/support/wait.rs"]
mod wait;

use host::{Host, Program};

const FORM: &str = "grant_type=client_credentials&audience=https%3A%2F%2Fapi.tillgate.example";

/// The number of times that tokens are counted, each time next to `openssl speed`.
const ROUNDS: usize = 3;

/// The number of refusals of each kind to time.
const REFUSALS: usize = 20_000;

fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{id}:{secret}")))
}

/// Returns the bytes of a token request.
fn request(address: &str, id: &str, secret: &str) -> Vec<u8> {
    format!(
        "POST /oauth2/token HTTP/1.1\r\nhost: {address}\r\nauthorization: {}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{FORM}",
        basic(id, secret),
        FORM.len()
    )
    .into_bytes()
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Measures one signature, one verification of a token that was seen before, and one of a token that was not.
fn signatures(c: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let mut group = c.benchmark_group("tokens");
    let now = SystemClock.now();
    let schedule = Schedule {
        max_age: Duration::from_secs(300),
        token_lifetime: Duration::from_secs(3_599),
    };
    let keys = StoredKeys::first(&NewKey::generate().unwrap(), now);
    let keys = KeyRing::new(&keys, schedule).unwrap();
    let key = keys.signing(now).unwrap();
    group.bench_function("sign", |b| b.iter(|| key.sign(&[b'x'; 500]).unwrap()));

    let host = runtime.block_on(Host::start());
    let client = runtime.block_on(host.client("shop", &["ecs.evaluator"]));
    let header = basic(&client.client_id, client.client_secret.reveal());
    let peer = IpAddr::from(Ipv4Addr::LOCALHOST);
    let tokens = &host.features.tokens;
    let token = || {
        let issued = tokens.issue(
            BasicCredentials::from_header(&header),
            FORM.as_bytes(),
            peer,
        );
        let issued = json!(runtime.block_on(issued).unwrap());
        issued["access_token"].as_str().unwrap().to_owned()
    };
    let seen = token();
    runtime.block_on(tokens.verify(&seen)).unwrap();
    group.bench_function("verify_seen", |b| {
        b.iter(|| tokens.verify(&seen).now_or_never().unwrap().unwrap());
    });
    // Every token is verified only once and must be issued first, so the samples are few.
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    group.warm_up_time(Duration::from_millis(20));
    group.measurement_time(Duration::from_millis(200));
    group.bench_function("verify_unseen", |b| {
        b.iter_custom(|count| {
            let unseen: Vec<_> = (0..count).map(|_| token()).collect();
            let begin = Instant::now();
            for token in &unseen {
                tokens.verify(token).now_or_never().unwrap().unwrap();
            }
            begin.elapsed()
        });
    });
    group.finish();
}

/// Returns the processor time that this process has used, in seconds.
fn own_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns how many signatures OpenSSL makes per second: by the clock on two cores, or by the processor time of one
/// process.
fn openssl(processes: &[&str]) -> f64 {
    let speed = Command::new("openssl")
        .args(["speed", "-seconds", "3"])
        .args(processes)
        .arg("rsa2048")
        .stderr(Stdio::null())
        .output();
    let told = String::from_utf8(speed.unwrap().stdout).unwrap();
    let last = told.lines().rfind(|line| line.starts_with("rsa")).unwrap();
    // Example: rsa 2048 bits 0.000222s 0.000013s   4510.9  76626.0
    last.split_whitespace().nth(5).unwrap().parse().unwrap()
}

/// Measures tokens per second over 64 connections, from the program in a separate process, compared with OpenSSL's
/// signatures: by the clock, and by processor time, which includes the client's. The latter does not depend on other
/// load of the machine.
fn throughput(program: &Program, client: &Credentials) -> Value {
    let address = program.url.trim_start_matches("http://");
    let bytes = request(address, &client.client_id, client.client_secret.reveal());
    let asking = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut rounds = [(); 5].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        let signed = openssl(&["-multi", "2"]);
        let signed_by_one = openssl(&[]);
        // Each round connects again, because connections that are idle for this long are closed.
        let mut connections = asking.block_on(load::connect(address, &bytes));
        let mut ask = |count| asking.block_on(load::run(&mut connections, &bytes, count));
        ask(1_000);
        let (count, before) = (15_000, (own_time(), program.processor_time()));
        let took = ask(count).as_secs_f64();
        let asking = own_time() - before.0;
        let serving = program.processor_time() - before.1;
        let (tokens, each) = (count as f64 / took, (asking + serving) / count as f64);
        let ratios = [tokens / signed, 1.0 / signed_by_one / each];
        let figures = [
            tokens,
            signed,
            ratios[0],
            ratios[1],
            asking / (asking + serving),
        ];
        for (round, figure) in rounds.iter_mut().zip(figures) {
            round.push(figure);
        }
    }
    let [tokens, signed, ratio, by_time, asking] = rounds.map(median);
    println!(
        "tokens/throughput: {tokens:.0}/s of {signed:.0} signatures/s by OpenSSL: {ratio:.2}, by processor time \
         {by_time:.2}; asking took {asking:.2} of it"
    );
    json!({ "tokens": tokens, "openssl": signed, "ratio": ratio, "by_time": by_time, "asking": asking })
}

/// Sends a request; returns the answer and its latency in seconds.
fn ask(connection: &mut TcpStream, request: &[u8]) -> (Vec<u8>, f64) {
    let mut answer = vec![0; 4096];
    let begin = Instant::now();
    connection.write_all(request).unwrap();
    let length = connection.read(&mut answer).unwrap();
    let took = begin.elapsed().as_secs_f64();
    answer.truncate(length);
    (answer, took)
}

/// Registers and authorizes a client like the one in `given.md` 2.7.
async fn till(program: &Program, operator: &Credentials) -> Credentials {
    let (http, url) = (reqwest::Client::new(), &program.url);
    let (id, secret) = (&operator.client_id, operator.client_secret.reveal());
    let token = host::token(&http, url, id, secret).await;
    let send = async |method, path: &str, body: Value| {
        let request = http.request(method, format!("{url}{path}"));
        let request = request.bearer_auth(&token).json(&body);
        let (status, answer) = host::read(request.send().await.unwrap()).await;
        assert!(matches!(status, 200 | 201), "{answer}");
        answer
    };
    let template = json!({
        "softwareId": "till", "softwareVersion": "2.1", "name": "Till", "claimsSchema": {},
        "roles": [{ "roleId": "ecs.evaluator" }],
    });
    send(Method::POST, "/v1/tenants/acme/templates", template).await;
    let registration = json!({
        "softwareId": "till", "softwareVersion": "2.1", "usingGlobalTemplate": false, "tenantId": "acme",
        "claims": { "business_unit_id": "0042", "iso_cc": "SE", "workstation_id": 17 },
    });
    let registered = send(Method::POST, "/v1/registration", registration).await;
    let text = |member: &str| registered[member].as_str().unwrap().to_owned();
    let (client_id, client_secret) = (text("clientId"), text("clientSecret"));
    let path = format!("/v1/tenants/acme/clients/{client_id}/authorize");
    send(Method::PUT, &path, Value::Null).await;
    Credentials {
        client_id,
        client_secret: Secret::new(client_secret),
    }
}

/// Measures the median time of a refusal in microseconds, for a client that exists but has a wrong secret and for one
/// that does not exist.
fn refusals(program: &Program, client: &Credentials) -> Value {
    let address = program.url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_nodelay(true).unwrap();
    let Credentials {
        client_id,
        client_secret,
    } = client;
    let right = request(address, client_id, client_secret.reveal());
    let wrong = "0".repeat(64);
    let known = request(address, client_id, &wrong);
    let (mut of_known, mut of_unknown) = (Vec::new(), Vec::new());
    let mut unknown = Vec::new();
    for turn in 0..REFUSALS {
        // After ten wrong secrets in a row, the next request would have to wait.
        if turn % 9 == 0 {
            let (answer, _) = ask(&mut connection, &right);
            assert!(answer.starts_with(b"HTTP/1.1 200"));
            let id = format!("{turn:0>length$}", length = client_id.len());
            unknown = request(address, &id, &wrong);
        }
        // The second request benefits from warm caches, so they alternate.
        let mut turns = [(&known, &mut of_known), (&unknown, &mut of_unknown)];
        if turn % 2 == 1 {
            turns.reverse();
        }
        for (request, took) in turns {
            let (answer, seconds) = ask(&mut connection, request);
            assert!(answer.starts_with(b"HTTP/1.1 401"));
            took.push(seconds * 1e6);
        }
    }
    let (known, unknown) = (median(of_known), median(of_unknown));
    println!("tokens/refusals: {known:.1} µs for a known client, {unknown:.1} µs for another");
    json!({ "known": known, "unknown": unknown })
}

/// Starts two hosts on one store, as in an installation with several hosts.
async fn two_hosts(clock: Arc<dyn Clock>) -> (Host, Host) {
    let store = Arc::new(MemoryStore::new(Arc::clone(&clock)));
    let one = Host::start_on(store.clone(), Arc::clone(&clock)).await;
    let issuer = one.app.config.issuer();
    let other = Host::start_configured(store, clock, |config| config.issuer = issuer).await;
    (one, other)
}

/// Repeats `is_so` until it is true; returns the milliseconds since `begin`.
async fn until(begin: Instant, mut is_so: impl AsyncFnMut() -> bool) -> f64 {
    while !is_so().await {
        tokio::task::yield_now().await;
    }
    begin.elapsed().as_secs_f64() * 1e3
}

/// Measures the milliseconds from a call to one host until it takes effect on another: revoking clients, and rotating
/// keys. The latter includes making the key.
async fn agreement() -> Value {
    let (one, other) = two_hosts(Arc::new(SystemClock)).await;
    let tenant = TenantId::new("shop").unwrap();
    let admin = one.token("shop", &["iam.admin"]).await;
    let (admin, _) = one.features.tokens.verify(&admin).await.unwrap();
    let mut revoked = Vec::new();
    for _ in 0..50 {
        let client = one.client("shop", &["ecs.evaluator"]).await;
        let (id, secret) = (&client.client_id, client.client_secret.reveal());
        let token = host::token(&one.http, &one.url, id, secret).await;
        other.features.tokens.verify(&token).await.unwrap();
        let begin = Instant::now();
        let judged = one
            .features
            .tokens
            .change_status(&admin, &tenant, id, StatusChange::Revoke);
        judged.await.unwrap();
        let refused = until(begin, async || {
            other.features.tokens.verify(&token).await.is_err()
        });
        revoked.push(refused.await);
    }
    let clock = Arc::new(StoppedClock::at(SystemClock.now()));
    let (one, other) = two_hosts(clock.clone()).await;
    let mut rotated = Vec::new();
    for _ in 0..10 {
        clock.advance(Duration::from_secs(60 * 60));
        let begin = Instant::now();
        one.features.tokens.rotate_keys().await.unwrap();
        let published = async || {
            let (ours, theirs) = (one.features.tokens.jwks(), other.features.tokens.jwks());
            ours.unwrap().json == theirs.unwrap().json
        };
        rotated.push(until(begin, published).await);
    }
    let longest = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
    let (slowest_revoke, slowest_rotate) = (longest(&revoked), longest(&rotated));
    let (revoked, rotated) = (median(revoked), median(rotated));
    println!(
        "tokens/agreement: revoked elsewhere after {revoked:.2} ms, at most {slowest_revoke:.2}; \
         published elsewhere after {rotated:.1} ms, at most {slowest_rotate:.1}"
    );
    json!({ "revoke": [revoked, slowest_revoke], "rotate": [rotated, slowest_rotate] })
}

/// Runs the measurements that do not fit criterion, for `tests/bench`.
fn whole(_: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::serve_in_memory(folder.path());
    let file = std::fs::read(folder.path().join("operator.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let text = |member: &str| file[member].as_str().unwrap().to_owned();
    let operator = Credentials {
        client_id: text("clientId"),
        client_secret: Secret::new(text("clientSecret")),
    };
    let runtime = Runtime::new().unwrap();
    let till = runtime.block_on(till(&program, &operator));
    let refusals = refusals(&program, &till);
    let throughput = throughput(&program, &till);
    drop(program);
    let agreement = runtime.block_on(agreement());
    let figures = json!({ "throughput": throughput, "refusals": refusals, "agreement": agreement });
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/criterion/tokens.json"
    );
    std::fs::create_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
    std::fs::write(file, figures.to_string()).unwrap();
}

criterion_group!(benches, signatures, whole);
criterion_main!(benches);
