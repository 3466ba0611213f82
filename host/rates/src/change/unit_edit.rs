//! Edits one business unit: its settings, the rates that are set at it, its place in the tree, its removal.
//!
//! An edit is one commit of the unit, its rates and its history. For a shop, the commit also has what it uses from then
//! on and its message; for a unit above shops, the job that visits them (`fan_out.rs`). The new state of the unit is
//! planned (`plan.rs`), checked (`validation.rs`, `place.rs`, `deviations.rs`) and committed, and planned again when
//! others have changed the unit in the meantime. A dry run does the same up to the commit.

use std::sync::Arc;

use tillgate_api::rate::Deviation;
use tillgate_base::app::App;
use tillgate_base::data::records::{Change, Records};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::By;
use tillgate_base::observe::audit::Line;
use tillgate_store::clock::Timestamp;

use super::author::Editor;
use super::deviations;
use super::dry_run::{self, DryRun};
use super::passes::{self, Passes};
use super::place::{self, Planned};
use super::plan::After;
use super::progress::Reach;
use super::{audit, max_rates, validation};
use crate::shop::differences::Differences;
use crate::shop::history::{Entry, Made};
use crate::shop::math::{self, DifferenceCall};
use crate::shop::publishing::{Publisher, Shared, remove_used};
use crate::shop::used_record::read_used;
use crate::units::reference_dates;
use crate::units::tree::{Node, Tree, expect_above};
use crate::units::unit::{UnitId, UnitType, no_unit};
use crate::units::usage::{self, Quotas};

/// The most attempts at a dry run while units keep changing.
const MAX_DRY_RUNS: usize = 32;

/// The result of an edit.
#[derive(Debug)]
pub enum Edited<T> {
    /// The edit was made; with its audit log line, if it has changed something.
    Made(T, Option<Box<Line>>),
    /// The edit was a dry run; with what it would publish, and what it would answer.
    Dry(Box<DryRun>, T),
}

/// Edits of a tenant's units by an editor.
#[derive(Clone, Debug)]
pub(crate) struct Edits<'a> {
    pub(crate) app: &'a Arc<App>,
    pub(crate) records: Records,
    pub(crate) passes: &'a Passes,
    pub(crate) editor: Editor<'a>,
}

/// The treatment of rates that would move by more than their tolerance.
#[derive(Clone, Copy, Debug)]
enum Guard {
    /// The edit is refused.
    Refuses,
    /// They are left out.
    LeavesOut,
}

/// The effect of an edit on a unit, after its checks.
enum Step {
    Leave(Option<Arc<Node>>),
    Put(Planned),
    Remove(Arc<Node>),
}

