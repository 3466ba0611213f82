//! The rates that shops use: computed by the module (`math.rs`, `parts.rs`), compared with what was last published
//! (`differences.rs`, `used_record.rs`, `content.rs`), published in one commit (`publishing.rs`), read (`used.rs`), and
//! as they were at any time (`history.rs`, `quotes.rs`, `published.rs`, `timeline.rs`, `history_page.rs`).

pub(super) mod content;
pub(super) mod differences;
pub(super) mod history;
pub(super) mod history_page;
pub(super) mod math;
mod parts;
mod published;
pub(super) mod publishing;
pub(super) mod quotes;
mod timeline;
pub(super) mod used;
pub(super) mod used_record;
