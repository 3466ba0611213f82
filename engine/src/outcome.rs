//! The parts of an answer: decisions, their reasons, and the results of the checks that ran on an item.
//!
//! Shapes and member order follow `given.md` 2.4, "ItemDecisionDto". This module decides nothing.

use crate::error::{Code, Error};
use crate::json::write_text;

/// The longest answer about many items, or with explanations, in bytes: 16 MiB.
pub const MAX_ANSWER: usize = 16 << 20;

/// Returns the error for a request, or its part at `path`, whose answer would be larger than [`MAX_ANSWER`].
pub(crate) fn too_large(path: &str) -> Error {
    let message = "must lead to an answer of at most 16 MiB";
    Error::new(Code::Invalid, path, message)
}

/// The verdict of a check, ordered from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// The item may be sold.
    #[default]
    Allow,
    /// Something is unknown; asking for it may change the decision.
    SoftDeny,
    /// The known facts are enough to deny the item.
    HardDeny,
}

impl Decision {
    /// All decisions, from best to worst.
    pub const ALL: [Self; 3] = [Self::Allow, Self::SoftDeny, Self::HardDeny];

    /// Returns the decision as it is written in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::SoftDeny => "SOFT_DENY",
            Self::HardDeny => "HARD_DENY",
        }
    }
}

/// The reason why a check does not allow the item (`conditions.md`, "Decisions" and "Project restrictions").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The customer's age is unknown.
    AgeMissing,
    /// The customer is too young.
    Underage,
    /// The customer's licenses are unknown.
    LicensesMissing,
    /// The customer does not have the license.
    LicenseMissing,
    /// The item's property, or the item, is not on the list that it must be on.
    WhitelistNotMet,
    /// The item's property has a denied value.
    BlacklistMet,
    /// The item's property does not have the value it must have.
    BooleanNotMet,
    /// The item is on the list of denied items.
    BlacklistedItem,
    /// The tenant has no such project.
    ProjectUnreachable,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::AgeMissing,
        Self::Underage,
        Self::LicensesMissing,
        Self::LicenseMissing,
        Self::WhitelistNotMet,
        Self::BlacklistMet,
        Self::BooleanNotMet,
        Self::BlacklistedItem,
        Self::ProjectUnreachable,
    ];

    /// Returns the machine-readable code, `<area>.<reason>`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgeMissing => "age_restriction.missing_context",
            Self::Underage => "age_restriction.underage",
            Self::LicensesMissing => "license_requirement.missing_context",
            Self::LicenseMissing => "license_requirement.license_missing",
            Self::WhitelistNotMet => "project_restriction.whitelist_not_met",
            Self::BlacklistMet => "project_restriction.blacklist_met",
            Self::BooleanNotMet => "project_restriction.boolean_not_met",
            Self::BlacklistedItem => "project_restriction.blacklisted_item",
            Self::ProjectUnreachable => "project_restriction.project_unreachable",
        }
    }

    /// Returns a sentence for an operator.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::AgeMissing => "Ask for the customer's age.",
            Self::Underage => "The customer is too young for this item.",
            Self::LicensesMissing => "Ask for the customer's licenses.",
            Self::LicenseMissing => "The customer does not have the license for this item.",
            Self::WhitelistNotMet => "The project does not allow this item.",
            Self::BlacklistMet => "The project denies items with this property.",
            Self::BooleanNotMet => "The project requires another value of this property.",
            Self::BlacklistedItem => "The project denies this item.",
            Self::ProjectUnreachable => "The project is not known here.",
        }
    }

    /// Returns the reason with this code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == code)
    }

    /// Returns a soft denial if asking may change the decision, and a hard one if not.
    #[must_use]
    pub const fn decision(self) -> Decision {
        match self {
            Self::AgeMissing | Self::LicensesMissing | Self::ProjectUnreachable => {
                Decision::SoftDeny
            }
            Self::Underage
            | Self::LicenseMissing
            | Self::WhitelistNotMet
            | Self::BlacklistMet
            | Self::BooleanNotMet
            | Self::BlacklistedItem => Decision::HardDeny,
        }
    }
}

