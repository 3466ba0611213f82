//! The command line: arguments → configuration → app. Output goes through `output.rs`, so that a closed pipe causes no
//! panic.

mod backup;
mod copy;
mod decisions;
mod demo;
mod doctor;
mod evaluate;
mod health;
mod lint;
mod log_writer;
mod operator;
mod resources;
mod rule_tests;
mod serve;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Duration;

use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use tillgate_base::engine::MODULE_SHA256;
use tillgate_base::load::give_back;
use tillgate_client::{FOUND, MALFORMED};
use tillgate_client::{clients, files, import_rates, jobs, keys, listen, output, tail, token};

use self::resources::Features;
use self::serve::log_to_stderr;

/// Decides for tills whether an item may be sold, keeps the exchange rates of shops, and delivers events to webhooks.
#[derive(Debug, Parser)]
#[command(name = "tillgate", version, long_version = LONG_VERSION.as_str(), arg_required_else_help = true)]
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
  tillgate serve --listen 0.0.0.0:8443 --tls-cert fullchain.pem --tls-key privkey.pem
  tillgate serve --store redis://localhost --roles token,conditions --operator-file operator.json
  tillgate serve --config tillgate.toml --print-config")]
    Serve(serve::Serve),
    /// Serve a demo shop on a temporary store, and print how to use it
    #[command(after_help = "Example:
  tillgate demo --listen 127.0.0.1:0
  tillgate demo --env-file demo.env &
  . ./demo.env")]
    Demo(Demo),
    /// Copy everything from one store to another, and compare the two
    #[command(
        after_help = "Stop all hosts first. If a copy is interrupted, run the same command again and it continues. Other users can see the
arguments of a command in the process list: put a URL with a password into the environment or a file.

Examples:
  tillgate copy --from embedded:./tillgate-data --to redis://localhost
  tillgate copy --from redis://localhost --to redis+cluster://r1:6379,r2:6379,r3:6379
  tillgate copy --from embedded:./tillgate-data --to @/run/secrets/redis-url"
    )]
    Copy(copy::Copy),
    /// Copy an embedded store to a file, even while a host serves it
    #[command(
        after_help = "The file is a consistent, verified copy of the store that only you can read. It contains keys and secrets.

Examples:
  tillgate backup backup-$(date +%F).db
  tillgate backup /backup/tillgate.db --store embedded:/var/lib/tillgate"
    )]
    Backup(backup::Backup),
    /// Make an embedded store from a backup, in an empty folder
    #[command(after_help = "Example:
  tillgate restore backup.db --store embedded:./restored")]
    Restore(backup::Restore),
    /// Check the settings, the store, the folder, the port and the running host, and say what to do
    #[command(
        after_help = "Prints a line for each check: ok, warn or fail, the subject, the finding, and what to do. Reads everything in an embedded
store to find damage, and writes nothing to it. Run it as the user that runs the host; the host may be running.

Exit codes: 0 nothing fails, 1 a check fails or, with --strict, warns.

Examples:
  tillgate doctor --store embedded:/var/lib/tillgate
  tillgate doctor --config /etc/tillgate.toml --json"
    )]
    Doctor(doctor::Doctor),
    /// Create another operator on a store that no host serves, for when all credentials are lost
    #[command(after_help = "Example:
  tillgate operator --store embedded:/var/lib/tillgate --operator-file operator.json")]
    Operator(operator::Operator),
    /// Get a token from a running host, and print it
    #[command(after_help = "Examples:
  tillgate token --credentials office.json
  curl -H \"Authorization: Bearer $(tillgate token)\" http://127.0.0.1:8080/api/v1/catalog")]
    Token(token::Token),
    /// List and rotate the signing keys of a running host
    #[command(after_help = "Examples:
  tillgate keys list
  tillgate keys rotate --credentials /var/lib/tillgate/operator.json")]
    Keys(keys::Keys),
    /// Create, list, authorize and revoke the clients of a running host, and set their roles
    #[command(after_help = "Examples:
  tillgate clients create --tenant acme --role ecs.evaluator --client-file till.json
  tillgate clients list --status pending
  tillgate clients authorize c2Z3OiB0aWxs --tenant acme")]
    Clients(clients::Clients),
    /// List, retry or drop the jobs that failed too often on a running host
    #[command(after_help = "Examples:
  tillgate jobs list
  tillgate jobs retry --all --credentials /var/lib/tillgate/operator.json")]
    Jobs(jobs::Jobs),
    /// Set the rates from a document of the European Central Bank at a business unit of a running host
    #[command(
        after_help = "The credentials must be those of a client of the business unit's tenant with the role exr.editor.

Without --accept-deviation, rates that would move by more than the tolerance are left out and printed, and the exit code
is 3. Exit code 1: nothing was imported.

