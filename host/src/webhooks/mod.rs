//! Webhooks: events that a customer's endpoint has asked for, delivered with proof of who sent them, and never lost once
//! they were accepted (`webhooks.md`).
//!
//! An event is accepted in one commit with its deliveries and their jobs (`event.rs`, `delivery.rs`). A job is one
//! attempt (`deliver.rs`): the lane of its webhook lets it pass (`lane.rs`), it is sent (`send.rs`), and what has come of
//! it is written in one commit (`outcomes.rs`). `journal.rs` and `health.rs` read what these have written; `replay.rs`,
//! `release.rs` and `retention.rs` go through it in the background. `listener/` has deliveries forwarded by a developer's
//! own machine, which this service cannot reach.

mod delivery;
mod document;
mod events;
pub mod http;
mod journal;
mod listener;
mod registry;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use uuid::Uuid;

use self::delivery::deliver::{self, failing_key};
pub use self::delivery::identity_provider::IdentityProvider;
use self::delivery::lane::Lanes;
use self::delivery::measured::{self, Measured};
use self::delivery::messages::Messages;
use self::delivery::outcomes::Outcomes;
use self::delivery::send::{Message, Outcome, Sender};
use self::events::event::{self, NewEvent};
use self::events::{delivery as deliveries, fan_out, publish};
use self::journal::{release, replay, retention};
use self::listener::Live;
use self::registry::body::NewWebhook;
use self::registry::cache::Caches;
use self::registry::secrets::{generate_key, with_secrets};
use self::registry::webhook::{Disabled, Reason, Webhook, webhook_key};
use crate::app::App;
use crate::data::etag::{self, Etag, Preconditions};
use crate::data::records::{Change, Records, Versioned};
use crate::egress::Names;
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::jobs::{Queue, Scope, Work};

/// The type of the events of webhooks themselves.
const WEBHOOK_EVENTS: &str = "webhooks.events.v1";

/// The type of test events.
const PING: &str = "exe.events.v1";

/// How many webhooks are tried out at once on this host.
const MAX_TRIALS: usize = 32;

/// How many webhooks a tenant may have.
const MAX_WEBHOOKS: usize = 1_000;

/// How many deliveries are worked at: first attempts and later ones, on this host and of one tenant.
const FIRST_AT_ONCE: (usize, usize) = (256, 128);
const LATER_AT_ONCE: (usize, usize) = (128, 64);

/// How long an attempt may take together with what is written of it.
const LEASE: Duration = Duration::from_secs(30);

/// The webhooks of every tenant.
#[derive(Debug)]
pub struct Webhooks {
    app: Arc<App>,
    identity: IdentityProvider,
    caches: Caches,
    lanes: Lanes,
    sender: Sender,
    messages: Messages,
    outcomes: Outcomes,
    measured: Measured,
    listeners: Live,
    /// As many permits as webhooks may be tried out at once.
    trials: Semaphore,
}

impl Webhooks {
    /// Starts the queues of the feature. `names` finds the addresses of receivers.
    ///
    /// # Errors
    /// When the store is away, or a setting is wrong.
    pub async fn start(app: &Arc<App>, names: Arc<dyn Names>) -> Result<Arc<Self>> {
        let settings = &app.config.webhooks;
        let webhooks = Arc::new(Self {
            identity: IdentityProvider::start(app).await?,
            caches: Caches::default(),
            lanes: Lanes::new(settings.max_in_flight),
            sender: Sender::new(settings, names)?,
            messages: Messages::default(),
            outcomes: Outcomes::new(),
            measured: Measured::new(&app.metrics),
            listeners: Live::default(),
            trials: Semaphore::new(MAX_TRIALS),
            app: Arc::clone(app),
        });
        webhooks.register(attempts(deliveries::FIRST, FIRST_AT_ONCE), deliver::run);
        webhooks.register(attempts(deliveries::LATER, LATER_AT_ONCE), deliver::run);
        let queue = |name| Queue {
            per_partition: 1,
            ..Queue::new(name, Scope::AllPartitions)
        };
        webhooks.register(queue(event::FAN_OUT), fan_out::run);
        webhooks.register(queue(replay::QUEUE), replay::run);
        webhooks.register(queue(release::QUEUE), release::run);
        webhooks.register(queue(retention::QUEUE), retention::run);
        webhooks.register(queue(listener::QUEUE), listener::run);
        publish::follow_outbox(app);
        measured::measure(&webhooks);
        Ok(webhooks)
    }

    /// Has the runner do the jobs of a queue, for as long as the feature is there.
    fn register<A>(self: &Arc<Self>, queue: Queue, run: fn(Arc<Self>, Work) -> A)
    where
        A: Future<Output = Result<()>> + Send + 'static,
    {
        let weak = Arc::downgrade(self);
        self.app.runner.register(queue, move |work| {
            let running = weak.upgrade().map(|webhooks| run(webhooks, work));
            async move {
                match running {
                    Some(running) => running.await,
                    None => Ok(()),
                }
            }
        });
    }

