//! Exchange rates: business units, the rates that are set at them, what each shop uses, and the topic that tells of every
//! change of it (`rates.md`).
//!
//! A change is an edit (`edit.rs`) of one unit, in one commit. What shops below it use follows in the background
//! (`fan_out.rs`). The math is the module's (`math.rs`). Read them in this order: `unit`, `set_rate`, `tree`, `shop`,
//! `edit`, `fan_out`, [`topic`]; `used`, `history` and `dry_run` read what these have written,
//! [`reference`](mod@reference) and `import` bring rates from elsewhere.

mod body;
mod change;
pub mod http;
pub mod reference;
mod retention;
mod shop;
pub mod topic;
mod units;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::Either;
use serde_json::json;
use tillgate_engine::rate::{Rate, RateKey};
use tillgate_engine::{Code, Fault};
use uuid::Uuid;

use self::body::Bulk;
pub use self::change::dry_run::DryRun;
use self::change::edit::{After, Edits};
pub use self::change::edit::{Edited, Editor};
use self::change::progress::{ChangeAnswer, Progress, Reach, change_key};
use self::change::{fan_out, progress};
pub use self::reference::import::{ECB, Import, Imported};
use self::reference::{import, schedule};
pub use self::shop::history::{Question, Values};
pub use self::shop::used::Conversion;
use self::shop::{history, math, used};
use self::topic::{Cursor, Filter, Hubs, Item};
use self::units::answers::{answer_of, list_of, to_json};
use self::units::set_rate::{MAX_SET, NewRate, Outcome, SetRate, SetRates};
use self::units::tree::{Node, Tree, Walk};
use self::units::unit::{Unit, UnitAnswer, children_prefix, no_unit, units_prefix};
pub use self::units::unit::{UnitId, UnitSettings, UnitType};
use crate::app::App;
use crate::data::etag::{self, Preconditions, Written};
use crate::data::records::{Change, PAGE, Records, decode_entry};
use crate::engine::EngineError;
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::jobs::{Queue, Scope, Work};

/// The exchange rates of every tenant.
#[derive(Debug)]
pub struct Rates {
    app: Arc<App>,
    hubs: Hubs,
}

/// How many rates a bulk change created, updated, deleted, and left as they were.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Counts {
    /// Set, and were not before.
    pub created: usize,
    /// Set to another value.
    pub updated: usize,
    /// Not set any more.
    pub deleted: usize,
    /// Set to the value that they had, or not set before either.
    pub unchanged: usize,
}

