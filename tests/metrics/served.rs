//! Who gets the metrics where: without a token, and on an address of their own when there is one.

use std::sync::Arc;

use serde_json::Value;
use tillgate::clock::SystemClock;
use tillgate::config::Config;
use tillgate::http::Listener;
use tillgate::store::MemoryStore;

use super::{answers, get, scrape_until};
use crate::support::host::{Host, Program, client};
use crate::support::wait::output;
use crate::support::wire;

#[tokio::test]
async fn nobody_needs_a_token_and_prometheus_is_answered_as_it_asks() {
    let host = Host::start().await;
    let accept = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                  application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    for method in ["GET", "HEAD"] {
        for path in ["/healthz", "/readyz", "/metrics"] {
            let request = wire::message(&format!("{method} {path}"), &[("accept", accept)], "");
            let answer = wire::send_one(&host.url, &request).await;
            assert_eq!(answer.status, 200, "{method} {path}");
            assert_eq!(
                answer.headers["cache-control"], "no-store",
                "{method} {path}"
            );
            assert_eq!(answer.body.is_empty(), method == "HEAD", "{method} {path}");
            let expected = match path {
                "/metrics" => "application/openmetrics-text; version=1.0.0; charset=utf-8",
                _ => "application/json",
            };
            assert_eq!(answer.headers["content-type"], expected, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn with_an_address_of_their_own_metrics_are_served_there_and_nowhere_else() {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let own = |config: &mut Config| config.metrics.listen = "127.0.0.1:0".to_owned();
    let host = Host::start_configured(store, clock, own).await;
    let socket = Listener::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let own = format!("http://{}", socket.address().unwrap());
    let server = host.features.operations_server(&host.app).unwrap();
    let serving = tokio::spawn(socket.serve(server, std::future::pending()));
    let status = async |url: &str, path: &str| {
        client()
            .get(format!("{url}{path}"))
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    for (path, main, apart) in [
        ("/metrics", 404, 200),
        ("/healthz", 200, 200),
        ("/readyz", 200, 200),
        ("/", 200, 404),
        ("/api/v1/caller", 401, 404),
    ] {
        assert_eq!(status(&host.url, path).await, main, "{path}");
        assert_eq!(status(&own, path).await, apart, "{path}");
    }
    // Both are one host's.
    scrape_until(&own, |it| answers(it, "/api/v1/caller") == 1.0).await;
    serving.abort();
}

#[tokio::test]
async fn the_program_opens_the_address_that_is_configured() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let store = format!("embedded:{}", folder.path().join("store").display());
    let mut command = Program::command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", &store])
        .env("TILLGATE_METRICS__LISTEN", "127.0.0.1:0")
        .env("TILLGATE_LOG__FORMAT", "json")
        .stderr(std::fs::File::create(&log).unwrap());
    let mut program = Program::spawn(&mut command, "");
    let log = std::fs::read_to_string(&log).unwrap();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut addresses =
        lines.filter_map(|line| Some(line["fields"]["address"].as_str()?.to_owned()));
    let own = format!("http://{}", addresses.next_back().unwrap());
    let scrape = scrape_until(&own, |it| answers(it, "/metrics") > 0.0).await;
    assert!(scrape.sum("process_resident_memory_bytes", &[]) > 0.0);
    assert!(scrape.sum("process_cpu_seconds_total", &[]) > 0.0);
    assert!(scrape.sum("process_open_fds", &[]) > 3.0);
    assert_eq!(get(&program.url).await.status(), 404);
    assert_eq!(program.terminate(), Some(0));
}

#[test]
fn an_address_that_is_none_is_refused() {
    let mut command = Program::command();
    command
        .args(["serve", "--print-config"])
        .env("TILLGATE_METRICS__LISTEN", "metrics.example");
    let output = output(&mut command);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("metrics.listen must be empty or an address"),
        "{said}"
    );
}
