//! Limits: registrations from an address, pending clients of a tenant, wrong secrets in a row.

use std::time::Duration;

use serde_json::{Value, json};
use tillgate_base::config::Config;

use super::fixture::{FORM, Service, registration};

#[tokio::test]
async fn an_address_registers_thirty_times_a_minute() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    for number in 0..30 {
        service.till("acme", number).await;
    }
    let body = registration("acme", json!({ "number": 30 }));
    let refused = service.register(&body).await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("60"))
    );
    service.clock.advance(Duration::from_secs(59));
    let refused = service.register(&body).await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("1"))
    );
    service.clock.advance(Duration::from_secs(1));
    assert_eq!(service.register(&body).await.status, 201);
}

#[tokio::test]
async fn one_address_does_not_fill_the_pending_places_of_a_tenant() {
    let service = Service::configured(|config| {
        config.tokens.pending_clients_per_address = 2;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    service.open_tenant("acme", &[]).await;
    let register = async |number: u64, from: &str| {
        let request = service
            .host
            .http
            .post(format!("{}/v1/registration", service.host.url));
        let request = request.header("x-forwarded-for", from);
        let body = registration("acme", json!({ "number": number }));
        service.send(request.json(&body)).await
    };
    let first = register(1, "203.0.113.1").await;
    assert_eq!(first.status, 201);
    assert_eq!(register(2, "203.0.113.1").await.status, 201);
    let refused = register(3, "203.0.113.1").await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("3600"))
    );
    assert_eq!(register(3, "203.0.113.2").await.status, 201);
    // An authorized client no longer counts, nor does one that was pending for too long.
    let operator = service.operator().await;
    let id = first.body["clientId"].as_str().unwrap();
    let path = format!("/v1/tenants/acme/clients/{id}/authorize");
    service.put(&path, &operator, Value::Null).await;
    assert_eq!(register(4, "203.0.113.1").await.status, 201);
    assert_eq!(register(5, "203.0.113.1").await.status, 429);
    service.clock.advance(Duration::from_secs(8 * 24 * 60 * 60));
    service.host.run_due().await;
    for number in 5..7 {
        assert_eq!(register(number, "203.0.113.1").await.status, 201);
    }
    assert_eq!(register(7, "203.0.113.1").await.status, 429);
}

#[tokio::test]
async fn a_tenant_has_so_many_pending_clients_and_no_more() {
    let service = Service::configured(|config| config.tokens.pending_clients = 2).await;
    service.open_tenant("acme", &[]).await;
    service.open_tenant("other", &[]).await;
    let operator = service.operator().await;
    let (first, _) = (service.till("acme", 1).await, service.till("acme", 2).await);
    let body = registration("acme", json!({ "number": 3 }));
    let refused = service.register(&body).await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("3600"))
    );
    service.till("other", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", first.client_id);
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    assert_eq!(
        service.register(&body).await.status,
        201,
        "one is no longer pending"
    );
    assert_eq!(
        service
            .register(&registration("acme", json!({ "number": 4 })))
            .await
            .status,
        429
    );
    service.delete(&path, &operator).await;
    assert_eq!(
        service
            .register(&registration("acme", json!({ "number": 4 })))
            .await
            .status,
        429
    );
    service.clock.advance(Duration::from_secs(7 * 24 * 60 * 60));
    service.host.run_due().await;
    for number in 5..7 {
        service.till("acme", number).await;
    }
    assert_eq!(
        service
            .register(&registration("acme", json!({ "number": 7 })))
            .await
            .status,
        429
    );
}