impl Rates {
    /// Starts the queues of the feature.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn start(app: &Arc<App>) -> Result<Self> {
        // Changes of one tenant take workers: they would only get into each other's way.
        let fan_out = Queue {
            per_partition: 1,
            lease: fan_out::LEASE,
            ..Queue::new(progress::FAN_OUT, Scope::AllPartitions)
        };
        let sent = fan_out::Sent::new(&app.metrics);
        register(app, fan_out, move |app, work| {
            fan_out::run(app, sent.clone(), work)
        });
        let retention = Queue::new(progress::RETENTION, Scope::AllPartitions);
        register(app, retention, retention::run);
        register(
            app,
            Queue::new(schedule::QUEUE, Scope::AllPartitions),
            schedule::run,
        );
        schedule::start(app).await?;
        Ok(Self {
            app: Arc::clone(app),
            hubs: Hubs::default(),
        })
    }

    fn records(&self, tenant: &TenantId) -> Records {
        self.app.records(tenant.partition())
    }

    /// All business units of a tenant, by id: JSON.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn units(&self, tenant: &TenantId) -> Result<Bytes> {
        let records = self.records(tenant);
        let mut list = Vec::from(*b"[");
        let mut after: Option<String> = None;
        loop {
            let page = records.scan(units_prefix(), after.as_deref(), PAGE).await?;
            for (key, entry) in &page.entries {
                let unit = decode_entry::<Unit>(key, entry)?.record;
                let id = key.strip_prefix(units_prefix()).and_then(UnitId::new);
                let id = id.ok_or_else(|| Error::Bug(format!("{key} is not a unit")))?;
                if list.len() > 1 {
                    list.push(b',');
                }
                list.extend(to_json(&UnitAnswer::new(&id, &unit.settings)?)?);
            }
            after = page.entries.last().map(|(key, _)| key.clone());
            if !page.more || after.is_none() {
                list.push(b']');
                return Ok(list.into());
            }
        }
    }

    /// A business unit: JSON.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is away.
    pub async fn unit(&self, tenant: &TenantId, id: &UnitId) -> Result<Bytes> {
        let records = self.records(tenant);
        let node = Tree::new(&records).node(id).await?;
        answer_of(id, &node.ok_or_else(no_unit)?.unit().settings)
    }

    /// Creates or replaces a business unit.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it cannot stand there; [`Error::Outdated`] when a precondition does not hold.
    pub async fn put_unit(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        settings: &UnitSettings,
        preconditions: &Preconditions,
    ) -> Result<Edited<(Written, Bytes)>> {
        let json = answer_of(id, settings)?;
        let plan = |before: Option<&Node>, _: &str| {
            check(preconditions, before)?;
            let written = Written::new(before.is_some());
            let answer = (written, json.clone());
            if before.is_some_and(|before| before.unit().settings == *settings) {
                return Ok((After::Same, answer));
            }
            let rates = before.map_or_else(|| Ok(SetRates::default()), Node::set_rates)?;
            Ok((After::Put(settings.clone(), rates), answer))
        };
        self.edit(editor, id, plan).await
    }

    /// Removes a business unit that has none below it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`], [`Error::Outdated`].
    pub async fn delete_unit(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        preconditions: &Preconditions,
    ) -> Result<()> {
        let plan = |before: Option<&Node>, _: &str| {
            before.ok_or_else(no_unit)?;
            check(preconditions, before)?;
            Ok((After::Removed, ()))
        };
        self.edit(editor, id, plan).await.map(drop)
    }

    /// The rates that are set at a unit: JSON.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is away.
    pub async fn set_rates(&self, tenant: &TenantId, id: &UnitId) -> Result<Bytes> {
        let records = self.records(tenant);
        let node = Tree::new(&records).node(id).await?.ok_or_else(no_unit)?;
        list_of(&node.set_rates()?)
    }

    /// A rate that is set at a unit: JSON.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is away.
    pub async fn set_rate(&self, tenant: &TenantId, id: &UnitId, key: RateKey) -> Result<Bytes> {
        let records = self.records(tenant);
        let node = Tree::new(&records).node(id).await?.ok_or_else(no_unit)?;
        let rates = node.set_rates()?;
        let rate = rates.get(key).ok_or_else(not_set)?;
        to_json(&rate.answer()?)
    }

    /// Sets one rate at a unit.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Outdated`].
    pub async fn put_rate(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        key: RateKey,
        rate: Rate,
        preconditions: &Preconditions,
    ) -> Result<Edited<(Written, Bytes)>> {
        let rate = NewRate {
            key,
            rate,
            reference: None,
        };
        let plan = |before: Option<&Node>, at: &str| {
            let before = before.ok_or_else(no_unit)?;
            let old = before.set_rates()?;
            preconditions.check(etag_of(old.get(rate.key))?.as_ref())?;
            let mut rates = old.clone();
            let written = match rates.set(&rate, editor.by, at) {
                Outcome::Created => Written::Created,
                Outcome::Updated | Outcome::Unchanged => Written::Replaced,
            };
            let path = |key: RateKey| (key == rate.key).then(|| "$.rateValue".to_owned());
            let after = self.after(before, &old, rates, path)?;
            let set = match &after {
                After::Put(_, rates) => rates.get(rate.key),
                After::Same | After::Removed => old.get(rate.key),
            };
            let set = set.ok_or_else(|| Error::Bug("the rate was not set".to_owned()))?;
            let json = to_json(&set.answer()?)?;
            Ok((after, (written, json)))
        };
        self.edit(editor, id, plan).await
    }

    /// Removes one rate from a unit.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Outdated`].
    pub async fn delete_rate(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        key: RateKey,
        preconditions: &Preconditions,
    ) -> Result<Edited<()>> {
        let plan = |before: Option<&Node>, _: &str| {
            let before = before.ok_or_else(no_unit)?;
            let old = before.set_rates()?;
            let set = old.get(key).ok_or_else(not_set)?;
            preconditions.check(etag_of(Some(set))?.as_ref())?;
            let mut rates = old.clone();
            rates.remove(key);
            Ok((self.after(before, &old, rates, |_| None)?, ()))
        };
        self.edit(editor, id, plan).await
    }

    /// Sets and deletes many rates of a unit at once.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`] with every rate that cannot be set, [`Error::Outdated`].
    pub(self) async fn change_rates(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        bulk: &Bulk,
        preconditions: &Preconditions,
    ) -> Result<Edited<Counts>> {
        let plan = |before: Option<&Node>, at: &str| {
            let before = before.ok_or_else(no_unit)?;
            let old = before.set_rates()?;
            preconditions.check(Some(&etag::of_text(&list_of(&old)?)))?;
            let (mut rates, mut counts) = (old.clone(), Counts::default());
            for rate in &bulk.set {
                match rates.set(&rate.value, editor.by, at) {
                    Outcome::Created => counts.created += 1,
                    Outcome::Updated => counts.updated += 1,
                    Outcome::Unchanged => counts.unchanged += 1,
                }
            }
            for rate in &bulk.delete {
                match rates.remove(rate.value) {
                    true => counts.deleted += 1,
                    false => counts.unchanged += 1,
                }
            }
            let path = |key: RateKey| {
                let rate = bulk.set.iter().find(|rate| rate.value.key == key)?;
                Some(format!("{}.rateValue", rate.path))
            };
            Ok((self.after(before, &old, rates, path)?, counts))
        };
        self.edit(editor, id, plan).await
    }

    /// What is to become of a unit whose rates are these from now on. `path` is where a request sets a rate.
    fn after(
        &self,
        before: &Node,
        old: &SetRates,
        rates: SetRates,
        path: impl Fn(RateKey) -> Option<String>,
    ) -> Result<After> {
        if rates == *old {
            return Ok(After::Same);
        }
        too_many_rates(&rates, "$")?;
        check_together(&self.app, &rates, path)?;
        Ok(After::Put(before.unit().settings.clone(), rates))
    }

    async fn edit<T>(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        plan: impl Fn(Option<&Node>, &str) -> Result<(After, T)>,
    ) -> Result<Edited<T>> {
        let edits = Edits {
            app: &self.app,
            records: &self.records(editor.tenant),
            editor,
        };
        edits.edit(id, plan).await
    }

    /// The rates that a unit uses: JSON.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is away.
    pub async fn used(&self, tenant: &TenantId, id: &UnitId) -> Result<Bytes> {
        used::answer(&used::rates(&self.app, &self.records(tenant), id).await?)
    }

    /// Converts an amount: JSON.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`]; when the store is away.
    pub async fn convert(&self, tenant: &TenantId, conversion: &Conversion) -> Result<Bytes> {
        used::convert(&self.app, &self.records(tenant), conversion).await
    }

    /// The values of a rate over time.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is away.
    pub async fn history(&self, tenant: &TenantId, question: &Question) -> Result<Values> {
        history::values(&self.app, &self.records(tenant), question).await
    }

    /// How far a change has come.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is away.
    async fn change(&self, tenant: &TenantId, correlation: Uuid) -> Result<ChangeAnswer> {
        let (records, key) = (self.records(tenant), change_key(correlation));
        let read = records.get::<Progress>(&key).await?;
        let read =
            read.ok_or_else(|| Error::NotFound("no change has this correlation id".to_owned()))?;
        Ok(read.record.answer(correlation))
    }

    /// Sends all rates again that shops use, of one unit or of all. `is_own` says that the tenant is the caller's.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown unit or tenant; when the store is away.
    pub async fn initial_state(
        &self,
        tenant: &TenantId,
        unit: Option<&UnitId>,
        correlation: Uuid,
        is_own: bool,
    ) -> Result<()> {
        let records = self.records(tenant);
        let plan = async || {
            let walk = match unit {
                Some(id) => {
                    let node = Tree::new(&records).node(id).await?.ok_or_else(no_unit)?;
                    fan_out::walk_of(&node)
                }
                None => Walk::everywhere(),
            };
            let roots = records.scan(&children_prefix(None), None, 1).await?;
            if roots.entries.is_empty() && !is_own {
                let detail = "this tenant has no business units";
                return Err(Error::NotFound(detail.to_owned()));
            }
            let mut change = Change::default();
            let now = self.app.clock.now();
            progress::add_initial_state(&records, &mut change, correlation).await?;
            let reach = Reach::InitialState(walk);
            progress::record(&records, &mut change, correlation, reach, now).await?;
            Ok((change, ()))
        };
        records.change(plan).await
    }

    /// Imports reference rates.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown unit; [`Error::Invalid`] for a day in the future.
    pub async fn import(&self, editor: Editor<'_>, import: &Import) -> Result<Edited<Imported>> {
        import::run(&self.app, &self.records(editor.tenant), editor, import).await
    }

    /// The messages of a tenant, or of all, after a cursor, without end.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn messages(
        &self,
        tenant: Option<&TenantId>,
        filter: Filter,
        after: Cursor,
    ) -> Result<impl Stream<Item = Item> + Send + use<>> {
        Ok(match tenant {
            Some(tenant) => {
                let records = self.records(tenant);
                let messages = topic::follow(&self.hubs, records, tenant, filter, after);
                Either::Left(messages.await?)
            }
            None => {
                let retention = self.app.config.rates.message_retention;
                let messages = topic::follow_all(&self.app, filter, after, retention);
                Either::Right(messages.await?)
            }
        })
    }
}

