//! The rates that a unit uses: reading them, and converting amounts with them.
//!
//! A shop uses what its messages have said, so that readers and subscribers of the topic see the same. A COMPANY or GROUP
//! is answered as a shop directly below it would see it (`rates.md`, "Which rates a shop uses").

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use tillgate_engine::rate::RateKey;

use super::math;
use super::used_record::read_used;
use crate::app::App;
use crate::data::records::Records;
use crate::error::{Error, Result};
use crate::rates::units::json::{number, to_json};
use crate::rates::units::rate_text::{RateNumbers, RateText};
use crate::rates::units::tree::{Node, Tree};
use crate::rates::units::unit::{UnitId, UnitType, no_unit};

/// How often a shop is read again whose rates have just changed.
const MAX_ATTEMPTS: usize = 8;

/// The rates that a unit uses: a list of `{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue,
/// rateValueWithMarkup, createdDate, createdBy?, lastModified?, setAt }`, by type, source and target.
///
/// # Errors
/// [`Error::NotFound`] for an unknown unit; [`Error::Busy`] when its rates change all the time; [`Error::Unavailable`].
pub(in crate::rates) async fn used_rates(
    app: &Arc<App>,
    records: &Records,
    id: &UnitId,
) -> Result<Bytes> {
    let used = read(app, records, id).await?;
    let rates = math::read_rates(&used)?;
    let answer: Vec<_> = rates.iter().map(RateText::answered).collect();
    to_json(&answer)
}

/// The rates that a unit uses, a list as the module writes it, with their dates.
async fn read(app: &Arc<App>, records: &Records, id: &UnitId) -> Result<Bytes> {
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
    let nodes = || std::iter::once(node).chain(&path.nodes);
    let levels: Vec<&str> = nodes().map(|node| node.level.as_str()).collect();
    let call = math::used_call(&levels.join(","));
    let used = math::used(app, vec![call]).await?.pop();
    let used = used.ok_or_else(math::no_answer)?;
    let mut rates = math::read_rates(&used)?;
    for rate in &mut rates {
        let key = rate.key()?;
        let at = nodes().find(|node| rate.set_at.as_deref() == Some(node.id.as_str()));
        let set = at.map(|node| &node.rates.rates);
        if let Some(set) = set.and_then(|set| set.get(key).or_else(|| set.get(key.opposite()))) {
            rate.created_date = Some(&set.created_date);
            rate.last_modified = set.last_modified.as_deref();
        }
    }
    to_json(&rates)
}

/// An amount that is to be converted.
#[derive(Clone, Debug)]
pub(in crate::rates) struct Conversion {
    /// The unit whose rate applies.
    pub(in crate::rates) unit: UnitId,
    /// The rate: its target is the currency that is converted from, its source the one that is converted to.
    pub(in crate::rates) key: RateKey,
    /// The amount, a decimal.
    pub(in crate::rates) amount: String,
    /// Whether the rate with markup applies.
    pub(in crate::rates) with_markup: bool,
}

/// Converts an amount with a rate that a unit uses: `{ amount, currency, rate }`, the amount rounded to the minor unit of
/// its currency.
///
/// # Errors
/// [`Error::NotFound`] for an unknown unit, or a rate that it does not use; [`Error::Invalid`] for an amount that becomes
/// too large; [`Error::Unavailable`].
pub(in crate::rates) async fn convert(
    app: &Arc<App>,
    records: &Records,
    conversion: &Conversion,
) -> Result<Bytes> {
    #[derive(Serialize)]
    struct Converted<'a> {
        #[serde(serialize_with = "number")]
        amount: String,
        currency: &'a str,
        rate: RateNumbers<'a, 'a>,
    }
    let used = read(app, records, &conversion.unit).await?;
    let rates = math::read_rates(&used)?;
    let rate = rates.iter().find(|rate| rate.is_of(conversion.key));
    let no_rate = || Error::NotFound("the business unit uses no such rate".to_owned());
    let rate = rate.ok_or_else(no_rate)?;
    let with_markup = rate.rate_value_with_markup;
    let with_markup = with_markup.filter(|_| conversion.with_markup);
    let value = with_markup.unwrap_or(rate.rate_value);
    let currency = rate.currency_id_from;
    let converted = Converted {
        amount: math::convert(app, &conversion.amount, value, currency)?,
        currency,
        rate: rate.answered(),
    };
    to_json(&converted)
}
