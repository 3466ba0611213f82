//! The parameters of a query, read strictly: every fault is named by its parameter, and all of them are answered at once. A
//! parameter that appears twice, and one that the route does not take, is refused before the handler is called.
//!
//! Every list has its pages the same way (`platform.md`, "HTTP conventions"): `limit`, and as `cursor` what the page before
//! gave as `next`. What a cursor is, each list says itself.

use std::collections::BTreeSet;

use tillgate_api::schema;
use tillgate_base::error::{Error, Result};
use tillgate_engine::Fault;
use tillgate_engine::error::MAX_FAULTS;
use tillgate_engine::json::unknown;

use super::Request;
use super::route::query_parameter::{LIMIT, QueryParameter};

/// Faults of the parts of a request that have names: parameters of its path and its query, fields of its form.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// What was read; `None` when it has a fault, which is kept.
    pub fn check<T>(&mut self, name: &str, read: Result<T, impl ToString>) -> Option<T> {
        read.map_err(|message| {
            self.0.push(Fault {
                path: format!("$.{name}"),
                message: message.to_string().into(),
            });
        })
        .ok()
    }

    /// The error that names them all.
    #[must_use]
    pub fn into_error(self) -> Error {
        Error::Invalid(self.0)
    }

    /// Nothing, or the error that names them all.
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

/// Checks that each parameter of a query appears once, and is one of those that are `known`, if that is said.
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

/// The query of a request, with the faults that were found in it.
#[derive(Debug)]
pub struct Query<'a> {
    request: &'a Request,
    /// What was found so far.
    pub faults: Faults,
}

impl<'a> Query<'a> {
    /// The query of a request.
    #[must_use]
    pub fn of(request: &'a Request) -> Self {
        Self {
            request,
            faults: Faults::default(),
        }
    }

    /// A parameter that may be absent; `None` as well when it breaks its rule.
    pub fn optional<T>(&mut self, parameter: &QueryParameter<T>) -> Option<T> {
        let text = self.request.query_param(parameter.name)?;
        self.faults.check(parameter.name, (parameter.read)(&text))
    }

    /// A parameter that must be there; `None` when it is not, or breaks its rule.
    pub fn required<T>(&mut self, parameter: &QueryParameter<T>) -> Option<T> {
        let text = self.request.query_param(parameter.name);
        let text = text.ok_or("is required");
        let found = text.and_then(|text| (parameter.read)(&text));
        self.faults.check(parameter.name, found)
    }

    /// How many items the page has at most.
    pub fn limit(&mut self) -> usize {
        self.optional(&LIMIT).unwrap_or(schema::LIMIT)
    }
}
