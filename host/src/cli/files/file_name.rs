//! The names of the files that `export` writes: made of what a resource is called, for people, on every file system.
//!
//! What a resource is called stands in its file, so a name need not tell it exactly. Letters, digits and `. _ -` stay,
//! anything else becomes `_`. Where names would be the same, case aside, each gets a digest of what its resource is called,
//! as does one that is long: so a name depends on nothing but what there is. A file that is there keeps its name.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The longest name without its end.
const MAX: usize = 100;

/// Names that Windows does not give to files.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "com", "lpt"];

/// The names of the files of resources that are called so, by that. One that has a file keeps its name.
///
/// # Errors
/// A sentence, when two would have the same name.
pub(super) fn file_names<'a>(
    ids: impl Iterator<Item = &'a String>,
    file_of: impl Fn(&str) -> Option<&'a str>,
) -> Result<BTreeMap<String, String>, String> {
    let (mut names, mut new) = (BTreeMap::new(), Vec::new());
    for id in ids {
        match file_of(id) {
            Some(name) => drop(names.insert(id.clone(), name.to_owned())),
            None => new.push((id, plain(id))),
        }
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let plain = new.iter().map(|(_, name)| format!("{name}.json"));
    for name in names.values().cloned().chain(plain) {
        *counts.entry(name.to_lowercase()).or_default() += 1;
    }
    for (id, mut name) in new {
        let folded = format!("{name}.json").to_lowercase();
        let is_shared = counts.get(&folded).is_some_and(|count| *count > 1);
        if is_shared || name.len() > MAX || is_device(&name) {
            name.truncate(MAX);
            name = format!("{name}~{}", digest(id));
        }
        names.insert(id.clone(), name + ".json");
    }
    let mut by_name = BTreeMap::new();
    for (id, name) in &names {
        if let Some(other) = by_name.insert(name.to_lowercase(), id) {
            return Err(format!("{other} and {id} would both be in {name}"));
        }
    }
    Ok(names)
}

/// A digest of what a resource is called: so many bits of SHA-256 that no two resources have the same.
pub(super) fn digest(id: &str) -> String {
    let digest = hex::encode(Sha256::digest(id));
    digest.chars().take(32).collect()
}

/// In ASCII, and not beginning with a dot.
fn plain(id: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name: String = id
        .chars()
        .map(|c| if is_kept(c) { c } else { '_' })
        .collect();
    match name.starts_with('.') {
        true => format!("_{name}"),
        false => name,
    }
}

fn is_device(name: &str) -> bool {
    let base = name.split('.').next().unwrap_or_default().to_lowercase();
    let base = base.trim_end_matches(|c: char| c.is_ascii_digit());
    DEVICES.contains(&base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ids: &[&str]) -> Vec<String> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let names = file_names(ids.iter(), |_| None).unwrap_or_default();
        ids.iter()
            .filter_map(|id| names.get(id.as_str()).cloned())
            .collect()
    }

    #[test]
    fn names_are_those_of_resources_where_every_file_system_has_them() {
        assert_eq!(
            names(&[
                "alcohol",
                "SE-003",
                "till/1.0",
                "Order updates: Malmö",
                ".a"
            ]),
            [
                "alcohol.json",
                "SE-003.json",
                "till_1.0.json",
                "Order_updates__Malm_.json",
                "_.a.json"
            ]
        );
    }

    #[test]
    fn names_that_would_be_the_same_differ_by_a_digest() {
        let names = names(&[
            "a:b",
            "a_b",
            "Beer",
            "beer",
            "con",
            "Com1.x",
            &"x".repeat(128),
        ]);
        let folded: std::collections::BTreeSet<_> =
            names.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(folded.len(), names.len(), "{names:?}");
        assert!(names.iter().all(|name| name.contains('~')), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= 138), "{names:?}");
    }

    #[test]
    fn a_file_that_is_there_keeps_its_name_and_no_other_is_given_that() {
        let ids = ["beer", "cider", "wine"].map(str::to_owned);
        let wine = format!("wine~{}.json", digest("wine"));
        let file_of = |id: &str| (id == "beer").then_some("Wine.json");
        let named = [
            ("beer", "Wine.json"),
            ("cider", "cider.json"),
            ("wine", &wine),
        ];
        let named = named.map(|(id, name)| (id.to_owned(), name.to_owned()));
        assert_eq!(file_names(ids.iter(), file_of), Ok(BTreeMap::from(named)));
        let file_of = |id: &str| match id {
            "beer" => Some("wine.json"),
            "cider" => Some(wine.as_str()),
            _ => None,
        };
        let refused = format!("cider and wine would both be in {wine}");
        assert_eq!(file_names(ids.iter(), file_of), Err(refused));
    }
}
