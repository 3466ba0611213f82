//! `tillgate clients`: lists, authorizes and revokes the clients of a running host.

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::output::{print, print_line, table, text};
use super::session::{HostOptions, Session, segment};
use crate::tokens::client::Status;

#[derive(Args, Debug)]
pub(super) struct Clients {
    #[command(flatten)]
    options: HostOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the clients of one tenant or of all tenants
    #[command(after_help = "Examples:
  tillgate clients list --status pending
  tillgate clients list --tenant acme --json")]
    List {
        /// Tenant of the clients [default: all tenants]
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// List only clients with this status: pending, authorized or revoked
        #[arg(long, value_name = "STATUS", value_parser = status)]
        status: Option<Status>,
    },
    /// Authorize a client, so that it can get tokens
    #[command(after_help = "Example:
  tillgate clients authorize c2Z3OiB0aWxs --tenant acme")]
    Authorize(ClientArguments),
    /// Revoke a client for good: it gets no more tokens, and those that it has are refused
    #[command(after_help = "Example:
  tillgate clients revoke c2Z3OiB0aWxs --tenant acme")]
    Revoke(ClientArguments),
}

#[derive(Args, Debug)]
struct ClientArguments {
    /// Id of the client, from the answer to its registration
    #[arg(value_name = "CLIENT_ID")]
    id: String,
    /// Tenant of the client [default: search all tenants, which requires the operator's credentials]
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
}

fn status(name: &str) -> Result<Status, String> {
    let named = |status: &Status| status.as_str().eq_ignore_ascii_case(name);
    let found = Status::ALL.into_iter().find(named);
    found.ok_or_else(|| "must be pending, authorized or revoked".to_owned())
}

pub(super) async fn run(arguments: Clients) -> Result<(), String> {
    let Clients { options, command } = arguments;
    let session = Session::open(&options).await?;
    let (call, one) = match command {
        Command::List { tenant, status } => {
            let clients = list(&session, tenant, status).await?;
            return print(&if options.json {
                json_array(&clients)
            } else {
                listed(&clients)?
            });
        }
        Command::Authorize(one) => ("authorize", one),
        Command::Revoke(one) => ("revoke", one),
    };
    let tenant = match one.tenant {
        Some(tenant) => tenant,
        None => tenant_of(&session, &one.id).await?,
    };
    let path = format!("{}/{call}", path(&tenant, &one.id));
    let client = session.call(Method::PUT, &path).await?.body()?;
    if options.json {
        return print(&format!("{}\n", client.text));
    }
    let (id, status) = (
        text(&client.value, "clientId"),
        text(&client.value, "status"),
    );
    print_line(&format!(
        "the client {id} of the tenant {tenant} is {status}"
    ))
}

fn path(tenant: &str, id: &str) -> String {
    format!("/v1/tenants/{}/clients/{}", segment(tenant), segment(id))
}

/// The ids of all tenants, which only the operator may list.
async fn tenants(session: &Session) -> Result<Vec<String>, String> {
    let tenants = session.get("/v1/tenants").await;
    let tenants = tenants.map_err(|cause| format!("{cause}: use --tenant TENANT"))?;
    let tenants = tenants.value.as_array().into_iter().flatten();
    Ok(tenants
        .map(|tenant| text(tenant, "tenantId").to_owned())
        .collect())
}

/// The tenant of a client, as the host has it: the one that the id contains is not trusted.
async fn tenant_of(session: &Session, id: &str) -> Result<String, String> {
    for tenant in tenants(session).await? {
        let answer = session.call(Method::GET, &path(&tenant, id)).await?;
        if !answer.is_missing() {
            answer.body()?;
            return Ok(tenant);
        }
    }
    Err("no tenant has a client with this id: run `tillgate clients list`".to_owned())
}

/// A page of a list.
#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next: Option<String>,
}

/// The clients of one tenant or of all tenants, read page by page.
async fn list(
    session: &Session,
    tenant: Option<String>,
    status: Option<Status>,
) -> Result<Vec<Box<RawValue>>, String> {
    let tenants = match tenant {
        Some(tenant) => vec![tenant],
        None => tenants(session).await?,
    };
    let status = status.map_or_else(String::new, |status| format!("&status={status}"));
    let mut clients = Vec::new();
    for tenant in tenants {
        let path = format!(
            "/v1/tenants/{}/clients?limit=1000{status}",
            segment(&tenant)
        );
        let mut cursor = String::new();
        loop {
            let answer = session.get(&format!("{path}{cursor}")).await?;
            let page: Page = serde_json::from_str(&answer.text)
                .map_err(|cause| format!("the answer is not a list of clients: {cause}"))?;
            clients.extend(page.items);
            let Some(next) = page.next else { break };
            cursor = format!("&cursor={}", segment(&next));
        }
    }
    Ok(clients)
}

/// A JSON array, one client a line, each as the host wrote it.
fn json_array(clients: &[Box<RawValue>]) -> String {
    let clients: Vec<_> = clients.iter().map(|client| client.get()).collect();
    format!("[{}]\n", clients.join(",\n"))
}

fn listed(clients: &[Box<RawValue>]) -> Result<String, String> {
    if clients.is_empty() {
        return Ok("no clients\n".to_owned());
    }
    let row = |client: &RawValue| -> Result<[String; 5], String> {
        let client: Value = serde_json::from_str(client.get())
            .map_err(|cause| format!("the answer is not a list of clients: {cause}"))?;
        let text = |member| text(&client, member).to_owned();
        let software = format!("{} {}", text("softwareId"), text("softwareVersion"));
        Ok([
            text("status"),
            text("tenantId"),
            software,
            text("registeredAt"),
            text("clientId"),
        ])
    };
    let rows = clients.iter().map(|client| row(client));
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    let titles = ["STATUS", "TENANT", "SOFTWARE", "REGISTERED", "CLIENT"];
    Ok(table(titles, &rows))
}
