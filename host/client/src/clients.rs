//! `tillgate clients`: creates, lists, authorizes and revokes the clients of a running host, and sets their roles.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tillgate_api::client_status::Status;

use super::answer::Json;
use super::credentials::Credentials;
use super::output::{print, print_line, print_on, shown_path, table, text};
use super::session::{HostOptions, Requires, Session, segment};
use crate::private_file::write_private;

/// The software version of a new client.
const VERSION: &str = "1";

#[derive(Args, Debug)]
pub struct Clients {
    #[command(flatten)]
    options: HostOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a client that can get tokens: create its template, register it, and authorize it
    #[command(
        after_help = "The first client of a tenant creates the tenant, which requires the operator's credentials.

Examples:
  tillgate clients create --tenant acme --role ecs.evaluator > till.json
  tillgate clients create --tenant acme --software office --role ecs.editor,exr.editor --client-file office.json"
    )]
    Create(NewClient),
    /// Replace the roles of a client
    #[command(after_help = "Example:
  tillgate clients roles c2Z3OiB0aWxs --tenant acme --role exr.viewer,exr.subscriber")]
    Roles {
        #[command(flatten)]
        client: ClientArguments,
        #[command(flatten)]
        roles: ClientRoles,
    },
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
    /// Revoke a client for good: it gets no more tokens, and its present tokens are refused
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

#[derive(Args, Debug)]
struct NewClient {
    /// Tenant of the client
    #[arg(long, value_name = "TENANT")]
    tenant: String,
    #[command(flatten)]
    roles: ClientRoles,
    /// Name of its software, which must differ between the clients of a tenant
    #[arg(long, value_name = "NAME", default_value = "client")]
    software: String,
    /// File for its credentials, which only you can read; it must not exist [default: print them]
    #[arg(long, value_name = "FILE")]
    client_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct ClientRoles {
    /// Role of the client; separate several with commas
    #[arg(
        long = "role",
        value_name = "ROLE",
        value_delimiter = ',',
        required = true
    )]
    ids: Vec<String>,
}

impl ClientRoles {
    fn to_json(&self) -> Value {
        let roles = self.ids.iter().map(|id| json!({ "roleId": id }));
        roles.collect()
    }
}

fn status(name: &str) -> Result<Status, String> {
    let named = |status: &Status| status.as_str().eq_ignore_ascii_case(name);
    let found = Status::ALL.into_iter().find(named);
    found.ok_or_else(|| "must be pending, authorized or revoked".to_owned())
}

pub async fn run(arguments: Clients) -> Result<(), String> {
    let Clients { options, command } = arguments;
    let session = Session::open(&options).await?;
    let (call, one, roles) = match command {
        Command::Create(new) => return create(&session, &new, options.json).await,
        Command::List { tenant, status } => {
            let clients = list(&session, tenant, status).await?;
            return print(&if options.json {
                json_array(&clients)
            } else {
                listed(&clients)?
            });
        }
        Command::Roles { client, roles } => ("roles", client, Some(roles)),
        Command::Authorize(one) => ("authorize", one, None),
        Command::Revoke(one) => ("revoke", one, None),
    };
    let tenant = match one.tenant {
        Some(tenant) => tenant,
        None => tenant_of(&session, &one.id).await?,
    };
    let path = format!("{}/{call}", path(&tenant, &one.id));
    let document = roles.as_ref().map(roles_document);
    let client = session.write(Method::PUT, &path, Requires::Nothing, document);
    let client = client.await?.body()?;
    if options.json {
        return print(&format!("{}\n", client.text));
    }
    let id = text(&client.value, "clientId");
    let what = match roles {
        Some(roles) => format!("has the roles {}", roles.ids.join(", ")),
        None => format!("is {}", text(&client.value, "status")),
    };
    print_line(&format!("the client {id} of the tenant {tenant} {what}"))
}

/// Returns the body of a request that sets roles.
fn roles_document(roles: &ClientRoles) -> Vec<u8> {
    json!({ "roles": roles.to_json() }).to_string().into_bytes()
}

