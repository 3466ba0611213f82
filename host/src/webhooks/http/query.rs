//! Parameters of a query, read strictly: every fault is named by its parameter.

use tillgate_engine::Fault;

use crate::http::Request;

/// How many items a page has, without a limit and at most.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// A parameter that is not required.
pub(super) fn param<T>(
    request: &Request,
    name: &str,
    read: impl FnOnce(&str) -> Option<T>,
    rule: &'static str,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    let text = request.query_param(name)?;
    let found = read(&text);
    if found.is_none() {
        add(faults, name, rule);
    }
    found
}

/// A parameter that is required.
pub(super) fn required<T>(
    request: &Request,
    name: &str,
    read: impl FnOnce(&str) -> Option<T>,
    rule: &'static str,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    if request.query_param(name).is_none() {
        add(faults, name, "is required");
    }
    param(request, name, read, rule, faults)
}

/// How many items a page has.
pub(super) fn limit(request: &Request, faults: &mut Vec<Fault>) -> usize {
    let number = |text: &str| {
        let limit = text.parse().ok();
        limit.filter(|limit| (1..=MAX_LIMIT).contains(limit))
    };
    param(request, "limit", number, "must be 1 to 1000", faults).unwrap_or(LIMIT)
}

fn add(faults: &mut Vec<Fault>, name: &str, rule: &'static str) {
    faults.push(Fault {
        path: format!("$.{name}"),
        message: rule.into(),
    });
}
