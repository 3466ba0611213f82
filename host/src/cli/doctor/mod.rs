//! `tillgate doctor`: checks the program, its settings, its store, its folder, its port and the running host, and says
//! what to do. It writes nothing to a store, needs no credentials, and works when the host is dead.

mod bundle;
mod folder;
mod host;
mod machine;
mod own_lines;
mod program;
mod report;
mod start;
mod store;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use tillgate_base::config::{Config, Examined, Flags, Loaded};
use tillgate_store::{StoreUrl, priority};

use self::bundle::Bundle;
use self::host::Listener;
use self::report::{Finding, Report, Verdict, ok};
use crate::server::operator_file_of;
use tillgate_client::output::print;

#[derive(Args, Debug)]
pub(super) struct Doctor {
    /// Configuration file of the host, in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Store of the host, or @FILE with its URL [default: that of the configuration]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Address that the host listens on [default: that of the configuration]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// File with the operator's credentials [default: that of the configuration]
    #[arg(long, value_name = "FILE")]
    operator_file: Option<PathBuf>,
    /// Exit with code 1 for warnings too
    #[arg(long)]
    strict: bool,
    /// Write the information that support needs to a zip file, without secrets; the file must not exist
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Log of the host; the bundle contains its end
    #[arg(long, value_name = "FILE", requires = "bundle")]
    log: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The JSON output.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<&'a Bundle>,
}

/// Prints the findings. Returns exit code 0 if a bundle is written or nothing fails; with `strict`, a warning fails
/// too.
pub(super) async fn run(arguments: Doctor) -> Result<ExitCode, String> {
    if let Some(file) = &arguments.bundle {
        bundle::refuse_existing(file)?;
    }
    let flags = Flags {
        listen: arguments.listen,
        store: arguments.store,
        operator_file: arguments.operator_file,
        ..Flags::default()
    };
    let Examined { loaded, faults } = Loaded::examine(arguments.config.as_deref(), &flags);
    // A running host has priority.
    priority::lower_own(priority::UPKEEP);
    let mut findings = program::configuration(arguments.config.as_deref(), faults);
    findings.push(program::module());
    if let Some(Loaded { config, .. }) = &loaded {
        findings.extend(look_at(config).await);
    }
    let report = Report::new(findings);
    let bundle = match &arguments.bundle {
        Some(file) => {
            let log = arguments.log.as_deref();
            let written = bundle::write(file, &report, loaded.as_ref(), log).await;
            if written.is_err() && !arguments.json {
                print(&report.lines())?;
            }
            Some(written?)
        }
        None => None,
    };
    print(&if arguments.json {
        let json = serde_json::to_string_pretty(&Output {
            report: &report,
            bundle: bundle.as_ref(),
        });
        json.map_err(|cause| cause.to_string())? + "\n"
    } else {
        report.lines() + &bundle.as_ref().map(Bundle::lines).unwrap_or_default()
    })?;
    Ok(match report.verdict() {
        _ if bundle.is_some() => ExitCode::SUCCESS,
        Verdict::Fail => ExitCode::FAILURE,
        Verdict::Warn if arguments.strict => ExitCode::FAILURE,
        Verdict::Warn | Verdict::Ok => ExitCode::SUCCESS,
    })
}

/// Checks what the settings name.
async fn look_at(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The faults of the settings include those of the URL.
    if let Ok(url) = config.store.parse::<StoreUrl>() {
        findings.extend(store::check(config, &url).await);
        if let StoreUrl::Embedded { folder, .. } = &url {
            findings.extend(folder::check(folder));
        } else if !config.snapshot.is_empty() {
            findings.extend(folder::check(config.snapshot.as_ref()));
        }
        findings.push(folder::credentials(operator_file_of(config, &url)));
    }
    findings.extend(start::check(config).await);
    let listener = host::listener(config.scheme(), config.listen).await;
    findings.extend(host::check(config.listen, &listener));
    if let Ok(url) = config.store.parse::<StoreUrl>() {
        findings.extend(host::store(&listener, &url));
    }
    if let Ok(Some(metrics)) = config.metrics.address() {
        findings.extend(match host::listener("http", metrics).await {
            Listener::Host(_) => vec![ok("port", format!("metrics are served at {metrics}"))],
            other => host::check(metrics, &other),
        });
    }
    findings
}
