//! The embedded store's folder: what is created, what is refused, and the messages about it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::crashes::{Child, open_when_free};
use super::fixture::*;
use tempfile::TempDir;
use tillgate_store::{EmbeddedStore, Partition, Position, Store, StoreUrl};

fn open(folder: &Path) -> EmbeddedStore {
    open_when_free(folder, &clock())
}

/// Returns the error of a folder that cannot be opened; it must name the folder.
fn refusal(folder: &Path) -> String {
    let message = EmbeddedStore::open(folder, clock()).unwrap_err();
    assert!(message.contains(&folder.display().to_string()), "{message}");
    message
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns a folder with a closed store of one entry, and its file.
fn closed() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    block_on(open(folder.path()).commit(commit([put("row", "1")]))).unwrap();
    let file = folder.path().join("tillgate.db");
    (folder, file)
}

#[test]
fn a_missing_folder_is_created_for_this_user_only() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("a/b");
    let _store = open(&folder);
    assert_eq!(mode(&folder), 0o700);
    for file in ["tillgate.db", "tillgate.db-wal", "tillgate.db-shm"] {
        assert_eq!(mode(folder.join(file)), 0o600);
    }
}

#[test]
fn the_file_is_for_this_user_only_in_a_folder_that_is_not() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let _store = open(folder.path());
    assert_eq!(mode(folder.path()), 0o755);
    assert_eq!(mode(folder.path().join("tillgate.db")), 0o600);
}

#[test]
fn a_folder_behind_a_symbolic_link_is_opened() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("real")).unwrap();
    symlink("real", folder.path().join("link")).unwrap();
    let _store = open(&folder.path().join("link"));
    assert!(refusal(&folder.path().join("real")).contains("is open in another process"));
}

#[test]
fn a_folder_is_opened_once_at_a_time() {
    let folder = TempDir::new().unwrap();
    let first = open(folder.path());
    let expected = format!(
        "the folder {} is open in another process",
        folder.path().display()
    );
    assert_eq!(refusal(folder.path()), expected);
    drop(first);
    drop(open(folder.path()));
}

#[test]
fn a_folder_that_another_process_has_open_is_refused() {
    let folder = TempDir::new().unwrap();
    let mut other = Child::start("hold", folder.path());
    assert_eq!(other.line().unwrap(), "open");
    assert!(refusal(folder.path()).contains("is open in another process"));
    other.kill();
    drop(open(folder.path()));
}

#[test]
fn a_folder_is_opened_once_although_its_lock_file_is_removed() {
    let folder = TempDir::new().unwrap();
    let mut other = Child::start("hold", folder.path());
    assert_eq!(other.line().unwrap(), "open");
    fs::remove_file(folder.path().join("tillgate.lock")).unwrap();
    // The first attempt creates another lock file.
    for _ in 0..2 {
        assert!(refusal(folder.path()).contains("is open in another process"));
    }
    other.kill();
    drop(open(folder.path()));
}

#[test]
fn a_path_that_is_a_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert!(refusal(&file).contains("cannot create"));
    assert!(refusal(&file.join("below")).contains("cannot create"));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).unwrap();
    // Modes do not restrict the superuser, but procfs does.
    let restricted = fs::write(folder.path().join("probe"), "").is_err();
    let folder = if restricted {
        folder.path()
    } else {
        Path::new("/proc/self/fdinfo")
    };
    assert!(refusal(folder).contains("cannot write"));
}

#[test]
fn a_file_that_is_not_a_store_is_refused_and_left_alone() {
    for contents in [&b"x"[..], &[0; 100_000], &[b'x'; 100_000]] {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("tillgate.db");
        fs::write(&file, contents).unwrap();
        let message = refusal(folder.path());
        assert!(message.contains("damaged"), "{message}");
        assert!(fs::read(&file).unwrap() == contents);
    }
}

