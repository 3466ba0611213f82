//! `tillgate health`: checks whether a host answers, with an exit code, for container images without curl. It needs no
//! credentials.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use reqwest::{Method, Url};
use serde::Deserialize;
use tillgate_base::config::{Flags, Loaded};
use tillgate_base::egress::{Client, Destinations, EgressError, Limits, Trust, shown};

use tillgate_client::output::{on_line, print_line};
use tillgate_client::session::{distrust, trust};

/// The limits of the request. The caller chooses the host, so any address may be dialed.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(2),
    max_answer: 64 << 10,
    destinations: Destinations::Any,
};

#[derive(Args, Debug)]
pub(super) struct Health {
    /// Address of the host [default: where a host with this configuration listens on this machine]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with the certificate authorities to trust instead of this machine's, in PEM, for --url
    #[arg(long, value_name = "FILE", env = "TILLGATE_CA_CERT")]
    ca_cert: Option<PathBuf>,
    /// Configuration file, in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check that the host can decide, not only that it is alive
    #[arg(long)]
    ready: bool,
}

/// The answer of both paths.
#[derive(Deserialize)]
struct Report {
    status: String,
}

/// Prints the status that the host reports.
///
/// # Errors
/// If it does not answer within two seconds, or reports that it is unavailable.
pub(super) async fn run(arguments: Health) -> Result<(), String> {
    let (base, trust) = match arguments.url {
        Some(url) => {
            let trust = trust(arguments.ca_cert.as_deref())?;
            (url.trim_end_matches('/').to_owned(), trust)
        }
        None => {
            let config = Loaded::read(arguments.config.as_deref(), &Flags::default())?.config;
            let (scheme, address) = (config.scheme(), reachable(config.listen));
            // The certificate is for the name that clients use, not for this address, and nothing secret is sent.
            (format!("{scheme}://{address}"), Trust::Any)
        }
    };
    let path = if arguments.ready {
        "/readyz"
    } else {
        "/healthz"
    };
    let shown = shown(&base);
    let url = Url::parse(&format!("{base}{path}"));
    let url = url.map_err(|cause| format!("{shown} is not the URL of a host: {cause}"))?;
    let client = Client::trusting(LIMITS, trust).map_err(|cause| cause.to_string())?;
    let answer = client.send(client.request(Method::GET, url)).await;
    let answer = answer.map_err(|cause| match cause {
        EgressError::Unreachable(_) => format!("no host answers at {shown}"),
        EgressError::Untrusted { why, .. } => distrust(&shown, &why),
        EgressError::Deadline(_) => format!("the host at {shown} did not answer within 2 seconds"),
        cause => format!("the answer of {shown} could not be read: {cause}"),
    })?;
    let report = serde_json::from_slice::<Report>(&answer.body);
    let said = report
        .as_ref()
        .map_or("nothing", |report| report.status.as_str());
    if answer.status.is_success() && report.is_ok() {
        print_line(said)
    } else {
        Err(format!(
            "the host at {shown} answered {}: {}",
            answer.status,
            on_line(said)
        ))
    }
}

/// Returns the address at which this machine reaches a host that listens on all of its addresses.
pub(super) fn reachable(listen: SocketAddr) -> SocketAddr {
    let loopback = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(loopback, listen.port())
}
