//! Roles: what they allow, to whom, and that nobody can give more than they have.

use serde_json::{Value, json};

use super::fixture::{Service, messages, template};
use crate::support::host::take_modifier;

#[tokio::test]
async fn roles_are_made_listed_and_deleted_by_the_platform() {
    let service = Service::start().await;
    let (operator, admin) = (service.operator().await, service.admin("acme").await);
    let permissions = json!({ "permissions": ["exr.rate.read", "ecs.condition.read"] });
    let role = json!({
        "roleId": "shop.reader", "permissions": ["ecs.condition.read", "exr.rate.read"], "builtIn": false,
    });
    let mut made = service
        .put("/v1/roles/shop.reader", &operator, permissions.clone())
        .await;
    assert_eq!(take_modifier(&mut made.body), "tillgate-operator 1");
    assert_eq!((made.status, &made.body), (201, &role));
    let mut replaced = service
        .put("/v1/roles/shop.reader", &operator, permissions)
        .await;
    take_modifier(&mut replaced.body);
    assert_eq!((replaced.status, &replaced.body), (200, &role));
    let list = service.get("/v1/roles", &admin).await;
    let list = list.body.as_array().unwrap();
    assert_eq!(list.len(), 16);
    assert_eq!(list[0]["roleId"], "ecs.viewer");
    assert_eq!(list[0]["builtIn"], true);
    assert_eq!(list[15], role);
    for (role, status) in [
        ("ecs.viewer", 409),
        ("platform.operator", 409),
        ("a%20b", 400),
    ] {
        let path = format!("/v1/roles/{role}");
        let body = json!({ "permissions": [] });
        assert_eq!(
            service.put(&path, &operator, body).await.status,
            status,
            "{role}"
        );
        assert_eq!(
            service.delete(&path, &operator).await.status,
            status,
            "{role}"
        );
    }
    let unknown = json!({ "permissions": ["exr.rate.read", "exr.rate", 7] });
    let answer = service.put("/v1/roles/x", &operator, unknown).await;
    let rule = "must be the name of a permission: <system>.<resource>.<verb>";
    assert_eq!(
        messages(&answer),
        [
            format!("$.permissions[1] {rule}"),
            format!("$.permissions[2] {rule}")
        ]
    );
    assert_eq!(
        service
            .delete("/v1/roles/shop.reader", &operator)
            .await
            .status,
        204
    );
    assert_eq!(
        service
            .delete("/v1/roles/shop.reader", &operator)
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn a_clients_roles_are_its_templates_until_an_administrator_sets_others() {
    let service = Service::start().await;
    service.open_tenant("acme", &["ecs.viewer"]).await;
    let (operator, admin) = (service.operator().await, service.admin("acme").await);
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    service
        .put(&format!("{path}/authorize"), &admin, Value::Null)
        .await;
    let token = service.token_of(&till).await;
    let (conditions, rates) = ("/api/v1/entity-conditions", "/api/v1/catalog");
    assert_eq!(service.get(conditions, &token).await.status, 200);

    service
        .put("/v1/roles/nothing", &operator, json!({ "permissions": [] }))
        .await;
    let roles = json!({ "roles": [{ "roleId": "nothing" }] });
    let set = service
        .put(&format!("{path}/roles"), &admin, roles.clone())
        .await;
    assert_eq!((set.status, &set.body["roles"]), (200, &roles["roles"]));
    assert_eq!(service.get(conditions, &token).await.status, 403, "at once");
    let more = json!({ "permissions": ["ecs.condition.read", "crs.project.read"] });
    service.put("/v1/roles/nothing", &operator, more).await;
    assert_eq!(
        service.get(conditions, &token).await.status,
        200,
        "a role's change works at once too"
    );
    assert_eq!(service.get(rates, &token).await.status, 200);
    service.delete("/v1/roles/nothing", &operator).await;
    assert_eq!(
        service.get(conditions, &token).await.status,
        403,
        "and so does its end"
    );

    let unknown = json!({ "roles": [{ "roleId": "ecs.viewer" }, { "roleId": "ecs.king" }] });
    let answer = service.put(&format!("{path}/roles"), &admin, unknown).await;
    assert_eq!(
        messages(&answer),
        ["$.roles[1].roleId is not the id of a role: ecs.king"]
    );
    let faults =
        json!({ "roles": [7, {}, { "roleId": "a b" }, { "roleId": "x" }, { "roleId": "x" }] });
    let answer = service.put(&format!("{path}/roles"), &admin, faults).await;
    let name = "must be 1 to 64 of A-Z a-z 0-9 . _ -";
    assert_eq!(
        messages(&answer),
        [
            "$.roles[0] must be an object".to_owned(),
            "$.roles[1].roleId is required".to_owned(),
            format!("$.roles[2].roleId {name}"),
            "$.roles[4].roleId appears twice".to_owned(),
        ]
    );
}

#[tokio::test]
async fn what_is_the_platforms_alone_never_reaches_a_tenants_client() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let (operator, admin) = (service.operator().await, service.admin("acme").await);
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    service
        .put(&format!("{path}/authorize"), &admin, Value::Null)
        .await;
    let token = service.token_of(&till).await;
    service
        .put(
            "/v1/roles/world",
            &operator,
            json!({ "permissions": ["ecs.global-condition.write"] }),
        )
        .await;
    for role in ["platform.operator", "world"] {
        let roles = json!({ "roles": [{ "roleId": role }] });
        for caller in [&admin, &operator] {
            let answer = service
                .put(&format!("{path}/roles"), caller, roles.clone())
                .await;
            assert_eq!(answer.status, 403, "{role}");
            let template = template("more", json!({}), &[role]);
            let answer = service
                .post("/v1/tenants/acme/templates", caller, template.clone())
                .await;
            assert_eq!(answer.status, 403, "{role}");
            let answer = service
                .post("/v1/tenants/_/templates", caller, template)
                .await;
            assert_eq!(answer.status, 403, "{role}");
        }
    }
    // A permission of the platform that is added to a role later has no effect for the clients that have the role.
    service
        .put(
            "/v1/roles/local",
            &operator,
            json!({ "permissions": ["ecs.condition.read"] }),
        )
        .await;
    let roles = json!({ "roles": [{ "roleId": "local" }] });
    assert_eq!(
        service
            .put(&format!("{path}/roles"), &admin, roles)
            .await
            .status,
        200
    );
    let more = [
        "ecs.condition.read",
        "ecs.global-condition.write",
        "iam.roles.write",
        "iam.tenants.write",
    ];
    service
        .put("/v1/roles/local", &operator, json!({ "permissions": more }))
        .await;
    assert_eq!(
        service
            .get("/api/v1/entity-conditions", &token)
            .await
            .status,
        200
    );
    assert_eq!(service.get("/v1/tenants", &token).await.status, 403);
    assert_eq!(
        service
            .put("/v1/roles/x", &token, json!({ "permissions": [] }))
            .await
            .status,
        403
    );
    let condition = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
    let answer = service
        .put("/api/v1/global-entity-conditions/x", &token, condition)
        .await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn an_administrator_of_the_platform_does_not_become_its_operator() {
    let service = Service::start().await;
    let admin = service.admin("platform").await;
    let operator = &service.operator.client_id;
    let path = format!("/v1/tenants/platform/clients/{operator}");
    assert_eq!(service.get(&path, &admin).await.status, 200);
    for call in ["revoke", "authorize"] {
        assert_eq!(
            service
                .put(&format!("{path}/{call}"), &admin, Value::Null)
                .await
                .status,
            403
        );
    }
    assert_eq!(
        service
            .post(&format!("{path}/secret"), &admin, Value::Null)
            .await
            .status,
        403
    );
    assert_eq!(service.delete(&path, &admin).await.status, 403);
    let list = service
        .get("/v1/tenants/platform/clients", &admin)
        .await
        .body;
    let own = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|client| client["softwareId"] == "test");
    let own = format!(
        "/v1/tenants/platform/clients/{}",
        own.unwrap()["clientId"].as_str().unwrap()
    );
    let roles = json!({ "roles": [{ "roleId": "platform.operator" }] });
    assert_eq!(
        service
            .put(&format!("{own}/roles"), &admin, roles)
            .await
            .status,
        403
    );
    service.open_tenant("acme", &[]).await;
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}/authorize", till.client_id);
    assert_eq!(
        service.put(&path, &admin, Value::Null).await.status,
        200,
        "it acts on every tenant"
    );
    let nowhere = service
        .post(
            "/v1/tenants/new/templates",
            &admin,
            template("till", json!({}), &[]),
        )
        .await;
    assert_eq!(nowhere.status, 403, "but makes none");
}
