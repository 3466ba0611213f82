//! Traces: the program sends a span for each request and for each attempt at a job to a collector, which is a real
//! HTTP receiver here.

use std::process::{Command, Stdio};
use std::sync::Arc;

use reqwest::Client;
use serde_json::Value;

use crate::support::host::{Program, client};
use crate::support::receiver::{Answer, Received, Receiver};
use crate::support::wait::until;

/// The ids of a trace that its caller samples, and of one that its caller does not sample.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const NOT_KEPT: &str = "1bf7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// Starts a collector that accepts everything.
async fn collector() -> Receiver {
    let collector = Receiver::start().await;
    collector.answer(Answer::Status(200, "", "{}"));
    collector
}

/// Returns the command `tillgate demo` with a receiver as its collector.
fn demo(collector: &Receiver, variables: &[(&str, &str)]) -> Command {
    let endpoint = collector.url.replace("/hook", "");
    let mut command = Program::command();
    command
        .args(["demo", "--listen", "127.0.0.1:0"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .env("OTEL_BSP_SCHEDULE_DELAY", "50")
        .envs(variables.iter().copied())
        .stderr(Stdio::inherit());
    command
}

/// Returns all received spans, each with the attributes of its sender.
fn spans(received: &[Arc<Received>]) -> Vec<(Value, Value)> {
    let mut spans = Vec::new();
    for request in received {
        assert_eq!(request.path, "/v1/traces");
        assert_eq!(request.headers["content-type"], "application/json");
        let sent: Value = serde_json::from_str(&request.body).unwrap();
        for of_resource in sent["resourceSpans"].as_array().unwrap() {
            for of_scope in of_resource["scopeSpans"].as_array().unwrap() {
                let of_scope = of_scope["spans"].as_array().unwrap().iter();
                let resource = &of_resource["resource"]["attributes"];
                spans.extend(of_scope.map(|span| (span.clone(), resource.clone())));
            }
        }
    }
    spans
}

/// Returns the value of an attribute.
fn attribute<'a>(attributes: &'a Value, name: &str) -> Option<&'a Value> {
    let mut all = attributes.as_array().unwrap().iter();
    let found = all.find(|attribute| attribute["key"] == name)?;
    found["value"].as_object().unwrap().values().next()
}

async fn get(program: &Program, path: &str, trace: Option<(&str, &str)>) -> u16 {
    get_with(&client(), program, path, trace).await
}

async fn get_with(
    http: &Client,
    program: &Program,
    path: &str,
    trace: Option<(&str, &str)>,
) -> u16 {
    let mut request = http.get(format!("{}{path}", program.url));
    if let Some((trace, flags)) = trace {
        request = request.header("traceparent", format!("00-{trace}-{PARENT}-{flags}"));
    }
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_spans_of_their_callers_traces_and_so_are_attempts_at_jobs() {
    let collector = collector().await;
    let mut command = demo(&collector, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]);
    let mut program = Program::spawn(&mut command, "curl ");
    let rules = "/api/v1/entity-conditions?limit=sesame";
    assert_eq!(get(&program, rules, Some((TRACE, "01"))).await, 401);
    assert_eq!(get(&program, "/healthz", Some((NOT_KEPT, "00"))).await, 200);
    assert_eq!(get(&program, "/nothing/here", None).await, 404);
    let invented = reqwest::Method::from_bytes(b"INVENTED").unwrap();
    let long = format!("{}/{}", program.url, "a".repeat(4_000));
    let request = client().request(invented, long);
    assert_eq!(request.send().await.unwrap().status().as_u16(), 404);
    until("a job's span was sent", async || {
        let sent = spans(&collector.received());
        sent.iter()
            .any(|(span, _)| span["name"] == "job rates-fan-out")
    })
    .await;
    assert_eq!(program.terminate(), Some(0));
    let received = collector.received();
    assert!(
        received
            .iter()
            .all(|request| !request.body.contains("sesame"))
    );
    let sent = spans(&received);
    let named = |name: &str| {
        let found = sent.iter().find(|(span, _)| span["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {sent:#?}"))
    };

    let (span, resource) = named("GET /api/v1/entity-conditions");
    assert_eq!(span["traceId"], TRACE);
    assert_eq!(span["parentSpanId"], PARENT);
    assert_eq!(span["kind"], 2, "a server's");
    assert_eq!(span["status"]["code"].as_u64().unwrap_or(0), 0);
    for (name, expected) in [
        ("http.request.method", "GET"),
        ("http.route", "/api/v1/entity-conditions"),
        ("url.path", "/api/v1/entity-conditions"),
        ("http.response.status_code", "401"),
    ] {
        let value = attribute(&span["attributes"], name);
        assert_eq!(value.and_then(Value::as_str), Some(expected), "{span:#}");
    }
    assert!(attribute(&span["attributes"], "tillgate.correlation_id").is_some());
    assert_eq!(attribute(resource, "service.name").unwrap(), "tillgate");
    assert_eq!(
        attribute(resource, "service.version").unwrap(),
        env!("CARGO_PKG_VERSION")
    );

    let (unrouted, _) = named("GET");
    assert_ne!(unrouted["traceId"], TRACE);
    assert_eq!(unrouted["parentSpanId"].as_str().unwrap_or_default(), "");
    assert!(attribute(&unrouted["attributes"], "http.route").is_none());
    assert!(sent.iter().all(|(span, _)| span["traceId"] != NOT_KEPT));

    let (other, _) = named("_OTHER");
    let path = attribute(&other["attributes"], "url.path").unwrap();
    assert_eq!(path.as_str().map(str::len), Some(256));

    let (job, _) = named("job rates-fan-out");
    let partition = attribute(&job["attributes"], "tillgate.partition").unwrap();
    assert_eq!(partition, "tenant:demo");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_variables_of_opentelemetry_hold() {
    let collector = collector().await;
    let named = [
        ("OTEL_SERVICE_NAME", "till-decisions"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=k1"),
    ];
    let mut program = Program::spawn(&mut demo(&collector, &named), "curl ");
    assert_eq!(get(&program, "/healthz", None).await, 200);
    let received = collector.wait_for(1).await;
    assert_eq!(received[0].headers["x-collector-key"], "k1");
    let (_, resource) = &spans(&received)[0];
    assert_eq!(
        attribute(resource, "service.name").unwrap(),
        "till-decisions"
    );
    assert_eq!(program.terminate(), Some(0));

    for (name, value) in [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
    ] {
        let before = collector.received().len();
        let mut program = Program::spawn(&mut demo(&collector, &[(name, value)]), "curl ");
        assert_eq!(get(&program, "/healthz", None).await, 200);
        assert_eq!(program.terminate(), Some(0));
        assert_eq!(collector.received().len(), before, "{name}={value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_does_not_answer_holds_up_neither_requests_nor_the_end() {
    let collector = Receiver::start().await;
    collector.answer(Answer::Hang);
    let json = [("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")];
    let mut program = Program::spawn(&mut demo(&collector, &json), "curl ");
    collector.wait_for(1).await;
    // More spans than the queue for a collector holds.
    let http = client();
    for _ in 0..3_000 {
        assert_eq!(get_with(&http, &program, "/healthz", None).await, 200);
    }
    assert_eq!(program.terminate(), Some(0));
}

#[test]
fn an_endpoint_that_cannot_be_is_an_error_at_the_start() {
    let output = Program::command()
        .args(["demo", "--listen", "127.0.0.1:0"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "not a url")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.starts_with("tillgate: traces cannot be sent: "),
        "{told}"
    );
}
