//! The URL of a store as it is given: the URL itself, or `@FILE` for a file that contains it, so that its password is
//! neither in the process list nor in the configuration. A store's identity tells stores apart without saying where
//! they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tillgate_store::StoreUrl;

/// The number of hex digits of a digest that are shown.
const DIGITS: usize = 16;

/// The prefix of the name of a file that contains the URL.
const FILE: char = '@';

/// Returns the URL that is given, directly or in a file.
///
/// # Errors
/// Says why the file cannot be read.
pub fn store_url(given: &str) -> Result<String, String> {
    let Some(file) = given.strip_prefix(FILE) else {
        return Ok(given.to_owned());
    };
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|cause| format!("store: {file} cannot be read: {cause}"))?;
    Ok(text.trim().to_owned())
}

/// The identity of a store, which does not reveal its location. Hosts whose settings name the same store have the
/// same identity.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct StoreIdentity {
    /// The kind of store: `embedded`, `redis` or `memory`.
    pub kind: String,
    /// A digest of the folder, or of the servers, the database and the prefix.
    pub id: String,
}

impl StoreIdentity {
    /// Returns the identity of the store that a URL names.
    #[must_use]
    pub fn of(url: &StoreUrl) -> Self {
        let (kind, place) = match url {
            StoreUrl::Memory => ("memory", String::new()),
            StoreUrl::Embedded { folder, .. } => {
                let absolute = folder.canonicalize();
                let absolute = absolute.or_else(|_| std::path::absolute(folder));
                ("embedded", format!("{absolute:?}"))
            }
            StoreUrl::Redis(url) => {
                let mut addresses = url.addresses.clone();
                addresses.sort();
                let place = (&url.topology, addresses, url.database, &url.prefix);
                ("redis", format!("{place:?}"))
            }
        };
        let digest = hex::encode(Sha256::digest(place));
        Self {
            kind: kind.to_owned(),
            id: digest.chars().take(DIGITS).collect(),
        }
    }
}
