//! The rate math of the module, as the host calls it: many calls in one request, decimals as text.
//!
//! Nothing here computes. What a shop uses, what has changed for it, whether rates can be set together, and amounts in
//! another currency are the module's answers (`rates.md`, "Which rates a shop uses"). Only this file knows the names of
//! its operations.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use tillgate_engine::rate::Rate;
use tillgate_engine::{Code, Fault};

use crate::app::App;
use crate::engine::EngineError;
use crate::error::{Error, Result};
use crate::rates::topic;
use crate::rates::units::rate_text::RateText;

/// The most bytes of calls in one request: what a call may take grows with them.
const MAX_REQUEST: usize = 2 << 20;

/// The most crosses in one request.
const CROSSES_AT_ONCE: usize = 5_000;

/// What has changed for a shop, and what it uses from then on.
#[derive(Clone, Debug)]
pub(in crate::rates) struct Difference {
    /// The lists of its message, a JSON object; `None` when nothing changed, so that there is no message.
    pub(in crate::rates) lists: Option<Bytes>,
    /// All rates that it uses from then on, a list as the module writes it.
    pub(in crate::rates) rates: Bytes,
    /// Whether these are others than before, if only in where they are set.
    pub(in crate::rates) is_changed: bool,
}

/// What the module says has changed for a shop.
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
    fn read(before: &[u8], answer: &DifferenceAnswer<'_>) -> Result<Self> {
        let DifferenceAnswer {
            created_rates: created,
            updated_rates: updated,
            deleted_rates: deleted,
            rates,
        } = answer;
        let has_message = !(created.is_empty() && updated.is_empty() && deleted.is_empty());
        let lists = has_message.then(|| topic::lists(created, updated, deleted));
        let rates = rates.get().as_bytes();
        Ok(Self {
            lists: lists.transpose()?,
            is_changed: rates != before,
            rates: Bytes::copy_from_slice(rates),
        })
    }
}

/// The call for what has changed for a shop.
#[derive(Debug)]
pub(in crate::rates) struct DifferenceCall {
    before: Bytes,
    text: String,
}

impl DifferenceCall {
    /// What has changed for a shop that used `before` and stands below these levels (a list without brackets), at a time
    /// in text.
    pub(in crate::rates) fn new(before: Bytes, levels: &str, at: &str) -> Self {
        let used = String::from_utf8_lossy(&before);
        let text =
            format!(r#"{{"op":"difference","before":{used},"levels":[{levels}],"at":"{at}"}}"#);
        Self { before, text }
    }

    /// Its size in bytes.
    pub(in crate::rates) const fn len(&self) -> usize {
        self.text.len()
    }
}

/// What has changed for each of these shops.
///
/// # Errors
/// [`Error::Bug`] when the module does not answer.
pub(in crate::rates) async fn differences(
    app: &Arc<App>,
    calls: Vec<DifferenceCall>,
) -> Result<Vec<Difference>> {
    let calls = calls.into_iter().map(|call| (call.before, call.text));
    let (befores, texts): (Vec<Bytes>, Vec<String>) = calls.unzip();
    let mut befores = befores.into_iter();
    call_many(app, texts, move |answers| {
        let answers: Answers<DifferenceAnswer<'_>> = read(answers)?;
        let answers = answers.answers.iter().zip(befores.by_ref());
        let differences = answers.map(|(answer, before)| Difference::read(&before, answer));
        differences.collect()
    })
    .await
}

/// The call for the rates that are used below these levels (a list without brackets).
pub(in crate::rates) fn used_call(levels: &str) -> String {
    format!(r#"{{"op":"used","levels":[{levels}]}}"#)
}

/// The used rates of each call, as lists that the module wrote.
///
/// # Errors
/// [`Error::Bug`] when the module does not answer.
pub(in crate::rates) async fn used(app: &Arc<App>, calls: Vec<String>) -> Result<Vec<Bytes>> {
    #[derive(Deserialize)]
    struct Used<'a> {
        #[serde(borrow)]
        rates: &'a RawValue,
    }
    call_many(app, calls, |answers| {
        let answers: Answers<Used<'_>> = read(answers)?;
        let list = |used: &Used<'_>| Bytes::copy_from_slice(used.rates.get().as_bytes());
        Ok(answers.answers.iter().map(list).collect())
    })
    .await
}

/// The rates of a list that the module wrote.
///
/// # Errors
/// [`Error::Bug`] when it is damaged.
pub(in crate::rates) fn read_rates(list: &[u8]) -> Result<Vec<RateText<'_>>> {
    serde_json::from_slice(list).map_err(|cause| damaged(&cause))
}

