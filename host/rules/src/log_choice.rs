//! A tenant chooses which of its decisions go into the log.

use tillgate_base::data::etag::{self, Preconditions};
use tillgate_base::data::feed::Subscriber;
use tillgate_base::data::records::{Change, Versioned};
use tillgate_base::error::Result;
use tillgate_base::identity::{By, TenantId};

use crate::Conditions;
use crate::decision_log::{CHOICE, Choice, Chosen};

impl Conditions {
    /// Returns which of a tenant's decisions go into the log, and who chose this.
    ///
    /// # Errors
    /// When the store is unavailable and the tenant is not in memory.
    pub async fn chosen(&self, tenant: &TenantId) -> Result<Chosen> {
        let (tenant, _) = self.tenant(tenant).await?;
        Ok(tenant.own().content().chosen.clone())
    }

    /// Chooses which of a tenant's decisions go into the log; `by` is the author. Returns the choice before and now.
    ///
    /// # Errors
    /// [`Error::Outdated`](tillgate_base::error::Error::Outdated) when a precondition does not hold.
    pub async fn choose(
        &self,
        tenant: &TenantId,
        by: By,
        decision_log: Choice,
        preconditions: &Preconditions,
    ) -> Result<[Chosen; 2]> {
        let (tenant, _) = self.tenant(tenant).await?;
        let records = tenant.own().records();
        let chosen = Chosen {
            decision_log,
            last_modified_by: Some(by),
        };
        let plan = async || {
            let read: Option<Versioned<Chosen>> = records.get(CHOICE).await?;
            let before = read.as_ref().map(|read| read.record.clone());
            let before = before.unwrap_or_default();
            preconditions.check(Some(&etag::of_json(&before)?))?;
            let mut change = Change::default();
            if before.decision_log == decision_log {
                return Ok((change, [before.clone(), before]));
            }
            change.expect(CHOICE, read.as_ref());
            change.put(CHOICE, &chosen)?;
            change.notify(CHOICE);
            Ok((change, [before, chosen.clone()]))
        };
        let both = records.change(plan).await?;
        tenant.own().catch_up().await?;
        Ok(both)
    }
}
