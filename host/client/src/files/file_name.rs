//! Names of exported files. A name is the id of the resource, with `_` for characters that some file systems do not
//! allow. The file contains the id, so its name need not be exact: an existing file keeps its name, and of two names
//! that are equal or differ only by case, the later one gets a number.

use std::collections::{BTreeMap, BTreeSet};

/// The longest name without its number and its extension.
const MAX: usize = 100;

/// Returns the file name of each resource, by its id; `files` has the names of existing files.
pub(super) fn file_names<'a>(
    ids: impl Iterator<Item = &'a String> + Clone,
    files: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let kept = ids.clone().filter_map(|id| files.get_key_value(id));
    let mut names: BTreeMap<String, String> =
        kept.map(|(id, name)| (id.clone(), name.clone())).collect();
    let mut taken: BTreeSet<String> = names.values().map(|name| name.to_lowercase()).collect();
    for id in ids {
        if names.contains_key(id) {
            continue;
        }
        let plain = plain(id);
        let numbered = (2_usize..).map(|number| format!("{plain}-{number}.json"));
        let mut candidates = std::iter::once(format!("{plain}.json")).chain(numbered);
        let free = candidates.find(|name| taken.insert(name.to_lowercase()));
        names.extend(free.map(|name| (id.clone(), name)));
    }
    names
}

/// Returns a name in ASCII that does not begin with a dot and is not too long.
fn plain(id: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name = id.chars().map(|c| if is_kept(c) { c } else { '_' });
    let hidden = id.starts_with('.').then_some('_');
    hidden.into_iter().chain(name).take(MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ids: &[&str], files: &[(&str, &str)]) -> Vec<String> {
        let owned = |text: &&str| (*text).to_owned();
        let ids: Vec<String> = ids.iter().map(owned).collect();
        let files = files.iter().map(|(id, name)| (owned(id), owned(name)));
        let names = file_names(ids.iter(), &files.collect());
        let names = ids.iter().map(|id| names.get(id).cloned());
        names.map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn names_are_those_of_resources_where_every_file_system_has_them() {
        let ids = [
            "alcohol",
            "SE-003",
            "till/1.0",
            "Order updates: Malmö",
            ".a",
        ];
        let expected = [
            "alcohol.json",
            "SE-003.json",
            "till_1.0.json",
            "Order_updates__Malm_.json",
            "_.a.json",
        ];
        assert_eq!(names(&ids, &[]), expected);
    }

    #[test]
    fn names_that_would_be_the_same_have_numbers_and_files_that_are_there_keep_theirs() {
        let ids = ["a:b", "a_b", "Beer", "beer"];
        let expected = ["a_b.json", "a_b-2.json", "Beer.json", "beer-2.json"];
        assert_eq!(names(&ids, &[]), expected);
        let files = [("beer", "Beer.json"), ("gone", "a_b.json")];
        let expected = ["a_b.json", "a_b-2.json", "Beer-2.json", "Beer.json"];
        assert_eq!(names(&ids, &files), expected);
        let long = "x".repeat(300);
        assert_eq!(names(&[&long], &[]), [format!("{}.json", "x".repeat(MAX))]);
    }
}
