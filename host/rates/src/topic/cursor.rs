//! Cursors: how far a subscriber has read. They are opaque to it.
//!
//! A cursor in a tenant's messages is a position in its log. A cursor in the messages of all tenants is a time: the
//! logs of tenants have no common order, so a subscriber that resumes there receives some seconds again (`OVERLAP` in
//! `all_tenants.rs`).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tillgate_base::identity::TenantId;
use tillgate_store::Position;
use tillgate_store::clock::Timestamp;

/// The point up to which a subscriber has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// Before the oldest message that is retained.
    Earliest,
    /// After the newest message.
    Latest,
    /// A position in a tenant's log.
    Tenant(TenantId, Position),
    /// A time in all logs.
    All(Timestamp),
}

impl Cursor {
    /// Parses a cursor; returns `None` for a text that is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "earliest" => return Some(Self::Earliest),
            "latest" => return Some(Self::Latest),
            _ => {}
        }
        let decoded = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let decoded = std::str::from_utf8(&decoded).ok()?;
        let (at, tenant) = decoded.split_once(' ')?;
        let at = at.parse().ok()?;
        Some(match tenant {
            "" => Self::All(Timestamp(at)),
            tenant => Self::Tenant(TenantId::new(tenant)?, Position(at)),
        })
    }

    /// Returns the cursor as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = match self {
            Self::Earliest => return "earliest".to_owned(),
            Self::Latest => return "latest".to_owned(),
            Self::Tenant(tenant, position) => format!("{} {tenant}", position.0),
            Self::All(at) => format!("{} ", at.0),
        };
        BASE64_URL_SAFE_NO_PAD.encode(text)
    }
}
