//! A cache of a tenant's webhooks, and of whether it has consumers, kept up to date with the store. Every event and
//! every attempt reads it instead of the store.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use tillgate_base::app::App;
use tillgate_base::data::feed::{Changed, Subscriber, Subscription, keep_fresh};
use tillgate_base::data::per_tenant::{PerTenant, TenantCache};
use tillgate_base::data::records::{Records, decode_entry};
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_store::Entry;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::filter::{Candidate, Filter, Filterable};
use super::quota::CONSUMERS;
use super::webhook::{WEBHOOK, Webhook, webhook_key};

/// The webhooks of a tenant, by id.
pub(crate) type Webhooks = BTreeMap<Uuid, Arc<Webhook>>;

/// The caches of the tenants that were asked for.
#[derive(Debug)]
pub(crate) struct Caches(RwLock<PerTenant<Cache>>);

impl Caches {
    /// Creates caches for about `max` tenants with webhooks.
    pub(crate) fn new(max: usize) -> Self {
        Self(RwLock::new(PerTenant::new(max)))
    }

    /// Returns the webhooks of a tenant, fresh enough to use; reads them from the store the first time.
    pub(crate) async fn of(&self, app: &App, tenant: &TenantId) -> Result<Arc<Webhooks>> {
        let cache = self.cache(app, tenant).await?;
        cache.ensure_fresh(app.clock.now()).await?;
        Ok(cache.webhooks.load_full())
    }

    /// Returns whether a tenant has consumers, as fresh as its webhooks.
    pub(crate) async fn has_consumers(&self, app: &App, tenant: &TenantId) -> Result<bool> {
        let cache = self.cache(app, tenant).await?;
        cache.ensure_fresh(app.clock.now()).await?;
        Ok(cache.has_consumers.load(Ordering::Relaxed))
    }

    /// Brings the cache of a tenant up to date with what was just written.
    pub(crate) async fn catch_up(&self, app: &App, tenant: &TenantId) -> Result<()> {
        self.cache(app, tenant).await?.catch_up().await
    }

    /// Returns the number of cached tenants, and of their webhooks.
    pub(crate) fn size(&self) -> (usize, usize) {
        let caches = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let webhooks = caches.all().map(|cache| cache.webhooks.load().len());
        (caches.all().len(), webhooks.sum())
    }

    /// Returns the age of the oldest cache that was asked for recently.
    pub(crate) fn age(&self, now: Timestamp) -> Duration {
        let caches = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let ages = caches.all();
        let ages = ages.filter_map(|cache| cache.subscription.age_if_used(now));
        ages.max().unwrap_or_default()
    }

    fn known(&self, tenant: &TenantId) -> Option<Arc<Cache>> {
        let caches = self.0.read().unwrap_or_else(PoisonError::into_inner);
        caches.get(tenant).cloned()
    }

    async fn cache(&self, app: &App, tenant: &TenantId) -> Result<Arc<Cache>> {
        if let Some(known) = self.known(tenant) {
            return Ok(known);
        }
        let records = app.records(tenant.partition());
        let (store, partition) = (Arc::clone(records.store()), records.partition().clone());
        let cache = Arc::new(Cache {
            subscription: Subscription::new(store, partition, Arc::clone(&app.clock)),
            records,
            webhooks: ArcSwap::default(),
            has_consumers: AtomicBool::default(),
        });
        cache.catch_up().await?;
        let mut caches = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let (cache, dropped) = caches.get_or_insert(tenant, || {
            keep_fresh(&cache);
            cache
        });
        drop(caches);
        drop(dropped);
        Ok(cache)
    }
}

#[derive(Debug)]
struct Cache {
    records: Records,
    subscription: Subscription,
    webhooks: ArcSwap<Webhooks>,
    has_consumers: AtomicBool,
}

impl TenantCache for Cache {
    fn is_empty(&self) -> bool {
        self.webhooks.load().is_empty()
    }
}

impl Cache {
    async fn read_all(&self) -> Result<Webhooks> {
        let all = self.records.all::<Webhook>(WEBHOOK).await?;
        Ok(all
            .into_iter()
            .map(|(_, webhook)| (webhook.id, Arc::new(webhook)))
            .collect())
    }

    async fn read_keys(&self, keys: &[String]) -> Result<Webhooks> {
        let mut webhooks = Webhooks::clone(&self.webhooks.load());
        let ids = keys.iter().filter_map(|key| id_of(key));
        let keys: Vec<String> = ids.clone().map(webhook_key).collect();
        let entries = self.records.entries(&keys).await?;
        for ((id, key), entry) in ids.zip(&keys).zip(entries) {
            match entry {
                Some(entry) => webhooks.insert(id, read(key, &entry)?),
                None => webhooks.remove(&id),
            };
        }
        Ok(webhooks)
    }
}

impl Subscriber for Cache {
    fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    fn has_listeners(&self) -> bool {
        false
    }

    async fn apply(&self, changed: Changed) -> Result<()> {
        let is_count = |key: &String| key == CONSUMERS.count_key;
        if !matches!(&changed, Changed::Keys(keys) if !keys.iter().any(is_count)) {
            let count = self.records.get_bytes(CONSUMERS.count_key).await?;
            self.has_consumers.store(count.is_some(), Ordering::Relaxed);
        }
        let webhooks = match changed {
            Changed::Everything => self.read_all().await?,
            Changed::Keys(keys) if keys.iter().any(|key| id_of(key).is_some()) => {
                self.read_keys(&keys).await?
            }
            // The change feed of a tenant also reports its conditions and projects.
            Changed::Keys(_) => return Ok(()),
        };
        self.webhooks.store(Arc::new(webhooks));
        Ok(())
    }
}

/// Returns the webhooks that an event is for. One that is disabled, by its owner or the service, gets it once it is
/// enabled, if that is soon.
pub(crate) fn wanting<'w>(
    all: impl Iterator<Item = &'w Arc<Webhook>>,
    event: &dyn Filterable,
) -> Vec<Uuid> {
    let all: Vec<_> = all
        .filter(|webhook| webhook.wants(event.event_type()))
        .collect();
    let filters = all.iter().filter_map(|it| it.settings.filter.as_ref());
    let candidate = Candidate::new(event, filters.flat_map(Filter::data_paths));
    let lets_through = |filter: &Filter| filter.matches(&candidate);
    all.iter()
        .filter(|webhook| webhook.settings.filter.as_ref().is_none_or(lets_through))
        .map(|webhook| webhook.id)
        .collect()
}

fn id_of(key: &str) -> Option<Uuid> {
    Uuid::try_parse(key.strip_prefix(WEBHOOK)?).ok()
}

fn read(key: &str, entry: &Entry) -> Result<Arc<Webhook>> {
    Ok(Arc::new(decode_entry::<Webhook>(key, entry)?.record))
}
