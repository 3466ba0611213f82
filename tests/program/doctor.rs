//! `tillgate doctor`: the finding and name of each check; and it writes nothing.

mod bundle;

use std::collections::BTreeMap;
use std::fs::{Permissions, set_permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tempfile::TempDir;
use tillgate_base::engine::MODULE_SHA256;
use tillgate_store::clock::{Clock, StoppedClock, SystemClock, Timestamp};
use tillgate_store::{Commit, CommitId, EmbeddedStore, Op, Partition, Store};

use crate::support::authority::{Authority, Files};
use crate::support::host::Program;
use crate::support::redis::{Server, free_port};
use crate::support::script::{ScriptedHost, Then, response};
use crate::support::wait::output;

const DAY: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

fn doctor(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Program::command();
    command.env_clear().arg("doctor").args(arguments);
    output(command.envs(environment.iter().copied()))
}

/// Runs the command; returns its findings as JSON, and the exit code.
fn found(arguments: &[&str], environment: &[(&str, &str)]) -> (Value, i32) {
    let output = doctor(&[arguments, &["--json"]].concat(), environment);
    let report = serde_json::from_slice(&output.stdout).expect("a report");
    (report, output.status.code().unwrap())
}

/// Returns the verdicts and the sentences of one check.
fn of(report: &Value, check: &str) -> Vec<(String, String)> {
    let findings = report["checks"].as_array().unwrap().iter();
    let findings = findings.filter(|finding| finding["check"] == check);
    let text = |finding: &Value, member: &str| finding[member].as_str().unwrap_or("").to_owned();
    findings
        .map(|it| {
            let sentence = format!("{}: {}", text(it, "what"), text(it, "remedy"));
            (text(it, "verdict"), sentence)
        })
        .collect()
}

/// Asserts that a check has a finding with this verdict and these words.
fn assert_found(report: &Value, check: &str, verdict: &str, words: &str) {
    let all = of(report, check);
    let is_there = all
        .iter()
        .any(|(is, sentence)| is == verdict && sentence.contains(words));
    assert!(is_there, "{check} {verdict} {words}: {all:?}");
}

fn url_of(folder: &Path) -> String {
    format!("embedded:{}", folder.display())
}

/// Writes a store to a folder at the time of the clock.
fn filled(folder: &Path, clock: Arc<dyn Clock>) -> String {
    let store = EmbeddedStore::open(folder, clock).unwrap();
    let commit = Commit {
        partition: Partition::named("tenant/acme"),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: vec![Op::Put {
            key: "condition/beer".to_owned(),
            value: Bytes::from_static(b"sesame"),
        }],
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(store.commit(commit)).unwrap();
    drop(store);
    url_of(folder)
}

/// Returns the files of a folder with their content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        (name, std::fs::read(file.path()).unwrap())
    });
    files.collect()
}

#[test]
fn it_finds_what_keeps_a_host_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let settings = format!(
        "listen = \"127.0.0.1:9\"\noperator_file = \"{}\"\n[tls]\ncert = \"{}\"\nkey = \"{}\"\n[log]\nlevel = \"a=b\"\n\
         [metrics]\nlisten = \"127.0.0.1:9\"\n[decisions]\nlog = \"{}\"\n\
         [[trusted_issuers]]\nissuer = \"https://id.example\"\njwks = \"file:{}\"\naudiences = [\"till\"]\n\
         tenant_claim = \"org\"\npermissions_claim = \"scope\"\n",
        path("nowhere/operator.json"),
        path("cert.pem"),
        path("key.pem"),
        path(""),
        path("jwks.json"),
    );
    std::fs::write(path("tillgate.toml"), settings).unwrap();
    let empty = path("none");
    let (report, code) = found(
        &["--config", &path("tillgate.toml"), "--store", "memory:"],
        &[("SSL_CERT_FILE", &empty), ("SSL_CERT_DIR", &empty)],
    );
    assert_eq!(code, 1);
    for (check, words) in [
        ("certificate", "cert.pem"),
        ("log", "log.level is not a filter"),
        ("port", "listen and metrics.listen are both 127.0.0.1:9"),
        ("files", "operator_file: there is no folder"),
        ("files", "is a folder"),
        ("issuers", "jwks.json cannot be read"),
        ("authorities", "install the certificates of authorities"),
    ] {
        assert_found(&report, check, "fail", words);
    }
}

