//! The command line: arguments → configuration → app. The only part of the host that prints to stdout.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod backup;
mod changes;
mod clients;
mod copy;
mod credentials;
mod demo;
mod import_rates;
mod keys;
mod listen;
mod operator;
mod outage;
mod output;
mod progress;
mod session;
mod signals;
mod tail;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing_subscriber::EnvFilter;

use crate::app::App;
use crate::clock::SystemClock;
use crate::config::{Config, Flags, Loaded, Log};
use crate::error::Error;
use crate::http::{ConnectionLimits, Current, Listener};
use crate::memory::give_back;
use crate::routes::Features;
use crate::store::{self, Store, StoreUrl};
use crate::tokens::Credentials;

/// Decides for tills whether an item may be sold, keeps the exchange rates of shops, and delivers events to webhooks.
#[derive(Debug, Parser)]
#[command(name = "tillgate", version, long_version = LONG_VERSION, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a host: serve the HTTP API and the page
    #[command(after_help = "Examples:
  tillgate serve
  tillgate serve --listen 0.0.0.0:8080 --store embedded:/var/lib/tillgate
  tillgate serve --config tillgate.toml --print-config")]
    Serve(Serve),
    /// Serve a demo shop on a temporary store, and print how to use it
    #[command(after_help = "Example:
  tillgate demo --listen 127.0.0.1:0
  tillgate demo --env-file demo.env &
  . ./demo.env")]
    Demo(Demo),
    /// Copy everything from one store to another, and compare the two
    #[command(
        after_help = "Stop all hosts first. If a copy is interrupted, run the same command again and it continues.

Examples:
  tillgate copy --from embedded:./tillgate-data --to redis://localhost
  tillgate copy --from redis://localhost --to redis+cluster://r1:6379,r2:6379,r3:6379"
    )]
    Copy(copy::Copy),
    /// Copy an embedded store to a file, while a host serves it or not
    #[command(
        after_help = "The copy is one moment of the store, checked, in one file that only you can read. It contains keys and secrets.

Examples:
  tillgate backup backup-$(date +%F).db
  tillgate backup /backup/tillgate.db --store embedded:/var/lib/tillgate"
    )]
    Backup(backup::Backup),
    /// Make an embedded store from a backup, in an empty folder
    #[command(after_help = "Example:
  tillgate restore backup.db --store embedded:./restored")]
    Restore(backup::Restore),
    /// Check an embedded store for damage, while a host serves it or not
    #[command(after_help = "Example:
  tillgate doctor --store embedded:/var/lib/tillgate")]
    Doctor(backup::Doctor),
    /// Create another operator on a store that no host serves, for when all credentials are lost
    #[command(after_help = "Example:
  tillgate operator --store embedded:/var/lib/tillgate --operator-file operator.json")]
    Operator(operator::Operator),
    /// List and rotate the signing keys of a running host
    #[command(after_help = "Examples:
  tillgate keys list
  tillgate keys rotate --credentials /var/lib/tillgate/operator.json")]
    Keys(keys::Keys),
    /// List, authorize and revoke the clients of a running host
    #[command(after_help = "Examples:
  tillgate clients list --status pending
  tillgate clients authorize c2Z3OiB0aWxs --tenant acme")]
    Clients(clients::Clients),
    /// Set the rates of a document of the European Central Bank at a business unit, on a running host
    #[command(after_help = "Examples:
  tillgate import-rates eurofxref-daily.xml --unit acme-europe --type SALES,PURCHASE
  tillgate import-rates eurofxref.csv --unit acme-europe --type SALES --crosses --dry-run")]
    ImportRates(import_rates::ImportRates),
    /// Print the messages of a topic of a running host as they are published, until Ctrl-C
    #[command(
        after_help = "When the stream ends or breaks off, the command connects again and goes on where it was. At its end it prints
the cursor of the last message to stderr.

Examples:
  tillgate tail cer.public.event.rates-changed.v1
  tillgate tail cer.public.event.rates-changed.v1 --unit se-001 --after earliest --json"
    )]
    Tail(tail::Tail),
    /// Forward webhook deliveries of a running host to a local address, until Ctrl-C
    #[command(
        after_help = "Creates a temporary webhook, and removes it at the end. The local address gets what any receiver gets: a bearer
token whose audience is that URL, and signatures with the shared key that is printed at the start. What it answers counts:
a delivery that fails is tried again on the usual schedule, and GET /api/v1/deliveries has every attempt.

Examples:
  tillgate listen --forward-to http://127.0.0.1:3000/hook
  tillgate listen --forward-to http://localhost:3000/hook --event-type projects.events.v1 --json"
    )]
    Listen(listen::Listen),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
struct Serve {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Store for all data: embedded:FOLDER, redis://HOST:PORT, redis+cluster://HOST:PORT,... or memory:
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Refuse to start on a store that may lose acknowledged writes
    #[arg(long)]
    require_durable_store: bool,
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

#[derive(Args, Debug)]
struct Demo {
    /// Address to listen on; port 0 selects a free port [default: port 8080, or a free port if it is taken]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// File for the address and the client's credentials, for a shell to read; removed at the end
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
}

const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nengine sha256 ",
    env!("ENGINE_SHA256")
);

