//! The address of a server, as written in a URL. Pure.

use std::fmt;

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// A host name or an IP address, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl Address {
    /// Parses `host`, `host:port` or `[address]:port`.
    pub(super) fn read(text: &str, default_port: u16) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                (host, port.strip_prefix(':'))
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let port = port.map_or(Ok(default_port), str::parse).ok()?;
        let host = host.to_owned();
        (!host.is_empty()).then_some(Self { host, port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}
