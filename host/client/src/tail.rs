//! `tillgate tail`: prints the messages of a topic as they are published.
//!
//! When the stream ends with its token or breaks off, the command connects again with a fresh token and the cursor of
//! the last message. An error that waiting does not resolve ends it.

use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use tillgate_api::rate::TOPIC;
use tillgate_base::egress::{Event, EventStream};

use super::changes::Changes;
use super::output::{on_line, print_on, tell};
use super::reconnect::Reconnect;
use super::session::{HostOptions, Session, segment};
use super::signals::Signals;

/// The longest pause before it connects again.
const MAX_PAUSE: Duration = Duration::from_secs(30);

#[derive(Args, Debug)]
pub struct Tail {
    #[command(flatten)]
    options: HostOptions,
    /// Topic to follow
    #[arg(value_name = "TOPIC", value_parser = [TOPIC])]
    topic: String,
    /// Print only messages of this tenant [default: all that the credentials may see]
    #[arg(long, value_name = "ID")]
    tenant: Option<String>,
    /// Print only messages of this business unit
    #[arg(long, value_name = "ID")]
    unit: Option<String>,
    /// Position to start from: earliest, latest, or a cursor to continue after
    #[arg(
        long,
        value_name = "CURSOR",
        default_value = "latest",
        allow_hyphen_values = true
    )]
    after: String,
}

impl Tail {
    fn path(&self) -> String {
        let mut path = format!(
            "/api/v1/topics/{}?after={}",
            segment(&self.topic),
            segment(&self.after)
        );
        for (name, value) in [("tenantId", &self.tenant), ("businessUnitId", &self.unit)] {
            if let Some(value) = value {
                path += &format!("&{name}={}", segment(value));
            }
        }
        path
    }
}

pub async fn run(arguments: Tail) -> Result<(), String> {
    // Created first, so that a signal right after the first output is not missed.
    let mut signals = Signals::new()?;
    let session = Session::open(&arguments.options).await?;
    let path = arguments.path();
    let mut tail = Consumer {
        stream: session.follow(&path, None).await?,
        session,
        path,
        json: arguments.options.json,
        cursor: None,
    };
    let consumed = tokio::select! {
        consumed = tail.consume() => consumed,
        () = signals.next() => Ok(()),
    };
    if let Some(cursor) = tail.cursor() {
        tell(&format!("to continue from here: --after {cursor}"));
    }
    consumed
}

/// The command once it has a stream.
struct Consumer {
    session: Session,
    path: String,
    json: bool,
    stream: EventStream,
    /// The cursor with which the stream was opened.
    cursor: Option<String>,
}

impl Consumer {
    /// Returns the cursor after the last printed message.
    fn cursor(&self) -> Option<&str> {
        let last = Some(self.stream.last_id()).filter(|id| !id.is_empty());
        last.or(self.cursor.as_deref())
    }

    /// Prints messages until stdout is closed.
    async fn consume(&mut self) -> Result<(), String> {
        let mut reconnect = Reconnect::new(MAX_PAUSE);
        loop {
            match self.stream.next().await {
                Ok(Some(event)) => {
                    if self.show(&event)? {
                        continue;
                    } else {
                        return Ok(());
                    }
                }
                // A stream ends with its token, or when the host stops.
                Ok(None) => {}
                Err(cause) => tell(&format!("the stream broke off: {cause}")),
            }
            self.cursor = self.cursor().map(str::to_owned);
            let Self {
                session,
                path,
                cursor,
                ..
            } = self;
            let open = async || {
                session.renew().await?;
                session.follow(path, cursor.as_deref()).await
            };
            self.stream = reconnect.replace(&self.stream, open).await?;
        }
    }

    /// Prints an event. Returns whether stdout is still open.
    fn show(&self, event: &Event) -> Result<bool, String> {
        match (event.name.as_str(), self.json) {
            ("message", true) => print_on(&format!("{}\n", event.data)),
            ("message", false) => print_on(&format!("{}\n", on_line(&describe(&event.data)))),
            ("reset", _) => {
                tell(
                    "messages after this cursor are no longer kept: read all rates again; older messages follow",
                );
                Ok(true)
            }
            _ => Ok(true),
        }
    }
}

/// A message on the topic of rate changes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'j> {
    publish_time: String,
    #[serde(borrow)]
    data: Changes<'j>,
}

/// Returns a message on one line, or unchanged if it has an unexpected form.
fn describe(data: &str) -> String {
    match serde_json::from_str::<Message<'_>>(data) {
        Ok(message) => format!("{}  {}", message.publish_time, message.data),
        Err(_) => data.to_owned(),
    }
}
