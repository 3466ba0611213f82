//! A change of a global condition, and the tenants' tests that it makes fail.

use reqwest::Method;
use serde_json::{Value, json};

use super::{GAMES, GLOBAL_GAMES, ROLES, condition, put, test};
use crate::support::host::Host;

#[tokio::test]
async fn a_global_change_takes_effect_and_answers_how_many_tests_of_tenants_fail() {
    let host = Host::start().await;
    let operator = host.token("platform", &["platform.operator"]).await;
    // One tenant's condition is disabled, so the global one decides; one's own decides; one has no tests; one has no
    // such condition.
    let off = |tests: &[Value]| {
        let mut body = condition(18, tests);
        body["enabled"] = json!(false);
        body
    };
    let tests = [test(20, "ALLOW"), test(16, "HARD_DENY")];
    for (tenant, body) in [
        ("off", off(&tests)),
        ("own", condition(18, &tests)),
        ("plain", condition(18, &[])),
    ] {
        let token = host.token(tenant, ROLES).await;
        let path = format!("{GAMES}?failingTests=accept");
        assert_eq!(put(&host, &path, &token, &body).await.0, 201, "{tenant}");
    }
    let token = host.token("none", ROLES).await;
    let other = "/api/v1/entity-conditions/other";
    assert_eq!(
        put(&host, other, &token, &condition(18, &tests)).await.0,
        201
    );

    let change = async |method: Method, body: &Value| {
        let request = host.request(method, GLOBAL_GAMES, &operator).json(body);
        let response = request.send().await.unwrap();
        let failing = response.headers()["tillgate-failing-tests"]
            .to_str()
            .unwrap()
            .to_owned();
        (response.status().as_u16(), failing)
    };
    assert_eq!(
        change(Method::PUT, &condition(18, &[])).await,
        (201, "0".to_owned())
    );
    // A dry run says so first, and stores nothing.
    let dry = format!("{GLOBAL_GAMES}?dryRun=true");
    let foretold = json!({ "tenants": 4, "failingTests": 1 });
    assert_eq!(
        put(&host, &dry, &operator, &condition(21, &[])).await,
        (200, foretold)
    );
    let bad = condition(18, &[test(16, "ALLOW")]);
    assert_eq!(put(&host, &dry, &operator, &bad).await.0, 409);
    let (_, stored) = host.get(GAMES, &operator).await;
    assert_eq!(stored["condition_value"]["minimum_age"], 18, "{stored}");
    assert_eq!(
        change(Method::PUT, &condition(21, &[])).await,
        (200, "1".to_owned())
    );
    let mut disabled = condition(18, &[]);
    disabled["enabled"] = json!(false);
    assert_eq!(change(Method::PUT, &disabled).await, (200, "2".to_owned()));
    // Its own tests run before it is stored, as those of any condition.
    let (status, _) = put(
        &host,
        GLOBAL_GAMES,
        &operator,
        &condition(18, &[test(16, "ALLOW")]),
    )
    .await;
    assert_eq!(status, 409);
    assert_eq!(
        change(Method::PUT, &condition(15, &[test(15, "ALLOW")])).await,
        (200, "1".to_owned())
    );
    let delete = host.request(Method::DELETE, GLOBAL_GAMES, &operator);
    let deleted = delete.send().await.unwrap();
    assert_eq!(deleted.status(), 204);
    assert_eq!(deleted.headers()["tillgate-failing-tests"], "2");
    let own = host.token("own", ROLES).await;
    let own = host
        .request(Method::PUT, GAMES, &own)
        .json(&condition(18, &[]));
    let own = own.send().await.unwrap();
    assert_eq!(own.status(), 200);
    assert!(
        !own.headers().contains_key("tillgate-failing-tests"),
        "only of a global one"
    );
}
