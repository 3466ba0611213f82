//! A host's answers to a command, and the reasons why a request fails.

use std::fmt;

use reqwest::StatusCode;
use reqwest::header::{ETAG, HeaderValue};
use serde_json::Value;
use tillgate_base::egress;

use super::output::on_line;

/// The reason why a request to a host failed.
#[derive(Debug)]
pub enum Failure {
    /// Another attempt may succeed.
    Temporary(String),
    /// Another attempt will not succeed.
    Final(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Temporary(message) | Self::Final(message)) = self;
        f.write_str(message)
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        failure.to_string()
    }
}

pub struct Answer {
    pub status: StatusCode,
    /// The version of the document that was written.
    pub etag: Option<HeaderValue>,
    body: Json,
}

/// A JSON document: its value, and its text with exact numbers.
#[derive(Clone, Default)]
pub struct Json {
    pub value: Value,
    pub text: String,
}

impl Answer {
    /// Returns whether the status is 404 Not Found.
    pub fn is_missing(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// Returns whether the status is 409 Conflict.
    pub fn is_conflict(&self) -> bool {
        self.status == StatusCode::CONFLICT
    }

    /// Returns whether the status is 412 Precondition Failed.
    pub fn is_outdated(&self) -> bool {
        self.status == StatusCode::PRECONDITION_FAILED
    }

    /// Returns the answer, or an error if another attempt may succeed.
    pub fn unless_temporary(self) -> Result<Self, Failure> {
        if self.is_temporary() {
            Err(self.failure())
        } else {
            Ok(self)
        }
    }

    fn is_temporary(&self) -> bool {
        self.status.is_server_error() || self.status == StatusCode::TOO_MANY_REQUESTS
    }

    /// Returns the body of a successful answer.
    pub fn body(self) -> Result<Json, Failure> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        Err(self.failure())
    }

    fn failure(&self) -> Failure {
        let (status, reason) = (self.status, self.body.reason());
        match status {
            StatusCode::FORBIDDEN => {
                Failure::Final(format!("these credentials may not do this: {reason}"))
            }
            _ if self.is_temporary() => {
                Failure::Temporary(format!("the host answered {status}: {reason}"))
            }
            _ => Failure::Final(format!("the host answered {status}: {reason}")),
        }
    }
}

impl Json {
    /// Returns why a request failed, with each fault on its own line if there are several.
    fn reason(&self) -> String {
        let faults = self.value.get("message").and_then(Value::as_array);
        let faults = faults.into_iter().flatten().filter_map(Value::as_str);
        let lines = faults.map(|fault| format!("\n  {}", on_line(fault)));
        let count = lines.clone().count();
        if count > 1 {
            return format!("{count} faults{}", lines.collect::<String>());
        }
        let reasons = ["detail", "error_description"].map(|member| self.value.get(member));
        let reason = reasons.into_iter().flatten().find_map(Value::as_str);
        on_line(reason.unwrap_or("it gave no reason")).into_owned()
    }
}

impl From<egress::Answer> for Answer {
    fn from(answer: egress::Answer) -> Self {
        let body = Json {
            value: serde_json::from_slice(&answer.body).unwrap_or_default(),
            text: String::from_utf8_lossy(&answer.body).into_owned(),
        };
        Self {
            status: answer.status,
            etag: answer.headers.get(ETAG).cloned(),
            body,
        }
    }
}
