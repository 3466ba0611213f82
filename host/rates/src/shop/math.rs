//! Calls the rate math of the module: many calls in one request, decimals as text.
//!
//! Nothing is computed here. The module answers what a shop uses, what has changed for it, whether rates can be set
//! together, and amounts in another currency (`rates.md`, "Which rates a shop uses"). Only this file knows the names of
//! its operations.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use tillgate_base::app::App;
use tillgate_base::engine::EngineError;
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::Rate;
use tillgate_engine::{Code, Fault};

use super::content::Content;
use super::parts::{self, Part};
use crate::topic;
use crate::units::rate_text::RateText;
use crate::units::tree::Node;

/// The most bytes of calls in one request: the module's memory grows with them.
const MAX_REQUEST: usize = 1 << 20;

/// The most crosses, or comparisons, in one request.
const CALLS_AT_ONCE: usize = 5_000;

/// The difference of a shop: what has changed for it, and what it uses from then on.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// The lists of its message, a JSON object; `None` when nothing changed and there is no message.
    pub(crate) lists: Option<Content>,
    /// All rates that it uses from then on: a list as the module writes it.
    pub(crate) rates: Content,
    /// True if these differ from those before, if only in where they are set.
    pub(crate) is_changed: bool,
}

/// The module's answer for the difference of a shop.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DifferenceAnswer<'a> {
    #[serde(borrow)]
    created_rates: Vec<RateText<'a>>,
    #[serde(borrow)]
    updated_rates: Vec<RateText<'a>>,
    #[serde(borrow)]
    deleted_rates: Vec<RateText<'a>>,
    #[serde(borrow)]
    rates: &'a RawValue,
}

impl Difference {
    /// Combines the answers to the parts of a call.
    fn read(before: &[u8], answers: &[Bytes]) -> Result<Self> {
        let mut parts: Vec<DifferenceAnswer<'_>> = Vec::with_capacity(answers.len());
        for answer in answers {
            parts.push(serde_json::from_slice(answer).map_err(|cause| damaged(&cause))?);
        }
        let (mut created, mut updated, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        let mut rates = Vec::new();
        for part in parts {
            created.extend(part.created_rates);
            updated.extend(part.updated_rates);
            deleted.extend(part.deleted_rates);
            rates.push(part.rates);
        }
        if answers.len() > 1 {
            for list in [&mut created, &mut updated, &mut deleted] {
                parts::sort(list)?;
            }
        }
        let has_message = !(created.is_empty() && updated.is_empty() && deleted.is_empty());
        let lists = has_message.then(|| topic::lists(&created, &updated, &deleted));
        let rates = parts::join(&rates)?;
        Ok(Self {
            lists: lists.transpose()?.map(Content::new),
            is_changed: rates != before,
            rates: Content::new(rates),
        })
    }
}

/// The call for the difference of a shop that used `before` and has the levels of these units, its own first, at a time
/// in text. The call is written only when it is made, because it may be large.
#[derive(Debug)]
pub(crate) struct DifferenceCall {
    pub(crate) before: Bytes,
    pub(crate) levels: Vec<Arc<Node>>,
    pub(crate) at: String,
}

impl DifferenceCall {
    /// Returns about how many bytes the call takes.
    pub(crate) fn len(&self) -> usize {
        self.before.len()
            + self
                .levels
                .iter()
                .map(|node| parts::len(node))
                .sum::<usize>()
    }