/// Has the runner do the jobs of a queue, for as long as the application is there.
fn register<F, A>(app: &Arc<App>, queue: Queue, run: F)
where
    F: Fn(Arc<App>, Work) -> A + Send + Sync + 'static,
    A: Future<Output = Result<()>> + Send + 'static,
{
    let weak = Arc::downgrade(app);
    app.runner.register(queue, move |work| {
        let running = weak.upgrade().map(|app| run(app, work));
        async move {
            match running {
                Some(running) => running.await,
                None => Ok(()),
            }
        }
    });
}

fn etag_of(rate: Option<&SetRate>) -> Result<Option<etag::Etag>> {
    let json = rate.map(|rate| to_json(&rate.answer()?)).transpose()?;
    Ok(json.map(|json| etag::of_text(&json)))
}

fn check(preconditions: &Preconditions, before: Option<&Node>) -> Result<()> {
    let json = before.map(|node| answer_of(&node.id, &node.unit().settings));
    let etag = json.transpose()?.map(|json| etag::of_text(&json));
    preconditions.check(etag.as_ref())
}

fn not_set() -> Error {
    Error::NotFound("this rate is not set at the business unit".to_owned())
}

fn too_many_rates(rates: &SetRates, path: &str) -> Result<()> {
    if rates.len() > MAX_SET {
        return Err(Error::invalid(
            path,
            "would set more than 10,000 rates at the business unit",
        ));
    }
    Ok(())
}

