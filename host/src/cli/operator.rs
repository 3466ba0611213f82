//! `tillgate operator`: creates a further operator on the store itself, for those who have lost their credentials. Whoever
//! can open the store can do anything, so this asks for none.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::{explain, log_to_stderr, write_credentials};
use crate::app::App;
use crate::clock::SystemClock;
use crate::config::{Flags, Loaded};
use crate::store::{self, StoreUrl};
use crate::tokens::{Credentials, Tokens};

#[derive(Args, Debug)]
pub(super) struct Operator {
    /// Where everything is kept; no host may serve an embedded store at the same time
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// A file of settings, in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the credentials are written
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
        let file = file.display();
        return Err(format!("{file} already exists: name another file"));
    }
    let url: StoreUrl = config.store.parse()?;
    let missing = match &url {
        StoreUrl::Memory => Some("it is gone with the process"),
        // Opening it would make it.
        StoreUrl::Embedded(folder) if !folder.exists() => Some("there is no such folder"),
        _ => None,
    };
    if let Some(why) = missing {
        return Err(format!("no operator can be made on {url}: {why}"));
    }
    let clock = Arc::new(SystemClock);
    let store = store::open(&url, Arc::clone(&clock) as _, false).await?;
    let app = App::start(config.clone(), store, clock)
        .await
        .map_err(explain)?;
    let tokens = Tokens::start(&app).await.map_err(explain)?;
    let keep = |credentials: &Credentials| write_credentials(&config, credentials, &file);
    let made = tokens.further_operator(keep).await.map_err(explain)?;
    println!(
        "{} is an operator; {} has its credentials",
        made.client_id,
        file.display()
    );
    Ok(())
}
