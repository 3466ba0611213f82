//! The findings of a project, from the set of accepted values of each target (the item's id, or a property).
//!
//! | kind | of a target | places |
//! |---|---|---|
//! | UNSATISFIABLE | its set is empty | empty lists, or else all that allow, and those that deny what all checks allow |
//! | PARTLY_DEAD | values that every check that allows has, and a restriction denies | the restrictions with such a value |
//! | | values that one check allows and another does not | all restrictions that allow |
//! | INEFFECTIVE | denied values that are not allowed anyway | the restrictions that deny one |
//! | | joined `BOOLEAN`s that ask for both values | these restrictions |
//! | | restrictions that can each be left out without changing its set | these, if they have a value not named above |
//!
//! If the set of a target is empty, the rest of this table does not apply. `suspicious.rs` examines how values are
//! written.

use super::lines::{
    ALL_LINES, Lines, NO_LINES, THAT_ALLOW, THAT_DENY, chosen, lines_of, lines_that,
};
use super::report::{INEFFECTIVE, PARTLY_DEAD, Report, UNSATISFIABLE};
use super::suspicious::{suspicious_names, suspicious_values};
use crate::product::{
    ALLOWED, ASKED, Choice, DENIED, FIRST_TEXT, Factor, JOINS_BOOLEANS, PASSES, Product,
};
use crate::restriction::Project;

/// Items with more properties are too large to be shown with every finding.
const MAX_PROPERTIES: usize = 100;

/// A kind of finding about values with certain traits.
struct Pattern {
    kind: &'static str,
    /// The traits that are examined, and the ones among them that a value must have.
    traits: (u8, u8),
    /// The lines that are part of the finding whatever they list, and the lines that are part of it if they list one of
    /// the values.
    lines: (Lines, Lines),
    words: &'static str,
}

const DEAD: [Pattern; 2] = [
    Pattern {
        kind: PARTLY_DEAD,
        traits: (ALLOWED | DENIED | PASSES, ALLOWED | DENIED | PASSES),
        lines: (NO_LINES, ALL_LINES),
        words: "% both allowed and denied, and so denied",
    },
    Pattern {
        kind: PARTLY_DEAD,
        traits: (ALLOWED | PASSES, ALLOWED),
        lines: (THAT_ALLOW, NO_LINES),
        words: "% allowed by one restriction and not by another, and so denied",
    },
];

const NEEDLESS: [Pattern; 1] = [Pattern {
    kind: INEFFECTIVE,
    traits: (DENIED | PASSES, DENIED),
    lines: (NO_LINES, THAT_DENY),
    words: "% not among those that are allowed, so it changes nothing to deny &",
}];

struct Look<'p, 'a> {
    product: &'p Product<'a>,
    has_witnesses: bool,
}

/// Adds the findings of a project.
#[inline(never)]
pub(super) fn look_at(project: &Project<'_>, report: &mut Report<'_>) {
    let product = &Product::of(&project.restrictions);
    let look = Look {
        product,
        has_witnesses: !product.is_empty() && product.factors.len() <= MAX_PROPERTIES,
    };
    let sets = &product.factors;
    for set in sets {
        if set.first().is_none() {
            unsatisfiable(set, report);
        }
    }
    for set in sets {
        look.find(&DEAD, set, report);
    }
    for set in sets {
        look.find(&NEEDLESS, set, report);
        if set.first().is_some() {
            look.asked_both(set, report);
            idle(set, report);
        }
    }
    for set in sets {
        suspicious_values(set, product.seed, report);
    }
    suspicious_names(&product.names, product.seed, report);
}

/// Marks the values of a target with the wanted traits, by number.
#[inline(never)]
fn marked(set: &Factor<'_>, (looked_at, wanted): (u8, u8)) -> Vec<bool> {
    let values = set.values.iter();
    values
        .map(|listed| set.traits(listed) & looked_at == wanted)
        .collect()
}

#[inline(never)]
fn unsatisfiable(set: &Factor<'_>, report: &mut Report<'_>) {
    if !report.begin(UNSATISFIABLE) {
        return;
    }
    let of_empty = lines_that(set, &|line| set.is_of_empty_check(line));
    let passing = marked(set, (PASSES, PASSES));
    let (words, lines) = match (of_empty.is_empty(), passing.contains(&true)) {
        (false, _) => (
            "Nothing can be bought: a list of allowed ^ is empty.",
            of_empty,
        ),
        (true, has_passing) => (
            if has_passing {
                "Nothing can be bought: no # is both allowed and not denied."
            } else {
                "Nothing can be bought: no # is allowed by all restrictions on it."
            },
            lines_of(set, (THAT_ALLOW, THAT_DENY), &passing),
        ),
    };
    report.end_about(words, set.target, &[], &lines, None);
}

impl Look<'_, '_> {
    #[inline(never)]
    fn find(&self, patterns: &[Pattern], set: &Factor<'_>, report: &mut Report<'_>) {
        for pattern in patterns {
            let marked = marked(set, pattern.traits);
            let values = chosen(set, &marked);
            let first = values.first().filter(|_| set.first().is_some());
            let Some(first) = first.filter(|_| report.begin(pattern.kind)) else {
                continue;
            };
            let witness = match pattern.kind {
                PARTLY_DEAD => self.witness(set, *first),
                _ => None,
            };
            let lines = lines_of(set, pattern.lines, &marked);
            let witness = witness.as_deref();
            report.end_about(pattern.words, set.target, &values, &lines, witness);
        }
    }

    /// Returns an item that has a value of a target, and accepted values of all others.
    fn witness(&self, set: &Factor<'_>, value: Choice<'_>) -> Option<Vec<u8>> {
        let is_listed = |id: &str| self.product.lists(id);
        if self.has_witnesses {
            self.product.witness((set.target, value), &is_listed)
        } else {
            None
        }
    }

    #[inline(never)]
    fn asked_both(&self, set: &Factor<'_>, report: &mut Report<'_>) {
        let asked = chosen(set, &marked(set, (ASKED, ASKED)));
        if asked.len() < FIRST_TEXT || !report.begin(INEFFECTIVE) {
            return;
        }
        let accepted = asked.iter().rev().find(|value| set.accepts(**value));
        let witness = accepted.and_then(|value| self.witness(set, *value));
        let words = "Restrictions on # ask for true and for false, and together accept both: they deny only items that have neither.";
        let lines = lines_that(set, &|line| line.role == JOINS_BOOLEANS);
        report.end_about(words, set.target, &[], &lines, witness.as_deref());
    }
}

#[inline(never)]
fn idle(set: &Factor<'_>, report: &mut Report<'_>) {
    let needed = set.needed_checks();
    let lines = lines_that(set, &|line| set.is_idle(line, &needed));
    if !lines.is_empty() && report.begin(INEFFECTIVE) {
        let words = "$ on ~ adds nothing: without it, the same is allowed.";
        report.end_about(words, set.target, &[], &lines, None);
    }
}
