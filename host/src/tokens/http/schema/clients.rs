//! The schemas of clients, registration templates and software statements.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{component, made_by, managed_by, tenant_id, time, title, uuid};

use super::{claims, client_id, name, page, roles_of, schema_of_claims, secret, status};

/// A client's new secret.
pub(in crate::tokens::http) fn credentials(generator: &mut SchemaGenerator) -> Schema {
    let id = client_id(generator);
    component(generator, "ClientCredentials", |_| {
        json_schema!({
            "type": "object",
            "required": ["clientId", "clientSecret"],
            "properties": { "clientId": id, "clientSecret": secret() },
        })
    })
}

/// A client.
pub(in crate::tokens::http) fn client(generator: &mut SchemaGenerator) -> Schema {
    let (id, name, tenant) = (client_id(generator), name(generator), tenant_id(generator));
    let (claims, status, registered) = (claims(generator), status(generator), time(generator));
    component(generator, "Client", |generator| {
        json_schema!({
            "type": "object",
            "required": ["clientId", "tenantId", "softwareId", "softwareVersion", "claims", "roles", "status", "registeredAt"],
            "properties": {
                "clientId": id, "tenantId": tenant, "softwareId": name.clone(), "softwareVersion": name.clone(),
                "claims": claims, "roles": roles_of(&name), "status": status, "registeredAt": registered,
                "lastModifiedBy": made_by(generator),
                "registeredFrom": {
                    "type": "string",
                    "description": "While it is pending: the address that it registered from; of IPv6 the network.",
                    "examples": ["192.0.2.7"],
                },
            },
        })
    })
}

/// A page of clients.
pub(in crate::tokens::http) fn clients(generator: &mut SchemaGenerator) -> Schema {
    let client = client(generator);
    component(generator, "Clients", |_| page(&client))
}

fn template_members(generator: &mut SchemaGenerator) -> Schema {
    let name = name(generator);
    json_schema!({
        "softwareId": name.clone(), "softwareVersion": name.clone(), "name": title(100),
        "claimsSchema": schema_of_claims(generator),
        "roles": roles_of(&name),
        "managedBy": managed_by(),
    })
}

/// A template.
pub(in crate::tokens::http) fn template(generator: &mut SchemaGenerator) -> Schema {
    let members = template_members(generator);
    component(generator, "Template", |_| {
        json_schema!({
            "type": "object", "required": ["softwareId", "softwareVersion", "name", "claimsSchema", "roles"], "properties": members,
        })
    })
}

/// Templates.
pub(in crate::tokens::http) fn templates(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": template(generator) })
}

/// A software statement, as it is answered once.
pub(in crate::tokens::http) fn statement_text(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "SoftwareStatementText", |_| {
        json_schema!({
            "type": "object",
            "required": ["softwareStatement"],
            "properties": { "softwareStatement": { "type": "string", "description": "A JWT. It is shown here and never again." } },
        })
    })
}

/// A page of software statements.
pub(in crate::tokens::http) fn statements(generator: &mut SchemaGenerator) -> Schema {
    let (name, claims, time, id) = (
        name(generator),
        claims(generator),
        time(generator),
        uuid(generator),
    );
    let statement = component(generator, "SoftwareStatement", |_| {
        json_schema!({
            "type": "object",
            "required": ["jti", "softwareId", "softwareVersion", "usingGlobalTemplate", "claims", "autoApprove", "issuedAt", "expiresAt"],
            "properties": {
                "jti": id, "softwareId": name.clone(), "softwareVersion": name,
                "usingGlobalTemplate": { "type": "boolean" }, "claims": claims, "autoApprove": { "type": "boolean" },
                "issuedAt": time.clone(), "expiresAt": time,
            },
        })
    });
    component(generator, "SoftwareStatements", |_| page(&statement))
}
