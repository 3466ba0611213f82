//! Lists the conditions or projects of an owner that were deleted and not created again, the latest first.
//!
//! The commit of a deletion writes a record beside the row of the history, under the same number, so that a list of ten
//! thousand is read page by page. The record is removed with its row, or in the commit that creates the document again.

use std::sync::Arc;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::schema::{made_by, time};
use tillgate_base::app::App;
use tillgate_base::data::outbox::Action;
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};

use super::page::PageQuery;
use super::{ROW, Row, Who, number_of, row_key, rows_of};
use crate::cache::{CONDITION, PROJECT};
use crate::{Conditions, INLINE, Owner};

/// The prefix of the records' keys, followed by the kind of document and the number of the row, the newest first.
const DELETED: &str = "deleted/";

/// The kind of rules that a list contains.
#[derive(Clone, Copy, Debug)]
pub enum RuleKind {
    /// Conditions.
    Conditions,
    /// Projects.
    Projects,
}

impl RuleKind {
    /// Returns the prefix of these documents' keys.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Conditions => CONDITION,
            Self::Projects => PROJECT,
        }
    }
}

/// A record.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
struct Deleted {
    id: String,
    /// The name of a project when it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// Deleted conditions or projects, latest first.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DeletedRules")]
pub struct DeletedPage<'a> {
    items: Vec<Item<'a>>,
    /// The `cursor` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A condition or a project that was deleted.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DeletedRule")]
struct Item<'a> {
    #[serde(flatten)]
    deleted: &'a Deleted,
    /// The time of the deletion.
    #[schemars(schema_with = "time")]
    at: String,
    #[schemars(schema_with = "made_by")]
    by: Who<'a>,
}

/// Adds the record of a deleted document to the change whose row has this key, or removes the record of a document that
/// is created again.
pub(super) async fn follow(
    app: &Arc<App>,
    records: &Records,
    change: &mut Change,
    document: &str,
    action: Action,
    replaced: Option<&Versioned<Bytes>>,
    row: &str,
) -> Result<()> {
    match (action, replaced) {
        (Action::Deleted, Some(replaced)) => {
            let id = document.rsplit('/').next().unwrap_or_default();
            let deleted = Deleted {
                id: id.to_owned(),
                name: name_of(app, &replaced.record).await?,
            };
            change.put(&key_beside(row), &deleted)
        }
        (Action::Created, _) => {
            let newest = records.scan(&rows_of(document), None, 1).await?;
            if let Some((deletion, _)) = newest.entries.first() {
                change.delete(&key_beside(deletion));
            }
            Ok(())
        }
        (Action::Deleted | Action::Replaced, _) => Ok(()),
    }
}

/// Returns the key of the record beside a row: `deleted/project/{number}` for `history/project/{id}/{number}`.
pub(super) fn key_beside(row: &str) -> String {
    let document = row.strip_prefix(ROW).unwrap_or(row);
    let (kind, rest) = document.split_once('/').unwrap_or((document, ""));
    let number = rest.rsplit('/').next().unwrap_or_default();
    format!("{DELETED}{kind}/{number}")
}

/// Reads the name in a stored document; conditions have none. A long one is read off the threads that serve.
async fn name_of(app: &Arc<App>, json: &Bytes) -> Result<Option<String>> {
    #[derive(Deserialize)]
    struct Named {
        name: Option<String>,
    }
    let read = |json: &[u8]| serde_json::from_slice(json).map(|Named { name }| name);
    let name = if json.len() > INLINE {
        let json = json.clone();
        app.run_blocking(move |_| read(&json)).await?
    } else {
        read(json)
    };
    name.map_err(|cause| Error::Bug(format!("a stored document is damaged: {cause}")))
}

impl Conditions {
    /// Returns a page of what was deleted: `{ items, next? }`. Without `says_who`, it names the platform as the author.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn deleted(
        &self,
        owner: Owner<'_>,
        kind: RuleKind,
        query: PageQuery,
        says_who: bool,
    ) -> Result<Bytes> {
        let records = self.records_of(owner);
        let prefix = format!("{DELETED}{}", kind.prefix());
        let after = query.after.map(|after| row_key(&prefix, after.number()));
        let read = records.scan(&prefix, after.as_deref(), query.limit).await?;
        let (mut deleted, mut rows) = (Vec::new(), Vec::new());
        for (key, entry) in &read.entries {
            let one = decode_entry::<Deleted>(key, entry)?.record;
            let (_, number) = key.rsplit_once('/').unwrap_or_default();
            rows.push(format!("{ROW}{}{}/{number}", kind.prefix(), one.id));
            deleted.push(one);
        }
        let found = records.entries(&rows).await?;
        let found = rows.iter().zip(found).map(|(key, entry)| {
            let row = entry.map(|entry| decode_entry::<Row>(key, &entry));
            Ok(row.transpose()?.map(|row| row.record))
        });
        let found = found.collect::<Result<Vec<_>>>()?;
        // A record that has just become too old no longer has a row.
        let items = deleted.iter().zip(&found).filter_map(|(deleted, row)| {
            let row = row.as_ref()?;
            Some(Item {
                deleted,
                at: row.at.to_millis_text(),
                by: Who::of(row, says_who),
            })
        });
        let last = read.entries.last().and_then(|(key, _)| number_of(key));
        let page = DeletedPage {
            items: items.collect(),
            next: last.filter(|_| read.more).map(|last| last.to_string()),
        };
        let json = serde_json::to_vec(&page).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(json.into())
    }
}
