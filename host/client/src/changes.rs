//! Prints the changes to a shop's rates, from a message of the topic or the sample of a dry run. Numbers are printed as
//! the host wrote them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The number of rates that a list names.
const NAMED: usize = 4;

/// The changes to a shop's rates.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Changes<'j> {
    #[serde(borrow)]
    business_unit_id: Cow<'j, str>,
    #[serde(borrow)]
    created_rates: Option<Vec<Rate<'j>>>,
    #[serde(borrow)]
    updated_rates: Option<Vec<Rate<'j>>>,
    #[serde(borrow)]
    deleted_rates: Option<Vec<Rate<'j>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rate<'j> {
    #[serde(borrow)]
    exchange_rate_type: Cow<'j, str>,
    #[serde(borrow)]
    source_currency_code: Cow<'j, str>,
    #[serde(borrow)]
    target_currency_code: Cow<'j, str>,
    #[serde(borrow)]
    rate_value: &'j RawValue,
    #[serde(borrow)]
    rate_value_with_markup: Option<&'j RawValue>,
}

impl fmt::Display for Changes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("created", &self.created_rates),
            ("updated", &self.updated_rates),
            ("deleted", &self.deleted_rates),
        ];
        let lists = lists.into_iter().filter_map(|(verb, rates)| {
            let rates = rates.as_deref().filter(|rates| !rates.is_empty())?;
            Some(format!("{verb} {}", describe(rates)))
        });
        let lists: Vec<String> = lists.collect();
        let changes = if lists.is_empty() {
            "no rates".to_owned()
        } else {
            lists.join("; ")
        };
        write!(f, "{}  {changes}", self.business_unit_id)
    }
}

fn describe(rates: &[Rate<'_>]) -> String {
    let named = rates.iter().take(NAMED).map(Rate::to_string);
    let mut words = named.collect::<Vec<_>>().join(", ");
    if rates.len() > NAMED {
        words += &format!(" and {} more", rates.len() - NAMED);
    }
    words
}

impl fmt::Display for Rate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            exchange_rate_type,
            source_currency_code: source,
            target_currency_code: target,
            rate_value: rate,
            ..
        } = self;
        write!(f, "{exchange_rate_type} 1 {target} = {rate} {source}")?;
        match self.rate_value_with_markup {
            Some(lowered) if lowered.get() != rate.get() => write!(f, " ({lowered} with markup)"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(json: &str) -> Option<String> {
        let changes: Option<Changes<'_>> = serde_json::from_str(json).ok();
        changes.map(|changes| changes.to_string())
    }

    #[test]
    fn each_list_is_printed_with_its_first_rates_and_the_hosts_own_digits() {
        let rate = |value: &str, lowered: &str| {
            format!(
                r#"{{"exchangeRateType":"SALES","sourceCurrencyCode":"SEK","targetCurrencyCode":"EUR","rateValue":{value}{lowered},"later":[]}}"#
            )
        };
        let lowered = rate("11.0500", r#","rateValueWithMarkup":10.77375"#);
        let same = rate("1", r#","rateValueWithMarkup":1"#);
        let many = vec![rate("123456789.123456", ""); 6].join(",");
        let json = format!(
            r#"{{"businessUnitId":"se-001","createdRates":[{lowered}],"updatedRates":[{many}],"deletedRates":[{same}]}}"#
        );
        let one = "SALES 1 EUR = 123456789.123456 SEK";
        let expected = format!(
            "se-001  created SALES 1 EUR = 11.0500 SEK (10.77375 with markup); \
             updated {one}, {one}, {one}, {one} and 2 more; deleted SALES 1 EUR = 1 SEK"
        );
        assert_eq!(words(&json), Some(expected));
    }

    #[test]
    fn missing_empty_and_null_lists_are_the_same() {
        let json = r#"{"businessUnitId":"s\u00e9","createdRates":[],"updatedRates":null}"#;
        assert_eq!(words(json).as_deref(), Some("sé  no rates"));
        assert_eq!(words(r#"{"createdRates":[]}"#), None);
    }
}