#[test]
fn the_end_of_a_certificate_is_told() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new());
    let files = Files::new(folder.path());
    let environment = [
        ("TILLGATE_TLS__CERT", files.chain.to_str().unwrap()),
        ("TILLGATE_TLS__KEY", files.key.to_str().unwrap()),
    ];
    let here = ["--listen", "127.0.0.1:0", "--store", "memory:"];
    let now = SystemClock.now();
    for (end, verdict, words) in [
        (now.plus(300 * DAY), "ok", "it is valid until "),
        (now.plus(13 * DAY), "warn", "it is valid until "),
        (now.minus(DAY), "fail", "clients refuse it: it has expired"),
    ] {
        files.write(&authority.issue_valid(now.minus(365 * DAY), end));
        let (report, _) = found(&here, &environment);
        assert_found(&report, "certificate", verdict, words);
        // Certificates have a precision of seconds.
        let end = Timestamp(end.seconds() * 1_000_000).to_millis_text();
        assert_found(&report, "certificate", verdict, &end);
    }
}

#[test]
fn a_document_of_reference_rates_that_is_not_there_is_warned_of() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let table = format!(
        "[[reference_rates]]\ntenant = \"acme\"\nbusiness_unit = \"eu\"\nexchange_rate_types = [\"SALES\"]\n\
         file = \"{}\"\nat = \"06:00\"\n",
        path("eurofxref.csv")
    );
    std::fs::write(path("tillgate.toml"), table).unwrap();
    let config = path("tillgate.toml");
    let arguments = ["--config", &config, "--listen", "127.0.0.1:0", "--store"];
    let arguments = [&arguments[..], &["memory:"]].concat();
    let (report, _) = found(&arguments, &[]);
    assert_found(&report, "files", "warn", "reference_rates[0].file: ");
    assert_found(&report, "files", "warn", "eurofxref.csv cannot be read");
    std::fs::write(path("eurofxref.csv"), "").unwrap();
    let (report, _) = found(&arguments, &[]);
    assert!(of(&report, "files").is_empty(), "{report}");
}

#[test]
fn a_host_that_runs_and_all_that_it_needs_are_found_well() {
    let folder = TempDir::new().unwrap();
    set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    let program = Program::serve(folder.path());
    let listen = program.url.strip_prefix("http://").unwrap();
    let store = url_of(folder.path());
    let arguments = ["--store", &store, "--listen", listen];
    let (report, code) = found(&arguments, &[]);
    assert_eq!((code, &report["verdict"]), (0, &json!("ok")), "{report}");
    assert_eq!(report["module"], MODULE_SHA256);
    for (check, words) in [
        ("configuration", "the environment sets are understood"),
        ("module", MODULE_SHA256),
        ("store", "is sound ("),
        ("clock", "not ahead of this machine's clock"),
        ("folder", "can be written, and "),
        ("credentials", "only its owner can read"),
        ("port", "a host answers at 127.0.0.1:"),
        ("host", "the host is ready"),
        ("host", "the host has the store of these settings"),
        ("host", "with the module of this program"),
    ] {
        assert_found(&report, check, "ok", words);
    }
    let lines = doctor(&arguments, &[]);
    let lines = String::from_utf8(lines.stdout).unwrap();
    assert_eq!(lines.lines().count(), 11, "{lines}");
    assert!(lines.starts_with("ok    configuration  "), "{lines}");
    assert!(lines.ends_with("\nall is well\n"), "{lines}");
}

#[test]
fn a_host_that_has_another_store_than_the_settings_is_told() {
    let folder = TempDir::new().unwrap();
    let program = Program::serve(&folder.path().join("store"));
    let listen = program.url.strip_prefix("http://").unwrap();
    let file = folder.path().join("operator.json").display().to_string();
    let at = |store: &str| {
        let more = ["--listen", listen, "--operator-file", &file];
        found(&[&["--store", store], more.as_slice()].concat(), &[])
    };
    let other = filled(&folder.path().join("other"), Arc::new(SystemClock));
    let (report, code) = at(&other);
    assert_eq!(code, 0);
    let told = format!("the host has another store than {other}: embedded elsewhere");
    assert_found(&report, "host", "warn", &told);
    // As after a move, when a flag still names the folder.
    let server = Server::start();
    let (report, code) = at(&format!("redis://u:sesame@127.0.0.1:{}", server.port));
    assert_eq!(code, 1);
    let told = format!(
        "than redis://***@127.0.0.1:{}: embedded: restart it",
        server.port
    );
    assert_found(&report, "host", "fail", &told);
}

