//! The resources of a host: all of a kind, read as a whole, and single ones with their versions, when a plan is bound
//! to them.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::header::HeaderValue;
use serde::Deserialize;
use serde_json::value::RawValue;
use tillgate_engine::json::{self, Node};

use super::document::{Document, of_answer};
use super::host::{AT_ONCE, Host};
use super::kind::Kind;
use super::unit_rates::HostRates;
use crate::session::segment;

/// A resource of the host.
#[derive(Clone, Debug)]
pub(super) struct Present {
    pub(super) document: Document,
    pub(super) managed_by: Option<String>,
    /// The path of its PUT and DELETE.
    pub(super) path: String,
    /// Its version, if it was read by itself.
    pub(super) etag: Option<HeaderValue>,
    /// Only for a unit's rates.
    pub(super) rates: HostRates,
    /// For a unit to delete: the version of its own rates.
    pub(super) rates_etag: Option<HeaderValue>,
    /// Only for a webhook.
    pub(super) has_shared_key: bool,
    /// For a webhook that the service has disabled: the reason.
    pub(super) disabled_reason: Option<String>,
}

/// The host's resources of the kinds in scope, by name.
#[derive(Debug, Default)]
pub(super) struct Existing {
    pub(super) all: BTreeMap<Kind, BTreeMap<String, Present>>,
    /// The ids of global conditions, which no tenant may use.
    pub(super) global_conditions: BTreeSet<String>,
    /// The names that several webhooks share, and their ids.
    pub(super) same_names: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Page<'j> {
    #[serde(borrow)]
    items: Vec<&'j RawValue>,
    next: Option<String>,
}

impl Host {
    /// Reads the host's resources of these kinds.
    pub(super) async fn existing(
        &self,
        kinds: impl IntoIterator<Item = Kind>,
    ) -> Result<Existing, String> {
        let mut existing = Existing::default();
        for kind in kinds {
            let of_kind = match kind {
                Kind::Rates => self.rates(&existing).await?,
                _ => self.list(kind, &mut existing).await?,
            };
            existing.all.insert(kind, of_kind);
        }
        Ok(existing)
    }

    async fn list(
        &self,
        kind: Kind,
        existing: &mut Existing,
    ) -> Result<BTreeMap<String, Present>, String> {
        let mut all = BTreeMap::new();
        for text in self.texts(kind).await? {
            self.add_listed(kind, &text, existing, &mut all)?;
        }
        Ok(all)
    }

    /// Returns the JSON of all resources of a kind: a text for each list or page.
    async fn texts(&self, kind: Kind) -> Result<Vec<Bytes>, String> {
        let list = match kind {
            Kind::Roles => "/v1/roles".to_owned(),
            Kind::GlobalTemplates => "/v1/tenants/_/templates".to_owned(),
            Kind::Templates => format!("/v1/tenants/{}/templates", segment(&self.tenant)),
            Kind::GlobalConditions | Kind::Conditions => "/api/v1/entity-conditions".to_owned(),
            Kind::Projects => "/api/v1/projects".to_owned(),
            Kind::BusinessUnits | Kind::Rates => "/api/v1/business-units?limit=1000".to_owned(),
            Kind::Webhooks => "/api/v1/webhooks".to_owned(),
        };
        let mut texts = Vec::new();
        let mut next = Some(String::new());
        while let Some(cursor) = next {
            let text = self.get(&format!("{list}{cursor}")).await?.0;
            next = match kind {
                Kind::BusinessUnits | Kind::Rates => {
                    let page: Page<'_> = serde_json::from_slice(&text).map_err(no_list)?;
                    page.next.map(|next| format!("&cursor={}", segment(&next)))
                }
                _ => None,
            };
            texts.push(text);
        }
        Ok(texts)
    }

    fn add_listed(
        &self,
        kind: Kind,
        text: &[u8],
        existing: &mut Existing,
        all: &mut BTreeMap<String, Present>,
    ) -> Result<(), String> {
        for element in elements(text)? {
            let parsed = parse(element.get().as_bytes())?;
            let root = parsed.root();
            let is_global = text_of(root, "scope") == Some("GLOBAL");
            if is_global && let Some(id) = text_of(root, "id") {
                existing.global_conditions.insert(id.to_owned());
            }
            let is_out = match kind {
                Kind::Roles => is_true(root, "builtIn"),
                Kind::GlobalConditions => !is_global,
                Kind::Conditions => is_global,
                _ => false,
            };
            if is_out {
                continue;
            }
            let present = self.present(kind, root, None)?;
            let (id, path) = (present.document.id.clone(), present.path.clone());
            if let Some(other) = all.insert(id.clone(), present) {
                let same = existing
                    .same_names
                    .entry(id)
                    .or_insert_with(|| vec![last(&other.path)]);
                same.push(last(&path));
            }
        }
        Ok(())
    }

