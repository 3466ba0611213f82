//! Changing a business unit: its settings, the rates that are set at it, its place in the tree, its removal.
//!
//! A change is one commit: the unit, its rates and its history; for a shop also what it uses from then on and its
//! message; for a unit above shops the job that visits them (`fan_out.rs`). A dry run plans the same change and tells
//! what it would publish.

use std::sync::Arc;

use uuid::Uuid;

use super::dry_run::{self, DryRun};
use super::fan_out::expect_above;
use super::progress as change;
use super::progress::Reach;
use crate::app::App;
use crate::clock::Timestamp;
use crate::data::etag::{self, Etag};
use crate::data::records::{Change, Records, Versioned};
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::rates::shop::history::{self, Entry};
use crate::rates::shop::math;
use crate::rates::shop::published::{Differences, Sender, Shared, read_used};
use crate::rates::units::answers::{answer_of, list_of};
use crate::rates::units::set_rate::SetRates;
use crate::rates::units::tree::{self, Node, Path, Tree, child_entry};
use crate::rates::units::unit::{
    MAX_DEPTH, Unit, UnitId, UnitSettings, UnitType, child_key, children_prefix,
};
use crate::store::Revision;

/// Who changes something, and how.
#[derive(Clone, Copy, Debug)]
pub struct Editor<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The client or user.
    pub by: &'a str,
    /// The id of the change.
    pub correlation: Uuid,
    /// Whether nothing is changed, and only told what would be published.
    pub dry_run: bool,
}

/// What an edit answers.
#[derive(Debug)]
pub enum Edited<T> {
    /// It was made.
    Made(T),
    /// What it would publish.
    Dry(DryRun),
}

/// What is to become of a unit.
#[derive(Debug)]
pub(in crate::rates) enum After {
    /// It stays as it is.
    Same,
    /// This is set at it from now on.
    Put(UnitSettings, SetRates),
    /// It is removed, with all that is set at it.
    Removed,
}

/// Edits of a tenant's units.
#[derive(Clone, Copy, Debug)]
pub(in crate::rates) struct Edits<'a> {
    pub(in crate::rates) app: &'a Arc<App>,
    pub(in crate::rates) records: &'a Records,
    pub(in crate::rates) editor: Editor<'a>,
}

/// A line in the audit log: what was done, and the entity tags of what there was before and after.
struct Line {
    action: &'static str,
    before: Option<Etag>,
    after: Option<Etag>,
}

/// An edit of one unit under way.
struct Planned {
    before: Option<Arc<Node>>,
    after: Arc<Node>,
    path: Arc<Path>,
    now: Timestamp,
}

