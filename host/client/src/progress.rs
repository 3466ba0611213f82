//! Progress on stderr: on one line of a terminal, or as an occasional line.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use super::output::on_stderr;

/// The intervals of progress on a terminal, and on anything else.
const TERMINAL_INTERVAL: Duration = Duration::from_millis(200);
const FILE_INTERVAL: Duration = Duration::from_secs(10);

pub struct ProgressLine {
    terminal: bool,
    printed: Instant,
}

impl ProgressLine {
    pub fn begin() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            printed: Instant::now(),
        }
    }

    /// Prints progress, unless it printed some just before.
    pub fn print(&mut self, progress: impl FnOnce() -> String) {
        let interval = if self.terminal {
            TERMINAL_INTERVAL
        } else {
            FILE_INTERVAL
        };
        if self.printed.elapsed() < interval {
            return;
        }
        self.printed = Instant::now();
        if self.terminal {
            on_stderr(&format!("\r\x1b[K{}", progress()));
        } else {
            on_stderr(&format!("{}\n", progress()));
        }
    }

    /// Clears the line of a terminal.
    pub fn end(&self) {
        if self.terminal {
            on_stderr("\r\x1b[K");
        }
    }
}
