//! The places that `export` names for the secrets of webhooks: environment variables.

use std::collections::BTreeMap;

use serde_json::json;

use super::existing::Present;
use super::members::Members;
use super::secrets::{json as to_json, set_password};

/// Returns the members of a webhook's file: those of the webhook, with the places of its secrets.
pub(super) fn with_places(webhook: &Present) -> Members {
    let mut members = webhook.document.members.clone();
    let name = spelled(&webhook.document.id);
    let place = |secret: &str| json!({ "env": format!("WEBHOOK_{name}_{secret}") });
    set_password(&mut members, place("PASSWORD"));
    if webhook.has_shared_key {
        members.set("sharedKey", to_json(&place("SHARED_KEY")));
    }
    members
}

/// Reports the webhooks whose secrets would have the same places.
pub(super) fn faults(webhooks: &BTreeMap<String, Present>) -> impl Iterator<Item = String> {
    let mut by_name: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in webhooks.keys() {
        by_name.entry(spelled(name)).or_default().push(name);
    }
    let same = by_name.into_values().filter(|names| names.len() > 1);
    same.map(|names| {
        format!(
            "the secrets of the webhooks {} would be in the same variables of the environment: rename all but one of them, or \
             leave webhooks out",
            names.join(", ")
        )
    })
}

/// Returns a name as a part of a variable's name.
fn spelled(name: &str) -> String {
    let spelled = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    name.chars().map(spelled).collect()
}
