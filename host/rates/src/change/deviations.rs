//! The guard against slips: finds the rates that a change would move by more than their tolerance (`rates.md`, "Guard
//! against slips").
//!
//! For each rate that is set, in whichever way, it compares what a unit uses before and after. The first value of a
//! pair moves nothing, and neither does a deletion. The module answers how far a rate has moved, and which slip that
//! looks like.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tillgate_api::problem::RATE_DEVIATES;
use tillgate_api::rate::Deviation;
use tillgate_base::app::App;
use tillgate_base::data::tenant;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_engine::rate::RateKey;
use tillgate_store::Partition;

use super::author::Editor;
use super::place::Planned;
use crate::shop::math::{self, Move};
use crate::units::set_rates::SetRates;
use crate::units::tree::{Node, Tree};

/// The most deviations that an answer lists.
const MAX_LISTED: usize = 1_000;

/// The most deviations that a message names.
const MAX_NAMED: usize = 3;

/// The tolerance that allows any step.
const OFF: &str = "0";

/// Returns a deviation in words.
pub(crate) fn in_words(deviation: &Deviation) -> String {
    let Deviation {
        key,
        old,
        new,
        percent,
        ..
    } = deviation;
    let (rate_type, pair) = (key.rate_type.as_str(), key.pair);
    let (from, to) = (pair.from().as_str(), pair.to().as_str());
    format!("{rate_type} {from} {to} from {old} to {new} ({percent} %)")
}

/// Returns the deviations that an answer lists.
pub(crate) fn listed(deviations: &[Deviation]) -> &[Deviation] {
    deviations.get(..MAX_LISTED).unwrap_or(deviations)
}

/// Returns the first deviations in words, and how many more there are.
pub(crate) fn named(deviations: &[Deviation]) -> String {
    let first: Vec<String> = deviations.iter().take(MAX_NAMED).map(in_words).collect();
    let more = match deviations.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    first.join("; ") + &more
}

/// Returns the error for a change that moves rates by more than their tolerance.
pub(super) fn refused(deviations: &[Deviation]) -> Error {
    let named = named(deviations);
    let detail = format!(
        "would move rates by more than the tolerance: {named}. To set them anyway, use acceptDeviation=true"
    );
    match serde_json::value::to_raw_value(listed(deviations)) {
        Ok(list) => Error::ConflictList {
            code: RATE_DEVIATES,
            detail,
            member: "deviations",
            list,
        },
        Err(cause) => Error::Bug(cause.to_string()),
    }
}

/// Returns the rates that a planned unit uses and that move too far.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when the module does not answer.
pub(super) async fn find(
    app: &Arc<App>,
    editor: &Editor<'_>,
    tree: &mut Tree<'_>,
    planned: &Planned,
) -> Result<Vec<Deviation>> {
    let Some(before) = &planned.before else {
        return Ok(Vec::new());
    };
    let (old, new) = (&before.rates.rates, &planned.after.rates.rates);
    let chain = Chain {
        unit: Arc::clone(before),
        above: tree.above(before.unit()).await?.nodes.clone(),
    };
    let moved: Vec<RateKey> = moved(old, new).collect();
    if moved.is_empty() {
        return Ok(Vec::new());
    }
    let said = Tolerances::new(&chain, general_tolerance(app, editor.tenant).await?);
    let tolerances = moved.into_iter().map(|key| (key, said.of(key).to_owned()));
    let tolerances: BTreeMap<RateKey, String> = tolerances
        .filter(|(_, tolerance)| tolerance != OFF)
        .collect();
    if tolerances.is_empty() {
        return Ok(Vec::new());
    }
    let pairs: BTreeSet<RateKey> = tolerances.keys().copied().collect();
    let before = chain.with_pairs(&pairs)?;
    let after = vec![planned.after.with_rates_alone(new.of_pairs(&pairs))?];
    let compared = compared(&chain, new, tolerances);
    let run = move |app: &App| {
        let [before, after] = [values(app, &before)?, values(app, &after)?];
        exceeding(app, &before, &after, compared)
    };
    app.run_blocking(run).await?
}

/// Returns the rates that are set to another value than before, or were not set before.
fn moved(old: &SetRates, new: &SetRates) -> impl Iterator<Item = RateKey> {
    new.iter().filter_map(|(key, rate)| {
        let stays = old.get(key).is_some_and(|old| old.value == rate.value);
        (!stays).then_some(key)
    })
}

/// Returns the tolerance of rates that no unit says anything about: that of the tenant's settings, else of the
/// configuration.
async fn general_tolerance(app: &App, tenant: &TenantId) -> Result<String> {
    let records = app.records(Partition::named(tenant::PARTITION));
    let settings = tenant::settings(&records, tenant).await?;
    let configured = || app.config.rates.tolerance_percent.to_string();
    Ok(settings.rate_tolerance_percent.unwrap_or_else(configured))
}

/// A unit as it is, and those above it, nearest first.
struct Chain {
    unit: Arc<Node>,
    above: Vec<Arc<Node>>,
}