Examples:
  tillgate import-rates eurofxref-daily.xml --unit acme-europe --type SALES,PURCHASE
  tillgate import-rates eurofxref.csv --unit acme-europe --type SALES --crosses --dry-run"
    )]
    ImportRates(import_rates::ImportRates),
    /// Print the messages of a topic of a running host as they are published, until Ctrl-C
    #[command(
        after_help = "When the stream ends or breaks, the command connects again and continues from where it was. When the command ends, it
prints the cursor of the last message to stderr.

Examples:
  tillgate tail cer.public.event.rates-changed.v1
  tillgate tail cer.public.event.rates-changed.v1 --unit se-001 --after earliest --json"
    )]
    Tail(tail::Tail),
    /// Forward the events of a running host to a local address as webhooks, until Ctrl-C
    #[command(
        after_help = "The credentials must be those of a client of the tenant with the role exe.editor. The local address gets the same requests
as any receiver: with a bearer token whose audience is that URL, and signatures with the shared key that is printed at the
start. Each event is sent once, whatever the answer; GET /api/v1/deliveries does not list it. The command creates a consumer
of events and deletes it when it ends. If it is killed, its consumer remains in GET /api/v1/event-consumers: remove it with
DELETE.

Examples:
  tillgate listen --forward-to http://127.0.0.1:3000/hook
  tillgate listen --forward-to http://localhost:3000/hook --event-type projects.events.v1 --json"
    )]
    Listen(listen::Listen),
    /// Write the configuration of a tenant of a running host to a folder, one file for each resource
    #[command(
        after_help = "Kinds that the credentials may not read are left out and named on stderr. The files contain no secrets of webhooks;
they name environment variables for them.

Examples:
  tillgate export rules
  tillgate export rules --replace --only conditions,projects"
    )]
    Export(files::Export),
    /// Compare a folder of files with a running host
    #[command(
        after_help = "A kind without a folder is out of scope; an empty folder means that the kind should have no resources. Resources that others
have made and that are in no file are listed, and do not count as differences.

Exit codes: 0 the same, 2 something differs, 3 a file is malformed, 1 any other failure.

Examples:
  tillgate diff rules
  tillgate diff rules --json"
    )]
    Diff(files::Diff),
    /// Make a running host match a folder of files
    #[command(
        after_help = "The tests of rules run first, on this machine. Then the whole plan is made and printed. A write takes effect only if the
resource has not changed since the plan was made. Nothing is deleted without --prune, and then only resources that earlier
runs with the same --managed-by have made. If it is interrupted, run the same command again and it does the rest.

Exit codes: 0 the host matches the files, or with --dry-run the plan was made, whatever it contains; 3 a file is malformed,
4 tests fail, 1 any other failure.

Examples:
  tillgate apply rules --dry-run
  tillgate apply rules --prune --managed-by acme-rules"
    )]
    Apply(files::Apply),
    /// Find problems in the rules of a catalog file
    #[command(
        after_help = "Exit codes: 0 no findings, 3 the file is not a catalog, 4 rules have findings, 1 the file cannot be read.

Examples:
  tillgate lint catalog.json
  curl -H \"Authorization: Bearer $TOKEN\" $URL/api/v1/catalog | tillgate lint - --format json"
    )]
    Lint(lint::Lint),
    /// Run the tests of the rules of a catalog, without a host
    #[command(
        after_help = "Exit codes: 0 all pass, 3 the catalog or a test is malformed, 4 tests fail, 1 the file cannot be read.

Examples:
  curl -s -H \"Authorization: Bearer $TOKEN\" \"https://till.example/api/v1/catalog?tests=true\" | tillgate test -
  tillgate test catalog.json --format junit > tests.xml"
    )]
    Test(rule_tests::Test),
    /// Make a decision with a catalog file, without a host
    #[command(
        after_help = "Exit codes: 0 there is a decision, whatever it is, 3 the catalog or the request is malformed, 4 the condition is not in
force, 1 a file cannot be read.

Examples:
  tillgate evaluate catalog.json request.json --condition alcohol
  echo '{\"items\":[{\"id\":\"beer\",\"conditionIds\":[\"alcohol\"]}],\"context\":{}}' | tillgate evaluate catalog.json - --explain"
    )]
    Evaluate(evaluate::Evaluate),
    /// Find decisions in the decision logs of hosts, and print them or a register of refusals
    #[command(
        after_help = "Missing decisions of the tenant and time are printed too, and reported on stderr. Name the files of all hosts: decisions that
a till has uploaded twice are printed once.

Exit codes: 0 all lines were read, 3 lines are malformed or a file has no line of a decision log, 1 a file cannot be read.

Examples:
  tillgate decisions decisions.jsonl --tenant acme --since 2026-11-01 --refusals > refusals.csv
  tillgate decisions host-1/decisions.jsonl host-2/decisions.jsonl --item beer-0.5l --format json"
    )]
    Decisions(decisions::Decisions),
    /// Check that a host is alive, for container images without curl
    #[command(
        after_help = "Exit codes: 0 the host answers, 1 it does not answer within two seconds or is unavailable.

