//! The log of the hosts in this process: the audit log, and warnings. All tests of the process share it; each finds
//! its lines by a unique name or id.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::io::{self, Write};
use std::sync::{Mutex, Once};

use serde_json::Value;
use tracing_subscriber::EnvFilter;

static KEPT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Appends to the kept log.
struct Keeping;

impl Write for Keeping {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        KEPT.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the log from now on.
pub fn keep() {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| {
        let lines = tracing_subscriber::fmt().with_env_filter(EnvFilter::new("audit=info,warn"));
        lines.with_writer(|| Keeping).json().init();
    });
}

/// Returns the kept log.
pub fn text() -> String {
    String::from_utf8(KEPT.lock().unwrap().clone()).unwrap()
}

/// Returns the fields of the audit lines that `fits` accepts, in order.
pub fn audited(fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let text = text();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect(line));
    let audited = lines.filter(|line| line["target"] == "audit");
    let fields = audited.map(|mut line| line["fields"].take());
    fields.filter(|fields| fits(fields)).collect()
}

/// Returns the fields of the audit lines with a member of this value.
pub fn audited_with(name: &str, value: &str) -> Vec<Value> {
    audited(|line| line[name] == value)
}
