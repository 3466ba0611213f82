//! Random changes of a tenant's rates, each as a request and as a change of the model.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;

use super::model::{Key, Model, Refused, Unit, decimal};
use crate::support::ecb;

/// The possible units; their first letter is their type.
pub const IDS: &[&str] = &[
    "c0", "c1", "g0", "g1", "g2", "g3", "s0", "s1", "s2", "s3", "s4", "s5",
];

/// The possible rates.
pub const KEYS: &[Key] = &[
    ("SALES", "SEK", "EUR"),
    ("SALES", "EUR", "SEK"),
    ("SALES", "USD", "EUR"),
    ("SALES", "EUR", "USD"),
    ("SALES", "SEK", "USD"),
    ("SALES", "USD", "SEK"),
    ("PURCHASE", "SEK", "EUR"),
    ("PURCHASE", "EUR", "SEK"),
];

/// A change; it names units by their index in [`IDS`].
#[derive(Clone, Debug)]
pub enum Command {
    Put {
        id: usize,
        parent: usize,
        markup: Option<i128>,
        markups: BTreeMap<Key, i128>,
    },
    Delete {
        id: usize,
    },
    Set {
        id: usize,
        key: Key,
        value: i128,
    },
    Unset {
        id: usize,
        key: Key,
    },
    Change {
        id: usize,
        set: BTreeMap<Key, i128>,
        delete: BTreeSet<Key>,
    },
    Import {
        id: usize,
        types: &'static [&'static str],
        day: String,
        quotes: BTreeMap<&'static str, i128>,
        crosses: bool,
    },
    InitialState {
        id: Option<usize>,
    },
    /// Lets the background catch up.
    Run,
}

/// A change with its time.
#[derive(Clone, Debug)]
pub struct Step {
    pub tenant: &'static str,
    /// True if all earlier work is completed first and the dry run is compared.
    pub is_alone: bool,
    /// The milliseconds since the step before.
    pub millis: u64,
    pub command: Command,
}

/// The parts of a request that differ between changes.
pub struct Asked {
    pub method: Method,
    /// The path below `/api/v1/`.
    pub path: String,
    pub content_type: &'static str,
    pub body: String,
}

fn json(method: Method, path: String, body: String) -> Asked {
    Asked {
        method,
        path,
        content_type: "application/json",
        body,
    }
}

