//! The history of conditions and projects: who changed which of them and when, and the versions before and after
//! (`conditions.md`, "Beyond an answer").
//!
//! The row of a change is written in the change's own commit, and names the version that the change replaced. The version
//! that a change made is what the next one replaces, or the current document, so each version is stored once. Rows are
//! small, and versions have their own records: a page reads its rows, and only the versions that it answers. Rows are
//! numbered, since clocks may stand still or go back. The record of the last number also counts the bytes of a tenant's
//! history. Beyond the quota, rows are written without their versions: no change is ever refused because of its history.
//!
//! `record.rs` writes, `page.rs` reads, `deleted.rs` lists what no longer exists, `retention.rs` removes what is old.

mod deleted;
mod page;
mod record;
mod retention;

use serde::{Deserialize, Serialize};
use tillgate_base::data::note::Note;
use tillgate_base::data::outbox::Action;
use tillgate_base::identity::By;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

pub use self::deleted::{DeletedPage, RuleKind};
pub use self::page::{HistoryPage, PageQuery, Sequence};
pub(super) use self::record::{Entry, Recorder};
pub(super) use self::retention::register;

/// The prefix of the rows' keys, followed by the key of their document; the newest row comes first.
const ROW: &str = "history/";

/// The prefix of the keys of replaced versions, followed by the ids that rows name.
const VERSION: &str = "history-version/";

/// The prefix of the keys of notes about versions whose change is not committed yet (`record.rs`), with the same ids.
const ASIDE: &str = "history-aside/";

/// The key of the record of a history's size.
pub(super) const RECORDED: &str = "usage/history";

/// The size of a tenant's history, as it is stored.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct Recorded {
    /// The number of the newest row; the first row has 1.
    newest: u64,
    /// The bytes of all rows and of the versions that they name.
    pub(super) bytes: usize,
}

/// A row, as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Row {
    at: Timestamp,
    by: By,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Note>,
    action: Action,
    /// The replaced version; `None` if there was none, or if it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<Version>,
    /// The number of the document's tests that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing_tests: Option<usize>,
}

/// A version that is kept.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Version {
    id: Uuid,
    bytes: usize,
}

/// The author of a change, as it is answered.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Who<'a> {
    Known(&'a By),
    /// A client or a person of the platform, of whom tenants only see this name.
    Platform {
        name: &'static str,
    },
}

impl<'a> Who<'a> {
    /// Returns the author of a row's change; without `says_who`, the platform.
    const fn of(row: &'a Row, says_who: bool) -> Self {
        if says_who {
            Self::Known(&row.by)
        } else {
            Self::Platform {
                name: "The platform",
            }
        }
    }
}

/// Returns the prefix of the keys of a document's rows.
fn rows_of(document: &str) -> String {
    format!("{ROW}{document}/")
}

/// Returns the key of a row under the prefix of its document. It counts down, since a history is read backwards.
fn row_key(rows: &str, number: u64) -> String {
    format!("{rows}{:016x}", u64::MAX - number)
}

/// Returns the number in a row's key.
fn number_of(key: &str) -> Option<u64> {
    let (_, number) = key.rsplit_once('/')?;
    let number = u64::from_str_radix(number, 16).ok()?;
    Some(u64::MAX - number)
}

fn version_key(id: Uuid) -> String {
    format!("{VERSION}{}", id.simple())
}

fn aside_key(id: Uuid) -> String {
    format!("{ASIDE}{}", id.simple())
}
