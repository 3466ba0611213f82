//! Exchange rates: business units, the rates that are set at them, the rates that each shop uses, and the topic that
//! announces every change of those (`rates.md`).
//!
//! A change edits one unit in one commit. The shops below it follow in the background, with one commit for each page of
//! shops. The module does the math. Each part imports only the parts before it; read them in this order:
//!
//! 1. `units`: the tree of units and the rates that are set at them, as they are stored and answered.
//! 2. [`topic`]: the messages and how they are followed.
//! 3. `shop`: the rates that shops use, their differences, and publishing them.
//! 4. `change`: `edit`, then the fan-out.
//! 5. [`reference`](mod@reference): rates from the European Central Bank.
//! 6. `body` and [`http`], which read requests; `retention`, which removes old data.
//!
//! This file starts the feature and takes in changes; handlers that only read call the parts directly.

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
use schemars::{Schema, SchemaGenerator};
use tillgate_api::schema::schema_of;
use tillgate_api::{describe, read};
use tillgate_base::app::App;
use tillgate_base::data::etag::{Etag, Preconditions, Written};
use tillgate_base::data::quota::Usage;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{By, TenantId};
use tillgate_base::jobs::{Queue, Scope, Work};
use tillgate_engine::rate::RateKey;

pub use self::change::author::Editor;
pub use self::change::dry_run::DryRun;
use self::change::passes::{self, Passes};
use self::change::plan::{self, Bulk, RateCounts};
pub use self::change::unit_edit::Edited;
use self::change::unit_edit::Edits;
use self::change::{dry_run, fan_out, progress, shop_page};
use self::reference::ages::{self, Ages};
pub use self::reference::import::{Import, Imported};
use self::reference::{import, schedule};
use self::topic::{Cursor, Filter, Hubs, Item};
use self::units::reading::{ReadCache, Reading};
use self::units::reference_dates;
pub use self::units::set_rates::NewRate;
pub use self::units::unit::{PairMarkup, PairTolerance, UnitId, UnitSettings, UnitType};
use self::units::unit::{UnitAnswer, no_unit};
pub use self::units::usage::RatesUsage;
use self::units::usage::{self, Counts, Quotas};

/// The exchange rates of every tenant.
#[derive(Debug)]
pub struct Rates {
    app: Arc<App>,
    hubs: Hubs,
    passes: Passes,
    read_cache: ReadCache,
}

/// The memory that an edit takes for each rate, in bytes: for the record as it is read and written, and for a call of
/// the module.
const BYTES_OF_RATE: usize = 1 << 10;

