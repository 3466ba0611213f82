//! Faults of settings. A fault calls a setting by the name that it has where it was set, and says what to do.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use figment::Figment;
use figment::error::Kind;
use figment::providers::{Format, Toml};
use figment::value::Value;
use strsim::normalized_damerau_levenshtein;

use super::sources::{DEFAULTS, Origin};
use crate::egress::with_urls_shown;

/// The least likeness at which one name may be meant for another.
const ALIKE: f64 = 0.6;

/// A fault of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The description of the fault.
    pub what: String,
    /// The remedy, unless it is simply to correct the setting.
    pub remedy: Option<String>,
}

impl Fault {
    pub(super) fn new(what: String) -> Self {
        Self { what, remedy: None }
    }

    /// Describes a value that does not fit the settings.
    pub(super) fn of(error: &figment::Error, sources: &Figment) -> Self {
        let path = &error.path;
        let origin = Origin::of(path, sources);
        let place = origin.place(path);
        match &error.kind {
            Kind::UnknownField(_, known) => Self {
                what: format!("{place} is not a setting"),
                remedy: Some(match nearest(path, known) {
                    Some(nearest) => format!("is {} meant?", origin.name(&nearest)),
                    None => {
                        "remove it: tillgate serve --print-config prints all settings".to_owned()
                    }
                }),
            },
            Kind::MissingField(field) => Self::new(format!("{place} lacks {field}")),
            kind => Self::new(match must_be(kind) {
                Some(expected) => format!("{place} must be {expected}"),
                None => format!("{place}: {}", with_urls_shown(&kind.to_string())),
            }),
        }
    }

    /// Describes why a file is not TOML. Its lines may contain secrets, and are left out.
    pub(super) fn of_file(file: Option<&Path>, error: &figment::Error) -> Self {
        let file = file.unwrap_or(Path::new("-")).display();
        Self::new(format!(
            "{file} is not TOML: {}",
            without_text(&error.to_string())
        ))
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.remedy {
            Some(remedy) => write!(f, ": {remedy}"),
            None => Ok(()),
        }
    }
}

/// Says what a setting of the wrong type must be, in plain words instead of type names.
fn must_be(kind: &Kind) -> Option<&str> {
    let expected = match kind {
        Kind::InvalidType(_, expected)
        | Kind::InvalidValue(_, expected)
        | Kind::Message(expected) => expected.as_str(),
        _ => return None,
    };
    Some(match expected {
        "a boolean" => "true or false",
        "u8" => "a whole number from 0 to 255",
        "u32" => "a whole number from 0 to 4294967295",
        "a nonzero u32" => "a whole number from 1 to 4294967295",
        "u64" | "usize" => "a whole number that is not negative",
        "a string" | "path string" => "a text, in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        "a date string" => "a date such as \"2027-06-30\"",
        "socket address" | "invalid socket address syntax" => "an address such as 127.0.0.1:8080",
        "IPv4 or IPv6 network address" | "invalid IP address syntax" => {
            "a network such as 10.0.0.0/8"
        }
        // These are the errors of sizes.
        "an integer or string" | "parsable string" | "integer overflow" => {
            "a size such as \"64 MiB\""
        }
        text if text.starts_with("struct ") => "a table",
        other if !matches!(kind, Kind::Message(_)) => other,
        _ => return None,
    })
}

/// Returns the setting that an unknown one may be meant for: a neighbor with a similar name, or a setting with the
/// same name in another table.
fn nearest(path: &[String], known: &[&str]) -> Option<Vec<String>> {
    let (name, table) = path.split_last()?;
    let beside = known
        .iter()
        .map(|known| [table, &[(*known).to_owned()]].concat());
    let elsewhere = all_settings().into_iter().filter(|other| {
        other.last() == Some(name) || other.join("_") == path.join("_").replace('-', "_")
    });
    let likeness = |other: &Vec<String>| {
        let last = other.last().map_or("", String::as_str);
        normalized_damerau_levenshtein(last, name)
    };
    let nearest = beside.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest
        .filter(|nearest| likeness(nearest) >= ALIKE)
        .or_else(|| elsewhere.into_iter().next())
}

/// Returns the path of every setting that has a default.
fn all_settings() -> Vec<Vec<String>> {
    fn add(path: &[String], value: &Value, all: &mut Vec<Vec<String>>) {
        let Value::Dict(_, members) = value else {
            return all.push(path.to_vec());
        };
        for (name, value) in members {
            add(&[path, std::slice::from_ref(name)].concat(), value, all);
        }
    }
    let mut all = Vec::new();
    if let Ok(tree) = Figment::from(Toml::string(DEFAULTS)).extract::<Value>() {
        add(&[], &tree, &mut all);
    }
    all
}

/// Returns the TOML parser's message without the file's name and the quoted line, which may contain a secret.
fn without_text(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let lines =
        lines.filter(|line| !line.is_empty() && !line.contains('|') && !line.starts_with("in "));
    let lines: Vec<&str> = lines
        .map(|line| line.trim_start_matches("TOML parse error "))
        .collect();
    lines.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{all_settings, nearest};

    fn path(name: &str) -> Vec<String> {
        name.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn the_nearest_setting_is_a_neighbour_or_of_the_same_name_elsewhere() {
        let webhooks = ["retry_delays", "deadline", "max_in_flight"];
        let top = ["listen", "store", "log"];
        for (name, known, expected) in [
            (
                "webhooks.retry_delay",
                &webhooks[..],
                "webhooks.retry_delays",
            ),
            ("webhooks.dead_line", &webhooks, "webhooks.deadline"),
            ("listne", &top, "listen"),
            ("secret_overlap", &top, "tokens.secret_overlap"),
            ("log_level", &top, "log.level"),
            ("webhooks.connections", &webhooks, "limits.connections"),
        ] {
            assert_eq!(nearest(&path(name), known), Some(path(expected)), "{name}");
        }
        for name in ["colour", "webhooks.x"] {
            assert_eq!(nearest(&path(name), &webhooks), None, "{name}");
        }
        assert!(all_settings().contains(&path("page.sign_in.issuer")));
    }
}
