//! Webhooks: who deliveries are from.

mod certificates;
