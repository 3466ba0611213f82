//! `tillgate listen`: has the deliveries of a temporary webhook forwarded to an address of this machine, and prints what
//! was answered.
//!
//! A stream of the host brings the deliveries. When it ends or breaks, the command connects again with a fresh token; a
//! webhook that was removed meanwhile is created again, with the same key. It is removed when the command ends.

mod forward;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::forward::{Forwarded, Forwarder};
use super::answer::{Failure, Json};
use super::output::{print_on, tell, text};
use super::reconnect::Reconnect;
use super::session::{HostOptions, Session, segment};
use super::signals::Signals;
use crate::egress::{EventStream, shown};

const WEBHOOKS: &str = "/api/v1/webhooks";

/// The longest pause before it connects again: a listener that is disconnected for longer is removed.
const MAX_PAUSE: Duration = Duration::from_secs(15);

#[derive(Args, Debug)]
pub(super) struct Listen {
    #[command(flatten)]
    options: HostOptions,
    /// Where to send deliveries: a URL of this machine, or of a private network
    #[arg(long, value_name = "URL", value_parser = Address::parse)]
    forward_to: Address,
    /// Event type to forward; may be given several times [default: all]
    #[arg(long = "event-type", value_name = "TYPE")]
    event_types: Vec<String>,
}

/// A URL, and the text that it was given as: that is the audience of tokens.
#[derive(Clone, Debug)]
struct Address {
    url: Url,
    text: String,
}

impl Address {
    fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|cause| cause.to_string())?;
        let text = text.to_owned();
        Ok(Self { url, text })
    }
}

pub(super) async fn run(arguments: Listen) -> Result<(), String> {
    let mut signals = Signals::new()?;
    let session = tokio::select! {
        session = Session::open(&arguments.options) => session?,
        () = signals.next() => return Ok(()),
    };
    let forwarder = Forwarder::new(arguments.forward_to.url.clone(), arguments.options.json)?;
    let mut listener = Listener::create(session, arguments, forwarder).await?;
    let listened = listener.listen(&mut signals).await;
    listener.end(&mut signals).await;
    listened
}

/// The command, once it has a webhook.
struct Listener {
    session: Session,
    forwarder: Arc<Forwarder>,
    /// The request that creates the webhook; once it was created, with its key.
    creation: Value,
    /// The webhook's path.
    path: String,
    /// The deliveries that are being forwarded.
    running: JoinSet<Result<Forwarded, String>>,
}

impl Listener {
    async fn create(
        session: Session,
        arguments: Listen,
        forwarder: Forwarder,
    ) -> Result<Self, String> {
        let mut types = arguments.event_types;
        if types.is_empty() {
            types.push("*".to_owned());
        }
        let mut listener = Self {
            creation: creation(&types, &arguments.forward_to.text, None),
            forwarder: Arc::new(forwarder),
            session,
            path: String::new(),
            running: JoinSet::new(),
        };
        let made = listener.create_webhook().await?;
        let key = text(&made.value, "sharedKey").to_owned();
        match arguments.options.json {
            true => _ = print_on(&format!("{}\n", made.text))?,
            false => tell(&format!(
                "{} events are forwarded to {} until Ctrl-C; their secret for Standard Webhooks is {}, their shared key is \
                 {key}",
                types.join(", ").replace('*', "all"),
                shown(&arguments.forward_to.text),
                text(&made.value, "standardWebhooksSecret"),
            )),
        }
        listener.creation = creation(&types, &arguments.forward_to.text, Some(&key));
        Ok(listener)
    }

    async fn create_webhook(&mut self) -> Result<Json, Failure> {
        let path = format!("{WEBHOOKS}/listen");
        let creation = self.creation.to_string().into_bytes();
        let made = self
            .session
            .post(&path, "application/json", creation)
            .await?;
        self.path = format!("{WEBHOOKS}/{}", segment(text(&made.value, "id")));
        Ok(made)
    }

    /// Forwards deliveries until a signal comes, stdout is closed, or it cannot go on.
    async fn listen(&mut self, signals: &mut Signals) -> Result<(), String> {
        let mut reconnect = Reconnect::new(MAX_PAUSE);
        let mut stream = self.follow().await?;
        loop {
            let event = tokio::select! {
                () = signals.next() => return Ok(()),
                Some(done) = self.running.join_next() => {
                    match done.map_err(|cause| cause.to_string())?? {
                        Forwarded::Reported => continue,
                        Forwarded::StdoutClosed => return Ok(()),
                        Forwarded::ReceiverGone => return Err(
                            "the receiver answered 410 Gone, which disables a webhook".to_owned(),
                        ),
                    }
                }
                event = stream.next() => event,
            };
            match event {
                Ok(Some(event)) => {
                    match event.name.as_str() {
                        "delivery" => self.forward(event.data),
                        "removed" => return Err("the temporary webhook was removed".to_owned()),
                        _ => {}
                    }
                    continue;
                }
                // A stream ends with its token, or when the host stops.
                Ok(None) => {}
                Err(cause) => tell(&format!("the stream broke off: {cause}")),
            }
            stream = tokio::select! {
                stream = reconnect.replace(&stream, async || self.connect().await) => stream?,
                () = signals.next() => return Ok(()),
            };
        }
    }

    fn forward(&mut self, data: String) {
        let forwarder = Arc::clone(&self.forwarder);
        let (session, path) = (self.session.clone(), self.path.clone());
        self.running
            .spawn(async move { forwarder.forward(session, &path, &data).await });
    }

    async fn follow(&self) -> Result<EventStream, Failure> {
        let path = format!("{}/deliveries", self.path);
        self.session.follow(&path, None).await
    }

    /// Connects with a fresh token, to a new webhook when the host has removed the one before.
    async fn connect(&mut self) -> Result<EventStream, Failure> {
        self.session.renew().await?;
        if self
            .session
            .call(Method::GET, &self.path)
            .await?
            .is_missing()
        {
            self.create_webhook().await?;
            tell("the host did not answer for too long: events of that time are missing");
        }
        self.follow().await
    }

    /// Waits for the deliveries that are being forwarded, unless another signal comes, and removes the webhook.
    async fn end(mut self, signals: &mut Signals) {
        let rest = async { while self.running.join_next().await.is_some() {} };
        tokio::select! {
            () = rest => {}
            () = signals.next() => {}
        }
        if let Err(first) = self.remove().await {
            let renewed = self.session.renew().await;
            if renewed.is_err() || self.remove().await.is_err() {
                tell(&format!(
                    "the temporary webhook could not be removed ({first}); without a listener it ends within a minute"
                ));
            }
        }
    }

    async fn remove(&self) -> Result<(), Failure> {
        let answer = self.session.call(Method::DELETE, &self.path).await?;
        match answer.is_missing() {
            true => Ok(()),
            false => answer.body().map(drop),
        }
    }
}

/// The request that creates a webhook.
fn creation(types: &[String], forward_to: &str, key: Option<&str>) -> Value {
    json!({ "eventTypes": types, "forwardTo": forward_to, "sharedKey": key })
}
