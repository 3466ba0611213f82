//! Selects lines and values of a target, for findings.

use crate::product::{Choice, DENIES, Factor, Line};

/// A choice of lines: those that allow what they list, those that deny it, or both.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    allow: bool,
    deny: bool,
}

pub(super) const NO_LINES: Lines = Lines {
    allow: false,
    deny: false,
};
pub(super) const THAT_ALLOW: Lines = Lines {
    allow: true,
    deny: false,
};
pub(super) const THAT_DENY: Lines = Lines {
    allow: false,
    deny: true,
};
pub(super) const ALL_LINES: Lines = Lines {
    allow: true,
    deny: true,
};

/// Returns the marked values of a target.
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

/// Returns the positions of the lines for which `is_part` is true.
#[inline(never)]
pub(super) fn lines_that(set: &Factor<'_>, is_part: &dyn Fn(&Line) -> bool) -> Vec<usize> {
    let mut lines = Vec::new();
    for line in &set.lines {
        if is_part(line) {
            lines.push(line.position);
        }
    }
    lines
}

/// Returns the positions of the lines in `always`, and of those in `with` that list a marked value.
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