/// Has the module check that rates can be set together. `path` is where a request sets a rate; a rate that it does not
/// set is refused because its opposite is deleted.
fn check_together(
    app: &App,
    rates: &SetRates,
    path: impl Fn(RateKey) -> Option<String>,
) -> Result<()> {
    let list: serde_json::Value =
        serde_json::from_slice(&rates.record()?).map_err(|cause| Error::Bug(cause.to_string()))?;
    let asked = math::ask(app, &[json!({ "op": "check", "rates": list })]);
    let faults = match asked {
        Ok(_) => return Ok(()),
        Err(EngineError::Refused(Code::Invalid, faults)) => faults,
        Err(cause) => return Err(cause.into()),
    };
    let faults = faults.into_iter().map(|fault| {
        let index = fault.path.strip_prefix("$.calls[0].rates[");
        let index = index.and_then(|rest| rest.split_once(']')?.0.parse::<usize>().ok());
        let key = index.and_then(|index| rates.iter().nth(index));
        match key {
            Some((key, _)) => match path(key) {
                Some(path) => Fault {
                    path,
                    message: fault.message,
                },
                None => Fault {
                    path: "$".to_owned(),
                    message: format!(
                        "must not delete the rate from {} to {}: the opposite rounds to 0.000000 without it",
                        key.pair.to().as_str(),
                        key.pair.from().as_str()
                    )
                    .into(),
                },
            },
            None => fault,
        }
    });
    Err(Error::Invalid(faults.collect()))
}
