//! The addresses of a host: checks whether one answers there, its state and its module, or whether the port is free.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Method, Url};
use serde::Deserialize;
use tillgate_base::config::StoreIdentity;
use tillgate_base::egress::{Answer, Client, Destinations, EgressError, Limits, Trust};
use tillgate_base::engine::MODULE_SHA256;
use tillgate_store::StoreUrl;

use super::report::{Finding, fail, ok, warn};
use crate::cli::health::reachable;

const PORT: &str = "port";
const HOST: &str = "host";

/// The limits of a request to a host of this machine.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(2),
    max_answer: 16 << 20,
    destinations: Destinations::Any,
};

/// The path at which a host names its module.
const ENGINE: &str = "/js/engine/engine.js";

/// The program that listens at an address, if any.
pub(super) enum Listener {
    /// None, and a host can listen there.
    Nobody,
    /// None, and no host can listen there.
    Unusable(std::io::Error),
    Host(Running),
    /// Another program, or one that does not answer.
    Other(EgressError),
    /// Another program that speaks HTTP.
    OtherHttp,
}

pub(super) struct Running {
    /// The answer of `/readyz`.
    pub(super) readiness: Bytes,
    /// The version and the digest of its module, if it tells them.
    engine: Option<(String, String)>,
}

/// The parts of the answer of `/readyz` that are used.
#[derive(Deserialize)]
struct Readiness {
    status: String,
    checks: BTreeMap<String, Check>,
    #[serde(default)]
    warnings: BTreeMap<String, Warning>,
    /// Earlier versions do not send it.
    store: Option<StoreIdentity>,
}

#[derive(Deserialize)]
struct Check {
    why: Option<String>,
}

#[derive(Deserialize)]
struct Warning {
    count: u64,
    why: String,
}

/// Gets a path from the host at an address of this machine, by `http` or `https`.
pub(super) async fn get(
    scheme: &str,
    listen: SocketAddr,
    path: &str,
) -> Result<Answer, EgressError> {
    let url = Url::parse(&format!("{scheme}://{}{path}", reachable(listen)));
    let url = url.map_err(|cause| EgressError::Broken(cause.to_string()))?;
    // The host's certificate is for the name that clients use, not for this address, and nothing secret is sent.
    let client = Client::trusting(LIMITS, Trust::Any)?;
    client.send(client.request(Method::GET, url)).await
}

/// Finds out which program listens at an address of this machine. If none does, this binds it for a moment.
pub(super) async fn listener(scheme: &str, listen: SocketAddr) -> Listener {
    match TcpListener::bind(listen) {
        Ok(_) => return Listener::Nobody,
        Err(cause) if cause.kind() != ErrorKind::AddrInUse => return Listener::Unusable(cause),
        Err(_) => {}
    }
    let readiness = match get(scheme, listen, "/readyz").await {
        Ok(answer) => answer.body,
        Err(cause) => return Listener::Other(cause),
    };
    if serde_json::from_slice::<Readiness>(&readiness).is_err() {
        return Listener::OtherHttp;
    }
    let engine = get(scheme, listen, ENGINE).await.ok();
    Listener::Host(Running {
        readiness,
        engine: engine.and_then(|answer| engine_of(&String::from_utf8_lossy(&answer.body))),
    })
}