    /// Reads a resource from the host's answer.
    fn present(
        &self,
        kind: Kind,
        root: Node<'_, '_>,
        etag: Option<HeaderValue>,
    ) -> Result<Present, String> {
        let mut document = of_answer(kind, root, &self.forms)?;
        let disabled_reason = text_of(root, "disabledReason").map(str::to_owned);
        if disabled_reason.is_some() {
            // Its owner has enabled it, and files state what the owner wants.
            document.members.set("enabled", b"true".to_vec());
        }
        Ok(Present {
            path: self.path(kind, &document.id, text_of(root, "id")),
            document,
            managed_by: text_of(root, "managedBy").map(str::to_owned),
            etag,
            rates: HostRates::default(),
            rates_etag: None,
            has_shared_key: is_true(root, "hasSharedKey"),
            disabled_reason,
        })
    }

    /// Reads the rates of all units; the units come from `existing` if they were read before.
    async fn rates(&self, existing: &Existing) -> Result<BTreeMap<String, Present>, String> {
        let units: Vec<String> = match existing.all.get(&Kind::BusinessUnits) {
            Some(units) => units.keys().cloned().collect(),
            None => self.unit_ids().await?,
        };
        let read = units.into_iter().map(|unit| async move {
            let present = self.rates_of(&unit).await?;
            Ok::<_, String>(present.map(|present| (unit, present)))
        });
        let read: Vec<_> = stream::iter(read).buffered(AT_ONCE).try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }

    pub(super) async fn unit_ids(&self) -> Result<Vec<String>, String> {
        let mut units = Vec::new();
        for text in self.texts(Kind::BusinessUnits).await? {
            for element in elements(&text)? {
                let parsed = parse(element.get().as_bytes())?;
                units.extend(text_of(parsed.root(), "id").map(str::to_owned));
            }
        }
        Ok(units)
    }

    /// Reads the rates that are set at a unit; `None` if there is no such unit.
    pub(super) async fn rates_of(&self, unit: &str) -> Result<Option<Present>, String> {
        let path = self.path(Kind::Rates, unit, None);
        let Some((text, etag)) = self.find(&path).await? else {
            return Ok(None);
        };
        let rates = HostRates::of_answer(&text)?;
        let document = Document {
            id: unit.to_owned(),
            members: rates.set_by_hand().to_members(unit),
        };
        Ok(Some(Present {
            document,
            managed_by: None,
            path,
            etag,
            rates,
            rates_etag: None,
            has_shared_key: false,
            disabled_reason: None,
        }))
    }

    /// Reads a resource once more, with its version; `None` if it is gone. A webhook requires `before`.
    pub(super) async fn again(
        &self,
        kind: Kind,
        id: &str,
        before: Option<&Present>,
    ) -> Result<Option<Present>, String> {
        let path = match (kind, before) {
            (Kind::GlobalConditions, _) => self.path(Kind::Conditions, id, None),
            (_, Some(present)) => present.path.clone(),
            (_, None) => self.path(kind, id, None),
        };
        let Some((text, etag)) = self.find(&path).await? else {
            return Ok(None);
        };
        let parsed = parse(&text)?;
        let is_global = text_of(parsed.root(), "scope") == Some("GLOBAL");
        if kind == Kind::Conditions && is_global || kind == Kind::GlobalConditions && !is_global {
            return Ok(None);
        }
        self.present(kind, parsed.root(), etag).map(Some)
    }
}

/// Returns the elements of a list or of a page.
fn elements(text: &[u8]) -> Result<Vec<&RawValue>, String> {
    match text.first() {
        Some(b'{') => {
            let page: Page<'_> = serde_json::from_slice(text).map_err(no_list)?;
            Ok(page.items)
        }
        _ => serde_json::from_slice(text).map_err(no_list),
    }
}

fn no_list(cause: serde_json::Error) -> String {
    format!("the host did not return a list: {cause}")
}

fn parse(text: &[u8]) -> Result<json::Document<'_>, String> {
    let parsed = json::Document::parse_up_to(text, usize::MAX);
    parsed.map_err(|_| "the host did not return JSON".to_owned())
}

fn text_of<'d>(root: Node<'d, '_>, member: &str) -> Option<&'d str> {
    root.member(member)?.text().map(|text| text.as_ref())
}

fn is_true(root: Node<'_, '_>, member: &str) -> bool {
    let scalar = root.member(member).map(|node| node.scalar().clone());
    scalar == Some(json::Scalar::Bool(true))
}

/// Returns the last segment of a path.
fn last(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
