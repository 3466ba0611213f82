//! `tillgate backup` and `restore`: copies an embedded store to one file, and creates a store from such a file. A
//! backup reads the store's file directly, even while a host serves it.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::Args;
use tillgate_base::config::{Flags, Loaded, store_url};
use tillgate_store::backup::{Contents, Progress, backup, restore};
use tillgate_store::{StoreUrl, priority};

use super::log_to_stderr;
use tillgate_client::output::print_line;
use tillgate_client::progress::ProgressLine;

#[derive(Args, Debug)]
pub(super) struct Backup {
    /// File to write; it must not exist
    file: PathBuf,
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Args, Debug)]
pub(super) struct Restore {
    /// File that a backup has written
    file: PathBuf,
    /// Store to create, embedded:FOLDER, or @FILE with its URL; the folder must be empty or missing
    #[arg(
        long,
        value_name = "URL",
        env = "TILLGATE_STORE",
        hide_env_values = true
    )]
    store: String,
}

#[derive(Args, Debug)]
struct StoreArguments {
    /// Store to read, or @FILE with its URL [default: that of the configuration]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Configuration file, in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl StoreArguments {
    fn folder(self) -> Result<PathBuf, String> {
        let flags = Flags {
            store: self.store,
            ..Flags::default()
        };
        let config = Loaded::read(self.config.as_deref(), &flags)?.config;
        log_to_stderr(&config.log)?;
        folder_of(&config.store)
    }
}

/// Returns the folder of an embedded store.
fn folder_of(url: &str) -> Result<PathBuf, String> {
    match url.parse()? {
        StoreUrl::Embedded { folder, .. } => Ok(folder),
        other @ (StoreUrl::Memory | StoreUrl::Redis(_)) => Err(format!(
            "{other} is not an embedded store: use tillgate copy to copy a store on Redis to a folder and back"
        )),
    }
}

/// Makes a backup at a lower priority than a host.
pub(super) fn run_backup(arguments: Backup) -> Result<(), String> {
    let Backup { file, store } = arguments;
    let folder = store.folder()?;
    priority::lower_own(priority::UPKEEP);
    let contents = with_progress("copying", |report| backup(&folder, &file, report))?;
    let (folder, file) = (folder.display(), file.display());
    print_line(&format!("wrote {file}, a backup of {folder} {contents}"))
}

pub(super) fn run_restore(arguments: Restore) -> Result<(), String> {
    let Restore { file, store } = arguments;
    let folder = folder_of(&store_url(&store)?)?;
    let contents = with_progress("restoring", |report| restore(&file, &folder, report))?;
    let (folder, file) = (folder.display(), file.display());
    print_line(&format!("restored {file} to {folder} {contents}"))
}

/// Copies with a progress line, and describes the contents of the store.
fn with_progress(
    verb: &str,
    copy: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<Contents, String>,
) -> Result<String, String> {
    let mut line = ProgressLine::begin();
    let copied = copy(&mut |progress| line.print(|| format!("{verb}: {}", amount(progress))));
    line.end();
    copied.map(describe)
}

fn amount(progress: Progress) -> String {
    let percent = progress.done * 100 / progress.total.max(1);
    let (done, total) = (ByteSize(progress.done), ByteSize(progress.total));
    format!("{done} of {total}, {percent} %")
}

pub(super) fn describe(contents: Contents) -> String {
    let Contents {
        partitions,
        entries,
        messages,
        jobs,
        newest,
    } = contents;
    let newest = match newest.0 {
        0 => "none".to_owned(),
        _ => newest.to_millis_text(),
    };
    format!(
        "({partitions} partitions, {entries} entries, {messages} messages, {jobs} jobs; newest change: {newest})"
    )
}
