//! A subscriber's filter, and the items that it receives.

use std::sync::Arc;

use tillgate_store::Message;

use super::cursor::Cursor;
use super::message::shop_of;

/// The messages that a subscriber wants.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The id of the only shop whose messages are wanted.
    pub business_unit: Option<String>,
}

impl Filter {
    pub(super) fn matches(&self, message: &Message) -> bool {
        let wanted = self.business_unit.as_deref();
        wanted.is_none_or(|wanted| wanted == shop_of(message))
    }
}

/// An item that a subscriber receives, with the cursor to resume after it.
#[derive(Clone, Debug)]
pub enum Item {
    /// A message, as JSON on one line: `{ messageId, publishTime, attributes, data }`.
    Message(Cursor, Arc<str>),
    /// Messages after the subscriber's cursor are gone: it must read its rates again.
    Reset(Cursor),
    /// There was nothing for the subscriber up to here, and reading that again would be expensive.
    Position(Cursor),
    /// There is nothing more for the subscriber up to here, for now.
    CaughtUp(Cursor),
}