#[test]
fn a_store_is_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let store = filled(&folder.path().join("store"), Arc::new(SystemClock));
    let before = files(&folder.path().join("store"));
    let bundle = folder.path().join("bundle.zip").display().to_string();
    let more: [&[&str]; 2] = [&[], &["--bundle", &bundle]];
    for more in more {
        let output = doctor(
            &[&["--store", &store, "--listen", "127.0.0.1:0"], more].concat(),
            &[],
        );
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let mut after = files(&folder.path().join("store"));
        // SQLite may leave an empty log, and its index.
        let log = after.remove("tillgate.db-wal").unwrap_or_default();
        after.remove("tillgate.db-shm");
        assert!(log.is_empty() && after == before, "files have changed");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn what_is_not_there_or_damaged_fails_and_says_what_to_do() {
    let folder = TempDir::new().unwrap();
    let none = url_of(&folder.path().join("none"));
    let here = ["--listen", "127.0.0.1:0", "--store"];
    let (report, code) = found(&[&here[..], &[&none]].concat(), &[]);
    assert_eq!((code, &report["verdict"]), (0, &json!("warn")));
    assert_found(&report, "store", "warn", "there is no store in");
    assert_found(&report, "store", "warn", "first tillgate serve creates one");
    assert_found(
        &report,
        "folder",
        "ok",
        "none is created at the first start",
    );
    assert!(!folder.path().join("none").exists());

    // A store that has lost its main file leaves other files behind.
    let lost = folder.path().join("lost");
    std::fs::create_dir(&lost).unwrap();
    let (report, code) = found(&[&here[..], &[&url_of(&lost)]].concat(), &[]);
    assert_eq!(code, 0);
    assert_found(&report, "store", "warn", "first tillgate serve creates one");
    std::fs::write(lost.join("operator.json"), "{}").unwrap();
    let (report, code) = found(&[&here[..], &[&url_of(&lost)]].concat(), &[]);
    assert_eq!(code, 1);
    assert_found(&report, "store", "fail", "there is no store in");

    let store = filled(&folder.path().join("store"), Arc::new(SystemClock));
    let file = folder.path().join("store/tillgate.db");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[4_096..8_192].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    let (report, code) = found(&[&here[..], &[&store]].concat(), &[]);
    assert_eq!(code, 1);
    assert_found(&report, "store", "fail", "is damaged, restore a backup");

    let (report, code) = found(&[&here[..], &["memory:"]].concat(), &[]);
    assert_found(&report, "store", "warn", "lost when its process ends");
    assert_found(&report, "credentials", "fail", "use --operator-file FILE");
    assert_eq!(code, 1);
    let durable = [("TILLGATE_REQUIRE_DURABLE_STORE", "true")];
    let (report, _) = found(&[&here[..], &["memory:"]].concat(), &durable);
    assert_found(&report, "store", "fail", "choose another store");
}

#[test]
fn a_folder_that_others_may_read_and_a_clock_that_is_behind_are_warned_of() {
    let folder = TempDir::new().unwrap();
    let clock = StoppedClock::at(SystemClock.now().plus(DAY));
    let store = filled(folder.path(), Arc::new(clock));
    let arguments = ["--store", &store, "--listen", "127.0.0.1:0"];
    let (report, code) = found(&arguments, &[]);
    assert_eq!((code, &report["verdict"]), (0, &json!("warn")), "{report}");
    assert_found(&report, "clock", "warn", "ahead of this machine's clock");
    assert_found(&report, "credentials", "ok", "is not there");
    let strict = [&arguments[..], &["--strict"]].concat();
    assert_eq!(found(&strict, &[]).1, 1);

    let credentials = folder.path().join("operator.json");
    std::fs::write(&credentials, "{}").unwrap();
    let mode = |path: &Path, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    };
    mode(&credentials, 0o644);
    mode(folder.path(), 0o755);
    let (report, _) = found(&arguments, &[]);
    assert_found(&report, "folder", "warn", "other users of this machine");
    assert_found(&report, "folder", "warn", "chmod 700 ");
    assert_found(&report, "credentials", "warn", "chmod 600 ");
    mode(&credentials, 0o600);
    let (report, _) = found(&arguments, &[]);
    assert_found(&report, "credentials", "warn", "must contain clientId");
    let lines = String::from_utf8(doctor(&arguments, &[]).stdout).unwrap();
    assert!(lines.ends_with("\nnothing fails, 3 warnings\n"), "{lines}");
}

