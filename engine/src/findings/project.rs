//! The findings of a project: of each target (the item's id, or a property) by the set of its accepted values.
//!
//! | kind | of a target | places |
//! |---|---|---|
//! | UNSATISFIABLE | its set is empty | the lists that are empty; else all that allow, and those that deny what all of these have |
//! | PARTLY_DEAD | values that all restrictions that allow have, and one denies | those with such a value |
//! | | values that one restriction allows and another does not | all that allow |
//! | INEFFECTIVE | denied values that are not allowed anyway | those that deny one |
//! | | `BOOLEAN`s that are joined and ask for both | these |
//! | | restrictions without any one of which its set is the same | these, if they have a value that is not named above |
//!
//! Of a target whose set is empty, nothing else of this table is looked for. `suspicious.rs` looks at how values are written.

use super::suspicious::{suspicious_names, suspicious_values};
use super::{INEFFECTIVE, PARTLY_DEAD, Report, UNSATISFIABLE};
use crate::product::{
    ALLOWED, ASKED, Choice, DENIED, DENIES, FIRST_TEXT, Factor, JOINS_BOOLEANS, Line, PASSES,
    Product,
};
use crate::restriction::Project;

/// Items with more properties are too large to be shown with every finding.
const MAX_PROPERTIES: usize = 100;

/// A finding about values of which something is known.
struct Pattern {
    kind: &'static str,
    /// Of what is known of a value, what is looked at, and what must be true of that.
    traits: (u8, u8),
    /// The lines that are part of it whatever they list, and those that are if they list one of the values: those that allow,
    /// and those that deny.
    lines: (Lines, Lines),
    words: &'static str,
}

/// Lines by what they do with what they list.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    allow: bool,
    deny: bool,
}

pub(super) const NO_LINES: Lines = Lines {
    allow: false,
    deny: false,
};
const THAT_ALLOW: Lines = Lines {
    allow: true,
    deny: false,
};
const THAT_DENY: Lines = Lines {
    allow: false,
    deny: true,
};
pub(super) const ALL_LINES: Lines = Lines {
    allow: true,
    deny: true,
};

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

/// A project that is looked at.
struct Look<'p, 'a> {
    product: &'p Product<'a>,
    has_witnesses: bool,
}

/// Adds what is wrong with a project.
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

/// The values of a target of which something is known, marked by number.
#[inline(never)]
fn marked(set: &Factor<'_>, (looked_at, wanted): (u8, u8)) -> Vec<bool> {
    let values = set.values.iter();
    values
        .map(|listed| set.traits(listed) & looked_at == wanted)
        .collect()
}

/// The values of a target that are marked.
#[inline(never)]
pub(super) fn chosen<'a>(set: &Factor<'a>, marked: &[bool]) -> Vec<Choice<'a>> {
    let mut values = Vec::new();
    for (listed, is_marked) in set.values.iter().zip(marked) {
        if *is_marked {
            values.push(listed.value);
        }
    }
    values
}

/// The positions of the lines for which something is true.
#[inline(never)]
fn lines_that(set: &Factor<'_>, is_part: &dyn Fn(&Line) -> bool) -> Vec<usize> {
    let mut lines = Vec::new();
    for line in &set.lines {
        if is_part(line) {
            lines.push(line.position);
        }
    }
    lines
}

/// The positions of lines: some whatever they list, and some if they list a marked value.
pub(super) fn lines_of(
    set: &Factor<'_>,
    (always, with): (Lines, Lines),
    marked: &[bool],
) -> Vec<usize> {
    lines_that(set, &|line| {
        let is_of = |lines: Lines| match line.role {
            DENIES => lines.deny,
            _ => lines.allow,
        };
        is_of(always) || is_of(with) && set.has_any(line, marked)
    })
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

    /// An item that has a value of a target, and what is accepted of all others.
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
