//! The tenant's catalog: a snapshot of the global conditions, the tenant's own and its projects.
//!
//! It is made anew for each change, so it does no work that no request needs: what is made of it (a document to decide with,
//! an answer, its digest) is made by the first request that needs it. Of a large catalog the module prepares only the
//! conditions that a request names: a change of one of ten thousand has it prepare that one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tillgate_engine::condition::{ConditionId, Scope};
use tillgate_engine::restriction::ProjectId;

use super::cache::{Content, StoredCondition, StoredProject};
use super::document::{array, document, lists};
use crate::data::encoded::Encoded;
use crate::data::etag::{self, Etag};
use crate::engine::{Document, MODULE_SHA256};
use crate::identity::TenantId;

/// Catalogs whose conditions are longer are not prepared as a whole.
const MAX_PREPARED: usize = 16 << 10;

/// What a tenant sees, until something changes.
#[derive(Debug)]
pub struct TenantCatalog {
    tenant: TenantId,
    global: Arc<Content>,
    own: Arc<Content>,
    conditions: OnceLock<Document>,
    version: OnceLock<(Arc<str>, Etag)>,
    list: OnceLock<Encoded>,
    projects: OnceLock<Encoded>,
    whole: OnceLock<Encoded>,
}

/// What of a catalog is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The JSON array of all conditions by id; where ids collide, the global one.
    Conditions,
    /// The JSON array of all projects by id.
    Projects,
    /// All that the module needs to decide for this tenant (`conditions.md`, "Catalog for previews").
    Whole,
}

impl TenantCatalog {
    pub(super) fn new(tenant: &TenantId, global: Arc<Content>, own: Arc<Content>) -> Self {
        Self {
            tenant: tenant.clone(),
            global,
            own,
            conditions: OnceLock::new(),
            version: OnceLock::new(),
            list: OnceLock::new(),
            projects: OnceLock::new(),
            whole: OnceLock::new(),
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

    /// Names this version of the catalog: SHA-256, in hex.
    #[must_use]
    pub fn digest(&self) -> &Arc<str> {
        &self.version().0
    }

    /// The digest as an entity tag.
    #[must_use]
    pub fn etag(&self) -> &Etag {
        &self.version().1
    }

    fn version(&self) -> &(Arc<str>, Etag) {
        self.version.get_or_init(|| {
            let mut hasher = Sha256::new();
            hasher.update(MODULE_SHA256);
            hasher.update([0]);
            hasher.update(self.tenant.as_str());
            for content in [&self.global, &self.own] {
                // Each entity tag is a digest and of the same length.
                let conditions = content.conditions.values();
                let projects = content.projects.values();
                hasher.update(content.conditions.size().to_le_bytes());
                conditions.for_each(|stored| hasher.update(stored.etag.as_bytes()));
                projects.for_each(|project| hasher.update(project.etag.as_bytes()));
            }
            let digest = hasher.finalize();
            (hex::encode(digest).into(), etag::of_digest(&digest))
        })
    }

    /// The condition with this id: the global one if there is one, otherwise the tenant's (`given.md` 4.2).
    #[must_use]
    pub fn condition(&self, id: &ConditionId) -> Option<&Arc<StoredCondition>> {
        let id = id.as_str();
        let [global, own] = self.conditions_of(id);
        global.or(own)
    }

    /// The global condition with this id, and the tenant's.
    fn conditions_of(&self, id: &str) -> [Option<&Arc<StoredCondition>>; 2] {
        [&self.global, &self.own].map(|content| content.conditions.get(id))
    }

    /// A project of the tenant.
    #[must_use]
    pub fn project(&self, id: ProjectId) -> Option<&Arc<StoredProject>> {
        self.own.projects.get(&id)
    }

    /// What the module decides about a condition with: a document that holds all conditions with this id.
    pub fn document_of(&self, id: &str) -> Cow<'_, Document> {
        match self.is_large() {
            false => Cow::Borrowed(self.document()),
            true => match self.conditions_of(id) {
                [Some(only), None] | [None, Some(only)] => Cow::Borrowed(only.document()),
                both => Cow::Owned(self.document_with(both)),
            },
        }
    }

    /// The same for many conditions.
    pub fn document_of_all<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> Cow<'_, Document> {
        if !self.is_large() {
            return Cow::Borrowed(self.document());
        }
        let ids: BTreeSet<_> = ids.into_iter().collect();
        Cow::Owned(self.document_with(ids.into_iter().flat_map(|id| self.conditions_of(id))))
    }

    fn document_with<'a>(
        &self,
        stored: impl IntoIterator<Item = Option<&'a Arc<StoredCondition>>>,
    ) -> Document {
        let stored: Vec<_> = stored.into_iter().flatten().collect();
        let of = |scope| {
            let of_scope = stored.iter().filter(|one| one.condition.scope == scope);
            array(of_scope.map(|one| &one.json))
        };
        document(of(Scope::Global), of(Scope::Tenant))
    }

    /// Whether it is too large to be prepared as a whole while others wait.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.global.condition_bytes + self.own.condition_bytes > MAX_PREPARED
    }

    /// What the module decides with: all conditions.
    pub fn document(&self) -> &Document {
        self.conditions.get_or_init(|| {
            let of = |content: &Content| array(content.conditions.values().map(|one| &one.json));
            document(of(&self.global), of(&self.own))
        })
    }

    /// The bytes of a part, about.
    #[must_use]
    pub fn size_of(&self, part: Part) -> usize {
        let conditions = self.global.condition_bytes + self.own.condition_bytes;
        match part {
            Part::Conditions => conditions,
            Part::Projects => self.own.project_bytes,
            Part::Whole => conditions + self.own.project_bytes,
        }
    }

    /// A part, if a request has asked for it already.
    #[must_use]
    pub fn encoded(&self, part: Part) -> Option<Encoded> {
        self.place_of(part).get().cloned()
    }

    /// A part.
    pub fn encode(&self, part: Part) -> Encoded {
        let encode = || {
            let pieces = self.pieces_of(part);
            let size = pieces.iter().map(Bytes::len).sum();
            Encoded::of(pieces, size)
        };
        self.place_of(part).get_or_init(encode).clone()
    }

    const fn place_of(&self, part: Part) -> &OnceLock<Encoded> {
        match part {
            Part::Conditions => &self.list,
            Part::Projects => &self.projects,
            Part::Whole => &self.whole,
        }
    }

    fn pieces_of(&self, part: Part) -> Vec<Bytes> {
        let projects = || array(self.own.projects.values().map(|stored| stored.json()));
        match part {
            Part::Conditions => {
                let mut all: BTreeMap<_, _> = self.own.conditions.iter().collect();
                all.extend(self.global.conditions.iter());
                array(all.values().map(|stored| &stored.json))
            }
            Part::Projects => projects(),
            Part::Whole => {
                let head = serde_json::json!({
                    "tenantId": self.tenant.as_str(),
                    "digest": &**self.digest(),
                    "engine": { "version": env!("CARGO_PKG_VERSION"), "sha256": MODULE_SHA256 },
                });
                let mut head = head.to_string();
                head.pop();
                let of = |content: &Content| array(content.conditions.values().map(|c| &c.json));
                let mut pieces = vec![head.into(), Bytes::from_static(b",")];
                pieces.extend(lists(of(&self.global), of(&self.own)));
                pieces.push(Bytes::from_static(b",\"projects\":"));
                pieces.extend(projects());
                pieces.push(Bytes::from_static(b"}"));
                pieces
            }
        }
    }
}
