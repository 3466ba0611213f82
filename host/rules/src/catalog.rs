//! The tenant's catalog: the global conditions, the tenant's own and its projects, as of one moment.
//!
//! It is replaced after each change, so it does no work that no request needs: the first request that needs something
//! of it (a document to decide with, an answer, its digest) makes that. For a large catalog, the module prepares only
//! the conditions that a request names: after a change of one of ten thousand, it prepares that one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tillgate_base::data::encoded::Encoded;
use tillgate_base::data::etag::{self, Etag};
use tillgate_base::engine::{Document, MODULE_SHA256};
use tillgate_base::identity::TenantId;
use tillgate_engine::condition::{ConditionId, Scope};
use tillgate_engine::restriction::ProjectId;

use super::cache::Content;
use super::document::{array, document, lists};
use super::rule_json::RuleJson;
use super::stored::{StoredCondition, StoredProject};
use crate::decision_log::Choice;

/// The most bytes of conditions in a catalog that is prepared as a whole.
const MAX_PREPARED: usize = 16 << 10;

/// The conditions and projects that a tenant sees, until something changes.
#[derive(Debug)]
pub struct TenantCatalog {
    tenant: TenantId,
    global: Arc<Content>,
    own: Arc<Content>,
    conditions: OnceLock<Document>,
    version: OnceLock<(Arc<str>, Etag)>,
    version_with_tests: OnceLock<Etag>,
    version_of_lists: OnceLock<Etag>,
    list: OnceLock<Encoded>,
    projects: OnceLock<Encoded>,
    whole: OnceLock<Encoded>,
    with_tests: OnceLock<Encoded>,
}

/// The part of a catalog that is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The JSON array of all conditions by id; where ids collide, the global one.
    Conditions,
    /// The JSON array of all projects by id.
    Projects,
    /// All that the module needs to decide for this tenant (`conditions.md`, "Catalog for previews").
    Whole,
    /// The whole catalog, with the tests of conditions and projects.
    WithTests,
}

/// A condition, and the one of the other scope that has its id.
pub(super) type WithOther<'c> = (&'c Arc<StoredCondition>, Option<&'c Arc<StoredCondition>>);

impl TenantCatalog {
    pub(super) fn new(tenant: &TenantId, global: Arc<Content>, own: Arc<Content>) -> Self {
        Self {
            tenant: tenant.clone(),
            global,
            own,
            conditions: OnceLock::new(),
            version: OnceLock::new(),
            version_with_tests: OnceLock::new(),
            version_of_lists: OnceLock::new(),
            list: OnceLock::new(),
            projects: OnceLock::new(),
            whole: OnceLock::new(),
            with_tests: OnceLock::new(),
        }
    }

    /// Returns the tenant.
    #[must_use]
    pub const fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Returns whether it was made of these.
    pub(super) fn is_of(&self, global: &Arc<Content>, own: &Arc<Content>) -> bool {
        Arc::ptr_eq(&self.global, global) && Arc::ptr_eq(&self.own, own)
    }

    /// Returns the SHA-256, in hex, that names what this version of the catalog decides. Tests decide nothing.
    #[must_use]
    pub fn digest(&self) -> &Arc<str> {
        &self.version().0
    }

    /// Returns the entity tag of a part. The catalog's is its digest; without any tests and labels, so are the others.
    #[must_use]
    pub fn etag(&self, part: Part) -> &Etag {
        match part {
            Part::Whole => &self.version().1,
            Part::Conditions | Part::Projects => self
                .version_of_lists
                .get_or_init(|| etag::of_digest(&self.hash(RuleJson::etag))),
            Part::WithTests => self
                .version_with_tests
                .get_or_init(|| etag::of_digest(&self.hash(RuleJson::tested_etag))),
        }
    }

    fn version(&self) -> &(Arc<str>, Etag) {
        self.version.get_or_init(|| {
            let digest = self.hash(RuleJson::rule_etag);
            (hex::encode(digest).into(), etag::of_digest(&digest))
        })
    }