#[tokio::test]
async fn ten_wrong_secrets_in_a_row_make_an_address_wait_longer_and_longer() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let till = service.till("acme", 1).await;
    let (id, secret) = (
        &service.operator.client_id,
        service.operator.client_secret.reveal(),
    );
    for _ in 0..9 {
        assert_eq!(
            service.send(service.ask(id, "wrong", FORM)).await.status,
            401
        );
    }
    assert_eq!(
        service.send(service.ask(id, secret, FORM)).await.status,
        200,
        "the row ends"
    );
    let mut waits = Vec::new();
    for attempt in 0..24 {
        let answer = service.send(service.ask(id, "wrong", FORM)).await;
        assert_eq!(answer.status, 401, "{attempt}: {}", answer.body);
        let locked = service.send(service.ask(id, secret, FORM)).await;
        if attempt < 9 {
            assert_eq!(locked.status, 200);
            // A correct secret ends the row, so the wrong ones start again.
            for _ in 0..=attempt {
                service.send(service.ask(id, "wrong", FORM)).await;
            }
            continue;
        }
        assert_eq!(
            (locked.status, &locked.body["error"]),
            (429, &json!("temporarily_unavailable"))
        );
        assert_eq!(locked.header("cache-control"), Some("no-store"));
        let wait: u64 = locked.header("retry-after").unwrap().parse().unwrap();
        waits.push(wait);
        service.clock.advance(Duration::from_secs(wait));
    }
    assert!(waits.is_sorted());
    assert_eq!((waits[0], *waits.last().unwrap()), (1, 900));
    let other = service
        .send(service.ask(&till.client_id, till.client_secret.reveal(), FORM))
        .await;
    assert_eq!(
        other.status, 401,
        "another client does not wait: it is only pending"
    );
    let elsewhere = service.host.features.tokens.issue(
        tillgate_tokens::BasicCredentials::from_header(&basic(id, secret)),
        FORM.as_bytes(),
        "192.0.2.1".parse().unwrap(),
    );
    assert!(
        elsewhere.await.is_ok(),
        "the right secret from another address is taken"
    );
    assert_eq!(
        service.send(service.ask(id, secret, FORM)).await.status,
        200,
        "who waited is heard"
    );
}

fn basic(id: &str, secret: &str) -> String {
    use base64::Engine;
    format!(
        "Basic {}",
        base64::prelude::BASE64_STANDARD.encode(format!("{id}:{secret}"))
    )
}

/// Registers through a proxy that reports the client's address.
async fn through_a_proxy(service: &Service, number: u64, came_from: &[&str]) -> u16 {
    let url = format!("{}/v1/registration", service.host.url);
    let body = registration("acme", json!({ "number": number }));
    let mut request = service.host.http.post(url).json(&body);
    for header in came_from {
        request = request.header("x-forwarded-for", *header);
    }
    service.send(request).await.status
}

#[tokio::test]
async fn behind_a_proxy_each_address_has_its_own_limit() {
    let service = Service::configured(|config| {
        config.tokens.registrations_per_minute = 1;
        config.trusted_proxies = vec![
            "127.0.0.0/8".parse().unwrap(),
            "10.1.0.0/16".parse().unwrap(),
        ];
    })
    .await;
    service.open_tenant("acme", &[]).await;
    let came_from: [(&[&str], u16); 11] = [
        (&["192.0.2.1"], 201),
        (&["192.0.2.1"], 429),
        (&["192.0.2.2:4711"], 201),
        (&["192.0.2.2, 10.1.2.3"], 429),
        (&["198.51.100.7, 192.0.2.2"], 429),
        (&["198.51.100.7", "192.0.2.2,10.1.2.3"], 429),
        (&["[2001:db8::1]:80"], 201),
        (&["2001:db8::2"], 429),
        (&["nonsense"], 201),
        (&["192.0.2.3, nonsense"], 429),
        (&[], 429),
    ];
    for (number, (came_from, expected)) in (0..).zip(came_from) {
        let status = through_a_proxy(&service, number, came_from).await;
        assert_eq!(status, expected, "{came_from:?}");
    }
}

#[tokio::test]
async fn forwarded_headers_of_unknown_proxies_are_ignored() {
    let configure = |config: &mut Config| config.tokens.registrations_per_minute = 1;
    let service = Service::configured(configure).await;
    service.open_tenant("acme", &[]).await;
    assert_eq!(through_a_proxy(&service, 1, &["192.0.2.1"]).await, 201);
    assert_eq!(through_a_proxy(&service, 2, &["192.0.2.2"]).await, 429);
}
