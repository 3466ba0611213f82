//! The life of clients: the status table, lists, who may act on which tenant, and automatic removal.

use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{FORM, Service, messages, registration};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A status, the steps that lead to it, and the answers to authorizing and revoking, the first and the second time.
type Row = (
    &'static str,
    &'static [&'static str],
    [(u16, &'static str); 2],
);

#[tokio::test]
async fn each_cell_of_the_status_table_holds() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let operator = service.operator().await;
    let table: [Row; 3] = [
        ("Pending", &[], [(200, "Authorized"), (200, "Revoked")]),
        (
            "Authorized",
            &["authorize"],
            [(200, "Authorized"), (200, "Revoked")],
        ),
        ("Revoked", &["revoke"], [(409, ""), (200, "Revoked")]),
    ];
    let mut number = 0;
    for (from, calls, outcomes) in table {
        for (call, outcome) in ["authorize", "revoke", "delete"]
            .into_iter()
            .zip(outcomes.map(Some).into_iter().chain([None]))
        {
            number += 1;
            let till = service.till("acme", number).await;
            let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
            for call in calls {
                service
                    .put(&format!("{path}/{call}"), &operator, Value::Null)
                    .await;
            }
            assert_eq!(service.get(&path, &operator).await.body["status"], from);
            let Some((code, status)) = outcome else {
                assert_eq!(
                    service.delete(&path, &operator).await.status,
                    204,
                    "{from} {call}"
                );
                assert_eq!(
                    service.get(&path, &operator).await.status,
                    404,
                    "{from} {call}"
                );
                assert_eq!(
                    service.delete(&path, &operator).await.status,
                    404,
                    "{from} {call}"
                );
                continue;
            };
            for _ in 0..2 {
                let answer = service
                    .put(&format!("{path}/{call}"), &operator, Value::Null)
                    .await;
                assert_eq!(answer.status, code, "{from} {call}");
                if code == 200 {
                    assert_eq!(answer.body["status"], status, "{from} {call}");
                }
            }
            let may = service
                .send(service.ask(&till.client_id, till.client_secret.reveal(), FORM))
                .await
                .status;
            assert_eq!(may == 200, status == "Authorized", "{from} {call}");
        }
    }
}

#[tokio::test]
async fn the_list_pages_and_filters() {
    let service =
        Service::configured(|config| config.tokens.registrations_per_minute = 1_000).await;
    service.open_tenant("acme", &[]).await;
    service.open_tenant("acme2", &[]).await;
    let operator = service.operator().await;
    let mut ids = Vec::new();
    for number in 0..7 {
        ids.push(service.till("acme", number).await.client_id);
    }
    ids.sort();
    service.till("acme2", 0).await;
    let authorized = format!("/v1/tenants/acme/clients/{}/authorize", ids[3]);
    service.put(&authorized, &operator, Value::Null).await;
    let path = "/v1/tenants/acme/clients";
    let of = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| item["clientId"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = service.get(path, &operator).await.body;
    assert_eq!((of(&all), all.get("next")), (ids.clone(), None));
    let (mut seen, mut query) = (Vec::new(), "?limit=3".to_owned());
    for length in [3, 3, 1] {
        let page = service.get(&format!("{path}{query}"), &operator).await.body;
        assert_eq!(of(&page).len(), length);
        seen.extend(of(&page));
        if let Some(next) = page.get("next") {
            query = format!("?limit=3&cursor={}", next.as_str().unwrap());
        }
    }
    assert_eq!(seen, ids);
    let one = service
        .get(&format!("{path}?status=Authorized"), &operator)
        .await
        .body;
    assert_eq!((of(&one), one.get("next")), (vec![ids[3].clone()], None));
    let pending = service
        .get(&format!("{path}?status=Pending&limit=6"), &operator)
        .await
        .body;
    assert_eq!(of(&pending).len(), 6);
    let none = service
        .get(&format!("{path}?status=Revoked"), &operator)
        .await
        .body;
    assert_eq!(none, json!({ "items": [] }));
    for wrong in ["status=pending", "limit=0", "limit=1001", "limit=x"] {
        assert_eq!(
            service
                .get(&format!("{path}?{wrong}"), &operator)
                .await
                .status,
            400,
            "{wrong}"
        );
    }
    let long = "x".repeat(256);
    for wrong in ["", "a%00b", "%C3%A9", &long] {
        let page = format!("{path}?cursor={wrong}");
        let answer = service.get(&page, &operator).await;
        let expected = ["$.cursor must be a cursor from an earlier answer"];
        assert_eq!(messages(&answer), expected, "{wrong}");
    }
    assert!(
        !one.to_string().contains("secret"),
        "nothing of the secrets is shown"
    );
}

#[tokio::test]
async fn a_tenants_administrator_acts_on_that_tenant_alone() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    service.open_tenant("other", &[]).await;
    let (admin, operator) = (service.admin("acme").await, service.operator().await);
    let till = service.till("other", 1).await;
    let theirs = format!("/v1/tenants/other/clients/{}", till.client_id);
    let through_own = format!("/v1/tenants/acme/clients/{}", till.client_id);
    let calls: [(&str, &str, Value); 11] = [
        ("GET", "", Value::Null),
        ("DELETE", "", Value::Null),
        ("PUT", "/authorize", Value::Null),
        ("PUT", "/revoke", Value::Null),
        ("POST", "/secret", Value::Null),
        ("PUT", "/roles", json!({ "roles": [] })),
        ("GET", "/v1/tenants/other/clients", Value::Null),
        ("GET", "/v1/tenants/other/templates", Value::Null),
        ("GET", "/v1/tenants/other/templates/till/1", Value::Null),
        ("DELETE", "/v1/tenants/other/templates/till/1", Value::Null),
        ("DELETE", "/v1/tenants/_/templates/till/1", Value::Null),
    ];
    for (method, suffix, body) in calls {
        let method: reqwest::Method = method.parse().unwrap();
        let whole = suffix.starts_with("/v1");
        let path = if whole {
            suffix.to_owned()
        } else {
            format!("{theirs}{suffix}")
        };
        let answer = service
            .call(method.clone(), &path, &admin, body.clone())
            .await;
        assert_eq!(answer.status, 403, "{method} {path}: {}", answer.body);
        if !whole {
            let path = format!("{through_own}{suffix}");
            let answer = service.call(method.clone(), &path, &admin, body).await;
            assert_eq!(answer.status, 404, "{method} {path}: {}", answer.body);
        }
    }
    let seen = service.get(&theirs, &operator).await;
    assert_eq!(
        (seen.status, &seen.body["status"]),
        (200, &json!("Pending")),
        "nothing was done"
    );
    assert_eq!(service.get("/v1/tenants", &admin).await.status, 403);
    assert_eq!(
        service
            .put("/v1/tenants/acme", &admin, json!({}))
            .await
            .status,
        403
    );
    assert_eq!(
        service
            .put("/v1/roles/own", &admin, json!({ "permissions": [] }))
            .await
            .status,
        403
    );
    assert_eq!(service.get(&theirs, "").await.status, 401);
}

