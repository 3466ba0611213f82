//! Reading the settings, and what is wrong with them: all of it at once and with what to do. What is not understood is left out,
//! so that the rest can be looked at all the same. A host does not start with a fault; `tillgate doctor` looks at what is left.

use std::path::Path;

use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use figment::value::Value;

use super::fault::Fault;
use super::sources::{DEFAULTS, Flags, sources};
use super::{Config, Loaded, store_url};

/// How many faults are named.
const MAX_FAULTS: usize = 100;

/// Settings, as far as they are understood.
#[derive(Debug)]
pub struct Examined {
    /// The settings, those that are not understood left out. `None` when nothing is understood.
    pub loaded: Option<Loaded>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

impl Loaded {
    /// Reads the defaults, a file, the environment and flags, each over the one before.
    ///
    /// # Errors
    /// What is wrong with which setting from where: all faults, a line each.
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

    /// Reads the same settings, and goes on where something is wrong.
    #[must_use]
    pub fn examine(file: Option<&Path>, flags: &Flags) -> Examined {
        let mut faults = Vec::new();
        let read = read(file, flags).or_else(|fault| {
            faults.push(Fault {
                remedy: Some("what follows rests on the settings without it".to_owned()),
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

/// What is set, and where.
fn read(file: Option<&Path>, flags: &Flags) -> Result<(Figment, Value), Fault> {
    let given = sources(file, flags).map_err(Fault::new)?;
    let tree = given.extract();
    let tree = tree.map_err(|error| Fault::of_file(file, &error))?;
    Ok((given, tree))
}

/// The settings that were given, with the faults before and those of each.
fn examined((sources, tree): (Figment, Value), mut faults: Vec<Fault>) -> Examined {
    let config = settings(&sources, tree, &mut faults);
    let loaded = config.map(|mut config| {
        faults.extend(check(&mut config));
        Loaded { config, sources }
    });
    Examined { loaded, faults }
}

/// The settings without those that are not understood, which become faults.
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

/// What is wrong with settings that are understood.
fn check(config: &mut Config) -> Vec<Fault> {
    match store_url(&config.store) {
        Ok(url) => config.store = url,
        Err(what) => return vec![Fault::new(what)],
    }
    config.faults().into_iter().map(Fault::new).collect()
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
