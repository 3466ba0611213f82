//! The rates that a unit uses: reading them, and converting amounts with them.
//!
//! A shop uses what its messages have said, so that whoever reads them and whoever follows the topic sees the same. A
//! COMPANY or GROUP is answered as a shop directly below it would see it (`rates.md`, "Which rates a shop uses").

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use tillgate_engine::Code;
use tillgate_engine::rate::RateKey;

use super::math::{self, UsedRate};
use super::published::read_used;
use crate::app::App;
use crate::data::records::Records;
use crate::engine::EngineError;
use crate::error::{Error, Result};
use crate::rates::units::number::Exact;
use crate::rates::units::set_rate::KeyText;
use crate::rates::units::tree::{Node, Tree};
use crate::rates::units::unit::{UnitId, UnitType, no_unit};

/// How often a shop is read again whose rates have just changed.
const MAX_ATTEMPTS: usize = 8;

/// The rates that a unit uses, a list as the module writes it, with their dates.
///
/// # Errors
/// [`Error::NotFound`] for an unknown unit; when the store is away.
pub(in crate::rates) async fn rates(
    app: &Arc<App>,
    records: &Records,
    id: &UnitId,
) -> Result<Bytes> {
    for _ in 0..MAX_ATTEMPTS {
        let mut tree = Tree::new(records);
        let node = tree.node(id).await?.ok_or_else(no_unit)?;
        let read = match node.unit().settings.unit_type {
            UnitType::Store => read_used(records, node.unit().used_rates.as_deref()).await,
            UnitType::Company | UnitType::Group => seen_below(app, &mut tree, &node).await,
        };
        match read {
            Err(Error::Busy) => {}
            read => return read,
        }
    }
    Err(Error::Busy)
}

/// What a shop directly below a unit would use. Its dates are those of the rates as they are set.
async fn seen_below(app: &Arc<App>, tree: &mut Tree<'_>, node: &Arc<Node>) -> Result<Bytes> {
    let path = tree.above(node.unit()).await?;
    let nodes = std::iter::once(node).chain(&path.nodes);
    let levels: Vec<&str> = nodes.clone().map(|node| node.level.as_str()).collect();
    let call = math::used_call(&levels.join(","));
    let used = math::used(app, vec![call]).await?.pop();
    let used = used.ok_or_else(|| Error::Bug("the module did not answer".to_owned()))?;
    let mut rates = math::read_rates(&used)?;
    let set: Vec<_> = nodes
        .map(|node| Ok((node.id.as_str(), node.set_rates()?)))
        .collect::<Result<_>>()?;
    for rate in &mut rates {
        let at = set
            .iter()
            .find(|(id, _)| rate.set_at.as_deref() == Some(id));
        let key = KeyText {
            exchange_rate_type: rate.exchange_rate_type.to_owned(),
            currency_id_from: rate.currency_id_from.to_owned(),
            currency_id_to: rate.currency_id_to.to_owned(),
        };
        let key = key.key()?;
        let found = at.and_then(|(_, set)| set.get(key).or_else(|| set.get(key.opposite())));
        if let Some(found) = found {
            rate.created_date = Some(&found.created_date);
            rate.last_modified = found.last_modified.as_deref();
        }
    }
    math::write_rates(&rates)
}

/// The rates that a unit uses, as they are answered.
pub(in crate::rates) fn answer(rates: &[u8]) -> Result<Bytes> {
    let rates = math::read_rates(rates)?;
    let answer = rates.iter().map(math::Rate::used);
    let answer = answer.collect::<Result<Vec<_>>>()?;
    let json = serde_json::to_vec(&answer).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(json.into())
}

/// An amount that is to be converted.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The unit whose rate applies.
    pub unit: UnitId,
    /// The rate: its target is the currency that is converted from, its source the one that is converted to.
    pub key: RateKey,
    /// The amount, a decimal.
    pub amount: String,
    /// Whether the rate with markup applies.
    pub with_markup: bool,
}

#[derive(Serialize)]
struct Converted<'a> {
    amount: &'a RawValue,
    currency: &'a str,
    rate: UsedRate<'a>,
}

/// Converts an amount with a rate that a unit uses.
///
/// # Errors
/// [`Error::NotFound`] for an unknown unit, or a rate that it does not use; [`Error::Invalid`] for an amount that becomes
/// too large.
pub(in crate::rates) async fn convert(
    app: &Arc<App>,
    records: &Records,
    conversion: &Conversion,
) -> Result<Bytes> {
    #[derive(serde::Deserialize)]
    struct Answer {
        answers: [Amount; 1],
    }
    #[derive(serde::Deserialize)]
    struct Amount {
        amount: String,
    }
    let used = rates(app, records, &conversion.unit).await?;
    let rates = math::read_rates(&used)?;
    let key = KeyText::of(conversion.key);
    let rate = rates.iter().find(|rate| {
        rate.exchange_rate_type == key.exchange_rate_type
            && rate.currency_id_from == key.currency_id_from
            && rate.currency_id_to == key.currency_id_to
    });
    let no_rate = || Error::NotFound("the business unit uses no such rate".to_owned());
    let rate = rate.ok_or_else(no_rate)?;
    let value = if conversion.with_markup {
        rate.rate_value_with_markup
    } else {
        rate.rate_value
    };
    let currency = rate.currency_id_from;
    let amount = &conversion.amount;
    let call = json!({ "op": "convert", "amount": amount, "rate": value, "currency": currency });
    let answered = math::ask(app, &[call]).map_err(|error| match error {
        EngineError::Refused(Code::Invalid, faults) => {
            let fault = faults.into_iter().next();
            let message = fault.map_or_else(String::new, |fault| fault.message.into_owned());
            Error::invalid("$.amount", message)
        }
        other => other.into(),
    })?;
    let Answer {
        answers: [Amount { amount }],
    } = serde_json::from_slice(&answered).map_err(|cause| Error::Bug(cause.to_string()))?;
    let converted = Converted {
        amount: amount.exact()?,
        currency,
        rate: rate.used()?,
    };
    let json = serde_json::to_vec(&converted).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(json.into())
}
