//! A subscriber of the topic over HTTP, which reads it event by event.
#![allow(dead_code, reason = "each test file takes what it needs")]

use reqwest::{Method, Response};
use serde_json::Value;

use super::fixture::Shop;
use crate::support::wait::within;

const TOPIC: &str = "/api/v1/topics/cer.public.event.rates-changed.v1";

pub struct Listener {
    response: Response,
    text: String,
}

/// An event, or a cursor alone, which has no data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// True for a comment, which other clients skip.
    pub is_comment: bool,
    pub id: String,
    pub name: String,
    pub data: String,
}

impl Event {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }

    /// Returns the shop that it concerns.
    pub fn shop(&self) -> String {
        let shop = &self.json()["attributes"]["Business-Unit-Id"];
        shop.as_str().unwrap_or_default().to_owned()
    }
}

impl Listener {
    /// Subscribes from now on, or from where the query says.
    pub async fn join(shop: &Shop, query: &str) -> Self {
        Self::ask(shop, &shop.token, query, None).await.unwrap()
    }

    /// Resumes after an event.
    pub async fn resume(shop: &Shop, query: &str, id: &str) -> Self {
        let token = &shop.token;
        Self::ask(shop, token, query, Some(id)).await.unwrap()
    }

    /// Subscribes with a token; returns the status if it is refused.
    pub async fn ask(
        shop: &Shop,
        token: &str,
        query: &str,
        last: Option<&str>,
    ) -> Result<Self, u16> {
        let path = format!("{TOPIC}?{query}");
        let mut request = shop.host.request(Method::GET, &path, token);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        if status != 200 {
            return Err(status);
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let text = String::new();
        Ok(Self { response, text })
    }

    /// Returns the next event with data; `None` when the stream has ended.
    pub async fn next(&mut self) -> Option<Event> {
        let coming = async {
            loop {
                let event = self.read().await?;
                if !event.data.is_empty() {
                    return Some(event);
                }
            }
        };
        within("an event with data, or the end of the stream", coming).await
    }

    /// Returns the next event, or the next comment with a cursor.
    pub async fn next_of_any_kind(&mut self) -> Option<Event> {
        within("an event, or the end of the stream", self.read()).await
    }

    async fn read(&mut self) -> Option<Event> {
        loop {
            while let Some((event, rest)) = take(&self.text) {
                self.text = rest.to_owned();
                if !event.id.is_empty() {
                    return Some(event);
                }
            }
            let chunk = self.response.chunk().await.unwrap()?;
            self.text += std::str::from_utf8(&chunk).unwrap();
        }
    }

    /// Returns the shops of the next events, in order.
    pub async fn shops(&mut self, count: usize) -> Vec<String> {
        let mut shops = Vec::new();
        for _ in 0..count {
            shops.push(self.next().await.expect("an event").shop());
        }
        shops
    }
}

/// Returns the first event or comment of a text, and the text after it.
fn take(text: &str) -> Option<(Event, &str)> {
    if !text.starts_with(':') {
        let (block, rest) = text.split_once("\n\n")?;
        return Some((parse(block), rest));
    }
    let (comment, rest) = text.split_once('\n')?;
    let event = Event {
        is_comment: true,
        id: comment
            .strip_prefix(": cursor ")
            .unwrap_or_default()
            .to_owned(),
        ..Event::default()
    };
    Some((event, rest))
}

fn parse(block: &str) -> Event {
    let mut event = Event::default();
    for line in block.lines() {
        let Some((field, value)) = line.split_once(':') else {
            panic!("{line} is no line of an event");
        };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => value.clone_into(&mut event.id),
            "event" => value.clone_into(&mut event.name),
            "data" => {
                assert_eq!(event.data, "", "data is one line");
                value.clone_into(&mut event.data);
            }
            "" => {}
            other => panic!("{other} is no field"),
        }
    }
    event
}
