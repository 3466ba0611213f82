//! Request bodies, read strictly: every fault is named by its path, and an unknown member is a fault (`platform.md`, "Nothing
//! that a caller meant is ignored").
//!
//! What all systems read in the same way. What a body of a resource must have stands beside the resource.

use std::borrow::Cow;
use std::ops::Deref;
use std::time::Duration;

use bytes::Bytes;
use tillgate_engine::json::{Document, Faults, NO_CONTROLS, Node};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::data::managed_by::{self, ManagedBy};
use crate::error::{Error, Result};
use crate::identity::{TENANT_RULE, TenantId};

/// What is wrong with a text that is no time.
pub(crate) const TIME_RULE: &str = "must be a time such as 2026-11-20T17:40:00Z";

/// The most digits of a duration, so that its sum stays far below what `humantime` 2.4 panics at: 2^64 seconds.
const MAX_DURATION_DIGITS: usize = 15;

/// The body of a request.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Its bytes.
    pub bytes: Bytes,
    /// Whether unknown members are ignored.
    pub lenient: bool,
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Self {
        Self {
            bytes: Bytes::copy_from_slice(bytes),
            lenient: false,
        }
    }
}

impl Deref for Body {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

/// Reads a body, an object. `read` answers `None` where it has noted a fault.
///
/// # Errors
/// [`Error::Invalid`] with every fault.
pub(crate) fn read<T>(
    body: &Body,
    read: impl for<'d> FnOnce(&mut Fields<'_, 'd, 'd>) -> Option<T>,
) -> Result<T> {
    let document = Document::parse(body)?;
    let mut faults = Faults::lenient(body.lenient);
    let value = object(document.root(), &mut faults, read);
    faults.none_or_error()?;
    value.ok_or_else(|| Error::Bug("a body was refused without a fault".to_owned()))
}

/// Reads an object in a body. A member that is not asked for is a fault.
pub(crate) fn object<'d, 'a, T>(
    node: Node<'d, 'a>,
    faults: &mut Faults,
    read: impl FnOnce(&mut Fields<'_, 'd, 'a>) -> Option<T>,
) -> Option<T> {
    let node = faults.object(node)?;
    let mut fields = Fields {
        node,
        faults,
        names: Vec::new(),
    };
    let value = read(&mut fields);
    let Fields { faults, names, .. } = fields;
    faults.refuse_unknown(node, &names);
    value
}

/// The members of an object. Each is asked for before the value of any is needed, so that all that is wrong is found at once.
#[derive(Debug)]
pub(crate) struct Fields<'f, 'd, 'a> {
    /// The object.
    pub(crate) node: Node<'d, 'a>,
    pub(crate) faults: &'f mut Faults,
    /// Those that were asked for.
    names: Vec<&'static str>,
}

impl<'d, 'a> Fields<'_, 'd, 'a> {
    /// A member, if it is there.
    pub(crate) fn member(&mut self, name: &'static str) -> Option<Node<'d, 'a>> {
        self.names.push(name);
        self.node.member(name)
    }

    /// Allows members that are not read, such as those that only answers have: a client may send an answer back.
    pub(crate) fn may_have(&mut self, names: &[&'static str]) {
        self.names.extend_from_slice(names);
    }

    /// An optional member that must repeat a parameter of the path.
    pub(crate) fn of_path(&mut self, name: &'static str, text: &str) {
        let node = self.member(name);
        if let Some(node) = node.filter(|node| node.text().is_none_or(|said| said != text)) {
            self.faults.add(node, "must be that of the path");
        }
    }

    /// A required member: `None` if it is missing or has a fault.
    pub(crate) fn required<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Node<'d, 'a>, &mut Faults) -> Option<T>,
    ) -> Option<T> {
        self.names.push(name);
        let node = self.faults.required(self.node, name)?;
        read(node, self.faults)
    }

    /// An optional member: `Some(None)` if it is missing or null, `None` if it has a fault.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Node<'d, 'a>, &mut Faults) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.member(name).filter(|node| !node.is_null()) {
            Some(node) => read(node, self.faults).map(Some),
            None => Some(None),
        }
    }

    /// An optional member that must not be null: `Some(None)` if it is missing, `None` if it has a fault.
    pub(crate) fn not_null<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Node<'d, 'a>, &mut Faults) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.member(name) {
            Some(node) => read(node, self.faults).map(Some),
            None => Some(None),
        }
    }

    /// Which program manages the resource.
    pub(crate) fn managed_by(&mut self) -> Option<Option<ManagedBy>> {
        self.may_have(&[managed_by::MEMBER]);
        ManagedBy::read(self.node, self.faults)
    }
}

/// What was found; without it, the rule is noted as a fault of the node.
pub(crate) fn or_fault<T>(
    faults: &mut Faults,
    node: Node<'_, '_>,
    found: Option<T>,
    rule: &'static str,
) -> Option<T> {
    if found.is_none() {
        faults.add(node, rule);
    }
    found
}

/// A string for which something holds.
pub(crate) fn text_that(
    node: Node<'_, '_>,
    faults: &mut Faults,
    holds: impl FnOnce(&str) -> bool,
    rule: &'static str,
) -> Option<String> {
    let text = node.text().filter(|text| holds(text));
    or_fault(
        faults,
        node,
        text.map(|text| text.clone().into_owned()),
        rule,
    )
}

/// A string.
pub(crate) fn text(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    text_that(node, faults, |_| true, "must be a string")
}

/// What people call something: a string of 1 to `max` characters, none of them a control character.
pub(crate) fn name(node: Node<'_, '_>, faults: &mut Faults, max: usize) -> Option<String> {
    let name = faults.name(node, max)?;
    let found = Some(name).filter(|name| !name.contains(char::is_control));
    or_fault(faults, node, found.map(Cow::into_owned), NO_CONTROLS)
}

/// A string that means something else.
pub(crate) fn parsed<T>(
    node: Node<'_, '_>,
    faults: &mut Faults,
    parse: impl FnOnce(&str) -> Option<T>,
    rule: &'static str,
) -> Option<T> {
    let found = node.text().and_then(|text| parse(text));
    or_fault(faults, node, found, rule)
}

/// The id of a tenant.
pub(crate) fn tenant(node: Node<'_, '_>, faults: &mut Faults) -> Option<TenantId> {
    parsed(node, faults, TenantId::new, TENANT_RULE)
}

/// A UUID.
pub(crate) fn uuid(node: Node<'_, '_>, faults: &mut Faults) -> Option<Uuid> {
    parsed(
        node,
        faults,
        |text| Uuid::try_parse(text).ok(),
        "must be a UUID",
    )
}

/// True or false.
pub(crate) fn boolean(node: Node<'_, '_>, faults: &mut Faults) -> Option<bool> {
    faults.boolean(node)
}

/// A time.
pub(crate) fn time(node: Node<'_, '_>, faults: &mut Faults) -> Option<Timestamp> {
    parsed(node, faults, parse_time, TIME_RULE)
}

/// The time that a text in the format of RFC 3339 names; none before the epoch.
pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = text.parse().ok()?;
    let micros = u64::try_from(at.as_microsecond()).ok()?;
    Some(Timestamp(micros))
}

/// The duration that a text such as `0s`, `24h` or `2 days` is.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let text = (digits <= MAX_DURATION_DIGITS).then_some(text)?;
    humantime::parse_duration(text).ok()
}
