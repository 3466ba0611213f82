//! Bodies and queries, read strictly: every fault is named by its path. Unknown members are ignored.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tillgate_engine::json::{Document, Faults, Node, Scalar};

use super::client_id::{Claim, Claims, NAME_RULE, Software, VALUE_RULE, is_claim_name};
use super::permission::{Permission, Permissions};
use super::statement::{self, MAX_TEXT as MAX_STATEMENT};
use super::tenant::{self, TenantId, is_name};
use super::{NewStatement, NewTemplate, Registration};
use crate::error::{Error, Result};

/// What a name must be, for messages.
pub(super) const NAME: &str = "must be 1 to 64 of A-Z a-z 0-9 . _ -";

/// The most characters of a tenant's or a template's name.
const MAX_TITLE: usize = 100;

/// The most roles of a client, and the most claims.
const MAX_ROLES: usize = 50;
const MAX_CLAIMS: usize = 100;

/// What a software statement and its life must be, for messages.
const STATEMENT_RULE: &str = "must be a software statement: a JWT of at most 8 KiB";
const LIFE_RULE: &str = "must be a span like 30m, 24h or 2 days, at most 365 days";

/// The longest a replaced secret may stay valid.
const MAX_OVERLAP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Reads `{ softwareId, softwareVersion, usingGlobalTemplate, tenantId, claims }` (`given.md` 2.7).
pub(super) fn registration(body: &[u8]) -> Result<Registration> {
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(no_object)?;
    let software = software(root, &mut faults);
    let using_global_template = faults.required(root, "usingGlobalTemplate");
    let using_global_template = using_global_template.and_then(|node| faults.boolean(node));
    let tenant = faults.required(root, "tenantId").and_then(|node| {
        let tenant = node.text().and_then(|text| TenantId::new(text));
        noted(&mut faults, node, tenant, tenant::RULE)
    });
    let statement = root.member("softwareStatement").and_then(|node| {
        let text = node.text().filter(|text| text.len() <= MAX_STATEMENT);
        let text = text.map(|text| text.clone().into_owned());
        noted(&mut faults, node, text, STATEMENT_RULE)
    });
    let claims = faults
        .required(root, "claims")
        .and_then(|node| claims(node, body, &mut faults));
    let whole = (software, using_global_template, tenant, claims);
    let (Some(software), Some(using_global_template), Some(tenant), Some(claims)) = whole else {
        return Err(none_read(faults));
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
    let root = faults.object(document.root()).ok_or_else(no_object)?;
    let software = software(root, &mut faults);
    let using_global_template = faults.required(root, "usingGlobalTemplate");
    let using_global_template = using_global_template.and_then(|node| faults.boolean(node));
    let claims = match root.member("claims") {
        Some(node) => claims(node, body, &mut faults),
        None => Some(Claims::new()),
    };
    let auto_approve = match root.member("autoApprove") {
        Some(node) => faults.boolean(node),
        None => Some(false),
    };
    let life = match root.member("expiresIn") {
        Some(node) => {
            let span = node.text().and_then(|text| span(text));
            let span = span.filter(|span| !span.is_zero() && *span <= statement::MAX_LIFE);
            noted(&mut faults, node, span, LIFE_RULE)
        }
        None => Some(statement::LIFE),
    };
    let whole = (software, using_global_template, claims, auto_approve, life);
    let (Some(software), Some(using_global_template), Some(claims), Some(auto_approve), Some(life)) =
        whole
    else {
        return Err(none_read(faults));
    };
    faults.none_or_error()?;
    Ok(NewStatement {
        software,
        using_global_template,
        claims,
        auto_approve,
        life,
    })
}

/// Reads `claims`: their names and kinds from the document, their numbers from the text, digit by digit.
fn claims(node: Node<'_, '_>, body: &[u8], faults: &mut Faults) -> Option<Claims> {
    let node = faults.object(node)?;
    if node.children().nth(MAX_CLAIMS).is_some() {
        faults.add(node, "must have at most 100 members");
        return None;
    }
    let whole: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut claims = Claims::new();
    for member in node.children() {
        let name = member.key().as_ref();
        if !is_claim_name(name) {
            faults.add(member, NAME_RULE);
        }
        let value = whole.get("claims").and_then(|claims| claims.get(name));
        let value = value.filter(|_| !matches!(member.scalar(), Scalar::Array | Scalar::Object));
        match value.and_then(Claim::new) {
            Some(claim) => drop(claims.insert(name.to_owned(), claim)),
            None => faults.add(member, VALUE_RULE),
        }
    }
    Some(claims)
}

/// Reads `{ softwareId, softwareVersion, name, claimsSchema, roles?: [{ roleId }] }`.
pub(super) fn template(body: &[u8]) -> Result<NewTemplate> {
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(no_object)?;
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
        return Err(none_read(faults));
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
    let root = faults.object(document.root()).ok_or_else(no_object)?;
    let roles = faults
        .required(root, "roles")
        .and_then(|node| roles_of(node, &mut faults));
    let Some(roles) = roles else {
        return Err(none_read(faults));
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
            faults.add(id, "is there twice");
        }
    }
    Some(roles)
}

/// Reads `{ permissions: [name] }`.
pub(super) fn role(body: &[u8]) -> Result<Permissions> {
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(no_object)?;
    let list = faults
        .required(root, "permissions")
        .and_then(|node| faults.array(node));
    let Some(list) = list else {
        return Err(none_read(faults));
    };
    let mut permissions = Vec::new();
    for element in list.children() {
        let permission = element.text().and_then(|name| Permission::from_name(name));
        permissions.extend(noted(
            &mut faults,
            element,
            permission,
            "must name a permission",
        ));
    }
    faults.none_or_error()?;
    Ok(permissions.into_iter().collect())
}

/// Reads `{ name? }`, or nothing.
pub(super) fn tenant(body: &[u8]) -> Result<Option<String>> {
    if body.is_empty() {
        return Ok(None);
    }
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root()).ok_or_else(no_object)?;
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
    noted(faults, node, text, NAME)
}

fn noted<T>(
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

fn no_object() -> Error {
    Error::invalid("$", "must be an object")
}

/// What is wrong when something was not read.
fn none_read(faults: Faults) -> Error {
    let error = faults.none_or_error().err();
    error.map_or_else(
        || Error::Bug("a fault was not noted".to_owned()),
        Error::from,
    )
}

/// A parameter of a query, percent-decoded; the first of its name.
pub(super) fn query(query: &str, name: &str) -> Option<String> {
    let mut pairs = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    let value = value.replace('+', " ");
    Some(
        percent_encoding::percent_decode_str(&value)
            .decode_utf8_lossy()
            .into_owned(),
    )
}

/// Reads how long a replaced secret stays valid.
pub(super) fn overlap(text: &str) -> Result<Duration> {
    let overlap = span(text).filter(|overlap| *overlap <= MAX_OVERLAP);
    let rule = "must be a span like 0s, 30m, 24h or 2 days, at most 30 days";
    overlap.ok_or_else(|| Error::invalid("$.overlap", rule))
}

/// Reads a span like `0s`, `90 s`, `24h`, `2 days`.
fn span(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u32 = number.parse().ok()?;
    let seconds = match unit.trim() {
        "s" | "sec" | "second" | "seconds" => 1,
        "m" | "min" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 60 * 60,
        "d" | "day" | "days" => 24 * 60 * 60,
        _ => return None,
    };
    Some(Duration::from_secs(u64::from(number) * seconds))
}
