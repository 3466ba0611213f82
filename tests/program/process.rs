//! The program as a user runs it: started, called, killed and started again.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::support::host::{Program, client, read, token};
use crate::support::wait::{Lines, ended, output, until};

fn bash(script: &str) -> Output {
    output(Command::new("bash").args(["-c", script]))
}

async fn operator(http: &Client, program: &Program, folder: &std::path::Path) -> String {
    let file = std::fs::read(folder.join("operator.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let text = |member: &str| file[member].as_str().unwrap();
    token(http, &program.url, text("clientId"), text("clientSecret")).await
}

#[test]
fn the_line_that_the_demo_prints_decides_when_pasted() {
    let demo = Program::demo();
    let line = demo.printed.lines().last().unwrap();
    let answer: Value = serde_json::from_slice(&bash(line).stdout).unwrap();
    assert_eq!(answer["allow"], false);
    assert_eq!(answer["results"][0]["reason"], "age_restriction.underage");
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The running demo, and its output.
struct Demo {
    lines: Lines,
    /// The lines that explain how to use it.
    explained: Vec<String>,
    _process: Killed,
}

impl Demo {
    fn start() -> Self {
        let mut demo = Program::command();
        let demo = demo.args(["demo", "--listen", "127.0.0.1:0"]);
        let mut process = Killed(demo.stdout(Stdio::piped()).spawn().unwrap());
        let lines = Lines::of("tillgate demo", process.0.stdout.take().unwrap());
        let mut explained = Vec::new();
        tokio::task::block_in_place(|| {
            lines.find("curl", |line| {
                explained.push(line.to_owned());
                line.starts_with("curl ")
            })
        });
        Self {
            lines,
            explained,
            _process: process,
        }
    }

    /// Returns the text that it prints after a name.
    fn value(&self, name: &str) -> &str {
        let mut values = self
            .explained
            .iter()
            .filter_map(|line| line.trim().strip_prefix(name));
        values.next().expect(name).trim()
    }

    /// Waits for a line that ends with a text.
    fn prints(&self, end: &str) {
        tokio::task::block_in_place(|| self.lines.find(end, |line| line.ends_with(end)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_demos_receivers_get_cannot_control_the_terminal() {
    let demo = Demo::start();
    let erp = demo.value("webhooks    ERP: all events, to ");
    let erp = erp.split(' ').next().unwrap();
    let data = BASE64_STANDARD.encode("\u{1b}]0;gone\u{7}\n\u{9b}31m");
    let envelope = json!({ "time": "\u{1b}[2J", "type": "a\r\nb", "data": data });
    let answer = client().post(erp).json(&envelope).send().await.unwrap();
    assert_eq!(answer.status(), 204);
    demo.prints(
        r"\u001b[2J  ERP      204 No Content  a\u000d\u000ab  \u001b]0;gone\u0007\u000a\u009b31m",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_prints_each_delivery_and_has_one_webhook_that_fails() {
    let demo = Demo::start();
    let prints = |part: &str| {
        tokio::task::block_in_place(|| demo.lines.find(part, |line| line.contains(part)));
    };
    prints("  ERP      204 No Content  projects.events.v1  ");
    prints("  Loyalty  503 Service Unavailable  x.order-updates.v1  ");

    let (http, url) = (client(), demo.value("listening on"));
    let token = token(&http, url, demo.value("client id"), demo.value("secret")).await;
    let get = async |path: &str| {
        let request = http.get(format!("{url}/api/v1/{path}")).bearer_auth(&token);
        let (status, body) = read(request.send().await.unwrap()).await;
        assert_eq!(status, 200, "{body}");
        body
    };
    assert_eq!(get("webhooks").await.as_array().unwrap().len(), 2);
    // The outcome of an attempt is written after the receiver has answered.
    until("a delivery is to be tried again", async || {
        get("deliveries?status=RETRYING").await["items"] != json!([])
    })
    .await;

    let event = json!({ "type": "x.order-updates.v1", "data": { "order": 4714 } });
    let sent = http.post(format!("{url}/api/v1/events")).json(&event);
    let (status, answer) = read(sent.bearer_auth(&token).send().await.unwrap()).await;
    assert_eq!(
        (status, &answer["deliveries"]),
        (202, &json!(2)),
        "{answer}"
    );
    demo.prints(r#"  ERP      204 No Content  x.order-updates.v1  {"order":4714}"#);
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let http = client();
    let path = "/api/v1/global-entity-conditions/beer";
    let body = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 16 } });
    {
        let mut program = Program::serve(folder.path());
        let token = operator(&http, &program, folder.path()).await;
        let put = http.request(Method::PUT, format!("{}{path}", program.url));
        let put = put.bearer_auth(token).json(&body).send().await.unwrap();
        assert_eq!(put.status(), 201);
        program.kill();
    }
    let program = Program::serve(folder.path());
    let token = operator(&http, &program, folder.path()).await;
    let url = format!("{}/api/v1/entity-conditions/beer", program.url);
    let (status, found) = read(http.get(url).bearer_auth(token).send().await.unwrap()).await;
    assert_eq!(status, 200);
    assert_eq!(found["condition_value"], body["condition_value"]);
}

#[test]
fn the_operators_file_is_for_its_owner_alone_and_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("operator.json");
    drop(Program::serve(folder.path()));
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let first = std::fs::read(&file).unwrap();
    drop(Program::serve(folder.path()));
    assert_eq!(std::fs::read(&file).unwrap(), first);
}

#[test]
fn a_second_program_on_the_same_folder_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Program::serve(folder.path());
    let store = format!("embedded:{}", folder.path().display());
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--store", &store];
    let second = output(Program::command().args(arguments));
    assert_eq!(second.status.code(), Some(1));
    let told = String::from_utf8(second.stderr).unwrap();
    assert!(told.contains("another process"), "{told}");
}

#[test]
fn sigterm_exits_with_0() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::serve(folder.path());
    assert_eq!(program.terminate(), Some(0));
}

#[test]
fn what_is_wrong_with_the_configuration_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tillgate.toml");
    let rows = [
        ("colour = 'red'", "colour"),
        ("listen = 'here'", "listen"),
        ("store = 'nowhere:'", "embedded:FOLDER"),
        (
            "[tokens]\nregistrations_per_minute = -1",
            "registrations_per_minute",
        ),
        ("listen = ", "TOML"),
    ];
    for (content, named) in rows {
        std::fs::write(&file, content).unwrap();
        let mut command = Program::command();
        command.args(["serve", "--print-config", "--config"]);
        let program = output(command.arg(&file));
        assert_eq!(program.status.code(), Some(1), "{content}");
        let told = String::from_utf8(program.stderr).unwrap();
        assert!(told.contains(named), "{content}: {told}");
    }
}

#[test]
fn a_configuration_file_that_cannot_be_read_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let told = |file: &std::path::Path| {
        let mut command = Program::command();
        let refused = output(command.args(["serve", "--config"]).arg(file));
        assert_eq!(refused.status.code(), Some(1));
        String::from_utf8(refused.stderr).unwrap()
    };
    let missing = folder.path().join("none.toml");
    let expected = format!(
        "tillgate: there is no configuration file {}: name another one with --config, or leave --config out for the \
         defaults\n",
        missing.display()
    );
    assert_eq!(told(&missing), expected);
    let expected = format!(
        "tillgate: the configuration file {} cannot be read: ",
        folder.path().display()
    );
    let told = told(folder.path());
    assert!(told.starts_with(&expected), "{told}");
}

/// Runs a command that prints to a closed pipe; returns its exit code and its stderr.
fn unread(arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Program::command();
    let command = command.args(arguments).env("TILLGATE_LOG__LEVEL", "off");
    let command = command.stdin(Stdio::null()).stdout(writer);
    let mut process = Killed(command.stderr(Stdio::piped()).spawn().unwrap());
    let told = Lines::of("stderr", process.0.stderr.take().unwrap()).rest();
    (ended("the command ends", &mut process.0).code(), told)
}

#[test]
fn a_command_whose_output_is_closed_ends_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let embedded = |name: &str| format!("embedded:{}", path(name));
    let mut program = Program::serve(&folder.path().join("store"));
    let (url, credentials) = (program.url.clone(), path("store/operator.json"));
    let host = ["--url", &url, "--credentials", &credentials];
    let quiet = (Some(0), String::new());
    for command in [["keys", "list"], ["clients", "list"]] {
        assert_eq!(unread(&[command.as_slice(), &host].concat()), quiet);
    }
    program.terminate();
    let (store, to, restored) = (embedded("store"), embedded("to"), embedded("restored"));
    let (backup, operator) = (path("backup.db"), path("further.json"));
    let rows: &[&[&str]] = &[
        &["completions", "bash"],
        &["completions", "zsh"],
        &["serve", "--print-config"],
        &["copy", "--help"],
        &["doctor", "--store", &store, "--listen", "127.0.0.1:0"],
        &["backup", &backup, "--store", &store],
        &["restore", &backup, "--store", &restored],
        &["copy", "--from", &store, "--to", &to],
        &["operator", "--store", &store, "--operator-file", &operator],
    ];
    for row in rows {
        assert_eq!(unread(row), quiet, "{row:?}");
    }
}

#[test]
fn a_closed_stderr_is_harmless() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let store = format!("embedded:{}", path("none"));
    let mut command = Program::command();
    let command = command.args(["backup", &path("backup.db"), "--store", &store]);
    let mut process = Killed(command.stderr(writer).spawn().unwrap());
    let status = ended("the command ends", &mut process.0);
    assert_eq!(status.code(), Some(1));
}

#[test]
fn the_version_names_the_module() {
    let program = output(Program::command().arg("--version"));
    let told = String::from_utf8(program.stdout).unwrap();
    assert!(
        told.contains(tillgate_base::engine::MODULE_SHA256),
        "{told}"
    );
}
