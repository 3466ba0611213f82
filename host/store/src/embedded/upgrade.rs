//! Makes a file a store of the newest format: creates its tables, or upgrades those of an older format.

use std::path::Path;

use rusqlite::{Connection, Error, TransactionBehavior};

use super::backup;
use super::database::describe;
use super::formats::{APPLICATION, Formats, format_of};
use crate::clock::Clock;

/// Makes the file a store of the newest format. Before it changes an older one, it makes a backup beside it.
///
/// # Errors
/// When it is damaged, has a newer format, or is not a store. The message says what is wrong, for the operator.
pub(super) fn upgrade(
    db: &mut Connection,
    file: &Path,
    formats: &Formats,
    clock: &dyn Clock,
) -> Result<(), String> {
    let failed = |error: Error| describe(file, &error);
    let newest = formats.newest();
    let format = format_of(db, file, newest)?;
    // The journal mode comes before the tables, since it cannot change within a transaction; and a restored backup has
    // no write-ahead log.
    let mode: String = db
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        let file = file.display();
        return Err(format!("{file}: its disk cannot have a write-ahead log"));
    }
    if format == Some(newest) {
        return Ok(());
    }
    if let Some(format) = format {
        let beside = format!("tillgate.format-{format}.{}.db", clock.now().seconds());
        let beside = file.with_file_name(beside);
        backup::write(db, &beside, &mut |_| ())?;
        tracing::warn!(
            backup = %beside.display(),
            "the store is being upgraded from format {format} to {newest}; the backup contains the old format"
        );
    }
    change(db, format, formats).map_err(failed)
}

/// Creates the tables, or upgrades those of an older format, in one transaction.
fn change(db: &mut Connection, format: Option<usize>, formats: &Formats) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match format {
        None => tx.execute_batch(formats.schema)?,
        Some(format) => {
            for upgrade in formats.upgrades.iter().skip(format - 1) {
                tx.execute_batch(upgrade)?;
            }
        }
    }
    let newest = i64::try_from(formats.newest()).unwrap_or_default();
    tx.pragma_update(None, "application_id", APPLICATION)?;
    tx.pragma_update(None, "user_version", newest)?;
    tx.commit()
}
