//! Waiting with a deadline: a test fails when it expires, and the message says what it waited for. No test asserts how
//! long something takes; the deadline only makes sure that a failing test ends.
#![allow(dead_code, reason = "each test file and bench takes what it needs")]

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that a test waits for anything.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// The time between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits for a future.
pub async fn within<F: Future>(what: &str, coming: F) -> F::Output {
    match tokio::time::timeout(DEADLINE, coming).await {
        Ok(came) => came,
        Err(_) => panic!("not within {DEADLINE:?}: {what}"),
    }
}

/// Repeats a check until it is true.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !is_so().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    within(what, asking).await;
}

/// Repeats a request until it succeeds. The failure message has the last error.
pub async fn answered<T, E: Display>(what: &str, mut ask: impl AsyncFnMut() -> Result<T, E>) -> T {
    let mut last = None;
    let asking = async {
        loop {
            match ask().await {
                Ok(answer) => return answer,
                Err(other) => last = Some(other.to_string()),
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    let asked = tokio::time::timeout(DEADLINE, asking).await;
    let Ok(answer) = asked else {
        let last = last.unwrap_or_else(|| "no answer at all".to_owned());
        panic!("not within {DEADLINE:?}: {what}; there was {last}");
    };
    answer
}

/// Like [`until`], for threads without a runtime.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(
            begin.elapsed() < DEADLINE,
            "not within {DEADLINE:?}: {what}"
        );
        thread::sleep(PAUSE);
    }
}

/// Waits for the end of a process; kills it after the deadline.
pub fn ended(what: &str, process: &mut Child) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if begin.elapsed() > DEADLINE {
            let _ = process.kill();
            panic!("not within {DEADLINE:?}: {what}");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Runs a command to its end, like `Command::output` but with a deadline.
pub fn output(command: &mut Command) -> Output {
    let what = format!("the end of {:?}", command.get_program());
    command.stdin(Stdio::null());
    let mut process = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = rest(process.stdout.take().unwrap());
    let stderr = rest(process.stderr.take().unwrap());
    let (Ok(stdout), Ok(stderr)) = (stdout.recv_timeout(DEADLINE), stderr.recv_timeout(DEADLINE))
    else {
        let _ = process.kill();
        panic!("not within {DEADLINE:?}: {what}");
    };
    Output {
        status: ended(&what, &mut process),
        stdout,
        stderr,
    }
}

/// Reads to the end on another thread.
fn rest(mut source: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, read) = sync_channel(1);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).unwrap();
        let _ = send.send(bytes);
    });
    read
}

/// The lines that a process prints. They are read on demand: once this is dropped, nobody reads them.
pub struct Lines {
    of: &'static str,
    lines: Receiver<String>,
}

impl Lines {
    /// Reads the lines of a source. `of` names it when a line does not come.
    pub fn of(of: &'static str, source: impl Read + Send + 'static) -> Self {
        let (send, lines) = sync_channel(0);
        thread::spawn(move || {
            for line in BufReader::new(source).lines() {
                if send.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { of, lines }
    }

    /// Returns the next line; `None` when there are no more.
    pub fn next(&self) -> Option<String> {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("not within {DEADLINE:?}: a line of {}, or its end", self.of)
            }
        }
    }

    /// Returns the next line that satisfies `is_it`.
    pub fn find(&self, what: &str, mut is_it: impl FnMut(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let Some(line) = self.next() else {
                panic!("{} ended without {what}", self.of);
            };
            if is_it(&line) {
                return line;
            }
            assert!(
                begin.elapsed() < DEADLINE,
                "not within {DEADLINE:?}: {what}"
            );
        }
    }

    /// Returns all lines to the end, each with its line break.
    pub fn rest(&self) -> String {
        std::iter::from_fn(|| self.next())
            .map(|line| line + "\n")
            .collect()
    }
}
