//! Reads the history: a page of rows, the newest first, with the versions before and after each change.

use std::collections::HashMap;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tillgate_api::problem::{CONDITION_NOT_FOUND, PROJECT_NOT_FOUND};
use tillgate_api::schema::{made_by, note, nullable, time};
use tillgate_base::data::note::Note;
use tillgate_base::data::outbox::Action;
use tillgate_base::data::records::{Records, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_engine::condition::ConditionId;
use tillgate_engine::restriction::ProjectId;
use tillgate_store::Entry;
use uuid::Uuid;

use super::{RECORDED, Recorded, Row, Version, Who, number_of, row_key, rows_of, version_key};
use crate::cache::{condition_key, project_key};
use crate::{Conditions, Owner};

/// The most bytes of versions in a page, unless its first item alone has more.
const MAX_BYTES: usize = 8 << 20;

/// The number of a row, in a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence(u64);

impl Sequence {
    pub(super) const fn number(self) -> u64 {
        self.0
    }

    /// Parses the number in a cursor.
    pub fn parse(text: &str) -> Option<Self> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok().map(Self)).flatten()
    }
}

/// The page that a caller asks for.
#[derive(Clone, Copy, Debug)]
pub struct PageQuery {
    /// The last item of the previous page.
    pub after: Option<Sequence>,
    /// The most items of the page; it has fewer if they are long.
    pub limit: usize,
}

/// Changes of a condition or a project, newest first.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "{D}History")]
pub struct HistoryPage<'a, D> {
    items: Vec<HistoryItem<'a, D>>,
    /// The `cursor` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A change of a condition or a project.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{D}Change")]
struct HistoryItem<'a, D> {
    #[schemars(schema_with = "time")]
    at: String,
    #[schemars(schema_with = "made_by")]
    by: Who<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "note")]
    note: Option<&'a Note>,
    action: Action,
    /// The document before the change; null if there was none, or if it is not kept.
    #[schemars(schema_with = "nullable::<D>")]
    before: D,
    /// The document after the change; null if there is none, or if it is not kept.
    #[schemars(schema_with = "nullable::<D>")]
    after: D,
    /// The number of its tests that failed when the change was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_tests: Option<usize>,
    /// `false` if the document before or after the change existed but is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = false))]
    documents_kept: Option<bool>,
}

/// A document, or null.
type Document<'a> = Option<&'a RawValue>;

/// The state of a document before or after a change.
#[derive(Clone, Copy)]
enum State<'a> {
    /// There was none.
    Nothing,
    Kept(Version),
    /// As it is now.
    Current(&'a Bytes),
    NotKept,
}

impl State<'_> {
    const fn bytes(self) -> usize {
        match self {
            Self::Kept(version) => version.bytes,
            Self::Current(document) => document.len(),
            Self::Nothing | Self::NotKept => 0,
        }
    }

    const fn version(self) -> Option<Uuid> {
        match self {
            Self::Kept(version) => Some(version.id),
            Self::Nothing | Self::Current(_) | Self::NotKept => None,
        }
    }
}

/// A row with the states before and after it.
struct Found<'a> {
    number: u64,
    row: &'a Row,
    before: State<'a>,
    after: State<'a>,
}

impl Conditions {
    /// Returns whose condition a tenant means by an id: its own if it has one or a history of one, else the platform's.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn owner_of_history<'a>(
        &self,
        tenant: &'a TenantId,
        id: &ConditionId,
    ) -> Result<Owner<'a>> {
        let key = condition_key(id.as_str());
        let records = self.app.records(tenant.partition());
        let is_own = records.get_bytes(&key).await?.is_some()
            || !records
                .scan(&rows_of(&key), None, 1)
                .await?
                .entries
                .is_empty();
        Ok(if is_own {
            Owner::Tenant(tenant)
        } else {
            Owner::Platform
        })
    }

    /// Returns a page of the history of a condition: `{ items, next? }`. Without `says_who`, it names the platform as
    /// the author of the changes, and does not say why they were made.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is neither such a condition nor a history; when the store is unavailable.
    pub async fn condition_history(
        &self,
        owner: Owner<'_>,
        id: &ConditionId,
        query: PageQuery,
        says_who: bool,
    ) -> Result<Bytes> {
        let records = self.records_of(owner);
        let page = page(&records, &condition_key(id.as_str()), query, says_who).await?;
        page.ok_or_else(|| Error::missing(CONDITION_NOT_FOUND, id))
    }

    /// Returns a page of the history of a project.
    ///
    /// # Errors
    /// As [`Conditions::condition_history`].
    pub async fn project_history(
        &self,
        tenant: &TenantId,
        id: ProjectId,
        query: PageQuery,
    ) -> Result<Bytes> {
        let records = self.app.records(tenant.partition());
        let page = page(&records, &project_key(id), query, true).await?;
        page.ok_or_else(|| Error::missing(PROJECT_NOT_FOUND, id))
    }

    /// Returns the records that hold an owner's conditions and their history.
    pub(super) fn records_of(&self, owner: Owner<'_>) -> Records {
        match owner {
            Owner::Platform => self.global.records().clone(),
            Owner::Tenant(tenant) => self.app.records(tenant.partition()),
        }
    }
}

