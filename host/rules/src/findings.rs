//! Findings: what is wrong with a stored rule, as the module says (`conditions.md`, "Beyond an answer").

use bytes::Bytes;
use tillgate_base::app::App;
use tillgate_base::error::Result;
use tillgate_engine::condition::ConditionId;
use tillgate_engine::restriction::ProjectId;

use super::{Conditions, INLINE, TenantCatalog};

impl Conditions {
    /// Returns the findings of the condition that a GET answers, as JSON, beside that of the other scope. Returns
    /// `None` if there is no such condition.
    ///
    /// # Errors
    /// When the module fails.
    pub async fn findings_of_condition(
        &self,
        catalog: &TenantCatalog,
        id: &ConditionId,
    ) -> Result<Option<Bytes>> {
        const BEGIN: &[u8] = br#"{"condition":"#;
        const OTHER: &[u8] = br#","other":"#;
        let Some((condition, other)) = catalog.condition_and_other(id) else {
            return Ok(None);
        };
        let mut rule = vec![Bytes::from_static(BEGIN), condition.text.rule().clone()];
        if let Some(other) = other {
            rule.extend([Bytes::from_static(OTHER), other.text.rule().clone()]);
        }
        self.findings(rule).await.map(Some)
    }

    /// Returns the findings of a project, as JSON; `None` if the tenant does not have it.
    ///
    /// # Errors
    /// When the module fails.
    pub async fn findings_of_project(
        &self,
        catalog: &TenantCatalog,
        id: ProjectId,
    ) -> Result<Option<Bytes>> {
        const BEGIN: &[u8] = br#"{"project":"#;
        let Some(project) = catalog.project(id) else {
            return Ok(None);
        };
        let rule = vec![Bytes::from_static(BEGIN), project.text.rule().clone()];
        self.findings(rule).await.map(Some)
    }

    /// Returns the findings of a rule, which is given in pieces of JSON without the last brace.
    async fn findings(&self, mut rule: Vec<Bytes>) -> Result<Bytes> {
        rule.push(Bytes::from_static(b"}"));
        let length: usize = rule.iter().map(Bytes::len).sum();
        let find = move |app: &App| {
            let parts: Vec<&[u8]> = rule.iter().map(AsRef::as_ref).collect();
            Ok(app.engine.findings(&parts)?)
        };
        if length > INLINE {
            Box::pin(self.app.run_blocking(find)).await?
        } else {
            find(&self.app)
        }
    }
}