    /// Who this service is to receivers.
    #[must_use]
    pub const fn identity(&self) -> &IdentityProvider {
        &self.identity
    }

    fn records(&self, tenant: &TenantId) -> Records {
        self.app.records(tenant.partition())
    }

    /// A tenant's webhooks, by name.
    ///
    /// # Errors
    /// When the store is away.
    async fn list(&self, tenant: &TenantId) -> Result<Vec<Arc<Webhook>>> {
        let all = self.caches.of(&self.app, tenant).await?;
        let mut all: Vec<_> = all.values().cloned().collect();
        all.sort_by(|a, b| (&a.settings.name, a.id).cmp(&(&b.settings.name, b.id)));
        Ok(all)
    }

    /// A webhook.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is away.
    async fn get(&self, tenant: &TenantId, id: Uuid) -> Result<Arc<Webhook>> {
        let all = self.caches.of(&self.app, tenant).await?;
        all.get(&id).cloned().ok_or_else(no_webhook)
    }

    /// Creates a webhook; answers the shared key too when it was made here.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::Conflict`] when there are too many; when the store is away.
    async fn create(&self, tenant: &TenantId, new: NewWebhook) -> Result<(Webhook, bool)> {
        let all = self.caches.of(&self.app, tenant).await?;
        if all.len() >= MAX_WEBHOOKS {
            let detail = format!("a tenant has at most {MAX_WEBHOOKS} webhooks");
            return Err(Error::Conflict(detail));
        }
        let (settings, is_made) = with_secrets(new, None)?;
        let now = self.app.clock.now();
        let webhook = Webhook {
            id: Uuid::new_v4(),
            settings,
            disabled: None,
            seat: None,
            created_at: now,
            last_modified: now,
        };
        let key = webhook_key(webhook.id);
        let mut change = Change::default();
        change.put(&key, &webhook)?;
        change.notify(&key);
        retention::begin(&mut change, now);
        self.records(tenant).commit(change).await?;
        self.caches.catch_up(&self.app, tenant).await?;
        Ok((webhook, is_made))
    }

    /// Replaces a webhook; answers what it was, what it is, and whether its shared key was made here.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Outdated`]; when the store is away.
    async fn replace(
        &self,
        tenant: &TenantId,
        id: Uuid,
        new: NewWebhook,
        preconditions: &Preconditions,
    ) -> Result<([Webhook; 2], bool)> {
        let (settings, is_made) = {
            let stored = self.get(tenant, id).await?;
            with_secrets(new, Some(&stored.settings))?
        };
        let edit = |webhook: &mut Webhook| {
            preconditions.check(Some(&etag_of(webhook)?))?;
            // Its URL is the audience of tokens that its listener sees: no other receiver's may stand there.
            if webhook.seat.is_some() {
                let detail = "a temporary webhook cannot be changed: remove it and create another";
                return Err(Error::Conflict(detail.to_owned()));
            }
            if settings.enabled {
                webhook.disabled = None;
            }
            webhook.settings = settings.clone();
            Ok(())
        };
        Ok((self.edit(tenant, id, edit).await?, is_made))
    }

    /// Gives a webhook a new shared key; answers what it was and what it is.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is away.
    async fn rotate_key(&self, tenant: &TenantId, id: Uuid) -> Result<[Webhook; 2]> {
        let key = generate_key()?;
        let edit = |webhook: &mut Webhook| {
            webhook.settings.shared_key = Some(key.clone());
            Ok(())
        };
        self.edit(tenant, id, edit).await
    }

    async fn edit(
        &self,
        tenant: &TenantId,
        id: Uuid,
        edit: impl Fn(&mut Webhook) -> Result<()>,
    ) -> Result<[Webhook; 2]> {
        let (records, key) = (self.records(tenant), webhook_key(id));
        let plan = async || {
            let mut read = records.get::<Webhook>(&key).await?.ok_or_else(no_webhook)?;
            let mut change = Change::default();
            change.expect(&key, Some(&read));
            let before = read.record.clone();
            edit(&mut read.record)?;
            if read.record == before {
                return Ok((Change::default(), [before, read.record]));
            }
            let now = self.app.clock.now();
            read.record.last_modified = now;
            change.put(&key, &read.record)?;
            change.notify(&key);
            if read.record.is_enabled() && !before.is_enabled() {
                // Five more days from now, and what was held is sent.
                change.delete(&failing_key(id));
                change.enqueue(release::QUEUE, &id.to_string(), now, bytes::Bytes::new());
            }
            Ok((change, [before, read.record]))
        };
        let edited = records.change(plan).await?;
        self.lanes.forget(tenant, id);
        self.caches.catch_up(&self.app, tenant).await?;
        Ok(edited)
    }

