//! The formats of a store: the format of a file, and those that this version knows.

use std::path::Path;

use rusqlite::Connection;

use super::database::describe;

/// Marks a file as a store of this program (`PRAGMA application_id`): "Till".
pub(super) const APPLICATION: i64 = 0x5469_6c6c;

/// The formats of a store, numbered from 1 in `PRAGMA user_version`.
pub(super) struct Formats {
    /// The statements that create the tables of the newest format.
    pub(super) schema: &'static str,
    /// The statements that upgrade the tables from format 1 to format 2, from 2 to 3, and so on.
    pub(super) upgrades: &'static [&'static str],
}

/// The formats that this version knows.
pub(super) const FORMATS: Formats = Formats {
    schema: include_str!("schema.sql"),
    upgrades: &[],
};

impl Formats {
    pub(super) fn newest(&self) -> usize {
        self.upgrades.len() + 1
    }
}

/// Returns the format of a store; `None` when the file is empty or its first start was interrupted.
///
/// # Errors
/// When it is not a store, or has a newer format than `newest`.
pub(super) fn format_of(
    db: &Connection,
    file: &Path,
    newest: usize,
) -> Result<Option<usize>, String> {
    let number = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let read = || {
        let tables: i64 =
            db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        rusqlite::Result::Ok((number("application_id")?, number("user_version")?, tables))
    };
    match read().map_err(|error| describe(file, &error))? {
        (0, 0, 0) => Ok(None),
        (APPLICATION, format, _) => match usize::try_from(format) {
            Ok(format) if (1..=newest).contains(&format) => Ok(Some(format)),
            _ => Err(format!(
                "{} has format {format}, and this version reads formats up to {newest}: use a newer version",
                file.display()
            )),
        },
        _ => Err(format!(
            "{} is a database of another program",
            file.display()
        )),
    }
}
