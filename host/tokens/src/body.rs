//! The request bodies of the token service. All features read bodies in the same way (`tillgate_api`).

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::value::RawValue;
use tillgate_api::schema::duration;
use tillgate_api::value::or_fault;
use tillgate_api::values::{boolean, parse_duration, title};
use tillgate_api::{Body, Fields, Value, describe, read};
use tillgate_base::body::tenant as tenant_id;
use tillgate_base::data::managed_by::managed_by;
use tillgate_base::data::tenant::TenantSettings;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{self, STEP_RULE, is_name, is_permission, is_step};
use tillgate_engine::Fault;
use tillgate_engine::rate::{Invalid, Percentage};

use super::client_id::{Claim, Claims, NAME_RULE, Software, VALUE_RULE, is_claim_name};
use super::members::{
    ABOUT_PERMISSIONS, ABOUT_ROLES, ABOUT_TOLERANCE, MAX_PERMISSIONS, MAX_ROLES, MAX_TITLE,
    claims_schema, name_schema, percentage_schema, permission_schema, schema_of_claims,
};
use super::statement::{self, MAX_TEXT as MAX_STATEMENT};
use super::{NewRole, NewStatement, NewTemplate, Registration};

/// The most claims that a client may have.
const MAX_CLAIMS: usize = 100;

/// The rules for a software statement, a permission and a lifetime, used in messages.
const STATEMENT_RULE: &str = "must be a software statement: a JWT of at most 8 KiB";
const PERMISSION_RULE: &str = "must be the name of a permission: <system>.<resource>.<verb>";
const LIFETIME_RULE: &str = "must be a duration such as 30m, 24h or 2 days, at most 365 days";

const GLOBAL: &str = "`true` for the global template of the software, `false` for the tenant's.";
const CLAIMS_SCHEMA: &str = "JSON Schema, draft-07, of the claims: at most \
    64 KiB, no references to other documents or to itself, at most 32 \
    patterns, which match in linear time.";

/// The longest time for which a replaced secret may stay valid.
const MAX_OVERLAP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Reads `{ softwareId, softwareVersion, usingGlobalTemplate, tenantId, claims }` (`given.md` 2.7).
pub(super) fn registration(value: Value<'_, '_, '_>) -> Option<Registration> {
    value.component("Registration", |value| {
        value.object(|fields| {
            fields.ignore_unknown();
            let software = software(fields);
            let using_global_template = fields.required("usingGlobalTemplate", GLOBAL, boolean);
            let tenant = fields.required("tenantId", "The tenant of the client.", tenant_id);
            let about = "A software statement of `createSoftwareStatement`: a JWT of at most 8 \
                KiB. The registration may leave out the claims that it contains.";
            let statement = fields.not_null("softwareStatement", about, |value| {
                let schema = |_: &mut _| {
                    json_schema!({
                        "type": "string", "maxLength": MAX_STATEMENT
                    })
                };
                value.text_that(schema, |text| text.len() <= MAX_STATEMENT, STATEMENT_RULE)
            });
            let claims = fields.required("claims", "", claims);
            Some(Registration {
                software: software?,
                using_global_template: using_global_template?,
                tenant: tenant?,
                claims: claims?,
                statement: statement?,
            })
        })
    })
}

/// Reads `{ softwareId, softwareVersion, usingGlobalTemplate, claims?, autoApprove?, expiresIn? }`.
pub(super) fn statement(value: Value<'_, '_, '_>) -> Option<NewStatement> {
    value.component("NewSoftwareStatement", |value| {
        value.object(|fields| {
            let software = software(fields);
            let using_global_template = fields.required("usingGlobalTemplate", GLOBAL, boolean);
            let claims = fields.not_null("claims", "", claims);
            let about = "`true` if clients that register with it are \
                authorized at once. Default: `false`.";
            let auto_approve = fields.not_null("autoApprove", about, boolean);
            let about = "The lifetime: more than 0s and at most 365 days. Default: 7 days.";
            let lifetime = fields.not_null("expiresIn", about, |value| {
                value.parsed(duration, lifetime, LIFETIME_RULE)
            });
            Some(NewStatement {
                software: software?,
                using_global_template: using_global_template?,
                claims: claims?.unwrap_or_default(),
                auto_approve: auto_approve?.unwrap_or(false),
                lifetime: lifetime?.unwrap_or(statement::LIFETIME),
            })
        })
    })
}

