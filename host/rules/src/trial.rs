//! A dry run of a change of a global condition: everything is checked, nothing is stored, and the answer says whom it would
//! concern.

use std::sync::Arc;

use tillgate_api::Body;
use tillgate_base::error::Result;
use tillgate_engine::condition::{ConditionId, Scope};

use super::failing_tests::Concerned;
use super::{Conditions, Editor, Owner};

impl Conditions {
    /// Returns whom the global condition in a PUT's body would concern.
    ///
    /// # Errors
    /// Those of [`put_condition`](Self::put_condition).
    pub async fn try_global(
        &self,
        id: ConditionId,
        body: Body,
        editor: &Editor,
    ) -> Result<Concerned> {
        let before = self.content(Owner::Platform).await?;
        let stored = before.conditions.get(id.as_str());
        let etag = stored.map(|stored| stored.text.etag().clone());
        let on_failing = editor.on_failing_tests;
        let read = self.read_condition(before, id.clone(), Scope::Global, body, on_failing);
        let (stored, ..) = read.await?;
        editor.preconditions.check(etag.as_ref())?;
        self.concerned(&id, Some(Arc::new(stored))).await
    }
}
