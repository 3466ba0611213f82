//! The findings of a condition.

use super::report::{INEFFECTIVE, Report, SHADOWED, SUSPICIOUS};
use crate::compare::of_rules;
use crate::condition::{EntityCondition, Rule, Scope};
use crate::json::{push, write_number};
use crate::witness::Known;

/// The highest likely minimum age, in years: a higher one is probably a mistake.
const HIGHEST_LIKELY_AGE: u8 = 120;

/// Adds the findings of a condition; `other` is the condition of the other scope with the same id.
#[inline(never)]
pub(super) fn look_at(
    condition: &EntityCondition,
    other: Option<&EntityCondition>,
    report: &mut Report<'_>,
) {
    if let Rule::AgeRestriction { minimum_age } = condition.rule
        && (minimum_age == 0 || minimum_age > HIGHEST_LIKELY_AGE)
    {
        let (kind, age, what) = match minimum_age {
            0 => (INEFFECTIVE, 0, " denies no customer whose age is known."),
            _ => (SUSPICIOUS, HIGHEST_LIKELY_AGE, " is more than people live."),
        };
        report.begin(kind);
        push("A minimum age of ", report.out);
        write_number(minimum_age.into(), report.out);
        push(what, report.out);
        let witness = Known {
            age: Some(age),
            licenses: None,
        };
        let place = "$.condition_value.minimum_age";
        report.end(&[place], Some(&witness.request()));
    }
    let Some(other) = other else {
        return;
    };
    report.begin(SHADOWED);
    let is_other_global = other.scope == Scope::Global;
    let who = if is_other_global {
        "A global rule has this id too: "
    } else {
        "The tenant has a rule of its own with this id: "
    };
    push(who, report.out);
    let decides = match (condition.enabled, other.enabled, is_other_global) {
        (true, false, _) => "that one is off, so this one decides.",
        (false, true, _) => "this one is off, so that one decides.",
        (false, false, _) => "both are off, so neither decides.",
        (true, true, true) => "this one decides in place of it.",
        (true, true, false) => "that one decides in place of this one.",
    };
    push(decides, report.out);
    let places: &[&str] = if condition.enabled {
        &["$.id"]
    } else {
        &["$.id", "$.enabled"]
    };
    let own = Some((condition.id.as_str(), condition.rule));
    let others = Some((other.id.as_str(), other.rule));
    let differing = of_rules(own, others).map(|difference| difference.witness);
    report.end(places, differing.as_deref());
}
