//! The audit log of the hosts in this process. All tests of the process share it: each finds its own lines by an id that no
//! other test has.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::io::{self, Write};
use std::sync::{Mutex, Once};

use serde_json::Value;
use tracing_subscriber::EnvFilter;

static KEPT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Appends to what is kept.
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

/// Keeps the audit log from now on.
pub fn keep() {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| {
        let lines = tracing_subscriber::fmt().with_env_filter(EnvFilter::new("audit=info"));
        lines.with_writer(|| Keeping).json().init();
    });
}

/// The fields of the lines that have been kept and fit, in their order.
pub fn lines(fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let kept = String::from_utf8(KEPT.lock().unwrap().clone()).unwrap();
    let lines = kept.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect(line);
        assert_eq!(line["target"], "audit");
        line["fields"].take()
    });
    lines.filter(|line| fits(line)).collect()
}

/// The lines with a member of this value.
pub fn lines_with(name: &str, value: &str) -> Vec<Value> {
    lines(|line| line[name] == value)
}
