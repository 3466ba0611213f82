//! Templates: their schemas, the faults that they are refused for, and the validation of claims.

use serde_json::{Value, json};

use super::fixture::{Service, messages, registration, template};

const PATH: &str = "/v1/tenants/acme/templates";

#[tokio::test]
async fn templates_are_made_once_listed_read_and_deleted() {
    let service = Service::start().await;
    let admin = service.admin("acme").await;
    let (first, second) = (
        template("a", json!({}), &["ecs.viewer"]),
        template("b", json!({}), &[]),
    );
    assert_eq!(service.post(PATH, &admin, second.clone()).await.status, 201);
    let made = service.post(PATH, &admin, first.clone()).await;
    assert_eq!((made.status, &made.body), (201, &first));
    assert_eq!(service.post(PATH, &admin, first.clone()).await.status, 409);
    assert_eq!(service.get(PATH, &admin).await.body, json!([first, second]));
    let one = format!("{PATH}/a/1");
    assert_eq!(service.get(&one, &admin).await.body, first);
    assert_eq!(
        service.get(&format!("{PATH}/a/2"), &admin).await.status,
        404
    );
    assert_eq!(
        service.get(&format!("{PATH}/a%2Fb/1"), &admin).await.status,
        404
    );
    assert_eq!(service.delete(&one, &admin).await.status, 204);
    assert_eq!(service.delete(&one, &admin).await.status, 404);
    assert_eq!(service.get(&one, &admin).await.status, 404);
}

#[tokio::test]
async fn a_template_that_no_url_could_name_is_refused() {
    let service = Service::start().await;
    let admin = service.admin("acme").await;
    let mut nameless = template(".", json!({}), &[]);
    nameless["softwareVersion"] = json!("..");
    let rule = "must not be . or ..: HTTP clients take these for dot segments";
    let expected = ["softwareId", "softwareVersion"].map(|name| format!("$.{name} {rule}"));
    let answer = service.post(PATH, &admin, nameless).await;
    assert_eq!(messages(&answer), expected);
    assert_eq!(service.get(PATH, &admin).await.body, json!([]));
}

#[tokio::test]
async fn the_name_of_a_tenant_or_a_template_has_no_control_characters() {
    let service = Service::start().await;
    let (operator, admin) = (service.operator().await, service.admin("acme").await);
    let mut named = template("till", json!({}), &[]);
    for control in ["\u{0}", "\t", "\n", "\u{1b}", "\u{7f}", "\u{85}", "\u{9f}"] {
        let name = json!(format!("A{control}till"));
        named["name"] = name.clone();
        for answer in [
            service.post(PATH, &admin, named.clone()).await,
            service
                .put("/v1/tenants/other", &operator, json!({ "name": name }))
                .await,
        ] {
            let expected = ["$.name must not contain control characters"];
            assert_eq!(messages(&answer), expected, "{name}");
        }
    }
    named["name"] = json!("Kassa\u{a0}– \u{1f6d2}");
    assert_eq!(service.post(PATH, &admin, named).await.status, 201);
}

#[tokio::test]
async fn a_global_template_is_the_platforms_and_serves_every_tenant() {
    let service = Service::start().await;
    let (operator, admin) = (service.operator().await, service.admin("acme").await);
    let global = template("till", json!({ "required": ["global"] }), &["ecs.viewer"]);
    let path = "/v1/tenants/_/templates";
    assert_eq!(service.post(path, &admin, global.clone()).await.status, 403);
    assert_eq!(
        service.post(path, &operator, global.clone()).await.status,
        201
    );
    assert_eq!(service.get(path, &operator).await.body, json!([global]));
    assert_eq!(
        service.get(&format!("{path}/till/1"), &operator).await.body,
        global
    );
    let mut body = registration("acme", json!({ "global": true }));
    body["usingGlobalTemplate"] = json!(true);
    let registered = service.register(&body).await;
    assert_eq!(registered.status, 201, "{}", registered.body);
    let id = registered.body["clientId"].as_str().unwrap();
    let client = service
        .get(&format!("/v1/tenants/acme/clients/{id}"), &admin)
        .await
        .body;
    assert_eq!(client["roles"], json!([{ "roleId": "ecs.viewer" }]));
}

