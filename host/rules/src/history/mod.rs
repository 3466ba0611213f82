//! The history of conditions and projects: who changed which of them, when, and what it was before and after
//! (`conditions.md`, "Beyond an answer").
//!
//! The row of a change is written in the change's own commit, and names the version that the change replaced. What a change
//! made is what the next one replaces, or the document as it is now, so each version is stored once. Rows are small, and
//! versions have records of their own: a page reads its rows, and no more versions than it answers. Rows are numbered, for
//! clocks may stand still or go back; the record of the last number also counts the bytes of a tenant's history. Beyond the
//! quota rows go on without their versions: no change is ever refused for its history.
//!
//! `record.rs` writes, `page.rs` reads, `deleted.rs` lists what is not there any more, `retention.rs` removes what is old.

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

/// The rows: after the key of the document that they are about, the newest first.
const ROW: &str = "history/";

/// The versions that were replaced, by ids that rows name.
const VERSION: &str = "history-version/";

/// Versions whose change is not committed yet (`record.rs`), by the same ids.
const ASIDE: &str = "history-aside/";

/// The record of how much of a tenant's history there is.
pub(super) const RECORDED: &str = "usage/history";

/// How much of a tenant's history there is, as it is stored.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct Recorded {
    /// The number of the newest row; the first one's is 1.
    newest: u64,
    /// The bytes of all rows and of the versions that they name.
    pub(super) bytes: usize,
}

/// A row, as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Row {
    at: Timestamp,
    by: By,
    /// Why, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Note>,
    action: Action,
    /// What was replaced; `None` where there was nothing, or where it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<Version>,
    /// How many of the document's tests failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing_tests: Option<usize>,
}

/// A version that is kept.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Version {
    id: Uuid,
    bytes: usize,
}

/// Who made a change, as it is answered.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Who<'a> {
    Known(&'a By),
    /// A client or a person of the platform, for its tenants: it has a name alone.
    Platform {
        name: &'static str,
    },
}

impl<'a> Who<'a> {
    /// Who has made the change of a row; without `says_who`, the platform.
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

/// The rows of a document.
fn rows_of(document: &str) -> String {
    format!("{ROW}{document}/")
}

/// The key of a row under the prefix of its document. It counts down, for a history is read backwards.
fn row_key(rows: &str, number: u64) -> String {
    format!("{rows}{:016x}", u64::MAX - number)
}

/// The number of a row's key.
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