#[test]
fn every_setting_that_is_not_understood_is_named_with_what_may_be_meant() {
    const SETTINGS: &str = r#"
        listne = "127.0.0.1:0"
        listen = "127.0.0.1:0"
        max_stale = "soon"
        secret_overlap = "1h"
        [webhooks]
        retry_delay = ["1m"]
        colour = "https://user:sesame@host/"
        [[trusted_issuers]]
        isuer = "https://login.example"
        [limits]
        cached_tenants = 1
    "#;
    let folder = TempDir::new().unwrap();
    let store = filled(&folder.path().join("store"), Arc::new(SystemClock));
    let file = folder.path().join("tillgate.toml");
    std::fs::write(&file, SETTINGS).unwrap();
    let config = ["--config", file.to_str().unwrap(), "--store", &store];
    let environment = [("TILLGATE_LIMITS__CONECTIONS", "7")];
    let (report, code) = found(&config, &environment);
    assert_eq!(code, 1);
    let name = file.display();
    for words in [
        format!("listne in {name} is not a setting: is listen meant?"),
        format!("max_stale in {name}: "),
        format!("secret_overlap in {name} is not a setting: is tokens.secret_overlap meant?"),
        format!("webhooks.retry_delay in {name} is not a setting: is webhooks.retry_delays meant?"),
        format!("webhooks.colour in {name} is not a setting: remove it"),
        format!("trusted_issuers[0].isuer in {name} is not a setting: is trusted_issuers[0].issuer meant?"),
        format!("trusted_issuers[0] in {name} lacks "),
        "TILLGATE_LIMITS__CONECTIONS in the environment is not a setting: is TILLGATE_LIMITS__CONNECTIONS meant?"
            .to_owned(),
        "limits.cached_tenants must be at least 100: correct".to_owned(),
    ] {
        assert_found(&report, "configuration", "fail", &words);
    }
    assert_eq!(of(&report, "configuration").len(), 9, "{report}");
    // The remaining checks still run.
    assert_found(&report, "store", "ok", "is sound");
    assert_found(&report, "port", "ok", "a free port");

    for (text, words) in [
        ("password = sesame", "is not TOML"),
        (
            "store = \"@/no/such/file\"",
            "store: /no/such/file cannot be read",
        ),
        (
            "store = \"redis://u:sesame@h:x\"",
            "server 1 must have an address",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let config = [
            "--config",
            file.to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
        ];
        let (report, code) = found(&config, &[]);
        assert_eq!(code, 1);
        assert_found(&report, "configuration", "fail", words);
        assert!(!report.to_string().contains("sesame"), "{report}");
    }
    let (report, _) = found(
        &["--config", "/no/such/file"],
        &[("TILLGATE_LISTEN", "127.0.0.1:0")],
    );
    assert_found(
        &report,
        "configuration",
        "fail",
        "there is no configuration file",
    );
}

#[test]
fn a_port_that_is_free_and_one_that_another_program_has_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let store = filled(folder.path(), Arc::new(SystemClock));
    let at = |listen: &str, metrics: &str| {
        let arguments = ["--store", &store, "--listen", listen];
        found(&arguments, &[("TILLGATE_METRICS__LISTEN", metrics)])
    };
    let free = format!("127.0.0.1:{}", free_port());
    let (report, code) = at(&free, "");
    assert_eq!(code, 0);
    assert_found(&report, "port", "ok", &format!("{free} is free"));
    // The check only tries the port and leaves it free.
    drop(TcpListener::bind(&free).unwrap());

    // Nobody accepts its connections, so it never answers.
    let [silent, metrics] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let address = |listener: &TcpListener| listener.local_addr().unwrap().to_string();
    let (report, code) = at(&address(&silent), &address(&metrics));
    assert_eq!(code, 1);
    assert_found(&report, "port", "fail", "does not answer as a host does");
    assert_eq!(of(&report, "port").len(), 2, "and the metrics: {report}");
    let (report, code) = at("192.0.2.1:8080", "");
    assert_eq!(code, 1);
    assert_found(&report, "port", "fail", "192.0.2.1:8080");
    let (report, code) = at("127.0.0.1:0", &free);
    assert_eq!(code, 0);
    assert_found(&report, "port", "ok", &format!("{free} is free"));
}

