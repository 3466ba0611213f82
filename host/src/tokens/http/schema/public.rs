//! The schemas of tokens, of the keys that verify them, and of registrations.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{component, tenant_id};

use super::{client_id, name, secret, status};

/// The form of a token request.
pub(in crate::tokens::http) fn token_request(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "TokenRequest", |_| {
        json_schema!({
            "type": "object",
            "description": "Each parameter at most once, with a value.",
            "required": ["grant_type", "audience"],
            "properties": {
                "grant_type": { "type": "string", "const": "client_credentials" },
                "audience": { "type": "string", "minLength": 1, "description": "The audience of the platform, as it is configured. The error names it when it is another one." },
                "scope": { "type": "string", "const": "", "description": "Scopes are not supported." },
                "client_id": { "type": "string", "minLength": 1, "description": "That of the `Authorization` header, if at all; needed beside `client_secret`." },
                "client_secret": { "type": "string", "minLength": 1, "description": "In place of the `Authorization` header, where the setting `tokens.client_secret_post` is on." },
            },
        })
    })
}

/// An access token.
pub(in crate::tokens::http) fn issued(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "IssuedToken", |_| {
        json_schema!({
            "type": "object",
            "required": ["access_token", "expires_in", "scope", "token_type"],
            "properties": {
                "access_token": { "type": "string", "description": "A JWT, signed with RS256." },
                "expires_in": { "type": "integer", "const": 3599, "description": "Seconds." },
                "scope": { "type": "string", "const": "" },
                "token_type": { "type": "string", "const": "bearer" },
            },
        })
    })
}

/// An error of the token endpoint.
pub(in crate::tokens::http) fn token_error(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "TokenError", |_| {
        json_schema!({
            "type": "object",
            "description": "An error of RFC 6749, section 5.2.",
            "required": ["error", "error_description"],
            "properties": {
                "error": {
                    "type": "string",
                    "enum": ["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope", "temporarily_unavailable", "server_error"],
                },
                "error_description": { "type": "string", "pattern": r"^[ !#-\[\]-~]*$", "description": "What is wrong, as a sentence." },
            },
        })
    })
}

/// A JWK set.
pub(in crate::tokens::http) fn jwk_set(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "JwkSet", |_| {
        json_schema!({
            "type": "object",
            "required": ["keys"],
            "properties": {
                "keys": {
                    "type": "array", "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["kty", "use", "alg", "kid", "n", "e"],
                        "properties": {
                            "kty": { "type": "string", "const": "RSA" },
                            "use": { "type": "string", "const": "sig" },
                            "alg": { "type": "string", "const": "RS256" },
                            "kid": { "type": "string", "description": "The thumbprint of RFC 7638." },
                            "n": { "type": "string", "description": "The modulus, unpadded base64url." },
                            "e": { "type": "string", "description": "The exponent, unpadded base64url." },
                        },
                        "additionalProperties": false,
                    },
                },
            },
        })
    })
}

/// The metadata of the authorization server.
pub(in crate::tokens::http) fn metadata(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "AuthorizationServerMetadata", |_| {
        let texts = || json_schema!({ "type": "array", "items": { "type": "string" } });
        json_schema!({
            "type": "object",
            "description": "The metadata of RFC 8414.",
            "required": [
                "issuer", "token_endpoint", "jwks_uri", "registration_endpoint", "grant_types_supported",
                "response_types_supported", "scopes_supported", "token_endpoint_auth_methods_supported",
            ],
            "properties": {
                "issuer": { "type": "string" },
                "token_endpoint": { "type": "string" },
                "jwks_uri": { "type": "string" },
                "registration_endpoint": { "type": "string" },
                "grant_types_supported": texts(),
                "response_types_supported": texts(),
                "scopes_supported": texts(),
                "token_endpoint_auth_methods_supported": texts(),
            },
        })
    })
}

/// Who is asking.
pub(in crate::tokens::http) fn caller(generator: &mut SchemaGenerator) -> Schema {
    let tenant = tenant_id(generator);
    component(generator, "Caller", |_| {
        json_schema!({
            "type": "object",
            "required": ["tenantId", "permissions"],
            "properties": {
                "tenantId": tenant,
                "permissions": { "type": "array", "items": { "type": "string" }, "description": "Those that a route here asks for." },
            },
        })
    })
}

/// A client that has registered.
pub(in crate::tokens::http) fn registered(generator: &mut SchemaGenerator) -> Schema {
    let (id, name, tenant, status) = (
        client_id(generator),
        name(generator),
        tenant_id(generator),
        status(generator),
    );
    component(generator, "RegisteredClient", |_| {
        json_schema!({
            "type": "object",
            "required": ["clientId", "clientSecret", "softwareId", "softwareVersion", "tenantId", "status"],
            "properties": {
                "clientId": id, "clientSecret": secret(), "softwareId": name.clone(), "softwareVersion": name,
                "tenantId": tenant, "status": status,
            },
        })
    })
}
