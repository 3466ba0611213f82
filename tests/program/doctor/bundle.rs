//! `tillgate doctor --bundle`: its content, that it works when the host is down, and that it contains no secret.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tillgate_base::engine::MODULE_SHA256;
use tillgate_store::clock::SystemClock;
use zip::ZipArchive;

use super::{doctor, filled, found, url_of};
use crate::support::host::Program;
use crate::support::redis::Server;

/// A secret that is in the store and in the log, and must not be in a bundle.
const SECRET: &str = "sesame";

/// Returns the names and texts of a bundle's files.
fn read(file: &Path) -> Vec<(String, String)> {
    let mut zip = ZipArchive::new(File::open(file).unwrap()).unwrap();
    let texts = (0..zip.len()).map(|index| {
        let mut text = String::new();
        let mut member = zip.by_index(index).unwrap();
        member.read_to_string(&mut text).unwrap();
        (member.name().unwrap().into_owned(), text)
    });
    texts.collect()
}

fn text<'t>(texts: &'t [(String, String)], name: &str) -> &'t str {
    let found = texts.iter().find(|(named, _)| named == name);
    &found.unwrap_or_else(|| panic!("{name} is in the bundle")).1
}

fn json_of(texts: &[(String, String)], name: &str) -> Value {
    serde_json::from_str(text(texts, name)).unwrap()
}

#[test]
fn a_bundle_has_what_it_lists_of_a_host_that_runs() {
    let folder = TempDir::new().unwrap();
    let (store, log) = (folder.path().join("store"), folder.path().join("log"));
    let program = Program::serve_logging(&store, &log);
    let listen = program.url.strip_prefix("http://").unwrap();
    let bundle = folder.path().join("bundle.zip");
    let output = doctor(
        &[
            "--store",
            &url_of(&store),
            "--listen",
            listen,
            "--bundle",
            bundle.to_str().unwrap(),
            "--log",
            log.to_str().unwrap(),
        ],
        &[],
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("all is well\n\nwrote "), "{printed}");
    let mode = std::fs::metadata(&bundle).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let texts = read(&bundle);
    let manifest = json_of(&texts, "manifest.json");
    assert_eq!(manifest["module"], MODULE_SHA256);
    assert_eq!(manifest["missing"], json!([]));
    let listed: Vec<(&str, u64)> = manifest["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (
                file["name"].as_str().unwrap(),
                file["bytes"].as_u64().unwrap(),
            )
        })
        .collect();
    let there: Vec<(&str, u64)> = texts[1..]
        .iter()
        .map(|(name, text)| (name.as_str(), u64::try_from(text.len()).unwrap()))
        .collect();
    assert_eq!(listed, there);
    let names: Vec<&str> = listed.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "doctor.txt",
            "doctor.json",
            "configuration.toml",
            "store.json",
            "readyz.json",
            "metrics.txt",
            "machine.json",
            "log.txt"
        ]
    );
    for name in names {
        assert!(printed.contains(&format!("  {name} ")), "{printed}");
    }
    assert!(text(&texts, "doctor.txt").ends_with("all is well\n"));
    assert_eq!(json_of(&texts, "doctor.json")["verdict"], "ok");
    assert!(text(&texts, "configuration.toml").contains("max_stale = \"15m\"  # default"));
    assert_eq!(json_of(&texts, "readyz.json")["status"], "ready");
    assert!(text(&texts, "metrics.txt").contains("tillgate_status"));
    assert!(json_of(&texts, "machine.json")["cores"].as_u64() > Some(0));
    assert!(text(&texts, "log.txt").contains("operator's credentials"));
    let listing = json_of(&texts, "store.json");
    let kinds = listing["kinds"].as_array().unwrap();
    let clients = kinds.iter().find(|kind| kind["name"] == "client").unwrap();
    assert_eq!(
        (&clients["of"], &clients["count"]),
        (&json!("entries"), &json!(1))
    );
    assert!(clients["bytes"].as_u64() > Some(100));
}

