//! Imports of zip files that contain a document of reference rates.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use super::charts::days;
use super::fixture::Shop;
use crate::support::ecb;
use crate::support::host::read;

#[tokio::test]
async fn a_zip_file_of_a_document_is_imported_as_a_body_and_in_a_form() {
    let days = days(&[
        "2026-11-19 SEK 11.05 USD 1.149",
        "2026-11-18 SEK 11 USD 1.15",
    ]);
    let document = ecb::history_csv(&days, &["BGN"]);
    let zip = ecb::zipped(&[("eurofxref-hist.csv", document.as_bytes())]);
    let shop = Shop::with_units().await;
    let send = async |media: &str, body: Vec<u8>, query: &str| {
        let path = format!("/api/v1/reference-rates/import{query}");
        let request = shop.host.request(Method::POST, &path, &shop.token);
        let request = request.header(CONTENT_TYPE, media).body(body);
        read(request.send().await.unwrap()).await
    };
    let query = "?businessUnitId=C&exchangeRateTypes=SALES&source=ECB";
    let (status, answer) = send("application/zip", zip.clone(), query).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        [
            &answer["date"],
            &answer["created"],
            &answer["skipped"],
            &answer["filledDays"]
        ],
        [&json!("2026-11-19"), &json!(2), &json!(["BGN"]), &json!(2)]
    );
    let mut form = Vec::new();
    for (name, value) in [
        ("businessUnitId", &b"C"[..]),
        ("exchangeRateTypes", b"SALES"),
        ("source", b"ECB"),
        ("document", &zip),
    ] {
        form.extend(
            format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n").bytes(),
        );
        form.extend(value);
        form.extend(b"\r\n");
    }
    form.extend(b"--x--\r\n");
    let (status, answer) = send("multipart/form-data; boundary=x", form, "").await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        [&answer["unchanged"], &answer["filledDays"]],
        [&json!(2), &json!(0)]
    );
    let two = ecb::zipped(&[("a", document.as_bytes()), ("b", document.as_bytes())]);
    for (media, body, message) in [
        (
            "application/zip",
            two,
            "$.document must be a zip file of one document, not of 2",
        ),
        (
            "application/zip",
            document.clone().into_bytes(),
            "$.document is not a zip file, although its content type says so",
        ),
        (
            "application/gzip",
            zip,
            "$.Content-Type must be application/xml, text/csv, application/zip or multipart/form-data",
        ),
    ] {
        let (status, answer) = send(media, body, query).await;
        assert_eq!((status, &answer["message"]), (400, &json!([message])));
    }
    shop.host.run_due().await;
}
