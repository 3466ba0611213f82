//! Issuing tokens and replacing secrets. (`hostile` has the requests that `POST /oauth2/token` refuses.)

use serde_json::{Value, json};

use super::fixture::{FORM, Service};

#[tokio::test]
async fn two_tokens_of_one_second_differ() {
    let service = Service::start().await;
    let (first, second) = (service.operator().await, service.operator().await);
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_replaced_secret_is_valid_until_its_overlap_ends() {
    let service = Service::start().await;
    let operator = service.operator().await;
    service.open_tenant("acme", &[]).await;
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    let status = async |secret: &str| {
        service
            .send(service.ask(&till.client_id, secret, FORM))
            .await
            .status
    };

    let renewed = service
        .post(&format!("{path}/secret"), &operator, Value::Null)
        .await;
    assert_eq!(renewed.status, 200);
    assert_eq!(renewed.header("cache-control"), Some("no-store"));
    let second = renewed.body["clientSecret"].as_str().unwrap().to_owned();
    assert_eq!(
        renewed.body,
        json!({ "clientId": till.client_id, "clientSecret": second })
    );
    assert_eq!(
        (
            status(till.client_secret.reveal()).await,
            status(&second).await
        ),
        (200, 200)
    );
    service
        .clock
        .advance(std::time::Duration::from_secs(86_399));
    assert_eq!(status(till.client_secret.reveal()).await, 200);
    service.clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(
        (
            status(till.client_secret.reveal()).await,
            status(&second).await
        ),
        (401, 200)
    );

    let operator = service.operator().await;
    let at_once = service
        .post(&format!("{path}/secret?overlap=0s"), &operator, Value::Null)
        .await;
    let third = at_once.body["clientSecret"].as_str().unwrap();
    assert_eq!((status(&second).await, status(third).await), (401, 200));
    let spelled = service
        .post(
            &format!("{path}/secret?overlap=2%20days"),
            &operator,
            Value::Null,
        )
        .await;
    assert_eq!(spelled.status, 200);
    for wrong in [
        "",
        "1",
        "h",
        "-1s",
        "1.5.h",
        "1 fortnight",
        "31d",
        "99999999999s",
        // The maximum of a duration, and a second more.
        "18446744073709551615s%201000000000ns",
    ] {
        let path = format!("{path}/secret?overlap={wrong}");
        assert_eq!(
            service.post(&path, &operator, Value::Null).await.status,
            400,
            "{wrong:?}"
        );
    }
}
