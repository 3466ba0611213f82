//! Quotas: how much a tenant may configure, and how much it does. It is counted in the commits that change it, so that no
//! two of them pass a quota together, on whichever hosts they are made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Conditions;
use super::cache::{Content, PartitionCache};
use super::history::{RECORDED, Recorded};
use crate::data::feed::Subscriber;
use crate::data::quota::Usage;
use crate::data::records::{Change, Versioned};
use crate::decision_log::tills_used;
use crate::error::{Error, Result};
use crate::identity::TenantId;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Conditions,
    Projects,
}

/// The record of how much a tenant has configured.
pub(super) const USED: &str = "usage/configuration";

/// How much a tenant has configured, as it is stored.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Used {
    conditions: usize,
    projects: usize,
    bytes: usize,
}

/// How much a tenant has configured, and how much it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Configured {
    /// Its own conditions.
    pub conditions: Usage,
    /// Its projects.
    pub projects: Usage,
    /// The bytes of their JSON.
    pub configuration_bytes: Usage,
    /// The bytes of their history.
    pub history_bytes: Usage,
    /// The tills that hand in decisions.
    pub tills: Usage,
}

impl Used {
    /// Where it was not counted yet: by an earlier version, or since there has never been anything.
    async fn recount(cache: &PartitionCache) -> Result<Self> {
        cache.catch_up().await?;
        let content: &Content = &cache.content();
        Ok(Self {
            conditions: content.conditions.size(),
            projects: content.projects.size(),
            bytes: content.bytes(),
        })
    }

    /// How much it is once something is put in place of something else: the bytes of both.
    fn after(mut self, of: Counted, [before, after]: [Option<usize>; 2]) -> Self {
        let count = match of {
            Counted::Conditions => &mut self.conditions,
            Counted::Projects => &mut self.projects,
        };
        let exchange = |used: usize, [removed, added]: [usize; 2]| {
            used.saturating_add(added).saturating_sub(removed)
        };
        let sizes = [before, after];
        *count = exchange(*count, sizes.map(|size| usize::from(size.is_some())));
        self.bytes = exchange(self.bytes, sizes.map(Option::unwrap_or_default));
        self
    }
}

impl Conditions {
    /// How much a tenant has configured.
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
        Ok(Configured {
            conditions: Usage::of(used.conditions, quotas.conditions),
            projects: Usage::of(used.projects, quotas.projects),
            configuration_bytes: Usage::of(used.bytes, self.max_bytes()),
            history_bytes: Usage {
                used: u64::try_from(history).unwrap_or(u64::MAX),
                quota: quotas.history.as_u64(),
            },
            tills: tills_used(own.records(), quotas.tills).await?,
        })
    }

    /// Adds to a change how much its tenant has after it. `counted` is what was read with what the change replaces, `sizes`
    /// the bytes of that and of what takes its place.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it would be more than a quota.
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
        let used = used.after(of, sizes);
        self.refuse_beyond_quotas(&used, of, sizes)?;
        change.expect(USED, counted.as_ref());
        // Also when there is nothing any more: a record that came and went between a recount and its commit would not be
        // seen by that commit.
        change.put(USED, &used)
    }

    fn refuse_beyond_quotas(
        &self,
        used: &Used,
        of: Counted,
        [before, after]: [Option<usize>; 2],
    ) -> Result<()> {
        let quotas = &self.app.config.quotas;
        let (name, count, max) = match of {
            Counted::Conditions => ("conditions", used.conditions, quotas.conditions),
            Counted::Projects => ("projects", used.projects, quotas.projects),
        };
        if before.is_none() && count > max {
            return Err(Error::quota(name, max));
        }
        // What becomes smaller is never refused.
        if after > before && used.bytes > self.max_bytes() {
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
