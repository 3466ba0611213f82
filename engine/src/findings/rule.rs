//! The findings of one rule.

use super::report::{MAX_FINDINGS, Report};
use super::{condition, project};
use crate::draft::{Draft, with_document};
use crate::error::Error;
use crate::json::{push, write_number};

/// Appends the findings of a rule as a JSON array. A missing rule has no findings.
pub fn write(draft: &Draft<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    let mut report = Report {
        out,
        count: 0,
        left_out: "",
    };
    match draft {
        Draft::Condition(Some(own), other) => condition::look_at(own, other.as_ref(), &mut report),
        Draft::Project(Some(own)) => project::look_at(own, &mut report),
        Draft::Condition(None, _) | Draft::Project(None) => {}
    }
    if let Some(more @ 1..) = report.count.checked_sub(MAX_FINDINGS) {
        report.begin_any(report.left_out);
        let (begin, end) = match more {
            1 => ("There is ", " more finding: correct these first."),
            _ => ("There are ", " more findings: correct these first."),
        };
        push(begin, report.out);
        write_number(more, report.out);
        push(end, report.out);
        report.end(&[], None);
    }
    report.out.push(b']');
}

/// Appends the findings of a rule as JSON, or nothing if there is an error.
///
/// # Errors
/// [`Code::Invalid`](crate::error::Code::Invalid) with every fault of the rule.
pub fn answer(text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_document(text, &mut |root, faults| {
        let draft = Draft::read(root, faults);
        if let (Some(draft), true) = (draft, faults.is_empty()) {
            push("{\"findings\":", out);
            write(&draft, out);
            out.push(b'}');
        }
    })
}
