//! `tillgate keys`: lists and rotates the signing keys of a running host.

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde_json::Value;

use super::output::{print, print_line, table, text};
use super::session::{HostOptions, Session};

#[derive(Args, Debug)]
pub struct Keys {
    #[command(flatten)]
    options: HostOptions,
    /// Kind of keys
    #[arg(long, global = true, value_name = "SIGNER", default_value = "tokens")]
    of: Signer,
    #[command(subcommand)]
    command: Command,
}

/// The kind of keys.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Signer {
    /// Keys that sign access tokens
    Tokens,
    /// Keys that sign the bearer tokens of webhook deliveries
    Webhooks,
}

impl Signer {
    const fn path(self) -> &'static str {
        match self {
            Self::Tokens => "/v1/keys",
            Self::Webhooks => "/v1/webhook-keys",
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the keys with their status: published, signing or retiring
    #[command(after_help = "Examples:
  tillgate keys list
  tillgate keys list --of webhooks
  tillgate keys list --json --url https://tillgate.example --credentials operator.json")]
    List,
    /// Publish a new key, which starts to sign once every cache has it; the old key is removed an hour later
    #[command(
        after_help = "A new key for access tokens starts to sign after five minutes, one for webhooks after an hour: the published keys may be
cached for that long.

Examples:
  tillgate keys rotate --of webhooks
  tillgate keys rotate --credentials /var/lib/tillgate/operator.json"
    )]
    Rotate,
}

pub async fn run(arguments: Keys) -> Result<(), String> {
    let Keys {
        options,
        of,
        command,
    } = arguments;
    let session = Session::open(&options).await?;
    let answer = match command {
        Command::List => session.get(of.path()).await?,
        Command::Rotate => {
            let path = format!("{}/rotate", of.path());
            let rotated = session.call(Method::POST, &path).await?;
            rotated.body()?
        }
    };
    if options.json {
        return print(&format!("{}\n", answer.text));
    }
    match command {
        Command::List => print(&listed(&answer.value)),
        Command::Rotate => print_line(&format!(
            "{} is published and signs from {}",
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