#[test]
fn a_bundle_of_a_host_that_is_dead_names_what_is_missing() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    let (url, bundle) = (
        filled(&store, Arc::new(SystemClock)),
        folder.path().join("bundle.zip"),
    );
    let port = crate::support::redis::free_port();
    let listen = format!("127.0.0.1:{port}");
    let arguments = [
        "--store",
        &url,
        "--listen",
        &listen,
        "--bundle",
        bundle.to_str().unwrap(),
    ];
    let (report, code) = found(&arguments, &[]);
    assert_eq!(code, 0);
    assert_eq!(report["bundle"]["files"].as_array().unwrap().len(), 5);
    let texts = read(&bundle);
    let manifest = json_of(&texts, "manifest.json");
    let missing = manifest["missing"].as_array().unwrap();
    let why: Vec<&str> = missing
        .iter()
        .map(|it| it["why"].as_str().unwrap())
        .collect();
    assert_eq!(missing.len(), 3, "{manifest}");
    assert!(
        why[0].starts_with("no host answers at 127.0.0.1:"),
        "{why:?}"
    );
    assert_eq!(why[2], "no log was named with --log");
    let kinds =
        json!([{ "of": "entries", "name": "condition", "partitions": 1, "count": 1, "bytes": 6 }]);
    assert_eq!(json_of(&texts, "store.json")["kinds"], kinds);

    let before = std::fs::read(&bundle).unwrap();
    let refused = doctor(&arguments, &[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("exists already")
    );
    assert_eq!(std::fs::read(&bundle).unwrap(), before);

    // The configuration is invalid and there is no store, but there is still a bundle.
    let (config, log) = (
        folder.path().join("tillgate.toml"),
        folder.path().join("none.log"),
    );
    std::fs::write(&config, "not TOML").unwrap();
    let bundle = folder.path().join("second.zip");
    let (report, code) = found(
        &[
            "--config",
            config.to_str().unwrap(),
            "--store",
            &url_of(&folder.path().join("none")),
            "--bundle",
            bundle.to_str().unwrap(),
            "--listen",
            &listen,
            "--log",
            log.to_str().unwrap(),
        ],
        &[],
    );
    assert_eq!((code, &report["verdict"]), (0, &json!("fail")));
    let missing = report["bundle"]["missing"].to_string();
    for why in [
        "there is no store in",
        "no host answers at",
        "none.log cannot be read",
    ] {
        assert!(missing.contains(why), "{missing}");
    }
    let nowhere = doctor(
        &[
            "--bundle",
            "/no/such/folder/b.zip",
            "--listen",
            "127.0.0.1:0",
        ],
        &[],
    );
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(
        String::from_utf8(nowhere.stderr)
            .unwrap()
            .contains("cannot write")
    );
}

