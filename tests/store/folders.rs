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

/// The message of a folder that cannot be opened, which must name the folder.
fn refusal(folder: &Path) -> String {
    let message = EmbeddedStore::open(folder, clock()).unwrap_err();
    assert!(message.contains(&folder.display().to_string()), "{message}");
    message
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A folder with a closed store of one entry, and its redb file.
fn closed() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    block_on(open(folder.path()).commit(commit([put("row", "1")]))).unwrap();
    let file = folder.path().join("tillgate.redb");
    (folder, file)
}

#[test]
fn a_missing_folder_is_created_for_this_user_only() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("a/b");
    let _store = open(&folder);
    assert_eq!(mode(&folder), 0o700);
    for file in ["tillgate.redb", "tillgate.journal.0", "tillgate.journal.1"] {
        assert_eq!(mode(folder.join(file)), 0o600);
    }
}

#[test]
fn the_file_is_for_this_user_only_in_a_folder_that_is_not() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let _store = open(folder.path());
    assert_eq!(mode(folder.path()), 0o755);
    assert_eq!(mode(folder.path().join("tillgate.redb")), 0o600);
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
    for contents in [&b""[..], b"x", &[0; 100_000], &[b'x'; 100_000]] {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("tillgate.redb");
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
        fs::OpenOptions::new()
            .write(true)
            .open(&damaged)
            .unwrap()
            .set_len(keep)
            .unwrap();
        let message = refusal(copy.path());
        assert!(message.contains("damaged"), "{keep}: {message}");
    }
    assert_eq!(fs::metadata(&file).unwrap().len(), length);
}

#[test]
fn a_store_of_another_format_is_refused() {
    let (folder, file) = closed();
    {
        let database = redb::Database::open(&file).unwrap();
        let tx = database.begin_write().unwrap();
        let about = redb::TableDefinition::<&str, u64>::new("about");
        tx.open_table(about).unwrap().insert("format", 999).unwrap();
        tx.commit().unwrap();
    }
    assert!(refusal(folder.path()).contains("has format 999, and this version reads format 6"));
}

#[test]
fn a_store_without_its_journal_is_refused() {
    for journal in ["tillgate.journal.0", "tillgate.journal.1"] {
        let (folder, _file) = closed();
        fs::remove_file(folder.path().join(journal)).unwrap();
        let message = refusal(folder.path());
        let missing = format!("is damaged, restore a copy of it: its file {journal} is missing");
        assert!(message.contains(&missing), "{message}");
    }
}

/// Closing flushes everything, so a damaged journal loses nothing then.
#[test]
fn the_journal_of_a_closed_store_contains_nothing_that_is_not_flushed() {
    let (folder, _file) = closed();
    for journal in ["tillgate.journal.0", "tillgate.journal.1"] {
        fs::write(folder.path().join(journal), b"").unwrap();
    }
    let store = open(folder.path());
    let page = block_on(store.scan(&partition(), "", None, 9)).unwrap();
    assert_eq!(keys(&page), ["row"]);
}

#[test]
fn a_database_that_is_not_a_store_is_refused() {
    let folder = TempDir::new().unwrap();
    drop(redb::Database::create(folder.path().join("tillgate.redb")).unwrap());
    assert!(refusal(folder.path()).contains("contains a database that is not a store"));
}

#[test]
fn an_interrupted_first_start_is_completed() {
    for leftover in [&b""[..], &[0; 50_000], b"anything"] {
        let folder = TempDir::new().unwrap();
        let unfinished = folder.path().join("tillgate.redb.new");
        fs::write(&unfinished, leftover).unwrap();
        block_on(open(folder.path()).commit(commit([put("row", "1")]))).unwrap();
        assert!(!unfinished.exists());
    }
}

/// Whatever happened to the file, the store returns correct results or errors; it neither panics nor hangs.
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
    let length = fs::metadata(folder.path().join("tillgate.redb"))
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

/// A copy of a store's folder, and the path of its redb file.
pub fn copy_of(folder: &Path) -> (TempDir, PathBuf) {
    let copy = TempDir::new().unwrap();
    for file in ["tillgate.redb", "tillgate.journal.0", "tillgate.journal.1"] {
        fs::copy(folder.join(file), copy.path().join(file)).unwrap();
    }
    let file = copy.path().join("tillgate.redb");
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
    assert!(folder.path().join("tillgate.redb").exists());
    assert!(
        block_on(tillgate_store::open(&parsed, clock(), true))
            .unwrap_err()
            .contains("is open in another process")
    );

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
