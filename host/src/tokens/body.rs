//! Request bodies, read strictly: every fault is named by its path. Unknown members are ignored.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::value::RawValue;
use tillgate_engine::json::{Document, Faults, Node};

use super::client_id::{Claim, Claims, NAME_RULE, Software, VALUE_RULE, is_claim_name};
use super::statement::{self, MAX_TEXT as MAX_STATEMENT};
use super::{NewStatement, NewTemplate, Registration};
use crate::error::{Error, Result};
use crate::identity::{self, TENANT_RULE, TenantId, is_name, is_permission};

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
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(not_an_object)?;
    let software = software(root, &mut faults);
    let using_global_template = faults.required(root, "usingGlobalTemplate");
    let using_global_template = using_global_template.and_then(|node| faults.boolean(node));
    let tenant = faults.required(root, "tenantId").and_then(|node| {
        let tenant = node.text().and_then(|text| TenantId::new(text));
        or_fault(&mut faults, node, tenant, TENANT_RULE)
    });
    let statement = root.member("softwareStatement").and_then(|node| {
        let text = node.text().filter(|text| text.len() <= MAX_STATEMENT);
        let text = text.map(|text| text.clone().into_owned());
        or_fault(&mut faults, node, text, STATEMENT_RULE)
    });
    let claims = faults
        .required(root, "claims")
        .and_then(|node| claims(node, &mut faults));
    let whole = (software, using_global_template, tenant, claims);
    let (Some(software), Some(using_global_template), Some(tenant), Some(claims)) = whole else {
        return Err(into_error(faults));
    };
    faults.none_or_error()?;
    Ok(Registration {
        software,
        using_global_template,
        tenant,
        claims,
        statement,
    })
}

/// Reads `{ softwareId, softwareVersion, usingGlobalTemplate, claims?, autoApprove?, expiresIn? }`.
pub(super) fn statement(body: &[u8]) -> Result<NewStatement> {
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(not_an_object)?;
    let software = software(root, &mut faults);
    let using_global_template = faults.required(root, "usingGlobalTemplate");
    let using_global_template = using_global_template.and_then(|node| faults.boolean(node));
    let claims = match root.member("claims") {
        Some(node) => claims(node, &mut faults),
        None => Some(Claims::new()),
    };
    let auto_approve = match root.member("autoApprove") {
        Some(node) => faults.boolean(node),
        None => Some(false),
    };
    let lifetime = match root.member("expiresIn") {
        Some(node) => {
            let span = node
                .text()
                .and_then(|text| humantime::parse_duration(text).ok());
            let span = span.filter(|span| !span.is_zero() && *span <= statement::MAX_LIFETIME);
            or_fault(&mut faults, node, span, LIFETIME_RULE)
        }
        None => Some(statement::LIFETIME),
    };
    let whole = (
        software,
        using_global_template,
        claims,
        auto_approve,
        lifetime,
    );
    let (
        Some(software),
        Some(using_global_template),
        Some(claims),
        Some(auto_approve),
        Some(lifetime),
    ) = whole
    else {
        return Err(into_error(faults));
    };
    faults.none_or_error()?;
    Ok(NewStatement {
        software,
        using_global_template,
        claims,
        auto_approve,
        lifetime,
    })
}

/// Reads `claims`.
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

/// Reads `{ softwareId, softwareVersion, name, claimsSchema, roles?: [{ roleId }] }`.
pub(super) fn template(body: &[u8]) -> Result<NewTemplate> {
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(not_an_object)?;
    let software = software(root, &mut faults);
    let name = faults
        .required(root, "name")
        .and_then(|node| faults.name(node, MAX_TITLE));
    faults.required(root, "claimsSchema");
    let roles = match root.member("roles") {
        Some(node) => roles_of(node, &mut faults),
        None => Some(Vec::new()),
    };
    let (Some(software), Some(name), Some(roles)) = (software, name, roles) else {
        return Err(into_error(faults));
    };
    faults.none_or_error()?;
    let name = name.into_owned();
    Ok(NewTemplate {
        software,
        name,
        claims_schema: raw_schema(body)?,
        roles,
    })
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
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(not_an_object)?;
    let roles = faults
        .required(root, "roles")
        .and_then(|node| roles_of(node, &mut faults));
    let Some(roles) = roles else {
        return Err(into_error(faults));
    };
    faults.none_or_error()?;
    Ok(roles)
}

