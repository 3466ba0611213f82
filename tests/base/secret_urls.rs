//! URLs that contain secrets: they come from the environment or a file as well as from arguments, and neither the
//! settings, nor the log, nor an error shows their secret parts.

use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tempfile::TempDir;
use tillgate_base::config::{Flags, Loaded};
use tillgate_base::egress::{Client, Destinations, Limits};
use tillgate_store::clock::{StoppedClock, SystemClock, Timestamp};
use tillgate_store::{Commit, CommitId, EmbeddedStore, MemoryStore, Op, Partition, Store};

use crate::support::host::{Host, Program};
use crate::support::log;
use crate::support::wait::{output, until};

/// A text that no output may contain.
const SECRET: &str = "sesame";

const START: Timestamp = Timestamp(1_767_225_600_000_000);

fn tillgate(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Program::command();
    command.args(arguments).env_clear();
    command.envs(environment.iter().copied());
    let output = output(&mut command);
    for printed in [&output.stdout, &output.stderr] {
        let printed = String::from_utf8_lossy(printed);
        assert!(!printed.contains(SECRET), "{arguments:?}: {printed}");
    }
    output
}

fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn failed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn settings_are_printed_without_what_is_secret_in_their_urls() {
    const SETTINGS: &str = r#"
        store = "rediss+sentinel://user:sesame@one,two/main?prefix=shop&sentinel-password=sesame"
        public_url = "https://user:sesame@till.example/?sesame"
        issuer = "https://sesame@till.example/"
        audience = "https://api.till.example/#sesame"
        [webhooks]
        issuer = "https://id.till.example/?key=sesame"
        [[trusted_issuers]]
        issuer = "https://login.example/?sesame"
        jwks = "https://user:sesame@login.example/keys?key=sesame"
        audiences = ["https://sesame@tillgate.example"]
        tenant_claim = "https://example.com/tenant"
        permissions_claim = "rights"
        [[reference_rates]]
        tenant = "acme"
        business_unit = "acme"
        exchange_rate_types = ["SALES"]
        url = "https://user:sesame@rates.example/daily.xml?key=sesame"
        at = "15:30"
    "#;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tillgate.toml");
    std::fs::write(&file, SETTINGS).unwrap();
    let print = [
        "serve",
        "--print-config",
        "--config",
        file.to_str().unwrap(),
    ];
    let printed = done(&tillgate(&print, &[]));
    for expected in [
        r#"store = "rediss+sentinel://***@one:26379,two:26379/main?prefix=shop&sentinel-password=***""#,
        r#"public_url = "https://***@till.example/?***""#,
        r#"issuer = "https://***@till.example/""#,
        r#"audience = "https://api.till.example/#***""#,
        r#"issuer = "https://id.till.example/?***""#,
        r#"issuer = "https://login.example/?***""#,
        r#"jwks = "https://***@login.example/keys?***""#,
        r#"audiences = ["https://***@tillgate.example/"]"#,
        r#"tenant_claim = "https://example.com/tenant""#,
        r#"url = "https://***@rates.example/daily.xml?***""#,
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
}

#[test]
fn what_is_wrong_with_the_settings_is_told_without_what_is_secret_in_them() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tillgate.toml");
    for (settings, named) in [
        ("store = \"redis://user:sesame@host:x\"", "server 1"),
        (
            "store = \"redis://user:6379?sesame@host\"",
            "its parameters",
        ),
        (
            "store = \"embedded:folder?sesame\"",
            "embedded:FOLDER?cache=64MiB",
        ),
        ("store = \"http://user:sesame@host\"", "store: use"),
        ("store = \"redis://user:sesame@host", "TOML"),
        ("public_url = [\"https://user:sesame@host\"]", "public_url"),
        (
            "trusted_proxies = \"https://user:sesame@host/?sesame\"",
            "trusted_proxies",
        ),
        ("listen = \"http://user:sesame@host\"", "listen"),
        ("public_url = \"https://user:sesame@\"", "public_url"),
    ] {
        std::fs::write(&file, settings).unwrap();
        let print = [
            "serve",
            "--print-config",
            "--config",
            file.to_str().unwrap(),
        ];
        let told = failed(&tillgate(&print, &[]));
        assert!(told.contains(named), "{settings}: {told}");
    }
}

