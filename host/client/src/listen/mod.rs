//! `tillgate listen`: receives the events of a tenant as a consumer, sends each to an address of this machine as a
//! webhook would, and prints the answer.
//!
//! The consumer is the command's own, which deletes it at its end. A page is acknowledged once all its events have been
//! sent, so none is left out while the host is away.

mod forward;

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use clap::Args;
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tillgate_base::egress::shown;
use uuid::Uuid;

use self::forward::Forwarder;
use super::answer::{Failure, Json};
use super::output::{print_on, tell};
use super::session::{HostOptions, Requires, Session, segment};
use super::signals::Signals;

/// The longest pause before it calls a host again that did not answer.
const MAX_PAUSE: Duration = Duration::from_secs(15);

/// The event type that matches all.
const ALL: &str = "*";

#[derive(Args, Debug)]
pub struct Listen {
    #[command(flatten)]
    options: HostOptions,
    /// Where to send events: a URL of this machine, or of a private network
    #[arg(long, value_name = "URL", value_parser = Address::parse)]
    forward_to: Address,
    /// Event type to forward; may be given several times [default: all]
    #[arg(long = "event-type", value_name = "TYPE", default_values = [ALL], hide_default_value = true)]
    event_types: Vec<String>,
}

/// A URL, and the text that it was parsed from, which is the audience of tokens.
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

/// Events of a consumer. Their texts are sent as they arrive.
#[derive(Deserialize)]
struct Page<'t> {
    #[serde(borrow)]
    items: Vec<&'t RawValue>,
    next: String,
}

/// The members of an envelope that the command prints and filters by.
#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    event_type: String,
    time: String,
}

pub async fn run(arguments: Listen) -> Result<(), String> {
    let mut signals = Signals::new()?;
    let session = tokio::select! {
        session = Session::open(&arguments.options) => session?,
        () = signals.next() => return Ok(()),
    };
    let forwarder = Forwarder::new(arguments.forward_to.url.clone(), arguments.options.json)?;
    let mut listener = Listener {
        consumer: format!("listen-{}", Uuid::new_v4().simple()),
        key: generate_key()?,
        session,
        forwarder,
        arguments,
    };
    let listened = tokio::select! {
        listened = listener.listen() => listened,
        () = signals.next() => Ok(()),
    };
    tokio::select! {
        () = listener.end() => {}
        () = signals.next() => {}
    }
    listened
}

/// The command once it has a token.
struct Listener {
    session: Session,
    forwarder: Forwarder,
    arguments: Listen,
    /// The name of its consumer.
    consumer: String,
    /// The key for the signatures.
    key: String,
}

impl Listener {
    /// Forwards events until stdout is closed or an error ends it.
    async fn listen(&mut self) -> Result<(), String> {
        self.check_address().await?;
        let mut page = self.pull(None).await?;
        self.announce()?;
        loop {
            let read: Page<'_> = serde_json::from_str(&page.text)
                .map_err(|cause| format!("the host sent events that cannot be read: {cause}"))?;
            for envelope in read.items {
                if !self.forward(envelope.get()).await? {
                    return Ok(());
                }
            }
            page = self.pull(Some(&read.next)).await?;
        }
    }

    /// Makes the host check the address: it does so before it looks for the event, and no event has this id.
    async fn check_address(&self) -> Result<(), String> {
        let path = signed_headers(&self.consumer);
        let body = Some(self.local_receiver());
        let asked = self
            .session
            .write(Method::POST, &path, Requires::Nothing, body);
        let answer = asked.await?;
        if answer.is_missing() {
            Ok(())
        } else {
            Ok(answer.body().map(drop)?)
        }
    }