#[test]
fn a_truncated_store_is_refused() {
    let (folder, file) = closed();
    let length = fs::metadata(&file).unwrap().len();
    for keep in [1, 64, 320, 4_096, length / 2] {
        let (copy, damaged) = copy_of(folder.path());
        let opened = fs::OpenOptions::new().write(true).open(&damaged);
        opened.unwrap().set_len(keep).unwrap();
        let message = refusal(copy.path());
        assert!(message.contains("damaged"), "{keep}: {message}");
    }
    assert_eq!(fs::metadata(&file).unwrap().len(), length);
}

/// Runs a statement on a closed store, as an operator would with `sqlite3`.
fn execute(file: &Path, sql: &str) {
    let database = rusqlite::Connection::open(file).unwrap();
    database.execute_batch(sql).unwrap();
}

#[test]
fn a_store_of_a_newer_format_is_refused() {
    let (folder, file) = closed();
    execute(&file, "PRAGMA user_version = 999");
    assert!(
        refusal(folder.path()).contains(
            "has format 999, and this version reads formats up to 1: use a newer version"
        )
    );
}

#[test]
fn a_folder_of_the_engine_before_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tillgate.redb"), "theirs").unwrap();
    let message = refusal(folder.path());
    assert!(
        message.contains("a store of a development version (tillgate.redb)"),
        "{message}"
    );
    assert!(!folder.path().join("tillgate.db").exists());
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tillgate.db");
    execute(&file, "CREATE TABLE theirs (id)");
    let before = fs::read(&file).unwrap();
    assert!(refusal(folder.path()).contains("is a database of another program"));
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn an_interrupted_first_start_is_completed() {
    let empty: fn(&Path) = |file| fs::write(file, "").unwrap();
    let without_tables: fn(&Path) = |file| execute(file, "PRAGMA journal_mode = WAL");
    for interrupted in [empty, without_tables] {
        let folder = TempDir::new().unwrap();
        interrupted(&folder.path().join("tillgate.db"));
        block_on(open(folder.path()).commit(commit([put("row", "1")]))).unwrap();
        let page = block_on(open(folder.path()).scan(&partition(), "", None, 9)).unwrap();
        assert_eq!(keys(&page), ["row"]);
    }
}

/// A closed store is one file, which any program for SQLite can read.
#[test]
fn a_closed_store_is_one_file() {
    let (folder, file) = closed();
    let mut files: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    files.sort();
    assert_eq!(files, ["tillgate.db", "tillgate.lock"]);
    let database = rusqlite::Connection::open(file).unwrap();
    let row: (String, i64, Vec<u8>) = database
        .query_row("SELECT key, revision, value FROM entries", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(row, ("row".to_owned(), 1, b"1".to_vec()));
}

#[test]
fn another_process_reads_while_the_store_is_open() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path());
    block_on(store.commit(commit([put("row", "1")]))).unwrap();
    let mut command = std::process::Command::new("sqlite3");
    command
        .arg("-readonly")
        .arg(folder.path().join("tillgate.db"))
        .arg("SELECT name, revision FROM partitions");
    let read = crate::support::wait::output(&mut command);
    assert_eq!(String::from_utf8(read.stdout).unwrap(), "tenant|1\n");
    block_on(store.commit(commit([put("row", "2")]))).unwrap();
}

/// The store returns correct results or errors whatever has happened to its file; it neither panics nor hangs.
#[test]
fn a_damaged_store_never_panics() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path());
    block_on(async {
        for n in 0..20 {
            let row = put(format!("row-{n}"), vec![b'v'; 500]);
            let job = enqueue("queue", &n.to_string(), START);
            store
                .commit(commit([row, append("log", vec![b'm'; 500]), job]))
                .await
                .unwrap();
        }
    });
    drop(store);
    let length = fs::metadata(folder.path().join("tillgate.db"))
        .unwrap()
        .len();

    let mut seed = 1_u64;
    let mut random = move |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut noticed = 0;
    for _ in 0..60 {
        let (copy, file) = copy_of(folder.path());
        let mut bytes = fs::read(&file).unwrap();
        for _ in 0..=random(4) {
            // Mostly at the start, where the data is.
            let place = if random(2) == 0 {
                random(length)
            } else {
                random(length.min(65_536))
            };
            for byte in bytes
                .iter_mut()
                .skip(usize::try_from(place).unwrap())
                .take(64)
            {
                *byte ^= u8::try_from(1 + random(255)).unwrap();
            }
        }
        fs::write(&file, bytes).unwrap();
        let opened = std::panic::catch_unwind(|| EmbeddedStore::open(copy.path(), clock()));
        match opened.expect("opening panicked") {
            Err(_) => noticed += 1,
            Ok(store) => noticed += usize::from(block_on(use_everything(&store)).is_err()),
        }
    }
    assert!(noticed > 0, "no damage was noticed");
}