/// Runs the command that the arguments name. Exit codes: 0 success, 1 failure, 2 invalid arguments.
#[must_use]
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(arguments) => run(serve(arguments)),
        Command::Demo(arguments) => run(demo::run(arguments)),
        Command::Copy(arguments) => run(copy::run(arguments)),
        Command::Backup(arguments) => backup::run_backup(arguments),
        Command::Restore(arguments) => backup::run_restore(arguments),
        Command::Doctor(arguments) => backup::run_doctor(arguments),
        Command::Operator(arguments) => run(operator::run(arguments)),
        Command::Keys(arguments) => run(keys::run(arguments)),
        Command::Clients(arguments) => run(clients::run(arguments)),
        Command::ImportRates(arguments) => run(import_rates::run(arguments)),
        Command::Tail(arguments) => run(tail::run(arguments)),
        Command::Listen(arguments) => run(listen::run(arguments)),
        Command::Completions { shell } => {
            let mut command = <Cli as clap::CommandFactory>::command();
            clap_complete::generate(shell, &mut command, "tillgate", &mut std::io::stdout());
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("tillgate: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .on_thread_park(give_back)
        .enable_all()
        .build();
    runtime
        .map_err(|cause| cause.to_string())?
        .block_on(command)
}

async fn serve(arguments: Serve) -> Result<(), String> {
    let Serve {
        listen,
        store,
        require_durable_store,
        config,
        operator_file,
        print_config,
    } = arguments;
    let flags = Flags {
        listen,
        store,
        require_durable_store: require_durable_store.then_some(true),
        operator_file,
    };
    let loaded = Loaded::read(config.as_deref(), &flags)?;
    if print_config {
        println!("{}", loaded.describe().trim_end());
        return Ok(());
    }
    let config = loaded.config;
    log_to_stderr(&config.log)?;
    let url: StoreUrl = config.store.parse()?;
    let operator_file = operator_file_of(&config, &url)?;
    let listener = bind(config.listen).await?;
    let config = listening(config, &listener)?;
    let store = match open_store(&config, &url).await {
        Ok(store) => store,
        Err(why) => outage::snapshot(&config, &url, why)?,
    };
    let is_away = store.snapshot_of().is_some();
    let mut start_config = config.clone();
    if is_away {
        // Imports are for when the store is there.
        start_config.reference_rates.clear();
    }
    let (app, features) = start_on(start_config, store).await?;
    if !is_away {
        write_operator(&app, &features, &operator_file).await?;
    }
    let serving = Serving::new(app, &features)?;
    let mending = async {
        if is_away {
            outage::end(&serving, &config, &url, &operator_file).await;
        }
    };
    serving.until_signal(listener, || (), mending).await
}

/// An error with its cause, which only the operator may see.
fn explain(error: Error) -> String {
    match error {
        Error::Bug(cause) => cause,
        Error::Unavailable(cause) => cause.to_string(),
        other => other.to_string(),
    }
}

/// Opens a socket.
async fn bind(address: SocketAddr) -> Result<Listener, String> {
    let bound = Listener::bind(address).await;
    bound.map_err(|cause| format!("cannot listen on {address}: {cause}"))
}

/// The configuration of a host that listens on a socket.
fn listening(mut config: Config, listener: &Listener) -> Result<Config, String> {
    config.listen = listener.address().map_err(|cause| cause.to_string())?;
    Ok(config)
}

async fn open_store(config: &Config, url: &StoreUrl) -> Result<Arc<dyn Store>, String> {
    store::open(url, Arc::new(SystemClock), config.require_durable_store).await
}

/// Starts the app and its features on a store.
async fn start_on(config: Config, store: Arc<dyn Store>) -> Result<(Arc<App>, Features), String> {
    let app = App::start(config, store, Arc::new(SystemClock)).await;
    let app = app.map_err(explain)?;
    let features = Features::start(&app).await.map_err(explain)?;
    Ok((app, features))
}

/// What serves: an app, whose place another may take.
struct Serving {
    app: watch::Sender<Arc<App>>,
    current: Current,
    /// The same on the address that is for operators alone, if there is one.
    operations: Option<(SocketAddr, Current)>,
}

impl Serving {
    fn new(app: Arc<App>, features: &Features) -> Result<Self, String> {
        let server = features.server(&app).map_err(explain)?;
        let operations = match app.config.metrics.address()? {
            Some(address) => {
                let server = features.operations_server(&app).map_err(explain)?;
                Some((address, server.into()))
            }
            None => None,
        };
        Ok(Self {
            app: watch::Sender::new(app),
            current: server.into(),
            operations,
        })
    }

    /// Has another app serve from now on. The streams of the one before end, so that those who listen connect again.
    async fn replace(&self, app: Arc<App>, features: &Features) -> Result<(), String> {
        let server = features.server(&app).map_err(explain)?;
        self.current.replace(server);
        if let Some((_, operations)) = &self.operations {
            operations.replace(features.operations_server(&app).map_err(explain)?);
        }
        let before = self.app.send_replace(app);
        before.begin_stop();
        before.runner.stop().await;
        Ok(())
    }

    /// Prints the address, then whatever `print_more` prints, and serves until a signal comes; does `meanwhile` until then.
    /// Signals are handled before the address is printed. At the end, requests and background jobs finish at the same
    /// time.
    async fn until_signal(
        &self,
        listener: Listener,
        print_more: impl FnOnce(),
        meanwhile: impl Future<Output = ()>,
    ) -> Result<(), String> {
        let filter = crate::http::filter(self.current.clone());
        let config = &self.app.borrow().config.clone();
        let count = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
        let limits = ConnectionLimits {
            all: count(config.limits.connections),
            per_address: count(config.limits.connections_per_address),
            exempt: config.trusted_proxies.clone(),
        };
        let limits = limits.within_process();
        let operations = self.serve_operations(limits.clone()).await?;
        let listener = listener.limited(limits);
        let mut terminate = signal(SignalKind::terminate()).map_err(|cause| cause.to_string())?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(|cause| cause.to_string())?;
        let address = listener.address().map_err(|cause| cause.to_string())?;
        println!("listening on http://{address}");
        print_more();
        let (stop, mut stopping) = watch::channel(false);
        let signalled = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!(
                "stopping: no new connections are accepted, running requests and jobs finish"
            );
            stop.send_replace(true);
            self.app.borrow().begin_stop();
        };
        let jobs = async {
            // What is done meanwhile may put another app in place: it ends first.
            let meanwhile = async {
                meanwhile.await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = meanwhile => {}
                _ = stopping.wait_for(|stopping| *stopping) => {}
            }
            let app = Arc::clone(&self.app.borrow());
            app.runner.stop().await;
        };
        tokio::join!(listener.serve(filter, signalled), jobs);
        // To the end: those who operate the host see it stop.
        if let Some(operations) = operations {
            operations.abort();
        }
        Ok(())
    }

    /// Serves on the address that is for operators alone, if there is one.
    async fn serve_operations(
        &self,
        limits: ConnectionLimits,
    ) -> Result<Option<JoinHandle<()>>, String> {
        let Some((address, current)) = &self.operations else {
            return Ok(None);
        };
        let listener = bind(*address).await?.limited(limits);
        let address = listener.address().map_err(|cause| cause.to_string())?;
        tracing::info!(%address, "metrics are served on an address of their own");
        let filter = crate::http::filter(current.clone());
        let serving = listener.serve(filter, std::future::pending());
        Ok(Some(tokio::spawn(serving)))
    }
}

