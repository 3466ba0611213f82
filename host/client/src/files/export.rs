//! `tillgate export`: writes the host's resources to files, in one form and order, so that version control shows what
//! has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::earlier::{Earlier, KEPT};
use super::existing::Present;
use super::file_name::file_names;
use super::form::Forms;
use super::host::Host;
use super::kind::{Kind, missing};
use super::open_folder::OpenFolder;
use super::places;
use super::pretty::indented;
use super::resources::Resources;
use super::webhook;
use crate::output::{on_line, print, print_line, tell};
use crate::session::HostOptions;

#[derive(Args, Debug)]
pub struct Export {
    #[command(flatten)]
    options: HostOptions,
    /// Folder to write to; created if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Kinds of resources, separated by commas [default: all that the credentials may read]
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Replace the files of an earlier export, and remove files whose resources no longer exist
    #[arg(long)]
    replace: bool,
}

/// Writes the configuration of a tenant to a folder.
///
/// # Errors
/// A message for the user.
pub async fn run(arguments: Export, resources: &'static dyn Resources) -> Result<(), String> {
    let Export {
        options,
        folder,
        only,
        replace,
    } = arguments;
    let host = Host::open(&options, Forms::of(resources)).await?;
    let kinds = kinds(&host, &only)?;
    let target = OpenFolder::make(&folder)?;
    let earlier = kinds
        .iter()
        .map(|kind| Earlier::read(*kind, &target, replace));
    let earlier: Vec<Earlier> = earlier.collect::<Result<_, _>>()?;
    let mut existing = host.existing(kinds.iter().copied()).await?;
    if let Some(fault) = webhook::faults_of_names(&existing, |_| true).next() {
        return Err(fault);
    }
    let webhooks = existing.all.get(&Kind::Webhooks);
    if let Some(fault) = webhooks.and_then(|webhooks| places::faults(webhooks).next()) {
        return Err(on_line(&fault).into_owned());
    }
    let mut folders = Vec::new();
    for (kind, earlier) in kinds.into_iter().zip(earlier) {
        let mut resources = existing.all.remove(&kind).unwrap_or_default();
        if kind == Kind::Rates {
            resources.retain(|_, unit| !unit.rates.set_by_hand().is_empty());
        }
        folders.push(Folder::new(kind, resources, earlier));
    }
    for of_kind in &folders {
        of_kind.write(&target)?;
    }
    let counts: BTreeMap<Kind, usize> = folders
        .iter()
        .map(|folder| (folder.kind, folder.resources.len()))
        .collect();
    let all: usize = counts.values().sum();
    if options.json {
        let counts: BTreeMap<&str, usize> = counts
            .iter()
            .map(|(kind, count)| (kind.folder(), *count))
            .collect();
        return print(&format!(
            "{}\n",
            json!({ "tenantId": host.tenant, "files": counts })
        ));
    }
    let counts = counts.iter().map(|(kind, count)| format!("{kind} {count}"));
    let (counts, shown) = (counts.collect::<Vec<_>>().join(", "), folder.display());
    print_line(&format!(
        "wrote {all} files of the tenant {} to {shown}: {counts}",
        host.tenant
    ))
}

/// Returns the kinds to export: the requested ones, or all that may be read.
fn kinds(host: &Host, only: &[Kind]) -> Result<Vec<Kind>, String> {
    let mut kinds = Vec::new();
    for kind in Kind::ALL {
        if !only.is_empty() && !only.contains(&kind) {
            continue;
        }
        let Some(permission) = missing(kind.reading(), host.permissions) else {
            kinds.push(kind);
            continue;
        };
        let why = if kind.is_the_platforms() {
            "they are the platform's, and these credentials lack the permission"
        } else {
            "these credentials lack the permission"
        };
        if only.contains(&kind) {
            return Err(format!("{kind} cannot be read: {why} {permission}"));
        }
        tell(&format!("{kind} are left out: {why} {permission}"));
    }
    Ok(kinds)
}

/// The future folder of a kind.
struct Folder {
    kind: Kind,
    resources: BTreeMap<String, Present>,
    /// The file name of each resource.
    names: BTreeMap<String, String>,
    earlier: Earlier,
}

impl Folder {
    fn new(kind: Kind, resources: BTreeMap<String, Present>, earlier: Earlier) -> Self {
        Self {
            kind,
            names: file_names(resources.keys(), &earlier.files),
            resources,
            earlier,
        }
    }

    /// Writes the files, each as a whole, and removes the obsolete ones.
    fn write(&self, target: &OpenFolder) -> Result<(), String> {
        let made;
        let folder = match &self.earlier.folder {
            Some(folder) => folder,
            None => {
                made = target.make_folder(self.kind.folder())?;
                &made
            }
        };
        folder.remove_unfinished()?;
        for (id, name) in &self.names {
            let Some(resource) = self.resources.get(id) else {
                continue;
            };
            let json = match self.kind {
                Kind::Webhooks => places::with_places(resource).to_json(),
                _ => resource.document.members.to_json(),
            };
            folder.write(name, &indented(&json))?;
        }
        let mut kept: BTreeSet<&OsStr> = self.names.values().map(OsStr::new).collect();
        if self.names.is_empty() {
            folder.write(KEPT, b"")?;
            kept.insert(OsStr::new(KEPT));
        }
        for name in &self.earlier.names {
            if !kept.contains(name.as_os_str()) {
                folder.remove(name)?;
            }
        }
        Ok(())
    }
}