impl Rates {
    /// Starts the queues of the feature.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn start(app: &Arc<App>) -> Result<Self> {
        // Changes of one tenant run one after the other, because concurrent ones would compute the same shops again.
        let fan_out = Queue {
            per_partition: 1,
            lease: fan_out::LEASE,
            ..Queue::new(progress::FAN_OUT, Scope::AllPartitions)
        };
        let counters = shop_page::Counters::new(&app.metrics);
        register(app, fan_out, move |app, work| {
            fan_out::run(app, counters.clone(), work)
        });
        let retention = Queue::new(progress::RETENTION, Scope::AllPartitions);
        register(app, retention, retention::run);
        let schedule = Queue::new(schedule::QUEUE, Scope::AllPartitions);
        register(app, schedule, schedule::run);
        let dates = Queue::new(reference_dates::QUEUE, Scope::AllPartitions);
        let ages = Ages::start(app);
        register(app, dates, move |app, work| {
            ages::run(app, Arc::clone(&ages), work)
        });
        schedule::start(app).await?;
        Ok(Self {
            app: Arc::clone(app),
            hubs: Hubs::default(),
            passes: Passes::until(app.stopping()),
            read_cache: ReadCache::new()?,
        })
    }

    /// Returns the bytes that an edit of these units takes: for the rates of them and of the units above, and for the
    /// pages of a dry run.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    async fn bytes_of_edit(&self, editor: &Editor<'_>, units: &[&UnitId]) -> Result<usize> {
        let records = self.records(editor.tenant);
        let mut bytes = if editor.dry_run {
            dry_run::MAX_BYTES
        } else {
            0
        };
        for unit in units {
            bytes += BYTES_OF_RATE * usage::rates_from(&records, unit).await?;
        }
        Ok(bytes)
    }

    /// Creates or replaces a business unit. Returns its JSON: `{ id, type, parentId?, name?, markupPercentage?,
    /// markups?, tolerancePercentage?, tolerances?, managedBy?, lastModifiedBy? }`.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the unit's place in the tree is not allowed; [`Error::Outdated`] when a precondition
    /// does not hold; [`Error::Unavailable`].
    pub async fn put_unit(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        settings: &UnitSettings,
        preconditions: &Preconditions,
    ) -> Result<Edited<(Written, Bytes)>> {
        let by = By::new(editor.by, editor.name);
        let edit = self.edits(editor);
        edit.edit(id, |before, _| {
            plan::put_unit(before, id, settings, preconditions, &by)
        })
        .await
    }

    /// Removes a business unit that has none below it, with the rates that are set at it. `rates_version` is the entity
    /// tag that the list of these rates must have.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a dry run; [`Error::NotFound`], [`Error::Conflict`], [`Error::Outdated`],
    /// [`Error::Unavailable`].
    pub async fn delete_unit(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        preconditions: &Preconditions,
        rates_version: Option<&str>,
    ) -> Result<Edited<()>> {
        if editor.dry_run {
            let message = "is not supported here: a business unit can be deleted only if it has none below it";
            return Err(Error::invalid("$.dryRun", message));
        }
        let edit = self.edits(editor);
        edit.edit(id, |before, _| {
            plan::delete_unit(
                before.ok_or_else(|| no_unit(id))?,
                preconditions,
                rates_version,
            )
        })
        .await
    }

    /// Sets one rate at a unit. Returns its JSON: `{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue,
    /// createdDate, createdBy?, lastModified?, reference?, managedBy? }`.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::ConflictList`] when the rate would move by more than its
    /// tolerance, [`Error::Outdated`], [`Error::Unavailable`].
    pub async fn put_rate(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        new: &NewRate,
        preconditions: &Preconditions,
    ) -> Result<Edited<(Written, Bytes)>> {
        let edit = self.edits(editor);
        edit.edit(id, |before, at| {
            let unit = before.ok_or_else(|| no_unit(id))?;
            plan::put_rate(unit, new, preconditions, edit.editor.by, at)
        })
        .await
    }

    /// Removes one rate from a unit.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Outdated`], [`Error::Unavailable`].
    pub async fn delete_rate(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        key: RateKey,
        preconditions: &Preconditions,
    ) -> Result<Edited<()>> {
        let edit = self.edits(editor);
        edit.edit(id, |before, _| {
            plan::delete_rate(before.ok_or_else(|| no_unit(id))?, key, preconditions)
        })
        .await
    }

    /// Sets and deletes many rates of a unit at once. Returns the counts and the entity tag of the resulting list.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`] with every rate that cannot be set, [`Error::ConflictList`] with every
    /// rate that would move by more than its tolerance, [`Error::Outdated`], [`Error::Unavailable`].
    async fn change_rates(
        &self,
        editor: Editor<'_>,
        id: &UnitId,
        bulk: &Bulk,
        preconditions: &Preconditions,
    ) -> Result<Edited<(RateCounts, Etag)>> {
        let edit = self.edits(editor);
        edit.edit(id, |before, at| {
            let unit = before.ok_or_else(|| no_unit(id))?;
            plan::change_rates(unit, bulk, preconditions, edit.editor.by, at)
        })
        .await
    }

    /// Imports reference rates.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown unit; [`Error::Invalid`] for a day in the future or for rates that cannot be
    /// set together; [`Error::Unavailable`].
    pub async fn import(&self, editor: Editor<'_>, import: &Import) -> Result<Edited<Imported>> {
        import::run(&self.edits(editor), import).await
    }

    /// Returns an endless stream of the messages after a cursor, of one tenant or of all.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn messages(
        &self,
        tenant: Option<&TenantId>,
        filter: Filter,
        after: Cursor,
    ) -> Result<impl Stream<Item = Item> + Send + use<>> {
        Ok(match tenant {
            Some(tenant) => {
                let store = (self.records(tenant), Arc::clone(&self.app.clock));
                let messages = topic::follow(&self.hubs, store, tenant, filter, after);
                Either::Left(messages.await?)
            }
            None => {
                let retention = self.app.config.rates.message_retention;
                let messages = topic::follow_all(&self.app, filter, after, retention);
                Either::Right(messages.await?)
            }
        })
    }

    /// Returns how much of its quotas a tenant uses.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn usage(&self, tenant: &TenantId) -> Result<RatesUsage> {
        let (records, config) = (self.records(tenant), &self.app.config);
        let passes = passes::count(&records).await?;
        let passes = Usage::of(passes, config.quotas.rate_passes);
        let counts = Counts::read(&records).await?;
        Ok(counts.usage(&Quotas::of(config), passes))
    }

    fn reading(&self, tenant: &TenantId) -> Reading<'_> {
        Reading {
            app: &self.app,
            records: self.records(tenant),
            cache: &self.read_cache,
        }
    }

    fn records(&self, tenant: &TenantId) -> Records {
        self.app.records(tenant.partition())
    }

    fn edits<'a>(&'a self, editor: Editor<'a>) -> Edits<'a> {
        Edits {
            app: &self.app,
            records: self.records(editor.tenant),
            passes: &self.passes,
            editor,
        }
    }
}

/// Returns the schemas of the body of a business unit's PUT and of a business unit.
pub fn unit_schemas(generator: &mut SchemaGenerator) -> (Schema, Schema) {
    let body = describe(generator, body::unit);
    (body, schema_of::<UnitAnswer<'_>>(generator))
}

/// Checks the body of a business unit's PUT.
///
/// # Errors
/// [`Error::Invalid`] with every fault.
pub fn check_unit(document: &[u8]) -> Result<()> {
    read(&document.into(), body::unit)?;
    Ok(())
}

/// Registers a queue with the runner, which does its jobs for as long as the application exists.
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
