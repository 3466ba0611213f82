//! The rate math of the module, as the host asks for it: many calls in one request, decimals as text.
//!
//! Nothing here computes. What a shop uses, what has changed for it, and amounts in another currency are the module's
//! answers (`rates.md`, "Which rates a shop uses").

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::app::App;
use crate::engine::EngineError;
use crate::error::{Error, Result};
use crate::rates::units::number::Exact;

/// The most bytes of calls in one request: what a call may take grows with them.
const MAX_REQUEST: usize = 2 << 20;

/// A rate as the module writes it, decimals as text.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::rates) struct Rate<'a> {
    #[serde(borrow)]
    pub(in crate::rates) exchange_rate_type: &'a str,
    pub(in crate::rates) currency_id_from: &'a str,
    pub(in crate::rates) currency_id_to: &'a str,
    pub(in crate::rates) rate_value: &'a str,
    pub(in crate::rates) rate_value_with_markup: &'a str,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) created_date: Option<&'a str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) created_by: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) last_modified: Option<&'a str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) set_at: Option<Cow<'a, str>>,
}

/// A rate of a message (`given.md`, 2.5).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageRate<'a> {
    exchange_rate_type: &'a str,
    source_currency_code: &'a str,
    target_currency_code: &'a str,
    rate_value: &'a RawValue,
    rate_value_with_markup: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_date: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<&'a str>,
}

/// A rate that is used, as it is answered (`rates.md`, "Which rates a shop uses").
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::rates) struct UsedRate<'a> {
    exchange_rate_type: &'a str,
    currency_id_from: &'a str,
    currency_id_to: &'a str,
    rate_value: &'a RawValue,
    rate_value_with_markup: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_date: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_at: Option<&'a str>,
}

impl Rate<'_> {
    /// As it is answered.
    pub(in crate::rates) fn used(&self) -> Result<UsedRate<'_>> {
        Ok(UsedRate {
            exchange_rate_type: self.exchange_rate_type,
            currency_id_from: self.currency_id_from,
            currency_id_to: self.currency_id_to,
            rate_value: self.rate_value.exact()?,
            rate_value_with_markup: self.rate_value_with_markup.exact()?,
            created_date: self.created_date,
            created_by: self.created_by.as_deref(),
            last_modified: self.last_modified,
            set_at: self.set_at.as_deref(),
        })
    }

    fn message(&self) -> Result<MessageRate<'_>> {
        Ok(MessageRate {
            exchange_rate_type: self.exchange_rate_type,
            source_currency_code: self.currency_id_from,
            target_currency_code: self.currency_id_to,
            rate_value: self.rate_value.exact()?,
            rate_value_with_markup: self.rate_value_with_markup.exact()?,
            created_date: self.created_date,
            created_by: self.created_by.as_deref(),
            last_modified: self.last_modified,
        })
    }
}

/// The lists of a message, empty ones left out (`given.md`, 6.1).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Lists<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    created_rates: Vec<MessageRate<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    updated_rates: Vec<MessageRate<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deleted_rates: Vec<MessageRate<'a>>,
}

/// What the module says has changed for a shop.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DifferenceAnswer<'a> {
    #[serde(borrow)]
    created_rates: Vec<Rate<'a>>,
    #[serde(borrow)]
    updated_rates: Vec<Rate<'a>>,
    #[serde(borrow)]
    deleted_rates: Vec<Rate<'a>>,
    #[serde(borrow)]
    rates: &'a RawValue,
}

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

impl Difference {
    fn read(answer: &DifferenceAnswer<'_>) -> Result<Self> {
        let lists = Lists {
            created_rates: messages(&answer.created_rates)?,
            updated_rates: messages(&answer.updated_rates)?,
            deleted_rates: messages(&answer.deleted_rates)?,
        };
        let changed = [
            &lists.created_rates,
            &lists.updated_rates,
            &lists.deleted_rates,
        ];
        let has_message = changed.iter().any(|list| !list.is_empty());
        Ok(Self {
            lists: has_message.then(|| to_json(&lists)).transpose()?,
            rates: Bytes::copy_from_slice(answer.rates.get().as_bytes()),
            is_changed: has_message,
        })
    }
}