impl Chain {
    fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        std::iter::once(&self.unit).chain(&self.above)
    }

    /// Returns whether the unit that decides a rate sets it in this very direction.
    fn is_set(&self, key: RateKey) -> bool {
        let decider = |node: &&Arc<Node>| {
            let rates = &node.rates.rates;
            rates.get(key).is_some() || rates.get(key.opposite()).is_some()
        };
        let decider = self.nodes().find(decider);
        decider.is_some_and(|node| node.rates.rates.get(key).is_some())
    }

    /// Returns the units that set any of some pairs, with only the rates of these pairs.
    fn with_pairs(&self, pairs: &BTreeSet<RateKey>) -> Result<Vec<Node>> {
        let nodes = self
            .nodes()
            .map(|node| (node, node.rates.rates.of_pairs(pairs)));
        let nodes = nodes.filter(|(_, rates)| !rates.is_empty());
        nodes
            .map(|(node, rates)| node.with_rates_alone(rates))
            .collect()
    }
}

/// The tolerances of rates. As with markups, the nearest unit that says anything about a pair decides: by the pair's
/// own tolerance, else by the general one.
struct Tolerances {
    /// By the smaller direction of each pair.
    pairs: BTreeMap<RateKey, String>,
    general: String,
}

impl Tolerances {
    /// Collects the tolerances of units; `general` is that of the tenant.
    fn new(chain: &Chain, general: String) -> Self {
        let mut said = Self {
            pairs: BTreeMap::new(),
            general,
        };
        for node in chain.nodes() {
            let settings = &node.unit().settings;
            for pair in &settings.tolerances {
                let key = pair.key.min(pair.key.opposite());
                let nearest = said.pairs.entry(key);
                nearest.or_insert_with(|| pair.tolerance_percentage.clone());
            }
            if let Some(general) = &settings.tolerance_percentage {
                said.general.clone_from(general);
                break;
            }
        }
        said
    }

    fn of(&self, key: RateKey) -> &str {
        let own = self.pairs.get(&key.min(key.opposite()));
        own.unwrap_or(&self.general)
    }
}

/// A rate to compare.
struct Compared {
    key: RateKey,
    tolerance: String,
    /// True if it is not set, but computed from its opposite.
    is_computed: bool,
}

/// Returns the rates to compare, each with its tolerance: those that are set, and the opposite of one if the opposite
/// was set before and is computed from now on. An opposite that was computed all the time says nothing new, and rounds
/// coarsely.
fn compared(chain: &Chain, new: &SetRates, tolerances: BTreeMap<RateKey, String>) -> Vec<Compared> {
    let mut all = Vec::new();
    for (key, tolerance) in tolerances {
        let opposite = key.opposite();
        if new.get(opposite).is_none() && chain.is_set(opposite) {
            all.push(Compared {
                key: opposite,
                tolerance: tolerance.clone(),
                is_computed: true,
            });
        }
        all.push(Compared {
            key,
            tolerance,
            is_computed: false,
        });
    }
    all.sort_unstable_by_key(|compared| compared.key);
    all
}

/// Returns the values that are used at these levels, as decimals.
fn values(app: &App, levels: &[Node]) -> Result<BTreeMap<RateKey, String>> {
    let used = math::used_at(app, &levels.iter().collect::<Vec<_>>())?;
    let rates = math::read_rates(&used)?;
    let values = rates
        .iter()
        .map(|rate| Ok((rate.key()?, rate.rate_value.to_owned())));
    values.collect()
}

/// Returns the rates that move by more than their tolerance, except those that are computed from one that does.
fn exceeding(
    app: &App,
    before: &BTreeMap<RateKey, String>,
    after: &BTreeMap<RateKey, String>,
    compared: Vec<Compared>,
) -> Result<Vec<Deviation>> {
    let (mut rates, mut moves) = (Vec::new(), Vec::new());
    for Compared {
        key,
        tolerance,
        is_computed,
    } in compared
    {
        if let (Some(old), Some(new)) = (before.get(&key), after.get(&key)) {
            let (old, new) = (old.clone(), new.clone());
            rates.push((key, is_computed));
            moves.push(Move {
                old,
                new,
                tolerance,
            });
        }
    }
    let answers = math::deviations(app, &moves)?;
    let found = rates.into_iter().zip(moves).zip(answers);
    let found: Vec<_> = found.filter(|(_, answer)| answer.exceeds).collect();
    let set = found
        .iter()
        .filter(|(((_, is_computed), _), _)| !is_computed);
    let set: BTreeSet<RateKey> = set.map(|(((key, _), _), _)| *key).collect();
    let deviations = found
        .into_iter()
        .filter_map(|(((key, is_computed), step), answer)| {
            let is_said = is_computed && set.contains(&key.opposite());
            (!is_said).then_some(Deviation {
                key,
                old: step.old,
                new: step.new,
                percent: answer.percent,
                hint: answer.hint,
            })
        });
    Ok(deviations.collect())
}
