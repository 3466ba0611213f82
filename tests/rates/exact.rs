//! Numbers are text on input and the same text on output, everywhere: they are never binary floats.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::Shop;
use super::listener::Listener;

/// A rate as it is sent, as it is answered, and its opposite as it is answered.
const RATES: &[(&str, &str, &str)] = &[
    ("0.1", "0.1", "10"),
    ("1.1", "1.1", "0.909091"),
    ("1.10", "1.1", "0.909091"),
    ("1e-6", "0.000001", "1000000"),
    ("0.000001", "0.000001", "1000000"),
    ("49e-6", "0.000049", "20408.163265"),
    ("3", "3", "0.333333"),
    ("1.5", "1.5", "0.666667"),
    ("0.3", "0.3", "3.333333"),
    ("123456.789012", "123456.789012", "0.000008"),
    ("2E+6", "2000000", "0.000001"),
];

/// Returns the text of the first member with this name after a text.
fn member<'t>(text: &'t str, after: &str, name: &str) -> &'t str {
    let (_, rest) = text
        .split_once(after)
        .unwrap_or_else(|| panic!("{after} in {text}"));
    let (_, rest) = rest.split_once(&format!("\"{name}\":")).unwrap();
    rest.split([',', '}']).next().unwrap()
}

const SEK_EUR: &str = r#""currencyIdFrom":"SEK","currencyIdTo":"EUR""#;
const EUR_SEK: &str = r#""currencyIdFrom":"EUR","currencyIdTo":"SEK""#;
const SENT_SEK_EUR: &str = r#""sourceCurrencyCode":"SEK","targetCurrencyCode":"EUR""#;
const SENT_EUR_SEK: &str = r#""sourceCurrencyCode":"EUR","targetCurrencyCode":"SEK""#;

/// Puts a text body, asserts the status and returns the text of the answer.
async fn put(shop: &Shop, status: u16, path: &str, body: String) -> String {
    let request = shop
        .host
        .request(Method::PUT, &format!("/api/v1/{path}"), &shop.token);
    let request = request
        .header("content-type", "application/json")
        .body(body);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), status);
    response.text().await.unwrap()
}

