//! `tillgate serve`: runs a host according to its settings.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tillgate_base::config::{Flags, Loaded, Log, TlsFlags};
use tillgate_base::observe::traces::Traces;
use tracing_subscriber::EnvFilter;

use super::log_writer::LogWriter;
use crate::server;
use tillgate_client::output;

#[derive(Args, Debug)]
pub(super) struct Serve {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Store for all data: embedded:FOLDER, redis://HOST:PORT, redis+cluster://HOST:PORT,... or memory:, or @FILE with its URL
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Refuse to start on a store that may lose acknowledged writes
    #[arg(long)]
    require_durable_store: bool,
    /// Roles of this host, if several share the work: some of token,conditions,rates,webhooks,workers,page [default: all]
    #[arg(long, value_name = "ROLES")]
    roles: Option<String>,
    /// Certificate for TLS, followed by the intermediate certificates, in PEM; read again when it changes
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Configuration file, in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File for the operator's credentials, written at the first start
    #[arg(long, value_name = "FILE")]
    operator_file: Option<PathBuf>,
    /// Print the settings in force and where each one comes from, and exit
    #[arg(long)]
    print_config: bool,
}

/// Runs until it is told to stop.
pub(super) async fn run(arguments: Serve) -> Result<(), String> {
    let Serve {
        listen,
        store,
        require_durable_store,
        roles,
        tls_cert,
        tls_key,
        config,
        operator_file,
        print_config,
    } = arguments;
    let flags = Flags {
        listen,
        store,
        require_durable_store: require_durable_store.then_some(true),
        operator_file,
        roles,
        tls: TlsFlags {
            cert: tls_cert,
            key: tls_key,
        },
    };
    let loaded = Loaded::read(config.as_deref(), &flags)?;
    if print_config {
        return output::print(&format!("{}\n", loaded.describe().trim_end()));
    }
    let config = loaded.config;
    log_to_stderr(&config.log)?;
    let _traces = Traces::begin()?;
    server::serve(config).await
}

/// Logs to stderr, at the level and in the format of the settings.
pub(super) fn log_to_stderr(log: &Log) -> Result<(), String> {
    let filter = EnvFilter::try_new(&log.level)
        .map_err(|cause| format!("log.level is not a filter: {cause}"))?;
    let has_colors = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(has_colors)
        // It reports on stderr that stderr is closed, and panics.
        .log_internal_errors(false)
        .with_writer(move || LogWriter { has_colors });
    if log.format == "json" {
        lines.json().init();
    } else {
        lines.init();
    }
    Ok(())
}
