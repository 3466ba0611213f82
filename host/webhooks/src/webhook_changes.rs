//! The resource: creates, changes and removes webhooks (`webhooks.md`, "Resource").
//!
//! A change of a webhook affects what other modules store about it: enabling it again releases its held deliveries.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tillgate_api::problem::WEBHOOK_DISABLED;
use tillgate_base::data::etag::Preconditions;
use tillgate_base::data::records::Change;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{By, TenantId};
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::Webhooks;
use super::delivery::disable::{Failing, failing_key};
use super::delivery::hold::RELEASES;
use super::journal::retention;
use super::registry::body::NewWebhook;
use super::registry::quota::WEBHOOKS;
use super::registry::secrets::{generate_key, with_secrets};
use super::registry::webhook::{Settings, Webhook, no_webhook, webhook_key};

impl Webhooks {
    /// Returns a tenant's webhooks, sorted by name.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(super) async fn list(&self, tenant: &TenantId) -> Result<Vec<Arc<Webhook>>> {
        let all = self.caches.of(&self.app, tenant).await?;
        let now = self.app.clock.now();
        let all = all.values().cloned();
        let mut all: Vec<_> = all.map(|webhook| webhook.as_of(now)).collect();
        all.sort_by(|a, b| (&a.settings.name, a.id).cmp(&(&b.settings.name, b.id)));
        Ok(all)
    }

    /// Returns a webhook.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is unavailable.
    pub(super) async fn get(&self, tenant: &TenantId, id: Uuid) -> Result<Arc<Webhook>> {
        let all = self.caches.of(&self.app, tenant).await?;
        let webhook = all.get(&id).cloned().ok_or_else(|| no_webhook(id))?;
        Ok(webhook.as_of(self.app.clock.now()))
    }

    /// Creates a webhook; returns it, and whether its shared key was generated here.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::Conflict`] when there are too many; when the store is unavailable.
    pub(super) async fn create(
        &self,
        tenant: &TenantId,
        by: &By,
        new: NewWebhook,
    ) -> Result<(Webhook, bool)> {
        let settings = with_secrets(&new, None)?;
        self.check_address(&settings)?;
        let (records, id) = (self.records(tenant), Uuid::new_v4());
        let plan = async || {
            let now = self.app.clock.now();
            let webhook = Webhook {
                id,
                settings: settings.clone(),
                disabled: None,
                created_at: now,
                last_modified: now,
                last_modified_by: Some(by.clone()),
                key_changed_at: Some(now),
                resumed_at: None,
            };
            let (mut change, key) = (Change::default(), webhook_key(id));
            WEBHOOKS
                .add_one(&records, &mut change, self.app.config.quotas.webhooks)
                .await?;
            change.put(&key, &webhook)?;
            change.notify(&key);
            retention::begin(&mut change, now);
            Ok((change, webhook))
        };
        let webhook = records.change(plan).await?;
        self.caches.catch_up(&self.app, tenant).await?;
        Ok((webhook, new.makes_key()))
    }

    /// Replaces a webhook; returns it before and after the change, and whether its shared key was generated here.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Outdated`]; when the store is unavailable.
    pub(super) async fn replace(
        &self,
        tenant: &TenantId,
        by: &By,
        id: Uuid,
        new: NewWebhook,
        preconditions: &Preconditions,
    ) -> Result<([Webhook; 2], bool)> {
        let edit = |webhook: &mut Webhook, _| {
            preconditions.check(Some(&webhook.etag()?))?;
            // The request keeps secrets of what this commit replaces, which may have changed since the request arrived.
            let settings = with_secrets(&new, Some(&webhook.settings))?;
            if settings.callback_url != webhook.settings.callback_url {
                self.check_address(&settings)?;
            }
            webhook.settings = settings;
            if webhook.settings.enabled {
                webhook.disabled = None;
            }
            Ok(())
        };
        Ok((self.edit(tenant, by, id, edit).await?, new.makes_key()))
    }

    /// Gives a webhook a new shared key, and keeps signing with the old one as well for `overlap`; returns the webhook
    /// before and after the change.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is unavailable.
    pub(super) async fn rotate_key(
        &self,
        tenant: &TenantId,
        by: &By,
        id: Uuid,
        overlap: Duration,
    ) -> Result<[Webhook; 2]> {
        let key = generate_key()?;
        let edit = |webhook: &mut Webhook, now| {
            webhook.rotate_key(key.clone(), now, overlap);
            Ok(())
        };
        self.edit(tenant, by, id, edit).await
    }

    /// Makes every host send again to a webhook that failures paused, including the deliveries that were tried before.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] when it is disabled; when the store is unavailable.
    pub(super) async fn resume(&self, tenant: &TenantId, id: Uuid) -> Result<()> {
        let (records, key) = (self.records(tenant), webhook_key(id));
        let plan = async || {
            let mut read = records
                .get::<Webhook>(&key)
                .await?
                .ok_or_else(|| no_webhook(id))?;
            if !read.record.is_enabled() {
                let detail = "the webhook is disabled, not paused: enable it";
                return Err(Error::Conflict(WEBHOOK_DISABLED, detail.to_owned()));
            }
            let failing = records.get::<Failing>(&failing_key(id)).await?;
            let now = self.app.clock.now();
            let mut change = Change::default();
            change.expect(&key, Some(&read));
            read.record.resumed_at = Some(now);
            change.put(&key, &read.record)?;
            change.notify(&key);
            if failing.is_some() {
                change.enqueue(RELEASES, &id.to_string(), now, Bytes::new());
            }
            Ok((change, ()))
        };
        records.change(plan).await?;
        self.limiters.forget(tenant, id);
        self.caches.catch_up(&self.app, tenant).await
    }

    fn check_address(&self, settings: &Settings) -> Result<()> {
        if self.sender.refuses(&settings.callback_url) {
            let rule = "must have an address of the public internet, or one that webhooks.allow_private allows";
            return Err(Error::invalid("$.callbackUrl", rule));
        }
        Ok(())
    }

    async fn edit(
        &self,
        tenant: &TenantId,
        by: &By,
        id: Uuid,
        edit: impl Fn(&mut Webhook, Timestamp) -> Result<()>,
    ) -> Result<[Webhook; 2]> {
        let (records, key) = (self.records(tenant), webhook_key(id));
        let plan = async || {
            let mut read = records
                .get::<Webhook>(&key)
                .await?
                .ok_or_else(|| no_webhook(id))?;
            let mut change = Change::default();
            change.expect(&key, Some(&read));
            let now = self.app.clock.now();
            read.record.end_previous_key(now);
            let before = read.record.clone();
            edit(&mut read.record, now)?;
            if read.record == before {
                return Ok((Change::default(), [before, read.record]));
            }
            read.record.last_modified = now;
            read.record.last_modified_by = Some(by.clone());
            if read.record.settings.shared_key != before.settings.shared_key {
                read.record.key_changed_at = Some(now);
            }
            change.put(&key, &read.record)?;
            change.notify(&key);
            if read.record.is_enabled() && !before.is_enabled() {
                // It gets the full time again before it counts as failing, and its waiting deliveries are sent.
                change.delete(&failing_key(id));
                change.enqueue(RELEASES, &id.to_string(), now, Bytes::new());
            }
            Ok((change, [before, read.record]))
        };
        let edited = records.change(plan).await?;
        self.limiters.forget(tenant, id);
        self.caches.catch_up(&self.app, tenant).await?;
        Ok(edited)
    }

    /// Removes a webhook and returns it. Deliveries that still wait fail when they are due.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Outdated`]; when the store is unavailable.
    pub(super) async fn delete(
        &self,
        tenant: &TenantId,
        id: Uuid,
        preconditions: &Preconditions,
    ) -> Result<Webhook> {
        let (records, key) = (self.records(tenant), webhook_key(id));
        let plan = async || {
            let mut read = records
                .get::<Webhook>(&key)
                .await?
                .ok_or_else(|| no_webhook(id))?;
            let mut change = Change::default();
            change.expect(&key, Some(&read));
            read.record.end_previous_key(self.app.clock.now());
            preconditions.check(Some(&read.record.etag()?))?;
            WEBHOOKS.remove_one(&records, &mut change).await?;
            change.delete(&key);
            change.delete(&failing_key(id));
            change.notify(&key);
            Ok((change, read.record))
        };
        let removed = records.change(plan).await?;
        self.limiters.forget(tenant, id);
        self.caches.catch_up(&self.app, tenant).await?;
        Ok(removed)
    }
}