#[tokio::test]
async fn a_request_that_fails_does_not_tell_its_query() {
    let limits = Limits {
        deadline: Duration::from_secs(20),
        max_answer: 1 << 20,
        destinations: Destinations::Loopback,
    };
    let client = Client::new(limits).unwrap();
    for url in [
        "http://127.0.0.1:9/a?sesame",
        "http://user:sesame@10.0.0.1/a?sesame",
    ] {
        let request = client.request(reqwest::Method::GET, url.parse().unwrap());
        let told = client.send(request).await.unwrap_err();
        assert!(!format!("{told} {told:?}").contains(SECRET), "{told:?}");
    }
}

#[tokio::test]
async fn the_log_names_urls_without_what_is_secret_in_them() {
    log::keep();
    let configured = r#"
        [[trusted_issuers]]
        issuer = "https://log.login.example/?sesame"
        jwks = "http://user:sesame@127.0.0.1:9/keys?sesame"
        audiences = ["tillgate"]
        tenant_claim = "tenant"
        permissions_claim = "rights"
        [[reference_rates]]
        tenant = "log-rates"
        business_unit = "acme"
        exchange_rate_types = ["SALES"]
        url = "http://user:sesame@127.0.0.1:9/log-daily.xml?sesame"
        at = "15:30"
    "#;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tillgate.toml");
    std::fs::write(&file, configured).unwrap();
    let read = Loaded::read(Some(&file), &Flags::default()).unwrap().config;
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let host = Host::start_configured(store, clock.clone(), |config| {
        config.trusted_issuers = read.trusted_issuers;
        config.reference_rates = read.reference_rates;
    });
    let host = host.await;
    clock.advance(Duration::from_secs(24 * 60 * 60));
    host.run_due().await;
    until("both failures are in the log", async || {
        let text = log::text();
        text.contains("https://log.login.example/?***")
            && text.contains("http://***@127.0.0.1:9/log-daily.xml?***")
    })
    .await;
    assert!(!log::text().contains(SECRET));
}

#[test]
fn a_command_that_finds_no_host_does_not_tell_the_secret_of_its_url() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("operator.json");
    let credentials = r#"{"clientId":"a","clientSecret":"b","tokenUrl":"http://user:sesame@127.0.0.1:9/oauth2/token","audience":"c"}"#;
    std::fs::write(&file, credentials).unwrap();
    let list = ["keys", "list", "--credentials", file.to_str().unwrap()];
    let told = failed(&tillgate(&list, &[]));
    assert_eq!(
        told,
        "tillgate: no host answers at http://***@127.0.0.1:9/: is it running?\n"
    );
    let other = [list.as_slice(), &["--url", "ftp://user:sesame@127.0.0.1"]].concat();
    let told = failed(&tillgate(&other, &[]));
    assert!(
        told.contains("ftp://***@127.0.0.1/ is not the URL of a host"),
        "{told}"
    );
}

/// Creates a store in a folder, with one entry.
fn filled(folder: &TempDir, name: &str) -> String {
    let path = folder.path().join(name);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = EmbeddedStore::open(&path, Arc::new(SystemClock)).unwrap();
        let put = Op::Put {
            key: "beer".to_owned(),
            value: Bytes::from_static(b"{}"),
        };
        let commit = Commit {
            partition: Partition::new("shop").unwrap(),
            id: CommitId::random(),
            checks: Vec::new(),
            ops: vec![put],
        };
        store.commit(commit).await.unwrap();
    });
    format!("embedded:{}", path.display())
}