    /// Returns the text of the call, in as many parts as its size needs.
    fn parts(&self) -> Result<Vec<String>> {
        let at = &self.at;
        let levels: Vec<&Node> = self.levels.iter().map(AsRef::as_ref).collect();
        let parts = parts::of(&self.before, &levels)?.into_iter();
        let call = |part: Part| {
            let (used, levels) = (part.used, part.levels);
            format!(r#"{{"op":"difference","before":{used},"levels":[{levels}],"at":"{at}"}}"#)
        };
        Ok(parts.map(call).collect())
    }
}

/// Returns the difference of each of these shops.
///
/// # Errors
/// [`Error::Bug`] when what was stored is damaged, or the module does not answer.
pub(crate) async fn differences(
    app: &Arc<App>,
    calls: Vec<DifferenceCall>,
) -> Result<Vec<Difference>> {
    let run = move |app: &App| {
        let (mut shops, mut texts) = (Vec::new(), Vec::new());
        for call in calls {
            let parts = call.parts()?;
            shops.push((call.before, parts.len()));
            texts.extend(parts);
        }
        let mut answers = call_all(app, texts)?.into_iter();
        let read = |(before, parts): (Bytes, usize)| {
            Difference::read(&before, &answers.by_ref().take(parts).collect::<Vec<_>>())
        };
        shops.into_iter().map(read).collect()
    };
    app.run_blocking(run).await?
}

/// Returns the rates that are used at the levels of these units, the lowest first: a list as the module writes it.
///
/// # Errors
/// [`Error::Bug`] when the module does not answer.
pub(crate) fn used_at(app: &App, levels: &[&Node]) -> Result<Bytes> {
    let parts = parts::of(b"[]", levels)?.into_iter();
    let used = used(app, parts.map(|part| used_call(&part.levels)).collect())?;
    parts::join_lists(&used)
}

/// Returns the call for the rates that are used below these levels, a list without brackets.
pub(crate) fn used_call(levels: &str) -> String {
    format!(r#"{{"op":"used","levels":[{levels}]}}"#)
}

/// Returns the used rates of each call, as lists that the module wrote.
///
/// # Errors
/// [`Error::Bug`] when the module does not answer.
pub(crate) fn used(app: &App, calls: Vec<String>) -> Result<Vec<Bytes>> {
    #[derive(Deserialize)]
    struct Used<'a> {
        #[serde(borrow)]
        rates: &'a RawValue,
    }
    let list = |answer: Bytes| {
        let used: Used<'_> = serde_json::from_slice(&answer).map_err(|cause| damaged(&cause))?;
        Ok(answer.slice_ref(used.rates.get().as_bytes()))
    };
    call_all(app, calls)?.into_iter().map(list).collect()
}

/// Reads the rates of a list that the module wrote.
///
/// # Errors
/// [`Error::Bug`] when it is damaged.
pub(crate) fn read_rates(list: &[u8]) -> Result<Vec<RateText<'_>>> {
    serde_json::from_slice(list).map_err(|cause| damaged(&cause))
}

/// A reason why a rate of a list cannot be set with the others.
#[derive(Debug)]
pub(crate) struct RateFault {
    /// The rate's place in the list; `None` for a fault of the whole list.
    pub(crate) index: Option<usize>,
    pub(crate) fault: Fault,
}

/// Checks whether the rates of a list can be set together at a unit. Returns every fault, none if they can.
///
/// # Errors
/// [`Error::Bug`] when the module does not answer.
pub(crate) fn check(app: &App, rates: &[u8]) -> Result<Vec<RateFault>> {
    let rates = String::from_utf8_lossy(rates);
    let request = format!(r#"{{"calls":[{{"op":"check","rates":{rates}}}]}}"#);
    let faults = match app.engine.rates(request.as_bytes()) {
        Ok(_) => return Ok(Vec::new()),
        Err(EngineError::Refused(Code::Invalid, faults)) => faults,
        Err(cause) => return Err(cause.into()),
    };
    let faults = faults.into_iter().map(|fault| {
        let index = fault.path.strip_prefix("$.calls[0].rates[");
        let index = index.and_then(|rest| rest.split_once(']')?.0.parse().ok());
        RateFault { index, fault }
    });
    Ok(faults.collect())
}

/// Returns an amount times a rate, rounded to the minor unit of a currency; all are decimals.
///
/// # Errors
/// [`Error::Invalid`] with the path `$.amount` for a result that is too large.
pub(crate) fn convert(app: &App, amount: &str, rate: &str, currency: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Amount {
        amount: String,
    }
    let call = json!({ "op": "convert", "amount": amount, "rate": rate, "currency": currency });
    let answers = call_few(app, &[call]).map_err(|error| match error {
        Error::Invalid(faults) => {
            let fault = faults.into_iter().next();
            let message = fault.map_or_else(String::new, |fault| fault.message.into_owned());
            Error::invalid("$.amount", message)
        }
        other => other,
    })?;
    let answer: Option<Amount> = answers.into_iter().next();
    Ok(answer.ok_or_else(no_answer)?.amount)
}

/// Returns the cross rates of pairs of quotes: each the first divided by the second, rounded once.
///
/// # Errors
/// [`Error::Invalid`] when one of them cannot be set.
pub(crate) fn crosses(app: &App, quotes: &[[Rate; 2]]) -> Result<Vec<Rate>> {
    #[derive(Deserialize)]
    struct Cross {
        rate: String,
    }
    let mut rates = Vec::with_capacity(quotes.len());
    for quotes in quotes.chunks(CALLS_AT_ONCE) {
        let calls = quotes.iter().map(|quotes| {
            let [rate, per] = quotes.map(|quote| quote.value().to_string());
            json!({ "op": "cross", "rate": rate, "per": per })
        });
        let calls: Vec<_> = calls.collect();
        for cross in call_few::<Cross>(app, &calls)? {
            let rate = Rate::parse(&cross.rate);
            rates.push(rate.map_err(|cause| Error::Bug(cause.to_string()))?);
        }
    }
    Ok(rates)
}

/// A rate's value before and after a change, and its tolerance in percent: decimals.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) tolerance: String,
}

/// The module's answer for a [`Move`].
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Moved {
    /// In percent, a decimal; negative when it falls.
    pub(crate) percent: String,
    /// True if that is more than the tolerance.
    pub(crate) exceeds: bool,
    /// The slip that it looks like: `INVERTED` or `DECIMAL_POINT`.
    pub(crate) hint: Option<String>,
}

/// Returns how far each of these rates moves.
///
/// # Errors
/// [`Error::Bug`] when the module does not answer.
pub(crate) fn deviations(app: &App, moves: &[Move]) -> Result<Vec<Moved>> {
    let mut moved = Vec::with_capacity(moves.len());
    for moves in moves.chunks(CALLS_AT_ONCE) {
        let calls = moves.iter().map(|Move { old, new, tolerance }| {
            json!({ "op": "deviation", "old": old, "new": new, "tolerancePercentage": tolerance })
        });
        moved.extend(call_few::<Moved>(app, &calls.collect::<Vec<_>>())?);
    }
    if moved.len() == moves.len() {
        Ok(moved)
    } else {
        Err(no_answer())
    }
}

#[derive(Deserialize)]
struct Answers<T> {
    answers: Vec<T>,
}

fn read<'a, T: Deserialize<'a>>(answers: &'a [u8]) -> Result<Answers<T>> {
    serde_json::from_slice(answers).map_err(|cause| damaged(&cause))
}

/// Returns the answers to calls that need little, on this thread.
fn call_few<T: DeserializeOwned>(app: &App, calls: &[serde_json::Value]) -> Result<Vec<T>> {
    let request = json!({ "calls": calls }).to_string();
    let answers = app.engine.rates(request.as_bytes())?;
    Ok(read::<T>(&answers)?.answers)
}

/// Returns the answers to calls as JSON, in as few requests as their size allows.
fn call_all(app: &App, calls: Vec<String>) -> Result<Vec<Bytes>> {
    let mut all = Vec::with_capacity(calls.len());
    let mut calls = calls.into_iter().peekable();
    while calls.peek().is_some() {
        let mut request = String::from(r#"{"calls":["#);
        let begin = request.len();
        while let Some(call) =
            calls.next_if(|call| request.len() == begin || request.len() + call.len() < MAX_REQUEST)
        {
            if request.len() > begin {
                request.push(',');
            }
            request.push_str(&call);
        }
        request.push_str("]}");
        let answers = app.engine.rates(request.as_bytes())?;
        let read: Answers<&RawValue> = read(&answers)?;
        let answer = |raw: &&RawValue| answers.slice_ref(raw.get().as_bytes());
        all.extend(read.answers.iter().map(answer));
    }
    Ok(all)
}

fn damaged(cause: &serde_json::Error) -> Error {
    Error::Bug(format!("rates are damaged: {cause}"))
}

/// Returns the error for a module that has answered fewer calls than it was given.
pub(crate) fn no_answer() -> Error {
    Error::Bug("the module did not answer".to_owned())
}