/// The condition or restriction that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// An age condition, by its id.
    Age(&'a str),
    /// A license condition, by its id.
    License(&'a str),
    /// A project's restriction, by the property that it tests or `itemId`; `None` if the project is unreachable.
    Restriction(Option<&'a str>),
}

/// The result of one check. It allows the item if there is no reason against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The condition or restriction that was checked.
    pub subject: Subject<'a>,
    /// The reason why it does not allow the item, if it does not.
    pub reason: Option<Reason>,
}

impl Outcome<'_> {
    /// Returns the check's verdict.
    #[must_use]
    pub fn decision(&self) -> Decision {
        self.reason.map_or(Decision::Allow, Reason::decision)
    }

    /// Appends the result as JSON (`given.md` 2.4, "Entry of `results`").
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        // Each append has a cost: a few long pieces cost less than many short ones, and single bytes are pushed.
        let rule: &[u8] = match self.subject {
            Subject::Age(id) | Subject::License(id) => {
                // The id of a condition never needs escaping.
                out.extend_from_slice(b"{\"id\":\"");
                out.extend_from_slice(id.as_bytes());
                out.push(b'"');
                out.push(b',');
                match self.subject {
                    Subject::Age(_) => b",\"rule\":\"AGE_RESTRICTION\"}",
                    _ => b",\"rule\":\"LICENSE_REQUIREMENT\"}",
                }
            }
            Subject::Restriction(_) => {
                out.push(b'{');
                b",\"rule\":\"PROJECT_RESTRICTION\",\"source\":\"PROJECT_RESTRICTION\",\"restriction\":"
            }
        };
        let verdict: &[u8] = match self.decision() {
            Decision::Allow => b"\"allow\":true,\"decision\":\"ALLOW\",\"reason\":null",
            Decision::SoftDeny => b"\"allow\":false,\"decision\":\"SOFT_DENY\",\"reason\":\"",
            Decision::HardDeny => b"\"allow\":false,\"decision\":\"HARD_DENY\",\"reason\":\"",
        };
        out.extend_from_slice(verdict);
        if let Some(reason) = self.reason {
            out.extend_from_slice(reason.as_str().as_bytes());
            out.push(b'"');
        }
        out.extend_from_slice(rule);
        if let Subject::Restriction(restriction) = self.subject {
            match restriction {
                Some(target) => write_text(target, out),
                None => out.extend_from_slice(b"null"),
            }
            out.push(b'}');
        }
    }
}

/// The rules that results name, in the order of a [`Tally`].
pub const RULES: [&str; 3] = [
    "AGE_RESTRICTION",
    "LICENSE_REQUIREMENT",
    "PROJECT_RESTRICTION",
];

/// The numbers of results in an answer, by rule (as in [`RULES`]) and decision (as in [`Decision::ALL`]). A host counts
/// results with them, without reading the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally(pub [[u32; 3]; 3]);

impl Tally {
    pub(crate) fn add(&mut self, results: &[Outcome<'_>]) {
        let Self([age, license, project]) = self;
        for result in results {
            let [allow, soft_deny, hard_deny] = match result.subject {
                Subject::Age(_) => &mut *age,
                Subject::License(_) => &mut *license,
                Subject::Restriction(_) => &mut *project,
            };
            *match result.decision() {
                Decision::Allow => allow,
                Decision::SoftDeny => soft_deny,
                Decision::HardDeny => hard_deny,
            } += 1;
        }
    }
}

/// The answer for one item: `{ "id", "allow", "results" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemDecision<'a> {
    /// The item's id, as sent.
    pub id: &'a str,
    /// One entry for each check that ran, in the order in which they ran.
    pub results: Vec<Outcome<'a>>,
}

impl ItemDecision<'_> {
    /// Returns true if every result allows the item, or if there are no results.
    #[must_use]
    pub fn allow(&self) -> bool {
        self.results.iter().all(|result| result.reason.is_none())
    }

    /// Returns the worst of the results.
    #[must_use]
    pub fn decision(&self) -> Decision {
        worst(&self.results)
    }

    /// Appends the decision as JSON. A till waits for this, so it is written by hand, in a third of a serializer's
    /// time.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_open(self.allow(), None, out);
        out.push(b'}');
    }

    /// Appends the decision as JSON with another `allow` and without the closing brace, with results from `write` if it
    /// is given.
    pub(crate) fn write_open(
        &self,
        allow: bool,
        write: Option<&mut (dyn WriteResults + '_)>,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b"{\"id\":");
        write_text(self.id, out);
        let open: &[u8] = if allow {
            b",\"allow\":true,\"results\":["
        } else {
            b",\"allow\":false,\"results\":["
        };
        out.extend_from_slice(open);
        match write {
            None => write_results(&self.results, out),
            Some(write) => write.write(&self.results, out),
        }
        out.push(b']');
    }
}

pub(crate) fn worst(results: &[Outcome<'_>]) -> Decision {
    let decisions = results.iter().map(Outcome::decision);
    decisions.max().unwrap_or_default()
}

/// A writer that appends results in place of [`write_results`].
pub(crate) trait WriteResults {
    /// Appends the results of the next item.
    fn write(&mut self, results: &[Outcome<'_>], out: &mut Vec<u8>);
}

/// Appends results as JSON, separated by commas. All callers share one copy of the code.
#[inline(never)]
pub(crate) fn write_results(results: &[Outcome<'_>], out: &mut Vec<u8>) {
    for (index, result) in results.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        result.write(out);
    }
}
