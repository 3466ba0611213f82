//! A factor of the product: the set of values that a project accepts for one target, as the listed values and how often
//! each is listed.

use super::{Choice, Target};
use crate::index::{Index, Seed};
use crate::restriction::{Demand, Restriction, Value};

/// The role of a restriction that denies what it lists.
pub(crate) const DENIES: usize = 0;
/// The role of a restriction that allows what it lists, together with the other lists that are not exclusive.
const JOINS: usize = 1;
/// The role of a `BOOLEAN` that allows its value, together with the other `BOOLEAN`s that are not exclusive.
pub(crate) const JOINS_BOOLEANS: usize = 2;
/// The role of a restriction that allows what it lists, as a check of its own.
const ALONE: usize = 3;

/// The bit of a value that a list allows.
pub(crate) const ALLOWED: u8 = 1;
/// The bit of a value that a list denies.
pub(crate) const DENIED: u8 = 2;
/// The bit of a value that is in every check that allows by a list.
pub(crate) const PASSES: u8 = 4;
/// The bit of a value that joined `BOOLEAN`s ask for.
pub(crate) const ASKED: u8 = 8;

/// A number for each role.
#[derive(Debug, Default)]
struct ByRole([usize; 4]);

impl ByRole {
    fn of(&self, role: usize) -> usize {
        self.0.get(role).copied().unwrap_or_default()
    }

    fn add(&mut self, role: usize, count: usize) {
        if let Some(number) = self.0.get_mut(role) {
            *number += count;
        }
    }
}

/// A restriction of a factor.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its position in the project's restrictions.
    pub(crate) position: usize,
    pub(crate) role: usize,
    /// The number of its check among those that allow by a list, from 1; 0 if it denies.
    check: usize,
    /// The numbers of its values, each once.
    values: Vec<usize>,
}

/// A value, and how often it is listed. The booleans are kept even if they are not listed.
#[derive(Debug)]
pub(crate) struct Listed<'a> {
    pub(crate) value: Choice<'a>,
    /// The number of lines of each role that list it.
    lines: ByRole,
    /// The number of checks that allow it, and the sum of their numbers: if only one does not, the sum tells which.
    checks: usize,
    checks_sum: usize,
    /// The number of the line that listed it last, from 1.
    last_line: usize,
}

/// The set of values that a project accepts for one target.
#[derive(Debug)]
pub(crate) struct Factor<'a> {
    pub(crate) target: Target<'a>,
    pub(crate) lines: Vec<Line>,
    /// `true`, `false`, and every text that is listed, in order of appearance.
    pub(crate) values: Vec<Listed<'a>>,
    texts: Index,
    /// The number of checks that allow by a list.
    checks: usize,
    /// For each role, the number of lines, the number of values they list, and the check that they join in.
    lines_of: ByRole,
    values_of: ByRole,
    check_of: ByRole,
}

/// The number of the first text in a factor.
pub(crate) const FIRST_TEXT: usize = 2;

impl<'a> Factor<'a> {
    pub(super) fn new(target: Target<'a>, seed: Seed) -> Self {
        let mut factor = Self {
            target,
            lines: Vec::new(),
            values: Vec::new(),
            texts: Index::new(seed),
            checks: 0,
            lines_of: ByRole::default(),
            values_of: ByRole::default(),
            check_of: ByRole::default(),
        };
        factor.push(Choice::Bool(true));
        factor.push(Choice::Bool(false));
        factor
    }

    #[inline(never)]
    fn push(&mut self, value: Choice<'a>) {
        self.values.push(Listed {
            value,
            lines: ByRole::default(),
            checks: 0,
            checks_sum: 0,
            last_line: 0,
        });
    }

    pub(super) fn add(&mut self, position: usize, restriction: &'a Restriction<'a>) {
        let mut line = self.begin(position, restriction.role());
        for index in 0..restriction.demand.count() {
            if let Some(value) = restriction.demand.choice(index) {
                self.list(value, &mut line);
            }
        }
        self.end(line);
    }

    /// Adds a line that lists one text.
    pub(super) fn add_text(&mut self, position: usize, text: &'a str) {
        let mut line = self.begin(position, DENIES);
        self.list(Choice::Text(text), &mut line);
        self.end(line);
    }

    #[inline(never)]
    fn begin(&mut self, position: usize, role: usize) -> Line {
        let is_first = self.lines_of.of(role) == 0;
        self.lines_of.add(role, 1);
        if role == ALONE || is_first && role != DENIES {
            self.checks += 1;
            let before = self.check_of.of(role);
            self.check_of.add(role, self.checks - before);
        }
        Line {
            position,
            role,
            check: self.check_of.of(role),
            values: Vec::new(),
        }
    }

    #[inline(never)]
    fn end(&mut self, line: Line) {
        self.values_of.add(line.role, line.values.len());
        self.lines.push(line);
    }

    /// Adds a value to a line, at most once.
    #[inline(never)]
    fn list(&mut self, value: Choice<'a>, line: &mut Line) {
        let next = self.values.len();
        let number = match value {
            Choice::Text(text) => self.texts.get_or_insert(text, next),
            value => usize::from(value == Choice::Bool(false)),
        };
        if number == next {
            self.push(value);
        }
        let this = self.lines.len() + 1;
        let Some(listed) = self.values.get_mut(number) else {
            return;
        };
        if listed.last_line == this {
            return;
        }
        listed.last_line = this;
        line.values.push(number);
        if line.role == ALONE || line.role != DENIES && listed.lines.of(line.role) == 0 {
            listed.checks += 1;
            listed.checks_sum += line.check;
        }
        listed.lines.add(line.role, 1);
    }

