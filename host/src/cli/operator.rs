//! `tillgate operator`: creates another operator in the store itself, for when all credentials are lost. It requires no
//! credentials: access to the store is access to everything.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tillgate_base::app::App;
use tillgate_base::config::{Flags, Loaded};
use tillgate_store::clock::SystemClock;
use tillgate_store::{self as store, StoreUrl};
use tillgate_tokens::{Credentials, Tokens};

use super::log_to_stderr;
use crate::server::{error_text, write_credentials};
use tillgate_client::output::{print_line, shown_path};

#[derive(Args, Debug)]
pub(super) struct Operator {
    /// Store to use, or @FILE with its URL; no host may serve an embedded store at the same time
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Configuration file, in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File for the new credentials; it must not exist
    #[arg(long, value_name = "FILE")]
    operator_file: PathBuf,
}

pub(super) async fn run(arguments: Operator) -> Result<(), String> {
    let Operator {
        store,
        config,
        operator_file: file,
    } = arguments;
    let flags = Flags {
        store,
        ..Flags::default()
    };
    let config = Loaded::read(config.as_deref(), &flags)?.config;
    log_to_stderr(&config.log)?;
    if file.exists() {
        let file = shown_path(&file);
        return Err(format!("{file} already exists: name another file"));
    }
    let url: StoreUrl = config.store.parse()?;
    url.check_exists()
        .map_err(|why| format!("no operator can be created: {why}"))?;
    let clock = Arc::new(SystemClock);
    let store = store::open(&url, Arc::clone(&clock) as _, false).await?;
    let app = App::start(config.clone(), store, clock)
        .await
        .map_err(error_text)?;
    let tokens = Tokens::start(&app).await.map_err(error_text)?;
    let save = |credentials: &Credentials| write_credentials(&config, credentials, &file);
    let created = tokens.further_operator(save).await.map_err(error_text)?;
    print_line(&format!(
        "created the operator {}; its credentials are in {}",
        created.client_id,
        file.display()
    ))
}