/// Why a rate of a list cannot be set with the others.
#[derive(Debug)]
pub(in crate::rates) struct RateFault {
    /// The rate's place in the list; `None` for a fault of the whole list.
    pub(in crate::rates) index: Option<usize>,
    pub(in crate::rates) fault: Fault,
}

/// Whether the rates of a list can be set together at a unit: every fault, none if they can.
///
/// # Errors
/// [`Error::Bug`] when the module does not answer.
pub(in crate::rates) fn check(app: &App, rates: &[u8]) -> Result<Vec<RateFault>> {
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

/// An amount times a rate, rounded to the minor unit of a currency; all decimals.
///
/// # Errors
/// [`Error::Invalid`] with the path `$.amount` for one that becomes too large.
pub(in crate::rates) fn convert(
    app: &App,
    amount: &str,
    rate: &str,
    currency: &str,
) -> Result<String> {
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

/// The cross rates of pairs of quotes: each the first by the second, rounded once.
///
/// # Errors
/// [`Error::Invalid`] when one of them cannot be set.
pub(in crate::rates) fn crosses(app: &App, quotes: &[[Rate; 2]]) -> Result<Vec<Rate>> {
    #[derive(Deserialize)]
    struct Cross {
        rate: String,
    }
    let mut rates = Vec::with_capacity(quotes.len());
    for quotes in quotes.chunks(CROSSES_AT_ONCE) {
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

#[derive(Deserialize)]
struct Answers<T> {
    answers: Vec<T>,
}

fn read<'a, T: Deserialize<'a>>(answers: &'a [u8]) -> Result<Answers<T>> {
    serde_json::from_slice(answers).map_err(|cause| damaged(&cause))
}

/// The answers to calls that need little, on this thread.
fn call_few<T: DeserializeOwned>(app: &App, calls: &[serde_json::Value]) -> Result<Vec<T>> {
    let request = json!({ "calls": calls }).to_string();
    let answers = app.engine.rates(request.as_bytes())?;
    Ok(read::<T>(&answers)?.answers)
}

/// The answers to calls in as few requests as their size allows, off the threads that serve.
async fn call_many<T: Send + 'static>(
    app: &Arc<App>,
    calls: Vec<String>,
    mut read: impl FnMut(&[u8]) -> Result<Vec<T>> + Send + 'static,
) -> Result<Vec<T>> {
    let run = move |app: &App| {
        let mut all = Vec::with_capacity(calls.len());
        let mut calls = calls.into_iter().peekable();
        while calls.peek().is_some() {
            let mut request = String::from(r#"{"calls":["#);
            let begin = request.len();
            while let Some(call) = calls
                .next_if(|call| request.len() == begin || request.len() + call.len() < MAX_REQUEST)
            {
                if request.len() > begin {
                    request.push(',');
                }
                request.push_str(&call);
            }
            request.push_str("]}");
            all.extend(read(&app.engine.rates(request.as_bytes())?)?);
        }
        Ok(all)
    };
    app.run_blocking(run).await?
}

fn damaged(cause: &serde_json::Error) -> Error {
    Error::Bug(format!("rates are damaged: {cause}"))
}

/// The module has answered fewer calls than it was given.
pub(in crate::rates) fn no_answer() -> Error {
    Error::Bug("the module did not answer".to_owned())
}