    /// Prints what is forwarded, and the key that signs it.
    fn announce(&self) -> Result<(), String> {
        let Listen {
            event_types,
            forward_to,
            options,
        } = &self.arguments;
        let secret = format!("whsec_{}", BASE64_STANDARD.encode(&self.key));
        if options.json {
            let line = json!({
                "consumer": self.consumer,
                "eventTypes": event_types,
                "forwardTo": forward_to.text,
                "sharedKey": self.key,
                "standardWebhooksSecret": secret,
            });
            return print_on(&format!("{line}\n")).map(drop);
        }
        tell(&format!(
            "{} events are forwarded to {} until Ctrl-C; their secret for Standard Webhooks is {secret}, their shared key is {}",
            event_types.join(", ").replace(ALL, "all"),
            shown(&forward_to.text),
            self.key,
        ));
        Ok(())
    }

    /// Returns the next events as soon as there are any, and acknowledges the previous ones.
    async fn pull(&mut self, after: Option<&str>) -> Result<Json, String> {
        let mut path = format!("/api/v1/events?consumer={}&wait=20s", self.consumer);
        if let Some(after) = after {
            path += &format!("&after={}", segment(after));
        }
        self.ask(async |session| session.get(&path).await).await
    }

    /// Sends an event if its type is wanted. Returns whether stdout is still open.
    async fn forward(&mut self, envelope: &str) -> Result<bool, String> {
        let event: Event = serde_json::from_str(envelope)
            .map_err(|cause| format!("the host sent an event that cannot be read: {cause}"))?;
        let mut types = self.arguments.event_types.iter();
        if !types.any(|wanted| wanted == ALL || *wanted == event.event_type) {
            return Ok(true);
        }
        let (path, receiver) = (signed_headers(&event.id), self.local_receiver());
        let sign = async |session: &Session| {
            session
                .post(&path, "application/json", receiver.clone())
                .await
        };
        let signed = self.ask(sign).await?;
        self.forwarder
            .forward(&event, &signed.value, envelope)
            .await
    }

    /// Returns the body of a request for signed headers.
    fn local_receiver(&self) -> Vec<u8> {
        let receiver = json!({ "url": self.arguments.forward_to.text, "sharedKey": self.key });
        receiver.to_string().into_bytes()
    }

    /// Calls the host, and again with a fresh token as long as it does not answer.
    async fn ask(
        &mut self,
        ask: impl AsyncFn(&Session) -> Result<Json, Failure>,
    ) -> Result<Json, String> {
        let pauses = ExponentialBuilder::new().with_min_delay(Duration::from_millis(100));
        let pauses = pauses.with_max_delay(MAX_PAUSE).without_max_times();
        let mut pauses = pauses.build();
        let mut asked = ask(&self.session).await;
        loop {
            match &asked {
                Ok(_) => break,
                Err(Failure::Final(_)) => {}
                Err(Failure::Temporary(message)) => {
                    tell(message);
                    tokio::time::sleep(pauses.next().unwrap_or(MAX_PAUSE)).await;
                }
            }
            let renewed = self.session.renew().await;
            asked = match renewed {
                Ok(()) => ask(&self.session).await,
                Err(failure) => Err(failure),
            };
            if matches!(asked, Err(Failure::Final(_))) {
                break;
            }
        }
        Ok(asked?)
    }

    /// Deletes its consumer.
    async fn end(&mut self) {
        if let Err(first) = self.delete().await {
            let renewed = self.session.renew().await;
            if renewed.is_err() || self.delete().await.is_err() {
                tell(&format!(
                    "the consumer {} could not be deleted: {first}",
                    self.consumer
                ));
            }
        }
    }

    async fn delete(&self) -> Result<(), Failure> {
        let path = format!("/api/v1/event-consumers/{}", self.consumer);
        let answer = self.session.call(Method::DELETE, &path).await?;
        if answer.is_missing() {
            Ok(())
        } else {
            answer.body().map(drop)
        }
    }
}

/// Returns the path of the signed headers of an event.
fn signed_headers(event: &str) -> String {
    format!("/api/v1/events/{}/signed-headers", segment(event))
}

/// Returns a shared key of 256 random bits, as text.
fn generate_key() -> Result<String, String> {
    let mut bytes = [0; 32];
    let filled = aws_lc_rs::rand::fill(&mut bytes);
    filled.map_err(|_| "the system has no random numbers".to_owned())?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}
