//! The roles of administrators, each with its part in its own tenant, and roles with permissions of other systems,
//! which have no effect here.

use serde_json::{Value, json};

use super::fixture::{Service, messages, template};
use crate::support::host::take_modifier;

/// The part of administration that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Templates,
    Statements,
    Clients,
    /// Belongs to the platform or to another system.
    NotTheirs,
}

use Part::{Clients, NotTheirs, Statements, Templates};

/// Method, path, and the status when it is allowed. The path is within a tenant unless it begins with `/v1` or `/api`.
type Call = (Part, &'static str, &'static str, u16);

const CALLS: &[Call] = &[
    (Templates, "POST", "templates", 201),
    (Templates, "GET", "templates", 200),
    (Templates, "GET", "templates/more/1", 200),
    (Templates, "DELETE", "templates/more/1", 204),
    (Statements, "POST", "software-statements", 201),
    (Statements, "GET", "software-statements", 200),
    (Statements, "DELETE", "software-statements/{jti}", 204),
    (Clients, "GET", "clients", 200),
    (Clients, "GET", "clients/{till}", 200),
    (Clients, "PUT", "clients/{till}/authorize", 200),
    (Clients, "PUT", "clients/{till}/roles", 200),
    (Clients, "POST", "clients/{till}/secret", 200),
    (Clients, "PUT", "clients/{till}/revoke", 200),
    (Clients, "DELETE", "clients/{till}", 204),
    (NotTheirs, "POST", "/v1/tenants/_/templates", 0),
    (NotTheirs, "GET", "/v1/tenants", 0),
    (NotTheirs, "PUT", "/v1/tenants/new", 0),
    (NotTheirs, "PUT", "/v1/roles/own", 0),
    (NotTheirs, "DELETE", "/v1/roles/own", 0),
    (NotTheirs, "GET", "/v1/keys", 0),
    (NotTheirs, "POST", "/v1/keys/rotate", 0),
    (NotTheirs, "GET", "/v1/jobs/dead-letters", 0),
    (NotTheirs, "POST", "/v1/jobs/dead-letters/YQph/retry", 0),
    (NotTheirs, "DELETE", "/v1/jobs/dead-letters/YQph", 0),
    (NotTheirs, "GET", "/api/v1/entity-conditions", 0),
    (NotTheirs, "PUT", "/api/v1/entity-conditions/x", 0),
    (NotTheirs, "PUT", "/api/v1/global-entity-conditions/x", 0),
];

/// Returns a body that fits a call.
fn body_of(method: &str, path: &str) -> Value {
    match (method, path.rsplit('/').next().unwrap()) {
        ("POST", "templates") => template("more", json!({}), &[]),
        ("POST", "software-statements") => {
            json!({ "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false })
        }
        ("PUT", "roles") => json!({ "roles": [] }),
        ("PUT", "own") => json!({ "permissions": [] }),
        ("PUT", "x") => json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} }),
        _ => Value::Null,
    }
}

/// Returns a token of a client of a tenant with a template's roles.
async fn token_of_a_till(service: &Service, tenant: &str, number: u64) -> String {
    let operator = service.operator().await;
    let till = service.till(tenant, number).await;
    let path = format!("/v1/tenants/{tenant}/clients/{}/authorize", till.client_id);
    let authorized = service.put(&path, &operator, Value::Null).await;
    assert_eq!(authorized.status, 200, "{}", authorized.body);
    service.token_of(&till).await
}

async fn call(service: &Service, method: &str, path: &str, token: &str) -> u16 {
    let body = body_of(method, path);
    let answer = service.call(method.parse().unwrap(), path, token, body);
    answer.await.status
}

#[tokio::test]
async fn each_administrator_does_its_part_in_its_own_tenant_and_nothing_else() {
    let roles: [(&str, &[Part]); 5] = [
        ("iam.template-admin", &[Templates]),
        ("iam.statements-admin", &[Statements]),
        ("iam.client-admin", &[Clients]),
        ("iam.clients-admin", &[Clients]),
        ("iam.admin", &[Templates, Statements, Clients]),
    ];
    for (role, parts) in roles {
        let service = Service::start().await;
        service.open_tenant("acme", &[role]).await;
        service.open_tenant("other", &[]).await;
        let token = token_of_a_till(&service, "acme", 1).await;
        let operator = service.operator().await;
        let (mut acme, mut other) = (Vec::new(), Vec::new());
        for (tenant, ids) in [("acme", &mut acme), ("other", &mut other)] {
            let path = format!("/v1/tenants/{tenant}/software-statements");
            let body = body_of("POST", &path);
            let made = service.post(&path, &operator, body).await;
            assert_eq!(made.status, 201, "{}", made.body);
            let list = service.get(&path, &operator).await.body;
            ids.push(list["items"][0]["jti"].as_str().unwrap().to_owned());
            ids.push(service.till(tenant, 2).await.client_id);
        }
        for (part, method, path, status) in CALLS {
            let in_tenant = |tenant: &str, ids: &[String]| {
                if path.starts_with('/') {
                    return (*path).to_owned();
                }
                let path = path.replace("{jti}", &ids[0]).replace("{till}", &ids[1]);
                format!("/v1/tenants/{tenant}/{path}")
            };
            let theirs = call(&service, method, &in_tenant("other", &other), &token).await;
            assert_eq!(theirs, 403, "{role}: {method} {path} of another tenant");
            let own = call(&service, method, &in_tenant("acme", &acme), &token).await;
            let expected = if parts.contains(part) { *status } else { 403 };
            assert_eq!(own, expected, "{role}: {method} {path}");
        }
        let reads_roles = parts.contains(&Templates) || parts.contains(&Clients);
        let expected = if reads_roles { 200 } else { 403 };
        assert_eq!(call(&service, "GET", "/v1/roles", &token).await, expected);
    }
}

