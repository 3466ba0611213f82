//! The files of a snapshot: one for each partition, and one with the time up to which all of them are complete.
//!
//! A file has a line with the format and the SHA-256 of the rest, then JSON. It is written to a temporary file that
//! only this user may read, and then renamed. A damaged file is logged and skipped.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tillgate_store::clock::Timestamp;
use tillgate_store::unfinished::{PREFIX, is_unfinished};
use tillgate_store::{Entry, Revision, regular_file};

const FORMAT: &str = "tillgate-snapshot 1 ";

/// The file with the time up to which the others are complete.
const AS_OF: &str = "as-of.json";

/// The records of a partition.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Saved {
    pub partition: String,
    /// The key prefixes of all its records. Other records are not in the snapshot.
    pub prefixes: Vec<String>,
    records: Vec<Record>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Record {
    key: String,
    revision: u64,
    value: String,
}

/// The time up to which all files were complete, and the store they come from.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct AsOf {
    pub at: Timestamp,
    pub store: String,
}

impl Saved {
    pub(super) fn new<'e>(
        partition: &str,
        prefixes: &[&str],
        entries: impl Iterator<Item = (&'e String, &'e Entry)>,
    ) -> Self {
        let records = entries.filter_map(|(key, entry)| {
            Some(Record {
                key: key.clone(),
                revision: entry.revision.0,
                // Every record is JSON.
                value: str::from_utf8(&entry.value).ok()?.to_owned(),
            })
        });
        Self {
            partition: partition.to_owned(),
            prefixes: prefixes.iter().map(|&prefix| prefix.to_owned()).collect(),
            records: records.collect(),
        }
    }

    pub(super) fn entries(self) -> impl Iterator<Item = (String, Entry)> {
        self.records.into_iter().map(|record| {
            let entry = Entry {
                revision: Revision(record.revision),
                value: Bytes::from(record.value),
            };
            (record.key, entry)
        })
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write(folder, &name_of(&self.partition), self)
    }
}

/// A digest, because a partition's name may be longer than a file's name may be.
fn name_of(partition: &str) -> String {
    let digest = hex::encode(Sha256::digest(partition));
    format!("{digest}.partition.json")
}

/// Removes the file of a partition, if there is one.
pub(super) fn remove(folder: &Path, partition: &str) -> io::Result<()> {
    match fs::remove_file(folder.join(name_of(partition))) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
        _ => Ok(()),
    }
}

impl AsOf {
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        read(&folder.join(AS_OF))
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write(folder, AS_OF, self)
    }
}

/// Creates the folder of a snapshot, for this user only.
pub(super) fn create(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    // A process that ended while it wrote has left these. No other process writes here.
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_unfinished(&entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Reads every saved partition, except for damaged files.
pub(super) fn read_all(folder: &Path) -> io::Result<Vec<Saved>> {
    let mut all = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if !is_partition(&path) {
            continue;
        }
        match read(&path) {
            Ok(saved) => all.push(saved),
            Err(cause) => {
                tracing::error!(file = %path.display(), %cause, "a file of the snapshot is left out");
            }
        }
    }
    Ok(all)
}

fn is_partition(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(".partition.json"))
}

fn write(folder: &Path, name: &str, content: &impl Serialize) -> io::Result<()> {
    let json = serde_json::to_vec(content)?;
    // Only its owner may read a temporary file.
    let mut file = tempfile::Builder::new()
        .prefix(PREFIX)
        .tempfile_in(folder)?;
    let digest = hex::encode(Sha256::digest(&json));
    file.write_all(format!("{FORMAT}{digest}\n").as_bytes())?;
    file.write_all(&json)?;
    file.as_file().sync_data()?;
    file.persist(folder.join(name))?;
    Ok(())
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let content = regular_file::read_blocking(path)?;
    let damaged = |how: &str| io::Error::new(io::ErrorKind::InvalidData, how.to_owned());
    let text = content
        .strip_prefix(FORMAT.as_bytes())
        .ok_or_else(|| damaged("it has another format"))?;
    let (digest, json) = text
        .split_at_checked(64)
        .ok_or_else(|| damaged("it is cut off"))?;
    let json = json
        .strip_prefix(b"\n")
        .ok_or_else(|| damaged("it is damaged"))?;
    if hex::encode(Sha256::digest(json)).as_bytes() != digest {
        return Err(damaged("its checksum is wrong"));
    }
    Ok(serde_json::from_slice(json)?)
}