impl Edits<'_> {
    /// Changes a unit as `plan` says, which is given the unit as it is and the time in text. The plan is asked again when
    /// others have changed the unit meanwhile.
    pub(in crate::rates) async fn edit<T>(
        &self,
        id: &UnitId,
        plan: impl Fn(Option<&Node>, &str) -> Result<(After, T)>,
    ) -> Result<Edited<T>> {
        let attempt = async || {
            let mut tree = Tree::new(self.records);
            let before = tree.node(id).await?;
            let now = self.now(before.as_deref());
            let (after, answer) = plan(before.as_deref(), &now.to_millis_text())?;
            let line = match self.editor.dry_run {
                true => None,
                false => line(id, &after, before.as_deref())?,
            };
            let mut change = Change::default();
            let dry = match (after, before) {
                (After::Put(settings, rates), before) => {
                    let planned = self.place(&mut tree, id, before, settings, &rates, now);
                    let planned = planned.await?;
                    if self.editor.dry_run {
                        Some(
                            dry_run::run(
                                self.app,
                                self.records,
                                &mut tree,
                                &planned.after,
                                &changed(&planned)?,
                            )
                            .await?,
                        )
                    } else {
                        self.put(&mut change, &mut tree, planned, &rates).await?;
                        None
                    }
                }
                (After::Removed, Some(unit)) => {
                    self.remove(&mut change, &unit, now).await?;
                    None
                }
                (After::Same | After::Removed, _) if self.editor.dry_run => {
                    Some(dry_run::nothing(self.records, tree.node(id).await?.as_deref()).await?)
                }
                (After::Same | After::Removed, _) => {
                    self.record(&mut change, Reach::Nothing, now).await?;
                    None
                }
            };
            let edited = dry.map_or_else(|| Edited::Made(answer), Edited::Dry);
            Ok((change, (edited, line)))
        };
        let (edited, line) = self.records.change(attempt).await?;
        if let Some(line) = line {
            let (tenant, unit, by) = (self.editor.tenant, id.as_str(), self.editor.by);
            let (before, after) = (line.before.as_ref(), line.after.as_ref());
            let (before, after) = (before.map(etag::digest), after.map(etag::digest));
            let (action, correlation) = (line.action, self.editor.correlation);
            tracing::info!(target: "audit", action, %tenant, unit, before, after, by, %correlation);
        }
        Ok(edited)
    }

    /// The time of a change: later than any change of the unit before.
    fn now(&self, before: Option<&Node>) -> Timestamp {
        let now = self.app.clock.now();
        before.map_or(now, |before| {
            now.max(Timestamp(before.unit().changed_at.saturating_add(1)))
        })
    }

    /// Puts a planned unit in its place in the tree, if it may stand there.
    async fn place(
        &self,
        tree: &mut Tree<'_>,
        id: &UnitId,
        before: Option<Arc<Node>>,
        settings: UnitSettings,
        rates: &SetRates,
        now: Timestamp,
    ) -> Result<Planned> {
        let old = before.as_ref().map(|before| before.unit());
        if let Some(old) = old
            && old.settings.unit_type != settings.unit_type
        {
            return Err(conflict("a business unit keeps its type"));
        }
        let unit = Unit {
            has_rates: !rates.is_empty(),
            used_rates: old.and_then(|old| old.used_rates.clone()),
            changed_at: now.0,
            settings,
        };
        let is_moved = old.is_none_or(|old| old.settings.parent_id != unit.settings.parent_id);
        let path = match &unit.settings.parent_id {
            Some(parent) if is_moved => {
                let Some(parent) = tree.node(parent).await? else {
                    return Err(conflict("parentId names no business unit"));
                };
                if parent.unit().settings.unit_type == UnitType::Store {
                    return Err(conflict("parentId names a STORE, which is always a leaf"));
                }
                let path = tree.above(&unit).await?;
                if path.nodes.iter().any(|above| above.id == *id) {
                    return Err(conflict("a business unit cannot stand below itself"));
                }
                // The levels above it, its own, and those below it that move with it.
                let below = match old {
                    Some(_) => tree::depth_below(self.records, id).await?,
                    None => 0,
                };
                if path.nodes.len() + 1 + below > MAX_DEPTH {
                    return Err(conflict("the tree would be deeper than 16 levels"));
                }
                path
            }
            _ => tree.above(&unit).await?,
        };
        let stored = Versioned {
            revision: before
                .as_ref()
                .map_or(Revision::default(), |before| before.stored.revision),
            record: unit,
        };
        let after = Arc::new(Node::new(id.clone(), stored, rates.record()?)?);
        tree.plan(Arc::clone(&after));
        Ok(Planned {
            before,
            after,
            path,
            now,
        })
    }

    /// Adds a planned unit to a change, with all that follows from it.
    async fn put(
        &self,
        change: &mut Change,
        tree: &mut Tree<'_>,
        planned: Planned,
        rates: &SetRates,
    ) -> Result<()> {
        let Planned {
            before,
            after,
            path,
            now,
        } = &planned;
        let id = &after.id;
        change.expect(&id.key(), before.as_ref().map(|before| &before.stored));
        expect_above(change, std::iter::once(path.as_ref()));
        self.put_rates(change, before.as_deref(), after, rates);
        self.put_place(change, &planned)?;
        history::record(change, id, *now, &entry(&planned)?)?;
        let unit_type = after.unit().settings.unit_type;
        let reach = if unit_type == UnitType::Store {
            let published = self.publish(change, tree, after, *now).await?;
            Reach::Shop { published }
        } else {
            change.put(&id.key(), after.unit())?;
            if before
                .as_ref()
                .is_some_and(|before| reaches_shops(before, after))
            {
                Reach::Below(id.clone(), unit_type)
            } else {
                Reach::Nothing
            }
        };
        self.record(change, reach, *now).await
    }

    fn put_rates(
        &self,
        change: &mut Change,
        before: Option<&Node>,
        after: &Node,
        rates: &SetRates,
    ) {
        let key = after.id.rates_key();
        match before {
            Some(before) if before.rates == after.rates => {}
            Some(_) if rates.is_empty() => change.delete(&key),
            None if rates.is_empty() => {}
            _ => change.put_bytes(&key, after.rates.clone()),
        }
    }

    /// Adds to a change where a unit stands, if that is new.
    fn put_place(&self, change: &mut Change, planned: &Planned) -> Result<()> {
        let (id, settings) = (&planned.after.id, &planned.after.unit().settings);
        let old = planned
            .before
            .as_ref()
            .map(|before| &before.unit().settings);
        if old.is_some_and(|old| old.parent_id == settings.parent_id) {
            return Ok(());
        }
        if let Some(old) = old {
            change.delete(&child_key(old.parent_id.as_ref(), id));
        }
        let key = child_key(settings.parent_id.as_ref(), id);
        change.put_bytes(&key, child_entry(settings.unit_type));
        // Written again, so that whoever is about to remove the parent sees that something has changed there.
        if let Some(parent) = planned.path.nodes.first() {
            change.put(&parent.id.key(), parent.unit())?;
        }
        Ok(())
    }

    /// Adds to a change what a shop uses from now on; whether there is a message.
    async fn publish(
        &self,
        change: &mut Change,
        tree: &mut Tree<'_>,
        shop: &Arc<Node>,
        now: Timestamp,
    ) -> Result<bool> {
        let mut differences = Differences::new(self.app, self.records, now);
        let outcomes = differences.of(tree, vec![Arc::clone(shop)]).await?;
        let outcome = outcomes.first();
        let outcome = outcome.ok_or_else(|| Error::Bug("a shop was not computed".to_owned()))?;
        let (unit, has_message) =
            self.sender(now)
                .publish(change, &mut Shared::default(), shop, &outcome.difference)?;
        change.put(&shop.id.key(), unit.as_ref().unwrap_or(shop.unit()))?;
        Ok(has_message)
    }

    /// Adds to a change that a unit is removed.
    async fn remove(&self, change: &mut Change, unit: &Node, now: Timestamp) -> Result<()> {
        let id = &unit.id;
        let children = self
            .records
            .scan(&children_prefix(Some(id)), None, 1)
            .await?;
        if !children.entries.is_empty() {
            return Err(conflict("the business unit has others below it"));
        }
        unit.expect(change);
        change.delete(&id.key());
        change.delete(&id.rates_key());
        change.delete(&child_key(unit.unit().settings.parent_id.as_ref(), id));
        let rates = unit.set_rates()?;
        let entry = Entry::between(Some((&unit.unit().settings, &rates)), None);
        history::record(change, id, now, &entry)?;
        let reach = match unit.unit().settings.unit_type {
            UnitType::Store => Reach::Shop {
                published: self.publish_removal(change, unit, now).await?,
            },
            UnitType::Company | UnitType::Group => Reach::Nothing,
        };
        self.record(change, reach, now).await
    }

    /// Adds to a change that a shop uses nothing any more; whether there is a message.
    async fn publish_removal(
        &self,
        change: &mut Change,
        shop: &Node,
        now: Timestamp,
    ) -> Result<bool> {
        let used = &shop.unit().used_rates;
        let before = read_used(self.records, used.as_deref()).await?;
        let at = now.to_millis_text();
        let call = math::difference_call(&before, "", &at);
        let difference = math::differences(self.app, vec![call]).await?.pop();
        if let Some(key) = used {
            crate::rates::shop::published::forget(change, key);
        }
        let Some(lists) = difference.and_then(|difference| difference.lists) else {
            return Ok(false);
        };
        self.sender(now)
            .send(change, &mut Shared::default(), &shop.id, &lists);
        Ok(true)
    }

    async fn record(&self, change: &mut Change, reach: Reach, now: Timestamp) -> Result<()> {
        change::record(self.records, change, self.editor.correlation, reach, now).await
    }

    fn sender(&self, now: Timestamp) -> Sender<'_> {
        Sender {
            tenant: self.editor.tenant,
            correlation: self.editor.correlation,
            now,
        }
    }
}

