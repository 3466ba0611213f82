//! `tillgate demo`: a host on a temporary store, with the conditions, a project, the exchange rates and the webhooks of a
//! demo shop.

mod env_file;
mod rates;
mod sign_in;
mod webhooks;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tillgate_base::app::App;
use tillgate_base::config::{Flags, Loaded, Tls};
use tillgate_base::data::etag::Preconditions;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{By, TenantId};
use tillgate_base::observe::traces::Traces;
use tillgate_engine::condition::ConditionId;
use tillgate_engine::restriction::ProjectId;
use tillgate_http::Listener;
use tillgate_rules::{Editor, OnFailingTests, Owner};
use tillgate_store::StoreUrl;
use tillgate_tokens::Credentials;

use self::env_file::EnvFile;
use self::sign_in::SignIn;
use self::webhooks::Receivers;
use super::{Demo, log_to_stderr};
use crate::routes::Features;
use crate::server::{
    Serving, bind, error_text, listening, open_decision_log, open_store, start_on,
};
use tillgate_client::output::{print, tell};

const TENANT: &str = "demo";

/// The software name of the demo's client.
const SOFTWARE: &str = "tillgate-demo";

/// The demo's project: a building site that may buy from three product groups, except two of their items.
pub(super) const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

const GLOBAL_CONDITIONS: &[(&str, &str)] = &[
    (
        "alcohol",
        r#"{"rule":"AGE_RESTRICTION","condition_value":{"minimum_age":18}}"#,
    ),
    (
        "tobacco",
        r#"{"rule":"LICENSE_REQUIREMENT","condition_value":{}}"#,
    ),
];

const OWN_CONDITIONS: &[(&str, &str)] = &[
    (
        "energy-drink",
        r#"{"rule":"AGE_RESTRICTION","condition_value":{"minimum_age":15}}"#,
    ),
    (
        "pesticide",
        r#"{"rule":"LICENSE_REQUIREMENT","condition_value":{}}"#,
    ),
];

const RESTRICTIONS: &str = r#"{
    "name": "School, new building",
    "restrictions": [
        {
            "type": "WHITELIST",
            "propertyName": "productGroup",
            "allowedValues": ["timber", "fasteners", "insulation"]
        },
        { "type": "BLACKLISTEDITEMS", "itemIds": ["timber-treated-4711", "foam-0815"] }
    ]
}"#;

/// Serves the demo until a signal arrives.
pub(super) async fn run(arguments: Demo) -> Result<(), String> {
    let Demo { listen, env_file } = arguments;
    let folder = tempfile::Builder::new().prefix("tillgate-demo-").tempdir();
    let folder =
        folder.map_err(|cause| format!("the temporary folder cannot be created: {cause}"))?;
    let url = StoreUrl::Embedded {
        folder: folder.path().join("store"),
        cache: None,
    };
    let flags = Flags {
        store: Some(url.to_string()),
        ..Flags::default()
    };
    let mut config = Loaded::read(None, &flags)?.config;
    "warn".clone_into(&mut config.log.level);
    webhooks::configure(&mut config.webhooks)?;
    config.rates.tolerance_percent = 20;
    // The demo is for trying out on this machine.
    config.tls = Tls::default();
    log_to_stderr(&config.log)?;
    let _traces = Traces::begin()?;
    let listener = match listen {
        Some(address) => bind(address).await?,
        None => bind_somewhere(config.listen).await?,
    };
    let config = listening(config, &listener)?;
    let store = open_store(&config, &url).await?;
    let decision_log = open_decision_log(&config)?;
    let (app, features) = start_on(config, store, decision_log).await?;
    let receivers = Receivers::bind().await?;
    let receivers_url = receivers.url.clone();
    let lines = receivers.serve(&app, &features).map_err(error_text)?;
    let filled = fill(&app, &features, &receivers_url).await;
    let credentials = filled.map_err(error_text)?;
    let env_file = env_file.map(|file| {
        let beside = folder.path().join("credentials.json");
        EnvFile::prepare(file, &app.config, &credentials, &receivers_url, &beside)
    });
    let env_file = env_file.transpose()?;
    let sign_in = SignIn::new(&app, &features.tokens, &credentials).map_err(error_text);
    let (sign_in, link) = sign_in?;
    let print = || {
        // Once the file exists, the demo prints nothing: the output belongs to the shell that waited for it.
        let deliveries = match env_file {
            Some(_) => "The page lists the deliveries to the webhooks.",
            None => "Deliveries to the webhooks are printed below.",
        };
        print_instructions(&app, &credentials, &receivers_url, &link, deliveries);
        match env_file.as_ref().map(EnvFile::write) {
            Some(Err(why)) => tell(&why),
            Some(Ok(())) => {}
            None => lines.print(),
        }
    };
    let serving = Serving::with_routes(Arc::clone(&app), &features, vec![sign_in.route()])?;
    serving.until_signal(listener, print, async {}).await
}

