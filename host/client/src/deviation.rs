//! A rate that would move by more than its tolerance, as a host reports it.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Deviation<'j> {
    #[serde(borrow)]
    exchange_rate_type: Cow<'j, str>,
    #[serde(borrow)]
    currency_id_from: Cow<'j, str>,
    #[serde(borrow)]
    currency_id_to: Cow<'j, str>,
    #[serde(borrow)]
    old: &'j RawValue,
    #[serde(borrow)]
    new: &'j RawValue,
    #[serde(borrow)]
    percent: &'j RawValue,
    #[serde(borrow, default)]
    hint: Option<Cow<'j, str>>,
}

impl fmt::Display for Deviation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            exchange_rate_type,
            currency_id_from,
            currency_id_to,
            old,
            new,
            percent,
            hint,
        } = self;
        let hint = match hint.as_deref() {
            Some("INVERTED") => ", looks inverted",
            Some("DECIMAL_POINT") => ", looks like a slipped decimal point",
            _ => "",
        };
        write!(
            f,
            "{exchange_rate_type} 1 {currency_id_to} = {new} {currency_id_from} instead of {old} ({percent} %{hint})"
        )
    }
}
