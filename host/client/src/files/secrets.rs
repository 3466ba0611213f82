//! The secrets of webhooks. A file names the place of a secret, an environment variable or another file, and never
//! contains it.
//!
//! A host returns no secrets, so they cannot be compared: they are sent when a webhook is created, when the host could
//! not keep what it has, or on request. All others stay as they are.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tillgate_engine::json::{Faults, Node};

use super::members::Members;
use crate::output::shown_path;

/// The largest file with a secret, in bytes.
const MAX_FILE: u64 = 4096;

/// The place of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// An environment variable.
    Variable(String),
    /// A file, whose last line break is not part of the secret.
    File(PathBuf),
}

/// The shared key, according to a webhook's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SharedKey {
    /// It stays as it is.
    #[default]
    Kept,
    /// There is none.
    None,
    /// It is at this place.
    At(Place),
}

/// The secrets, according to a webhook's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Secrets {
    /// Without a place, the password stays as it is.
    pub(super) password: Option<Place>,
    pub(super) shared_key: SharedKey,
}

/// The secrets themselves, ready to send.
#[derive(Clone, Default)]
pub(super) struct Revealed {
    password: Option<String>,
    /// `Some(None)` removes it.
    shared_key: Option<Option<String>>,
}

/// Reads the members of a webhook's file that name secrets.
pub(super) fn read_secrets(root: Node<'_, '_>, faults: &mut Faults) -> Secrets {
    let authentication = root.member("authentication");
    let password = authentication.and_then(|object| object.member("password"));
    let password = password.and_then(|node| read_place(node, faults));
    let shared_key = match root.member("sharedKey") {
        None => SharedKey::Kept,
        Some(node) if node.is_null() => SharedKey::None,
        Some(node) => read_place(node, faults).map_or(SharedKey::Kept, SharedKey::At),
    };
    Secrets {
        password,
        shared_key,
    }
}

fn read_place(node: Node<'_, '_>, faults: &mut Faults) -> Option<Place> {
    const RULE: &str = "must be the place of the secret, {\"env\": \"NAME\"} or {\"file\": \"PATH\"}: files hold no secrets";
    let text = |name| node.member(name).and_then(|member| member.text());
    let place = match (text("env"), text("file"), node.children().count()) {
        (Some(name), None, 1) if is_variable(name) => Place::Variable(name.clone().into_owned()),
        (None, Some(path), 1) if !path.is_empty() => Place::File(path.as_ref().into()),
        _ => {
            faults.add(node, RULE);
            return None;
        }
    };
    Some(place)
}

fn is_variable(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    !name.is_empty()
        && name.bytes().all(is_plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl Secrets {
    /// Fetches the named secrets.
    ///
    /// # Errors
    /// If one is missing, with its JSON path.
    pub(super) fn reveal(&self) -> Result<Revealed, String> {
        let password = self.password.as_ref().map(Place::reveal).transpose();
        let password = password.map_err(|cause| format!("$.authentication.password {cause}"))?;
        let shared_key = match &self.shared_key {
            SharedKey::Kept => None,
            SharedKey::None => Some(None),
            SharedKey::At(place) => {
                let key = place.reveal();
                Some(Some(key.map_err(|cause| format!("$.sharedKey {cause}"))?))
            }
        };
        Ok(Revealed {
            password,
            shared_key,
        })
    }
}

impl Place {
    fn reveal(&self) -> Result<String, String> {
        let secret = match self {
            Self::Variable(name) => {
                let value = variable(name).ok_or_else(|| {
                    format!("must be in the environment variable {name}, which is not set")
                })?;
                if value.is_empty() {
                    return Err(format!(
                        "must be in the environment variable {name}, which is empty"
                    ));
                }
                value
            }
            Self::File(path) => {
                let shown = shown_path(path);
                let text = read_file(path)
                    .map_err(|cause| format!("must be in {shown}, which {cause}"))?;
                let text = text.strip_suffix('\n').unwrap_or(&text);
                text.strip_suffix('\r').unwrap_or(text).to_owned()
            }
        };
        // In place of this value, the host would generate a key that nobody would see.
        match secret.as_str() {
            "generate" => Err("must not be \"generate\": nobody would be shown the key".to_owned()),
            _ => Ok(secret),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file of the user names the variable: it is no setting of this program"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn read_file(path: &Path) -> Result<String, String> {
    let mut text = Vec::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut text));
    read.map_err(|cause| format!("cannot be read: {cause}"))?;
    if text.len() > usize::try_from(MAX_FILE).unwrap_or(usize::MAX) {
        return Err("is larger than 4 KiB".to_owned());
    }
    let text = String::from_utf8(text).map_err(|_| "is not UTF-8".to_owned())?;
    if text.trim().is_empty() {
        Err("is empty".to_owned())
    } else {
        Ok(text)
    }
}

impl Revealed {
    /// Adds the secrets to the members of a webhook.
    pub(super) fn add_to(&self, webhook: &mut Members) {
        if let Some(password) = &self.password {
            set_password(webhook, password.as_str().into());
        }
        if let Some(key) = &self.shared_key {
            webhook.set("sharedKey", json(key));
        }
    }
}

/// The `authentication` member of a webhook that sends a password.
#[derive(Deserialize, Serialize)]
struct Basic<'j> {
    #[serde(borrow, rename = "type")]
    kind: &'j RawValue,
    #[serde(borrow)]
    username: &'j RawValue,
    #[serde(default)]
    password: Value,
}

/// Adds a password, or its place, to a webhook that sends one.
pub(super) fn set_password(webhook: &mut Members, password: Value) {
    let authentication = webhook.get("authentication").unwrap_or_default().to_vec();
    if let Ok(basic) = serde_json::from_slice::<Basic<'_>>(&authentication) {
        webhook.set("authentication", json(&Basic { password, ..basic }));
    }
}

/// Returns the JSON of a value that always has one.
pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