async fn use_everything(store: &EmbeddedStore) -> Result<(), String> {
    let (partition, message) = (partition(), |error: tillgate_store::Unavailable| {
        error.to_string()
    });
    store
        .scan(&partition, "", None, 99)
        .await
        .map_err(message)?;
    store
        .read(&partition, "log", Position(0), 99)
        .await
        .map_err(message)?;
    store.partitions(None, 99).await.map_err(message)?;
    store
        .claim(&partition, "queue", MINUTE, 99)
        .await
        .map_err(message)?;
    store
        .trim(&partition, "log", START.plus(HOUR), 99)
        .await
        .map_err(message)?;
    let everything = [
        put("row", "1"),
        append("log", "m"),
        enqueue("queue", "job", START),
    ];
    store
        .commit(commit(everything))
        .await
        .map_err(|error| error.to_string())?;
    Ok(())
}

/// Returns a copy of the folder of a store that no process has open, and the path of its file.
pub fn copy_of(folder: &Path) -> (TempDir, PathBuf) {
    let copy = TempDir::new().unwrap();
    for file in ["tillgate.db", "tillgate.db-wal"] {
        let from = folder.join(file);
        if from.exists() {
            fs::copy(from, copy.path().join(file)).unwrap();
        }
    }
    let file = copy.path().join("tillgate.db");
    (copy, file)
}

#[test]
fn a_url_names_the_store_to_open() {
    let folder = TempDir::new().unwrap();
    let url = format!("embedded:{}", folder.path().display());
    let parsed: StoreUrl = url.parse().unwrap();
    assert_eq!(parsed.to_string(), url);
    let embedded = block_on(tillgate_store::open(&parsed, clock(), true)).unwrap();
    block_on(embedded.commit(commit([put("row", "1")]))).unwrap();
    assert!(folder.path().join("tillgate.db").exists());
    assert!(
        block_on(tillgate_store::open(&parsed, clock(), true))
            .unwrap_err()
            .contains("is open in another process")
    );

    let sized = format!("{url}?cache=16.0 MiB");
    assert_eq!(sized.parse::<StoreUrl>().unwrap().to_string(), sized);

    let memory: StoreUrl = "memory:".parse().unwrap();
    let opened = block_on(tillgate_store::open(&memory, clock(), false)).unwrap();
    block_on(opened.commit(commit([]))).unwrap();
    block_on(tillgate_store::open(&memory, clock(), true)).unwrap_err();
    for wrong in [
        "",
        "memory",
        "memory:x",
        "embedded:",
        "embedded",
        "embedded:?cache=1MiB",
        "embedded:x?cache=much",
        "embedded:x?size=1",
        "sqlite:x",
    ] {
        assert!(
            wrong
                .parse::<StoreUrl>()
                .unwrap_err()
                .contains("embedded:FOLDER"),
            "{wrong}"
        );
    }
}

#[test]
fn a_partitions_name_is_valid_in_every_store() {
    for name in ["a", "tenant 1", "ä", &"a".repeat(512)] {
        assert_eq!(Partition::new(name).unwrap().as_str(), name);
    }
    for name in [
        "",
        "a{",
        "}b",
        "a\nb",
        "a\0b",
        "\u{7f}",
        &"a".repeat(513),
        &"ä".repeat(257),
    ] {
        assert_eq!(Partition::new(name), None, "{name:?}");
    }
}
