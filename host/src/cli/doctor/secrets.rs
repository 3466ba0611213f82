//! The secrets that a host's settings and its operator's credentials have, so that a bundle has none of them.

use percent_encoding::percent_decode_str;
use reqwest::Url;
use serde_json::Value;

use crate::cli::credentials::Credentials;
use crate::config::Config;
use crate::server::operator_file_of;
use crate::store::StoreUrl;

/// Shorter secrets are not looked for where they may stand: any text has them.
const MIN_LENGTH: usize = 4;

/// The secrets that the settings have, and the operator's.
pub(super) fn secrets(config: &Config) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut settings = serde_json::to_value(config).unwrap_or_default();
    let store = config.store.parse::<StoreUrl>();
    if let Ok(StoreUrl::Redis(url)) = &store {
        secrets.extend(password_of(&config.store));
        secrets.extend(
            [&url.password, &url.sentinel_password]
                .into_iter()
                .flatten()
                .cloned(),
        );
        // The rest of its query is no secret.
        if let Some(store) = settings.get_mut("store") {
            *store = Value::Null;
        }
    }
    of_urls(&settings, &mut secrets);
    let file = store.map(|url| operator_file_of(config, &url));
    if let Ok(Ok(file)) = file
        && let Ok(credentials) = Credentials::read(&file)
    {
        secrets.push(credentials.client_secret);
    }
    // As they stand in a URL, and as they are.
    let decoded = secrets.iter().map(|secret| {
        let decoded = percent_decode_str(secret).decode_utf8_lossy();
        decoded.into_owned()
    });
    let decoded: Vec<String> = decoded.collect();
    secrets.extend(decoded);
    secrets.retain(|secret| secret.len() >= MIN_LENGTH);
    // One that contains another goes first.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// The password in a URL, as it stands there. Several servers are no host, so that not every URL of a store can be parsed.
fn password_of(url: &str) -> Option<String> {
    let (login, _) = url.split_once("://")?.1.rsplit_once('@')?;
    let (_, password) = login.split_once(':')?;
    Some(password.to_owned())
}

/// The passwords of URLs, and the values of their queries.
fn of_urls(settings: &Value, secrets: &mut Vec<String>) {
    match settings {
        Value::String(text) if text.contains("://") => {
            secrets.extend(password_of(text));
            if let Ok(url) = Url::parse(text) {
                secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
            }
        }
        Value::Array(values) => values.iter().for_each(|value| of_urls(value, secrets)),
        Value::Object(members) => members.values().for_each(|value| of_urls(value, secrets)),
        _ => {}
    }
}
