//! Values and names of a project that are probably a mistake, by how they are written ([`super::look_alike`]).
//!
//! | what | places |
//! |---|---|
//! | values of a target that look alike; each group by itself | the restrictions with one of them |
//! | other values with blanks around them | the same |
//! | values with accents as characters of their own | the same |
//! | texts that look like `true` or `false`, of a target that has a boolean too | those with one of them, or a boolean |
//! | properties whose names look alike | all restrictions on them |

use super::look_alike::{Groups, has_blanks_around, has_loose_accents, look};
use super::project::{ALL_LINES, NO_LINES, chosen, lines_of};
use super::{Report, SUSPICIOUS};
use crate::index::Seed;
use crate::product::{ALLOWED, Choice, DENIED, FIRST_TEXT, Factor};

/// Adds what is suspicious among the values of a target.
#[inline(never)]
pub(super) fn suspicious_values(set: &Factor<'_>, seed: Seed, report: &mut Report<'_>) {
    let texts = texts(set);
    let groups = look_alikes(set, &texts, VALUES, seed, report);
    let mut booleans = set.values.iter().take(FIRST_TEXT);
    let has_boolean = booleans.any(|listed| set.traits(listed) & (ALLOWED | DENIED) != 0);
    for (words, is_it, kind) in ALONE {
        let (mut found, mut part) = (Vec::new(), Vec::new());
        for (number, text) in texts.iter().enumerate() {
            let is_free = kind != Alone::InNoGroup || !groups.is_of_several(number);
            let is_found = is_free && text.is_some_and(is_it);
            found.push(is_found);
            // The booleans are what has no text.
            part.push(is_found || kind == Alone::BesideBooleans && text.is_none());
        }
        let is_found = found.contains(&true) && (has_boolean || kind != Alone::BesideBooleans);
        if is_found && report.begin(SUSPICIOUS) {
            end(words, set, &found, &part, report);
        }
    }
}

/// Adds the properties whose names look alike. `names` lists, for each restriction, its property's name.
pub(super) fn suspicious_names(names: &Factor<'_>, seed: Seed, report: &mut Report<'_>) {
    look_alikes(names, &texts(names), NAMES, seed, report);
}

const VALUES: &str = "These ^ differ only in capitals or blanks";
const NAMES: &str = "The properties differ only in capitals or blanks";

/// When a value that is suspicious by itself is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alone {
    InNoGroup,
    Always,
    BesideBooleans,
}

/// What makes a value suspicious by itself: what is said of it, and how it is found.
type Mark = (&'static str, fn(&str) -> bool, Alone);

const ALONE: [Mark; 3] = [
    (
        "% written with a blank at the start or the end",
        has_blanks_around,
        Alone::InNoGroup,
    ),
    (
        "% written with accents as characters of their own",
        has_loose_accents,
        Alone::Always,
    ),
    (
        "% text, which is never equal to true or false",
        is_like_boolean,
        Alone::BesideBooleans,
    ),
];

fn is_like_boolean(text: &str) -> bool {
    matches!(&*look(text), "true" | "false")
}

/// The texts of a target, by the numbers of its values.
#[inline(never)]
fn texts<'a>(set: &Factor<'a>) -> Vec<Option<&'a str>> {
    let mut texts = Vec::new();
    for listed in &set.values {
        texts.push(match listed.value {
            Choice::Text(text) => Some(text),
            Choice::Bool(_) | Choice::Other => None,
        });
    }
    texts
}

/// Adds the groups of texts that look alike.
#[inline(never)]
fn look_alikes(
    set: &Factor<'_>,
    texts: &[Option<&str>],
    words: &str,
    seed: Seed,
    report: &mut Report<'_>,
) -> Groups {
    let groups = Groups::of(texts, seed);
    for group in groups.of_several() {
        if report.begin(SUSPICIOUS) {
            let marked = groups.members(group);
            end(words, set, &marked, &marked, report);
        }
    }
    groups
}

/// Ends a finding about marked values, whose places are the restrictions with a value that is part of it.
#[inline(never)]
fn end(words: &str, set: &Factor<'_>, marked: &[bool], part: &[bool], report: &mut Report<'_>) {
    let lines = lines_of(set, (NO_LINES, ALL_LINES), part);
    report.end_about(words, set.target, &chosen(set, marked), &lines, None);
}