#[tokio::test]
async fn claims_that_do_not_match_are_named_each() {
    let service = Service::start().await;
    let admin = service.admin("acme").await;
    let schema = json!({
        "type": "object",
        "required": ["iso_cc", "business_unit_id"],
        "additionalProperties": false,
        "properties": {
            "iso_cc": { "$ref": "#/definitions/country" },
            "business_unit_id": { "type": "string", "minLength": 2 },
            "workstation_id": { "type": "number", "minimum": 1 },
        },
        "definitions": { "country": { "enum": ["SE", "NO"] } },
    });
    assert_eq!(
        service
            .post(PATH, &admin, template("till", schema, &[]))
            .await
            .status,
        201
    );
    let claims = json!({ "iso_cc": "DK", "workstation_id": 0, "color": "red", "age": 1 });
    let answer = service.register(&registration("acme", claims)).await;
    let mut found = messages(&answer);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "$.claims.age is not a claim of the template",
            "$.claims.business_unit_id is required",
            "$.claims.color is not a claim of the template",
            "$.claims.iso_cc does not match the schema: \"DK\" is not one of \"SE\" or \"NO\"",
            "$.claims.workstation_id does not match the schema: 0 is less than the minimum of 1",
        ]
    );
    let right = json!({ "iso_cc": "NO", "business_unit_id": "07" });
    assert_eq!(
        service.register(&registration("acme", right)).await.status,
        201
    );
}

#[tokio::test]
async fn a_schema_that_is_none_or_costs_too_much_is_refused() {
    let service = Service::start().await;
    let admin = service.admin("acme").await;
    let circle = "$.claimsSchema must not refer to itself";
    let outside =
        "$.claimsSchema must refer only to itself: a $ref begins with # and leads to a part of it";
    let simpler = "$.claimsSchema must be simpler: it has too many parts, each counted as often as it is referred to";
    let names: Vec<String> = (0..4_000).map(|n| format!("c{n}")).collect();
    let repeated: Vec<Value> = (0..600)
        .map(|_| json!({ "$ref": "#/definitions/all" }))
        .collect();
    let nested = "$.claimsSchema must have no $id or $schema below its top";
    let multiplied: serde_json::Map<String, Value> = (0..30)
        .map(|n| {
            let next = json!({ "$ref": format!("#/definitions/d{}", n + 1) });
            (format!("d{n}"), json!({ "allOf": [next, next] }))
        })
        .chain([("d30".to_owned(), json!({}))])
        .collect();
    let patterns: serde_json::Map<String, Value> = (0..33)
        .map(|n| (format!("p{n}"), json!({ "pattern": "a" })))
        .collect();
    let cases = [
        (
            json!({ "$ref": "https://example.com/schema.json" }),
            outside,
        ),
        (json!({ "$ref": "file:///etc/passwd" }), outside),
        (json!({ "$ref": "other.json#/a" }), outside),
        (json!({ "$ref": "#/definitions/none" }), outside),
        (json!({ "properties": { "a": { "$ref": "#" } } }), circle),
        (json!({ "allOf": [{ "$ref": "#/allOf/0" }] }), circle),
        (
            json!({ "definitions": { "a": { "$ref": "#/definitions/b" }, "b": { "$ref": "#/definitions/%61" } } }),
            circle,
        ),
        (
            json!({ "properties": { "a": { "$id": "http://x/", "$ref": "#/a" } } }),
            nested,
        ),
        (
            json!({ "definitions": multiplied, "$ref": "#/definitions/d0" }),
            simpler,
        ),
        (
            json!({ "definitions": { "all": { "required": names } }, "allOf": repeated }),
            simpler,
        ),
        (
            json!({ "properties": patterns }),
            "$.claimsSchema must have at most 32 patterns",
        ),
        (
            json!({ "$schema": "https://json-schema.org/draft/2020-12/schema" }),
            "$.claimsSchema['$schema'] must be draft-07 or absent",
        ),
    ];
    for (schema, message) in cases {
        let answer = service
            .post(PATH, &admin, template("till", schema.clone(), &[]))
            .await;
        assert_eq!(messages(&answer), [message], "{schema}");
    }
    // A fault against the meta-schema is reported with its place; the text comes from the library.
    let places = [
        (json!(7), "$.claimsSchema "),
        (json!({ "type": "text" }), "$.claimsSchema.type "),
        (
            json!({ "properties": { "a": { "minLength": -1 } } }),
            "$.claimsSchema.properties.a.minLength ",
        ),
        (
            json!({ "properties": { "a": { "pattern": "(" } } }),
            "$.claimsSchema",
        ),
        (
            json!({ "properties": { "a": { "pattern": "(a)\\1" } } }),
            "$.claimsSchema",
        ),
        (
            json!({ "properties": { "a": { "pattern": "\\w{1000}{1000}" } } }),
            "$.claimsSchema",
        ),
        (
            json!({ "properties": { "a": { "pattern": "(?:x{0,500}){0,20}y1" } } }),
            "$.claimsSchema",
        ),
        (json!({ "enum": 7 }), "$.claimsSchema.enum "),
    ];
    for (schema, place) in places {
        let answer = service
            .post(PATH, &admin, template("till", schema.clone(), &[]))
            .await;
        assert!(
            messages(&answer)[0].starts_with(place),
            "{schema}: {}",
            answer.body
        );
    }
    let large = json!({ "description": "x".repeat(64 << 10) });
    let answer = service
        .post(PATH, &admin, template("till", large, &[]))
        .await;
    assert_eq!(messages(&answer), ["$.claimsSchema must be at most 64 KiB"]);
    assert_eq!(
        service.get(PATH, &admin).await.body,
        json!([]),
        "nothing was made"
    );
}

