//! The topic `cer.public.event.rates-changed.v1`: its messages and its subscribers (`rates.md`, "The topic").
//!
//! Each tenant's messages are a log of its partition, so a message is in the commit of the change that it reports
//! (`message.rs`, `lists.rs`). Subscribers of a tenant read the log by themselves until they have caught up
//! (`subscription.rs`, `reader.rs`), then share one reader of it (`hub.rs`); those of the platform read the logs of all
//! tenants (`all_tenants.rs`). They resume from a cursor (`cursor.rs`), which comes with each message; `read_again.rs`
//! decides in what form it comes without one.

mod all_tenants;
mod cursor;
mod hub;
mod item;
mod lists;
mod message;
mod read_again;
mod reader;
mod schema;
mod subscription;

pub(super) use self::all_tenants::follow_all;
pub use self::cursor::Cursor;
pub(super) use self::hub::Hubs;
pub use self::item::{Filter, Item};
pub(super) use self::lists::{Lists, lists};
pub use self::message::TOPIC;
pub(super) use self::message::{SHARED_LISTS, attributes, inline_body, shared_body};
pub use self::schema::{topic_event, topic_reset};
pub(super) use self::subscription::follow;
