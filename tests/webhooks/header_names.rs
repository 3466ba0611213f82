//! The names of headers on the wire, byte for byte: existing receivers expect their capitals.

use serde_json::json;

use super::shop::{KEY, Shop, local};
use crate::support::receiver::Receiver;

#[tokio::test]
async fn names_of_headers_keep_their_capitals() {
    let shop = Shop::open_with(|config| {
        local(config);
        config.webhooks.signature_headers = vec!["X-Service-Signature".into(), "X-Old".into()];
    });
    let (shop, receiver, other) = (shop.await, Receiver::start().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({ "sharedKey": KEY }))
        .await;
    let own = json!({ "sharedKey": KEY, "signatureHeader": "X-Erp-Signature-256" });
    shop.webhook(&other.url, own).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    let common = [
        "Authorization",
        "Content-Length",
        "Content-Type",
        "Correlation-Id",
        "Host",
        "User-Agent",
        "X-Service-Body-Signature",
    ];
    for (receiver, signed) in [
        (&receiver, vec!["X-Service-Signature", "X-Old"]),
        (&other, vec!["X-Erp-Signature-256"]),
    ] {
        let received = receiver.wait_for(1).await;
        let names = &received[0].names;
        for name in common.iter().chain(&signed) {
            let found = names.iter().filter(|it| it == name).count();
            assert_eq!(found, 1, "{name}: {names:?}");
        }
    }
}
