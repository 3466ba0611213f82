//! What the API's documents say of webhooks, a file for each group of routes. What these share stands here.

pub(super) mod deliveries;
pub(super) mod events;
pub(super) mod listener;
pub(super) mod registry;

use crate::http::Operation;
use crate::http::schema::uuid;

const WEBHOOK: &str = "6f1c2d8e-3f0b-4a51-9c1d-2b7e5a90c4d3";
const DELIVERY: &str = "0196f0c5-7a3e-7c1d-9b52-4e8f1a6d2c30";
const NO_WEBHOOK: &str = "The tenant has no such webhook.";

fn with_webhook(operation: Operation) -> Operation {
    operation.path("webhookId", "The id of the webhook.", uuid)
}
