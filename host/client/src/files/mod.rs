//! `tillgate export`, `diff` and `apply`: a tenant's configuration as files in version control.
//!
//! From files to the host, in this order: `folder.rs` reads the files (`kind.rs` and `form.rs` say what they may
//! contain, `document.rs` checks them), `rule_tests.rs` runs the tests in them, `existing.rs` reads the host, `plan.rs`
//! compares both, `checks.rs` finds contradictions, `bind.rs` binds the plan to versions, `order.rs` sorts it,
//! `refusals.rs` asks the host to try it, `print.rs` prints it, and `apply.rs` carries it out. From the host to files:
//! `export.rs`, with the names that an earlier export left (`earlier.rs`, `file_name.rs`) and places for secrets
//! (`places.rs`), through a folder that is opened once (`open_folder.rs`).

mod apply;
mod bind;
mod changes;
mod checks;
mod document;
mod earlier;
mod existing;
mod export;
mod file_name;
mod folder;
mod form;
mod host;
mod kind;
mod members;
mod open_folder;
mod order;
mod places;
mod plan;
mod pretty;
mod print;
mod refusals;
mod resources;
mod rule_tests;
mod secrets;
mod tree;
mod unit_rates;
mod webhook;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::identity::NAME_RULE;

use self::apply::Manner;
pub use self::export::{Export, run as export};
use self::folder::{Files, Refusal};
use self::form::Forms;
use self::host::Host;
pub use self::kind::Kind;
use self::kind::missing;
use self::order::Rank;
use self::plan::{Options, Plan, Step};
use self::print::{About, Became, Counts, DONE};
pub use self::resources::Resources;
use super::output::{print, shown_path, tell};
use super::session::HostOptions;
use super::{FOUND, MALFORMED};

/// The exit code of `diff` when something differs.
const DIFFERS: u8 = 2;

#[derive(Args, Debug)]
pub struct Diff {
    #[command(flatten)]
    compared: Compared,
}

#[derive(Args, Debug)]
pub struct Apply {
    #[command(flatten)]
    compared: Compared,
    /// Print the plan, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Delete resources that earlier runs under the same name have made and that no longer have a file
    #[arg(long)]
    prune: bool,
    /// Take over resources that have a file but were made by others
    #[arg(long)]
    adopt: bool,
    /// Send all secrets that the files name, because the host does not tell whether a secret differs
    #[arg(long)]
    secrets: bool,
    /// Also set rates that move by more than their tolerance
    #[arg(long)]
    accept_deviation: bool,
    /// Also write rules whose tests fail
    #[arg(long)]
    accept_failing_tests: bool,
}

#[derive(Args, Debug)]
struct Compared {
    #[command(flatten)]
    options: HostOptions,
    /// Folder with the files, as `tillgate export` writes them
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Name that marks the managed resources; use a different one for each folder that is applied to a tenant
    #[arg(long, value_name = "NAME", default_value = "tillgate-apply", value_parser = name)]
    managed_by: ManagedBy,
}

fn name(text: &str) -> Result<ManagedBy, String> {
    ManagedBy::new(text).ok_or_else(|| NAME_RULE.to_owned())
}

/// A plan that can be carried out, and its host.
struct Ready<'f> {
    host: Host,
    steps: Vec<(Rank, Step<'f>)>,
    /// The resources that stay.
    rest: Plan<'f>,
    files: usize,
}

/// Compares files with a host.
pub async fn diff(arguments: Diff, resources: &'static dyn Resources) -> Result<ExitCode, String> {
    let Compared {
        options,
        folder,
        managed_by,
    } = arguments.compared;
    let forms = Forms::of(resources);
    let files = match read(&folder, &forms)? {
        Ok(files) => files,
        Err(code) => return Ok(code),
    };
    let planned = Options {
        me: managed_by.as_str(),
        prune: true,
        adopt: false,
        secrets: false,
        only_shown: true,
    };
    let ready = plan(&options, forms, &files, planned, Permitted::Reading).await?;
    ready.print(&options, planned.me, Became::Shown)?;
    Ok(if ready.steps.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(DIFFERS)
    })
}