#[test]
fn a_host_that_is_not_well_or_has_another_module_is_told() {
    let folder = TempDir::new().unwrap();
    let store = filled(folder.path(), Arc::new(SystemClock));
    let engine = "export const version = \"0.0.9\";\nexport const sha256 = \"abc\";\n";
    let report_of = |readiness: &Value| {
        let json = |status: &str| response(status, "application/json", &readiness.to_string());
        let host = ScriptedHost::start([
            (json("503 Service Unavailable"), Then::Close),
            (response("200 OK", "text/javascript", engine), Then::Close),
        ]);
        let credentials = std::fs::read(host.credentials()).unwrap();
        let credentials: Value = serde_json::from_slice(&credentials).unwrap();
        let url = credentials["tokenUrl"].as_str().unwrap();
        let listen = url.strip_prefix("http://").unwrap();
        let listen = listen.strip_suffix("/oauth2/token").unwrap();
        found(&["--store", &store, "--listen", listen], &[])
    };
    let away =
        json!({ "store": { "status": "away", "why": "the store does not answer" }, "keys": {} });
    let (report, code) = report_of(&json!({ "status": "degraded", "checks": away }));
    assert_eq!(code, 0);
    assert_found(
        &report,
        "host",
        "warn",
        "the host is degraded: store: the store does not answer",
    );
    assert_found(
        &report,
        "host",
        "warn",
        "another module, abc of version 0.0.9: restart it",
    );
    let (report, code) = report_of(&json!({ "status": "unavailable", "checks": away }));
    assert_eq!(code, 1);
    assert_found(&report, "host", "fail", "the host is unavailable: store: ");
    let warnings = json!({ "reference_rates": { "count": 3, "why": "old rates" } });
    let (report, code) =
        report_of(&json!({ "status": "ready", "checks": {}, "warnings": warnings }));
    assert_eq!(code, 0);
    assert_found(&report, "host", "warn", "and warns: old rates (3)");
    let (report, code) = report_of(&json!({ "hello": "world" }));
    assert_eq!(code, 1);
    assert_found(&report, "port", "fail", "another program answers at");
}

#[test]
fn unsafe_servers_of_a_store_are_named_and_left_as_they_are() {
    let server = Server::start();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("operator.json").display().to_string();
    let here = [
        "--listen",
        "127.0.0.1:0",
        "--operator-file",
        &file,
        "--store",
    ];
    let at =
        |url: &str, environment: &[(&str, &str)]| found(&[&here[..], &[url]].concat(), environment);
    let (report, code) = at(&server.url(), &[]);
    assert_eq!((code, &report["verdict"]), (0, &json!("warn")), "{report}");
    assert_found(&report, "store", "ok", " answers: 127.0.0.1:");
    assert_found(
        &report,
        "store",
        "warn",
        "set appendonly yes and appendfsync always",
    );
    assert_found(&report, "clock", "ok", "agree with this machine's");
    assert_eq!(server.cli(&["dbsize"]), "0");
    let durable = [("TILLGATE_REQUIRE_DURABLE_STORE", "true")];
    let (report, code) = at(&server.url(), &durable);
    assert_eq!(code, 1);
    assert_found(
        &report,
        "store",
        "fail",
        "with require_durable_store does not start",
    );

    let server = Server::durable();
    let (report, code) = at(&server.url(), &durable);
    assert_eq!((code, &report["verdict"]), (0, &json!("ok")), "{report}");
    assert_eq!(server.cli(&["dbsize"]), "0");

    let nobody = format!("redis://user:sesame@127.0.0.1:{}", free_port());
    let (report, code) = at(&nobody, &[]);
    assert_eq!(code, 1);
    assert_found(&report, "store", "fail", "refused");
    assert!(!report.to_string().contains("sesame"), "{report}");
}
