//! What a subscriber asks for, and what it receives.

use std::sync::Arc;

use tillgate_store::Message;

use super::cursor::Cursor;
use super::message::shop_of;

/// The messages that a subscriber wants.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those of this shop, by its id.
    pub business_unit: Option<String>,
}

impl Filter {
    pub(super) fn matches(&self, message: &Message) -> bool {
        let wanted = self.business_unit.as_deref();
        wanted.is_none_or(|wanted| wanted == shop_of(message))
    }
}

/// What a subscriber receives, with the cursor to resume after it.
#[derive(Clone, Debug)]
pub enum Item {
    /// A message, as JSON on one line: `{ messageId, publishTime, attributes, data }`.
    Message(Cursor, Arc<str>),
    /// Messages after the subscriber's cursor are gone: it must read its rates again.
    Reset(Cursor),
    /// There was nothing for it up to here, and reading again what was before is expensive.
    Position(Cursor),
    /// There is nothing more for it up to here, for now.
    CaughtUp(Cursor),
}
