//! What the API's documents say of tokens, of the keys that verify them, and of registrations.

use tillgate_api::describe;
use tillgate_api::problem::{
    CLIENT_EXISTS, INTERNAL, QUOTA_EXCEEDED, RATE_LIMITED, TOO_MUCH_WAITING,
};

use super::super::schema::public as schema;
use super::NO_STORE;
use crate::http::{Operation, Tag};
use crate::tokens::body;

const MAX_AGE: &str = "How long it may be cached: `public, max-age=300`.";

/// An error of the token endpoint, which is no problem document.
fn fails(operation: Operation, status: u16, meaning: &'static str) -> Operation {
    operation.answers(status, meaning, schema::token_error)
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
            schema::token_request)
        .answers(
            200,
            "The token",
            schema::issued);
    let operation = fails(
        operation,
        400,
        "The request is malformed, or asks for another grant or for a scope.",
    );
    let operation = fails(
        operation,
        401,
        "The client is unknown, its secret is wrong, or it is not authorized, all with the same error; or the audience is another one.",
    )
    .with_header("WWW-Authenticate", challenge);
    let operation = fails(operation, 406, "`Accept` leaves out JSON.");
    let operation = fails(operation, 408, "The body arrived too slowly.");
    let operation = fails(
        operation,
        413,
        "The body is longer than `x-max-body-bytes`.",
    );
    let operation = fails(
        operation,
        429,
        "There were too many wrong secrets in a row for this client from this address.",
    )
    .with_header("Retry-After", after);
    let operation = fails(
        operation,
        500,
        "The fault is on this side. The log has the correlation id.",
    );
    fails(operation, 503, "The store is unavailable.").with_header("Retry-After", after)
}

pub(in crate::tokens::http) fn get_jwks() -> Operation {
    Operation::new("getJwks", Tag::Tokens, "Get the public keys of the token service")
        .says("They verify access tokens and software statements. A new key is published for longer than `max-age` before it signs.")
        .answers(
            200,
            "The keys, a JWK set (RFC 7517)",
            schema::jwk_set)
        .with_header("Cache-Control", MAX_AGE)
        .with_entity_tag()
        .refuses(&[INTERNAL])
}

pub(in crate::tokens::http) fn get_metadata() -> Operation {
    Operation::new(
        "getAuthorizationServerMetadata",
        Tag::Tokens,
        "Get the metadata of the token service",
    )
    .answers(200, "The metadata (RFC 8414)", schema::metadata)
    .with_header("Cache-Control", MAX_AGE)
    .with_entity_tag()
}

pub(in crate::tokens::http) fn get_caller() -> Operation {
    Operation::new(
        "getCaller",
        Tag::Tokens,
        "Get the tenant and the permissions of the caller",
    )
    .answers(200, "The caller", schema::caller)
    .may_be_stale()
}

pub(in crate::tokens::http) fn register() -> Operation {
    Operation::new("registerClient", Tag::Clients, "Register a client")
        .says("A client registers itself, without a token. It is `Pending`, and gets no tokens, until an administrator authorizes it, and is removed when nobody does; with a software statement that approves its clients it is `Authorized` at once. Its claims must match the schema of its template. Its id is made from its claims, its software and its tenant: at most 255 characters.")
        .takes(
            |generator| describe(generator, body::registration))
        .answers(
            201,
            "It was registered",
            schema::registered)
        .with_header(NO_STORE.0, NO_STORE.1)
        .refuses(&[CLIENT_EXISTS, QUOTA_EXCEEDED, RATE_LIMITED, TOO_MUCH_WAITING])
}