    /// Returns whether a text is listed.
    pub(crate) fn lists(&self, text: &str) -> bool {
        self.texts.contains(text)
    }

    /// Returns the bits of a value: [`ALLOWED`], [`DENIED`], [`PASSES`], [`ASKED`].
    #[inline(never)]
    pub(crate) fn traits(&self, listed: &Listed<'_>) -> u8 {
        let allowed = if listed.checks > 0 { ALLOWED } else { 0 };
        let denied = if listed.lines.of(DENIES) > 0 {
            DENIED
        } else {
            0
        };
        let passes = if listed.checks == self.checks {
            PASSES
        } else {
            0
        };
        let is_asked = listed.lines.of(JOINS_BOOLEANS) > 0;
        let asked = if is_asked { ASKED } else { 0 };
        allowed | denied | passes | asked
    }

    /// Returns whether the set contains a listed value.
    fn has(&self, listed: &Listed<'_>) -> bool {
        self.traits(listed) & (DENIED | PASSES) == PASSES
    }

    /// Returns whether the set contains a value, listed or not.
    pub(crate) fn accepts(&self, value: Choice<'_>) -> bool {
        let number = match value {
            Choice::Bool(value) => Some(usize::from(!value)),
            Choice::Text(text) => self.texts.get(text),
            Choice::Other => None,
        };
        match number.and_then(|number| self.values.get(number)) {
            Some(listed) => self.has(listed),
            None => self.checks == 0,
        }
    }

    /// Returns a value that the set contains; `None` if it is empty.
    pub(crate) fn first(&self) -> Option<Choice<'a>> {
        if self.checks == 0 {
            return Some(Choice::Other);
        }
        let accepted = self.values.iter().find(|listed| self.has(listed));
        accepted.map(|listed| listed.value)
    }

    fn listed_by(&self, line: &Line) -> impl Iterator<Item = &Listed<'a>> {
        let numbers = line.values.iter();
        numbers.filter_map(|number| self.values.get(*number))
    }

    /// Returns whether a line lists one of the values marked by number.
    pub(crate) fn has_any(&self, line: &Line, marked: &[bool]) -> bool {
        let mut numbers = line.values.iter();
        numbers.any(|number| marked.get(*number) == Some(&true))
    }

    /// Returns whether the check that a line belongs to allows nothing, because its list is empty.
    pub(crate) fn is_of_empty_check(&self, line: &Line) -> bool {
        match line.role {
            DENIES => false,
            ALONE => line.values.is_empty(),
            role => self.values_of.of(role) == 0,
        }
    }

    /// Returns, for each check by its number, whether there is a value that it alone keeps out.
    #[inline(never)]
    pub(crate) fn needed_checks(&self) -> Vec<bool> {
        // A single check keeps out everything that is not listed.
        let mut needed = vec![self.checks == 1; self.checks + 1];
        let sum = self.checks * (self.checks + 1) / 2;
        for listed in &self.values {
            if listed.lines.of(DENIES) == 0
                && listed.checks + 1 == self.checks
                && let Some(missing) = needed.get_mut(sum - listed.checks_sum)
            {
                *missing = true;
            }
        }
        needed
    }

    /// Returns whether a line adds nothing: without it the set stays the same. A line whose values are all named as
    /// dead or as denied needlessly does not count. `needed` is the result of [`Factor::needed_checks`].
    #[inline(never)]
    pub(crate) fn is_idle(&self, line: &Line, needed: &[bool]) -> bool {
        let denies = line.role == DENIES;
        let matters = |listed: &Listed<'_>| {
            if denies {
                self.traits(listed) & PASSES != 0
            } else {
                self.has(listed)
            }
        };
        let is_elsewhere = |listed: &Listed<'_>| listed.lines.of(line.role) > 1;
        let is_only = line.role == ALONE || !denies && self.lines_of.of(line.role) == 1;
        let is_same = if is_only {
            needed.get(line.check) == Some(&false)
        } else {
            self.listed_by(line)
                .all(|it| is_elsewhere(it) || !matters(it))
        };
        is_same && (line.values.is_empty() || self.listed_by(line).any(matters))
    }
}

impl Restriction<'_> {
    const fn role(&self) -> usize {
        match self.demand {
            Demand::Blacklist(..) | Demand::BlacklistedItems(_) => DENIES,
            _ if self.exclusive => ALONE,
            Demand::Boolean(..) => JOINS_BOOLEANS,
            Demand::Whitelist(..) | Demand::WhitelistedItems(_) => JOINS,
        }
    }
}

impl Demand<'_> {
    /// Returns one of the values that it lists; a number, which no list has, is `None`.
    fn choice(&self, index: usize) -> Option<Choice<'_>> {
        let value = match self {
            Self::Boolean(_, value) => return Some(Choice::Bool(*value)),
            Self::WhitelistedItems(items) | Self::BlacklistedItems(items) => {
                return items.get(index).map(|item| Choice::Text(item));
            }
            Self::Whitelist(_, values) | Self::Blacklist(_, values) => values.get(index)?,
        };
        match value {
            Value::Text(text) => Some(Choice::Text(text)),
            Value::Bool(value) => Some(Choice::Bool(*value)),
            Value::Number => None,
        }
    }
}
