//! Quotas: how much a tenant may configure, and how much it has configured. The commits that change the amount also
//! count it, so that no two of them exceed a quota together, even on different hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_base::config::Quotas;
use tillgate_base::data::feed::Subscriber;
use tillgate_base::data::quota::{self, Usage, exchange};
use tillgate_base::data::records::{Change, Versioned};
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;

use super::Conditions;
use super::cache::{Content, PartitionCache};
use super::history::{RECORDED, Recorded};
use crate::decision_log::tills_used;

/// The kind of document that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Conditions,
    Projects,
}

/// The key of the record of a tenant's amount.
pub(super) const USED: &str = "usage/configuration";

/// The amount that a tenant has configured, as it is stored.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Used {
    conditions: u64,
    projects: u64,
    bytes: u64,
}

/// The use of the tenant's quotas by conditions, projects and tills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Configured {
    /// The tenant's own conditions.
    pub conditions: Usage,
    /// The tenant's projects.
    pub projects: Usage,
    /// The bytes of the JSON of conditions and projects.
    pub configuration_bytes: Usage,
    /// The bytes of the history of conditions and projects.
    pub history_bytes: Usage,
    /// The tills that upload decisions.
    pub tills: Usage,
}

impl Used {
    /// Counts what no record counts: an earlier version wrote none, or there has never been anything.
    async fn recount(cache: &PartitionCache) -> Result<Self> {
        cache.catch_up().await?;
        let content: &Content = &cache.content();
        Ok(Self {
            conditions: quota::count(content.conditions.size()),
            projects: quota::count(content.projects.size()),
            bytes: quota::count(content.bytes()),
        })
    }

    /// Returns the amount after one document takes the place of another; `sizes` are the bytes of both.
    ///
    /// # Errors
    /// [`Error::Conflict`](tillgate_base::error::Error::Conflict) when it would exceed a quota.
    fn after(mut self, of: Counted, sizes: [Option<usize>; 2], quotas: &Quotas) -> Result<Self> {
        let (name, counted, max) = match of {
            Counted::Conditions => ("conditions", &mut self.conditions, quotas.conditions),
            Counted::Projects => ("projects", &mut self.projects, quotas.projects),
        };
        let counts = sizes.map(|size| u64::from(size.is_some()));
        *counted = exchange(name, *counted, counts, quota::count(max))?;
        let bytes = sizes.map(|size| quota::count(size.unwrap_or_default()));
        let (name, max) = ("bytes of conditions and projects", quotas.configuration);
        self.bytes = exchange(name, self.bytes, bytes, max.as_u64())?;
        Ok(self)
    }
}

impl Conditions {
    /// Returns how much a tenant has configured, with its quotas.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn usage(&self, tenant: &TenantId) -> Result<Configured> {
        let (tenant, _) = self.tenant(tenant).await?;
        let own = tenant.own();
        let used = match own.records().get::<Used>(USED).await? {
            Some(counted) => counted.record,
            None => Used::recount(own).await?,
        };
        let recorded = own.records().get::<Recorded>(RECORDED).await?;
        let history = recorded.map_or(0, |recorded| recorded.record.bytes);
        let quotas = &self.app.config.quotas;
        let usage = |used, quota| Usage { used, quota };
        Ok(Configured {
            conditions: usage(used.conditions, quota::count(quotas.conditions)),
            projects: usage(used.projects, quota::count(quotas.projects)),
            configuration_bytes: usage(used.bytes, quotas.configuration.as_u64()),
            history_bytes: usage(quota::count(history), quotas.history.as_u64()),
            tills: tills_used(own.records(), quotas.tills).await?,
        })
    }

    /// Adds to a change the amount that its tenant has after it. `counted` was read with what the change replaces;
    /// `sizes` are the bytes of that and of what takes its place.
    ///
    /// # Errors
    /// [`Error::Conflict`](tillgate_base::error::Error::Conflict) when it would exceed a quota.
    pub(super) async fn count(
        &self,
        change: &mut Change,
        cache: &PartitionCache,
        of: Counted,
        counted: Option<Versioned<Used>>,
        sizes: [Option<usize>; 2],
    ) -> Result<()> {
        let [before, after] = sizes;
        if before == after {
            return Ok(());
        }
        let used = match &counted {
            Some(counted) => counted.record,
            None => Used::recount(cache).await?,
        };
        let used = used.after(of, sizes, &self.app.config.quotas)?;
        change.expect(USED, counted.as_ref());
        // Written even if nothing is left: the commit would not notice a record that came and went between a recount
        // and this commit.
        change.put(USED, &used)
    }
}
