//! What is wrong with the settings, all of it at once and with what to do, for `tillgate doctor`: a host that starts names the
//! first fault and ends. What is not understood is left out, so that the rest can be looked at all the same.

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
    /// Reads the same settings as [`Loaded::read`], and goes on where something is wrong.
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
    let given = sources(file, flags).map_err(Fault::new)?;
    let tree = given.extract();
    let tree = tree.map_err(|error| Fault::of_file(file, &error))?;
    Ok((given, tree))
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
fn check(config: &mut Config) -> Option<Fault> {
    let store = store_url(&config.store).map(|url| config.store = url);
    let what = store.and_then(|()| config.check()).err()?;
    Some(Fault::new(what))
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
