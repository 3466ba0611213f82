//! The tenant's catalog: a snapshot of the global conditions, the tenant's own and its projects, with every answer that
//! is made of them encoded once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tillgate_engine::condition::ConditionId;
use tillgate_engine::restriction::ProjectId;

use super::cache::{Content, StoredCondition, StoredProject};
use crate::engine::{Document, MODULE_SHA256};
use crate::etag::{self, Etag};
use crate::identity::TenantId;

/// What a tenant sees, until something changes.
#[derive(Debug)]
pub struct TenantCatalog {
    tenant: TenantId,
    global: Arc<Content>,
    own: Arc<Content>,
    /// The document that the module prepares: the conditions, global and own.
    pub conditions: Document,
    /// Names this version of the catalog: SHA-256, in hex.
    pub digest: Arc<str>,
    /// The digest as an entity tag.
    pub etag: Etag,
    largest_project: usize,
    list: OnceLock<Bytes>,
    projects: OnceLock<Bytes>,
    json: OnceLock<Bytes>,
}

impl TenantCatalog {
    pub(super) fn new(tenant: &TenantId, global: Arc<Content>, own: Arc<Content>) -> Self {
        let mut text = Vec::new();
        write_conditions(&global, &own, &mut text);
        let mut hasher = Sha256::new();
        hasher.update(MODULE_SHA256);
        hasher.update([0]);
        hasher.update(tenant.as_str());
        hasher.update([0]);
        hasher.update(&text);
        own.projects
            .values()
            .for_each(|project| hasher.update(project.etag.as_bytes()));
        let digest = hasher.finalize();
        text.insert(0, b'{');
        text.push(b'}');
        let sizes = own.projects.values().map(|project| project.json().len());
        Self {
            tenant: tenant.clone(),
            largest_project: sizes.max().unwrap_or_default(),
            global,
            own,
            conditions: Document::catalog(text.into()),
            digest: hex::encode(digest).into(),
            etag: etag::of_digest(&digest),
            list: OnceLock::new(),
            projects: OnceLock::new(),
            json: OnceLock::new(),
        }
    }

    /// The tenant.
    #[must_use]
    pub const fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Whether it is a snapshot of these.
    pub(super) fn is_of(&self, global: &Arc<Content>, own: &Arc<Content>) -> bool {
        Arc::ptr_eq(&self.global, global) && Arc::ptr_eq(&self.own, own)
    }

    /// The condition with this id: the global one if there is one, otherwise the tenant's (`given.md` 4.2).
    #[must_use]
    pub fn condition(&self, id: &ConditionId) -> Option<&Arc<StoredCondition>> {
        let id = id.as_str();
        self.global
            .conditions
            .get(id)
            .or_else(|| self.own.conditions.get(id))
    }

    /// A project of the tenant.
    #[must_use]
    pub fn project(&self, id: ProjectId) -> Option<&Arc<StoredProject>> {
        self.own.projects.get(&id)
    }

    /// The bytes of the tenant's largest project.
    #[must_use]
    pub const fn largest_project(&self) -> usize {
        self.largest_project
    }

    /// The JSON array of all conditions by id; where ids collide, the global one.
    pub fn list(&self) -> &Bytes {
        self.list.get_or_init(|| {
            let mut all: BTreeMap<_, _> = self.own.conditions.iter().collect();
            all.extend(self.global.conditions.iter());
            let mut text = Vec::new();
            write_array(all.values().map(|stored| &stored.json), &mut text);
            text.into()
        })
    }

    /// The JSON array of all projects by id.
    pub fn projects(&self) -> &Bytes {
        self.projects.get_or_init(|| {
            let mut text = Vec::new();
            write_array(
                self.own.projects.values().map(|stored| stored.json()),
                &mut text,
            );
            text.into()
        })
    }

    /// Its JSON: all that the module needs to decide for this tenant (`conditions.md`, "Catalog for previews").
    pub fn json(&self) -> &Bytes {
        self.json.get_or_init(|| {
            let head = serde_json::json!({
                "tenantId": self.tenant.as_str(),
                "digest": &*self.digest,
                "engine": { "version": env!("CARGO_PKG_VERSION"), "sha256": MODULE_SHA256 },
            });
            let mut text = head.to_string().into_bytes();
            text.pop();
            text.push(b',');
            write_conditions(&self.global, &self.own, &mut text);
            text.extend_from_slice(b",\"projects\":");
            text.extend_from_slice(self.projects());
            text.push(b'}');
            text.into()
        })
    }
}

/// `"global":[..],"tenant":[..]`.
fn write_conditions(global: &Content, own: &Content, text: &mut Vec<u8>) {
    text.extend_from_slice(b"\"global\":");
    write_array(global.conditions.values().map(|stored| &stored.json), text);
    text.extend_from_slice(b",\"tenant\":");
    write_array(own.conditions.values().map(|stored| &stored.json), text);
}

fn write_array<'a>(elements: impl Iterator<Item = &'a Bytes>, text: &mut Vec<u8>) {
    text.push(b'[');
    for (index, element) in elements.enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(element);
    }
    text.push(b']');
}