/// Returns a page of the history of the document with a key; `None` if neither of them exists.
async fn page(
    records: &Records,
    key: &str,
    query: PageQuery,
    says_who: bool,
) -> Result<Option<Bytes>> {
    let keys = [key.to_owned(), RECORDED.to_owned()];
    let mut read = records.entries(&keys).await?.into_iter();
    let current = read.next().flatten().map(|entry| entry.value);
    let recorded = read.next().flatten();
    let recorded = recorded.map(|entry| decode_entry::<Recorded>(RECORDED, &entry));
    let newest = recorded.transpose()?.map_or(0, |read| read.record.newest);
    // Rows that have come since are not read, since `current` is not the state after them. The last row of the previous
    // page is read again: the version that it replaced is the one that the first row here made.
    let first = query.after.map_or(newest, |after| after.0.min(newest));
    let limit = query.limit + usize::from(query.after.is_some());
    let (rows, more) = rows(records, key, first, limit).await?;
    if rows.is_empty() && current.is_none() && query.after.is_none() {
        return Ok(None);
    }
    let found = found(&rows, current.as_ref(), query.after);
    let taken = how_many(&found).min(query.limit);
    let is_last = taken == found.len() && !more;
    let (found, _) = found.split_at(taken);
    let versions = versions(records, found).await?;
    let items = found.iter().map(|found| item(found, says_who, &versions));
    let page = HistoryPage {
        items: items.collect::<Result<_>>()?,
        next: found
            .last()
            .filter(|_| !is_last)
            .map(|last| last.number.to_string()),
    };
    let json = serde_json::to_vec(&page).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(Some(json.into()))
}

impl Conditions {
    /// Returns the bytes that a page of a project's history takes: for its versions as they are read and answered, and
    /// for the current project.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn bytes_of_project_history(
        &self,
        tenant: &TenantId,
        id: ProjectId,
        query: PageQuery,
    ) -> Result<usize> {
        let records = self.app.records(tenant.partition());
        let versions = bytes_of_versions(&records, &project_key(id), query).await?;
        Ok(versions + 2 * self.bytes_of_project(tenant, id).await?)
    }

    /// Returns the bytes that the versions of a page of a condition's history take, without the current condition.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn bytes_of_condition_history(
        &self,
        owner: Owner<'_>,
        id: &ConditionId,
        query: PageQuery,
    ) -> Result<usize> {
        let records = self.records_of(owner);
        bytes_of_versions(&records, &condition_key(id.as_str()), query).await
    }
}

/// Returns the bytes of the versions of a page. Each is read once, and answered after one change and before the next.
async fn bytes_of_versions(records: &Records, key: &str, query: PageQuery) -> Result<usize> {
    let first = query.after.map_or(u64::MAX - 1, |after| after.0);
    let (rows, _) = rows(records, key, first, query.limit + 1).await?;
    let versions = rows.iter().filter_map(|(_, row)| row.replaced);
    let bytes = versions.map(|version| version.bytes);
    let largest = bytes.clone().max().unwrap_or_default();
    Ok(3 * bytes.sum::<usize>().min(MAX_BYTES + 2 * largest))
}

