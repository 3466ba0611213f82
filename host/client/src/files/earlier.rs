//! The files of an earlier export, which keep their names. Links are refused, so that nothing outside the folder is
//! written or removed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use tillgate_store::unfinished::is_unfinished;

use super::document::id_of;
use super::folder::{has_extension, is_hidden, is_shown};
use super::kind::Kind;
use super::open_folder::OpenFolder;

/// The file that keeps a folder without resources in version control.
pub(super) const KEPT: &str = ".gitkeep";

#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// The folder, if it exists.
    pub(super) folder: Option<OpenFolder>,
    /// The names of all files to write again or to remove.
    pub(super) names: BTreeSet<OsString>,
    /// The names of the files that are understood, by the name of their resource. Of two for one resource, the first
    /// counts.
    pub(super) files: BTreeMap<String, String>,
}

impl Earlier {
    /// Reads the folder of a kind, which must be empty unless it is replaced: its files may have changes that no host
    /// has.
    ///
    /// # Errors
    /// If it is not empty, cannot be read, or contains links.
    pub(super) fn read(kind: Kind, target: &OpenFolder, is_replaced: bool) -> Result<Self, String> {
        let mut earlier = Self {
            folder: target.folder(kind.folder())?,
            ..Self::default()
        };
        let Some(folder) = &earlier.folder else {
            return Ok(earlier);
        };
        let mut names = folder.names()?;
        names.retain(|name| !is_unfinished(name));
        if !is_replaced && !names.is_empty() {
            return Err(format!(
                "{} exists: use --replace to write the files of the host in place of those that are there",
                folder.shown()
            ));
        }
        let is_written = |name: &OsString| name == KEPT || !is_hidden(name) && has_extension(name);
        earlier.names = names.into_iter().filter(is_written).collect();
        for name in &earlier.names {
            let text = folder.read(name, kind.max_file())?;
            let Some(name) = name.to_str().filter(|name| is_shown(name)) else {
                continue;
            };
            if let Some(id) = text.and_then(|text| id_of(kind, &text)) {
                earlier.files.entry(id).or_insert_with(|| name.to_owned());
            }
        }
        Ok(earlier)
    }
}