/// Returns a permission's name of `length` characters.
fn name_of(length: usize) -> String {
    let verb = "r".repeat(length - "pay.terminal.".len());
    format!("pay.terminal.{verb}")
}

#[tokio::test]
async fn a_role_keeps_the_permissions_of_other_systems_and_they_do_nothing() {
    let service = Service::start().await;
    let operator = service.operator().await;
    let longest = name_of(128);
    let sent = [
        "wms.stock-level.adjust_2",
        "pay.terminal.read",
        "iam.roles.writer",
        "ecs.condition.read",
        "ecs.condition.writes",
        "ecs.catalog.read",
        "pay.terminal.read",
        longest.as_str(),
        "0.0.0",
    ];
    let mut kept = sent.to_vec();
    kept.sort_unstable();
    kept.dedup();
    let expected = json!({ "roleId": "cashier", "permissions": kept, "builtIn": false });
    for status in [201, 200] {
        let body = json!({ "permissions": sent });
        let mut put = service.put("/v1/roles/cashier", &operator, body).await;
        assert_eq!(take_modifier(&mut put.body), "tillgate-operator 1");
        assert_eq!((put.status, &put.body), (status, &expected));
    }
    let mut found = service.get("/v1/roles/cashier", &operator).await;
    take_modifier(&mut found.body);
    assert_eq!((found.status, &found.body), (200, &expected));
    let admin = service.admin("acme").await;
    let list = service.get("/v1/roles", &admin).await.body;
    let last = list.as_array().unwrap().last();
    assert_eq!(
        last,
        Some(&expected),
        "tenants do not see who of the platform has changed it"
    );
    service.open_tenant("acme", &["cashier"]).await;
    let token = token_of_a_till(&service, "acme", 1).await;
    let conditions = "/api/v1/entity-conditions";
    assert_eq!(call(&service, "GET", conditions, &token).await, 200);
    for (_, method, path, _) in CALLS {
        let path = match path.strip_prefix('/') {
            Some(_) => (*path).to_owned(),
            None => format!("/v1/tenants/acme/{path}"),
        };
        if (*method, path.as_str()) != ("GET", conditions) {
            let status = call(&service, method, &path, &token).await;
            assert_eq!(status, 403, "{method} {path}");
        }
    }
    assert_eq!(call(&service, "GET", "/api/v1/catalog", &token).await, 403);
}

#[tokio::test]
async fn a_permissions_name_is_three_segments_in_lower_case() {
    let service = Service::start().await;
    let operator = service.operator().await;
    let too_long = name_of(129);
    let malformed = [
        "",
        "pay",
        "pay.terminal",
        "pay.terminal.read.all",
        "Pay.terminal.read",
        "pay.terminal.READ",
        "pay..read",
        ".terminal.read",
        "pay.terminal.",
        "..",
        "pay.terminal.read ",
        "pay.terminal.re ad",
        "pay.terminal.*",
        "pay.terminal.réad",
        "pay.terminal.read\n",
        too_long.as_str(),
    ];
    let well_formed = "pay.terminal.read";
    let mut sent = vec![json!(well_formed)];
    sent.extend(malformed.iter().map(|name| json!(name)));
    sent.extend([json!(7), json!(null), json!([well_formed])]);
    let body = json!({ "permissions": sent });
    let refused = service.put("/v1/roles/cashier", &operator, body).await;
    let rule = "must be the name of a permission: <system>.<resource>.<verb>";
    let expected: Vec<_> = (1..sent.len())
        .map(|index| format!("$.permissions[{index}] {rule}"))
        .collect();
    assert_eq!(messages(&refused), expected);
    let found = service.get("/v1/roles/cashier", &operator).await;
    assert_eq!(found.status, 404, "nothing was written");
}

#[tokio::test]
async fn a_role_of_other_systems_never_carries_what_is_the_platforms_alone() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let (operator, admin) = (service.operator().await, service.admin("acme").await);
    let put = async |permissions: &[&str]| {
        let body = json!({ "permissions": permissions });
        let put = service.put("/v1/roles/cashier", &operator, body).await;
        put.status
    };
    let first = put(&["pay.terminal.read", "ecs.condition.read"]).await;
    assert_eq!(first, 201);
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    let authorize = format!("{path}/authorize");
    assert_eq!(call(&service, "PUT", &authorize, &admin).await, 200);
    let roles = json!({ "roles": [{ "roleId": "cashier" }] });
    let give = async || {
        let path = format!("{path}/roles");
        service.put(&path, &admin, roles.clone()).await.status
    };
    assert_eq!(give().await, 200);
    let token = service.token_of(&till).await;
    let of_the_platform = [
        "ecs.global-condition.write",
        "iam.roles.write",
        "iam.tenants.write",
        "iam.keys.read",
        "iam.keys.rotate",
        "iam.jobs.read",
        "iam.jobs.write",
    ];
    let mut more = vec!["pay.terminal.read", "ecs.condition.read"];
    more.extend(of_the_platform);
    assert_eq!(put(&more).await, 200);
    let conditions = "/api/v1/entity-conditions";
    assert_eq!(call(&service, "GET", conditions, &token).await, 200);
    let calls = CALLS.iter().filter(|(part, ..)| *part == NotTheirs);
    for (_, method, path, _) in calls.filter(|(_, _, path, _)| *path != conditions) {
        let status = call(&service, method, path, &token).await;
        assert_eq!(status, 403, "{method} {path}");
    }
    assert_eq!(give().await, 403, "nobody in the tenant gets it now");
    let more = template("more", json!({}), &["cashier"]);
    let made = service.post("/v1/tenants/acme/templates", &admin, more);
    assert_eq!(made.await.status, 403);
}