Examples:
  tillgate health
  tillgate health --ready --url http://127.0.0.1:8080"
    )]
    Health(health::Health),
    /// Write the manual pages to a folder, one for each command
    #[command(after_help = "Example:
  tillgate man /usr/local/share/man/man1")]
    Man {
        /// Folder for the pages; it must exist
        folder: PathBuf,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Example:
  tillgate completions bash > /etc/bash_completion.d/tillgate")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
struct Demo {
    /// Address to listen on; port 0 selects a free port [default: port 8080, or a free port if it is taken]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// File for the address and the client's credentials, for a shell to read; removed at the end. Deliveries are then not printed
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
}

static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{}\nengine sha256 {MODULE_SHA256}",
        env!("CARGO_PKG_VERSION")
    )
});

/// The time that blocking work, such as reading a file, may take to end after a command is done.
const GRACE: Duration = Duration::from_secs(1);

/// The exit code of an import that left rates out.
const LEFT_OUT: u8 = 3;

/// Runs the command that the arguments name. Exit codes: 0 success, 1 failure, 2 invalid arguments or files that differ
/// from a host, 3 an import that left rates out or a malformed catalog or file, 4 rules that have findings, tests that
/// fail, or a condition that is not in force.
#[must_use]
pub fn main() -> ExitCode {
    let mut success = ExitCode::SUCCESS;
    let matches = without_empty_variables(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let done = match cli.command {
        Command::Serve(arguments) => run(serve::run(arguments)),
        Command::Demo(arguments) => run(demo::run(arguments)),
        Command::Copy(arguments) => run(copy::run(arguments)),
        Command::Backup(arguments) => backup::run_backup(arguments),
        Command::Restore(arguments) => backup::run_restore(arguments),
        Command::Doctor(arguments) => run(doctor::run(arguments)).map(|code| success = code),
        Command::Operator(arguments) => run(operator::run(arguments)),
        Command::Token(arguments) => run(token::run(arguments)),
        Command::Keys(arguments) => run(keys::run(arguments)),
        Command::Clients(arguments) => run(clients::run(arguments)),
        Command::Jobs(arguments) => run(jobs::run(arguments)),
        Command::ImportRates(arguments) => run(import_rates::run(arguments)).map(|is_whole| {
            if !is_whole {
                success = ExitCode::from(LEFT_OUT);
            }
        }),
        Command::Tail(arguments) => run(tail::run(arguments)),
        Command::Listen(arguments) => run(listen::run(arguments)),
        Command::Export(arguments) => run(files::export(arguments, &Features)),
        Command::Diff(arguments) => {
            run(files::diff(arguments, &Features)).map(|code| success = code)
        }
        Command::Apply(arguments) => {
            run(files::apply(arguments, &Features)).map(|code| success = code)
        }
        Command::Lint(arguments) => lint::run(&arguments).map(|verdict| {
            success = match verdict {
                lint::Verdict::Clean => ExitCode::SUCCESS,
                lint::Verdict::Malformed => ExitCode::from(MALFORMED),
                lint::Verdict::Found => ExitCode::from(FOUND),
            };
        }),
        Command::Test(arguments) => rule_tests::run(&arguments).map(|code| success = code),
        Command::Evaluate(arguments) => evaluate::run(&arguments).map(|code| success = code),
        Command::Decisions(arguments) => decisions::run(&arguments).map(|code| success = code),
        Command::Health(arguments) => run(health::run(arguments)),
        Command::Man { folder } => {
            let command = Cli::command();
            clap_mangen::generate_to(command, &folder).map_err(|cause| {
                format!(
                    "the pages cannot be written to {}: {cause}",
                    output::shown_path(&folder)
                )
            })
        }
        Command::Completions { shell } => {
            let mut command = Cli::command();
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "tillgate", &mut script);
            output::print(&String::from_utf8_lossy(&script))
        }
    };
    match done {
        Ok(()) => success,
        Err(message) => {
            output::tell(&message);
            ExitCode::FAILURE
        }
    }
}

/// Treats an empty environment variable as unset, as the settings do.
#[expect(
    clippy::disallowed_methods,
    reason = "clap has read these, and does not say what they have"
)]
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |argument: &Arg| {
        let variable = argument.get_env().and_then(std::env::var_os);
        variable.is_some_and(|value| value.is_empty())
    };
    let command = command.mut_args(|argument| {
        if is_empty(&argument) {
            argument.env(None::<&'static str>)
        } else {
            argument
        }
    });
    command.mut_subcommands(without_empty_variables)
}

fn run<T>(command: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .on_thread_park(give_back)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|cause| cause.to_string())?;
    let done = runtime.block_on(command);
    // A disk that hangs must not keep the process from ending.
    runtime.shutdown_timeout(GRACE);
    done
}
