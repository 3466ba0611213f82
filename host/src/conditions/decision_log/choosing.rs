//! A tenant chooses which of its decisions go on record.

use crate::conditions::Conditions;
use crate::conditions::choice::{CHOICE, Choice, Chosen};
use crate::data::etag::{self, Etag, Preconditions};
use crate::data::feed::Subscriber;
use crate::data::records::{Change, Versioned};
use crate::error::Result;
use crate::identity::TenantId;

impl Conditions {
    /// Which of a tenant's decisions go on record.
    ///
    /// # Errors
    /// When the store is unavailable and the tenant is not in memory.
    pub async fn chosen(&self, tenant: &TenantId) -> Result<Chosen> {
        let (tenant, _) = self.tenant(tenant).await?;
        let decision_log = tenant.own().content().choice;
        Ok(Chosen { decision_log })
    }

    /// Chooses which of a tenant's decisions go on record. Answers the entity tags before and after.
    ///
    /// # Errors
    /// [`Error::Outdated`](crate::error::Error::Outdated) when a precondition does not hold.
    pub async fn choose(
        &self,
        tenant: &TenantId,
        decision_log: Choice,
        preconditions: &Preconditions,
    ) -> Result<[Etag; 2]> {
        let (tenant, _) = self.tenant(tenant).await?;
        let (records, chosen) = (tenant.own().records(), Chosen { decision_log });
        let plan = async || {
            let read: Option<Versioned<Chosen>> = records.get(CHOICE).await?;
            let before = read.as_ref().map(|read| read.record).unwrap_or_default();
            let before = etag::of_json(&before)?;
            preconditions.check(Some(&before))?;
            let mut change = Change::default();
            change.expect(CHOICE, read.as_ref());
            change.put(CHOICE, &chosen)?;
            change.notify(CHOICE);
            Ok((change, before))
        };
        let before = records.change(plan).await?;
        tenant.own().catch_up().await?;
        Ok([before, etag::of_json(&chosen)?])
    }
}
