//! Values and names of a project that are probably a mistake, judging by how they are written ([`super::look_alike`]).
//!
//! | what | places |
//! |---|---|
//! | values of a target that look alike, with a finding for each group | the restrictions with one of them |
//! | other values with blanks around them | the same |
//! | values with accents as separate characters | the same |
//! | texts that look like `true` or `false`, if the target has a boolean too | those with one of them, or a boolean |
//! | properties whose names look alike | all restrictions on them |

use super::lines::{ALL_LINES, NO_LINES, chosen, lines_of};
use super::look_alike::{Groups, has_blanks_around, has_loose_accents, look};
use super::report::{Report, SUSPICIOUS};
use crate::index::Seed;
use crate::product::{ALLOWED, Choice, DENIED, FIRST_TEXT, Factor};

/// Adds the suspicious values of a target.
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
            // Only the booleans have no text.
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

/// The condition under which a value that is suspicious by itself is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alone {
    InNoGroup,
    Always,
    BesideBooleans,
}

/// A reason why a value is suspicious by itself: the words about it, the test that finds it, and its condition.
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

/// Returns the text of each value of a target, by number; `None` if the value is a boolean.
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

/// Adds a finding for each group of texts that look alike, and returns the groups.
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

/// Ends a finding about marked values. Its places are the restrictions with a value in `part`.
#[inline(never)]
fn end(words: &str, set: &Factor<'_>, marked: &[bool], part: &[bool], report: &mut Report<'_>) {
    let lines = lines_of(set, (NO_LINES, ALL_LINES), part);
    report.end_about(words, set.target, &chosen(set, marked), &lines, None);
}
