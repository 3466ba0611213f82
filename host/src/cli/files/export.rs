//! `tillgate export`: writes what a host has as files, in one form and order, so that version control shows what has changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::existing::Present;
use super::file_name::file_names;
use super::host::Host;
use super::kind::{Kind, missing};
use super::pretty::indented;
use super::secrets::add_places;
use super::webhook;
use crate::cli::output::{print, tell};
use crate::cli::session::HostOptions;

/// The file that keeps a folder without resources in version control.
const KEPT: &str = ".gitkeep";

/// Who may read and write the files, but for those whom the mask of the process leaves out.
const MODE: u32 = 0o666;

#[derive(Args, Debug)]
pub(in crate::cli) struct Export {
    #[command(flatten)]
    options: HostOptions,
    /// Folder to write to; it is made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Kinds of resources, separated by commas [default: all that the credentials may read]
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Replace the files of an earlier export, and remove those whose resources are gone
    #[arg(long)]
    replace: bool,
}

/// Writes the files.
pub(in crate::cli) async fn run(arguments: Export) -> Result<(), String> {
    let Export {
        options,
        folder,
        only,
        replace,
    } = arguments;
    let host = Host::open(&options).await?;
    let kinds = kinds(&host, &only)?;
    if !replace {
        refuse_files(&folder, &kinds)?;
    }
    let mut existing = host.existing(kinds.iter().copied()).await?;
    if let Some(fault) = webhook::faults_of_names(&existing, |_| true).next() {
        return Err(fault);
    }
    let mut counts = BTreeMap::new();
    for kind in kinds {
        let mut resources = existing.all.remove(&kind).unwrap_or_default();
        if kind == Kind::Rates {
            resources.retain(|_, unit| !unit.rates.set_by_hand().is_empty());
        }
        write_kind(kind, &resources, &folder)?;
        counts.insert(kind, resources.len());
    }
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
    print(&format!(
        "wrote {all} files of the tenant {} to {shown}: {counts}\n",
        host.tenant
    ))
}

/// The kinds that are exported: those that are asked for, or all that may be read.
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
        let why = match kind.is_the_platforms() {
            true => "they are the platform's, and these credentials lack the permission",
            false => "these credentials lack the permission",
        };
        if only.contains(&kind) {
            return Err(format!("{kind} cannot be read: {why} {permission}"));
        }
        tell(&format!("{kind} are left out: {why} {permission}"));
    }
    Ok(kinds)
}

/// Refuses a folder in which there are files already: they may have changes that no host has.
fn refuse_files(folder: &Path, kinds: &[Kind]) -> Result<(), String> {
    for kind in kinds {
        let of_kind = folder.join(kind.folder());
        let is_free = match fs::read_dir(&of_kind) {
            Ok(mut entries) => entries.next().is_none(),
            Err(cause) => cause.kind() == ErrorKind::NotFound,
        };
        if !is_free {
            return Err(format!(
                "{} exists: use --replace to write the files of the host in place of those that are there",
                of_kind.display()
            ));
        }
    }
    Ok(())
}

/// Writes the files of a kind, each as a whole, and removes those that are no more.
fn write_kind(
    kind: Kind,
    resources: &BTreeMap<String, Present>,
    folder: &Path,
) -> Result<(), String> {
    let folder = folder.join(kind.folder());
    let failed = |path: &Path, cause: std::io::Error| {
        format!("{} cannot be written: {cause}", path.display())
    };
    fs::create_dir_all(&folder).map_err(|cause| failed(&folder, cause))?;
    let names = file_names(resources.keys());
    let mut kept: Vec<&str> = names.values().map(String::as_str).collect();
    for (id, resource) in resources {
        let name = names.get(id.as_str()).map_or(id.as_str(), String::as_str);
        let mut json = resource.document.json.clone();
        if kind == Kind::Webhooks {
            add_places(
                &mut json,
                name.trim_end_matches(".json"),
                resource.has_shared_key,
            );
        }
        write_file(&folder, name, &indented(&json))?;
    }
    if resources.is_empty() {
        write_file(&folder, KEPT, b"")?;
        kept.push(KEPT);
    }
    for entry in fs::read_dir(&folder).map_err(|cause| failed(&folder, cause))? {
        let entry = entry.map_err(|cause| failed(&folder, cause))?;
        let name = entry.file_name();
        let is_ours = name == KEPT
            || Path::new(&name)
                .extension()
                .is_some_and(|end| end == "json");
        if is_ours && !kept.iter().any(|kept| name == *kept) {
            fs::remove_file(entry.path()).map_err(|cause| failed(&entry.path(), cause))?;
        }
    }
    Ok(())
}

/// Writes a file in place of the one that is there, so that it is never there in part.
fn write_file(folder: &Path, name: &str, text: &[u8]) -> Result<(), String> {
    let path = folder.join(name);
    let write = || {
        let mut file = tempfile::Builder::new()
            .prefix(".")
            .permissions(fs::Permissions::from_mode(MODE))
            .tempfile_in(folder)?;
        file.write_all(text)?;
        file.persist(&path).map_err(|failed| failed.error).map(drop)
    };
    write()
        .map_err(|cause: std::io::Error| format!("{} cannot be written: {cause}", path.display()))
}
