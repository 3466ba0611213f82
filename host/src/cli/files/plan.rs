//! The plan: what is to be created, changed and deleted so that the host has what the files say. Pure.
//!
//! Only what `apply` has made under the same name is ever deleted. What others have made and no file has stays as it is, and is
//! listed. Whether the plan contradicts the host is for `checks.rs` to say, in which order it is made for `order.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::Differences;
use super::document::Read;
use super::existing::{Existing, Present};
use super::folder::{File, Files};
use super::kind::Kind;
use super::secrets::Secrets;
use super::unit_rates::{HostRates, RatesChange};
use super::webhook;

/// How to plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options<'a> {
    /// Under which name resources are managed.
    pub(super) me: &'a str,
    /// Whether what `me` manages is deleted where no file has it.
    pub(super) prune: bool,
    /// Whether what others manage, or nobody, is taken over where a file has it.
    pub(super) adopt: bool,
    /// Whether all secrets of webhooks are sent, also those that the host has.
    pub(super) secrets: bool,
    /// Whether the plan is only to be shown: then it may change what others manage.
    pub(super) only_shown: bool,
}

/// What is done with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    Create,
    Change,
    /// It is as its file has it, and is managed by `me` from now on.
    Adopt,
    Delete,
}

/// One resource that is written.
#[derive(Clone, Debug)]
pub(super) struct Step<'f> {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) action: Action,
    pub(super) file: Option<&'f File>,
    /// What is there.
    pub(super) present: Option<Present>,
    /// Of a unit's rates.
    pub(super) rates: RatesChange,
    /// Of a webhook: those that are sent.
    pub(super) secrets: Secrets,
    pub(super) differences: Differences,
}

/// Something that no file has, and that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) managed_by: Option<String>,
    /// Of a unit: how many rates.
    pub(super) rates: Option<usize>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Plan<'f> {
    pub(super) steps: Vec<Step<'f>>,
    /// What others have made.
    pub(super) left: Vec<Left>,
    /// What `me` has made, and pruning would delete.
    pub(super) prunable: Vec<Left>,
}

impl<'f> Plan<'f> {
    /// The plan that makes what exists what the files say.
    ///
    /// # Errors
    /// A line for each file of something that others manage.
    pub(super) fn make(
        files: &'f Files,
        existing: &Existing,
        options: Options<'_>,
    ) -> Result<Self, Vec<String>> {
        let (mut plan, mut problems) = (Self::default(), Vec::new());
        for (kind, files) in files {
            let none = BTreeMap::new();
            let present = existing.all.get(kind).unwrap_or(&none);
            let ids: BTreeSet<&String> = files.keys().chain(present.keys()).collect();
            for id in ids {
                let file = files.get(id);
                let added = plan.add((*kind, id), file, present.get(id), options);
                problems.extend(added.err());
            }
        }
        let deleted = plan.deleted(Kind::BusinessUnits);
        // They go with their unit.
        plan.steps
            .retain(|step| step.kind != Kind::Rates || !deleted.contains(&step.id));
        plan.left
            .retain(|left| left.kind != Kind::Rates || !deleted.contains(&left.id));
        if problems.is_empty() {
            Ok(plan)
        } else {
            Err(problems)
        }
    }

    /// The ids of what is to be deleted of a kind.
    pub(super) fn deleted(&self, kind: Kind) -> BTreeSet<String> {
        let deleted = self
            .steps
            .iter()
            .filter(|step| step.kind == kind && step.action == Action::Delete);
        deleted.map(|step| step.id.clone()).collect()
    }

    /// Adds what is to become of one resource.
    ///
    /// # Errors
    /// Who else manages it.
    pub(super) fn add(
        &mut self,
        (kind, id): (Kind, &str),
        file: Option<&'f File>,
        present: Option<&Present>,
        options: Options<'_>,
    ) -> Result<(), String> {
        match (kind, file, present) {
            (Kind::Rates, ..) => self.add_rates(id, file, present, options),
            (_, Some(file), present) => self.add_with_file(kind, file, present, options),
            (_, None, Some(present)) => {
                self.add_without_file(kind, present, options);
                Ok(())
            }
            (_, None, None) => Ok(()),
        }
    }

