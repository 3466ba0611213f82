//! `[cors]`: the origins whose pages may call the host from a browser.

use reqwest::Url;
use serde::{Deserialize, Serialize};

/// Any origin.
const ANY: &str = "*";

/// Cross-origin requests.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every setting")]
pub struct Cors {
    pub origins: Vec<String>,
}

impl Cors {
    /// Whether pages of every origin may call.
    #[must_use]
    pub fn allows_any(&self) -> bool {
        self.origins.iter().any(|origin| origin == ANY)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.allows_any() {
            return match self.origins.len() {
                1 => Ok(()),
                _ => Err("origins must be \"*\" alone, or origins without it".to_owned()),
            };
        }
        let wrong = self.origins.iter().find(|origin| !is_origin(origin));
        wrong.map_or(Ok(()), |wrong| {
            Err(format!(
                "origins must be as browsers send them, such as https://shop.example, in lower case, without a path, a slash \
                 at the end or the usual port: {wrong} is not"
            ))
        })
    }
}

/// Whether a text is an origin of a page, as browsers write it.
fn is_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        // There are no patterns: every page of a domain would be too many.
        let is_one = matches!(url.scheme(), "http" | "https") && !text.contains('*');
        is_one && url.origin().ascii_serialization() == text
    })
}
