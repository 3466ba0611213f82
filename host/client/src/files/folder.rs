//! Reads the folder: a folder for each kind, a file for each resource. Every fault of every file is reported.
//!
//! A kind without a folder is out of scope; a kind with an empty folder is to have no resources. A file contains the
//! name of its resource, so files may have any names. What is not understood is an error and never skipped: a
//! misspelled name would otherwise silently take resources out of scope. Only names that begin with a dot, such as
//! `.gitkeep`, and top-level files other than `.json` are skipped. A link is followed as long as it stays in the
//! folder, as in a volume that Kubernetes has mounted.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::FileType;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::document::{self, Read};
use super::form::Forms;
use super::kind::Kind;
use crate::input::open;
use crate::output::{on_line, shown_path};

/// The most files, and the most bytes of all files together.
const MAX_FILES: usize = 300_000;
const MAX_BYTES: u64 = 1 << 30;

/// The most faults that are reported.
const MAX_FAULTS: usize = 100;

/// A file of a resource.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// Its path within the folder: `conditions/alcohol.json`.
    pub(super) name: String,
    pub(super) says: Read,
}

/// The files of the kinds in scope, by the name of the resource.
pub(super) type Files = BTreeMap<Kind, BTreeMap<String, File>>;

/// The reason why there are no files.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The folder cannot be read.
    Unreadable(String),
    /// Its contents have faults, a line for each.
    Malformed(Vec<String>),
}

/// Reads a folder.
///
/// # Errors
/// Every fault.
pub(super) fn read(folder: &Path, forms: &Forms) -> Result<Files, Refusal> {
    let root = folder.canonicalize();
    let mut reader = Reader {
        // If this fails, reading the entries reports why.
        root: root.unwrap_or_else(|_| folder.to_owned()),
        forms,
        faults: Vec::new(),
        count: 0,
        bytes: 0,
    };
    let mut files = Files::new();
    for (name, entry_type) in entries(&reader.root, folder).map_err(Refusal::Unreadable)? {
        match Kind::of_folder(&name) {
            Some(kind) if entry_type.is_dir() => {
                let of_kind = reader.read_kind(kind, &folder.join(&name));
                files.insert(kind, of_kind.map_err(Refusal::Unreadable)?);
            }
            Some(_) => reader.fault(
                &name,
                "must be a folder, and not a link that leads out of the top folder",
            ),
            None if entry_type.is_dir() => {
                reader.fault(
                    &name,
                    &format!("is not one of the known folders: {}", known()),
                );
            }
            None if has_extension(&name) => {
                reader.fault(
                    &name,
                    &format!("must be in the folder of its kind: {}", known()),
                );
            }
            // Such as a README.
            None => {}
        }
    }
    if !reader.faults.is_empty() {
        return Err(Refusal::Malformed(reader.faults));
    }
    if files.is_empty() {
        let shown = shown_path(folder);
        return Err(Refusal::Unreadable(format!(
            "{shown} has none of the folders {}",
            known()
        )));
    }
    Ok(files)
}

/// Returns the names of all folders.
fn known() -> String {
    let names = Kind::ALL.map(Kind::folder);
    names.join(", ")
}

/// Returns the entries of a folder below `root`, by name, except those that begin with a dot. A link counts as its
/// target, as long as that is below `root` too.
fn entries(root: &Path, folder: &Path) -> Result<BTreeMap<String, FileType>, String> {
    let unreadable =
        |cause: std::io::Error| format!("{} cannot be read: {cause}", shown_path(folder));
    let mut named = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        if is_hidden(&name) {
            continue;
        }
        let name = name.into_string().map_err(|name| {
            format!(
                "{} has a file whose name is not UTF-8: {name:?}",
                shown_path(folder)
            )
        })?;
        let mut entry_type = entry.file_type().map_err(unreadable)?;
        if entry_type.is_symlink()
            && let Ok(target) = entry.path().canonicalize()
            && target.starts_with(root)
        {
            entry_type = target.metadata().map_err(unreadable)?.file_type();
        }
        named.insert(name, entry_type);
    }
    Ok(named)
}

/// Returns whether a name begins with a dot.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns whether a terminal shows a name unchanged.
pub(super) fn is_shown(name: &str) -> bool {
    on_line(name) == name
}

/// Returns whether a name ends in `.json`.
pub(super) fn has_extension(name: impl AsRef<Path>) -> bool {
    name.as_ref()
        .extension()
        .is_some_and(|extension| extension == "json")
}

struct Reader<'f> {
    forms: &'f Forms,
    /// The folder of all kinds.
    root: PathBuf,
    faults: Vec<String>,
    count: usize,
    bytes: u64,
}

impl Reader<'_> {
    fn fault(&mut self, name: &str, what: &str) {
        match self.faults.len() {
            MAX_FAULTS => self
                .faults
                .push("there are more faults than are listed".to_owned()),
            0..MAX_FAULTS => {
                let fault = format!("{name}: {what}");
                self.faults.push(on_line(&fault).into_owned());
            }
            _ => {}
        }
    }

    fn read_kind(&mut self, kind: Kind, folder: &Path) -> Result<BTreeMap<String, File>, String> {
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        let mut folded: BTreeMap<String, String> = BTreeMap::new();
        for (name, entry_type) in entries(&self.root, folder)? {
            let path = format!("{kind}/{name}");
            if let Some(other) = folded.insert(name.to_lowercase(), name.clone()) {
                let what = format!(
                    "differs from {kind}/{other} only in case: where case does not count, one replaces the other"
                );
                self.fault(&path, &what);
            } else if !entry_type.is_file() {
                self.fault(
                    &path,
                    "must be a file, and not a link that leads out of the top folder",
                );
            } else if !has_extension(&name) {
                self.fault(&path, "must have a name that ends in .json");
            } else if !is_shown(&name) {
                self.fault(&path, "must have a name without control characters");
            } else if let Some(says) = self.read_file(kind, &path, &folder.join(&name))? {
                let id = says.document.id.clone();
                let file = File { name: path, says };
                if let Some(other) = files.insert(id.clone(), file) {
                    let noun = kind.noun();
                    let what = format!(
                        "is another file of the {noun} {id}, which is in {}",
                        other.name
                    );
                    let path = format!("{kind}/{name}");
                    self.fault(&path, &what);
                }
            }
        }
        Ok(files)
    }

    fn read_file(&mut self, kind: Kind, name: &str, path: &Path) -> Result<Option<Read>, String> {
        let unreadable =
            |cause: std::io::Error| format!("{} cannot be read: {cause}", shown_path(path));
        let (mut text, most) = (Vec::new(), kind.max_file());
        let file = open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        if length <= most {
            file.take(most + 1)
                .read_to_end(&mut text)
                .map_err(unreadable)?;
        }
        let length = length.max(u64::try_from(text.len()).unwrap_or(u64::MAX));
        if length > most {
            self.fault(name, &format!("is larger than {} MiB", most >> 20));
            return Ok(None);
        }
        (self.count, self.bytes) = (self.count + 1, self.bytes + length);
        if self.count > MAX_FILES || self.bytes > MAX_BYTES {
            return Err("the folder has more than 300,000 files, or more than 1 GiB".to_owned());
        }
        match document::of_file(kind, &text, self.forms) {
            Ok(says) => Ok(Some(says)),
            Err(faults) => {
                for fault in faults {
                    self.fault(name, &fault.to_string());
                }
                Ok(None)
            }
        }
    }
}
