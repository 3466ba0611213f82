//! An event as filters see it. Its data is read when the first filter asks for it, and once, however many webhooks have
//! filters; what is read finds each member at once, however many there are.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use tillgate_engine::json::{Document, Node};

use super::path::Path;
use super::value::Value;

/// An event: one that is published, or one that is stored.
pub(in crate::webhooks) trait Filterable {
    fn event_type(&self) -> &str;

    /// Its id, if it has one already.
    fn id(&self) -> Option<&str>;

    /// Its data, if that is JSON.
    fn json(&self) -> Option<Cow<'_, [u8]>>;
}

/// An event, whose data is read when it is asked for.
pub(in crate::webhooks::registry) struct Candidate<'e> {
    event: &'e dyn Filterable,
    data: OnceCell<Member>,
}

/// A member of an event's data.
enum Member {
    Value(Value),
    Object(HashMap<String, Self>),
    /// What no filter compares: null, arrays, and what is no JSON.
    Other,
}

impl<'e> Candidate<'e> {
    pub(in crate::webhooks::registry) fn new(event: &'e dyn Filterable) -> Self {
        let data = OnceCell::new();
        Self { event, data }
    }

    /// Whether what a path names is one of some values.
    pub(super) fn has_one_of(&self, path: &Path, values: &BTreeSet<Value>) -> bool {
        let is_text = |text: &str| values.contains(&Value::Text(text.to_owned()));
        match path {
            Path::Type => is_text(self.event.event_type()),
            Path::Id => self.event.id().is_some_and(is_text),
            Path::Data(names) => {
                let found = self.data().at(names);
                found.is_some_and(|value| values.contains(value))
            }
        }
    }

    fn data(&self) -> &Member {
        self.data.get_or_init(|| {
            let json = self.event.json().unwrap_or_default();
            Document::parse(&json).map_or(Member::Other, |document| Member::of(document.root()))
        })
    }
}

impl Member {
    fn of(node: Node<'_, '_>) -> Self {
        if node.is_object() {
            let members = node.children();
            let members = members.map(|it| (it.key().clone().into_owned(), Self::of(it)));
            return Self::Object(members.collect());
        }
        Value::of(node).map_or(Self::Other, Self::Value)
    }

    /// The value of the member that names lead to, one in the other.
    fn at(&self, names: &[String]) -> Option<&Value> {
        let mut member = self;
        for name in names {
            let Self::Object(members) = member else {
                return None;
            };
            member = members.get(name)?;
        }
        match member {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }
}
