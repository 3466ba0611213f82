//! Lists how much of each kind a store in a folder holds, without content; a host may serve the store meanwhile. SQLite
//! knows the length of a value without reading it.

use std::path::Path;

use rusqlite::{Connection, Row};

use super::backup::open;
use super::database::{describe, log_of};
use super::number::Number;
use crate::inspection::{Item, Kind, Listing};

const ENTRIES: &str = "
    SELECT substr(key, 1, instr(key || '/', '/') - 1) AS name, count(DISTINCT partition), count(*), sum(length(value))
    FROM entries GROUP BY 1";

const MESSAGES: &str = "
    SELECT l.name, count(DISTINCT l.partition), count(*), sum(length(m.attributes) + length(m.body))
    FROM messages m JOIN logs l ON m.log = l.id GROUP BY 1";

const JOBS: &str = "
    SELECT q.name, count(DISTINCT q.partition), count(*), sum(length(j.body))
    FROM jobs j JOIN queues q ON j.queue = q.id GROUP BY 1";

/// Lists what the store in `folder` holds.
///
/// # Errors
/// When there is no store, or it cannot be read. The message says what to do.
pub fn list_folder(folder: &Path) -> Result<Listing, String> {
    let (file, db) = open(folder)?;
    let size = |file: &Path| file.metadata().map_or(0, |file| file.len());
    let listed = read(&db).map_err(|error| describe(&file, &error))?;
    Ok(Listing {
        bytes: size(&file) + size(&log_of(&file)),
        ..listed
    })
}

fn read(db: &Connection) -> rusqlite::Result<Listing> {
    let sql = "SELECT count(*) FROM partitions WHERE revision > 0";
    let partitions: Number = db.query_row(sql, [], |row| row.get(0))?;
    let mut kinds = Vec::new();
    for (of, sql) in [
        (Item::Entry, ENTRIES),
        (Item::Message, MESSAGES),
        (Item::Job, JOBS),
    ] {
        let mut statement = db.prepare(sql)?;
        for found in statement.query_map([], |row| kind(of, row))? {
            kinds.push(found?);
        }
    }
    Ok(Listing {
        partitions: partitions.0,
        kinds,
        ..Listing::default()
    })
}

fn kind(of: Item, row: &Row<'_>) -> rusqlite::Result<Kind> {
    let number = |column| row.get::<_, Number>(column).map(|number| number.0);
    Ok(Kind {
        of,
        name: row.get(0)?,
        partitions: number(1)?,
        count: number(2)?,
        bytes: number(3)?,
    })
}
