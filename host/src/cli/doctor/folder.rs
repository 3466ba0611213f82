//! A host's folders and files: checks whether they can be written, whether the disk has space, and who may read the
//! secrets in them.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use rustix::fs::{Access, StatVfs, access, statvfs};
use rustix::process::geteuid;

use super::report::{Finding, fail, ok, warn};
use tillgate_client::credentials::Credentials;

const FOLDER: &str = "folder";
const CREDENTIALS: &str = "credentials";

/// The free space that the largest write needs: 32 MiB.
const NEEDED: u64 = 32 << 20;

/// Less free space than this is soon used up: 1 GiB.
const WANTED: u64 = 1 << 30;

/// The permissions of the group and of all other users.
const OTHERS: u32 = 0o077;

/// Returns the free and the total space, in bytes, of the disk that a folder is on.
pub(super) fn space(folder: &Path) -> Option<(u64, u64)> {
    let StatVfs {
        f_frsize: block,
        f_bavail: free,
        f_blocks: all,
        ..
    } = statvfs(folder).ok()?;
    Some((block.saturating_mul(free), block.saturating_mul(all)))
}

/// Checks a folder in which a host keeps something. A host creates a missing one.
pub(super) fn check(folder: &Path) -> Vec<Finding> {
    let shown = folder.display();
    let metadata = match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => {
            let what = format!("{shown} is not a folder");
            return vec![fail(FOLDER, what, "name another one")];
        }
        Err(cause) if cause.kind() == ErrorKind::NotFound => return vec![missing(folder)],
        Err(cause) => {
            let what = format!("{shown} cannot be read: {cause}");
            return vec![fail(
                FOLDER,
                what,
                "run this as the user that runs the host",
            )];
        }
    };
    let mut findings = Vec::new();
    if access(folder, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let owner = metadata.uid();
        let what = format!("{shown} cannot be written by this user; it belongs to user {owner}");
        let remedy = "run this as the user that runs the host, or give that user the folder";
        findings.push(fail(FOLDER, what, remedy));
    }
    findings.extend(owners(folder, &metadata));
    findings.extend(readable_by_others(FOLDER, folder, &metadata, "700"));
    findings.extend(lack_of_space(folder));
    if findings.is_empty() {
        let free = space(folder).map_or_else(String::new, |(free, _)| {
            format!(", and {} are free", ByteSize(free))
        });
        findings.push(ok(FOLDER, format!("{shown} can be written{free}")));
    }
    findings
}

/// Checks a missing folder, which the host creates at its first start if it can write to the one above.
fn missing(folder: &Path) -> Finding {
    let above = folder.ancestors().skip(1);
    // The last ancestor of a relative path is empty: it is the current folder.
    let mut above = above.map(|above| {
        if above.as_os_str().is_empty() {
            Path::new(".")
        } else {
            above
        }
    });
    let above = above.find(|above| above.exists()).unwrap_or(folder);
    let (shown, above_shown) = (folder.display(), above.display());
    match access(above, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => ok(FOLDER, format!("{shown} is created at the first start")),
        Err(_) => fail(
            FOLDER,
            format!("{shown} is not there, and this user cannot create it in {above_shown}"),
            "run this as the user that runs the host, or create the folder for that user",
        ),
    }
}

/// Finds a file with another owner than its folder: a command that ran as another user left it behind.
fn owners(folder: &Path, metadata: &Metadata) -> Option<Finding> {
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let mut others = files.filter(|file| {
        let own = file.file_name().to_string_lossy().starts_with("tillgate.");
        own && file.metadata().is_ok_and(|it| it.uid() != metadata.uid())
    });
    let (file, owner) = (others.next()?.path(), metadata.uid());
    Some(warn(
        FOLDER,
        format!(
            "{} does not belong to user {owner}, as its folder does",
            file.display()
        ),
        format!("chown -R {owner} {}", folder.display()),
    ))
}

fn readable_by_others(
    check: &'static str,
    path: &Path,
    metadata: &Metadata,
    mode: &str,
) -> Option<Finding> {
    let shown = path.display();
    (metadata.mode() & OTHERS != 0).then(|| {
        warn(
            check,
            format!("other users of this machine may look into {shown}"),
            format!("chmod {mode} {shown}"),
        )
    })
}

/// Checks for free space, also because an upgrade of the store makes a backup beside it.
fn lack_of_space(folder: &Path) -> Option<Finding> {
    let (free, _) = space(folder)?;
    let store = folder.join("tillgate.db").metadata();
    let store = store.map_or(0, |file| file.len());
    let what = format!("{} are free in {}", ByteSize(free), folder.display());
    if free < NEEDED {
        return Some(fail(
            FOLDER,
            what,
            "free some space: nothing can be written",
        ));
    }
    (free < WANTED.max(store)).then(|| {
        let remedy = format!(
            "free some space for new data, and for the backup that an upgrade makes of {}",
            ByteSize(store)
        );
        warn(FOLDER, what, remedy)
    })
}

/// Checks the file with the operator's credentials, where a starting host would look for it.
pub(super) fn credentials(file: Result<PathBuf, String>) -> Finding {
    let file = match file {
        Ok(file) => file,
        Err(why) => return fail(CREDENTIALS, why, "a host does not start without it"),
    };
    let shown = file.display();
    let metadata = match file.metadata() {
        Ok(metadata) => metadata,
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            let what = format!(
                "{shown} is not there: it was moved to where secrets are kept, or no host has started yet"
            );
            return ok(CREDENTIALS, what);
        }
        Err(cause) => {
            let what = format!("{shown} cannot be read: {cause}");
            return warn(CREDENTIALS, what, "run this as the user that runs the host");
        }
    };
    if let Some(found) = readable_by_others(CREDENTIALS, &file, &metadata, "600") {
        return found;
    }
    let user = geteuid().as_raw();
    if user != 0 && user != metadata.uid() {
        let what = format!(
            "{shown} belongs to user {}, and not to this one",
            metadata.uid()
        );
        return warn(CREDENTIALS, what, "run this as the user that runs the host");
    }
    match Credentials::read(&file) {
        Ok(_) => ok(CREDENTIALS, format!("only its owner can read {shown}")),
        Err(why) => warn(
            CREDENTIALS,
            why,
            "tillgate operator creates new credentials while no host serves the store",
        ),
    }
}
