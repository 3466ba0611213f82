//! The secrets of a webhook's settings: set by a request, taken over from the stored settings, or generated here.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Secret;

use super::body::{NewWebhook, SharedKeyChange};
use super::webhook::{Authentication, Settings};

/// Returns the settings of a request, with the stored secrets that it keeps, and a new shared key if it asks for one.
///
/// # Errors
/// [`Error::Invalid`] when the request keeps the stored password and there is none for that receiver.
pub(crate) fn with_secrets(new: &NewWebhook, stored: Option<&Settings>) -> Result<Settings> {
    let mut settings = new.settings.clone();
    if new.keeps_password {
        // Otherwise a caller who may write webhooks could have it sent to a receiver of their own.
        let receiver = settings.receiver();
        let stored = stored.filter(|stored| receiver.is_some() && stored.receiver() == receiver);
        let password = stored.and_then(|stored| match &stored.authentication {
            Authentication::Basic { password, .. } => Some(password.clone()),
            Authentication::Bearer => None,
        });
        let stored_password = password.ok_or_else(no_password)?;
        if let Authentication::Basic { password, .. } = &mut settings.authentication {
            *password = stored_password;
        }
    }
    settings.shared_key = match &new.key {
        SharedKeyChange::Keep => stored.and_then(|stored| stored.shared_key.clone()),
        SharedKeyChange::Remove => None,
        SharedKeyChange::Generate => Some(generate_key()?),
        SharedKeyChange::Set(key) => Some(key.clone()),
    };
    // An overlap ends with another key, and continues with the same one.
    settings.previous_key = stored
        .filter(|stored| stored.shared_key == settings.shared_key)
        .and_then(|stored| stored.previous_key.clone());
    Ok(settings)
}

/// Generates a shared key of 256 random bits, as text.
///
/// # Errors
/// [`Error::Bug`] when the system has no random numbers.
pub(crate) fn generate_key() -> Result<Secret> {
    let mut bytes = [0; 32];
    let no_numbers = |_| Error::Bug("the system has no random numbers".to_owned());
    aws_lc_rs::rand::fill(&mut bytes).map_err(no_numbers)?;
    Ok(Secret::new(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
}

/// Returns a shared key in the form of Standard Webhooks, whose libraries sign with the bytes that it has in base64.
pub(crate) fn standard_webhooks_secret(key: &Secret) -> String {
    format!("whsec_{}", BASE64_STANDARD.encode(key.reveal()))
}

fn no_password() -> Error {
    let rule = "is required: a stored password is kept only for the same receiver";
    Error::invalid("$.authentication.password", rule)
}
