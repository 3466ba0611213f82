//! Mistaken and hostile requests about rates: each gets its status and a list of all faults, and none changes anything.

use reqwest::Method;
use serde_json::Value;
use tillgate_base::identity::TenantId;
use tillgate_store::portable::Portable;

use super::fixture::Shop;
use crate::support::ecb;
use crate::support::host::{HostStore, read};

const JSON: &str = "application/json";
const XML: &str = "application/xml";

/// Method, path below `/api/v1/`, body, and the paths of all faults, in order.
type Fault = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const NEW: &str = "business-units/NO-1";
const BULK: &str = "business-units/C/exchange-rates";
const RATE: &str = "business-units/C/exchange-rates/SALES/NOK/EUR";
const CONVERT: &str = "exchange-rates/convert";
const TOPIC: &str = "topics/cer.public.event.rates-changed.v1";

const FAULTS: &[Fault] = &[
    ("PUT", NEW, "", &["$"]),
    ("PUT", NEW, "{", &["$"]),
    ("PUT", NEW, "[]", &["$"]),
    ("PUT", NEW, "{}", &["$.type"]),
    ("PUT", NEW, r#"{"type":"SHOP","parentId":"C"}"#, &["$.type"]),
    (
        "PUT",
        NEW,
        r#"{"type":"store","parentId":"C"}"#,
        &["$.type"],
    ),
    ("PUT", NEW, r#"{"type":"STORE"}"#, &["$.parentId"]),
    (
        "PUT",
        NEW,
        r#"{"type":"GROUP","parentId":null}"#,
        &["$.parentId"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"COMPANY","parentId":"C"}"#,
        &["$.parentId"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"a b"}"#,
        &["$.parentId"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":7}"#,
        &["$.parentId"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","name":5}"#,
        &["$.name"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","name":"a\u0000b"}"#,
        &["$.name"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","parentId":"SE"}"#,
        &["$.parentId"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markupPercentage":"5"}"#,
        &["$.markupPercentage"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markupPercentage":100}"#,
        &["$.markupPercentage"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markupPercentage":-1}"#,
        &["$.markupPercentage"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markupPercentage":1.00001}"#,
        &["$.markupPercentage"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markupPercentage":1e400}"#,
        &["$"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markups":{}}"#,
        &["$.markups"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markups":[1]}"#,
        &["$.markups[0]"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markups":[{}]}"#,
        &[
            "$.markups[0].exchangeRateType",
            "$.markups[0].currencyIdFrom",
            "$.markups[0].currencyIdTo",
            "$.markups[0].markupPercentage",
        ],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markups":[
            {"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","markupPercentage":1},
            {"exchangeRateType":"SALES","currencyIdFrom":"EUR","currencyIdTo":"SEK","markupPercentage":1}]}"#,
        &["$.markups[1]"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","markups":[
            {"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"SEK","markupPercentage":1}]}"#,
        &["$.markups[0].currencyIdTo"],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"X","parentId":"","name":3,"markupPercentage":true,"markups":1}"#,
        &[
            "$.type",
            "$.parentId",
            "$.name",
            "$.markupPercentage",
            "$.markups",
        ],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","tolerancePercentage":100,"tolerances":[{"tolerancePercentage":-1}]}"#,
        &[
            "$.tolerancePercentage",
            "$.tolerances[0].exchangeRateType",
            "$.tolerances[0].currencyIdFrom",
            "$.tolerances[0].currencyIdTo",
            "$.tolerances[0].tolerancePercentage",
        ],
    ),
    (
        "PUT",
        NEW,
        r#"{"type":"STORE","parentId":"C","tolerances":[
            {"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","tolerancePercentage":1},
            {"exchangeRateType":"SALES","currencyIdFrom":"EUR","currencyIdTo":"SEK","tolerancePercentage":1}]}"#,
        &["$.tolerances[1]"],
    ),
    (
        "PUT",
        "business-units/a%20b",
        r#"{"type":"COMPANY"}"#,
        &["$.businessUnitId"],
    ),
    (
        "PUT",
        "business-units/%C3%A5",
        r#"{"type":"COMPANY"}"#,
        &["$.businessUnitId"],
    ),
    (
        "PUT",
        "business-units/C?dryRun=yes",
        r#"{"type":"COMPANY"}"#,
        &["$.dryRun"],
    ),
    ("GET", "business-units/a%2Fb", "", &["$.businessUnitId"]),
    ("DELETE", "business-units/a%20b", "", &["$.businessUnitId"]),
    (
        "DELETE",
        "business-units/C-1?dryRun=true",
        "",
        &["$.dryRun"],
    ),
    ("PUT", RATE, "", &["$"]),
    ("PUT", RATE, "11.05", &["$"]),
    ("PUT", RATE, "{}", &["$.rateValue"]),
    ("PUT", RATE, r#"{"rateValue":null}"#, &["$.rateValue"]),
    ("PUT", RATE, r#"{"rateValue":"11.05"}"#, &["$.rateValue"]),
    ("PUT", RATE, r#"{"rateValue":0}"#, &["$.rateValue"]),
    ("PUT", RATE, r#"{"rateValue":0.000}"#, &["$.rateValue"]),
    ("PUT", RATE, r#"{"rateValue":-0.1}"#, &["$.rateValue"]),
    ("PUT", RATE, r#"{"rateValue":1e-7}"#, &["$.rateValue"]),
    ("PUT", RATE, r#"{"rateValue":1.1234567}"#, &["$.rateValue"]),
    ("PUT", RATE, r#"{"rateValue":1e15}"#, &["$.rateValue"]),
    (
        "PUT",
        RATE,
        r#"{"rateValue":1234567890.123456}"#,
        &["$.rateValue"],
    ),
    ("PUT", RATE, r#"{"rateValue":1e999999999999}"#, &["$"]),
    ("PUT", RATE, r#"{"rateValue":2000001}"#, &["$.rateValue"]),
    ("PUT", RATE, r#"{"rateValue":NaN}"#, &["$"]),
    ("PUT", RATE, r#"{"rateValue":01}"#, &["$"]),
    (
        "PUT",
        RATE,
        r#"{"rateValue":1,"rateValue":2}"#,
        &["$.rateValue"],
    ),
    (
        "PUT",
        "business-units/C/exchange-rates/SALE/SEX/eur",
        r#"{"rateValue":1}"#,
        &["$.exchangeRateType", "$.currencyIdFrom", "$.currencyIdTo"],
    ),
    (
        "PUT",
        "business-units/C/exchange-rates/SALES/EUR/EUR",
        r#"{"rateValue":1}"#,
        &["$.currencyIdTo"],
    ),
    (
        "GET",
        "business-units/C/exchange-rates/sales/SEK/EUR",
        "",
        &["$.exchangeRateType"],
    ),
    (
        "DELETE",
        "business-units/C/exchange-rates/SALES/SEK/XXX",
        "",
        &["$.currencyIdTo"],
    ),
    (
        "PUT",
        "business-units/C/exchange-rates/SALES/SEK/EUR?acceptDeviation=yes",
        r#"{"rateValue":11}"#,
        &["$.acceptDeviation"],
    ),
    (
        "DELETE",
        "business-units/C/exchange-rates/SALES/SEK/EUR?dryRun=1",
        "",
        &["$.dryRun"],
    ),
    ("POST", BULK, "", &["$"]),
    ("POST", BULK, "{}", &["$"]),
    ("POST", BULK, r#"{"set":[],"delete":null}"#, &["$"]),
    ("POST", BULK, r#"{"set":{}}"#, &["$.set"]),
    (
        "POST",
        BULK,
        r#"{"set":[3],"delete":[[]]}"#,
        &["$.set[0]", "$.delete[0]"],
    ),
    (
        "POST",
        BULK,
        r#"{"set":[
            {"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","rateValue":1},
            {"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","rateValue":1}],
          "delete":[{"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR"}]}"#,
        &["$.set[1]", "$.delete[0]"],
    ),
    (
        "POST",
        BULK,
        r#"{"set":[
            {"exchangeRateType":"SALES","currencyIdFrom":"NOK","currencyIdTo":"EUR","rateValue":1},
            {"exchangeRateType":"SALES","currencyIdFrom":"IRR","currencyIdTo":"KWD","rateValue":3600000}]}"#,
        &["$.set[1].rateValue"],
    ),
    (
        "POST",
        BULK,
        r#"{"delete":[{"exchangeRateType":"SALES","currencyIdFrom":"USD","currencyIdTo":"VND"}]}"#,
        &["$"],
    ),
    // The rates that units use.
    ("GET", "exchange-rates", "", &["$.businessUnit"]),
    (
        "GET",
        "exchange-rates?businessUnit=",
        "",
        &["$.businessUnit"],
    ),
    (
        "GET",
        "exchange-rates?businessUnit=a%20b",
        "",
        &["$.businessUnit"],
    ),
    (
        "GET",
        "exchange-rates/history",
        "",
        &[
            "$.businessUnit",
            "$.exchangeRateType",
            "$.currencyIdFrom",
            "$.currencyIdTo",
        ],
    ),
    (
        "GET",
        "exchange-rates/history?businessUnit=C&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=SEK",
        "",
        &["$.currencyIdTo"],
    ),
    // The names of an earlier release.
    (
        "GET",
        "exchange-rates/history?businessUnit=C&type=SALES&from=SEK&to=SEK",
        "",
        &["$.to"],
    ),
    (
        "GET",
        "exchange-rates/history?businessUnit=C&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR&since=friday&limit=0&cursor=x",
        "",
        &["$.since", "$.cursor", "$.limit"],
    ),
    (
        "GET",
        "exchange-rates/history?businessUnit=C&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR&since=2026-02-30&limit=1001",
        "",
        &["$.since", "$.limit"],
    ),
    (
        "POST",
        CONVERT,
        "{}",
        &[
            "$.businessUnitId",
            "$.exchangeRateType",
            "$.from",
            "$.to",
            "$.amount",
        ],
    ),
    (
        "POST",
        CONVERT,
        r#"{"businessUnitId":"C","exchangeRateType":"SALES","from":"SEK","to":"SEK","amount":1}"#,
        &["$.to"],
    ),
    (
        "POST",
        CONVERT,
        r#"{"businessUnitId":"C","exchangeRateType":"SALES","from":"SEK","to":"EUR","amount":"1","withMarkup":1}"#,
        &["$.amount", "$.withMarkup"],
    ),
    (
        "GET",
        "topics/cer.public.event.rates-changed.v1?after=then",
        "",
        &["$.after"],
    ),
    (
        "GET",
        "topics/cer.public.event.rates-changed.v1?after=",
        "",
        &["$.after"],
    ),
    (
        "GET",
        "topics/cer.public.event.rates-changed.v1?businessUnitId=a%20b",
        "",
        &["$.businessUnitId"],
    ),
    // No message concerns a company or a group.
    (
        "GET",
        "topics/cer.public.event.rates-changed.v1?businessUnitId=C",
        "",
        &["$.businessUnitId"],
    ),
    (
        "GET",
        "topics/cer.public.event.rates-changed.v1?businessUnitId=SE&after=earliest",
        "",
        &["$.businessUnitId"],
    ),
    ("POST", "initial-state", "{}", &["$.tenantId"]),
    (
        "POST",
        "initial-state",
        r#"{"tenantId":"A B"}"#,
        &["$.tenantId"],
    ),
    (
        "POST",
        "initial-state",
        r#"{"tenantId":"acme","businessUnitId":"a b"}"#,
        &["$.businessUnitId"],
    ),
];

/// Starts a shop with rates, one of which is so large that its opposite must be set too.
async fn shop() -> Shop {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "11.05").await;
    shop.set("C", "USD", "VND", "0.000038").await;
    shop.set("C", "VND", "USD", "26350000").await;
    shop
}

/// Sends a request; returns its status and the paths of its faults.
async fn ask(
    shop: &Shop,
    method: &str,
    path: &str,
    media: &str,
    body: String,
) -> (u16, Vec<String>) {
    let method: Method = method.parse().unwrap();
    let request = shop
        .host
        .request(method, &format!("/api/v1/{path}"), &shop.token);
    let request = request.header("content-type", media).body(body);
    let (status, answer) = read(request.send().await.unwrap()).await;
    (status, faults(&answer))
}

fn faults(answer: &Value) -> Vec<String> {
    let messages = answer["message"].as_array().into_iter().flatten();
    let paths = messages.map(|message| message.as_str().unwrap().split(' ').next().unwrap());
    paths.map(str::to_owned).collect()
}

/// Returns the tenant's newest revision and the positions of its logs and queues.
async fn stored(shop: &Shop) -> tillgate_store::portable::Metadata {
    let partition = TenantId::new(shop.tenant).unwrap().partition();
    let HostStore::Memory(store) = &shop.store else {
        panic!("it is on a store in memory");
    };
    store.metadata(&partition).await.unwrap()
}

#[tokio::test]
async fn every_fault_of_a_request_is_named_and_nothing_is_changed() {
    let shop = shop().await;
    let before = stored(&shop).await;
    for (method, path, body, expected) in FAULTS {
        let (status, faults) = ask(&shop, method, path, JSON, (*body).to_owned()).await;
        assert_eq!(
            (status, faults.as_slice()),
            (400, &to_owned(expected)[..]),
            "{method} {path} {body}"
        );
    }
    assert_eq!(stored(&shop).await, before);
}

fn to_owned(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[tokio::test]
async fn equal_currencies_are_refused_by_name() {
    let shop = shop().await;
    let conversion =
        r#"{"businessUnitId":"C","exchangeRateType":"SALES","from":"SEK","to":"SEK","amount":1}"#;
    let history = "exchange-rates/history?businessUnit=C&type=SALES&from=SEK&to=SEK";
    for (method, path, body) in [
        (Method::POST, CONVERT, conversion),
        (Method::GET, history, ""),
    ] {
        let path = format!("/api/v1/{path}");
        let request = shop.host.request(method, &path, &shop.token);
        let request = request.header("content-type", JSON).body(body);
        let (status, answer) = read(request.send().await.unwrap()).await;
        assert_eq!(status, 400, "{path}: {answer}");
        assert_eq!(answer["message"][0], "$.to must differ from $.from");
    }
}

#[tokio::test]
async fn too_much_of_anything_is_refused_and_nothing_is_changed() {
    let shop = shop().await;
    let before = stored(&shop).await;
    let id = "a".repeat(129);
    let name = "å".repeat(257);
    let markup = r#"{"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","markupPercentage":1}"#;
    let markups = [markup; 1_001].join(",");
    let rate =
        r#"{"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","rateValue":1}"#;
    let rates = [rate; 1_001].join(",");
    let cases = [
        (
            format!("business-units/{id}"),
            r#"{"type":"COMPANY"}"#.to_owned(),
            "$.businessUnitId",
        ),
        (
            NEW.to_owned(),
            format!(r#"{{"type":"STORE","parentId":"{id}"}}"#),
            "$.parentId",
        ),
        (
            NEW.to_owned(),
            format!(r#"{{"type":"STORE","parentId":"C","name":"{name}"}}"#),
            "$.name",
        ),
        (
            NEW.to_owned(),
            format!(r#"{{"type":"STORE","parentId":"C","markups":[{markups}]}}"#),
            "$.markups",
        ),
        (
            NEW.to_owned(),
            format!(r#"{{"type":"STORE","parentId":"C","tolerances":[{markups}]}}"#),
            "$.tolerances",
        ),
    ];
    for (path, body, expected) in cases {
        let answer = ask(&shop, "PUT", &path, JSON, body).await;
        assert_eq!(answer, (400, vec![expected.to_owned()]));
    }
    let (status, faults) = ask(&shop, "POST", BULK, JSON, format!(r#"{{"set":[{rates}]}}"#)).await;
    assert_eq!(status, 400);
    assert_eq!(faults.last().unwrap(), "$");
    let large = format!(r#"{{"rateValue":1{}}}"#, " ".repeat(2 << 20));
    assert_eq!(ask(&shop, "PUT", RATE, JSON, large).await.0, 413);
    assert_eq!(stored(&shop).await, before);
}

#[tokio::test]
async fn what_is_not_there_not_allowed_or_of_another_media_type_has_its_status() {
    let shop = shop().await;
    let before = stored(&shop).await;
    let one = r#"{"rateValue":1}"#;
    let unit = r#"{"type":"STORE","parentId":"C"}"#;
    let amount =
        r#"{"businessUnitId":"C","exchangeRateType":"SALES","from":"NOK","to":"EUR","amount":1}"#;
    let nobody =
        r#"{"businessUnitId":"X","exchangeRateType":"SALES","from":"SEK","to":"EUR","amount":1}"#;
    let rows = [
        ("GET", "business-units/X", JSON, "", 404),
        ("DELETE", "business-units/X", JSON, "", 404),
        ("GET", "business-units/X/exchange-rates", JSON, "", 404),
        (
            "PUT",
            "business-units/X/exchange-rates/SALES/SEK/EUR",
            JSON,
            one,
            404,
        ),
        (
            "GET",
            "business-units/C/exchange-rates/SALES/EUR/SEK",
            JSON,
            "",
            404,
        ),
        (
            "DELETE",
            "business-units/C/exchange-rates/SALES/EUR/SEK",
            JSON,
            "",
            404,
        ),
        ("GET", "exchange-rates?businessUnit=X", JSON, "", 404),
        (
            "GET",
            "exchange-rates/history?businessUnit=X&exchangeRateType=SALES&currencyIdFrom=SEK&currencyIdTo=EUR",
            JSON,
            "",
            404,
        ),
        ("POST", CONVERT, JSON, amount, 404),
        ("POST", CONVERT, JSON, nobody, 404),
        ("GET", "exchange-rates/changes/1", JSON, "", 404),
        (
            "GET",
            "exchange-rates/changes/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90",
            JSON,
            "",
            404,
        ),
        (
            "POST",
            "initial-state",
            JSON,
            r#"{"tenantId":"acme","businessUnitId":"X"}"#,
            404,
        ),
        ("POST", "initial-state", JSON, r#"{"tenantId":"zeta"}"#, 403),
        (
            "GET",
            "topics/cer.public.event.rates-changed.v1?tenantId=zeta",
            JSON,
            "",
            403,
        ),
        ("PUT", NEW, "text/plain", unit, 415),
        ("PUT", RATE, XML, one, 415),
        ("PATCH", RATE, JSON, one, 405),
        ("POST", "business-units/C", JSON, unit, 405),
        ("DELETE", TOPIC, JSON, "", 405),
    ];
    for (method, path, media, body, expected) in rows {
        let (status, _) = ask(&shop, method, path, media, body.to_owned()).await;
        assert_eq!(status, expected, "{method} {path}");
    }
    assert_eq!(stored(&shop).await, before);
}

#[tokio::test]
async fn an_import_is_refused_whole() {
    let shop = shop().await;
    let before = stored(&shop).await;
    let good = "reference-rates/import?businessUnitId=C&exchangeRateTypes=SALES&source=ECB";
    let document = ecb::daily_xml(&ecb::day("2026-11-20 SEK 11.1 USD 1.149"));
    let without_cross = ecb::daily_xml(&ecb::day("2026-11-20 IRR 1100000 KWD 0.3"));
    let rows: &[(&str, &str, String, &[&str])] = &[
        (
            "reference-rates/import",
            XML,
            document.clone(),
            &["$.businessUnitId", "$.exchangeRateTypes", "$.source"],
        ),
        (
            "reference-rates/import?businessUnitId=C&exchangeRateTypes=SALES,RENTAL&source=FED&crosses=maybe",
            XML,
            document.clone(),
            &["$.exchangeRateTypes", "$.source", "$.crosses"],
        ),
        (
            &format!("{good}&dryRun=maybe"),
            XML,
            document.clone(),
            &["$.dryRun"],
        ),
        (
            &format!("{good}&acceptDeviation=1"),
            XML,
            document.clone(),
            &["$.acceptDeviation"],
        ),
        (
            good,
            "application/pdf",
            document.clone(),
            &["$.Content-Type"],
        ),
        (good, "text/csv", document.clone(), &["$.document"]),
        (good, XML, String::new(), &["$.document"]),
        (
            good,
            XML,
            document.replace("1.149", "-1.149"),
            &["$.document"],
        ),
        (good, XML, document.replace("</Cube>", ""), &["$.document"]),
        (
            good,
            XML,
            document.replace("2026-11-20", "2026-11-21"),
            &["$.document"],
        ),
        (
            &format!("{good}&crosses=true"),
            XML,
            without_cross,
            &["$.document"],
        ),
        (
            good,
            "multipart/form-data; boundary=x",
            "no form".to_owned(),
            &["$"],
        ),
        (
            good,
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nECB\r\n--x--\r\n"
                .to_owned(),
            &["$.document"],
        ),
    ];
    for (path, media, body, expected) in rows {
        let (status, faults) = ask(&shop, "POST", path, media, body.clone()).await;
        assert_eq!(
            (status, faults),
            (400, to_owned(expected)),
            "{path} {media} {body}"
        );
    }
    let unknown = good.replace("=C&", "=X&");
    assert_eq!(ask(&shop, "POST", &unknown, XML, document).await.0, 404);
    assert_eq!(stored(&shop).await, before);
}

#[tokio::test]
async fn a_cursor_of_another_subscription_is_refused() {
    let shop = shop().await;
    let request = shop
        .host
        .request(Method::GET, &format!("/api/v1/{TOPIC}"), &shop.token);
    let request = request.header("last-event-id", "x x").send();
    let (status, answer) = read(request.await.unwrap()).await;
    assert_eq!(
        (status, faults(&answer)),
        (400, vec!["$.Last-Event-ID".to_owned()])
    );
}