fn roles_of(node: Node<'_, '_>, faults: &mut Faults) -> Option<Vec<String>> {
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
        let Some(id) = faults.required(role, "roleId") else {
            continue;
        };
        let Some(text) = text_name(id, faults) else {
            continue;
        };
        if seen.insert(text.clone()) {
            roles.push(text);
        } else {
            faults.add(id, "appears twice");
        }
    }
    Some(roles)
}

/// Reads `{ permissions: [name] }`. Any well-formed permission may be named: one that no route here asks for has no effect
/// (`tokens.md`, "Permissions").
pub(super) fn role(body: &[u8]) -> Result<BTreeSet<String>> {
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(not_an_object)?;
    let list = faults
        .required(root, "permissions")
        .and_then(|node| faults.array(node));
    let Some(list) = list else {
        return Err(into_error(faults));
    };
    if list.children().nth(MAX_PERMISSIONS).is_some() {
        faults.add(list, "must have at most 1000 elements");
        return Err(into_error(faults));
    }
    let mut permissions = BTreeSet::new();
    for element in list.children() {
        let name = element.text().filter(|name| is_permission(name));
        let name = name.map(|name| name.clone().into_owned());
        permissions.extend(or_fault(&mut faults, element, name, PERMISSION_RULE));
    }
    faults.none_or_error()?;
    Ok(permissions)
}

/// Reads `{ name? }`, or nothing.
pub(super) fn tenant(body: &[u8]) -> Result<Option<String>> {
    if body.is_empty() {
        return Ok(None);
    }
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(not_an_object)?;
    let name = root
        .member("name")
        .and_then(|node| faults.name(node, MAX_TITLE));
    faults.none_or_error()?;
    Ok(name.map(|name| name.into_owned()))
}

fn software(root: Node<'_, '_>, faults: &mut Faults) -> Option<Software> {
    let mut name = |key| {
        faults
            .required(root, key)
            .and_then(|node| text_name(node, faults))
    };
    let (id, version) = (name("softwareId"), name("softwareVersion"));
    Some(Software {
        id: id?,
        version: version?,
    })
}

fn text_name(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let text = node
        .text()
        .filter(|text| is_name(text))
        .map(|text| text.clone().into_owned());
    or_fault(faults, node, text, identity::NAME_RULE)
}

/// What was read; without it, the rule is noted as a fault of the node.
fn or_fault<T>(
    faults: &mut Faults,
    node: Node<'_, '_>,
    read: Option<T>,
    rule: &'static str,
) -> Option<T> {
    if read.is_none() {
        faults.add(node, rule);
    }
    read
}

fn not_an_object() -> Error {
    Error::invalid("$", "must be an object")
}

/// The faults as an error.
fn into_error(faults: Faults) -> Error {
    let error = faults.none_or_error().err();
    error.map_or_else(
        || Error::Bug("a fault was not recorded".to_owned()),
        Error::from,
    )
}

/// Reads how long a replaced secret stays valid, such as `0s`, `24h` or `2 days`.
pub(super) fn overlap(text: &str) -> Result<Duration> {
    let overlap = humantime::parse_duration(text).ok();
    let overlap = overlap.filter(|overlap| *overlap <= MAX_OVERLAP);
    let rule = "must be a duration such as 0s, 30m, 24h or 2 days, at most 30 days";
    overlap.ok_or_else(|| Error::invalid("$.overlap", rule))
}
