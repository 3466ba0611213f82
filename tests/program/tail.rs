//! `tillgate tail`: its output, and that it continues where it was.

use std::process::{Child, Command, Stdio};

use crate::support::host::Program;
use crate::support::script::{ScriptedHost, Then, response, stream};
use crate::support::wait::{Lines, ended, output};

const TOPIC: &str = "cer.public.event.rates-changed.v1";

/// Returns a message about a shop, as an event with an id.
fn message(id: &str, shop: &str, lists: &str) -> String {
    let attributes =
        format!(r#"{{"Tenant-Id":"acme","Business-Unit-Id":"{shop}","Correlation-Id":"7"}}"#);
    let data = format!(r#"{{"tenantId":"acme","businessUnitId":"{shop}"{lists}}}"#);
    format!(
        "id: {id}\ndata: {{\"messageId\":\"m\",\"publishTime\":\"2026-11-20T17:40:00.00000{id}Z\",\
         \"attributes\":{attributes},\"data\":{data}}}\n\n"
    )
}

const UPDATED: &str = r#","updatedRates":[{"exchangeRateType":"SALES","sourceCurrencyCode":"SEK","targetCurrencyCode":"EUR","rateValue":11.05,"rateValueWithMarkup":10.77375,"createdDate":"2026-01-01T00:00:00.000Z"}]"#;

/// The running command.
struct Tail {
    child: Child,
    lines: Option<Lines>,
    told: Lines,
}

impl Tail {
    fn start(host: &ScriptedHost, arguments: &[&str]) -> Self {
        let mut command = Program::command();
        command
            .args(["tail", TOPIC, "--credentials"])
            .arg(host.credentials());
        let mut child = command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = Lines::of("tillgate tail", child.stdout.take().unwrap());
        Self {
            lines: Some(lines),
            told: Lines::of("tillgate tail's stderr", child.stderr.take().unwrap()),
            child,
        }
    }

    fn next(&self) -> String {
        let line = self.lines.as_ref().unwrap().next();
        line.expect("it prints another line")
    }

    fn interrupt(self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .unwrap()
                .success()
        );
        self.end()
    }

    /// Waits for the end; returns the exit code and the stderr.
    fn end(mut self) -> (Option<i32>, String) {
        let told = self.told.rest();
        let status = ended("tillgate tail ends", &mut self.child);
        (status.code(), told)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_topic_is_followed_beyond_the_end_of_a_token() {
    let (first, second) = (message("1", "se-001", UPDATED), message("4", "se-002", ""));
    let host = ScriptedHost::start([
        (
            stream(&format!(": heartbeat\n\n{first}id: 2\n\n")),
            Then::Close,
        ),
        (
            stream(&format!("event: reset\nid: 3\ndata: {{}}\n\n{second}")),
            Then::Wait,
        ),
    ]);
    let tail = Tail::start(&host, &["--tenant", "acme", "--unit", "eu:1"]);
    assert_eq!(
        tail.next(),
        "2026-11-20T17:40:00.000001Z  se-001  updated SALES 1 EUR = 11.05 SEK (10.77375 with markup)"
    );
    assert_eq!(tail.next(), "2026-11-20T17:40:00.000004Z  se-002  no rates");
    let (code, told) = tail.interrupt();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("read all rates again"), "{told}");
    assert!(told.ends_with("--after 4\n"), "{told}");
    let received = host.received();
    let path = format!(
        "GET /api/v1/topics/{TOPIC}?after=latest&tenantId=acme&businessUnitId=eu%3A1 HTTP/1.1"
    );
    let sent: Vec<_> = received
        .iter()
        .map(|request| {
            (
                &*request.line,
                request.header("authorization"),
                request.header("last-event-id"),
            )
        })
        .collect();
    assert_eq!(
        sent,
        [
            (&*path, Some("Bearer token-1"), None),
            (&*path, Some("Bearer token-2"), Some("2")),
        ]
    );
}

#[test]
fn a_stream_that_breaks_off_is_taken_up_where_it_was() {
    let (first, second) = (message("1", "se-001", ""), message("2", "se-002", ""));
    let cut = stream(&first).replace("connection: close", "content-length: 100000");
    let away = response(
        "503 Service Unavailable",
        "application/json",
        r#"{"detail":"the store is unavailable"}"#,
    );
    let host = ScriptedHost::start([
        (cut, Then::Close),
        (away, Then::Close),
        (stream(&second), Then::Wait),
    ]);
    let tail = Tail::start(&host, &["--after", "earliest"]);
    assert!(tail.next().contains("se-001"));
    assert!(tail.next().contains("se-002"));
    let (code, told) = tail.interrupt();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("the stream broke off"), "{told}");
    assert!(
        told.contains("the host answered 503 Service Unavailable: the store is unavailable"),
        "{told}"
    );
    let received = host.received();
    let ids: Vec<_> = received
        .iter()
        .map(|request| request.header("last-event-id"))
        .collect();
    assert_eq!(ids, [None, Some("1"), Some("1")]);
}

#[test]
fn json_is_printed_as_it_was_received() {
    let data = r#"{ "publishTime" : "soon", "data": {"rateValue": 1.10} }"#;
    let host = ScriptedHost::start([(stream(&format!("id: 1\ndata: {data}\n\n")), Then::Wait)]);
    let tail = Tail::start(&host, &["--json", "--after", "-a/b"]);
    assert_eq!(tail.next(), data);
    assert_eq!(tail.interrupt().0, Some(0));
    let line = &host.received()[0].line;
    assert!(line.ends_with("?after=-a%2Fb HTTP/1.1"), "{line}");
}

#[test]
fn what_a_host_says_cannot_control_the_terminal() {
    let data = r#"{"publishTime":"\u001b[2J","data":{"businessUnitId":"a\nb"}}"#;
    let denied = response(
        "403 Forbidden",
        "application/json",
        r#"{"detail":"no\u001b[2J\u009b31m"}"#,
    );
    let host = ScriptedHost::start([
        (stream(&format!("id: 1\ndata: {data}\n\n")), Then::Close),
        (denied, Then::Close),
    ]);
    let tail = Tail::start(&host, &[]);
    assert_eq!(tail.next(), r"\u001b[2J  a\u000ab  no rates");
    let (code, told) = tail.end();
    assert_eq!(code, Some(1));
    let expected = r"tillgate: these credentials may not do this: no\u001b[2J\u009b31m";
    assert_eq!(told.lines().last(), Some(expected));
}

#[test]
fn permanent_errors_end_the_command() {
    let denied = response(
        "403 Forbidden",
        "application/json",
        r#"{"detail":"exr.rates-changed.subscribe is missing"}"#,
    );
    let host = ScriptedHost::start([(denied.clone(), Then::Close)]);
    let (code, told) = Tail::start(&host, &[]).end();
    assert_eq!(code, Some(1));
    assert_eq!(
        told,
        "tillgate: these credentials may not do this: exr.rates-changed.subscribe is missing\n"
    );
    let host = ScriptedHost::start([
        (stream(&message("1", "se-001", "")), Then::Close),
        (denied, Then::Close),
    ]);
    let tail = Tail::start(&host, &[]);
    assert!(tail.next().contains("se-001"));
    let (code, told) = tail.end();
    assert_eq!(code, Some(1));
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].ends_with("--after 1"), "{told}");
    assert!(lines[1].contains("may not do this"), "{told}");
    let host = ScriptedHost::start([(response("200 OK", "text/html", "<html>"), Then::Close)]);
    let (code, told) = Tail::start(&host, &[]).end();
    assert_eq!(code, Some(1));
    assert!(
        told.contains("without a stream of events: is it Tillgate?"),
        "{told}"
    );
}

#[test]
fn an_unknown_topic_is_refused_with_those_that_there_are() {
    let refused = output(Program::command().args(["tail", "nope"]));
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("'nope'") && told.contains(TOPIC), "{told}");
}

#[test]
fn it_ends_when_nobody_reads_what_it_prints() {
    let events: String = (0..9)
        .map(|id| message(&id.to_string(), "se-001", ""))
        .collect();
    let host = ScriptedHost::start((0..9).map(|_| (stream(&events), Then::Close)));
    let mut tail = Tail::start(&host, &[]);
    assert!(tail.next().contains("se-001"));
    tail.lines = None;
    let (code, told) = tail.end();
    assert_eq!(code, Some(0), "{told}");
}