/// Makes a host match the files.
pub async fn apply(
    arguments: Apply,
    resources: &'static dyn Resources,
) -> Result<ExitCode, String> {
    let Compared {
        options,
        folder,
        managed_by,
    } = arguments.compared;
    let forms = Forms::of(resources);
    let files = match read(&folder, &forms)? {
        Ok(files) => files,
        Err(code) => return Ok(code),
    };
    let failing = rule_tests::failing(&files);
    if !failing.is_empty() {
        tell(&format!("tests fail:\n  {}", failing.join("\n  ")));
        if !arguments.accept_failing_tests {
            return Ok(ExitCode::from(FOUND));
        }
    }
    let planned = Options {
        me: managed_by.as_str(),
        prune: arguments.prune,
        adopt: arguments.adopt,
        secrets: arguments.secrets,
        only_shown: false,
    };
    let permitted = match (arguments.dry_run, arguments.prune) {
        (true, _) => Permitted::Reading,
        (false, true) => Permitted::Deleting,
        (false, false) => Permitted::Writing,
    };
    let ready = plan(&options, forms, &files, planned, permitted).await?;
    let manner = Manner {
        me: planned.me,
        accept_deviation: arguments.accept_deviation,
        accept_failing_tests: arguments.accept_failing_tests,
    };
    if arguments.dry_run {
        let refusals = refusals::refusals(&ready.host, &ready.steps, manner).await?;
        ready.print(&options, planned.me, Became::Refused(&refusals))?;
        return if refusals.is_empty() {
            Ok(ExitCode::SUCCESS)
        } else {
            Err(format!(
                "the host would refuse this:\n  {}",
                refusals.join("\n  ")
            ))
        };
    }
    let secrets = apply::secrets_of(&ready.steps).map_err(|missing| missing.join("\n  "))?;
    if !options.json {
        ready.print(&options, planned.me, Became::Shown)?;
    }
    let mut outcome = apply::apply(&ready.host, &ready.steps, &secrets, manner).await;
    if options.json {
        ready.print(&options, planned.me, Became::Made(&outcome))?;
    }
    let (done, all) = (outcome.done.len(), ready.steps.len());
    if !outcome.failures.is_empty() {
        outcome.failures.push(format!(
            "{done} of {all} were written: run it again once this is fixed, and it does the rest"
        ));
        return Err(outcome.failures.join("\n"));
    }
    if !options.json && all > 0 {
        print(&format!("done: {}\n", Counts::of(&ready.steps).words(DONE)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the folder. If its contents are malformed, reports the faults and returns the exit code.
fn read(folder: &Path, forms: &Forms) -> Result<Result<Files, ExitCode>, String> {
    match folder::read(folder, forms) {
        Ok(files) => Ok(Ok(files)),
        Err(Refusal::Unreadable(cause)) => Err(cause),
        Err(Refusal::Malformed(faults)) => {
            let (shown, faults) = (shown_path(folder), faults.join("\n  "));
            tell(&format!("the files in {shown} have faults:\n  {faults}"));
            Ok(Err(ExitCode::from(MALFORMED)))
        }
    }
}

/// The access that the credentials must permit.
#[derive(Clone, Copy, Debug)]
enum Permitted {
    Reading,
    Writing,
    Deleting,
}

async fn plan<'f>(
    options: &HostOptions,
    forms: Forms,
    files: &'f Files,
    planned: Options<'_>,
    permitted: Permitted,
) -> Result<Ready<'f>, String> {
    let host = Host::open(options, forms).await?;
    require(&host, files, permitted)?;
    let existing = host.existing(files.keys().copied()).await?;
    let plan = Plan::make(files, &existing, planned).map_err(contradictions)?;
    let tree = checks::tree(files, &existing, &plan);
    let problems = checks::problems(files, &existing, &plan, &tree, planned.me);
    if !problems.is_empty() {
        return Err(contradictions(problems));
    }
    let mut plan = bind::bind(&host, plan, planned)
        .await?
        .map_err(contradictions)?;
    let steps = order::ranked(&mut plan, files, &tree);
    Ok(Ready {
        host,
        steps,
        rest: plan,
        files: files.values().map(BTreeMap::len).sum(),
    })
}

fn contradictions(problems: Vec<String>) -> String {
    match problems.as_slice() {
        [one] => one.clone(),
        many => format!("{} contradictions:\n  {}", many.len(), many.join("\n  ")),
    }
}

/// Succeeds if the credentials permit what the folders require.
fn require(host: &Host, files: &Files, permitted: Permitted) -> Result<(), String> {
    for kind in files.keys() {
        let needed = match permitted {
            Permitted::Reading => [kind.reading(), &[], &[]],
            Permitted::Writing => [kind.reading(), kind.writing(), &[]],
            Permitted::Deleting => [kind.reading(), kind.writing(), kind.deleting()],
        };
        if let Some(permission) = missing(&needed.concat(), host.permissions) {
            let verb = match permitted {
                Permitted::Reading => "compared",
                Permitted::Writing | Permitted::Deleting => "applied",
            };
            return Err(format!(
                "the folder {kind} cannot be {verb}: these credentials lack the permission {permission}"
            ));
        }
    }
    Ok(())
}

impl Ready<'_> {
    fn print(&self, options: &HostOptions, me: &str, became: Became<'_>) -> Result<(), String> {
        let about = About {
            host: &self.host,
            me,
            files: self.files,
        };
        print(&if options.json {
            print::json(about, &self.steps, &self.rest, became)?
        } else {
            print::text(about, &self.steps, &self.rest)
        })
    }
}