/// A secret in the form that this service generates.
const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// Writes a log that ends with secrets of every kind.
fn planted(folder: &Path) -> String {
    let log = [
        format!("2026-01-01T00:00:00Z  INFO connecting to redis://till:{SECRET}@127.0.0.1:1/0"),
        format!("cause:redis+cluster://till:{SECRET}@a:1,b:2 (rediss://:{SECRET}@h)"),
        format!(
            r#"{{"fields":{{"clientSecret":"{SECRET}","authorization":"Bearer {SECRET}.a.b"}}}}"#
        ),
        format!(r#"{{"message":"{{\"sharedKey\":\"a {SECRET} b\",\"password\": \"{SECRET}\"}}"}}"#),
        format!(
            "POST /oauth2/token grant_type=client_credentials&client_secret={SECRET}&audience=x"
        ),
        format!(
            "curl -H 'Authorization: Bearer {SECRET}' -H 'Cookie: a={SECRET}; b={SECRET}' https://h/?k={SECRET}"
        ),
        format!("Authorization: Basic {SECRET}=="),
        format!("X-Service-Signature: {SECRET}"),
        format!("token = eyJhbGciOiJSUzI1NiJ9.{SECRET}.{SECRET}"),
        format!("got eyJhbGciOiJSUzI1NiJ9.{SECRET}.{SECRET} from"),
        format!("key whsec_{SECRET}+/="),
        format!("-----BEGIN PRIVATE KEY-----\n{SECRET}\n{SECRET}\n-----END PRIVATE KEY-----"),
        format!("a secret {HEX} and another Zm9v{SECRET}MEeJl0yQ9xVbWq2"),
        format!("TILLGATE_STORE=redis://u:{SECRET}@h"),
        "2026-01-01T00:00:01.000000Z  INFO tillgate::server: the log goes on".to_owned(),
    ];
    let file = folder.join("log");
    let earlier = "2026-01-01T00:00:00.000000Z  INFO tillgate::server: an earlier line\n";
    let long = earlier.repeat(20_000) + &log.join("\n");
    std::fs::write(&file, long).unwrap();
    file.display().to_string()
}

#[test]
fn no_secret_gets_into_a_bundle() {
    let folder = TempDir::new().unwrap();
    let server = Server::start();
    assert_eq!(server.cli(&["config", "set", "requirepass", SECRET]), "OK");
    let log = planted(folder.path());
    let (config, credentials) = (
        folder.path().join("tillgate.toml"),
        folder.path().join("operator.json"),
    );
    let operator = json!({
        "clientId": "till", "clientSecret": format!("operator-{SECRET}"), "tokenUrl": "http://h/oauth2/token",
        "audience": "a",
    });
    std::fs::write(&credentials, operator.to_string()).unwrap();
    let settings = format!(
        r#"
        store = "redis://default:{SECRET}@127.0.0.1:{}"
        public_url = "https://user:{SECRET}@till.example/?{SECRET}"
        secret_key = "{SECRET}"
        [webhooks]
        issuer = "https://id.till.example/?key={SECRET}"
        retry_delays = "https://u:{SECRET}@h"
        "#,
        server.port
    );
    std::fs::write(&config, settings).unwrap();
    let bundle = folder.path().join("bundle.zip");
    let output = doctor(
        &[
            "--config",
            config.to_str().unwrap(),
            "--operator-file",
            credentials.to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
            "--bundle",
            bundle.to_str().unwrap(),
            "--log",
            &log,
        ],
        &[(
            "TILLGATE_ISSUER",
            &format!("https://{SECRET}@till.example/"),
        )],
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let texts = read(&bundle);
    let printed = [output.stdout, output.stderr].concat();
    let printed = (
        "what is printed".to_owned(),
        String::from_utf8(printed).unwrap(),
    );
    for (name, text) in texts.iter().chain([&printed]) {
        assert!(!text.contains(SECRET), "{name}: {text}");
        assert!(!text.contains(HEX), "{name}: {text}");
    }
    let log = text(&texts, "log.txt");
    let begin = "2026-01-01T00:00:00.000000Z  INFO tillgate::server: an earlier line\n";
    assert!(log.len() < 1 << 20 && log.starts_with(begin), "{log}");
    let end =
        "INFO tillgate::server: the log goes on\n(17 lines of other programs were left out)\n";
    assert!(log.ends_with(end), "{log}");
    // The store is opened with its real password.
    assert!(text(&texts, "doctor.txt").contains("redis://***@127.0.0.1:"));
    assert_eq!(json_of(&texts, "store.json")["partitions"], 0);
}

#[test]
fn a_store_on_redis_is_listed_without_content() {
    let folder = TempDir::new().unwrap();
    let server = Server::durable();
    let file = folder.path().join("operator.json").display().to_string();
    let mut command = Program::command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--operator-file", &file]);
    let mut program = Program::spawn(command.args(["--store", &server.url()]), "");
    program.kill();
    let bundle = folder.path().join("bundle.zip");
    let arguments = [
        "--store",
        &server.url(),
        "--listen",
        "127.0.0.1:0",
        "--operator-file",
        &file,
    ];
    let more = ["--bundle", bundle.to_str().unwrap()];
    let (report, code) = found(&[&arguments[..], &more].concat(), &[]);
    assert_eq!(code, 0, "{report}");
    let texts = read(&bundle);
    let listing = json_of(&texts, "store.json");
    let kinds = listing["kinds"].as_array().unwrap();
    let clients = kinds.iter().find(|kind| kind["name"] == "client").unwrap();
    assert_eq!(
        (&clients["of"], &clients["count"]),
        (&json!("entries"), &json!(1))
    );
    assert!(clients["bytes"].as_u64() > Some(100), "{clients}");
    assert!(
        kinds.iter().any(|kind| kind["of"] == "messages"),
        "{listing}"
    );
    assert!(listing["bytes"].as_u64() > Some(100_000), "{listing}");
}