fn lifetime(text: &str) -> Option<Duration> {
    let lifetime = parse_duration(text)?;
    (!lifetime.is_zero() && lifetime <= statement::MAX_LIFETIME).then_some(lifetime)
}

fn claims(value: Value<'_, '_, '_>) -> Option<Claims> {
    value.of(claims_schema, |node, faults| {
        let node = faults.object(node)?;
        if node.children().nth(MAX_CLAIMS).is_some() {
            faults.add(node, "must have at most 100 members");
            return None;
        }
        let mut claims = Claims::new();
        for member in node.children() {
            let name = member.key().as_ref();
            if !is_claim_name(name) {
                faults.add(member, NAME_RULE);
            }
            if let Some(claim) = or_fault(faults, member, Claim::from_json(member), VALUE_RULE) {
                claims.insert(name.to_owned(), claim);
            }
        }
        Some(claims)
    })
}

/// Reads `{ softwareId, softwareVersion, name, claimsSchema, roles?: [{ roleId }], managedBy? }` except the schema,
/// which is kept as it was sent.
fn template_members(value: Value<'_, '_, '_>) -> Option<NewTemplate> {
    value.component("NewTemplate", |value| {
        value.object(|fields| {
            let software = software(fields);
            let name = fields.required("name", "The name that people read.", |value| {
                title(value, MAX_TITLE)
            });
            fields.required("claimsSchema", CLAIMS_SCHEMA, |value| {
                value.of(schema_of_claims, |_, _| Some(()))
            });
            let roles = fields.not_null("roles", ABOUT_ROLES, role_ids);
            let managed_by = managed_by(fields);
            Some(NewTemplate {
                software: software?,
                name: name?,
                claims_schema: RawValue::NULL.to_owned(),
                roles: roles?.unwrap_or_default(),
                managed_by: managed_by?,
            })
        })
    })
}

/// Returns the schema of the body that creates or replaces a template.
pub(super) fn template_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, template_members)
}

pub(super) fn template(body: &Body) -> Result<NewTemplate> {
    let members = read(body, template_members)?;
    Ok(NewTemplate {
        claims_schema: raw_schema(body)?,
        ..members
    })
}

/// Reads a template, which must be for this software.
pub(super) fn template_of(body: &Body, id: &str, version: &str) -> Result<NewTemplate> {
    let new = template(body)?;
    let members = [
        ("$.softwareId", new.software.id == id),
        ("$.softwareVersion", new.software.version == version),
    ];
    let other = members.into_iter().filter(|(_, is_same)| !is_same);
    let faults: Vec<Fault> = other
        .map(|(path, _)| Fault {
            path: path.to_owned(),
            message: "must be that of the path".into(),
        })
        .collect();
    if faults.is_empty() {
        Ok(new)
    } else {
        Err(Error::Invalid(faults))
    }
}

/// Returns the schema as it was sent.
fn raw_schema(body: &Body) -> Result<Box<RawValue>> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Body {
        claims_schema: Box<RawValue>,
    }
    let body: Result<Body, _> = serde_json::from_slice(body);
    body.map(|body| body.claims_schema)
        .map_err(|cause| Error::invalid("$", cause.to_string()))
}

/// Reads `{ roles: [{ roleId }] }`.
pub(super) fn roles(value: Value<'_, '_, '_>) -> Option<Vec<String>> {
    value.component("ClientRoles", |value| {
        value.object(|fields| fields.required("roles", ABOUT_ROLES, role_ids))
    })
}

