//! The findings of the checks, as lines for people and as JSON. Pure.

use std::fmt::Write as _;

use serde::Serialize;
use tillgate_base::engine::MODULE_SHA256;

use tillgate_client::output::on_line;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// Not as it should be, but a host runs all the same.
    Warn,
    /// A host does not run, or does not do what it must.
    Fail,
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    check: &'static str,
    verdict: Verdict,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// Reports that something is as it should be.
pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Finding {
    Finding {
        check,
        verdict: Verdict::Ok,
        what: what.into(),
        remedy: None,
    }
}

/// Reports that something is not as it should be.
pub(super) fn warn(
    check: &'static str,
    what: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding {
        check,
        verdict: Verdict::Warn,
        what: what.into(),
        remedy: Some(remedy.into()),
    }
}

/// Reports that something keeps a host from running, or from doing what it must.
pub(super) fn fail(
    check: &'static str,
    what: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding {
        verdict: Verdict::Fail,
        ..warn(check, what, remedy)
    }
}

/// The findings of all checks.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    version: &'static str,
    module: &'static str,
    /// The worst verdict.
    verdict: Verdict,
    checks: Vec<Finding>,
}

impl Report {
    pub(super) fn new(checks: Vec<Finding>) -> Self {
        let worst = checks.iter().map(|finding| finding.verdict).max();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            module: MODULE_SHA256,
            verdict: worst.unwrap_or(Verdict::Ok),
            checks,
        }
    }

    /// Returns the worst verdict.
    pub(super) const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Returns a line for each finding, and a summary.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for finding in &self.checks {
            let Finding {
                check,
                verdict,
                what,
                remedy,
            } = finding;
            let verdict = verdict.as_str();
            let _ = write!(lines, "{verdict:<4}  {check:<13}  {}", on_line(what));
            if let Some(remedy) = remedy {
                let _ = write!(lines, ": {}", on_line(remedy));
            }
            lines.push('\n');
        }
        lines + &self.summary()
    }

    fn summary(&self) -> String {
        let count = |verdict| {
            let same = self.checks.iter().filter(|it| it.verdict == verdict);
            same.count()
        };
        match (count(Verdict::Fail), count(Verdict::Warn)) {
            (0, 0) => "all is well\n".to_owned(),
            (0, warned) => format!("nothing fails, {}\n", number(warned, "warning")),
            (failed, warned) => format!(
                "{}, {}\n",
                number(failed, "failure"),
                number(warned, "warning")
            ),
        }
    }
}

fn number(count: usize, of: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {of}{plural}")
}
