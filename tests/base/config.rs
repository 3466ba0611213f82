//! The settings: the manual names every setting and no other, each takes effect from a file and from the environment,
//! and a wrong value is refused with the name of its key.

mod environment;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

use figment::Figment;
use figment::error::Kind;
use figment::providers::{Format, Toml};
use serde_json::{Value, json};
use tillgate_base::config::{Config, DEFAULTS};

use crate::support::host::Program;
use crate::support::wait::output;

/// Every setting with a value that differs from the manual's: its key, the value in TOML, and in the environment.
const SETTINGS: &[(&str, &str, &str)] = &[
    ("listen", r#""127.0.0.1:9090""#, "127.0.0.1:9090"),
    ("http.unknown_members", r#""ignore""#, "ignore"),
    (
        "store",
        r#""redis+cluster://a:7000,b:7000?prefix=shop""#,
        "redis+cluster://a:7000,b:7000?prefix=shop",
    ),
    ("require_durable_store", "true", "true"),
    (
        "roles",
        r#"["conditions", "workers"]"#,
        "workers,conditions",
    ),
    ("decisions.log", r#""decisions.jsonl""#, "decisions.jsonl"),
    ("decisions.file_bytes", r#""10.0 MiB""#, "10.0 MiB"),
    ("decisions.old_files", "3", "3"),
    ("decisions.queue_bytes", r#""10.0 MiB""#, "10.0 MiB"),
    ("max_stale", r#""1h""#, "1h"),
    ("max_stale_callers", r#""0s""#, "0s"),
    ("snapshot", r#""/var/lib/tillgate""#, "/var/lib/tillgate"),
    (
        "audience",
        r#""https://api.shop.example""#,
        "https://api.shop.example",
    ),
    (
        "public_url",
        r#""https://till.example:8443""#,
        "https://till.example:8443",
    ),
    (
        "issuer",
        r#""https://issuer.example/""#,
        "https://issuer.example/",
    ),
    ("platform_tenant", r#""4711""#, "4711"),
    (
        "operator_file",
        r#""keys/operator.json""#,
        "keys/operator.json",
    ),
    (
        "trusted_proxies",
        r#"["10.0.0.0/8", "::1/128"]"#,
        r#"["10.0.0.0/8", "::1/128"]"#,
    ),
    (
        "cors.origins",
        r#"["https://shop.example", "http://localhost:3000", "tauri://localhost", "app://till:8443"]"#,
        r#"["https://shop.example","http://localhost:3000","tauri://localhost","app://till:8443"]"#,
    ),
    (
        "cors.headers",
        r#"["X-Request-Id", "x-b3-traceid"]"#,
        r#"["X-Request-Id","x-b3-traceid"]"#,
    ),
    ("tls.cert", r#""fullchain.pem""#, "fullchain.pem"),
    ("tls.key", r#""privkey.pem""#, "privkey.pem"),
    ("trusted_issuers", ISSUERS, ISSUERS),
    ("reference_rates", REFERENCE_RATES, REFERENCE_RATES),
    (
        "log.level",
        r#""warn,tillgate=debug""#,
        "warn,tillgate=debug",
    ),
    ("log.format", r#""json""#, "json"),
    ("metrics.listen", r#""127.0.0.1:9100""#, "127.0.0.1:9100"),
    ("metrics.tenants", "true", "true"),
    ("tokens.registrations_per_minute", "60", "60"),
    ("limits.connections", "500", "500"),
    ("limits.connections_per_address", "50", "50"),
    ("limits.request_bytes", r#""1.0 GiB""#, "1.0 GiB"),
    ("limits.answer_bytes", r#""1.0 GiB""#, "1.0 GiB"),
    ("limits.cached_tenants", "500", "500"),
    ("limits.cached_clients", "5000", "5000"),
    ("quotas.conditions", "500", "500"),
    ("quotas.projects", "500", "500"),
    ("quotas.configuration", r#""10.0 MiB""#, "10.0 MiB"),
    ("quotas.history", r#""10.0 MiB""#, "10.0 MiB"),
    ("conditions.history_retention", r#""2days""#, "2days"),
    ("quotas.templates", "500", "500"),
    ("quotas.template_bytes", r#""10.0 MiB""#, "10.0 MiB"),
    ("quotas.clients", "500", "500"),
    ("quotas.streams", "500", "500"),
    ("quotas.business_units", "500", "500"),
    ("quotas.business_unit_bytes", r#""10.0 MiB""#, "10.0 MiB"),
    ("quotas.exchange_rates", "500", "500"),
    ("quotas.rate_passes", "500", "500"),
    ("quotas.tills", "500", "500"),
    ("quotas.webhooks", "500", "500"),
    ("quotas.event_consumers", "500", "500"),
    ("quotas.events_per_second", "500", "500"),
    ("quotas.waiting_deliveries", "500", "500"),
    ("quotas.deliveries_per_target", "32", "32"),
    ("tokens.pending_clients", "500", "500"),
    ("tokens.pending_clients_per_address", "50", "50"),
    ("tokens.pending_lifetime", r#""1h 30m""#, "1h 30m"),
    ("tokens.secret_overlap", r#""2days""#, "2days"),
    ("tokens.client_secret_post", "true", "true"),
    ("rates.message_retention", r#""36days 12h""#, "36days 12h"),
    ("rates.max_messages", "1000000", "1000000"),
    ("rates.history_retention", r#""1day""#, "1day"),
    ("rates.tolerance_percent", "20", "20"),
    ("webhooks.allow_http", "true", "true"),
    (
        "webhooks.allow_private",
        r#"["127.0.0.0/8", "::1/128"]"#,
        r#"["127.0.0.0/8","::1/128"]"#,
    ),
    (
        "webhooks.retry_delays",
        r#"["5s", "1m 30s"]"#,
        r#"["5s","1m 30s"]"#,
    ),
    ("webhooks.deadline", r#""3s""#, "3s"),
    ("webhooks.max_in_flight", "3", "3"),
    ("webhooks.disable_after", r#""2days""#, "2days"),
    ("webhooks.hold", r#""3days""#, "3days"),
    ("webhooks.journal_retention", r#""9days""#, "9days"),
    (
        "webhooks.signature_headers",
        r#"["X-Service-Signature", "X-Old"]"#,
        r#"["X-Service-Signature","X-Old"]"#,
    ),
    ("webhooks.user_agent", r#""Old-Sender/1""#, "Old-Sender/1"),
    (
        "webhooks.source",
        r#""dispatcher.shop.example""#,
        "dispatcher.shop.example",
    ),
    (
        "webhooks.deprecations",
        r#"{ "x.events.v1" = { removed_after = "2027-06-30" } }"#,
        r#"{"x.events.v1"={removed_after="2027-06-30"}}"#,
    ),
    (
        "webhooks.issuer",
        r#""https://id.shop.example""#,
        "https://id.shop.example",
    ),
    (
        "webhooks.service_account_email",
        r#""sender@shop.example""#,
        "sender@shop.example",
    ),
    ("webhooks.service_account_id", r#""4711""#, "4711"),
    (
        "page.sign_in",
        SIGN_IN,
        r#"{issuer="https://idp.example",client_id="page",scopes=["openid","shop"],resource="till",connect=["https://token.idp.example"]}"#,
    ),
];

/// Settings that are refused unless another one is set.
const NEEDS: &[(&str, &str)] = &[
    ("page.sign_in", "trusted_issuers"),
    ("tls.cert", "tls.key"),
    ("tls.key", "tls.cert"),
];

const SIGN_IN: &str = r#"{ issuer = "https://idp.example", client_id = "page", scopes = ["openid", "shop"], resource = "till", connect = ["https://token.idp.example"] }"#;

const ISSUERS: &str = r#"[{ issuer = "https://idp.example", jwks = "file:idp.json", audiences = ["shop", "till"], tenant_claim = "/realm/tenant", permissions_claim = "rights", groups_claim = "teams", groups = { "shop-editors" = ["ecs.viewer"] }, tenants = ["shop-9"] }]"#;

const REFERENCE_RATES: &str = r#"[{ tenant = "shop-9", business_unit = "eu:1", exchange_rate_types = ["INTERCOMPANY"], url = "http://127.0.0.1:8000/daily.csv", at = "23:59", crosses = false }, { tenant = "shop-9", business_unit = "eu:2", exchange_rate_types = ["SALES", "PURCHASE"], file = "daily.csv", at = "00:05", crosses = true }]"#;

/// The settings that are tables, and those that are lists of tables, each with a value.
const TABLES: [&str; 13] = [
    "http",
    "cors",
    "decisions",
    "tls",
    "log",
    "metrics",
    "quotas",
    "limits",
    "tokens",
    "conditions",
    "rates",
    "webhooks",
    "page",
];
const LISTS: [(&str, &str); 2] = [
    ("trusted_issuers", ISSUERS),
    ("reference_rates", REFERENCE_RATES),
];

fn is_list(key: &str) -> bool {
    LISTS.iter().any(|(list, _)| *list == key)
}

/// Runs `serve --print-config` with the content of a file and an environment, but without this process's environment.
fn print_config(file: Option<&str>, environment: &[(String, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::command();
    program.args(["serve", "--print-config"]).env_clear();
    program.envs(environment.iter().map(|(name, value)| (name, value)));
    if let Some(content) = file {
        let file = folder.path().join("tillgate.toml");
        std::fs::write(&file, content).unwrap();
        program.arg("--config").arg(file);
    }
    output(&mut program)
}

/// Returns the printed value and source of each setting.
fn printed(output: &Output) -> BTreeMap<String, (Value, String)> {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let (mut table, mut settings) = (String::new(), BTreeMap::new());
    for line in std::str::from_utf8(&output.stdout).unwrap().lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((key, value)) = line.split_once(" = ") {
            let (value, source) = value.rsplit_once("  # ").unwrap();
            let value: Value = Figment::from(Toml::string(&format!("value = {value}")))
                .extract_inner("value")
                .unwrap();
            settings.insert(format!("{table}{key}"), (value, source.to_owned()));
        }
    }
    settings
}

fn variable(key: &str) -> String {
    format!("TILLGATE_{}", key.to_uppercase().replace('.', "__"))
}

/// Returns all settings as the content of a file.
fn file() -> String {
    let lines = SETTINGS.iter();
    lines
        .map(|(key, value, _)| format!("{key} = {value}\n"))
        .collect()
}

fn read(toml: &str) -> Value {
    let figment = Figment::from(Toml::string(DEFAULTS)).merge(Toml::string(toml));
    figment.extract().unwrap()
}

/// Returns the example of a list at the end of the manual, as it would stand in a file.
fn example(list: &str) -> String {
    let begin = DEFAULTS.find(&format!("# [[{list}]]")).unwrap();
    let lines = DEFAULTS[begin..]
        .lines()
        .map_while(|line| line.strip_prefix('#'));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

fn examples() -> String {
    LISTS.iter().map(|(list, _)| example(list)).collect()
}

/// Returns the keys of settings; those in a table follow its name.
fn keys(settings: &Value) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for (key, value) in settings.as_object().unwrap() {
        let tables = match value {
            Value::Array(tables) if is_list(key) => tables.as_slice(),
            table => std::slice::from_ref(table),
        };
        let inner = tables.iter().filter_map(Value::as_object).flatten();
        keys.extend(inner.map(|(inner, _)| format!("{key}.{inner}")));
        if !TABLES.contains(&key.as_str()) {
            keys.insert(key.clone());
        }
    }
    keys
}

/// Returns the keys that may appear in a table of the configuration, including optional ones: an error about an
/// unknown key lists them.
fn keys_read(table: &str) -> &'static [&'static str] {
    let another = match table {
        "" => "another_key = 1".to_owned(),
        list if is_list(list) => format!("[[{list}]]\nanother_key = 1"),
        table => format!("{table}.another_key = 1"),
    };
    let figment = Figment::from(Toml::string(DEFAULTS)).merge(Toml::string(&another));
    match figment.extract::<Config>().unwrap_err().kind {
        Kind::UnknownField(_, known) => known,
        kind => panic!("{table}: {kind}"),
    }
}

#[test]
fn the_manual_names_every_setting_and_no_other() {
    let manual = keys(&read(&examples()));
    let mut known = BTreeSet::new();
    for key in keys_read("") {
        if TABLES.contains(key) || is_list(key) {
            known.extend(keys_read(key).iter().map(|inner| format!("{key}.{inner}")));
        }
        if !TABLES.contains(key) {
            known.insert((*key).to_owned());
        }
    }
    assert_eq!(manual, known);
    let config: Config = Figment::from(Toml::string(DEFAULTS))
        .merge(Toml::string(&examples()))
        .extract()
        .unwrap();
    assert_eq!(manual, keys(&serde_json::to_value(config).unwrap()));
    let covered: Vec<_> = SETTINGS.iter().map(|(key, ..)| *key).collect();
    let lists = LISTS.map(|(list, value)| format!("{list} = {value}\n"));
    let inner = keys(&read(&lists.concat()));
    let of_list = |key: &&String| key.split_once('.').is_some_and(|(list, _)| is_list(list));
    let inner = inner.iter().filter(of_list).map(String::as_str);
    let covered = covered.into_iter().chain(inner);
    assert_eq!(manual, covered.map(str::to_owned).collect());
}

#[test]
fn the_manual_names_variables_that_are_read() {
    let allowed = |c: char| c.is_ascii_uppercase() || c == '_';
    let names = DEFAULTS.split(|c| !allowed(c));
    let names: BTreeSet<_> = names.filter(|name| name.starts_with("TILLGATE_")).collect();
    let variables: BTreeSet<_> = SETTINGS.iter().map(|(key, ..)| variable(key)).collect();
    let others = names.iter().filter(|name| !variables.contains(**name));
    let others: Vec<_> = others.copied().collect();
    assert_eq!(
        others,
        [
            "TILLGATE_CA_CERT",
            "TILLGATE_COPY_FROM",
            "TILLGATE_COPY_TO",
            "TILLGATE_CREDENTIALS"
        ]
    );
    assert_eq!(names.len(), others.len() + 2);
    // These variables are for other commands and are not settings.
    let others: Vec<_> = others
        .iter()
        .map(|name| ((*name).to_owned(), "x"))
        .collect();
    let with = printed(&print_config(None, &others));
    assert_eq!(with, printed(&print_config(None, &[])));
}

#[test]
fn every_setting_takes_effect_from_a_file_and_from_the_environment() {
    let defaults = printed(&print_config(None, &[]));
    assert!(defaults.values().all(|(_, source)| source == "default"));
    let set = read(&file());
    let environment = SETTINGS
        .iter()
        .map(|(key, _, value)| (variable(key), *value));
    let environment: Vec<_> = environment.collect();
    let by_file = printed(&print_config(Some(&file()), &[]));
    let by_environment = printed(&print_config(None, &environment));
    for (is_file, settings) in [(true, by_file), (false, by_environment)] {
        assert_eq!(settings.len(), SETTINGS.len());
        for (key, ..) in SETTINGS {
            let (value, source) = &settings[*key];
            let pointer = format!("/{}", key.replace('.', "/"));
            assert_eq!(Some(value), set.pointer(&pointer), "{key}");
            assert_ne!(*value, defaults[*key].0, "{key} is not the default");
            if is_file {
                assert!(source.ends_with("/tillgate.toml"), "{key}: {source}")
            } else {
                assert_eq!(*source, variable(key))
            }
        }
    }
}

#[test]
fn what_is_printed_is_a_file_of_settings() {
    let set = print_config(Some(&file()), &[]);
    let again = print_config(std::str::from_utf8(&set.stdout).ok(), &[]);
    let values = |output| -> BTreeMap<_, _> {
        let settings = printed(output).into_iter();
        settings.map(|(key, (value, _))| (key, value)).collect()
    };
    assert_eq!(values(&again), values(&set));
}

#[test]
fn a_flag_is_named_as_it_is_written() {
    let serve = |flags: &[&str]| output(Program::command().env_clear().arg("serve").args(flags));
    let shown = printed(&serve(&[
        "--tls-cert",
        "a",
        "--tls-key",
        "b",
        "--print-config",
    ]));
    assert_eq!(shown["tls.key"], (json!("b"), "--tls-key".to_owned()));
    let refused = serve(&["--roles", "cashier"]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        told.starts_with("tillgate: --roles: \"cashier\" is not a role: "),
        "{told}"
    );
}

#[test]
fn each_setting_of_the_environment_is_stronger_than_the_file_and_changes_no_other() {
    let set = printed(&print_config(Some(&file()), &[]));
    let defaults = printed(&print_config(None, &[]));
    for (key, _, value) in SETTINGS {
        let mut expected = defaults.clone();
        let needed = SETTINGS
            .iter()
            .filter(|(other, ..)| NEEDS.contains(&(*key, *other)))
            .map(|(other, _, value)| (*other, *value));
        let given: Vec<_> = needed.chain([(*key, *value)]).collect();
        let variables: Vec<_> = given.iter().map(|(key, it)| (variable(key), *it)).collect();
        let alone = printed(&print_config(None, &variables));
        for (key, _) in given {
            let (_, source) = &alone[key];
            expected.insert(key.to_owned(), (set[key].0.clone(), source.clone()));
        }
        assert_eq!(alone, expected, "{key}");
        // Using the manual as a file gives the same as the defaults.
        let over = print_config(Some(DEFAULTS), &variables);
        assert_eq!(printed(&over)[*key], alone[*key], "{key}");
    }
}

#[test]
fn the_example_of_each_list_can_be_used_as_it_is() {
    for (list, value) in LISTS {
        let example = example(list);
        let shown = printed(&print_config(Some(&example), &[]));
        let (tables, source) = &shown[list];
        assert!(source.ends_with("/tillgate.toml"), "{source}");
        let other = read(&format!("{list} = {value}"));
        let example = read(&example);
        for (index, table) in tables.as_array().unwrap().iter().enumerate() {
            for (key, value) in table.as_object().unwrap() {
                // Members that the example leaves to a default are printed too.
                let written = &example[list][index].get(key);
                assert!(
                    written.is_none_or(|written| written == value),
                    "{list} {key}"
                );
                assert_ne!(
                    other[list][index][key], *value,
                    "{key} has another value here"
                );
            }
        }
    }
}

/// A key, a wrong value in TOML and in the environment, and the text that the error contains. The environment's value
/// is empty where that value is valid in the environment.
const WRONG: &[(&str, &str, &str, &str)] = &[
    ("colour", "\"red\"", "red", "colour"),
    ("log.colour", "\"red\"", "red", "colour"),
    ("tokens.lifetime", "\"1h\"", "1h", "lifetime"),
    ("listen", "\"here\"", "here", "listen"),
    ("listen", "8080", "8080", "listen"),
    ("store", "\"nowhere:\"", "nowhere:", "store"),
    ("store", "7", "7", "store"),
    (
        "require_durable_store",
        "\"often\"",
        "often",
        "require_durable_store",
    ),
    ("limits.connections", "0", "0", "connections"),
    (
        "limits.connections_per_address",
        "0",
        "0",
        "connections_per_address",
    ),
    (
        "limits.request_bytes",
        "\"63 MiB\"",
        "63 MiB",
        "limits.request_bytes",
    ),
    (
        "limits.answer_bytes",
        "\"31 MiB\"",
        "31 MiB",
        "limits.answer_bytes",
    ),
    ("limits.cached_tenants", "99", "99", "limits.cached_tenants"),
    (
        "limits.cached_clients",
        "999",
        "999",
        "limits.cached_clients",
    ),
    ("quotas.configuration", "\"much\"", "much", "configuration"),
    (
        "quotas.events_per_second",
        "0",
        "0",
        "quotas.events_per_second",
    ),
    (
        "quotas.deliveries_per_target",
        "0",
        "0",
        "deliveries_per_target",
    ),
    (
        "roles",
        "[]",
        "[]",
        "roles must name at least one of token, conditions",
    ),
    ("roles", "\"\"", "", "roles"),
    (
        "roles",
        "[\"Token\"]",
        "[Token]",
        "\"token\" is not a role: roles are token, conditions, rates, webhooks, workers, page",
    ),
    (
        "roles",
        "\"token,worker\"",
        "token,worker",
        "\"worker\" is not a role",
    ),
    ("max_stale", "\"long\"", "long", "max_stale"),
    ("max_stale_callers", "900", "900", "max_stale_callers"),
    ("audience", "\"\"", "", "audience"),
    (
        "public_url",
        "\"till.example\"",
        "till.example",
        "public_url",
    ),
    ("issuer", "\"/issuer\"", "/issuer", "issuer"),
    ("platform_tenant", "\"a b\"", "a b", "platform_tenant"),
    ("platform_tenant", "\"..\"", "..", "platform_tenant"),
    ("operator_file", "[\"a\"]", "", "operator_file"),
    (
        "trusted_proxies",
        "[\"10.0.0.0/33\"]",
        "[10.0.0.0/33]",
        "trusted_proxies",
    ),
    ("trusted_proxies", "\"::1/128\"", "", "trusted_proxies"),
    ("cors.origins", "\"https://a.example\"", "", "origins"),
    (
        "cors.origins",
        "[\"*\", \"https://a.example\"]",
        "[*,https://a.example]",
        "cors.origins must be \"*\" alone",
    ),
    (
        "cors.origins",
        "[\"https://a.example/\"]",
        "[\"https://a.example/\"]",
        "https://a.example/ is not",
    ),
    (
        "cors.origins",
        "[\"https://A.example\"]",
        "[\"https://A.example\"]",
        "https://A.example is not",
    ),
    (
        "cors.origins",
        "[\"https://a.example:443\"]",
        "[\"https://a.example:443\"]",
        "https://a.example:443 is not",
    ),
    (
        "cors.origins",
        "[\"https://*.a.example\"]",
        "[\"https://*.a.example\"]",
        "https://*.a.example is not",
    ),
    ("cors.origins", "[\"null\"]", "[null]", "cors.origins"),
    (
        "cors.origins",
        "[\"tauri://localhost/\"]",
        "[\"tauri://localhost/\"]",
        "tauri://localhost/ is not",
    ),
    (
        "cors.origins",
        "[\"app://*\"]",
        "[\"app://*\"]",
        "app://* is not",
    ),
    (
        "cors.origins",
        "[\"file://\"]",
        "[\"file://\"]",
        "file:// is not",
    ),
    (
        "cors.headers",
        "[\"X-A, X-B\"]",
        "[\"X-A, X-B\"]",
        "cors.headers must be names of headers",
    ),
    ("tls.cert", "\"cert.pem\"", "cert.pem", "tls.key"),
    ("tls.key", "\"key.pem\"", "key.pem", "tls.cert"),
    ("log.level", "1", "", "level"),
    ("log.format", "\"xml\"", "xml", "log.format"),
    (
        "tokens.registrations_per_minute",
        "-1",
        "-1",
        "registrations_per_minute",
    ),
    (
        "tokens.pending_clients",
        "\"many\"",
        "many",
        "pending_clients",
    ),
    (
        "tokens.pending_clients",
        "4294967296",
        "4294967296",
        "pending_clients",
    ),
    (
        "tokens.pending_lifetime",
        "\"soon\"",
        "soon",
        "pending_lifetime",
    ),
    ("tokens.pending_lifetime", "7", "7", "pending_lifetime"),
    ("tokens.secret_overlap", "\"-1h\"", "-1h", "secret_overlap"),
    (
        "tokens.secret_overlap",
        "3600.5",
        "3600.5",
        "secret_overlap",
    ),
    ("tokens.secret_overlap", "true", "true", "secret_overlap"),
    (
        "conditions.history_retention",
        "\"0s\"",
        "0s",
        "conditions.history_retention",
    ),
    ("rates.retention", "\"7d\"", "7d", "retention"),
    ("rates.message_retention", "7", "7", "message_retention"),
    (
        "rates.message_retention",
        "\"0s\"",
        "0s",
        "message_retention",
    ),
    ("rates.max_messages", "0", "0", "rates.max_messages"),
    ("rates.max_messages", "1.5", "1.5", "max_messages"),
    (
        "rates.history_retention",
        "\"0d\"",
        "0d",
        "history_retention",
    ),
    (
        "rates.history_retention",
        "\"ever\"",
        "ever",
        "history_retention",
    ),
    (
        "rates.tolerance_percent",
        "100",
        "100",
        "rates.tolerance_percent",
    ),
    ("rates.tolerance_percent", "-1", "-1", "tolerance_percent"),
    ("rates.tolerance_percent", "7.5", "7.5", "tolerance_percent"),
    (
        "webhooks.signature_headers",
        "[\"X-Old\", \"Webhook-Signature\"]",
        "[\"X-Old\", \"Webhook-Signature\"]",
        "signature_headers must not name webhook-id, webhook-timestamp or webhook-signature",
    ),
    ("webhooks.issuer", "\"\"", "", "webhooks.issuer"),
    (
        "webhooks.issuer",
        "\"id.shop.example\"",
        "id.shop.example",
        "webhooks.issuer",
    ),
    (
        "webhooks.service_account_email",
        "\"sender\"",
        "sender",
        "webhooks.service_account_email",
    ),
];

#[test]
fn a_wrong_value_is_refused_by_the_name_of_its_key() {
    for (key, toml, value, named) in WRONG {
        let by_file = print_config(Some(&format!("{key} = {toml}")), &[]);
        let by_environment = print_config(None, &[(variable(key), value)]);
        let by_environment = (!value.is_empty()).then_some((by_environment, "environment"));
        for (output, from) in [(by_file, "file")].into_iter().chain(by_environment) {
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{key} = {toml}, {from}");
            assert_eq!(output.stdout, b"", "{key} = {toml}, {from}");
            // A variable is named in the spelling of the environment.
            let told = told.to_lowercase();
            let named = named.to_lowercase();
            assert!(told.contains(&named), "{key} = {toml}, {from}: {told}");
        }
    }
}

/// Asserts that a list with one text replaced by another is refused, and that the error names the key.
fn assert_refused(list: &str, value: &str, (right, wrong, named): (&str, &str, &str)) {
    assert!(value.contains(right), "{right}");
    let value = value.replacen(right, wrong, 1);
    let by_file = print_config(Some(&format!("{list} = {value}")), &[]);
    let by_environment = print_config(None, &[(variable(list), &value)]);
    for output in [by_file, by_environment] {
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{wrong}");
        assert!(told.to_lowercase().contains(named), "{wrong}: {told}");
    }
}

#[test]
fn a_wrong_trusted_issuer_is_refused_by_the_name_of_its_key() {
    let rows = [
        (
            "issuer = \"https://idp.example\"",
            "issuer = \"\"",
            "issuer",
        ),
        ("issuer = \"https://idp.example\", ", "", "issuer"),
        (
            "jwks = \"file:idp.json\"",
            "jwks = \"http://idp.example\"",
            "jwks",
        ),
        (
            "audiences = [\"shop\", \"till\"]",
            "audiences = []",
            "audiences",
        ),
        (
            "audiences = [\"shop\", \"till\"]",
            "audiences = \"shop\"",
            "audiences",
        ),
        (
            "tenant_claim = \"/realm/tenant\"",
            "tenant_claim = \"\"",
            "tenant_claim",
        ),
        ("tenant_claim", "tenants_claim", "tenants_claim"),
        ("groups_claim = \"teams\", ", "", "groups_claim"),
        (
            "groups = { \"shop-editors\" = [\"ecs.viewer\"] }, ",
            "",
            "groups",
        ),
        ("[\"ecs.viewer\"]", "\"ecs.viewer\"", "groups"),
        ("tenants = [\"shop-9\"]", "tenants = 9", "tenants"),
    ];
    for row in rows {
        assert_refused("trusted_issuers", ISSUERS, row);
    }
}

#[test]
fn a_wrong_sign_in_is_refused_with_a_sentence() {
    let (issuer, page) = ("issuer = \"https://idp.example\"", "\"page\"");
    let refused = |issuers: &str, sign_in: &str| {
        let file = format!("trusted_issuers = {issuers}\npage.sign_in = {sign_in}");
        let output = print_config(Some(&file), &[]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        String::from_utf8(output.stderr).unwrap()
    };
    let rows = [
        (
            issuer,
            "issuer = \"https://other.example\"",
            "page.sign_in.issuer must be the issuer of one of trusted_issuers",
        ),
        (
            issuer,
            "issuer = \"\"",
            "page.sign_in.issuer must be set where client_id is",
        ),
        (page, "\"\"", "page.sign_in.client_id must be the id"),
        ("\"openid\", ", "", "page.sign_in.scopes must name openid"),
        (
            "\"shop\"",
            "\"a b\"",
            "page.sign_in.scopes must be texts without spaces",
        ),
        (
            "\"till\"",
            "\"tills\"",
            "page.sign_in.resource must be one of the audiences that trusted_issuers has for the issuer: shop, till",
        ),
        (
            "token.idp.example\"",
            "token.idp.example/\"",
            "page.sign_in.connect must name origins",
        ),
        (
            "https://token.idp",
            "http://token.idp",
            "page.sign_in.connect must name origins",
        ),
        (
            "token.idp.example\"",
            "a;script-src *\"",
            "page.sign_in.connect must name origins",
        ),
        ("client_id", "client", "client"),
    ];
    for (right, wrong, sentence) in rows {
        assert!(SIGN_IN.contains(right), "{right}");
        let told = refused(ISSUERS, &SIGN_IN.replacen(right, wrong, 1));
        assert!(told.contains(sentence), "{wrong}: {told}");
    }
    for unsafe_issuer in [
        "http://idp.example",
        "idp",
        "https://a;b",
        "https://user@idp.example",
    ] {
        let given = |text: &str| text.replace("https://idp.example", unsafe_issuer);
        let told = refused(&given(ISSUERS), &given(SIGN_IN));
        let sentence = "page.sign_in.issuer must be an https URL, or an http URL of this machine";
        assert!(told.contains(sentence), "{unsafe_issuer}: {told}");
    }
    assert!(refused("[]", SIGN_IN).contains("one of trusted_issuers"));
}

#[test]
fn wrong_reference_rates_are_refused_by_the_name_of_their_key() {
    let url = "url = \"http://127.0.0.1:8000/daily.csv\", ";
    let neither_or_both = "reference_rates[0].url or file must be set, and not both";
    let rows = [
        ("tenant = \"shop-9\"", "tenant = \"_\"", "tenant"),
        ("tenant = \"shop-9\", ", "", "tenant"),
        ("\"eu:1\"", "\"eu/1\"", "[0].business_unit must be 1 to 128"),
        ("\"eu:1\"", "\"\"", "business_unit"),
        ("[\"INTERCOMPANY\"]", "[]", "exchange_rate_types"),
        (
            "[\"INTERCOMPANY\"]",
            "[\"sales\"]",
            "must be sales, purchase or intercompany",
        ),
        ("[\"INTERCOMPANY\"]", "[\"RENTAL\"]", "exchange_rate_types"),
        (
            "\"PURCHASE\"",
            "\"SALES\"",
            "[1].exchange_rate_types must name each type once",
        ),
        (url, "", neither_or_both),
        (
            url,
            "url = \"https://ecb.example/\", file = \"a\", ",
            neither_or_both,
        ),
        (
            "http://127.0.0.1:8000/daily.csv",
            "http://ecb.example/daily.csv",
            "[0].url must be an https url",
        ),
        (
            "http://127.0.0.1:8000/daily.csv",
            "daily.csv",
            "[0].url must be",
        ),
        (
            "file = \"daily.csv\"",
            "file = \"\"",
            "[1].file must not be empty",
        ),
        (
            "23:59",
            "24:00",
            "must be a time of the day in utc such as \"15:30\"",
        ),
        ("23:59", "9:30", "\"15:30\""),
        ("23:59", "23:59:30", "\"15:30\""),
        ("\"23:59\"", "2359", "at"),
        (", at = \"23:59\"", "", "at"),
        ("crosses = false", "crosses = \"no\"", "crosses"),
        ("crosses = false", "cross = false", "cross"),
    ];
    for row in rows {
        assert_refused("reference_rates", REFERENCE_RATES, row);
    }
    let twice = REFERENCE_RATES
        .replace("eu:2", "eu:1")
        .replace("INTERCOMPANY", "PURCHASE");
    let told = "reference_rates[1].exchange_rate_types must not have purchase";
    assert_refused("reference_rates", &twice, ("eu:1", "eu:1", told));
}
