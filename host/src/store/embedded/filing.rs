//! Filing: what the journal holds goes into redb's table, many commits at once and in the table's
//! order, which is what makes a B-tree cheap to change.
//!
//! One transaction files a layer and says so in the same moment; after a crash it is either filed or
//! still in the journal. The writer starts it beside its own work and waits for it only when the
//! other file of the journal is full too.

use redb::{Database, Durability};

use super::overlay::{Base, Changes};
use super::tables::{ABOUT, DATA, FILED_KEY};

/// Files the changes up to a record of the journal; the table as it is then.
pub(super) fn file(
    database: &Database,
    changes: &Changes,
    through: u64,
) -> Result<Base, redb::Error> {
    let mut tx = database.begin_write()?;
    // One fsync a transaction. redb's other mode, two-phase commits with quick repair, needs two
    // and writes its free pages each time, to open faster after a crash. With one, opening after a
    // crash checks every page against its checksum instead, which is what a store should do that
    // was not closed; what it guards against, an adversary who forges checksums and times power
    // cuts, is not one of ours.
    tx.set_durability(Durability::Immediate)?;
    {
        let mut data = tx.open_table(DATA)?;
        for (key, value) in changes {
            match value {
                Some(value) => drop(data.insert(key.as_slice(), value.as_ref())?),
                None => drop(data.remove(key.as_slice())?),
            }
        }
        tx.open_table(ABOUT)?.insert(FILED_KEY, through)?;
    }
    tx.commit()?;
    Base::of(database)
}