#[tokio::test]
async fn a_rate_is_answered_sent_and_charted_as_it_was_set() {
    let shop = Shop::with_units().await;
    let mut listener = Listener::join(&shop, "businessUnitId=SE-1").await;
    let path = "business-units/C/exchange-rates/SALES/SEK/EUR";
    for (at, (given, value, opposite)) in RATES.iter().enumerate() {
        let body = || format!(r#"{{"rateValue": {given} }}"#);
        // 1.10 after 1.1, and 0.000001 after 1e-6, are equal: there is no message.
        let is_message = !["1.10", "0.000001"].contains(given);
        let dry = put(&shop, 200, &format!("{path}?dryRun=true"), body()).await;
        if is_message {
            assert_eq!(member(&dry, SENT_SEK_EUR, "rateValue"), *value);
            assert_eq!(member(&dry, SENT_EUR_SEK, "rateValue"), *opposite);
        }
        shop.clock.advance(std::time::Duration::from_secs(1));
        let status = if at == 0 { 201 } else { 200 };
        let set = put(&shop, status, path, body()).await;
        assert_eq!(member(&set, SEK_EUR, "rateValue"), *value);
        shop.host.run_due().await;
        for path in [path, "business-units/C/exchange-rates"] {
            let set = shop.text(path).await;
            assert_eq!(member(&set, SEK_EUR, "rateValue"), *value);
        }
        for unit in ["C", "SE-1"] {
            let used = shop
                .text(&format!("exchange-rates?businessUnit={unit}"))
                .await;
            for name in ["rateValue", "rateValueWithMarkup"] {
                assert_eq!(member(&used, SEK_EUR, name), *value);
                assert_eq!(member(&used, EUR_SEK, name), *opposite);
            }
        }
        let history = "exchange-rates/history?businessUnit=SE-1&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR&limit=1000";
        let history = shop.text(history).await;
        let (before, last) = history.rsplit_once(r#""at":"#).unwrap();
        assert!(before.starts_with(r#"{"items":[{"#));
        assert_eq!(member(last, "", "rateValue"), *value);
        if is_message {
            let event = listener.next().await.unwrap();
            assert_eq!(member(&event.data, SENT_SEK_EUR, "rateValue"), *value);
            assert_eq!(
                member(&event.data, SENT_EUR_SEK, "rateValueWithMarkup"),
                *opposite
            );
        }
    }
}

#[tokio::test]
async fn fifteen_digits_are_kept_and_a_rate_needs_an_opposite_that_is_not_nothing() {
    let shop = Shop::with_units().await;
    let set = |from: &str, to: &str, value: &str| {
        format!(
            r#"{{"exchangeRateType":"SALES","currencyIdFrom":"{from}","currencyIdTo":"{to}","rateValue":{value}}}"#
        )
    };
    for (large, small) in [
        ("999999999999999", "0.000001"),
        ("999999999.999999", "0.000002"),
        ("123456789012.345", "0.1"),
    ] {
        let body = format!(
            r#"{{"set":[{},{}]}}"#,
            set("IRR", "KWD", large),
            set("KWD", "IRR", small)
        );
        let path = "business-units/C/exchange-rates";
        let (status, answer) = shop.send_text(Method::POST, path, &body).await;
        assert_eq!(status, 200, "{answer}");
        shop.host.run_due().await;
        let used = shop.text("exchange-rates?businessUnit=SE-1").await;
        let pair = r#""currencyIdFrom":"IRR","currencyIdTo":"KWD""#;
        assert_eq!(member(&used, pair, "rateValueWithMarkup"), large);
        let pair = r#""currencyIdFrom":"KWD","currencyIdTo":"IRR""#;
        assert_eq!(member(&used, pair, "rateValue"), small);
    }
}

#[tokio::test]
async fn a_markup_of_a_ten_thousandth_of_a_percent_counts() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "11.05").await;
    let body = r#"{"type":"STORE","parentId":"SE","markupPercentage":0.0001}"#;
    let unit = put(&shop, 200, "business-units/SE-1", body.to_owned()).await;
    assert_eq!(member(&unit, "", "markupPercentage"), "0.0001");
    let used = shop.text("exchange-rates?businessUnit=SE-1").await;
    // 11.05 × 0.999999, and 1 ÷ 11.05 × 0.999999, each rounded once.
    assert_eq!(member(&used, SEK_EUR, "rateValueWithMarkup"), "11.049989");
    assert_eq!(member(&used, EUR_SEK, "rateValueWithMarkup"), "0.090498");
    for (given, value) in [
        ("99.9999", "99.9999"),
        ("2.50", "2.5"),
        ("0", "0"),
        ("1e-4", "0.0001"),
    ] {
        let body = format!(r#"{{"type":"STORE","parentId":"SE","markupPercentage":{given}}}"#);
        put(&shop, 200, "business-units/SE-1", body).await;
        let unit = shop.text("business-units/SE-1").await;
        assert_eq!(member(&unit, "", "markupPercentage"), value);
    }
}

#[tokio::test]
async fn amounts_are_converted_in_decimals_and_rounded_to_the_minor_unit() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "11.05").await;
    shop.set("C", "JPY", "EUR", "178.49").await;
    shop.unit(
        "SE-1",
        json!({ "type": "STORE", "parentId": "SE", "markupPercentage": 10 }),
    )
    .await;
    let cases = [
        ("EUR", "SEK", "0.1", "false", "1.11"),
        ("EUR", "SEK", "1.10", "false", "12.16"),
        ("EUR", "SEK", "-1.10", "false", "-12.16"),
        ("EUR", "SEK", "100", "true", "994.50"),
        ("EUR", "JPY", "0.5", "false", "89"),
        // 0.1 + 0.2, and the rest of it after subtracting 0.3, as JavaScript computes them.
        ("EUR", "SEK", "0.30000000000000004", "false", "3.32"),
        ("EUR", "SEK", "5.551115123125783e-17", "false", "0.00"),
        (
            "EUR",
            "SEK",
            "999999999999.99",
            "false",
            "11049999999999.89",
        ),
    ];
    for (from, to, amount, with_markup, converted) in cases {
        let body = format!(
            r#"{{"businessUnitId":"SE-1","exchangeRateType":"SALES","from":"{from}","to":"{to}","amount":{amount},"withMarkup":{with_markup}}}"#
        );
        let request =
            shop.host
                .request(Method::POST, "/api/v1/exchange-rates/convert", &shop.token);
        let request = request
            .header("content-type", "application/json")
            .body(body);
        let text = request.send().await.unwrap().text().await.unwrap();
        assert_eq!(member(&text, "", "amount"), converted, "{text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["currency"], to);
        assert_eq!(answer["rate"]["currencyIdFrom"], to);
    }
}