/// Writes a file with a text; returns the argument that names it.
fn file_with(folder: &TempDir, name: &str, text: &str) -> String {
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    format!("@{}", file.display())
}

#[test]
fn a_copy_takes_its_urls_from_the_environment_and_from_files() {
    let folder = TempDir::new().unwrap();
    let from = filled(&folder, "from");
    let to = |name: &str| format!("embedded:{}", folder.path().join(name).display());
    let copied = |output: &Output| {
        let told = done(output);
        assert!(told.contains("1 partitions, 1 entries"), "{told}");
    };
    let environment = [
        ("TILLGATE_COPY_FROM", from.as_str()),
        ("TILLGATE_COPY_TO", &to("a")),
    ];
    copied(&tillgate(&["copy"], &environment));
    let (from_file, to_file) = (
        file_with(&folder, "from-url", &format!("{from}\n")),
        file_with(&folder, "to-url", &to("b")),
    );
    copied(&tillgate(
        &["copy", "--from", &from_file, "--to", &to_file],
        &[],
    ));
    let to_file = file_with(&folder, "to-url", &to("c"));
    copied(&tillgate(
        &["copy", "--from", &from],
        &[("TILLGATE_COPY_TO", &to_file)],
    ));
    // An argument takes precedence over the environment.
    let elsewhere = ("TILLGATE_COPY_TO", "embedded:/nowhere/at/all");
    copied(&tillgate(
        &["copy", "--from", &from, "--to", &to("d")],
        &[elsewhere],
    ));
    // A host that is started in the same shell does not take them for settings.
    done(&tillgate(&["serve", "--print-config"], &environment));
}

#[test]
fn a_backup_and_its_store_are_found_by_the_environment_and_by_files() {
    let folder = TempDir::new().unwrap();
    let from = filled(&folder, "from");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let url = file_with(&folder, "url", &format!("{from}\n"));
    done(&tillgate(
        &["backup", &path("one.db")],
        &[("TILLGATE_STORE", &from)],
    ));
    done(&tillgate(
        &["backup", &path("two.db"), "--store", &url],
        &[],
    ));
    let here = ["doctor", "--listen", "127.0.0.1:0"];
    done(&tillgate(&here, &[("TILLGATE_STORE", &url)]));
    let to = format!("embedded:{}", path("a"));
    done(&tillgate(
        &["restore", &path("one.db")],
        &[("TILLGATE_STORE", &to)],
    ));
    let to = file_with(&folder, "to-url", &format!("embedded:{}", path("b")));
    done(&tillgate(
        &["restore", &path("two.db"), "--store", &to],
        &[],
    ));
    let none = format!("@{}", path("none"));
    let told = failed(&tillgate(
        &["backup", &path("three.db"), "--store", &none],
        &[],
    ));
    assert!(
        told.contains(&format!("store: {} cannot be read", path("none"))),
        "{told}"
    );
    let settings = path("tillgate.toml");
    std::fs::write(&settings, format!("store = \"{url}\"")).unwrap();
    let printed = done(&tillgate(
        &["serve", "--print-config", "--config", &settings],
        &[],
    ));
    assert!(
        printed.contains(&format!("store = \"{from}\"")),
        "{printed}"
    );
}

#[test]
fn help_and_errors_show_no_url_of_the_environment() {
    let secret = "redis://user:sesame@127.0.0.1:9";
    let environment = [
        ("TILLGATE_COPY_FROM", secret),
        ("TILLGATE_COPY_TO", secret),
        ("TILLGATE_STORE", secret),
    ];
    for command in ["copy", "restore", "backup", "doctor", "serve"] {
        done(&tillgate(&[command, "--help"], &environment));
    }
    let told = failed(&tillgate(&["copy"], &environment));
    assert!(told.contains("127.0.0.1:9"), "{told}");
    let told = failed(&tillgate(&["backup", "backup.db"], &environment));
    assert!(
        told.contains("redis://***@127.0.0.1:9 is not an embedded store"),
        "{told}"
    );
}
