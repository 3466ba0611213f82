//! Reads the parameters of a query strictly: each fault names its parameter, and all faults are answered at once. A
//! parameter that appears twice, or that the route does not take, is refused before the handler is called.
//!
//! All lists have pages in the same way (`platform.md`, "HTTP conventions"): `limit`, and as `cursor` the `next` of the
//! previous page. Each list defines its own cursors.

use std::collections::BTreeSet;

use tillgate_api::schema;
use tillgate_base::error::{Error, Result};
use tillgate_engine::Fault;
use tillgate_engine::error::MAX_FAULTS;
use tillgate_engine::json::unknown;

use super::Request;
use super::route::query_parameter::{LIMIT, QueryParameter};

/// Faults of the named parts of a request: parameters of its path and its query, fields of its form.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Returns what was read; `None` if it has a fault, which is kept.
    pub fn check<T>(&mut self, name: &str, read: Result<T, impl ToString>) -> Option<T> {
        read.map_err(|message| {
            self.0.push(Fault {
                path: format!("$.{name}"),
                message: message.to_string().into(),
            });
        })
        .ok()
    }

    /// Returns the error that names them all.
    #[must_use]
    pub fn into_error(self) -> Error {
        Error::Invalid(self.0)
    }

    /// Succeeds if there is none; otherwise returns the error that names them all.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is one.
    pub fn none_or_error(self) -> Result<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(self.into_error())
        }
    }
}

/// Checks that each parameter of a query appears once, and is one of the `known` ones if these are given.
///
/// # Errors
/// [`Error::Invalid`] naming those that do not.
pub(super) fn check(query: &str, known: Option<&[&str]>) -> Result<()> {
    let mut faults = Faults::default();
    let (mut names, mut duplicates) = (BTreeSet::new(), BTreeSet::new());
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        if !names.insert(name.clone()) {
            duplicates.insert(name);
        }
    }
    for name in &names {
        if faults.0.len() == MAX_FAULTS {
            break;
        }
        if duplicates.contains(name) {
            faults.check(name, Err::<(), _>("is a duplicate"));
        } else if let Some(known) = known.filter(|known| !known.contains(&&**name)) {
            faults.check(name, Err::<(), _>(unknown(name, known)));
        }
    }
    faults.none_or_error()
}

/// The query of a request, and the faults that were found in it.
#[derive(Debug)]
pub struct Query<'a> {
    request: &'a Request,
    /// The faults found so far.
    pub faults: Faults,
}

impl<'a> Query<'a> {
    /// Creates the query of a request.
    #[must_use]
    pub fn of(request: &'a Request) -> Self {
        Self {
            request,
            faults: Faults::default(),
        }
    }

    /// Reads a parameter that may be absent; returns `None` also if it breaks its rule.
    pub fn optional<T>(&mut self, parameter: &QueryParameter<T>) -> Option<T> {
        let text = self.request.query_param(parameter.name)?;
        self.faults.check(parameter.name, (parameter.read)(&text))
    }

    /// Reads a parameter that must be present; returns `None` if it is absent or breaks its rule.
    pub fn required<T>(&mut self, parameter: &QueryParameter<T>) -> Option<T> {
        let text = self.request.query_param(parameter.name);
        let text = text.ok_or("is required");
        let found = text.and_then(|text| (parameter.read)(&text));
        self.faults.check(parameter.name, found)
    }

    /// Returns the most items that the page may have.
    pub fn limit(&mut self) -> usize {
        self.optional(&LIMIT).unwrap_or(schema::LIMIT)
    }
}
