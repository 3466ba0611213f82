//! The formats of a store: every later version reads the first one, an older format is upgraded after a backup, and a
//! failed attempt changes nothing.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::clock::StoppedClock;

/// A store that version 0.1.0 made, of one tenant with an entry, two messages of which one is trimmed, two jobs of
/// which one is claimed, and the ids of the commits that made them: the result of `fill`.
const FORMAT_1: &[u8] = include_bytes!("format-1.db");

/// The time of the fixture: the start of 2026.
const START: Timestamp = Timestamp(1_767_225_600_000_000);

/// The next format, as if it had one more column.
const NEXT: Formats = Formats {
    schema: "",
    upgrades: &["ALTER TABLE entries ADD COLUMN note TEXT"],
};

fn partition() -> Partition {
    Partition::named("tenant")
}

/// Returns a folder that contains the fixture.
fn format_1() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tillgate.db"), FORMAT_1).unwrap();
    folder
}

fn open(folder: &TempDir, formats: &Formats) -> Result<EmbeddedStore, String> {
    let clock = Arc::new(StoppedClock::at(START));
    EmbeddedStore::open_with_formats(folder.path(), DEFAULT_CACHE_BYTES, clock, formats)
}

/// Returns the commits that make the fixture.
fn commits() -> [Commit; 2] {
    let append = |body: &'static str| Op::Append {
        log: "log".to_owned(),
        attributes: vec![("Tenant-Id".to_owned(), "tenant".to_owned())],
        body: body.into(),
    };
    let enqueue = |job: &str| Op::Enqueue {
        queue: "queue".to_owned(),
        job: job.to_owned(),
        due: START,
        body: "job".into(),
    };
    let put = Op::Put {
        key: "key".to_owned(),
        value: "value".into(),
    };
    [
        (1, vec![put, append("first"), enqueue("a"), enqueue("b")]),
        (2, vec![append("second")]),
    ]
    .map(|(id, ops)| Commit {
        partition: partition(),
        id: CommitId(id),
        checks: Vec::new(),
        ops,
    })
}

async fn fill(store: &EmbeddedStore) {
    for commit in commits() {
        store.commit(commit).await.unwrap();
    }
    let before = START.plus(Duration::from_micros(1));
    let trimmed = store.trim(&partition(), "log", before, 9).await;
    assert_eq!(trimmed, Ok(1));
    let claimed = store.claim(&partition(), "queue", REMEMBER, 1).await;
    assert_eq!(claimed.unwrap().jobs.len(), 1);
}

async fn assert_filled(store: &EmbeddedStore) {
    let p = partition();
    let page = store.scan(&p, "", None, 9).await.unwrap();
    let (key, entry) = &page.entries[0];
    assert_eq!(
        (key.as_str(), &entry.value[..], entry.revision),
        ("key", &b"value"[..], Revision(1))
    );
    let slice = store.read(&p, "log", Position(0), 9).await.unwrap();
    assert_eq!((slice.trimmed, slice.last), (Position(1), Position(2)));
    let message = &slice.messages[0];
    assert_eq!(
        message.attributes,
        [("Tenant-Id".to_owned(), "tenant".to_owned())]
    );
    assert_eq!(&message.body[..], b"second");
    assert_eq!(message.publish_time, START.plus(Duration::from_micros(1)));
    let [first, _] = commits();
    let again = store.commit(first).await.unwrap();
    assert!(again.repeated);
    assert_eq!((again.at, again.positions), (START, vec![Position(1)]));
    let claimed = store.claim(&p, "queue", REMEMBER, 9).await.unwrap();
    let jobs = claimed
        .jobs
        .iter()
        .map(|job| (job.id.as_str(), job.attempt));
    assert_eq!(jobs.collect::<Vec<_>>(), [("a", 2), ("b", 1)]);
}

/// Returns the backups next to a store.
fn backups(folder: &TempDir) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.path()).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let is_backup = |file: &PathBuf| file.to_string_lossy().contains("tillgate.format-");
    files.filter(is_backup).collect()
}

fn format_of(file: &std::path::Path) -> i64 {
    let db = Connection::open(file).unwrap();
    db.pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

/// This version makes a store that is equal to the fixture.
#[test]
fn this_version_makes_the_first_format() {
    let (made, fixture) = (TempDir::new().unwrap(), format_1());
    let store = open(&made, &FORMATS).unwrap();
    block_on(fill(&store));
    drop(store);
    let schema = |folder: &TempDir| {
        let db = Connection::open(folder.path().join("tillgate.db")).unwrap();
        let mut tables = db.prepare("SELECT sql FROM sqlite_schema").unwrap();
        let tables = tables.query_map([], |row| row.get(0)).unwrap();
        tables.collect::<Result<Vec<Option<String>>, _>>().unwrap()
    };
    assert_eq!(schema(&made), schema(&fixture));
    block_on(assert_filled(&open(&made, &FORMATS).unwrap()));
}

#[test]
fn a_store_of_the_first_format_is_read() {
    let folder = format_1();
    block_on(assert_filled(&open(&folder, &FORMATS).unwrap()));
    assert!(backups(&folder).is_empty());
}

#[test]
fn an_older_format_is_brought_up_to_date_after_a_backup() {
    let folder = format_1();
    let store = open(&folder, &NEXT).unwrap();
    block_on(assert_filled(&store));
    drop(store);
    assert_eq!(format_of(&folder.path().join("tillgate.db")), 2);
    let [backup] = &backups(&folder)[..] else {
        panic!("no backup was made");
    };
    assert_eq!(format_of(backup), 1);
    drop(open(&folder, &NEXT).unwrap());
    assert_eq!(backups(&folder).len(), 1);

    // The version before reads the backup and refuses the store.
    let before = TempDir::new().unwrap();
    fs::copy(backup, before.path().join("tillgate.db")).unwrap();
    block_on(assert_filled(&open(&before, &FORMATS).unwrap()));
    let message = open(&folder, &FORMATS).unwrap_err();
    let told = "has format 2, and this version reads formats up to 1: use a newer version";
    assert!(message.contains(told), "{message}");
}

#[test]
fn an_upgrade_that_fails_changes_nothing() {
    let folder = format_1();
    let formats = Formats {
        schema: "",
        upgrades: &["ALTER TABLE entries ADD COLUMN note TEXT; DROP TABLE missing"],
    };
    let message = open(&folder, &formats).unwrap_err();
    assert!(message.contains("no such table: missing"), "{message}");
    block_on(assert_filled(&open(&folder, &FORMATS).unwrap()));
}
