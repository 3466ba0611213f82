//! Runs the README's section about moving from one machine to many as it is written, with the addresses of the test
//! servers.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::host::{Program, client, token};
use crate::support::redis::{Cluster, Server};
use crate::support::wait::output;

/// Returns the lines of the section that call the program: from a folder to Redis, as `tests/docs.test.mjs` pastes
/// them too, and from there to a cluster.
fn lines() -> Vec<String> {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let section = readme.split("### From one machine to many").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines);
    let lines = lines.filter(|line| line.starts_with("tillgate "));
    lines
        .map(|line| line.trim_end_matches(" &").to_owned())
        .collect()
}

/// Returns the command of a line of the README.
fn command(line: &str, folder: &Path) -> Command {
    let mut command = Program::command();
    command.current_dir(folder).args(line.split(' ').skip(1));
    command
}

fn serve(line: &str, folder: &Path) -> Program {
    Program::spawn(command(line, folder).args(["--listen", "127.0.0.1:0"]), "")
}

async fn operator(program: &Program, folder: &Path) -> String {
    let file = std::fs::read(folder.join("tillgate-data/operator.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let text = |member: &str| file[member].as_str().unwrap();
    token(
        &client(),
        &program.url,
        text("clientId"),
        text("clientSecret"),
    )
    .await
}

async fn assert_has_beer(program: &Program, folder: &Path) {
    let url = format!("{}/api/v1/entity-conditions/beer", program.url);
    let asked = client()
        .get(url)
        .bearer_auth(operator(program, folder).await);
    assert_eq!(asked.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn moving_from_one_machine_to_many_works_as_the_readme_says() {
    let lines = lines();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (redis, cluster) = (Server::durable(), Cluster::durable());
    let seeds = cluster.url().split_once("//").unwrap().1.to_owned();
    let here = |line: &String| {
        let line = line.replace("127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003", &seeds);
        let line = line.replace("--listen \"${URL#http://}\" ", "");
        let url = format!("redis://127.0.0.1:{}", redis.port);
        line.replace("redis://127.0.0.1:6379", &url)
            .replace("\"$REDIS\"", &url)
    };
    let lines: Vec<String> = lines.iter().map(here).collect();
    let [to_redis, on_redis, to_cluster, on_cluster] = lines.as_slice() else {
        panic!("{lines:?}")
    };

    let embedded = "tillgate serve --store embedded:./tillgate-data";
    let mut program = serve(embedded, folder);
    let url = format!("{}/api/v1/global-entity-conditions/beer", program.url);
    let condition = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 16 } });
    let put = client()
        .put(url)
        .bearer_auth(operator(&program, folder).await)
        .json(&condition);
    assert_eq!(put.send().await.unwrap().status(), 201);
    assert_eq!(program.terminate(), Some(0));
    for (copy, on) in [(to_redis, on_redis), (to_cluster, on_cluster)] {
        let copied = output(&mut command(copy, folder));
        assert!(copied.status.success(), "{copied:?}");
        let mut program = serve(on, folder);
        assert_has_beer(&program, folder).await;
        assert_eq!(program.terminate(), Some(0));
    }
}
