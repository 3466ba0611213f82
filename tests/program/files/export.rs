//! Exports into a folder that already has files: files keep their names, and nothing is written through a link.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{SECRETS, Shop, command, done, failed, tree};
use super::proxy::holding;
use crate::support::wait::{DEADLINE, output};

fn parsed(files: &BTreeMap<String, String>) -> BTreeMap<&str, Value> {
    let parsed = files.iter();
    parsed
        .map(|(name, content)| (name.as_str(), serde_json::from_str(content).unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_to_or_removed_from_a_folder_or_file_that_is_a_link() {
    let shop = Shop::full().await;
    let rules = shop.rules();
    shop.write("conditions/old.json", "{}");
    let elsewhere = shop.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, rules.join("projects")).unwrap();
    let export = ["export", "DIR", "--replace"];
    for other in [None, Some("mine.json")] {
        if let Some(name) = other {
            std::fs::write(elsewhere.join(name), "mine").unwrap();
        }
        let told = failed(&shop.run(&export).await);
        assert!(
            told.ends_with("rules/projects must be a folder, and not a link to one\n"),
            "{told}"
        );
        let told = failed(&shop.run(&["export", "DIR", "--only", "projects"]).await);
        assert!(told.contains("rules/projects must be a folder"), "{told}");
    }
    std::fs::remove_file(rules.join("projects")).unwrap();
    symlink(elsewhere.join("mine.json"), rules.join("conditions/a.json")).unwrap();
    let told = failed(&shop.run(&export).await);
    assert!(
        told.ends_with("rules/conditions/a.json must be a file, and not a link to one\n"),
        "{told}"
    );
    let names = std::fs::read_dir(&rules).unwrap();
    let names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
    assert_eq!(names, ["conditions"], "nothing was written");
    assert!(rules.join("conditions/old.json").exists());
    let mine = std::fs::read_to_string(elsewhere.join("mine.json")).unwrap();
    assert_eq!(mine, "mine");
}

/// Exports; runs `meanwhile` after the command has looked at the folders and before it writes.
async fn export_while(shop: &Shop, meanwhile: impl FnOnce()) -> Output {
    let (url, is_held, let_go) = holding(&shop.host.url, "GET /api/v1/projects", 0);
    let arguments = ["export", "DIR", "--replace", "--url", url.as_str()];
    let mut command = command(&arguments, &shop.rules(), &shop.operator(), &SECRETS);
    let exporting = tokio::task::spawn_blocking(move || output(&mut command));
    let held = tokio::task::spawn_blocking(move || is_held.recv_timeout(DEADLINE));
    held.await.unwrap().unwrap();
    meanwhile();
    let_go.send(()).unwrap();
    exporting.await.unwrap()
}

/// Returns the files of one folder, by name.
fn content(folder: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        (name, std::fs::read_to_string(file.path()).unwrap())
    });
    files.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_through_a_link_that_takes_the_place_of_a_folder_meanwhile() {
    let shop = Shop::full().await;
    let (rules, elsewhere) = (shop.rules(), shop.folder.path().join("elsewhere"));
    done(&shop.run(&["export", "DIR"]).await);
    std::fs::remove_dir_all(rules.join("projects")).unwrap();
    let exported = content(&rules.join("conditions"));
    shop.write("conditions/beer.json", "{}");
    shop.write("conditions/old.json", "{}");
    std::fs::create_dir(&elsewhere).unwrap();
    for name in ["beer.json", "old.json"] {
        std::fs::write(elsewhere.join(name), "mine").unwrap();
    }
    let mine = content(&elsewhere);

    let moved = shop.folder.path().join("moved");
    let swapped = export_while(&shop, || {
        std::fs::rename(rules.join("conditions"), &moved).unwrap();
        symlink(&elsewhere, rules.join("conditions")).unwrap();
        symlink(&elsewhere, rules.join("projects")).unwrap();
    })
    .await;
    let told = failed(&swapped);
    assert!(
        told.contains("rules/projects cannot be written: File exists"),
        "{told}"
    );
    assert_eq!(content(&elsewhere), mine);
    assert_eq!(content(&moved), exported, "the folder that was looked at");

    std::fs::remove_file(rules.join("conditions")).unwrap();
    std::fs::remove_file(rules.join("projects")).unwrap();
    std::fs::create_dir(elsewhere.join("conditions")).unwrap();
    std::fs::write(elsewhere.join("conditions/mine.json"), "mine").unwrap();
    let moved = shop.folder.path().join("moved-rules");
    let swapped = export_while(&shop, || {
        std::fs::rename(&rules, &moved).unwrap();
        symlink(&elsewhere, &rules).unwrap();
    })
    .await;
    done(&swapped);
    assert_eq!(content(&moved.join("conditions")), exported);
    let conditions = content(&elsewhere.join("conditions"));
    let kept = BTreeMap::from([("mine.json".to_owned(), "mine".to_owned())]);
    assert_eq!(conditions, kept);
    assert!(!elsewhere.join("projects").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_there_keep_their_names() {
    let shop = Shop::full().await;
    let export = [
        "export",
        "DIR",
        "--only",
        "conditions,webhooks",
        "--replace",
    ];
    done(&shop.run(&export).await);
    let rules = shop.rules();
    let rename = |from: &str, to: &str| std::fs::rename(rules.join(from), rules.join(to)).unwrap();
    rename("conditions/beer.json", "conditions/wine.json");
    rename("webhooks/ERP.json", "webhooks/erp-main.json");
    let before = tree(&rules);
    done(&shop.run(&export).await);
    assert_eq!(tree(&rules), before);
    // A new resource does not take the file of another.
    let age = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    shop.send(Method::PUT, "/api/v1/entity-conditions/wine", age)
        .await;
    done(&shop.run(&export).await);
    let mut after = tree(&rules);
    let new = after.remove("conditions/wine-2.json").unwrap();
    assert!(new.contains(r#""id": "wine""#), "{new}");
    assert_eq!(after, before);
    done(&shop.run(&["diff", "DIR"]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_whose_names_would_be_the_same_have_files_of_their_own() {
    let shop = Shop::open().await;
    for id in ["a:b", "a_b", "A_b"] {
        let age = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
        shop.send(Method::PUT, &format!("/api/v1/entity-conditions/{id}"), age)
            .await;
    }
    done(&shop.run(&["export", "DIR", "--only", "conditions"]).await);
    let files = tree(&shop.rules());
    let written: BTreeMap<&str, Value> = parsed(&files)
        .into_iter()
        .map(|(name, file)| (name, file["id"].clone()))
        .collect();
    let expected = [
        ("conditions/A_b.json", "A_b"),
        ("conditions/a_b-2.json", "a:b"),
        ("conditions/a_b-3.json", "a_b"),
    ];
    assert_eq!(written, expected.map(|(name, id)| (name, json!(id))).into());
    done(&shop.run(&["diff", "DIR"]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_terminal_or_an_editor_acts_on_is_escaped_in_files_and_in_what_is_said() {
    let shop = Shop::open().await;
    let path = "/api/v1/projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
    let items = [
        "a\u{7f}b\u{9b}2J",
        "c\u{2066}d\u{2069}\u{2028}",
        "z\\\u{202d}\"\u{1b}",
    ];
    let restriction = json!({ "type": "BLACKLISTEDITEMS", "itemIds": items });
    let project = json!({ "name": "lla\u{202e}All", "restrictions": [restriction] });
    shop.send(Method::PUT, path, project).await;
    let folder = shop.folder.path().join("ru\u{202e}\nles");
    let run = async |arguments: &[&str]| {
        let operator = shop.operator();
        shop.run_as(&operator, &folder, arguments, &[]).await
    };
    let export = ["export", "DIR", "--only", "projects", "--replace"];
    let printed = done(&run(&export).await);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert!(
        printed.ends_with("/ru\\u202e\\u000ales: projects 1\n"),
        "{printed}"
    );
    let files = tree(&folder);
    let text = files.values().next().unwrap();
    let is_acted_on = |c: char| {
        c != '\n' && c.is_control()
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(is_acted_on), "{text:?}");
    assert!(text.contains(r#""name": "lla\u202eAll""#), "{text}");
    let read: Value = serde_json::from_str(text).unwrap();
    assert_eq!(read["restrictions"][0]["itemIds"], json!(items));
    // The files match the host, and another export writes the same.
    let printed = done(&run(&["diff", "DIR"]).await);
    assert!(printed.ends_with(" are the same\n"), "{printed}");
    done(&run(&export).await);
    assert_eq!(tree(&folder), files);
}
