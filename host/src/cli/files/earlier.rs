//! What is in the folder that `export` writes a kind to: the files of an earlier export, whose names and places of secrets
//! stay. A link is refused, so that nothing outside of the folder is written or removed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::document::outline;
use super::folder::{has_extension, is_hidden, is_shown};
use super::kind::Kind;
use super::secrets::Secrets;
use crate::cli::output::on_line;
use crate::store::unfinished::remove_abandoned;

/// The file that keeps a folder without resources in version control.
pub(super) const KEPT: &str = ".gitkeep";

/// A file that an earlier export has written, or a person.
#[derive(Debug)]
pub(super) struct EarlierFile {
    pub(super) name: String,
    /// Of a webhook.
    pub(super) secrets: Secrets,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// The names of all files that are to be written again or removed.
    pub(super) names: BTreeSet<OsString>,
    /// Those that are understood, by what their resource is called. Of two for one, the first stays.
    pub(super) files: BTreeMap<String, EarlierFile>,
}

impl Earlier {
    /// What is in the folder of a kind, which must be empty unless it is to be replaced: its files may have changes that no
    /// host has.
    ///
    /// # Errors
    /// When it is not, cannot be read, or has links in it.
    pub(super) fn read(kind: Kind, folder: &Path, is_replaced: bool) -> Result<Self, String> {
        let folder = folder.join(kind.folder());
        let unreadable = |cause| format!("{} cannot be read: {cause}", shown(&folder));
        let mut earlier = Self::default();
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                return Err(format!(
                    "{} must be a folder, and no link to one",
                    shown(&folder)
                ));
            }
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(earlier),
            Err(cause) => return Err(unreadable(cause)),
        }
        remove_abandoned(&folder);
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if !is_replaced {
                return Err(format!(
                    "{} exists: use --replace to write the files of the host in place of those that are there",
                    shown(&folder)
                ));
            }
            let name = entry.file_name();
            if name != KEPT && (is_hidden(&name) || !has_extension(&name)) {
                continue;
            }
            if !entry.file_type().map_err(unreadable)?.is_file() {
                return Err(format!(
                    "{} must be a file, and no link to one",
                    shown(&entry.path())
                ));
            }
            earlier.names.insert(name);
        }
        for name in &earlier.names {
            let Some(name) = name.to_str().filter(|name| is_shown(name)) else {
                continue;
            };
            if let Some((id, secrets)) = read_file(kind, &folder.join(name))? {
                let name = name.to_owned();
                let file = EarlierFile { name, secrets };
                earlier.files.entry(id).or_insert(file);
            }
        }
        Ok(earlier)
    }
}

/// What a file is about, unless it is not understood.
fn read_file(kind: Kind, path: &Path) -> Result<Option<(String, Secrets)>, String> {
    let unreadable = |cause| format!("{} cannot be read: {cause}", shown(path));
    if fs::metadata(path).map_err(unreadable)?.len() > kind.max_file() {
        return Ok(None);
    }
    Ok(outline(kind, &fs::read(path).map_err(unreadable)?))
}

/// A path on one line.
pub(super) fn shown(path: &Path) -> String {
    on_line(&path.display().to_string()).into_owned()
}
