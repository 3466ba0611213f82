//! `[cors]`: the origins whose pages may call the host from a browser.

use http::HeaderName;
use reqwest::Url;
use serde::{Deserialize, Serialize};

/// The entry that allows any origin.
const ANY: &str = "*";

/// Cross-origin requests.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cors {
    pub origins: Vec<String>,
    pub headers: Vec<String>,
}

impl Cors {
    /// Returns whether pages of any origin may call the host.
    #[must_use]
    pub fn allows_any(&self) -> bool {
        self.origins.iter().any(|origin| origin == ANY)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let mut headers = self.headers.iter();
        let is_name = |name: &str| HeaderName::from_bytes(name.as_bytes()).is_ok();
        if let Some(wrong) = headers.find(|name| !is_name(name)) {
            return Err(format!(
                "headers must be names of headers: {wrong:?} is not"
            ));
        }
        if self.allows_any() {
            return match self.origins.len() {
                1 => Ok(()),
                _ => Err("origins must be \"*\" alone, or origins without it".to_owned()),
            };
        }
        let wrong = self.origins.iter().find(|origin| !is_origin(origin));
        wrong.map_or(Ok(()), |wrong| {
            Err(format!(
                "origins must be as browsers send them, such as https://shop.example or tauri://localhost, in lower case, \
                 without a path, a slash at the end or the usual port: {wrong} is not"
            ))
        })
    }
}

/// Returns whether a text is an origin as browsers write it. Pages of an app in a shell have the app's scheme, such as
/// `capacitor://localhost`.
fn is_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        let is_bare = match url.scheme() {
            "http" | "https" => url.origin().ascii_serialization() == text,
            scheme => {
                let host = url.host_str().unwrap_or_default();
                let port = url.port().map(|port| format!(":{port}"));
                let port = port.unwrap_or_default();
                !host.is_empty() && format!("{scheme}://{host}{port}") == text
            }
        };
        // Patterns are not allowed: they would let in every page of a domain.
        is_bare && !text.contains('*')
    })
}
