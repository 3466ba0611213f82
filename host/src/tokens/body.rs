//! What the bodies of the token service's requests must have. How a body is read is the same for all features
//! (`crate::body`).

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::value::RawValue;
use tillgate_engine::Fault;
use tillgate_engine::json::{Faults, Node};
use tillgate_engine::rate::Percentage;

use super::client_id::{Claim, Claims, NAME_RULE, Software, VALUE_RULE, is_claim_name};
use super::statement::{self, MAX_TEXT as MAX_STATEMENT};
use super::{NewRole, NewStatement, NewTemplate, Registration};
use crate::body::{self, Body, Fields, boolean, object, or_fault, parsed, read, text_that};
use crate::data::tenant::TenantSettings;
use crate::error::{Error, Result};
use crate::identity::{self, STEP_RULE, is_name, is_permission, is_step};

/// The most characters of a tenant's or a template's name.
const MAX_TITLE: usize = 100;

/// The most roles of a client, claims, and permissions of a role.
const MAX_ROLES: usize = 50;
const MAX_CLAIMS: usize = 100;
const MAX_PERMISSIONS: usize = 1_000;

/// What a software statement and its lifetime must be, for messages.
const STATEMENT_RULE: &str = "must be a software statement: a JWT of at most 8 KiB";
const PERMISSION_RULE: &str = "must be the name of a permission: <system>.<resource>.<verb>";
const LIFETIME_RULE: &str = "must be a duration such as 30m, 24h or 2 days, at most 365 days";

/// The longest a replaced secret may stay valid.
const MAX_OVERLAP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Reads `{ softwareId, softwareVersion, usingGlobalTemplate, tenantId, claims }` (`given.md` 2.7).
pub(super) fn registration(body: &Body) -> Result<Registration> {
    read(body, |fields| {
        let software = software(fields);
        let using_global_template = fields.required("usingGlobalTemplate", boolean);
        let tenant = fields.required("tenantId", body::tenant);
        let statement = fields.not_null("softwareStatement", |node, faults| {
            text_that(
                node,
                faults,
                |text| text.len() <= MAX_STATEMENT,
                STATEMENT_RULE,
            )
        });
        let claims = fields.required("claims", claims);
        Some(Registration {
            software: software?,
            using_global_template: using_global_template?,
            tenant: tenant?,
            claims: claims?,
            statement: statement?,
        })
    })
}

/// Reads `{ softwareId, softwareVersion, usingGlobalTemplate, claims?, autoApprove?, expiresIn? }`.
pub(super) fn statement(body: &Body) -> Result<NewStatement> {
    read(body, |fields| {
        let software = software(fields);
        let using_global_template = fields.required("usingGlobalTemplate", boolean);
        let claims = fields.not_null("claims", claims);
        let auto_approve = fields.not_null("autoApprove", boolean);
        let lifetime = fields.not_null("expiresIn", |node, faults| {
            parsed(node, faults, lifetime, LIFETIME_RULE)
        });
        Some(NewStatement {
            software: software?,
            using_global_template: using_global_template?,
            claims: claims?.unwrap_or_default(),
            auto_approve: auto_approve?.unwrap_or(false),
            lifetime: lifetime?.unwrap_or(statement::LIFETIME),
        })
    })
}

fn lifetime(text: &str) -> Option<Duration> {
    let lifetime = body::parse_duration(text)?;
    (!lifetime.is_zero() && lifetime <= statement::MAX_LIFETIME).then_some(lifetime)
}

fn claims(node: Node<'_, '_>, faults: &mut Faults) -> Option<Claims> {
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
}

/// Reads `{ softwareId, softwareVersion, name, claimsSchema, roles?: [{ roleId }], managedBy? }`.
pub(super) fn template(body: &Body) -> Result<NewTemplate> {
    let (software, name, roles, managed_by) = read(body, |fields| {
        let software = software(fields);
        let name = fields.required("name", title);
        fields.required("claimsSchema", |_, _| Some(()));
        let roles = fields.not_null("roles", role_ids);
        let managed_by = fields.managed_by();
        Some((software?, name?, roles?.unwrap_or_default(), managed_by?))
    })?;
    Ok(NewTemplate {
        software,
        name,
        claims_schema: raw_schema(body)?,
        roles,
        managed_by,
    })
}

