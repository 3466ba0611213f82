//! What the API's documents say of tokens, of the keys that verify them, and of registrations.

use serde_json::json;

use super::super::schema::public as schema;
use super::{CLIENT_ID, NO_STORE, SECRET};
use crate::http::{Operation, Tag};

const MAX_AGE: &str = "How long it may be cached: `public, max-age=300`.";

/// An error of the token endpoint, which is no problem document.
fn fails(operation: Operation, status: u16, meaning: &'static str, error: [&str; 2]) -> Operation {
    let [code, description] = error;
    let example = json!({ "error": code, "error_description": description });
    operation.answers(status, meaning, schema::token_error, example)
}

pub(in crate::tokens::http) fn issue_token() -> Operation {
    let challenge = "How to authenticate: `Basic realm=\"tillgate\"`.";
    let after = "After how many seconds to try again.";
    let operation = Operation::new("issueToken", Tag::Tokens, "Get an access token")
        .changes_nothing()
        .says("The client authenticates with its id and secret in `Authorization: Basic`, form-encoded or plain, or, where the setting `tokens.client_secret_post` is on, in the form. Errors are those of RFC 6749, section 5.2. No answer may be cached.")
        .for_clients()
        .takes_as(
            "application/x-www-form-urlencoded",
            schema::token_request,
            json!({ "grant_type": "client_credentials", "audience": "https://api.tillgate.example" }),
        )
        .answers(
            200,
            "The token",
            schema::issued,
            json!({ "access_token": "eyJhbGciOiJSUzI1NiJ9.eyJzY3AiOltdfQ.c2lnbmF0dXJl", "expires_in": 3599, "scope": "", "token_type": "bearer" }),
        );
    let operation = fails(
        operation,
        400,
        "The request is malformed, or asks for another grant or for a scope.",
        ["invalid_request", "grant_type is missing"],
    );
    let operation = fails(
        operation,
        401,
        "The client is unknown, its secret is wrong, or it is not authorized, all with the same error; or the audience is another one.",
        ["invalid_client", "the client is unknown, its secret is wrong, or it is not authorized"],
    )
    .or_answers(
        "another audience",
        json!({ "error": "invalid_request", "error_description": "audience must be https://api.tillgate.example" }),
    )
    .or_answers(
        "a secret in the form",
        json!({ "error": "invalid_client", "error_description": "the client must send its id and secret in the Authorization header (Basic), not in the form" }),
    )
    .with_header("WWW-Authenticate", challenge);
    let operation = fails(
        operation,
        406,
        "`Accept` leaves out JSON.",
        ["invalid_request", "this answers application/json"],
    );
    let operation = fails(
        operation,
        408,
        "The body arrived too slowly.",
        ["invalid_request", "the body arrived too slowly"],
    );
    let operation = fails(
        operation,
        413,
        "The body is longer than `x-max-body-bytes`.",
        ["invalid_request", "the body must be at most 8192 bytes"],
    );
    let operation = fails(
        operation,
        429,
        "There were too many wrong secrets in a row for this client from this address.",
        ["temporarily_unavailable", "too many wrong secrets in a row"],
    )
    .with_header("Retry-After", after);
    let operation = fails(
        operation,
        500,
        "The fault is on this side. The log has the correlation id.",
        ["server_error", "internal error"],
    );
    fails(
        operation,
        503,
        "The store is unavailable.",
        ["temporarily_unavailable", "the store is unavailable"],
    )
    .with_header("Retry-After", after)
}

pub(in crate::tokens::http) fn get_jwks() -> Operation {
    Operation::new("getJwks", Tag::Tokens, "Get the public keys of the token service")
        .says("They verify access tokens and software statements. A new key is published for longer than `max-age` before it signs.")
        .answers(
            200,
            "The keys, a JWK set (RFC 7517)",
            schema::jwk_set,
            json!({ "keys": [{
                "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
                "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs", "e": "AQAB",
            }] }),
        )
        .with_header("Cache-Control", MAX_AGE)
        .with_entity_tag()
        .refuses(500, "No key is published, which is a fault on this side.")
}

pub(in crate::tokens::http) fn get_metadata() -> Operation {
    Operation::new(
        "getAuthorizationServerMetadata",
        Tag::Tokens,
        "Get the metadata of the token service",
    )
    .answers(
        200,
        "The metadata (RFC 8414)",
        schema::metadata,
        json!({
            "issuer": "https://tillgate.example",
            "token_endpoint": "https://tillgate.example/oauth2/token",
            "jwks_uri": "https://tillgate.example/.well-known/jwks.json",
            "registration_endpoint": "https://tillgate.example/v1/registration",
            "grant_types_supported": ["client_credentials"],
            "response_types_supported": [],
            "scopes_supported": [],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }),
    )
    .with_header("Cache-Control", MAX_AGE)
    .with_entity_tag()
}

pub(in crate::tokens::http) fn get_caller() -> Operation {
    Operation::new("getCaller", Tag::Tokens, "Get the tenant and the permissions of the caller")
        .answers(
            200,
            "The caller",
            schema::caller,
            json!({ "tenantId": "acme", "permissions": ["ecs.condition.read", "ecs.condition.evaluate"] }),
        )
        .may_be_stale()
        .refuses(403, "The token of a trusted issuer names a tenant that does not exist.")
}

pub(in crate::tokens::http) fn register() -> Operation {
    Operation::new("registerClient", Tag::Clients, "Register a client")
        .says("A client registers itself, without a token. It is `Pending`, and gets no tokens, until an administrator authorizes it, and is removed when nobody does; with a software statement that approves its clients it is `Authorized` at once. Its claims must match the schema of its template. Its id is made from its claims, its software and its tenant: at most 255 characters.")
        .takes(
            schema::registration,
            json!({
                "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "tenantId": "acme",
                "claims": { "iso_cc": "SE", "workstation_id": 17, "training": false },
            }),
        )
        .or_takes(
            "with a software statement",
            json!({
                "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "tenantId": "acme",
                "claims": { "workstation_id": "0001" }, "softwareStatement": "eyJhbGciOiJSUzI1NiJ9.eyJqdGkiOiIifQ.c2lnbmF0dXJl",
            }),
        )
        .answers(
            201,
            "It was registered",
            schema::registered,
            json!({
                "clientId": CLIENT_ID, "clientSecret": SECRET, "softwareId": "till", "softwareVersion": "1", "tenantId": "acme",
                "status": "Pending",
            }),
        )
        .with_header(NO_STORE.0, NO_STORE.1)
        .refuses(409, "A client with the same claims, software and tenant exists already, or the tenant has as many clients as it may.")
        .refuses(429, "There were too many registrations from this address, or too many clients of the tenant are pending. Try again after `Retry-After` seconds.")
}