    fn add_with_file(
        &mut self,
        kind: Kind,
        file: &'f File,
        present: Option<&Present>,
        options: Options<'_>,
    ) -> Result<(), String> {
        let Some((action, secrets, differences)) = step_to(kind, file, present, options) else {
            return Ok(());
        };
        let owner = present.and_then(|present| present.managed_by.as_deref());
        refuse_other(
            owner.filter(|_| action == Action::Change),
            Some(file),
            options,
        )?;
        self.steps.push(Step {
            kind,
            id: file.says.document.id.clone(),
            action,
            file: Some(file),
            present: present.cloned(),
            rates: RatesChange::default(),
            secrets,
            differences,
        });
        Ok(())
    }

    fn add_without_file(&mut self, kind: Kind, present: &Present, options: Options<'_>) {
        let id = present.document.id.clone();
        let left = Left {
            kind,
            id: id.clone(),
            managed_by: present.managed_by.clone(),
            rates: None,
        };
        if left.managed_by.as_deref() != Some(options.me) {
            self.left.push(left);
        } else if !options.prune {
            self.prunable.push(left);
        } else {
            self.steps.push(Step {
                kind,
                id,
                action: Action::Delete,
                file: None,
                present: Some(present.clone()),
                rates: RatesChange::default(),
                secrets: Secrets::default(),
                differences: Differences::default(),
            });
        }
    }

    /// The rates of a unit, of which some may be the file's and others not.
    fn add_rates(
        &mut self,
        unit: &str,
        file: Option<&'f File>,
        present: Option<&Present>,
        options: Options<'_>,
    ) -> Result<(), String> {
        let none = HostRates::default();
        let host = present.map_or(&none, |present| &present.rates);
        let of_file = file.map(|file| &file.says.rates);
        let mut rates = host.change_to(of_file, options.me);
        let left = |managed_by: Option<&str>, count| Left {
            kind: Kind::Rates,
            id: unit.to_owned(),
            managed_by: managed_by.map(str::to_owned),
            rates: Some(count),
        };
        match host.left(of_file, options.me) {
            0 => {}
            count => self.left.push(left(None, count)),
        }
        if !options.prune && !rates.delete.is_empty() {
            let count = std::mem::take(&mut rates.delete).len();
            self.prunable.push(left(Some(options.me), count));
        }
        if !options.adopt {
            rates.adopt.clear();
        }
        let has_some = !host.set_by_hand().is_empty();
        let action = match (file, rates.is_empty()) {
            (_, true) if rates.adopt.is_empty() => return Ok(()),
            (_, true) => Action::Adopt,
            (None, false) => Action::Delete,
            (Some(_), false) if has_some => Action::Change,
            (Some(_), false) => Action::Create,
        };
        refuse_other(host.other_owner(&rates, options.me), file, options)?;
        self.steps.push(Step {
            kind: Kind::Rates,
            id: unit.to_owned(),
            action,
            file,
            present: present.cloned(),
            differences: Differences::of_rates(&rates),
            rates,
            secrets: Secrets::default(),
        });
        Ok(())
    }
}

/// What makes a resource what its file says, and the secrets that are sent with it.
fn step_to(
    kind: Kind,
    file: &File,
    present: Option<&Present>,
    options: Options<'_>,
) -> Option<(Action, Secrets, Differences)> {
    let Read {
        document, secrets, ..
    } = &file.says;
    let Some(present) = present else {
        return Some((Action::Create, secrets.clone(), Differences::default()));
    };
    let mut secrets = Secrets::default();
    let mut differences = Differences::between(&present.document.members, &document.members);
    if kind == Kind::Webhooks {
        let again = options.secrets;
        secrets = webhook::secrets_to_send(&file.says, present, again, &mut differences);
    }
    let is_mine = present.managed_by.as_deref() == Some(options.me);
    let action = if !differences.all.is_empty() {
        Action::Change
    } else if options.adopt && !is_mine {
        Action::Adopt
    } else {
        return None;
    };
    webhook::compare_disabled(&file.says, present, &mut differences);
    Some((action, secrets, differences))
}

/// Refuses to change what another program manages, unless it is to be taken over.
fn refuse_other(
    owner: Option<&str>,
    file: Option<&File>,
    options: Options<'_>,
) -> Result<(), String> {
    let other = owner.filter(|owner| *owner != options.me && !options.adopt && !options.only_shown);
    let Some((other, file)) = other.zip(file) else {
        return Ok(());
    };
    Err(format!(
        "{}: is managed by {other}: remove one of the two files, or take it over with --adopt",
        file.name
    ))
}