fn role_ids(value: Value<'_, '_, '_>) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    value.list(0..=MAX_ROLES, "must have at most 50 elements", |value| {
        value.component("RoleReference", |value| {
            value.object(|fields| {
                let id = fields.required("roleId", "", name)?;
                if !seen.insert(id.clone()) {
                    fields.refuse_member("roleId", "appears twice");
                }
                Some(id)
            })
        })
    })
}

/// Reads `{ permissions: [name], managedBy? }`. Any well-formed permission may be named: one that no route here requires has
/// no effect (`tokens.md`, "Permissions").
pub(super) fn role(value: Value<'_, '_, '_>) -> Option<NewRole> {
    value.component("RolePut", |value| {
        value.object(|fields| {
            fields.may_have(&["roleId", "builtIn", "lastModifiedBy"]);
            let permissions = fields.required("permissions", ABOUT_PERMISSIONS, |value| {
                let (count, rule) = (0..=MAX_PERMISSIONS, "must have at most 1000 elements");
                value.list(count, rule, |value| {
                    value.text_that(permission_schema, is_permission, PERMISSION_RULE)
                })
            });
            let managed_by = managed_by(fields);
            Some(NewRole {
                permissions: permissions?.into_iter().collect(),
                managed_by: managed_by?,
            })
        })
    })
}

/// Reads `{ name?, rateTolerancePercent? }`.
fn tenant_members(value: Value<'_, '_, '_>) -> Option<TenantSettings> {
    value.component("TenantPut", |value| {
        value.object(|fields| {
            fields.may_have(&["tenantId", "createdAt"]);
            let name = fields.not_null("name", "The name that people read.", |value| {
                title(value, MAX_TITLE)
            });
            let tolerance = fields.not_null("rateTolerancePercent", ABOUT_TOLERANCE, percentage);
            Some(TenantSettings {
                name: name?,
                rate_tolerance_percent: tolerance?,
            })
        })
    })
}

/// Returns the schema of the body of a tenant's PUT.
pub(super) fn tenant_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, tenant_members)
}

/// Reads the settings of a tenant; without a body, there are none.
pub(super) fn tenant(body: &Body) -> Result<TenantSettings> {
    if body.is_empty() {
        return Ok(TenantSettings::default());
    }
    Ok(read(body, tenant_members)?)
}

/// Reads a percentage, from 0 to less than 100, and returns it as the engine writes it.
fn percentage(value: Value<'_, '_, '_>) -> Option<String> {
    let percentage = value.number(percentage_schema, |text| {
        Percentage::parse(text).map_err(Invalid::as_str)
    })?;
    Some(percentage.value().to_string())
}

fn software(fields: &mut Fields<'_, '_, '_>) -> Option<Software> {
    let id = fields.required("softwareId", "", name);
    let version = fields.required("softwareVersion", "", name);
    Some(Software {
        id: id?,
        version: version?,
    })
}

/// Reads a text that may be part of a client id and of a path.
fn name(value: Value<'_, '_, '_>) -> Option<String> {
    let parse = |text: &str| match text {
        text if !is_name(text) => Err(identity::NAME_RULE),
        text if is_step(text) => Err(STEP_RULE),
        text => Ok(text.to_owned()),
    };
    value.of(name_schema, |node, faults| {
        let text = node.text().map_or("", |text| text.as_ref());
        parse(text).map_err(|rule| faults.add(node, rule)).ok()
    })
}

/// Reads how long a replaced secret stays valid, such as `0s`, `24h` or `2 days`.
pub(super) fn overlap(text: &str) -> Result<Duration, &'static str> {
    let overlap = parse_duration(text).filter(|overlap| *overlap <= MAX_OVERLAP);
    overlap.ok_or("must be a duration such as 0s, 30m, 24h or 2 days, at most 30 days")
}
