//! Links: those that stay inside the folder are followed, such as Kubernetes ConfigMap mounts, where an update
//! replaces the folder that the links lead to. Others are refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::fixture::{Shop, code, done, text};

fn age(id: &str, minimum: u8) -> String {
    format!(
        r#"{{ "id": "{id}", "rule": "AGE_RESTRICTION", "condition_value": {{ "minimum_age": {minimum} }} }}"#
    )
}

/// Mounts files as Kubernetes does, and replaces those that were mounted before.
fn mount(volume: &Path, version: &str, files: &[(&str, String)]) {
    for (name, content) in files {
        let file = volume.join(version).join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        let first = Path::new(name).components().next().unwrap();
        let _ = symlink(Path::new("..data").join(first), volume.join(first));
    }
    symlink(version, volume.join("..data_tmp")).unwrap();
    fs::rename(volume.join("..data_tmp"), volume.join("..data")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_are_mounted_from_config_maps_are_applied() {
    let shop = Shop::open().await;
    let rules = shop.rules();
    // One ConfigMap has keys with paths, and one has a single kind.
    mount(
        &rules,
        "..2026_11_27_12_00_00.1",
        &[("conditions/beer.json", age("beer", 18))],
    );
    let project = r#"{ "projectId": "5b0e3f8a-94d2-4c57-8a16-d3c1f0b7e924", "restrictions": [] }"#;
    mount(
        &rules.join("projects"),
        "..2026_11_27_12_00_00.2",
        &[("warehouse.json", project.to_owned())],
    );
    let printed = done(&shop.run(&["apply", "DIR"]).await);
    assert!(printed.ends_with("done: 2 created\n"), "{printed}");
    mount(
        &rules,
        "..2026_11_27_13_00_00.3",
        &[("conditions/beer.json", age("beer", 20))],
    );
    let printed = done(&shop.run(&["apply", "DIR"]).await);
    assert!(printed.ends_with("done: 1 changed\n"), "{printed}");
    let condition = shop.get("/api/v1/entity-conditions/beer").await;
    assert_eq!(condition["condition_value"]["minimum_age"], 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_stays_in_the_folder_is_followed_and_one_that_leaves_it_is_refused() {
    let shop = Shop::open().await;
    shop.write("conditions/..data/beer.json", &age("beer", 18));
    let conditions = shop.rules().join("conditions");
    fs::write(shop.folder.path().join("wine.json"), age("wine", 18)).unwrap();
    symlink("..data/beer.json", conditions.join("beer.json")).unwrap();
    symlink("../../wine.json", conditions.join("wine.json")).unwrap();
    symlink("..data/none.json", conditions.join("none.json")).unwrap();
    symlink("..data/../../../wine.json", conditions.join("red.json")).unwrap();
    shop.write("..shared/rum.json", &age("rum", 18));
    symlink("../..shared/rum.json", conditions.join("rum.json")).unwrap();
    let output = shop.run(&["apply", "DIR"]).await;
    assert_eq!(code(&output), 3);
    let told: Vec<&str> = text(&output.stderr).lines().skip(1).collect();
    assert_eq!(
        told,
        ["none", "red", "wine"].map(|name| format!(
            "  conditions/{name}.json: must be a file, and not a link that leads out of the top folder"
        ))
    );
    for name in ["none", "red", "wine"] {
        fs::remove_file(conditions.join(format!("{name}.json"))).unwrap();
    }
    let printed = done(&shop.run(&["apply", "DIR"]).await);
    assert!(printed.ends_with("done: 2 created\n"), "{printed}");
}
