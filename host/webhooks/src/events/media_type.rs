//! The media type of an event's data.

use mime::Mime;

pub(super) fn is_media_type(text: &str) -> bool {
    text.parse::<Mime>().is_ok()
}

/// Returns whether data of a media type is JSON.
pub(super) fn is_json(media_type: &str) -> bool {
    let parsed: Option<Mime> = media_type.parse().ok();
    parsed.is_some_and(|it| it.suffix().unwrap_or_else(|| it.subtype()) == mime::JSON)
}
