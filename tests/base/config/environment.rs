//! Variables of the environment: the meaning of a text does not depend on its form, and all faults are reported at
//! once, in plain words.

use serde_json::{Value, json};

use super::{ISSUERS, SETTINGS, file, print_config, printed, read, variable};
use crate::support::host::Program;
use crate::support::wait::output;

/// Settings that take any text.
const TEXTS: [&str; 10] = [
    "audience",
    "snapshot",
    "operator_file",
    "decisions.log",
    "tls.cert",
    "tls.key",
    "log.level",
    "webhooks.user_agent",
    "webhooks.source",
    "webhooks.service_account_id",
];

/// Variables that Kubernetes creates for Services named `tillgate` and `tillgate-tokens`.
const OF_SERVICES: [(&str, &str); 9] = [
    ("TILLGATE_SERVICE_HOST", "10.0.0.1"),
    ("TILLGATE_SERVICE_PORT", "8080"),
    ("TILLGATE_SERVICE_PORT_HTTP", "8080"),
    ("TILLGATE_PORT", "tcp://10.0.0.1:8080"),
    ("TILLGATE_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
    ("TILLGATE_PORT_8080_TCP_PROTO", "tcp"),
    ("TILLGATE_PORT_8080_TCP_PORT", "8080"),
    ("TILLGATE_PORT_8080_TCP_ADDR", "10.0.0.1"),
    ("TILLGATE_TOKENS_SERVICE_HOST", "10.0.0.2"),
];

/// Returns the default of a setting.
fn default(key: &str) -> Value {
    let defaults = read("");
    let value = defaults.pointer(&format!("/{}", key.replace('.', "/")));
    value.unwrap().clone()
}

/// Returns the lines that a refused start prints.
fn refused(file: Option<&str>, variables: &[(String, &str)]) -> Vec<String> {
    let output = print_config(file, variables);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    told.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_text_is_taken_as_it_stands() {
    for text in [
        "0042", "-7", "1e3", "1.50", "true", "null", "[a]", "{a}", "\"a\"", "'a'", "a, b",
    ] {
        let variables = TEXTS.map(|key| (variable(key), text));
        let printed = printed(&print_config(None, &variables));
        for key in TEXTS {
            assert_eq!(printed[key], (json!(text), variable(key)));
        }
    }
    for text in ["0042", "1e3", "1.50", "true"] {
        let tenant = [(variable("platform_tenant"), text)];
        let printed = printed(&print_config(None, &tenant));
        assert_eq!(printed["platform_tenant"].0, text);
    }
}

#[test]
fn an_empty_variable_is_as_good_as_none_for_every_setting() {
    let defaults = printed(&print_config(None, &[]));
    let set = printed(&print_config(Some(&file()), &[]));
    for empty in ["", " "] {
        let variables = SETTINGS.iter().map(|(key, ..)| (variable(key), empty));
        let variables: Vec<_> = variables.collect();
        assert_eq!(printed(&print_config(None, &variables)), defaults);
        let over = printed(&print_config(Some(&file()), &variables));
        for (key, (value, source)) in over {
            assert_eq!(value, set[&key].0);
            assert!(source.ends_with("/tillgate.toml"), "{key}: {source}");
        }
    }
}

#[test]
fn an_empty_variable_of_a_command_is_as_good_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["CREDENTIALS", "CA_CERT", "COPY_FROM", "COPY_TO", "STORE"];
    let names = names.map(|name| format!("TILLGATE_{name}"));
    for arguments in [&["keys", "list"] as &[&str], &["copy"], &["backup", "a.db"]] {
        let run = |variables: &[String]| {
            let mut command = Program::command();
            command.env_clear().current_dir(&folder).args(arguments);
            output(command.envs(variables.iter().map(|name| (name, ""))))
        };
        let (without, with) = (run(&[]), run(&names));
        assert!(!without.status.success());
        assert_eq!(with, without, "{arguments:?}");
    }
}

#[test]
fn a_list_may_be_written_bare() {
    let (mut lists, mut expected) = (Vec::new(), Vec::new());
    for (key, toml, _) in SETTINGS {
        let value = &read(&format!("{key} = {toml}"));
        let value = value.pointer(&format!("/{}", key.replace('.', "/")));
        let items = value.unwrap().as_array().into_iter().flatten();
        let items: Vec<&str> = items.filter_map(Value::as_str).collect();
        if !items.is_empty() {
            lists.push((variable(key), items.join(", ")));
            expected.push((*key, value.unwrap().clone()));
        }
    }
    assert!(lists.len() > 5);
    // A list of one table.
    let table = &ISSUERS[1..ISSUERS.len() - 1];
    lists.push((variable("trusted_issuers"), table.to_owned()));
    let value = read(&format!("value = {ISSUERS}"))["value"].clone();
    expected.push(("trusted_issuers", value));
    let variables = lists.iter().map(|(name, text)| (name.clone(), &**text));
    let printed = printed(&print_config(None, &variables.collect::<Vec<_>>()));
    for (key, value) in expected {
        assert_eq!(printed[key].0, value, "{key}");
    }
    let one = [(variable("trusted_proxies"), "::1/128")];
    let printed = self::printed(&print_config(None, &one));
    assert_eq!(printed["trusted_proxies"].0, json!(["::1/128"]));
}

#[test]
fn kubernetes_service_variables_are_ignored() {
    let variables = OF_SERVICES.map(|(name, text)| (name.to_owned(), text));
    let defaults = printed(&print_config(None, &[]));
    assert_eq!(printed(&print_config(None, &variables)), defaults);
    // Variables that a person meant are not ignored.
    for (name, text) in [
        ("TILLGATE_PORT", "8080"),
        ("TILLGATE_TOKENS__SERVICE_HOST", "10.0.0.1"),
    ] {
        let told = refused(None, &[(name.to_owned(), text)]);
        let place = format!("tillgate: {name} in the environment is not a setting: ");
        assert!(told[0].starts_with(&place), "{told:?}");
    }
}

/// Asserts that each of these settings has a line and that no line contains Rust terms.
fn assert_told(told: &[String], keys: &[String]) {
    let count = keys.len();
    assert_eq!(
        told[0],
        format!("tillgate: the settings have {count} faults:")
    );
    assert_eq!(told.len(), count + 1, "{told:#?}");
    for key in keys {
        assert!(
            told.iter().any(|line| line.starts_with(key)),
            "{key}: {told:#?}"
        );
    }
    let strange = [
        "u8", "u32", "u64", "usize", "nonzero", "struct", "sequence", "string", "parsable",
        "boolean", "integer", "unsigned", "untagged", "invalid", "type",
    ];
    for line in told {
        let mut words = line.split(|c: char| !c.is_alphanumeric());
        let word = words.find(|word| strange.contains(word));
        assert_eq!(word, None, "{line}");
    }
}

#[test]
fn all_faults_are_reported_at_once_in_plain_words() {
    let keys: Vec<String> = SETTINGS.iter().map(|(key, ..)| (*key).to_owned()).collect();
    let lines: Vec<String> = keys.iter().map(|key| format!("{key} = [7]\n")).collect();
    assert_told(&refused(Some(&lines.concat()), &[]), &keys);

    // Any text is a valid header, or a possible origin.
    let any = ["webhooks.signature_headers", "cors.origins", "cors.headers"];
    let wrong = SETTINGS.iter().map(|(key, ..)| *key);
    let wrong = wrong.filter(|key| !default(key).is_string() && !any.contains(key));
    let names: Vec<String> = wrong.map(variable).collect();
    let variables: Vec<_> = names.iter().map(|name| (name.clone(), "many")).collect();
    assert_told(&refused(None, &variables), &names);

    let several =
        "audience = \"\"\npublic_url = \"a\"\n[log]\nformat = \"xml\"\n[rates]\nmax_messages = 0\n";
    assert_eq!(
        refused(Some(several), &[]),
        [
            "tillgate: the settings have 4 faults:",
            "audience must not be empty",
            "public_url must be a URL such as https://tillgate.example",
            "log.format must be text or json",
            "rates.max_messages must be at least 1",
        ]
    );
}
