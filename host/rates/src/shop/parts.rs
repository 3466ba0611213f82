//! Divides a call of the module into parts. What a shop uses of one pair does not depend on the other pairs, so a call
//! with many rates is made as several, each with some of the pairs, and their answers are joined.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use serde_json::value::RawValue;
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::RateKey;

use crate::units::json::to_json;
use crate::units::level::{level_head, push_level};
use crate::units::rate_text::RateText;
use crate::units::tree::Node;
use crate::units::unit::PairMarkup;

/// The approximate bytes of rates in a part. The module takes about twenty times as much memory.
const PART: usize = 1 << 20;

/// A part of a call.
#[derive(Debug)]
pub(super) struct Part {
    /// The rates that were used: a list.
    pub(super) used: String,
    /// The levels: a list without brackets.
    pub(super) levels: String,
}

/// Returns the bytes that the level of a unit takes.
pub(super) fn len(node: &Node) -> usize {
    node.level_head.len() + node.rates.record.len()
}

/// Returns the parts of a call with these used rates, a list, and the levels of these units.
///
/// # Errors
/// [`Error::Bug`] when what was stored is damaged.
pub(super) fn of(used: &[u8], levels: &[&Node]) -> Result<Vec<Part>> {
    let bytes = used.len() + levels.iter().map(|node| len(node)).sum::<usize>();
    let parts = bytes.div_ceil(PART).max(1);
    if parts == 1 {
        let mut whole = Part {
            used: String::from_utf8_lossy(used).into_owned(),
            levels: String::with_capacity(bytes),
        };
        for node in levels {
            push_level(&mut whole.levels, &node.level_head, &node.rates.record)?;
        }
        return Ok(vec![whole]);
    }
    let mut all: Vec<Part> = Vec::with_capacity(parts);
    for used in divided(read(used)?.into_iter(), parts) {
        let used = String::from_utf8_lossy(&to_json(&used)?).into_owned();
        let levels = String::new();
        all.push(Part { used, levels });
    }
    for node in levels {
        let settings = &node.unit().settings;
        let markups = settings.markups.iter().map(|markup| (markup.key, markup));
        let markups = divided(markups, parts);
        let rates = node
            .rates
            .rates
            .iter()
            .map(|(key, rate)| (key, rate.text(key)));
        let rates = divided(rates, parts);
        for ((part, markups), rates) in all.iter_mut().zip(markups).zip(rates) {
            let markups: Vec<PairMarkup> = markups.into_iter().cloned().collect();
            let head = level_head(&node.id, settings.markup_percentage.as_deref(), &markups)?;
            push_level(&mut part.levels, &head, &to_json(&rates)?)?;
        }
    }
    Ok(all)
}

/// Divides items into parts by their pairs.
fn divided<T>(all: impl Iterator<Item = (RateKey, T)>, parts: usize) -> Vec<Vec<T>> {
    let mut divided: Vec<Vec<T>> = (0..parts).map(|_| Vec::new()).collect();
    for (key, one) in all {
        if let Some(part) = divided.get_mut(part_of(key, parts)) {
            part.push(one);
        }
    }
    divided
}

/// Returns the part that a pair is in; both directions are in the same.
fn part_of(key: RateKey, parts: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    key.min(key.opposite()).hash(&mut hasher);
    usize::try_from(hasher.finish()).unwrap_or_default() % parts
}

/// Sorts rates as the module does.
pub(super) fn sort(rates: &mut Vec<RateText<'_>>) -> Result<()> {
    let mut keyed = Vec::with_capacity(rates.len());
    for rate in rates.drain(..) {
        keyed.push((rate.key()?, rate));
    }
    keyed.sort_unstable_by_key(|(key, _)| *key);
    rates.extend(keyed.into_iter().map(|(_, rate)| rate));
    Ok(())
}

/// Joins the rates of several lists, sorted as the module does.
pub(super) fn join(lists: &[&RawValue]) -> Result<Bytes> {
    let texts = lists.iter().map(|list| list.get().as_bytes());
    join_texts(&texts.collect::<Vec<_>>())
}

/// Joins the rates of several lists, sorted as the module does.
pub(super) fn join_lists(lists: &[Bytes]) -> Result<Bytes> {
    join_texts(&lists.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

fn join_texts(lists: &[&[u8]]) -> Result<Bytes> {
    if let [list] = lists {
        return Ok(Bytes::copy_from_slice(list));
    }
    let mut rates = Vec::new();
    for list in lists {
        rates.extend(read(list)?);
    }
    rates.sort_unstable_by_key(|(key, _)| *key);
    to_json(&rates.iter().map(|(_, rate)| rate).collect::<Vec<_>>())
}

/// Reads the rates of a list, each as it stands there, with its key.
fn read(list: &[u8]) -> Result<Vec<(RateKey, &RawValue)>> {
    let damaged = |cause| Error::Bug(format!("rates are damaged: {cause}"));
    let rates: Vec<&RawValue> = serde_json::from_slice(list).map_err(damaged)?;
    let keyed = rates.into_iter().map(|rate| {
        let text: RateText<'_> = serde_json::from_str(rate.get()).map_err(damaged)?;
        Ok((text.key()?, rate))
    });
    keyed.collect()
}
