//! The names of the files that `export` writes: made of what a resource is called, for people, on every file system.
//!
//! What a resource is called stands in its file, so a name need not tell it exactly. Letters, digits and `. _ -` stay,
//! anything else becomes `_`. Where names would be the same, case aside, each gets a digest of what its resource is called,
//! as does one that is long: so a name depends on nothing but what there is.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The longest name without its end.
const MAX: usize = 100;

/// Names that Windows does not give to files.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "com", "lpt"];

/// The names of the files of resources that are called so.
pub(super) fn file_names<'a>(ids: impl Iterator<Item = &'a String>) -> BTreeMap<&'a str, String> {
    let plain: BTreeMap<&str, String> = ids.map(|id| (id.as_str(), plain(id))).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in plain.values() {
        *counts.entry(name.to_lowercase()).or_default() += 1;
    }
    let name = |(id, mut name): (&'a str, String)| {
        let is_shared = counts
            .get(&name.to_lowercase())
            .is_some_and(|count| *count > 1);
        if is_shared || name.len() > MAX || is_device(&name) {
            name.truncate(MAX);
            name += "~";
            name += hex::encode(Sha256::digest(id)).get(..8).unwrap_or_default();
        }
        (id, name + ".json")
    };
    plain.into_iter().map(name).collect()
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
        let names = file_names(ids.iter());
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
        assert!(names.iter().all(|name| name.len() <= 114), "{names:?}");
    }
}