fn key_members((of, from, to): Key) -> String {
    format!(r#""exchangeRateType":"{of}","currencyIdFrom":"{from}","currencyIdTo":"{to}""#)
}

impl Command {
    /// Returns the unit that is changed.
    pub fn unit(&self) -> Option<&'static str> {
        match self {
            Self::Put { id, .. }
            | Self::Delete { id }
            | Self::Set { id, .. }
            | Self::Unset { id, .. }
            | Self::Change { id, .. }
            | Self::Import { id, .. } => Some(IDS[*id]),
            Self::InitialState { .. } | Self::Run => None,
        }
    }

    /// Returns the request that makes the change.
    pub fn request(&self, tenant: &str) -> Option<Asked> {
        let rate = |id: usize, (of, from, to): Key| {
            format!("business-units/{}/exchange-rates/{of}/{from}/{to}", IDS[id])
        };
        Some(match self {
            Self::Put { id, .. } => json(
                Method::PUT,
                format!("business-units/{}", IDS[*id]),
                self.unit_body(),
            ),
            Self::Delete { id } => json(
                Method::DELETE,
                format!("business-units/{}", IDS[*id]),
                String::new(),
            ),
            Self::Set { id, key, value } => json(
                Method::PUT,
                rate(*id, *key),
                format!(r#"{{"rateValue":{}}}"#, decimal(*value, 6)),
            ),
            Self::Unset { id, key } => json(Method::DELETE, rate(*id, *key), String::new()),
            Self::Change { id, set, delete } => {
                let set = set.iter().map(|(key, value)| {
                    let value = decimal(*value, 6);
                    format!(r#"{{{},"rateValue":{value}}}"#, key_members(*key))
                });
                let set: Vec<_> = set.collect();
                let delete = delete
                    .iter()
                    .map(|key| format!("{{{}}}", key_members(*key)));
                let delete: Vec<_> = delete.collect();
                let body = format!(
                    r#"{{"set":[{}],"delete":[{}]}}"#,
                    set.join(","),
                    delete.join(",")
                );
                json(
                    Method::POST,
                    format!("business-units/{}/exchange-rates", IDS[*id]),
                    body,
                )
            }
            Self::Import {
                id,
                types,
                day,
                quotes,
                crosses,
            } => {
                let quotes = quotes
                    .iter()
                    .map(|(code, rate)| format!(" {code} {}", decimal(*rate, 6)));
                let day = ecb::day(&format!("{day}{}", quotes.collect::<String>()));
                let path = format!(
                    "reference-rates/import?businessUnitId={}&exchangeRateTypes={}&source=ECB&crosses={crosses}",
                    IDS[*id],
                    types.join(",")
                );
                Asked {
                    method: Method::POST,
                    path,
                    content_type: "application/xml",
                    body: ecb::daily_xml(&day),
                }
            }
            Self::InitialState { id } => {
                let unit = id.map(|id| format!(r#","businessUnitId":"{}""#, IDS[id]));
                let body = format!(r#"{{"tenantId":"{tenant}"{}}}"#, unit.unwrap_or_default());
                json(Method::POST, "initial-state".to_owned(), body)
            }
            Self::Run => return None,
        })
    }

    fn unit_body(&self) -> String {
        let Some(unit) = self.planned_unit() else {
            return String::new();
        };
        let mut body = format!(r#"{{"type":"{}""#, unit.kind);
        if let Some(parent) = unit.parent {
            body += &format!(r#","parentId":"{parent}""#);
        }
        if let Some(markup) = unit.markup {
            body += &format!(r#","markupPercentage":{}"#, decimal(markup, 4));
        }
        let markups = unit.markups.iter().map(|(key, markup)| {
            let markup = decimal(*markup, 4);
            format!(r#"{{{},"markupPercentage":{markup}}}"#, key_members(*key))
        });
        let markups: Vec<_> = markups.collect();
        body + &format!(r#","markups":[{}]}}"#, markups.join(","))
    }

    /// Returns the unit of a `Put`.
    fn planned_unit(&self) -> Option<Unit> {
        let Self::Put {
            id,
            parent,
            markup,
            markups,
        } = self
        else {
            return None;
        };
        let parent = IDS.get(*parent).map_or("nowhere", |id| id);
        let kind = match &IDS[*id][..1] {
            "c" => "COMPANY",
            "g" => "GROUP",
            _ => "STORE",
        };
        // A pair has one markup for both directions.
        let mut unordered = BTreeMap::new();
        for (key, markup) in markups {
            let is_taken = unordered.contains_key(&super::model::opposite(*key));
            if !is_taken {
                unordered.insert(*key, *markup);
            }
        }
        Some(Unit {
            kind,
            parent: (kind != "COMPANY").then(|| parent.to_owned()),
            markup: *markup,
            markups: unordered,
            rates: BTreeMap::new(),
        })
    }

    /// Makes the change in the model; returns the status of the request, and the counts if its answer has some.
    pub fn apply(&self, model: &mut Model) -> Result<(u16, Vec<usize>), Refused> {
        let created = |is_new: bool| (if is_new { 201 } else { 200 }, Vec::new());
        Ok(match self {
            Self::Put { id, .. } => {
                let unit = self.planned_unit().unwrap();
                created(model.put(IDS[*id], unit)?)
            }
            Self::Delete { id } => model.delete(IDS[*id]).map(|()| (204, Vec::new()))?,
            Self::Set { id, key, value } => {
                let counts = model.change(IDS[*id], &[(*key, *value)], &[])?;
                created(counts[0] == 1)
            }
            Self::Unset { id, key } => {
                let unit = model.0.get(IDS[*id]).ok_or(404_u16)?;
                if !unit.rates.contains_key(key) {
                    return Err(404);
                }
                model.change(IDS[*id], &[], &[*key])?;
                (204, Vec::new())
            }
            Self::Change { id, set, delete } => {
                let set: Vec<_> = set.iter().map(|(key, value)| (*key, *value)).collect();
                let delete: Vec<_> = delete.iter().copied().collect();
                (200, model.change(IDS[*id], &set, &delete)?.to_vec())
            }
            Self::Import {
                id,
                types,
                day,
                quotes,
                crosses,
            } => {
                let [created, updated, unchanged] =
                    model.import(IDS[*id], types, day, quotes, *crosses)?;
                (200, vec![created, updated, 0, unchanged])
            }
            Self::InitialState { id } => match id {
                Some(id) if !model.0.contains_key(IDS[*id]) => return Err(404),
                _ => (200, Vec::new()),
            },
            Self::Run => (200, Vec::new()),
        })
    }
}
