//! The places that `export` names for the secrets of webhooks: those that their files name already, and for others variables
//! of the environment, each for one secret of one webhook.

use std::collections::{BTreeMap, BTreeSet};

use super::earlier::EarlierFile;
use super::existing::Present;
use super::file_name::digest;
use super::secrets::{Place, SharedKey, insert};

/// The longest part of a variable that is made of the name of a webhook.
const MAX: usize = 100;

/// The variables that are named for webhooks.
pub(super) struct Variables<'e> {
    /// How many webhooks have names that would be spelled so.
    counts: BTreeMap<String, usize>,
    /// Those that stand in files, and stay there.
    taken: BTreeSet<&'e str>,
}

impl<'e> Variables<'e> {
    /// Those for these webhooks, some of which have files.
    pub(super) fn new(
        webhooks: &BTreeMap<String, Present>,
        files: &'e BTreeMap<String, EarlierFile>,
    ) -> Self {
        let mut counts = BTreeMap::new();
        for name in webhooks.keys() {
            *counts.entry(spelled(name)).or_default() += 1;
        }
        let stay = files
            .iter()
            .filter(|(name, _)| webhooks.contains_key(*name));
        let places = stay.flat_map(|(_, file)| {
            let secrets = &file.secrets;
            [secrets.password.as_ref(), secrets.shared_key.place()]
        });
        let variable = |place: &'e Place| match place {
            Place::Variable(name) => Some(name.as_str()),
            Place::File(_) => None,
        };
        let taken = places.flatten().filter_map(variable).collect();
        Self { counts, taken }
    }

    /// The variable for a secret of a webhook.
    fn place(&self, webhook: &str, secret: &str) -> Place {
        let mut name = spelled(webhook);
        let is_shared = self.counts.get(&name).is_some_and(|count| *count > 1);
        let is_taken = self.taken.contains(variable(&name, secret).as_str());
        if is_shared || is_taken || name.len() > MAX {
            name.truncate(MAX);
            name = format!("{name}_{}", digest(webhook).to_ascii_uppercase());
        }
        Place::Variable(variable(&name, secret))
    }

    /// Adds to a webhook's JSON the places of its secrets: with a file that is there, as that has them.
    pub(super) fn add_places(
        &self,
        webhook: &Present,
        file: Option<&EarlierFile>,
        json: &mut Vec<u8>,
    ) {
        let place = |secret: &str| self.place(&webhook.document.id, secret).to_json();
        let password = match file {
            Some(file) if file.secrets.is_basic => {
                file.secrets.password.as_ref().map(Place::to_json)
            }
            _ => Some(place("PASSWORD")),
        };
        let shared_key = file.map(|file| &file.secrets.shared_key);
        let shared_key = match (shared_key, webhook.has_shared_key) {
            (Some(SharedKey::At(at)), true) => Some(at.to_json()),
            (Some(SharedKey::None), false) => Some(b"null".to_vec()),
            (Some(SharedKey::Kept), _) | (_, false) => None,
            (Some(SharedKey::None) | None, true) => Some(place("SHARED_KEY")),
        };
        insert(json, password, shared_key);
    }
}

/// A name as a part of a variable's.
fn spelled(name: &str) -> String {
    let spelled = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    name.chars().map(spelled).collect()
}

fn variable(name: &str, secret: &str) -> String {
    format!("WEBHOOK_{name}_{secret}")
}
