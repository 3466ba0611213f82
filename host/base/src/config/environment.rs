//! Settings from the environment: variables whose names begin with `TILLGATE_` and have two underscores in place of
//! each dot of a setting's name.
//!
//! The type of a setting in the manual (`default.toml`) decides how its variable is parsed, not the look of the text:
//! the tenant `0042` keeps its zeros. An empty variable counts as unset. Variables that Kubernetes derives from a
//! Service are ignored.

use std::collections::BTreeMap;

use figment::providers::Env;
use figment::value::{Dict, Map, Value};
use figment::{Error, Figment, Metadata, Profile, Provider};

/// The prefix of environment variables that are settings, and the text in place of each dot of a setting's name.
pub(super) const PREFIX: &str = "TILLGATE_";
pub(super) const STEP: &str = "__";

/// Environment variables that are not settings: the commands that send requests to a running host use the first two,
/// `tillgate copy` the others.
const NO_SETTINGS: [&str; 4] = ["credentials", "ca_cert", "copy_from", "copy_to"];

/// The environment variables that are settings.
pub(super) struct Environment {
    variables: Env,
    settings: Dict,
}

impl Environment {
    /// Reads the variables, each with the type that its setting has in the manual.
    pub(super) fn read(manual: &Figment) -> Self {
        let variables = Env::prefixed(PREFIX).ignore(&NO_SETTINGS).split(STEP);
        let texts = variables.iter();
        // Sorted, so that a table comes before its members.
        let texts: BTreeMap<String, String> = texts
            .map(|(name, text)| (name.to_string(), text.trim().to_owned()))
            .collect();
        let mut settings = Dict::new();
        for (name, text) in texts {
            if !text.is_empty() && !is_of_service(&name, &text) {
                let default = manual.find_value(&name).ok();
                put(&mut settings, &name, value(&text, default.as_ref()));
            }
        }
        Self {
            variables,
            settings,
        }
    }
}

impl Provider for Environment {
    fn metadata(&self) -> Metadata {
        self.variables.metadata()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Map::from([(Profile::Default, self.settings.clone())]))
    }
}

/// Converts a variable to the type of its setting's default. A string stays as it is; a list is written as in TOML, or
/// as strings separated by commas.
fn value(text: &str, default: Option<&Value>) -> Value {
    match default {
        Some(Value::String(..)) => text.into(),
        Some(Value::Array(..)) if text.starts_with('{') => vec![parsed(text)].into(),
        Some(Value::Array(..)) if !text.starts_with('[') => {
            let items: Vec<&str> = text.split(',').map(str::trim).collect();
            items.into()
        }
        _ => parsed(text),
    }
}

fn parsed(text: &str) -> Value {
    let Ok(value) = text.parse();
    value
}

/// Inserts a value at its dotted name. A value that stands in place of a table stays, and is refused later.
fn put(table: &mut Dict, name: &str, value: Value) {
    let Some((first, rest)) = name.split_once('.') else {
        table.insert(name.to_owned(), value);
        return;
    };
    let inner = table.entry(first.to_owned());
    if let Value::Dict(_, inner) = inner.or_insert_with(|| Dict::new().into()) {
        put(inner, rest, value);
    }
}

/// Returns whether Kubernetes derives such a variable from a Service, such as one named `tillgate` or
/// `tillgate-tokens`. A port that is not a URL was set by a person, and is a mistake.
fn is_of_service(name: &str, text: &str) -> bool {
    let parts: Vec<&str> = name.split('_').collect();
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_protocol = |part: &str| matches!(part, "tcp" | "udp" | "sctp");
    match parts.as_slice() {
        _ if name.contains('.') => false,
        [.., "service", "host"] => true,
        [.., "port", port, protocol] | [.., "port", port, protocol, "proto" | "port" | "addr"]
            if is_number(port) && is_protocol(protocol) =>
        {
            true
        }
        [.., "port"]
            if text
                .split_once("://")
                .is_some_and(|(it, _)| is_protocol(it)) =>
        {
            true
        }
        parts => parts.windows(2).any(|pair| pair == ["service", "port"]),
    }
}

#[cfg(test)]
mod tests {
    use super::is_of_service;

    #[test]
    fn variables_of_services_are_told_from_settings_and_mistakes() {
        for (name, text) in [
            ("service_host", "10.0.0.1"),
            ("service_port", "8080"),
            ("service_port_http", "8080"),
            ("port", "tcp://10.0.0.1:8080"),
            ("port_8080_tcp", "tcp://10.0.0.1:8080"),
            ("port_8080_tcp_proto", "tcp"),
            ("port_8080_tcp_port", "8080"),
            ("port_8080_tcp_addr", "10.0.0.1"),
            ("tokens_service_host", "10.0.0.1"),
            ("tokens_port", "udp://10.0.0.1:53"),
        ] {
            assert!(is_of_service(name, text), "{name}");
        }
        for (name, text) in [
            ("port", "8080"),
            ("listen", "tcp://10.0.0.1:8080"),
            ("port_http", "8080"),
            ("port_8080_http", "8080"),
            ("webhooks.service_account_id", "7"),
            ("tokens.service_host", "x"),
            ("service", "x"),
        ] {
            assert!(!is_of_service(name, text), "{name}");
        }
    }
}