/// Reads the same as the template of a software.
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
    match faults.is_empty() {
        true => Ok(new),
        false => Err(Error::Invalid(faults)),
    }
}

/// The schema as it was sent.
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
pub(super) fn roles(body: &Body) -> Result<Vec<String>> {
    read(body, |fields| fields.required("roles", role_ids))
}

fn role_ids(node: Node<'_, '_>, faults: &mut Faults) -> Option<Vec<String>> {
    let node = faults.array(node)?;
    if node.children().nth(MAX_ROLES).is_some() {
        faults.add(node, "must have at most 50 elements");
        return None;
    }
    let mut seen = BTreeSet::new();
    let mut roles = Vec::new();
    for element in node.children() {
        let role = object(element, faults, |fields| {
            fields.required("roleId", |node, faults| {
                let id = name(node, faults)?;
                let found = seen.insert(id.clone()).then_some(id);
                or_fault(faults, node, found, "appears twice")
            })
        });
        roles.extend(role);
    }
    Some(roles)
}

/// Reads `{ permissions: [name], managedBy? }`. Any well-formed permission may be named: one that no route here requires has
/// no effect (`tokens.md`, "Permissions").
pub(super) fn role(body: &Body) -> Result<NewRole> {
    read(body, |fields| {
        fields.may_have(&["roleId", "builtIn"]);
        let permissions = fields.required("permissions", permissions);
        let managed_by = fields.managed_by();
        Some(NewRole {
            permissions: permissions?,
            managed_by: managed_by?,
        })
    })
}

fn permissions(node: Node<'_, '_>, faults: &mut Faults) -> Option<BTreeSet<String>> {
    let list = faults.array(node)?;
    if list.children().nth(MAX_PERMISSIONS).is_some() {
        faults.add(list, "must have at most 1000 elements");
        return None;
    }
    let names = list.children();
    let names = names.filter_map(|name| text_that(name, faults, is_permission, PERMISSION_RULE));
    Some(names.collect())
}

/// Reads `{ name?, rateTolerancePercent? }`, or nothing.
pub(super) fn tenant(body: &Body) -> Result<TenantSettings> {
    if body.is_empty() {
        return Ok(TenantSettings::default());
    }
    read(body, |fields| {
        fields.may_have(&["tenantId", "createdAt"]);
        let name = fields.not_null("name", title);
        let tolerance = fields.not_null("rateTolerancePercent", percentage);
        Some(TenantSettings {
            name: name?,
            rate_tolerance_percent: tolerance?,
        })
    })
}

/// A percentage, as the engine writes it: 0 to less than 100.
fn percentage(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let text = or_fault(faults, node, node.number(), "must be a number")?;
    let percentage = Percentage::parse(&text);
    let percentage = percentage.map_err(|invalid| faults.add(node, invalid.as_str()));
    Some(percentage.ok()?.value().to_string())
}

fn software(fields: &mut Fields<'_, '_, '_>) -> Option<Software> {
    let id = fields.required("softwareId", name);
    let version = fields.required("softwareVersion", name);
    Some(Software {
        id: id?,
        version: version?,
    })
}

/// A text that may be part of a client id, and stand in a path.
fn name(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let name = text_that(node, faults, is_name, identity::NAME_RULE)?;
    let name = Some(name).filter(|name| !is_step(name));
    or_fault(faults, node, name, STEP_RULE)
}

/// A text for people.
fn title(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    body::name(node, faults, MAX_TITLE)
}

/// Reads how long a replaced secret stays valid, such as `0s`, `24h` or `2 days`.
pub(super) fn overlap(text: &str) -> Result<Duration> {
    let overlap = body::parse_duration(text).filter(|overlap| *overlap <= MAX_OVERLAP);
    let rule = "must be a duration such as 0s, 30m, 24h or 2 days, at most 30 days";
    overlap.ok_or_else(|| Error::invalid("$.overlap", rule))
}