#[tokio::test]
async fn a_registration_with_many_faults_is_told_a_hundred() {
    let service = Service::start().await;
    let admin = service.admin("acme").await;
    let names: Vec<String> = (0..2_000).map(|n| format!("claim_{n}")).collect();
    let schema = json!({ "type": "object", "required": names });
    let answer = service
        .post(PATH, &admin, template("till", schema, &[]))
        .await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let answer = service.register(&registration("acme", json!({}))).await;
    assert_eq!(answer.status, 400);
    assert_eq!(messages(&answer).len(), 100);
}

#[tokio::test]
async fn a_template_names_every_fault() {
    let service = Service::start().await;
    let admin = service.admin("acme").await;
    let answer = service.post(PATH, &admin, json!({ "roles": "x" })).await;
    assert_eq!(
        messages(&answer),
        [
            "$.softwareId is required",
            "$.softwareVersion is required",
            "$.name is required",
            "$.claimsSchema is required",
            "$.roles must be an array",
        ]
    );
    let unknown = template("till", json!({}), &["ecs.viewer", "none"]);
    let answer = service.post(PATH, &admin, unknown).await;
    assert_eq!(
        messages(&answer),
        ["$.roles[1].roleId is not the id of a role: none"]
    );
}

#[tokio::test]
async fn a_changed_template_holds_for_whoever_registers_next() {
    let service = Service::start().await;
    let admin = service.admin("acme").await;
    service
        .post(
            PATH,
            &admin,
            template("till", json!({ "required": ["a"] }), &[]),
        )
        .await;
    assert_eq!(
        service
            .register(&registration("acme", json!({ "b": 1 })))
            .await
            .status,
        400
    );
    service.delete(&format!("{PATH}/till/1"), &admin).await;
    service
        .post(
            PATH,
            &admin,
            template("till", json!({ "required": ["b"] }), &[]),
        )
        .await;
    assert_eq!(
        service
            .register(&registration("acme", json!({ "b": 1 })))
            .await
            .status,
        201
    );
}
