//! Reads the settings, and finds everything that is wrong with them at once, with what to do. Settings that are not
//! understood are left out, so that the rest can still be checked. A host does not start with a fault, but
//! `tillgate doctor` continues with what is left.

use std::path::Path;

use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use figment::value::Value;

use super::fault::Fault;
use super::sources::{DEFAULTS, Flags, sources};
use super::{Config, Loaded, store_url};

/// The number of faults at which reading gives up.
const MAX_FAULTS: usize = 100;

/// The settings that were understood, and the faults of the others.
#[derive(Debug)]
pub struct Examined {
    /// The settings without those that are not understood; `None` when the rest cannot be used either.
    pub loaded: Option<Loaded>,
    /// The faults that were found.
    pub faults: Vec<Fault>,
}

impl Loaded {
    /// Reads the defaults, a file, the environment and flags; each overrides the one before.
    ///
    /// # Errors
    /// All faults, one per line: what is wrong with which setting, and where it was set.
    pub fn read(file: Option<&Path>, flags: &Flags) -> Result<Self, String> {
        let given = read(file, flags).map_err(|fault| fault.to_string())?;
        let Examined { loaded, faults } = examined(given, Vec::new());
        match (loaded, faults.as_slice()) {
            (Some(loaded), []) => Ok(loaded),
            (_, [fault]) => Err(fault.to_string()),
            (_, faults) => {
                let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
                let (count, lines) = (lines.len(), lines.join("\n  "));
                Err(format!("the settings have {count} faults:\n  {lines}"))
            }
        }
    }

    /// Reads the same settings as [`Loaded::read`], and continues past faults.
    #[must_use]
    pub fn examine(file: Option<&Path>, flags: &Flags) -> Examined {
        let mut faults = Vec::new();
        let read = read(file, flags).or_else(|fault| {
            faults.push(Fault {
                remedy: Some("all other checks use the settings without it".to_owned()),
                ..fault
            });
            read(None, flags)
        });
        match read {
            Ok(given) => examined(given, faults),
            Err(fault) => {
                faults.push(fault);
                Examined {
                    loaded: None,
                    faults,
                }
            }
        }
    }
}

/// Reads the settings as one tree, and keeps their sources.
fn read(file: Option<&Path>, flags: &Flags) -> Result<(Figment, Value), Fault> {
    let given = sources(file, flags).map_err(Fault::new)?;
    let tree = given.extract();
    let tree = tree.map_err(|error| Fault::of_file(file, &error))?;
    Ok((given, tree))
}

/// Parses and checks the settings, and adds their faults to the earlier ones.
fn examined((sources, tree): (Figment, Value), mut faults: Vec<Fault>) -> Examined {
    let config = settings(&sources, tree, &mut faults);
    let loaded = config.map(|mut config| {
        faults.extend(check(&mut config));
        Loaded { config, sources }
    });
    Examined { loaded, faults }
}

/// Parses the settings. Those that are not understood are left out, and become faults.
fn settings(sources: &Figment, mut tree: Value, faults: &mut Vec<Fault>) -> Option<Config> {
    while faults.len() < MAX_FAULTS {
        let rest = Figment::from(Toml::string(DEFAULTS)).merge(Serialized::defaults(&tree));
        match rest.extract() {
            Ok(config) => return Some(config),
            Err(error) => {
                faults.push(Fault::of(&error, sources));
                if !remove(&mut tree, &error.path) {
                    return None;
                }
            }
        }
    }
    None
}

/// Returns the faults of settings that are understood.
fn check(config: &mut Config) -> Vec<Fault> {
    match store_url(&config.store) {
        Ok(url) => config.store = url,
        Err(what) => return vec![Fault::new(what)],
    }
    config.faults().into_iter().map(Fault::new).collect()
}

/// Removes the value at a path, or the whole list if the value is an item of one. Returns whether there was a value.
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
            if is_here {
                members.remove(first).is_some()
            } else {
                members.get_mut(first).is_some_and(|it| remove(it, rest))
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