/// The lists of the message that re-sends all rates that a shop uses (`given.md`, 4.3).
pub(in crate::rates) fn all_rates(used: &[u8]) -> Result<Bytes> {
    let used = read_rates(used)?;
    to_json(&Lists {
        created_rates: Vec::new(),
        updated_rates: messages(&used)?,
        deleted_rates: Vec::new(),
    })
}

/// The rates of a list that the module wrote.
pub(in crate::rates) fn read_rates(list: &[u8]) -> Result<Vec<Rate<'_>>> {
    serde_json::from_slice(list).map_err(|cause| damaged(&cause))
}

fn messages<'a>(rates: &'a [Rate<'a>]) -> Result<Vec<MessageRate<'a>>> {
    rates.iter().map(Rate::message).collect()
}

fn to_json(value: &impl Serialize) -> Result<Bytes> {
    let json = serde_json::to_vec(value).map_err(|cause| damaged(&cause))?;
    Ok(json.into())
}

fn damaged(cause: &serde_json::Error) -> Error {
    Error::Bug(format!("rates are damaged: {cause}"))
}

/// The call for what has changed for a shop that used `before` and stands below these levels (a list without brackets),
/// at a time in text.
pub(in crate::rates) fn difference_call(before: &[u8], levels: &str, at: &str) -> String {
    let before = String::from_utf8_lossy(before);
    format!(r#"{{"op":"difference","before":{before},"levels":[{levels}],"at":"{at}"}}"#)
}

/// The call for the rates that are used below these levels.
pub(in crate::rates) fn used_call(levels: &str) -> String {
    format!(r#"{{"op":"used","levels":[{levels}]}}"#)
}

/// What has changed for each of these shops.
pub(in crate::rates) async fn differences(
    app: &Arc<App>,
    calls: Vec<String>,
) -> Result<Vec<Difference>> {
    answers(app, calls, |answers| {
        let answers: Answers<DifferenceAnswer<'_>> = read(answers)?;
        answers.answers.iter().map(Difference::read).collect()
    })
    .await
}

/// The used rates of each call, as lists that the module wrote.
pub(in crate::rates) async fn used(app: &Arc<App>, calls: Vec<String>) -> Result<Vec<Bytes>> {
    #[derive(Deserialize)]
    struct Used<'a> {
        #[serde(borrow)]
        rates: &'a RawValue,
    }
    answers(app, calls, |answers| {
        let answers: Answers<Used<'_>> = read(answers)?;
        let list = |used: &Used<'_>| Bytes::copy_from_slice(used.rates.get().as_bytes());
        Ok(answers.answers.iter().map(list).collect())
    })
    .await
}

/// What the module answers to calls that need little: refusals are the caller's business.
pub(in crate::rates) fn ask(app: &App, calls: &[serde_json::Value]) -> Result<Bytes, EngineError> {
    let request = serde_json::json!({ "calls": calls }).to_string();
    app.engine.rates(request.as_bytes())
}

#[derive(Deserialize)]
struct Answers<T> {
    answers: Vec<T>,
}

fn read<'a, T: Deserialize<'a>>(answers: &'a [u8]) -> Result<Answers<T>> {
    serde_json::from_slice(answers).map_err(|cause| damaged(&cause))
}

/// Runs calls in as few requests as their size allows, off the threads that serve.
async fn answers<T: Send + 'static>(
    app: &Arc<App>,
    calls: Vec<String>,
    read: fn(&[u8]) -> Result<Vec<T>>,
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

/// Rates as the module writes them.
pub(in crate::rates) fn write_rates(rates: &[Rate<'_>]) -> Result<Bytes> {
    to_json(&rates)
}
