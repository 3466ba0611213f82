//! The log leaves alone files that have the name of a renamed log file but were not renamed by it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::{Shop, lines};

const BASKETS: usize = 40;
const ITEMS: usize = 40;

/// Returns the items of a basket whose decisions fill a quarter of a file.
fn basket(number: usize) -> Vec<String> {
    let id = |item| format!("{}-{number}-{item}", "i".repeat(200));
    (0..ITEMS).map(id).collect()
}

#[tokio::test]
async fn a_file_with_the_name_of_a_renamed_one_is_left_alone_and_costs_no_decision() {
    let largest = u64::MAX.to_string();
    for planted in [&*largest, "000001"] {
        let shop = Shop::configured(|config| {
            config.decisions.file_bytes = "64 KiB".parse().unwrap();
        })
        .await;
        let name = |number: &str| format!("decisions.jsonl.{number}");
        let foreign = shop.folder.path().join(name(planted));
        fs::write(&foreign, "foreign\n").unwrap();
        shop.choose("all").await;
        for number in 0..BASKETS {
            let items = basket(number).into_iter();
            let items: Vec<Value> = items.map(|id| json!({ "id": id })).collect();
            let basket = json!({ "items": items, "context": {} });
            shop.decide("evaluations", &basket).await;
        }
        let mut written = shop.on_record().await;
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "foreign\n");
        fs::remove_file(&foreign).unwrap();

        let names = fs::read_dir(shop.folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: BTreeSet<String> = names.collect();
        let renamed = names.len() - 1;
        assert!(renamed >= 2, "{names:?}");
        let expected = (1..).take(renamed);
        let expected = expected.map(|number: u64| name(&number.to_string()));
        let expected: BTreeSet<String> = expected.chain(["decisions.jsonl".to_owned()]).collect();
        assert_eq!(names, expected);
        for name in names.iter().filter(|name| *name != "decisions.jsonl") {
            written.extend(lines(&shop.folder.path().join(name)));
        }
        let written = written.iter().map(|line| line["itemId"].as_str().unwrap());
        let mut written: Vec<&str> = written.collect();
        written.sort_unstable();
        let all: Vec<String> = (0..BASKETS).flat_map(basket).collect();
        let mut all: Vec<&str> = all.iter().map(String::as_str).collect();
        all.sort_unstable();
        assert_eq!(written, all);
    }
}
