//! `tillgate jobs`: lists the dead letters of a running host, which are jobs that failed too often, retries them, and
//! drops them.

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::output::{print, print_line, table, text};
use super::session::{HostOptions, Session, segment};

const DEAD_LETTERS: &str = "/v1/jobs/dead-letters";

#[derive(Args, Debug)]
pub struct Jobs {
    #[command(flatten)]
    options: HostOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the jobs that failed too often, with the error of the last attempt
    #[command(after_help = "Examples:
  tillgate jobs list
  tillgate jobs list --json")]
    List,
    /// Retry a job, or all jobs that failed too often
    #[command(
        after_help = "First remove the cause of the failure: the job is tried up to 20 more times, and becomes a dead letter again if all fail.

Examples:
  tillgate jobs retry dGVuYW50OmFjbWUKd2ViaG9vay1mYW4tb3V0LzE
  tillgate jobs retry --all"
    )]
    Retry {
        /// Id of the job, from `tillgate jobs list`
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Retry all jobs that are dead letters now
        #[arg(long)]
        all: bool,
    },
    /// Drop a job for good, without doing its work
    #[command(after_help = "Example:
  tillgate jobs drop dGVuYW50OmFjbWUKd2ViaG9vay1mYW4tb3V0LzE")]
    Drop {
        /// Id of the job, from `tillgate jobs list`
        id: String,
    },
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next: Option<String>,
}

pub async fn run(arguments: Jobs) -> Result<(), String> {
    let Jobs { options, command } = arguments;
    let session = Session::open(&options).await?;
    match command {
        Command::List => {
            let jobs = list(&session).await?;
            print(&if options.json {
                json_array(&jobs)
            } else {
                listed(&jobs)?
            })
        }
        Command::Retry { id: Some(id), .. } => {
            let path = format!("{DEAD_LETTERS}/{}/retry", segment(&id));
            let job = session.call(Method::POST, &path).await?.body()?;
            if options.json {
                print(&format!("{}\n", job.text))
            } else {
                print_line(&format!(
                    "the job {} of {} is tried again",
                    text(&job.value, "job"),
                    text(&job.value, "queue")
                ))
            }
        }
        Command::Retry { id: None, .. } => {
            let jobs = retry_all(&session).await?;
            print(&if options.json {
                json_array(&jobs)
            } else {
                format!("{} jobs are tried again\n", jobs.len())
            })
        }
        Command::Drop { id } => {
            let path = format!("{DEAD_LETTERS}/{}", segment(&id));
            session.call(Method::DELETE, &path).await?.body()?;
            print(&if options.json {
                "{}\n".to_owned()
            } else {
                "the job is dropped\n".to_owned()
            })
        }
    }
}

/// Returns all dead letters, read page by page.
async fn list(session: &Session) -> Result<Vec<Box<RawValue>>, String> {
    let mut jobs = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("{DEAD_LETTERS}?limit=1000{cursor}");
        let answer = session.get(&path).await?;
        let page: Page = serde_json::from_str(&answer.text).map_err(not_a_list)?;
        jobs.extend(page.items);
        let Some(next) = page.next else {
            return Ok(jobs);
        };
        cursor = format!("&cursor={}", segment(&next));
    }
}

/// Retries each job that is a dead letter now, and returns the retried ones. One that fails again at once is not
/// retried twice.
async fn retry_all(session: &Session) -> Result<Vec<Box<RawValue>>, String> {
    let mut retried = Vec::new();
    for job in list(session).await? {
        let value: Value = serde_json::from_str(job.get()).map_err(not_a_list)?;
        let path = format!("{DEAD_LETTERS}/{}/retry", segment(text(&value, "id")));
        let answer = session.call(Method::POST, &path).await?;
        // Someone else was faster.
        if !answer.is_missing() {
            answer.body()?;
            retried.push(job);
        }
    }
    Ok(retried)
}

fn not_a_list(cause: serde_json::Error) -> String {
    format!("the answer is not a list of jobs: {cause}")
}

/// Returns a JSON array with one job per line, each as the host wrote it.
fn json_array(jobs: &[Box<RawValue>]) -> String {
    let jobs: Vec<_> = jobs.iter().map(|job| job.get()).collect();
    format!("[{}]\n", jobs.join(",\n"))
}

fn listed(jobs: &[Box<RawValue>]) -> Result<String, String> {
    if jobs.is_empty() {
        return Ok("there are no dead letters\n".to_owned());
    }
    let row = |job: &RawValue| -> Result<[String; 6], String> {
        let job: Value = serde_json::from_str(job.get()).map_err(not_a_list)?;
        let members = ["failedAt", "queue", "tenantId", "job", "id", "error"];
        Ok(members.map(|member| text(&job, member).to_owned()))
    };
    let rows = jobs.iter().map(|job| row(job));
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    let titles = ["FAILED", "QUEUE", "TENANT", "JOB", "ID", "ERROR"];
    Ok(table(titles, &rows))
}
