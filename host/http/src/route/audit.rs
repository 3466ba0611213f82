//! The audit log's record of a request: which routes have a line, what a handler says it changed, and who asked for it.
//!
//! A handler of [`Route::changing`](super::Route::changing) cannot answer without saying what it changed, or that it
//! changed nothing. The line is written once the handler has ended.

use std::sync::Arc;

use tillgate_base::data::etag::Written;
use tillgate_base::error::Result;
use tillgate_base::identity::Caller;
use tillgate_base::observe::audit::{Line, Origin, Outcome};
use uuid::Uuid;

use super::request::Request;
use crate::connection::Head;
use crate::reply::Reply;

/// The author of a client's registration: the client itself, which has no token yet.
const ITSELF: &str = "itself";

/// The audit log's record of the requests of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audits {
    /// None: they read.
    Nothing,
    /// None, for this reason, although their method is not GET.
    Exempt(&'static str),
    /// A line with this action for each request that changes something.
    Change(&'static str),
}

/// The answer of a handler that may change something, and the line about its change.
#[derive(Debug)]
pub struct Audited {
    pub(crate) reply: Reply,
    line: Option<Box<Line>>,
}

impl Reply {
    /// Returns the answer to a request that changed something.
    #[must_use]
    pub fn audited(self, line: Line) -> Audited {
        self.audited_if(Some(Box::new(line)))
    }

    /// Returns the answer to a request, with a line if it changed something.
    #[must_use]
    pub fn audited_if(self, line: Option<Box<Line>>) -> Audited {
        Audited { reply: self, line }
    }

    /// Returns the answer to a PUT, with a line if it changed something.
    #[must_use]
    pub fn audited_put(self, written: Written, line: Line) -> Audited {
        self.audited_if((written != Written::Unchanged).then(|| Box::new(line)))
    }

    /// Returns the answer to a request that changed nothing, such as a dry run.
    #[must_use]
    pub fn unchanged(self) -> Audited {
        self.audited_if(None)
    }
}

/// A request that is being handled, and whose route has a line.
#[derive(Debug)]
pub(crate) struct Asked {
    action: &'static str,
    caller: Option<Arc<Caller>>,
    head: Arc<Head>,
    correlation: Uuid,
}

impl Asked {
    /// Keeps what the line of a request will need; returns `None` on a route without a line.
    pub(crate) fn of(audits: Audits, request: &Request) -> Option<Self> {
        let Audits::Change(action) = audits else {
            return None;
        };
        Some(Self {
            action,
            caller: request.caller.clone(),
            head: Arc::clone(&request.head),
            correlation: request.correlation,
        })
    }

    /// Writes the line once the request is handled. A request that failed on this side may still have taken effect.
    pub(crate) fn write(&self, handled: &Result<Audited>) {
        let by = self.caller.as_ref().map(|caller| &*caller.subject);
        let origin = Origin {
            by: by.unwrap_or(ITSELF),
            path: Some(self.head.uri.path()),
            correlation: Some(self.correlation),
        };
        match handled {
            Ok(Audited { line, .. }) => {
                if let Some(line) = line {
                    line.write(self.action, &origin, Outcome::Done);
                }
            }
            Err(error) if error.may_follow_its_effect() => {
                let line = Line {
                    tenant: self.caller.as_ref().map(|caller| caller.tenant.clone()),
                    ..Line::default()
                };
                line.write(self.action, &origin, Outcome::Unknown);
            }
            Err(_) => {}
        }
    }
}