/// Returns the rows from a number downwards, and whether there are more.
async fn rows(
    records: &Records,
    key: &str,
    first: u64,
    limit: usize,
) -> Result<(Vec<(u64, Row)>, bool)> {
    let prefix = rows_of(key);
    let before = row_key(&prefix, first.saturating_add(1));
    let read = records.scan(&prefix, Some(&before), limit).await?;
    let row = |(key, entry): &(String, Entry)| {
        let number = number_of(key);
        let number = number.ok_or_else(|| Error::Bug(format!("{key} has no number")))?;
        Ok((number, decode_entry::<Row>(key, entry)?.record))
    };
    let rows = read.entries.iter().map(row).collect::<Result<_>>()?;
    Ok((rows, read.more))
}

/// Returns the rows after a cursor, each with the states before and after it.
fn found<'a>(
    rows: &'a [(u64, Row)],
    current: Option<&'a Bytes>,
    cursor: Option<Sequence>,
) -> Vec<Found<'a>> {
    let mut newer = match cursor {
        None => current.map_or(State::NotKept, State::Current),
        // The cursor's own row follows, unless it is too old by now.
        Some(_) => State::NotKept,
    };
    let mut found = Vec::with_capacity(rows.len());
    for (number, row) in rows {
        let before = match (row.action, row.replaced) {
            (Action::Created, _) => State::Nothing,
            (_, Some(version)) => State::Kept(version),
            (_, None) => State::NotKept,
        };
        let after = match row.action {
            Action::Deleted => State::Nothing,
            Action::Created | Action::Replaced => newer,
        };
        // Before a creation there was nothing, so it does not say what the row before it made.
        newer = match before {
            State::Nothing => State::NotKept,
            before => before,
        };
        if cursor.is_none_or(|cursor| *number < cursor.0) {
            found.push(Found {
                number: *number,
                row,
                before,
                after,
            });
        }
    }
    found
}

/// Returns how many of them fit into a page: at least one.
fn how_many(found: &[Found<'_>]) -> usize {
    let mut bytes = 0;
    let fits = |found: &&Found<'_>| {
        bytes += found.before.bytes() + found.after.bytes();
        bytes <= MAX_BYTES
    };
    let fitting = found.iter().take_while(fits).count();
    fitting.max(1).min(found.len())
}

/// Reads the versions of some rows, each once.
async fn versions(records: &Records, found: &[Found<'_>]) -> Result<HashMap<Uuid, Bytes>> {
    let states = found.iter().flat_map(|found| [found.after, found.before]);
    let mut ids: Vec<Uuid> = states.filter_map(State::version).collect();
    // The version before a change is also the one after the previous change.
    ids.dedup();
    let keys: Vec<String> = ids.iter().map(|id| version_key(*id)).collect();
    let read = records.entries(&keys).await?;
    let read = ids.into_iter().zip(read);
    Ok(read
        .filter_map(|(id, entry)| Some((id, entry?.value)))
        .collect())
}

fn item<'a>(
    found: &Found<'a>,
    says_who: bool,
    versions: &'a HashMap<Uuid, Bytes>,
) -> Result<HistoryItem<'a, Document<'a>>> {
    let (before, has_before) = document(found.before, versions)?;
    let (after, has_after) = document(found.after, versions)?;
    let row = found.row;
    Ok(HistoryItem {
        at: row.at.to_millis_text(),
        by: Who::of(row, says_who),
        note: row.note.as_ref().filter(|_| says_who),
        action: row.action,
        before,
        after,
        failing_tests: row.failing_tests,
        documents_kept: (!has_before || !has_after).then_some(false),
    })
}

/// Returns the document of a state, and whether all that there was is kept.
fn document<'a>(
    state: State<'a>,
    versions: &'a HashMap<Uuid, Bytes>,
) -> Result<(Document<'a>, bool)> {
    let json = match state {
        State::Nothing => return Ok((None, true)),
        State::NotKept => return Ok((None, false)),
        State::Current(document) => document,
        State::Kept(version) => match versions.get(&version.id) {
            Some(document) => document,
            // It has just become too old.
            None => return Ok((None, false)),
        },
    };
    let json = serde_json::from_slice(json);
    let json = json.map_err(|cause| Error::Bug(format!("a version is damaged: {cause}")))?;
    Ok((Some(json), true))
}
