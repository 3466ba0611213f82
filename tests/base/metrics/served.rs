//! Access to the metrics: without a token, and on a separate address if one is configured.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;

use reqwest::Method;
use serde_json::Value;
use tillgate_base::config::Config;
use tillgate_http::Listener;
use tillgate_store::MemoryStore;
use tillgate_store::clock::{StoppedClock, SystemClock, Timestamp};

use super::{EVALUATE, ROLES, answers, get, put_alcohol, question, scrape_until};
use crate::support::exposition::Scrape;
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

/// The media types that a scraper accepts, and whether it gets text.
const ACCEPT: &[(&str, bool)] = &[
    ("*/*", false),
    ("", false),
    ("text/plain", true),
    ("text/plain;version=0.0.4", true),
    ("text/*", true),
    ("text/plain, */*", true),
    (
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7, \
         text/plain;version=0.0.4;q=0.3",
        true,
    ),
    ("application/openmetrics-text;q=0.1, text/plain;q=0.2", true),
    ("*/*;q=0.5, text/plain;q=0.4", false),
    ("application/openmetrics-text, text/plain", false),
    ("text/plain;q=0", false),
    ("application/json", false),
    ("TEXT/PLAIN ; q=x", true),
];

/// Returns the complaints of `promtool check metrics` about a text: none if it is correct.
fn faults_of(text: &str) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let mut promtool = Command::new("sh");
    promtool.args(["-c", "promtool check metrics < \"$0\" 2>&1"]);
    let output = output(promtool.arg(file.path()));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

#[tokio::test]
async fn who_asks_for_text_gets_the_format_that_promtool_accepts() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    put_alcohol(&host, &token).await;
    let (status, _) = host
        .send(Method::POST, EVALUATE, &token, &question(17))
        .await;
    assert_eq!(status, 200);
    for (accept, is_text) in ACCEPT {
        let request = wire::message("GET /metrics", &[("accept", accept)], "");
        let answer = wire::send_one(&host.url, &request).await;
        assert_eq!(answer.status, 200, "{accept}");
        let expected = if *is_text {
            "text/plain; version=0.0.4; charset=utf-8"
        } else {
            "application/openmetrics-text; version=1.0.0; charset=utf-8"
        };
        assert_eq!(answer.headers["content-type"], expected, "{accept}");
        assert_eq!(answer.body.ends_with("# EOF\n"), !is_text, "{accept}");
    }
    let request = wire::message("GET /metrics", &[("accept", "text/plain")], "");
    let text = wire::send_one(&host.url, &request).await.body;
    assert_eq!(faults_of(&text), "");
    for line in [
        "# HELP tillgate_http_requests_total Requests by route, method and status.",
        "# TYPE tillgate_http_requests_total counter",
        "# TYPE tillgate_http_request_duration_seconds histogram",
        concat!(
            "tillgate_build_info{version=\"",
            env!("CARGO_PKG_VERSION"),
            "\"} 1.0"
        ),
        "tillgate_decisions_total{rule=\"AGE_RESTRICTION\",decision=\"HARD_DENY\"} 1",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
}

#[tokio::test]
async fn the_start_of_the_program_is_the_time_of_its_clock() {
    let start = Timestamp(1_767_225_600_500_000);
    let clock = Arc::new(StoppedClock::at(start));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let host = Host::start_on(store, clock.clone()).await;
    clock.advance(std::time::Duration::from_secs(60));
    let begin = |it: &Scrape| it.sum("process_start_time_seconds", &[]);
    scrape_until(&host.url, |it| begin(it) == 1_767_225_600.0).await;
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
    // Both addresses belong to one host.
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
