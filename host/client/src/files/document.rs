//! A resource as a document in its one form, read from a file or from the host's answer.
//!
//! The host's own readers check a file: here they refuse what they would refuse at the host, before anything is
//! written.

use std::borrow::Cow;
use std::fmt;

use tillgate_api::rate::{UNIT_ID_RULE, is_unit_id};
use tillgate_base::identity::{NAME_RULE, STEP_RULE, is_name, is_step};
use tillgate_engine::Fault;
use tillgate_engine::condition::ConditionId;
use tillgate_engine::json::{self, Faults, Node};
use tillgate_engine::restriction::ProjectId;

use super::form::{Forms, Origin};
use super::kind::Kind;
use super::members::Members;
use super::secrets::{Secrets, json as to_json, read_secrets};
use super::unit_rates::UnitRates;

/// A resource: its name within its kind, and its members in the one form.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) id: String,
    pub(super) members: Members,
}

/// The contents of a file.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) document: Document,
    /// Only for a webhook.
    pub(super) secrets: Secrets,
    /// Only for a business unit's rates.
    pub(super) rates: UnitRates,
}

/// Reads a file.
///
/// # Errors
/// Every fault, by its JSON path.
pub(super) fn of_file(kind: Kind, text: &[u8], forms: &Forms) -> Result<Read, Vec<Fault>> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let parsed = json::Document::parse(text).map_err(|error| error.faults)?;
    let mut faults = Faults::default();
    let root = faults.object(parsed.root());
    let Some(root) = root else {
        return Err(faults_of(faults));
    };
    let mut members = forms.read(kind, root, Origin::File, &mut faults);
    let id = name_of(kind, root, &mut faults);
    let secrets = match kind {
        Kind::Webhooks => read_secrets(root, &mut faults),
        _ => Secrets::default(),
    };
    let rates = match kind {
        Kind::Rates => UnitRates::of_file(root, &mut faults),
        _ => UnitRates::default(),
    };
    let mut all = faults_of(faults);
    // The host gets a webhook without the places of its secrets.
    let sent = match kind {
        Kind::Webhooks => Cow::Owned(members.to_json()),
        _ => Cow::Borrowed(text),
    };
    if let Some(id) = &id
        && let Err(error) = forms.resources.check(kind, id, &sent)
    {
        let known: Vec<String> = all.iter().map(|fault| fault.path.clone()).collect();
        all.extend(error.into_iter().filter(|one| !known.contains(&one.path)));
    }
    match (kind, kind.names(), &id) {
        (Kind::Rates, _, Some(id)) => members = rates.to_members(id),
        // The host writes the id of a project in lower case.
        (_, [name], Some(id)) => members.set(name, to_json(id)),
        _ => {}
    }
    match id {
        Some(id) if all.is_empty() => Ok(Read {
            document: Document { id, members },
            secrets,
            rates,
        }),
        _ => Err(all),
    }
}

/// Returns the id in a file, even if the file has faults.
pub(super) fn id_of(kind: Kind, text: &[u8]) -> Option<String> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let parsed = json::Document::parse(text).ok()?;
    name_of(kind, parsed.root(), &mut Faults::default())
}

/// Reads the host's answer.
///
/// # Errors
/// If this program does not know a member, with a sentence that names it.
pub(super) fn of_answer(kind: Kind, root: Node<'_, '_>, forms: &Forms) -> Result<Document, String> {
    let mut faults = Faults::default();
    let members = forms.read(kind, root, Origin::Host, &mut faults);
    let id = name_of(kind, root, &mut faults);
    match (id, faults_of(faults).first()) {
        (Some(id), None) => Ok(Document { id, members }),
        (_, fault) => {
            let place = fault.map_or("$", |fault| fault.path.as_str());
            let noun = kind.noun();
            Err(format!(
                "the host returned a {noun} that this version of the program does not understand, at {place}: use the \
                 version that the host runs"
            ))
        }
    }
}

/// Returns the name of a resource: the texts of the members that name it.
fn name_of(kind: Kind, root: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let parts = kind.names().iter().map(|member| {
        let node = faults.required(root, member)?;
        let text = node.text().map(|text| text.as_ref());
        let found = text.and_then(|text| spelled(kind, text));
        match found {
            // A webhook's path has the id that the host gives it.
            Some(name) if is_step(&name) && kind != Kind::Webhooks => faults.add(node, STEP_RULE),
            Some(name) => return Some(name),
            None => faults.add(node, rule(kind)),
        }
        None
    });
    let parts: Vec<Option<String>> = parts.collect();
    let parts: Option<Vec<String>> = parts.into_iter().collect();
    parts.map(|parts| parts.join("/"))
}

/// Returns a part of a name, if it is valid.
fn spelled(kind: Kind, text: &str) -> Option<String> {
    let may_be = match kind {
        Kind::Roles | Kind::GlobalTemplates | Kind::Templates => is_name(text),
        Kind::GlobalConditions | Kind::Conditions => ConditionId::is_id(text),
        Kind::Projects => return Some(ProjectId::new(text)?.to_string()),
        Kind::BusinessUnits | Kind::Rates => is_unit_id(text),
        Kind::Webhooks => !text.is_empty(),
    };
    may_be.then(|| text.to_owned())
}

const fn rule(kind: Kind) -> &'static str {
    match kind {
        Kind::Roles | Kind::GlobalTemplates | Kind::Templates => NAME_RULE,
        Kind::GlobalConditions | Kind::Conditions => ConditionId::RULE,
        Kind::Projects => ProjectId::RULE,
        Kind::BusinessUnits | Kind::Rates => UNIT_ID_RULE,
        Kind::Webhooks => "must be a string of 1 to 256 characters",
    }
}

fn faults_of(faults: Faults) -> Vec<Fault> {
    faults
        .none_or_error()
        .err()
        .map_or_else(Vec::new, |error| error.faults)
}

/// A resource by kind and name, displayed as `conditions/alcohol`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a>(pub(super) Kind, pub(super) &'a str);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0.folder(), self.1)
    }
}