/// Returns the version and the digest that a module's code states.
fn engine_of(code: &str) -> Option<(String, String)> {
    let value = |name: &str| {
        let (_, rest) = code.split_once(&format!("export const {name} = \""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    Some((value("version")?, value("sha256")?))
}

/// Checks an address, and the host that answers there.
pub(super) fn check(listen: SocketAddr, listener: &Listener) -> Vec<Finding> {
    let busy = "stop it, or have the host listen elsewhere (listen)";
    match listener {
        _ if listen.port() == 0 => vec![ok(PORT, "each start takes a free port")],
        Listener::Nobody => vec![ok(PORT, format!("{listen} is free, so no host runs there"))],
        Listener::Unusable(cause) => vec![unusable(listen, cause)],
        Listener::Host(running) => vec![
            ok(PORT, format!("a host answers at {listen}")),
            readiness(running),
            module(running),
        ],
        Listener::OtherHttp => {
            vec![fail(
                PORT,
                format!("another program answers at {listen}"),
                busy,
            )]
        }
        Listener::Other(cause) => vec![fail(
            PORT,
            format!("something listens at {listen}, but does not answer as a host does: {cause}"),
            format!("if it is a host, look at the end of its log and restart it; otherwise {busy}"),
        )],
    }
}

/// Reports an address at which no host can listen.
fn unusable(listen: SocketAddr, cause: &std::io::Error) -> Finding {
    let remedy = match cause.kind() {
        ErrorKind::PermissionDenied => {
            "choose a port of 1024 or higher, or allow the host's user to use it (CAP_NET_BIND_SERVICE)"
        }
        ErrorKind::AddrNotAvailable => "choose an address that this machine has",
        _ => "choose another address (listen)",
    };
    let what = format!("{listen} cannot be listened on: {cause}");
    fail(PORT, what, remedy)
}

/// Reports the state of a host.
fn readiness(running: &Running) -> Finding {
    let Ok(Readiness {
        status,
        checks,
        warnings,
        ..
    }) = serde_json::from_slice(&running.readiness)
    else {
        return ok(HOST, "it answers");
    };
    let is_of_store = checks.get("store").is_some_and(|store| store.why.is_some());
    let faults = checks.into_iter().filter_map(|(check, found)| {
        let why = found.why?;
        Some(format!("{check}: {why}"))
    });
    let faults: Vec<String> = faults.collect();
    let what = format!("the host is {status}: {}", faults.join("; "));
    match status.as_str() {
        "ready" if warnings.is_empty() => ok(HOST, "the host is ready"),
        "ready" => {
            let warnings = warnings.values();
            let warnings: Vec<String> = warnings
                .map(|Warning { count, why }| format!("{why} ({count})"))
                .collect();
            let what = format!("the host is ready, and warns: {}", warnings.join("; "));
            warn(HOST, what, "the log of the host names the first")
        }
        "degraded" if is_of_store => warn(
            HOST,
            what,
            "decisions go on for max_stale: look at the store and its disk",
        ),
        "degraded" => warn(HOST, what, "decisions go on: the log of the host says why"),
        _ => fail(
            HOST,
            what,
            "tills get no decision: the log of the host says why",
        ),
    }
}

/// Checks whether a host has the store that the settings name: its own flags or variables may name another.
pub(super) fn store(listener: &Listener, own: &StoreUrl) -> Option<Finding> {
    const REMEDY: &str = "restart it with these settings; tillgate serve --print-config, with its flags and variables, prints \
                          where its store is set";
    let Listener::Host(running) = listener else {
        return None;
    };
    let readiness: Readiness = serde_json::from_slice(&running.readiness).ok()?;
    let (its, same) = (readiness.store?, StoreIdentity::of(own));
    let what = format!("the host has another store than {own}: {}", its.kind);
    Some(if its == same {
        ok(HOST, "the host has the store of these settings")
    } else if its.kind == same.kind {
        let what = format!("{what} elsewhere, or under another name");
        warn(HOST, what, REMEDY)
    } else {
        fail(HOST, what, REMEDY)
    })
}

/// Checks whether the running host decides as this program would.
fn module(running: &Running) -> Finding {
    match &running.engine {
        Some((_, digest)) if digest == MODULE_SHA256 => {
            ok(HOST, "the host decides with the module of this program")
        }
        Some((version, digest)) => warn(
            HOST,
            format!("the host decides with another module, {digest} of version {version}"),
            "restart it, so that it runs the installed version",
        ),
        None => ok(HOST, "the host serves no page, which would name its module"),
    }
}
