//! `tillgate copy`: copies everything from one store to another.

use std::sync::Arc;

use clap::Args;
use tillgate_base::config::{Log, store_url};
use tillgate_store::clock::SystemClock;
use tillgate_store::copy::{Progress, copy};
use tillgate_store::{StoreUrl, open_portable};

use super::log_to_stderr;
use tillgate_client::output::print_line;
use tillgate_client::progress::ProgressLine;

#[derive(Args, Debug)]
pub(super) struct Copy {
    /// Store to copy from, or @FILE with its URL; nothing else may use it during the copy
    #[arg(
        long,
        value_name = "URL",
        env = "TILLGATE_COPY_FROM",
        hide_env_values = true
    )]
    from: String,
    /// Store to copy to, or @FILE with its URL; it must be empty or contain an interrupted run of this copy
    #[arg(
        long,
        value_name = "URL",
        env = "TILLGATE_COPY_TO",
        hide_env_values = true
    )]
    to: String,
}

/// Copies, compares, and prints the progress to stderr.
pub(super) async fn run(arguments: Copy) -> Result<(), String> {
    let log = Log {
        level: "warn".to_owned(),
        format: "text".to_owned(),
    };
    log_to_stderr(&log)?;
    let from: StoreUrl = store_url(&arguments.from)?.parse()?;
    let to: StoreUrl = store_url(&arguments.to)?.parse()?;
    from.check_exists()?;
    let clock = Arc::new(SystemClock);
    let source = open_portable(&from, Arc::clone(&clock) as _, false).await?;
    let first = source.partitions(None, 1).await;
    if first.map_err(|cause| cause.to_string())?.is_empty() {
        return Err(format!(
            "the store {from} is empty: there is nothing to copy"
        ));
    }
    let target = open_portable(&to, clock, false).await?;
    let mut progress_line = ProgressLine::begin();
    let name = from.to_string();
    let copied = copy((source.as_ref(), &name), target.as_ref(), &mut |progress| {
        progress_line.print(|| describe(progress))
    })
    .await;
    progress_line.end();
    let all = copied.map_err(|cause| cause.to_string())?;
    print_line(&format!(
        "copied {from} to {to} and compared them: {}",
        counts(&all)
    ))
}

fn describe(progress: &Progress) -> String {
    let phase = if progress.comparing {
        "comparing"
    } else {
        "copying"
    };
    format!("{phase}: {}", counts(progress))
}

fn counts(progress: &Progress) -> String {
    let Progress {
        partitions,
        entries,
        messages,
        jobs,
        ..
    } = progress;
    format!("{partitions} partitions, {entries} entries, {messages} messages, {jobs} jobs")
}