/// Creates an authorized client and hands its credentials to the caller.
async fn create(session: &Session, new: &NewClient, as_json: bool) -> Result<(), String> {
    if let Some(file) = new.client_file.as_ref().filter(|file| file.exists()) {
        let file = shown_path(file);
        return Err(format!("{file} already exists: name another file"));
    }
    let registered = register(session, new).await?;
    let id = text(&registered.value, "clientId");
    let credentials = session.credentials_of(id, text(&registered.value, "clientSecret"));
    let path = path(&new.tenant, id);
    let done = match authorize(session, &path, &new.roles).await {
        Ok(client) => hand_over(new, &credentials, &client, as_json),
        Err(why) => Err(why),
    };
    if done.is_err() {
        // Nobody knows its secret.
        let _ = session.call(Method::DELETE, &path).await;
    }
    done
}

/// Registers a client, and creates its template unless there is one.
async fn register(session: &Session, new: &NewClient) -> Result<Json, String> {
    let post = async |path: &str, document: Value| {
        let document = Some(document.to_string().into_bytes());
        session
            .write(Method::POST, path, Requires::Nothing, document)
            .await
    };
    let template = json!({
        "softwareId": new.software,
        "softwareVersion": VERSION,
        "name": new.software,
        "claimsSchema": { "type": "object" },
        "roles": new.roles.to_json(),
    });
    let templates = format!("/v1/tenants/{}/templates", segment(&new.tenant));
    let made = post(&templates, template).await?;
    if !made.is_conflict() {
        made.body()?;
    }
    let registration = json!({
        "softwareId": new.software,
        "softwareVersion": VERSION,
        "usingGlobalTemplate": false,
        "tenantId": new.tenant,
        "claims": {},
    });
    let registered = post("/v1/registration", registration).await?;
    let hint = if registered.is_conflict() {
        ": use --software NAME for another client"
    } else {
        ""
    };
    registered.body().map_err(|why| format!("{why}{hint}"))
}

/// Sets the roles of a client, since its template may have others, and authorizes it.
async fn authorize(session: &Session, path: &str, roles: &ClientRoles) -> Result<Json, String> {
    let document = Some(roles_document(roles));
    let roles = format!("{path}/roles");
    let set = session.write(Method::PUT, &roles, Requires::Nothing, document);
    set.await?.body()?;
    let authorize = format!("{path}/authorize");
    let authorized = session.call(Method::PUT, &authorize);
    Ok(authorized.await?.body()?)
}

/// Writes the credentials of a client to its file, or prints them.
fn hand_over(
    new: &NewClient,
    credentials: &Credentials,
    client: &Json,
    as_json: bool,
) -> Result<(), String> {
    let content = credentials.to_text()?;
    let Some(file) = &new.client_file else {
        let is_read = print_on(&content)?;
        return is_read
            .then_some(())
            .ok_or_else(|| "the output, which contains the secret, is closed".to_owned());
    };
    let shown = shown_path(file);
    write_private(file, &content).map_err(|cause| format!("{shown} cannot be written: {cause}"))?;
    if as_json {
        return print(&format!("{}\n", client.text));
    }
    print_line(&format!(
        "created the client {} of the tenant {}; its credentials are in {shown}",
        credentials.client_id, new.tenant
    ))
}

fn path(tenant: &str, id: &str) -> String {
    format!("/v1/tenants/{}/clients/{}", segment(tenant), segment(id))
}

/// Returns the ids of all tenants, which only the operator may list.
async fn tenants(session: &Session) -> Result<Vec<String>, String> {
    let tenants = session.get("/v1/tenants").await;
    let tenants = tenants.map_err(|cause| format!("{cause}: use --tenant TENANT"))?;
    let tenants = tenants.value.as_array().into_iter().flatten();
    Ok(tenants
        .map(|tenant| text(tenant, "tenantId").to_owned())
        .collect())
}

/// Returns the tenant of a client according to the host: the one in the id is not trusted.
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

#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next: Option<String>,
}

/// Returns the clients of one tenant or of all tenants, read page by page.
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

/// Returns a JSON array with one client per line, each as the host wrote it.
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
