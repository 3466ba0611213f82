//! The author of a change, as histories show it.

use serde::{Deserialize, Serialize};

use super::{Caller, DisplayName};

/// A client, or a user of a trusted issuer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct By {
    /// The client's id, or the issuer and the subject of a user, as in the audit log.
    client_id: String,
    /// Their display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl By {
    /// Creates an author with this id, and perhaps a name.
    #[must_use]
    pub fn new(id: &str, name: Option<&DisplayName>) -> Self {
        Self {
            client_id: id.to_owned(),
            name: name.map(|name| name.as_str().to_owned()),
        }
    }

    /// Creates the author from the caller of a request.
    #[must_use]
    pub fn caller(caller: &Caller) -> Self {
        Self::new(&caller.subject, caller.name.as_ref())
    }
}
