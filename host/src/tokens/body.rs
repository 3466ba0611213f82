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
use crate::body::{self, or_fault, parsed, read, required, text_that};
use crate::data::managed_by::ManagedBy;
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
pub(super) fn registration(body: &[u8]) -> Result<Registration> {
    read(body, |root, faults| {
        let software = software(root, faults);
        let using_global_template = required(root, "usingGlobalTemplate", faults, boolean);
        let tenant = required(root, "tenantId", faults, body::tenant);
        let statement = optional(root, "softwareStatement", faults, |node, faults| {
            text_that(
                node,
                faults,
                |text| text.len() <= MAX_STATEMENT,
                STATEMENT_RULE,
            )
        });
        let claims = required(root, "claims", faults, claims);
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
pub(super) fn statement(body: &[u8]) -> Result<NewStatement> {
    read(body, |root, faults| {
        let software = software(root, faults);
        let using_global_template = required(root, "usingGlobalTemplate", faults, boolean);
        let claims = optional(root, "claims", faults, claims);
        let auto_approve = optional(root, "autoApprove", faults, boolean);
        let lifetime = optional(root, "expiresIn", faults, |node, faults| {
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
pub(super) fn template(body: &[u8]) -> Result<NewTemplate> {
    let (software, name, roles, managed_by) = read(body, |root, faults| {
        let software = software(root, faults);
        let name = required(root, "name", faults, title);
        faults.required(root, "claimsSchema");
        let roles = optional(root, "roles", faults, role_ids);
        let managed_by = ManagedBy::read(root, faults);
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
pub(super) fn template_of(body: &[u8], id: &str, version: &str) -> Result<NewTemplate> {
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
fn raw_schema(body: &[u8]) -> Result<Box<RawValue>> {
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
pub(super) fn roles(body: &[u8]) -> Result<Vec<String>> {
    read(body, |root, faults| {
        required(root, "roles", faults, role_ids)
    })
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
        let Some(role) = faults.object(element) else {
            continue;
        };
        let Some(member) = faults.required(role, "roleId") else {
            continue;
        };
        let Some(id) = name(member, faults) else {
            continue;
        };
        if seen.insert(id.clone()) {
            roles.push(id);
        } else {
            faults.add(member, "appears twice");
        }
    }
    Some(roles)
}

/// Reads `{ permissions: [name], managedBy? }`. Any well-formed permission may be named: one that no route here requires has
/// no effect (`tokens.md`, "Permissions").
pub(super) fn role(body: &[u8]) -> Result<NewRole> {
    read(body, |root, faults| {
        let permissions = required(root, "permissions", faults, permissions);
        let managed_by = ManagedBy::read(root, faults);
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
pub(super) fn tenant(body: &[u8]) -> Result<TenantSettings> {
    if body.is_empty() {
        return Ok(TenantSettings::default());
    }
    read(body, |root, faults| {
        let name = optional(root, "name", faults, title);
        let tolerance = optional(root, "rateTolerancePercent", faults, percentage);
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

fn software(root: Node<'_, '_>, faults: &mut Faults) -> Option<Software> {
    let id = required(root, "softwareId", faults, name);
    let version = required(root, "softwareVersion", faults, name);
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

fn boolean(node: Node<'_, '_>, faults: &mut Faults) -> Option<bool> {
    faults.boolean(node)
}

/// An optional member that must not be null, unlike in the bodies of other features: `Some(None)` if it is missing,
/// `None` if it has a fault.
fn optional<'d, 'a, T>(
    object: Node<'d, 'a>,
    member: &str,
    faults: &mut Faults,
    read: impl FnOnce(Node<'d, 'a>, &mut Faults) -> Option<T>,
) -> Option<Option<T>> {
    match object.member(member) {
        Some(node) => read(node, faults).map(Some),
        None => Some(None),
    }
}

/// Reads how long a replaced secret stays valid, such as `0s`, `24h` or `2 days`.
pub(super) fn overlap(text: &str) -> Result<Duration> {
    let overlap = body::parse_duration(text).filter(|overlap| *overlap <= MAX_OVERLAP);
    let rule = "must be a duration such as 0s, 30m, 24h or 2 days, at most 30 days";
    overlap.ok_or_else(|| Error::invalid("$.overlap", rule))
}