async fn bind_somewhere(wanted: SocketAddr) -> Result<Listener, String> {
    match bind(wanted).await {
        Ok(listener) => Ok(listener),
        Err(_) => bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await,
    }
}

async fn fill(app: &App, features: &Features, receivers_url: &str) -> Result<Credentials> {
    let tenant = TenantId::new(TENANT)
        .ok_or_else(|| Error::Bug("the demo's tenant id is malformed".to_owned()))?;
    let roles = [
        "ecs.editor",
        "ecs.evaluator",
        "exe.editor",
        "exe.publisher",
        "exr.editor",
        "exr.subscriber",
        "iam.admin",
    ];
    let credentials = features.tokens.provision(&tenant, SOFTWARE, &roles).await?;
    webhooks::fill(&features.webhooks, &tenant, receivers_url).await?;
    let own = Owner::Tenant(&tenant);
    let global = GLOBAL_CONDITIONS
        .iter()
        .map(|condition| (Owner::Platform, condition));
    let conditions = global.chain(OWN_CONDITIONS.iter().map(|condition| (own, condition)));
    let demo = Editor {
        by: By::new(SOFTWARE, None),
        note: None,
        preconditions: Preconditions::default(),
        on_failing_tests: OnFailingTests::default(),
    };
    for (owner, (id, body)) in conditions {
        let id = ConditionId::new(id)
            .ok_or_else(|| Error::Bug("a condition id of the demo is malformed".to_owned()))?;
        features
            .conditions
            .put_condition(owner, id, body.as_bytes().into(), &demo)
            .await?;
    }
    let project = ProjectId::new(PROJECT)
        .ok_or_else(|| Error::Bug("the demo's project id is malformed".to_owned()))?;
    features
        .conditions
        .put_project(&tenant, project, RESTRICTIONS.as_bytes().into(), &demo)
        .await?;
    rates::fill(app, &features.rates, &tenant).await?;
    webhooks::publish(&features.webhooks, &tenant).await?;
    Ok(credentials)
}

fn print_instructions(
    app: &App,
    credentials: &Credentials,
    receivers_url: &str,
    link: &str,
    deliveries: &str,
) {
    let url = app.config.public_url();
    let Credentials {
        client_id,
        client_secret,
        ..
    } = credentials;
    let client_secret = client_secret.reveal();
    let audience = &app.config.audience;
    let key = webhooks::SHARED_KEY;
    // The demo continues when its output is closed.
    let _ = print(&format!(
        r#"
The demo shop is the tenant "{TENANT}". Its store is deleted when you stop the demo (Ctrl-C).

  conditions  alcohol (18 years, global), tobacco (license, global), energy-drink (15 years), pesticide (license)
  project     {PROJECT}: three product groups, except two items
  rates       Nordic Retail: 40 shops in Sweden, Norway and Finland, and a year of reference rates
  webhooks    ERP: all events, to {receivers_url}/erp (shared key: {key})
              Loyalty: order updates, to {receivers_url}/loyalty, which fails now and then

  page        {link}
              (signs in with one click, for ten minutes, in the browser that opens it first; {url}/ takes the client id and the secret)
  token URL   {url}/oauth2/token
  audience    {audience}
  client id   {client_id}
  secret      {client_secret}

{deliveries} May beer be sold to a customer aged 17? Paste this:

curl -s {url}/api/v1/conditions/alcohol/evaluate -H "Authorization: Bearer $(curl -s -u '{client_id}:{client_secret}' -d grant_type=client_credentials -d audience={audience} {url}/oauth2/token | sed 's/.*"access_token":"\([^"]*\)".*/\1/')" -H 'Content-Type: application/json' -d '{{"item":{{"id":"beer-0.5l"}},"context":{{"customer":{{"customer_age":17}}}}}}'

"#
    ));
}
