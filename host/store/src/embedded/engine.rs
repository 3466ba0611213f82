//! The storage engine below the embedded store: durable changes of keys, and reads of the newest durable state.
//!
//! It knows keys and values as bytes and nothing of partitions, logs or queues. `README.md` beside it says why it
//! exists, what it promises, and draws its files and its recovery.
//!
//! In the order of what happens to a change: `journal` makes it durable; `memtable` and `state` keep it in memory;
//! `flush` moves it to redb as a run (`run`, `block`, `filter`) or a row (`tables`); `compaction` merges runs;
//! `disk_snapshot` reads what is there. `folder` has the files, `recovery` opens them, `freezing_file` is what keeps
//! reads going once they can no longer be written.

mod block;
mod compaction;
mod database;
mod disk;
mod disk_snapshot;
mod facts;
mod filter;
mod flush;
mod folder;
mod freezing_file;
mod journal;
mod memtable;
mod panics;
mod recovery;
mod row;
mod run;
mod state;
mod tables;

pub(super) use self::database::Database;
pub(super) use self::disk::{Disk, damaged, is_damage};
pub(super) use self::flush::{FlushLimits, Flusher};
pub(super) use self::folder::Folder;
pub(super) use self::journal::{AppendError, Journal};
pub(super) use self::memtable::Changes;
pub(super) use self::panics::catch_panics;
pub(super) use self::recovery::{Recovered, recover};
pub(super) use self::row::visit_rows;
pub(super) use self::state::{Merged, Snapshot, State};
pub(super) use self::tables::{Key, ROW_TAGS, malformed};
