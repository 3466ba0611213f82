//! `tillgate evaluate`: decides by a catalog in a file, without a host. The module decides, so the answer is byte for
//! byte that of a host with these rules.

use std::path::PathBuf;
use std::process::ExitCode;

use bytes::Bytes;
use clap::Args;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tillgate_base::engine::{
    Call, CompiledModule, Document, EngineError, EnginePool, EvaluateOptions,
};
use tillgate_engine::condition::ConditionId;
use tillgate_engine::face::Prepared;
use tillgate_engine::{Code, Fault};

use tillgate_client::input::{is_stdin, read};
use tillgate_client::output::{on_line, print, shown_path, tell};
use tillgate_client::{FOUND, MALFORMED};

#[derive(Args, Debug)]
pub(super) struct Evaluate {
    /// Catalog to decide with, the answer of GET /api/v1/catalog; - reads it from stdin
    #[arg(value_name = "CATALOG.json")]
    catalog: PathBuf,
    /// Request, the body of an evaluate call; - reads it from stdin
    #[arg(value_name = "REQUEST.json")]
    request: PathBuf,
    /// Condition that decides about the request's item [default: the request is about a project, or a basket]
    #[arg(long, value_name = "ID")]
    condition: Option<String>,
    /// Add to each result the values that were compared
    #[arg(long)]
    explain: bool,
}

/// The members that distinguish a request about a basket from one about a project.
#[derive(Deserialize)]
struct Shape {
    items: Option<IgnoredAny>,
    #[serde(rename = "projectId")]
    project_id: Option<IgnoredAny>,
}

/// Prints the decision. Returns exit code 0 if there is one, whatever it is.
pub(super) fn run(arguments: &Evaluate) -> Result<ExitCode, String> {
    if is_stdin(&arguments.catalog) && is_stdin(&arguments.request) {
        return Err("only one of the two files can be read from stdin".to_owned());
    }
    let (catalog, request) = (read(&arguments.catalog)?, read(&arguments.request)?);
    if let Err(error) = Prepared::new("catalog", &catalog) {
        let name = shown_path(&arguments.catalog);
        return Ok(malformed(
            &format!("{name} is not a catalog"),
            &error.faults,
        ));
    }
    let document = Document::catalog(Bytes::from(catalog));
    let call = match call(arguments, &document, &request) {
        Ok(call) => call,
        Err(fault) => return Ok(malformed("the command is incomplete", &[fault])),
    };
    let failed = |cause: EngineError| format!("the module does not run here: {cause}");
    let engine = CompiledModule::of_this_program()
        .and_then(|module| EnginePool::new(module, 1))
        .map_err(failed)?;
    let lease = engine.lease().map_err(failed)?;
    let options = EvaluateOptions {
        explain: arguments.explain,
        lenient: false,
        record: None,
    };
    match lease.evaluate(call, options, &request) {
        Ok(decided) => {
            print(&format!("{}\n", String::from_utf8_lossy(&decided.answer)))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(EngineError::Refused(Code::ConditionNotFound, faults)) => {
            told("there is no decision", &faults);
            Ok(ExitCode::from(FOUND))
        }
        Err(EngineError::Refused(_, faults)) => {
            let name = shown_path(&arguments.request);
            Ok(malformed(&format!("{name} is not a request"), &faults))
        }
        Err(cause @ EngineError::Failed(_)) => Err(cause.to_string()),
    }
}

/// Returns the call: by the named condition, about a basket if the request has items, or about a project. The module
/// reports a malformed request.
fn call<'a>(
    arguments: &'a Evaluate,
    catalog: &'a Document,
    request: &[u8],
) -> Result<Call<'a>, Fault> {
    if let Some(id) = &arguments.condition {
        return if ConditionId::is_id(id) {
            Ok(Call::Condition(catalog, id))
        } else {
            Err(fault("--condition", ConditionId::RULE))
        };
    }
    match serde_json::from_slice(request) {
        Ok(Shape {
            items: None,
            project_id: Some(_),
        }) => Ok(Call::Project(catalog)),
        Ok(Shape {
            items: None,
            project_id: None,
        }) => Err(fault(
            "--condition",
            "is missing: the request has neither items nor a projectId, so name the condition that decides about its item",
        )),
        _ => Ok(Call::Basket(catalog, None)),
    }
}

fn fault(path: &str, message: &'static str) -> Fault {
    Fault {
        path: path.to_owned(),
        message: message.into(),
    }
}

fn malformed(what: &str, faults: &[Fault]) -> ExitCode {
    told(what, faults);
    ExitCode::from(MALFORMED)
}

/// Reports faults, each on its own line.
fn told(what: &str, faults: &[Fault]) {
    let lines = faults
        .iter()
        .map(|fault| format!("\n  {}", on_line(&fault.to_string())));
    tell(&format!("{what}:{}", lines.collect::<String>()));
}
