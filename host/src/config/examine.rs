//! What is wrong with the settings, all of it at once and with what to do, for `tillgate doctor`: a host that starts names the
//! first fault and ends. What is not understood is left out, so that the rest can be looked at all the same.

use std::path::Path;

use figment::Figment;
use figment::error::Kind;
use figment::providers::{Format, Serialized, Toml};
use figment::value::Value;
use strsim::normalized_damerau_levenshtein;

use super::loaded::{PREFIX, STEP};
use super::{Config, DEFAULTS, Flags, Loaded, store_url};
use crate::egress::with_urls_shown;

/// How many faults are named.
const MAX_FAULTS: usize = 100;

/// How alike two names are at least, of which one may be meant for the other.
const ALIKE: f64 = 0.6;

/// Settings, as far as they are understood.
#[derive(Debug)]
pub struct Examined {
    /// The settings, those that are not understood left out. `None` when nothing is understood.
    pub loaded: Option<Loaded>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What it is.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Loaded {
    /// Reads the same settings as [`Loaded::read`], and goes on where something is wrong.
    #[must_use]
    pub fn examine(file: Option<&Path>, flags: &Flags) -> Examined {
        let mut faults = Vec::new();
        let read = read(file, flags).or_else(|fault| {
            faults.push(fault);
            read(None, flags)
        });
        let loaded = match read {
            Ok((sources, tree)) => settings(&sources, tree, &mut faults).map(|mut config| {
                faults.extend(check(&mut config));
                Self { config, sources }
            }),
            Err(fault) => {
                faults.push(fault);
                None
            }
        };
        Examined { loaded, faults }
    }
}

/// What is set, and where.
fn read(file: Option<&Path>, flags: &Flags) -> Result<(Figment, Value), Fault> {
    let sources = Loaded::sources(file, flags).map_err(|what| Fault {
        what,
        remedy: "what follows rests on the settings without it".to_owned(),
    })?;
    match sources.extract() {
        Ok(tree) => Ok((sources, tree)),
        Err(cause) => {
            let file = file.unwrap_or(Path::new("-")).display();
            Err(Fault {
                what: format!("{file} is not TOML: {}", without_text(&cause.to_string())),
                remedy: "correct it; what follows rests on the settings without it".to_owned(),
            })
        }
    }
}

/// The settings without those that are not understood, which become faults.
fn settings(sources: &Figment, mut tree: Value, faults: &mut Vec<Fault>) -> Option<Config> {
    while faults.len() < MAX_FAULTS {
        let rest = Figment::from(Toml::string(DEFAULTS)).merge(Serialized::defaults(&tree));
        match rest.extract() {
            Ok(config) => return Some(config),
            Err(error) => {
                faults.push(describe(&error, sources));
                if !remove(&mut tree, &error.path) {
                    return None;
                }
            }
        }
    }
    None
}

/// What is wrong with settings that are understood.
fn check(config: &mut Config) -> Option<Fault> {
    let store = store_url(&config.store).map(|url| config.store = url);
    let what = store.and_then(|()| config.check()).err()?;
    Some(Fault {
        what,
        remedy: "correct the setting".to_owned(),
    })
}

fn describe(error: &figment::Error, sources: &Figment) -> Fault {
    let place = Place::of(&error.path, sources);
    let name = place.name(&error.path);
    let from = &place.from;
    match &error.kind {
        Kind::UnknownField(_, known) => Fault {
            what: format!("{name} in {from} is not a setting"),
            remedy: match nearest(&error.path, known) {
                Some(path) => format!("is {} meant?", place.name(&path)),
                None => "remove it: tillgate serve --print-config prints all settings".to_owned(),
            },
        },
        Kind::MissingField(field) => Fault {
            what: format!("{name} in {from} lacks {field}"),
            remedy: "add it".to_owned(),
        },
        kind => Fault {
            what: format!("{name} in {from}: {}", with_urls_shown(&kind.to_string())),
            remedy: "correct it".to_owned(),
        },
    }
}

/// Where a setting comes from.
struct Place {
    from: String,
    is_environment: bool,
}

impl Place {
    fn of(path: &[String], sources: &Figment) -> Self {
        // Metadata is found for tables and their settings, but not within lists.
        let within = path
            .iter()
            .take_while(|step| step.parse::<usize>().is_err());
        let within: Vec<&str> = within.map(String::as_str).collect();
        let metadata = sources.find_metadata(&within.join("."));
        let file = metadata.and_then(|metadata| metadata.source.as_ref()?.file_path());
        let is_environment = metadata.is_some_and(|metadata| metadata.name.contains(PREFIX));
        Self {
            from: match file {
                Some(file) => file.display().to_string(),
                None if is_environment => "the environment".to_owned(),
                None => "the arguments".to_owned(),
            },
            is_environment,
        }
    }

    /// A setting as it is named there.
    fn name(&self, path: &[String]) -> String {
        if self.is_environment {
            return format!("{PREFIX}{}", path.join(STEP).to_uppercase());
        }
        let mut name = String::new();
        for step in path {
            match step.parse::<usize>() {
                Ok(index) => name += &format!("[{index}]"),
                Err(_) if name.is_empty() => name.clone_from(step),
                Err(_) => name += &format!(".{step}"),
            }
        }
        name
    }
}

/// The setting that an unknown one may be meant for: one of its neighbours with a name like it, or one of the same name in
/// another table.
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

/// The path of every setting that has a default.
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

/// Removes what is at a path, and the whole list where that is an item of one. Answers whether there was something.
fn remove(tree: &mut Value, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return false;
    };
    match tree {
        Value::Dict(_, members) => {
            let is_here = match rest {
                [] => true,
                [index] => index.parse::<usize>().is_ok(),
                _ => false,
            };
            match is_here {
                true => members.remove(first).is_some(),
                false => members.get_mut(first).is_some_and(|it| remove(it, rest)),
            }
        }
        Value::Array(_, items) => {
            let index = first.parse::<usize>().ok();
            let item = index.and_then(|index| items.get_mut(index));
            item.is_some_and(|item| remove(item, rest))
        }
        _ => false,
    }
}

/// What a reader of TOML says is wrong, without the line of the file, which may have a secret.
fn without_text(message: &str) -> String {
    let lines = message.lines().filter(|line| !line.contains('|'));
    let lines: Vec<&str> = lines
        .map(str::trim)
        .filter(|line| !line.is_empty())
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
