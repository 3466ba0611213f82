//! What is particular to webhooks: their secrets, which the host does not answer, and their names, which need not differ there.

use reqwest::Url;
use tillgate_engine::json;

use super::changes::Differences;
use super::document::Document;
use super::existing::{Existing, Present};
use super::folder::File;
use super::secrets::{Secrets, SharedKey};

/// Adds what can be seen of secrets: whether there is a key; and that they are sent again, if they are.
pub(super) fn compare_secrets(
    secrets: &Secrets,
    present: &Present,
    are_sent: bool,
    differences: &mut Differences,
) {
    const KEY: &str = "$.sharedKey";
    match (&secrets.shared_key, present.has_shared_key) {
        (SharedKey::At(_), false) => differences.note(KEY, "not set", "set"),
        (SharedKey::None, true) => differences.note(KEY, "set", "not set"),
        (SharedKey::At(_), true) if are_sent => differences.note(KEY, "set", "set again"),
        _ => {}
    }
    if are_sent && secrets.password.is_some() {
        differences.note("$.authentication.password", "set", "set again");
    }
}

/// What is wrong with the password of a webhook's file: without a place, there must be one that is kept.
pub(super) fn fault_of_password(file: &File, present: Option<&Present>) -> Option<String> {
    let new = &file.says.document;
    if authentication(new).as_deref() != Some("BASIC") || file.says.secrets.password.is_some() {
        return None;
    }
    let kept = present.map(|present| &present.document).is_some_and(|old| {
        authentication(old).as_deref() == Some("BASIC") && receiver(old) == receiver(new)
    });
    let rule = "is required, as the place of the secret, such as {\"env\": \"NAME\"}: a password is kept only of a webhook that \
                is there, for the same receiver";
    (!kept).then(|| format!("{}: $.authentication.password {rule}", file.name))
}

/// What is wrong with the names of webhooks: a file, or what `me` manages, must be one of them.
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
            "{} webhooks of the host are called {name}: rename all but one of them, or leave webhooks out ({})",
            ids.len(),
            ids.join(", ")
        )
    })
}

fn authentication(webhook: &Document) -> Option<String> {
    let parsed = json::Document::parse(&webhook.json).ok()?;
    let kind = parsed.root().member("authentication")?.member("type")?;
    Some(kind.text()?.as_ref().to_owned())
}

/// Scheme, host and port of the receiver.
fn receiver(webhook: &Document) -> Option<String> {
    let parsed = json::Document::parse(&webhook.json).ok()?;
    let url = Url::parse(parsed.root().member("callbackUrl")?.text()?).ok()?;
    Some(url.origin().ascii_serialization())
}