    fn hash(&self, etag: fn(&RuleJson) -> &Etag) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(MODULE_SHA256);
        hasher.update([0]);
        hasher.update(self.tenant.as_str());
        for content in [&self.global, &self.own] {
            // All entity tags are digests of the same length.
            let conditions = content.conditions.values();
            let projects = content.projects.values();
            hasher.update(content.conditions.size().to_le_bytes());
            conditions.for_each(|stored| hasher.update(etag(&stored.text).as_bytes()));
            projects.for_each(|stored| hasher.update(etag(&stored.text).as_bytes()));
        }
        hasher.finalize().into()
    }

    /// Returns the condition with this id: the global one if there is one, otherwise the tenant's (`given.md` 4.2).
    #[must_use]
    pub fn condition(&self, id: &ConditionId) -> Option<&Arc<StoredCondition>> {
        let id = id.as_str();
        let [global, own] = self.conditions_of(id);
        global.or(own)
    }

    /// Returns the condition with this id, and the one of the other scope that has it too.
    pub(super) fn condition_and_other(&self, id: &ConditionId) -> Option<WithOther<'_>> {
        match self.conditions_of(id.as_str()) {
            [Some(global), own] => Some((global, own)),
            [None, own] => Some((own?, None)),
        }
    }

    /// Returns the global condition with this id, and the tenant's.
    fn conditions_of(&self, id: &str) -> [Option<&Arc<StoredCondition>>; 2] {
        [&self.global, &self.own].map(|content| content.conditions.get(id))
    }

    /// Returns the condition with this id that decides: the tenant's unless it is switched off, otherwise the global
    /// one unless that is (`conditions.md`, "Conditions").
    pub(super) fn condition_in_force(&self, id: &str) -> Option<&Arc<StoredCondition>> {
        let [global, own] = self.conditions_of(id);
        let is_enabled = |stored: &&Arc<StoredCondition>| stored.condition.enabled;
        own.filter(is_enabled).or(global.filter(is_enabled))
    }

    /// Returns which of the tenant's decisions go into the log.
    #[must_use]
    pub fn choice(&self) -> Choice {
        self.own.choice()
    }

    /// Returns a project of the tenant.
    #[must_use]
    pub fn project(&self, id: ProjectId) -> Option<&Arc<StoredProject>> {
        self.own.projects.get(&id)
    }

    /// Returns the document that the module decides about a condition with. It holds all conditions with this id.
    pub fn document_of(&self, id: &str) -> Cow<'_, Document> {
        if self.is_large() {
            match self.conditions_of(id) {
                [Some(only), None] | [None, Some(only)] => Cow::Borrowed(only.document()),
                both => Cow::Owned(self.document_with(both)),
            }
        } else {
            Cow::Borrowed(self.document())
        }
    }

    /// Returns the document that the module decides about many conditions with.
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
            array(of_scope.map(|one| one.rule()))
        };
        document(of(Scope::Global), of(Scope::Tenant))
    }

    /// Returns whether it is too large to be prepared as a whole while others wait.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.global.rule_bytes + self.own.rule_bytes > MAX_PREPARED
    }

    /// Returns the document of all conditions, which the module decides with.
    pub fn document(&self) -> &Document {
        self.conditions.get_or_init(|| {
            let of = |content: &Content| array(content.conditions.values().map(|one| one.rule()));
            document(of(&self.global), of(&self.own))
        })
    }

    /// Returns the approximate size of a part in bytes.
    #[must_use]
    pub fn size_of(&self, part: Part) -> usize {
        let conditions = self.global.condition_bytes + self.own.condition_bytes;
        match part {
            Part::Conditions => conditions,
            Part::Projects => self.own.project_bytes,
            Part::Whole | Part::WithTests => conditions + self.own.project_bytes,
        }
    }

    /// Returns a part, if a request has asked for it already.
    #[must_use]
    pub fn encoded(&self, part: Part) -> Option<Encoded> {
        self.place_of(part).get().cloned()
    }

    /// Returns a part.
    pub fn encode(&self, part: Part) -> Encoded {
        let encode = || {
            let pieces = self.pieces_of(part);
            let size = pieces.iter().map(Bytes::len).sum();
            Encoded::of(pieces, size)
        };
        self.place_of(part).get_or_init(encode).clone()
    }

    fn place_of(&self, part: Part) -> &OnceLock<Encoded> {
        match part {
            Part::Conditions => &self.list,
            Part::Projects => &self.projects,
            // Without any tests, the text is the same.
            Part::WithTests if self.etag(Part::WithTests) != self.etag(Part::Whole) => {
                &self.with_tests
            }
            Part::Whole | Part::WithTests => &self.whole,
        }
    }

    fn pieces_of(&self, part: Part) -> Vec<Bytes> {
        match part {
            Part::Conditions => {
                let mut all: BTreeMap<_, _> = self.own.conditions.iter().collect();
                all.extend(self.global.conditions.iter());
                array(all.values().map(|stored| stored.text.pieces()))
            }
            Part::Projects => self.projects_as(|text| text.pieces()),
            Part::Whole => self.catalog_as(|text| [text.rule().clone()]),
            Part::WithTests => self.catalog_as(|text| text.tested_pieces()),
        }
    }

    fn projects_as<P: IntoIterator<Item = Bytes>>(&self, form: fn(&RuleJson) -> P) -> Vec<Bytes> {
        array(self.own.projects.values().map(|stored| form(&stored.text)))
    }

    /// Returns the catalog with its conditions and projects in a form.
    fn catalog_as<P: IntoIterator<Item = Bytes>>(&self, form: fn(&RuleJson) -> P) -> Vec<Bytes> {
        let head = serde_json::json!({
            "tenantId": self.tenant.as_str(),
            "digest": &**self.digest(),
            "engine": { "version": env!("CARGO_PKG_VERSION"), "sha256": MODULE_SHA256 },
        });
        let mut head = head.to_string();
        head.pop();
        let of = |content: &Content| {
            let conditions = content.conditions.values();
            array(conditions.map(|stored| form(&stored.text)))
        };
        let mut pieces = vec![head.into(), Bytes::from_static(b",")];
        pieces.extend(lists(of(&self.global), of(&self.own)));
        pieces.push(Bytes::from_static(b",\"projects\":"));
        pieces.extend(self.projects_as(form));
        pieces.push(Bytes::from_static(b"}"));
        pieces
    }
}
