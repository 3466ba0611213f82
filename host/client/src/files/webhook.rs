//! The peculiarities of webhooks: their secrets, which the host does not return, and their names, which need not differ
//! at the host.

use reqwest::Url;
use serde::Deserialize;

use super::changes::Differences;
use super::document::{Document, Read};
use super::existing::{Existing, Present};
use super::folder::File;
use super::secrets::{Secrets, SharedKey};
use crate::output::on_line;

const KEY: &str = "$.sharedKey";

/// Returns the secrets that a change of a webhook sends: those that the host cannot keep, or all if `all_again`. Adds a
/// difference for each.
pub(super) fn secrets_to_send(
    file: &Read,
    present: &Present,
    all_again: bool,
    differences: &mut Differences,
) -> Secrets {
    let (new, old) = (&file.document, &present.document);
    let mut sent = file.secrets.clone();
    let credentials = |webhook: &Document| {
        let authentication = webhook.members.get("authentication");
        (authentication.map(<[u8]>::to_vec), receiver(webhook))
    };
    if !all_again && credentials(new) == credentials(old) {
        sent.password = None;
    }
    if sent.password.is_some() {
        let was_set = authentication(old).as_deref() == Some("BASIC");
        note_sent("$.authentication.password", was_set, differences);
    }
    match (&sent.shared_key, present.has_shared_key) {
        (SharedKey::At(_), true) if !all_again => sent.shared_key = SharedKey::Kept,
        (SharedKey::At(_), was_set) => note_sent(KEY, was_set, differences),
        (SharedKey::None, true) => differences.note(KEY, "set", "not set"),
        (SharedKey::None, false) | (SharedKey::Kept, _) => {}
    }
    sent
}

/// Adds a difference for a secret that is sent.
fn note_sent(path: &str, was_set: bool, differences: &mut Differences) {
    let (before, after) = if was_set {
        ("set", "set again")
    } else {
        ("not set", "set")
    };
    differences.note(path, before, after);
}

/// Adds a difference if a write enables a webhook that the service has disabled.
pub(super) fn compare_disabled(file: &Read, present: &Present, differences: &mut Differences) {
    if let Some(reason) = &present.disabled_reason
        && file.document.members.get("enabled") == Some(b"true")
    {
        let disabled = format!("disabled by the service: {reason}");
        differences.note("$.enabled", &disabled, "enabled");
    }
}

/// Reports a webhook's file that has no place for the password if the host cannot keep one.
pub(super) fn fault_of_password(file: &File, present: Option<&Present>) -> Option<String> {
    let new = &file.says.document;
    if authentication(new).as_deref() != Some("BASIC") || file.says.secrets.password.is_some() {
        return None;
    }
    let kept = present.map(|present| &present.document).is_some_and(|old| {
        authentication(old).as_deref() == Some("BASIC") && receiver(old) == receiver(new)
    });
    let rule = "is required, as the place of the secret, such as {\"env\": \"NAME\"}: a password is kept only for a webhook that \
                exists, with the same receiver";
    (!kept).then(|| format!("{}: $.authentication.password {rule}", file.name))
}

/// Reports the names that several webhooks share, if `is_meant` accepts them.
pub(super) fn faults_of_names<'e>(
    existing: &'e Existing,
    is_meant: impl Fn(&str) -> bool + 'e,
) -> impl Iterator<Item = String> + 'e {
    let same = existing
        .same_names
        .iter()
        .filter(move |(name, _)| is_meant(name));
    same.map(|(name, ids)| {
        format!(
            "{} webhooks of the host are called {}: rename all but one of them, or leave webhooks out ({})",
            ids.len(),
            on_line(name),
            ids.join(", ")
        )
    })
}

/// Returns `BASIC` or `BEARER`.
fn authentication(webhook: &Document) -> Option<String> {
    #[derive(Deserialize)]
    struct Authentication {
        #[serde(rename = "type")]
        kind: String,
    }
    let json = webhook.members.get("authentication")?;
    let read: Authentication = serde_json::from_slice(json).ok()?;
    Some(read.kind)
}

/// Returns the scheme, host and port of the receiver.
fn receiver(webhook: &Document) -> Option<String> {
    let url = Url::parse(&webhook.members.text("callbackUrl")?).ok()?;
    Some(url.origin().ascii_serialization())
}
