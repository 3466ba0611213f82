//! Quotas: how much a tenant may configure, and how much it does.

use serde::Serialize;

use super::Conditions;
use super::cache::Content;
use super::write::{CONDITION_EVENTS, Owner, Target};
use crate::data::quota::Usage;
use crate::error::{Error, Result};
use crate::identity::TenantId;

/// How much a tenant has configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Configured {
    /// Its own conditions.
    pub conditions: Usage,
    /// Its projects.
    pub projects: Usage,
    /// The bytes of their JSON.
    pub configuration_bytes: Usage,
}

impl Conditions {
    /// How much a tenant has configured.
    ///
    /// # Errors
    /// When the store is unavailable and the tenant is not in memory.
    pub async fn usage(&self, tenant: &TenantId) -> Result<Configured> {
        let (tenant, _) = self.tenant(tenant).await?;
        let content = tenant.own().content();
        let quotas = &self.app.config.quotas;
        Ok(Configured {
            conditions: Usage::of(content.conditions.size(), quotas.conditions),
            projects: Usage::of(content.projects.size(), quotas.projects),
            configuration_bytes: Usage::of(content.bytes(), self.max_bytes()),
        })
    }

    /// Refuses what is more than a tenant may have, as far as this host knows: other hosts may write at the same time.
    /// `replaced` is what was there before, `size` what there will be, in bytes.
    pub(super) fn refuse_beyond_quotas(
        &self,
        owner: Owner<'_>,
        content: &Content,
        target: &Target,
        (replaced, size): (Option<usize>, usize),
    ) -> Result<()> {
        if matches!(owner, Owner::Platform) {
            return Ok(());
        }
        let quotas = &self.app.config.quotas;
        let (name, count, max) = match target.event_type {
            CONDITION_EVENTS => ("conditions", content.conditions.size(), quotas.conditions),
            _ => ("projects", content.projects.size(), quotas.projects),
        };
        if replaced.is_none() && count >= max {
            return Err(Error::quota(name, max));
        }
        let before = replaced.unwrap_or_default();
        let grows = size > before;
        if grows && content.bytes() + (size - before) > self.max_bytes() {
            return Err(Error::quota(
                "bytes of conditions and projects",
                self.max_bytes(),
            ));
        }
        Ok(())
    }

    fn max_bytes(&self) -> usize {
        let max = self.app.config.quotas.configuration.as_u64();
        usize::try_from(max).unwrap_or(usize::MAX)
    }
}