#[tokio::test]
async fn pending_clients_vanish_after_seven_days_and_others_stay() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let operator = service.operator().await;
    let (pending, authorized) = (service.till("acme", 1).await, service.till("acme", 2).await);
    let path = |id: &str| format!("/v1/tenants/acme/clients/{id}");
    service
        .put(
            &format!("{}/authorize", path(&authorized.client_id)),
            &operator,
            Value::Null,
        )
        .await;
    service.clock.advance(DAY * 7 - Duration::from_secs(1));
    service.host.run_due().await;
    let operator = service.operator().await;
    assert_eq!(
        service
            .get(&path(&pending.client_id), &operator)
            .await
            .status,
        200
    );
    service.clock.advance(Duration::from_secs(1));
    let gone = service.get(&path(&pending.client_id), &operator).await;
    assert_eq!(gone.status, 404, "even before it is cleaned up");
    service.host.run_due().await;
    let left = service
        .get("/v1/tenants/acme/clients", &operator)
        .await
        .body;
    assert_eq!(left["items"][0]["clientId"], authorized.client_id);
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    service.till("acme", 1).await;
}

#[tokio::test]
async fn a_client_may_register_again_before_the_old_one_is_cleaned_up() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    service.till("acme", 1).await;
    service.clock.advance(DAY * 7);
    let again = service.till("acme", 1).await;
    service.host.run_due().await;
    let operator = service.operator().await;
    let path = format!("/v1/tenants/acme/clients/{}", again.client_id);
    assert_eq!(
        service.get(&path, &operator).await.body["status"],
        "Pending"
    );
    service.clock.advance(DAY * 7);
    service.host.run_due().await;
    let operator = service.operator().await;
    assert_eq!(service.get(&path, &operator).await.status, 404);
}

#[tokio::test]
async fn a_tenant_exists_once_an_operator_has_made_it_or_a_template_for_it() {
    let service = Service::start().await;
    let operator = service.operator().await;
    let unknown = service.register(&registration("acme", json!({}))).await;
    assert_eq!(messages(&unknown), ["$.tenantId is not the id of a tenant"]);
    let made = service
        .put("/v1/tenants/acme", &operator, json!({ "name": "Acme" }))
        .await;
    let acme =
        json!({ "tenantId": "acme", "name": "Acme", "createdAt": "2026-01-01T00:00:00.000Z" });
    assert_eq!((made.status, &made.body), (201, &acme));
    service.clock.advance(Duration::from_secs(1));
    let renamed = service
        .put("/v1/tenants/acme", &operator, Value::Null)
        .await;
    let acme = json!({ "tenantId": "acme", "createdAt": "2026-01-01T00:00:00.000Z" });
    assert_eq!((renamed.status, &renamed.body), (200, &acme));
    let no_template = service.register(&registration("acme", json!({}))).await;
    let message = "$ no template of the tenant exists for this softwareId and softwareVersion";
    assert_eq!(messages(&no_template), [message]);
    let mut global = registration("acme", json!({}));
    global["usingGlobalTemplate"] = json!(true);
    let message = "$ no global template exists for this softwareId and softwareVersion";
    assert_eq!(messages(&service.register(&global).await), [message]);
    service.open_tenant("beta", &[]).await;
    let tenants = service.get("/v1/tenants", &operator).await.body;
    let ids: Vec<&Value> = tenants
        .as_array()
        .unwrap()
        .iter()
        .map(|tenant| &tenant["tenantId"])
        .collect();
    assert_eq!(ids, ["acme", "beta", "platform"]);
    for wrong in ["_", "a%20b", "%0A", &"x".repeat(65)] {
        let answer = service
            .put(&format!("/v1/tenants/{wrong}"), &operator, json!({}))
            .await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
    assert_eq!(
        service
            .put("/v1/tenants/acme", &operator, json!({ "name": 7 }))
            .await
            .status,
        400
    );
}

#[tokio::test]
async fn twenty_that_register_the_same_at_once_are_one() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let body = registration("acme", json!({ "number": 1 }));
    let attempts = (0..20).map(|_| service.register(&body));
    let answers = futures_util::future::join_all(attempts).await;
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    let taken = answers.iter().filter(|answer| answer.status == 409).count();
    assert_eq!((made, taken), (1, 19));
}