/// What an edit is called in the audit log; `None` for one that changes nothing.
fn line(id: &UnitId, after: &After, before: Option<&Node>) -> Result<Option<Line>> {
    let unit = |settings: &UnitSettings| answer_of(id, settings).map(|json| etag::of_text(&json));
    let list = |rates: &SetRates| list_of(rates).map(|json| etag::of_text(&json));
    let unit_before = || before.map(|node| unit(&node.unit().settings)).transpose();
    Ok(match after {
        After::Same => None,
        After::Removed => Some(Line {
            action: "business_unit.deleted",
            before: unit_before()?,
            after: None,
        }),
        After::Put(settings, rates) => {
            let old = before.map_or_else(|| Ok(SetRates::default()), Node::set_rates)?;
            Some(if *rates == old {
                Line {
                    action: "business_unit.put",
                    before: unit_before()?,
                    after: Some(unit(settings)?),
                }
            } else {
                Line {
                    action: "rates.changed",
                    before: Some(list(&old)?),
                    after: Some(list(rates)?),
                }
            })
        }
    })
}

/// Whether a change of a unit may change what shops below it use.
fn reaches_shops(before: &Node, after: &Node) -> bool {
    let (old, new) = (&before.unit().settings, &after.unit().settings);
    before.rates != after.rates
        || old.parent_id != new.parent_id
        || old.markup_percentage != new.markup_percentage
        || old.markups != new.markups
}

/// What a planned change adds to the history of its unit.
fn entry(planned: &Planned) -> Result<Entry> {
    let before = match &planned.before {
        Some(before) => Some((&before.unit().settings, before.set_rates()?)),
        None => None,
    };
    let after = planned.after.set_rates()?;
    Ok(Entry::between(
        before.as_ref().map(|(settings, rates)| (*settings, rates)),
        Some((&planned.after.unit().settings, &after)),
    ))
}

/// The rates whose values a planned change changes.
fn changed(planned: &Planned) -> Result<Vec<crate::rates::units::set_rate::KeyText>> {
    let entry = entry(planned)?;
    Ok(entry.rates.into_iter().map(|rate| rate.key).collect())
}

fn conflict(detail: &str) -> Error {
    Error::Conflict(detail.to_owned())
}
