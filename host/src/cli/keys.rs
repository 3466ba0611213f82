//! `tillgate keys`: lists and rotates the signing keys of a running host.

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::Value;

use super::output::{print, table, text};
use super::session::{HostOptions, Session};

#[derive(Args, Debug)]
pub(super) struct Keys {
    #[command(flatten)]
    options: HostOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the keys with their status: published, signing or retiring
    #[command(after_help = "Examples:
  tillgate keys list
  tillgate keys list --json --url https://tillgate.example --credentials operator.json")]
    List,
    /// Publish a new key, which signs five minutes later; the old key is removed an hour after that
    #[command(after_help = "Example:
  tillgate keys rotate --credentials /var/lib/tillgate/operator.json")]
    Rotate,
}

pub(super) async fn run(arguments: Keys) -> Result<(), String> {
    let Keys { options, command } = arguments;
    let session = Session::open(&options).await?;
    let answer = match command {
        Command::List => session.get("/v1/keys").await?,
        Command::Rotate => {
            let rotated = session.ask(Method::POST, "/v1/keys/rotate").await?;
            rotated.body()?
        }
    };
    if options.json {
        return print(&format!("{}\n", answer.text));
    }
    match command {
        Command::List => print(&listed(&answer.value)),
        Command::Rotate => print(&format!(
            "{} is published and signs from {}\n",
            text(&answer.value, "kid"),
            text(&answer.value, "signsFrom")
        )),
    }
}

fn listed(keys: &Value) -> String {
    let keys = keys.as_array().into_iter().flatten();
    let members = ["kid", "status", "signsFrom", "until"];
    let rows: Vec<_> = keys
        .map(|key| members.map(|member| text(key, member).to_owned()))
        .collect();
    table(["KEY", "STATUS", "SIGNS FROM", "UNTIL"], &rows)
}