impl Edits<'_> {
    /// Changes a unit by `plan`, which receives the unit as it is and the time in text.
    ///
    /// # Errors
    /// Any error of the plan; [`Error::Invalid`] for rates that cannot be set together;
    /// [`Error::Conflict`] for a unit whose place in the tree is not allowed;
    /// [`Error::ConflictList`] for rates that would move by more than their tolerance;
    /// [`Error::Busy`] when others keep changing it;
    /// [`Error::TooMany`] when the tenant has too many changes with shops left to visit;
    /// [`Error::Unavailable`].
    pub(crate) async fn edit<'r, T>(
        &self,
        id: &UnitId,
        plan: impl Fn(Option<&Node>, &str) -> Result<(After<'r>, T)>,
    ) -> Result<Edited<T>> {
        let plan = |before: Option<&Node>, at: &str, _: &[Deviation]| plan(before, at);
        self.edit_guarded(id, Guard::Refuses, plan).await
    }

    /// Changes a unit like [`edit`](Self::edit), but leaves out rates that would move by more than their tolerance:
    /// `plan` is called again with them.
    ///
    /// # Errors
    /// The errors of [`edit`](Self::edit).
    pub(crate) async fn edit_within_tolerance<'r, T>(
        &self,
        id: &UnitId,
        plan: impl Fn(Option<&Node>, &str, &[Deviation]) -> Result<(After<'r>, T)>,
    ) -> Result<Edited<T>> {
        self.edit_guarded(id, Guard::LeavesOut, plan).await
    }

    async fn edit_guarded<'r, T>(
        &self,
        id: &UnitId,
        guard: Guard,
        plan: impl Fn(Option<&Node>, &str, &[Deviation]) -> Result<(After<'r>, T)>,
    ) -> Result<Edited<T>> {
        let attempt = async || {
            let mut tree = Tree::new(&self.records);
            let before = tree.node(id).await?;
            let now = self.now(before.as_deref());
            let at = now.to_millis_text();
            let (after, mut answer) = plan(before.as_deref(), &at, &[])?;
            let mut step = self.step(&mut tree, id, before.clone(), after, now).await?;
            let deviations = self.deviations(&mut tree, &step).await?;
            let is_guarded = !deviations.is_empty() && !self.editor.accept_deviation;
            match guard {
                Guard::LeavesOut if is_guarded => {
                    let after;
                    (after, answer) = plan(before.as_deref(), &at, &deviations)?;
                    step = self.step(&mut tree, id, before, after, now).await?;
                }
                Guard::Refuses if is_guarded && !self.editor.dry_run => {
                    return Err(deviations::refused(&deviations));
                }
                Guard::LeavesOut | Guard::Refuses => {}
            }
            let mut change = Change::default();
            if self.editor.dry_run {
                let mut dry = self.dry_run(&mut tree, &step).await?;
                dry.deviations = deviations::listed(&deviations).to_vec();
                return Ok((change, Edited::Dry(Box::new(dry), answer)));
            }
            let accepted = if self.editor.accept_deviation {
                deviations.len()
            } else {
                0
            };
            let tenant = self.editor.tenant;
            let line = match step {
                Step::Leave(_) => {
                    self.record(&mut change, Reach::Nothing, now).await?;
                    None
                }
                Step::Put(planned) => {
                    self.put(&mut change, &mut tree, &planned).await?;
                    let before = planned.before.as_deref();
                    Some(audit::put(tenant, before, &planned.after, accepted)?)
                }
                Step::Remove(unit) => {
                    self.remove(&mut change, &unit, now).await?;
                    Some(audit::deleted(tenant, &unit)?)
                }
            };
            let note = self.editor.note.clone();
            let line = line.map(|line| Box::new(Line { note, ..line }));
            Ok((change, Edited::Made(answer, line)))
        };
        if !self.editor.dry_run {
            let change = || self.records.change(&attempt);
            return self.passes.make(&self.records, change).await;
        }
        // A dry run commits nothing, so it waits for no other change, and none waits for it.
        for _ in 0..MAX_DRY_RUNS {
            match attempt().await {
                Err(Error::Busy) => {}
                dry => return dry.map(|(_, edited)| edited),
            }
        }
        Err(Error::Busy)
    }

    /// Returns the time of a change: later than any earlier change of the unit.
    fn now(&self, before: Option<&Node>) -> Timestamp {
        let now = self.app.clock.now();
        before.map_or(now, |before| {
            now.max(Timestamp(before.unit().changed_at.saturating_add(1)))
        })
    }

    async fn step(
        &self,
        tree: &mut Tree<'_>,
        id: &UnitId,
        before: Option<Arc<Node>>,
        after: After<'_>,
        now: Timestamp,
    ) -> Result<Step> {
        let (settings, rates) = match after {
            After::Same => return Ok(Step::Leave(before)),
            After::Removed => return Ok(Step::Remove(before.ok_or_else(|| no_unit(id))?)),
            After::Settings(settings) => {
                let rates = before.as_ref().map(|before| Arc::clone(&before.rates));
                (settings, rates.unwrap_or_default())
            }
            After::Rates(rates, places) => {
                let unit = before.as_ref().ok_or_else(|| no_unit(id))?.unit();
                let rates = validation::together(self.app, rates, places)?;
                (unit.settings.clone(), Arc::new(rates))
            }
        };
        let by = self.made().by;
        let planned = place::plan(tree, id, before, settings, rates, now, by).await?;
        max_rates::check(&self.records, tree, &planned).await?;
        Ok(Step::Put(planned))
    }

    /// Returns the rates that a step would move by more than their tolerance.
    async fn deviations(&self, tree: &mut Tree<'_>, step: &Step) -> Result<Vec<Deviation>> {
        match step {
            Step::Put(planned) => deviations::find(self.app, &self.editor, tree, planned).await,
            Step::Leave(_) | Step::Remove(_) => Ok(Vec::new()),
        }
    }

    async fn dry_run(&self, tree: &mut Tree<'_>, step: &Step) -> Result<DryRun> {
        match step {
            Step::Leave(unit) => dry_run::nothing(&self.records, unit.as_deref()).await,
            // Not offered: a unit is removed only when no shop is below it.
            Step::Remove(unit) => dry_run::nothing(&self.records, Some(unit)).await,
            Step::Put(planned) => {
                let entry = Entry::between(planned.before.as_deref(), Some(&planned.after));
                let changed = entry.changed_rates();
                let (before, after) = (planned.before.as_deref(), &planned.after);
                dry_run::run(self.app, &self.records, tree, before, after, &changed).await
            }
        }
    }

    /// Adds a planned unit to a change, with all that follows from it.
    async fn put(&self, change: &mut Change, tree: &mut Tree<'_>, planned: &Planned) -> Result<()> {
        let (before, after, now) = (planned.before.as_deref(), &planned.after, planned.now);
        change.expect(&after.id.key(), before.map(|before| &before.stored));
        expect_above(change, std::iter::once(planned.path.as_ref()));
        put_rates(change, before, after);
        usage::count(&self.records, change, before, Some(after), &self.quotas()).await?;
        reference_dates::plan(change, before, Some(after));
        place::put(change, planned)?;
        let entry = Entry::between(before, Some(after));
        entry.record(change, &after.id, now, &self.made())?;
        let reach = match after.unit().settings.unit_type {
            UnitType::Store => Reach::Shop {
                published: self.publish(change, tree, after, now).await?,
            },
            above => {
                change.put(&after.id.key(), after.unit())?;
                if before.is_some_and(|before| reaches_shops(before, after)) {
                    Reach::Below(after.id.clone(), above)
                } else {
                    Reach::Nothing
                }
            }
        };
        self.record(change, reach, now).await
    }

    /// Adds to a change what a shop uses from now on; returns whether there is a message.
    async fn publish(
        &self,
        change: &mut Change,
        tree: &mut Tree<'_>,
        shop: &Arc<Node>,
        now: Timestamp,
    ) -> Result<bool> {
        let mut differences = Differences::new(self.app, &self.records, now);
        let computed = differences.of(tree, vec![Arc::clone(shop)]).await?.pop();
        let computed = computed.ok_or_else(math::no_answer)?;
        let shared = &mut Shared::default();
        let publisher = self.publisher(now);
        let (unit, has_message) = publisher.publish(change, shared, shop, &computed.difference);
        change.put(&shop.id.key(), unit.as_ref().unwrap_or(shop.unit()))?;
        Ok(has_message)
    }

    /// Adds the removal of a unit to a change.
    async fn remove(&self, change: &mut Change, unit: &Node, now: Timestamp) -> Result<()> {
        place::remove(&self.records, change, unit).await?;
        unit.expect(change);
        change.delete(&unit.id.key());
        change.delete(&unit.id.rates_key());
        usage::count(&self.records, change, Some(unit), None, &self.quotas()).await?;
        reference_dates::plan(change, Some(unit), None);
        let entry = Entry::between(Some(unit), None);
        entry.record(change, &unit.id, now, &self.made())?;
        let reach = match unit.unit().settings.unit_type {
            UnitType::Store => Reach::Shop {
                published: self.publish_removal(change, unit, now).await?,
            },
            UnitType::Company | UnitType::Group => Reach::Nothing,
        };
        self.record(change, reach, now).await
    }

    /// Adds to a change that a shop no longer uses anything; returns whether there is a message.
    async fn publish_removal(
        &self,
        change: &mut Change,
        shop: &Node,
        now: Timestamp,
    ) -> Result<bool> {
        let call = DifferenceCall {
            before: read_used(&self.records, shop.unit().used_rates.as_deref()).await?,
            levels: Vec::new(),
            at: now.to_millis_text(),
        };
        let difference = math::differences(self.app, vec![call]).await?.pop();
        remove_used(change, shop.unit());
        let Some(lists) = difference.ok_or_else(math::no_answer)?.lists else {
            return Ok(false);
        };
        let shared = &mut Shared::default();
        self.publisher(now).send(change, shared, &shop.id, &lists);
        Ok(true)
    }

    async fn record(&self, change: &mut Change, reach: Reach, now: Timestamp) -> Result<()> {
        let (correlation, quotas) = (self.editor.correlation, &self.app.config.quotas);
        let max_passes = quotas.rate_passes;
        passes::record(&self.records, change, correlation, reach, now, max_passes).await
    }

    /// Returns who makes the changes, for the history.
    fn made(&self) -> Made {
        Made {
            by: By::new(self.editor.by, self.editor.name),
            note: self.editor.note.clone(),
        }
    }

    fn quotas(&self) -> Quotas {
        Quotas::of(&self.app.config)
    }

    fn publisher(&self, now: Timestamp) -> Publisher<'_> {
        Publisher {
            tenant: self.editor.tenant,
            correlation: self.editor.correlation,
            now,
        }
    }
}

/// Adds the record of a unit's rates to a change, if it differs.
fn put_rates(change: &mut Change, before: Option<&Node>, after: &Node) {
    let (key, rates) = (after.id.rates_key(), &after.rates);
    match before {
        Some(before) if before.rates.record == rates.record => {}
        Some(_) if rates.rates.is_empty() => change.delete(&key),
        None if rates.rates.is_empty() => {}
        _ => change.put_bytes(&key, rates.record.clone()),
    }
}

/// Returns whether a change of a unit may change what shops below it use.
fn reaches_shops(before: &Node, after: &Node) -> bool {
    let (old, new) = (&before.unit().settings, &after.unit().settings);
    before.rates.record != after.rates.record
        || old.parent_id != new.parent_id
        || old.markup_percentage != new.markup_percentage
        || old.markups != new.markups
}