    /// Removes a webhook; answers what it was. What was not delivered fails when its time comes.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Outdated`]; when the store is away.
    async fn delete(
        &self,
        tenant: &TenantId,
        id: Uuid,
        preconditions: &Preconditions,
    ) -> Result<Webhook> {
        let (records, key) = (self.records(tenant), webhook_key(id));
        let plan = async || {
            let read = records.get::<Webhook>(&key).await?.ok_or_else(no_webhook)?;
            preconditions.check(Some(&etag_of(&read.record)?))?;
            let mut change = Change::default();
            change.expect(&key, Some(&read));
            self.remove(&mut change, &read.record)?;
            Ok((change, read.record))
        };
        let removed = records.change(plan).await?;
        self.lanes.forget(tenant, id);
        self.caches.catch_up(&self.app, tenant).await?;
        Ok(removed)
    }

    /// Adds to a change what removes a webhook.
    fn remove(&self, change: &mut Change, webhook: &Webhook) -> Result<()> {
        let key = webhook_key(webhook.id);
        change.delete(&key);
        change.delete(&failing_key(webhook.id));
        change.notify(&key);
        match webhook.seat {
            Some(seat) => listener::leave(change, webhook.id, seat, self.app.clock.now()),
            None => Ok(()),
        }
    }

    /// Disables a webhook whose receiver is gone or fails, and tells the tenant's other webhooks.
    async fn disable(&self, tenant: &TenantId, id: Uuid, reason: Reason) -> Result<()> {
        let (records, key) = (self.records(tenant), webhook_key(id));
        let others = self.list(tenant).await?;
        let plan = async || {
            let mut change = Change::default();
            let read: Option<Versioned<Webhook>> = records.get(&key).await?;
            let Some(mut read) = read.filter(|read| read.record.is_enabled()) else {
                return Ok((change, false));
            };
            change.expect(&key, Some(&read));
            let now = self.app.clock.now();
            read.record.disabled = Some(Disabled { reason, at: now });
            read.record.last_modified = now;
            change.put(&key, &read.record)?;
            change.notify(&key);
            let data = serde_json::json!({ "action": "DISABLED", "id": id, "reason": reason });
            let event = NewEvent::own(WEBHOOK_EVENTS, &data, now, Uuid::new_v4());
            let wants = |other: &&Arc<Webhook>| other.id != id && other.wants(WEBHOOK_EVENTS);
            let told: Vec<Uuid> = others.iter().filter(wants).map(|other| other.id).collect();
            if !told.is_empty() {
                let settings = &self.app.config.webhooks;
                let first_try = |webhook| self.lanes.first_try(tenant, webhook, now);
                event::accept(&mut change, &event, &told, settings, now, first_try)?;
            }
            Ok((change, true))
        };
        if records.change(plan).await? {
            tracing::warn!(%tenant, webhook = %id, ?reason, "a webhook was disabled");
            self.caches.catch_up(&self.app, tenant).await?;
        }
        Ok(())
    }

    /// Sends a test event to a webhook as it would be, and waits for what comes of it. Nothing is stored.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::NotFound`], [`Error::TooMany`].
    async fn try_out(
        &self,
        tenant: &TenantId,
        new: NewWebhook,
        correlation: Uuid,
    ) -> Result<Outcome> {
        let too_many = |_| Error::TooMany {
            detail: "too many webhooks are being tried out".to_owned(),
            retry_after: Duration::from_secs(1),
        };
        let _permit = self.trials.try_acquire().map_err(too_many)?;
        let stored = match new.id {
            Some(id) => Some(self.get(tenant, id).await?),
            None => None,
        };
        let stored = stored.as_ref().map(|webhook| &webhook.settings);
        let (settings, _) = with_secrets(new, stored)?;
        let event = publish::ping(self.app.clock.now(), correlation);
        let id = Uuid::new_v4().to_string();
        let envelope = event.envelope(&id, &self.app.config.webhooks);
        let message = Arc::new(Message {
            event_id: id,
            correlation,
            envelope,
        });
        let clock = self.app.clock.as_ref();
        self.sender
            .send(&self.identity, &settings, message, clock)
            .await
    }
}

/// A queue of attempts.
fn attempts(name: &'static str, (concurrency, per_partition): (usize, usize)) -> Queue {
    Queue {
        concurrency,
        per_partition,
        lease: LEASE,
        // Retries are the delivery's own; a job fails only by the fault of this side.
        ..Queue::new(name, Scope::AllPartitions)
    }
}

fn etag_of(webhook: &Webhook) -> Result<Etag> {
    etag::of_json(&webhook.answer())
}

fn no_webhook() -> Error {
    Error::NotFound("there is no webhook with this id".to_owned())
}
