//! Writes the history: the row of a change, in the change's own commit, with the version that it replaces.
//!
//! A commit has at most 32 MiB, and a project may be almost as large. If the new version and the replaced one do not
//! fit together, the replaced one is set aside first, in its own commit with a note. The change names it and removes
//! the note. If the change is never made, the retention finds the note.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tillgate_base::app::App;
use tillgate_base::data::note::Note;
use tillgate_base::data::outbox::Action;
use tillgate_base::data::records::{Change, Records, Versioned};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::By;
use tillgate_store::{MAX_COMMIT_BYTES, Revision};
use uuid::Uuid;

use super::{
    RECORDED, Recorded, Row, Version, aside_key, deleted, retention, row_key, rows_of, version_key,
};

/// The bytes of a commit besides values: keys, attributes, the row and the counts.
const MARGIN: usize = 256 << 10;

/// A change of a document, for its history.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    /// The key of the document's record.
    pub(crate) document: &'a str,
    pub(crate) action: Action,
    /// The replaced document, as it was read.
    pub(crate) replaced: Option<&'a Versioned<Bytes>>,
    pub(crate) by: &'a By,
    /// The reason, if one was given.
    pub(crate) note: Option<&'a Note>,
    /// The number of the document's tests that fail, if they were run.
    pub(crate) failing_tests: Option<usize>,
}

/// Records one change, which may be planned more than once.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    app: &'a Arc<App>,
    records: &'a Records,
    aside: Mutex<Option<Aside>>,
}

/// A version that was set aside.
#[derive(Clone, Copy, Debug)]
struct Aside {
    /// The revision that it is a copy of.
    of: Revision,
    id: Uuid,
    /// The commit of its note.
    noted: Revision,
}

impl<'a> Recorder<'a> {
    pub(crate) const fn new(app: &'a Arc<App>, records: &'a Records) -> Self {
        Self {
            app,
            records,
            aside: Mutex::new(None),
        }
    }

    /// Adds the row of a change to the change, which is otherwise complete. `recorded` was read with what is replaced.
    ///
    /// # Errors
    /// When the store is unavailable; [`Error::Bug`] when something has no JSON form.
    pub(crate) async fn record(
        &self,
        change: &mut Change,
        recorded: Option<&Versioned<Recorded>>,
        entry: &Entry<'_>,
    ) -> Result<()> {
        let now = self.app.clock.now();
        let before = recorded.map(|read| read.record).unwrap_or_default();
        let newest = before.newest + 1;
        let mut row = Row {
            at: now,
            by: entry.by.clone(),
            note: entry.note.cloned(),
            action: entry.action,
            replaced: None,
            failing_tests: entry.failing_tests,
        };
        let room = self.max_bytes().saturating_sub(before.bytes);
        let mut bytes = 0;
        if let Some(replaced) = entry.replaced.filter(|it| it.record.len() <= room) {
            row.replaced = Some(self.keep(change, replaced).await?);
            bytes = replaced.record.len();
        }
        let row = serde_json::to_vec(&row).map_err(|cause| Error::Bug(cause.to_string()))?;
        bytes += row.len();
        let key = row_key(&rows_of(entry.document), newest);
        change.put_bytes(&key, row.into());
        let (document, action, replaced) = (entry.document, entry.action, entry.replaced);
        deleted::follow(
            self.app,
            self.records,
            change,
            document,
            action,
            replaced,
            &key,
        )
        .await?;
        change.expect(RECORDED, recorded);
        let bytes = before.bytes + bytes;
        change.put(RECORDED, &Recorded { newest, bytes })?;
        retention::begin(change, now);
        Ok(())
    }

    /// Keeps the version that a change replaces: adds it to the change, or sets it aside.
    async fn keep(&self, change: &mut Change, replaced: &Versioned<Bytes>) -> Result<Version> {
        let bytes = replaced.record.len();
        if change.bytes() + bytes + MARGIN <= MAX_COMMIT_BYTES {
            let id = Uuid::new_v4();
            change.put_bytes(&version_key(id), replaced.record.clone());
            return Ok(Version { id, bytes });
        }
        let Aside { id, noted, .. } = self.set_aside(replaced).await?;
        let note = Versioned {
            revision: noted,
            record: (),
        };
        change.expect(&aside_key(id), Some(&note));
        change.delete(&aside_key(id));
        Ok(Version { id, bytes })
    }

    /// Sets a version aside, once for all attempts at the change.
    async fn set_aside(&self, replaced: &Versioned<Bytes>) -> Result<Aside> {
        let of = replaced.revision;
        let known = *self.aside.lock();
        if let Some(known) = known.filter(|aside| aside.of == of) {
            return Ok(known);
        }
        let (id, now) = (Uuid::new_v4(), self.app.clock.now());
        let mut change = Change::default();
        change.put_bytes(&version_key(id), replaced.record.clone());
        change.put(&aside_key(id), &now)?;
        retention::begin(&mut change, now);
        let committed = self.records.commit(change).await?;
        let noted = committed.ok_or(Error::Busy)?.revision;
        let aside = Aside { of, id, noted };
        *self.aside.lock() = Some(aside);
        Ok(aside)
    }

    fn max_bytes(&self) -> usize {
        let max = self.app.config.quotas.history.as_u64();
        usize::try_from(max).unwrap_or(usize::MAX)
    }
}