fn log_to_stderr(log: &Log) -> Result<(), String> {
    let filter = EnvFilter::try_new(&log.level)
        .map_err(|cause| format!("log.level is not a filter: {cause}"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    if log.format == "json" {
        lines.json().init();
    } else {
        lines.init();
    }
    Ok(())
}

/// The file for the operator's credentials: in the store's folder, if it has one.
fn operator_file_of(config: &Config, url: &StoreUrl) -> Result<PathBuf, String> {
    if !config.operator_file.is_empty() {
        return Ok(config.operator_file.clone().into());
    }
    match url {
        StoreUrl::Embedded { folder, .. } => Ok(folder.join("operator.json")),
        StoreUrl::Memory | StoreUrl::Redis(_) => {
            Err(format!("{url} has no folder: use --operator-file FILE"))
        }
    }
}

/// Creates the operator's client on an empty store. Its credentials are on disk before the client is stored, so that a
/// crash in between locks nobody out.
async fn write_operator(app: &App, features: &Features, file: &Path) -> Result<(), String> {
    let write = |credentials: &Credentials| write_credentials(&app.config, credentials, file);
    let made = features.tokens.ensure_operator(write).await;
    if made.map_err(|cause| {
        format!(
            "the operator's client could not be created: {}",
            explain(cause)
        )
    })? {
        tracing::info!(file = %file.display(), "the operator's credentials were written");
    }
    Ok(())
}

fn write_credentials(
    config: &Config,
    credentials: &Credentials,
    file: &Path,
) -> std::io::Result<()> {
    let content = serde_json::json!({
        "clientId": credentials.client_id,
        "clientSecret": credentials.client_secret,
        "tokenUrl": config.public_url() + "/oauth2/token",
        "audience": config.audience,
    });
    write_private(file, &format!("{content:#}\n"))
}

/// Writes a file that only its owner can read.
fn write_private(file: &Path, content: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    // A new file: an existing one could be readable by others.
    let beside = PathBuf::from(format!("{}.{}.new", file.display(), std::process::id()));
    let _ = std::fs::remove_file(&beside);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut written = options.open(&beside)?;
    written.write_all(content.as_bytes())?;
    written.sync_all()?;
    std::fs::rename(beside, file)?;
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    std::fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
