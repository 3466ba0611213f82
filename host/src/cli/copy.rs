//! `tillgate copy`: everything from one store to another.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use super::log_to_stderr;
use crate::clock::SystemClock;
use crate::config::Log;
use crate::store::copy::{Progress, copy};
use crate::store::{StoreUrl, open_portable};

/// How often is said how far it is, to a terminal and to a file.
const OFTEN: Duration = Duration::from_millis(200);
const SELDOM: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
pub(super) struct Copy {
    /// The store to copy, which nobody uses meanwhile
    #[arg(long, value_name = "URL")]
    from: String,
    /// The store to copy into: empty, or with the beginning of this copy
    #[arg(long, value_name = "URL")]
    to: String,
}

/// Copies, compares, and says how far it is on stderr.
pub(super) async fn run(arguments: Copy) -> Result<(), String> {
    let log = Log {
        level: "warn".to_owned(),
        format: "text".to_owned(),
    };
    log_to_stderr(&log)?;
    let from: StoreUrl = arguments.from.parse()?;
    let to: StoreUrl = arguments.to.parse()?;
    let clock = Arc::new(SystemClock);
    let source = open_portable(&from, Arc::clone(&clock) as _, false).await?;
    let target = open_portable(&to, clock, false).await?;
    let mut teller = Teller::new();
    let name = from.to_string();
    let copied = copy((source.as_ref(), &name), target.as_ref(), &mut |progress| {
        teller.tell(progress)
    })
    .await;
    teller.end();
    let all = copied.map_err(|cause| cause.to_string())?;
    println!("copied {from} to {to}, and compared: {}", counts(&all));
    Ok(())
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

/// Says how far it is: over and over on one line of a terminal, or now and then.
struct Teller {
    terminal: bool,
    told: Instant,
}

impl Teller {
    fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            told: Instant::now(),
        }
    }

    fn tell(&mut self, progress: &Progress) {
        if self.told.elapsed() < if self.terminal { OFTEN } else { SELDOM } {
            return;
        }
        self.told = Instant::now();
        let doing = if progress.comparing {
            "comparing"
        } else {
            "copying"
        };
        if self.terminal {
            eprint!("\r\x1b[K{doing}: {}", counts(progress));
        } else {
            eprintln!("{doing}: {}", counts(progress));
        }
    }

    fn end(&self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }
}
