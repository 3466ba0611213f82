//! The plan: what to create, change and delete so that the host has what the files say. Pure.
//!
//! Only what `apply` made under the same name is ever deleted. What others made and no file has stays unchanged, and is
//! listed. `checks.rs` finds contradictions between the plan and the host, and `order.rs` sorts its steps.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::Differences;
use super::document::Read;
use super::existing::{Existing, Present};
use super::folder::{File, Files};
use super::kind::Kind;
use super::secrets::Secrets;
use super::unit_rates::{HostRates, RatesChange};
use super::webhook;

/// The options of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options<'a> {
    /// The name under which resources are managed.
    pub(super) me: &'a str,
    /// Deletes what `me` manages and no file has.
    pub(super) prune: bool,
    /// Takes over what others, or nobody, manages and a file has.
    pub(super) adopt: bool,
    /// Sends all secrets of webhooks, including those that the host has.
    pub(super) secrets: bool,
    /// Only shows the plan, which may then change what others manage.
    pub(super) only_shown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    Create,
    Change,
    /// The resource matches its file, and `me` manages it from now on.
    Adopt,
    Delete,
}

/// The write of one resource.
#[derive(Clone, Debug)]
pub(super) struct Step<'f> {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) action: Action,
    pub(super) file: Option<&'f File>,
    pub(super) present: Option<Present>,
    /// Only for a unit's rates.
    pub(super) rates: RatesChange,
    /// For a webhook: the secrets to send.
    pub(super) secrets: Secrets,
    pub(super) differences: Differences,
}

/// A resource that no file has, and that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) managed_by: Option<String>,
    /// For a unit: the number of rates.
    pub(super) rates: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Plan<'f> {
    pub(super) steps: Vec<Step<'f>>,
    /// The resources that others made.
    pub(super) left: Vec<Left>,
    /// The resources that `me` made and pruning would delete.
    pub(super) prunable: Vec<Left>,
}

impl<'f> Plan<'f> {
    /// Returns the plan that makes the host match the files.
    ///
    /// # Errors
    /// A line for each file whose resource others manage.
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
        // Rates are deleted with their unit.
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

    /// Returns the ids of the resources of a kind that the plan deletes.
    pub(super) fn deleted(&self, kind: Kind) -> BTreeSet<String> {
        let deleted = self
            .steps
            .iter()
            .filter(|step| step.kind == kind && step.action == Action::Delete);
        deleted.map(|step| step.id.clone()).collect()
    }

    /// Adds one resource to the plan.
    ///
    /// # Errors
    /// If another program manages it, with its name.
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

    /// Adds the rates of a unit, some of which may be the file's and others not.
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

/// Returns the action that makes a resource match its file, and the secrets to send with it.
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

/// Refuses to change what another program manages, unless the plan takes it over or is only shown.
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
