//! The URL of a store on Redis: the servers, the login, and the prefix of the keys.
//!
//! The URL is never displayed with a login. No error message repeats a part of it: in a malformed URL, a password may
//! be anywhere.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use super::address::Address;

/// The default port of a Redis server.
const PORT: u16 = 6_379;

/// The default port of a Sentinel.
const SENTINEL_PORT: u16 = 26_379;

/// The default prefix of the keys.
const PREFIX: &str = "tillgate";

/// The most replicas that a commit can wait for.
const MAX_REPLICAS: u32 = 16;

/// The organization of the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One server.
    Single,
    /// The master of this service, which Sentinels name.
    Sentinel(String),
    /// A cluster; the URL names some of its servers.
    Cluster,
}

/// The URL of a store on Redis.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl {
    /// The organization of the servers.
    pub topology: Topology,
    /// The server, the Sentinels, or some servers of the cluster; never empty.
    pub addresses: Vec<Address>,
    /// True if connections use TLS.
    pub tls: bool,
    /// A PEM file of certificate authorities to trust; the system's when `None`.
    pub ca: Option<PathBuf>,
    /// The ACL user.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// The number of the database.
    pub database: i64,
    /// The prefix of all keys.
    pub prefix: String,
    /// The number of replicas that have a commit before it is acknowledged.
    pub replicas: u32,
    /// True if the operator vouches for `appendfsync always` on servers that hide their settings.
    pub vouches: bool,
    /// The ACL user of the Sentinels.
    pub sentinel_user: Option<String>,
    /// The password of the Sentinels.
    pub sentinel_password: Option<String>,
}

impl RedisUrl {
    /// Parses `SCHEME://[USER[:PASSWORD]@]HOST[:PORT][,...][/PATH][?NAME=VALUE&...]`. Returns `None` when the scheme is
    /// not one of Redis.
    ///
    /// # Errors
    /// The message says what is wrong with the URL, without its password.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let (scheme, rest) = text.split_once("://")?;
        let (tls, kind) = match scheme.split_once('+').unwrap_or((scheme, "")) {
            ("redis", kind) => (false, kind),
            ("rediss", kind) => (true, kind),
            _ => return None,
        };
        match kind {
            "" | "sentinel" | "cluster" => Some(Self::read(kind, tls, rest)),
            _ => None,
        }
    }

    fn read(kind: &str, tls: bool, rest: &str) -> Result<Self, String> {
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (login, rest),
            None => ("", rest),
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let default_port = if kind == "sentinel" {
            SENTINEL_PORT
        } else {
            PORT
        };
        let addresses = hosts.split(',').enumerate().map(|(index, address)| {
            let address = Address::read(address, default_port);
            address.ok_or_else(|| {
                let number = index + 1;
                format!("server {number} must have an address such as redis.example:6379")
            })
        });
        let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
        let (topology, database) = topology(kind, path)?;
        if topology == Topology::Single && addresses.len() > 1 {
            return Err("several servers need redis+cluster:// or redis+sentinel://".to_owned());
        }
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let mut url = Self {
            topology,
            addresses,
            tls,
            ca: None,
            user: some_text(user)?,
            password: some_text(password)?,
            database,
            prefix: PREFIX.to_owned(),
            replicas: 0,
            vouches: false,
            sentinel_user: None,
            sentinel_password: None,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            url.set(pair)?;
        }
        Ok(url)
    }

    fn set(&mut self, pair: &str) -> Result<(), String> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let sentinel = matches!(self.topology, Topology::Sentinel(_));
        match name {
            "prefix" => {
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
                if value.is_empty() || value.len() > 64 || !value.chars().all(plain) {
                    return Err("prefix must be 1 to 64 characters of A-Z a-z 0-9 - _".to_owned());
                }
                self.prefix = value.to_owned();
            }
            "ca" if self.tls => self.ca = some_text(value)?.map(PathBuf::from),
            "ca" => return Err("ca needs rediss://".to_owned()),
            "replicas" => {
                let number = value.parse().ok().filter(|number| *number <= MAX_REPLICAS);
                let wrong = || format!("replicas must be a number up to {MAX_REPLICAS}");
                self.replicas = number.ok_or_else(wrong)?;
            }
            "appendfsync" if value == "always" => self.vouches = true,
            "sentinel-user" if sentinel => self.sentinel_user = some_text(value)?,
            "sentinel-password" if sentinel => self.sentinel_password = some_text(value)?,
            "sentinel-user" | "sentinel-password" => {
                return Err(format!("{name} needs redis+sentinel://"));
            }
            _ => {
                return Err(
                    "its parameters may be prefix, ca, replicas, appendfsync=always, sentinel-user and sentinel-password".to_owned(),
                );
            }
        }
        Ok(())
    }
}

fn topology(kind: &str, path: &str) -> Result<(Topology, i64), String> {
    let database = |text: &str| match text {
        "" => Ok(0),
        number => number
            .parse()
            .map_err(|_| "its path must be the number of a database".to_owned()),
    };
    match kind {
        "sentinel" => {
            let (service, number) = path.split_once('/').unwrap_or((path, ""));
            if service.is_empty() {
                return Err("name the service: redis+sentinel://HOST,HOST/SERVICE".to_owned());
            }
            let service = some_text(service)?.unwrap_or_default();
            Ok((Topology::Sentinel(service), database(number)?))
        }
        "cluster" if path.is_empty() => Ok((Topology::Cluster, 0)),
        "cluster" => {
            Err("a cluster has only one database: no path may follow its servers".to_owned())
        }
        _ => Ok((Topology::Single, database(path)?)),
    }
}

fn some_text(encoded: &str) -> Result<Option<String>, String> {
    let text = percent_decode_str(encoded)
        .decode_utf8()
        .map_err(|_| "percent-encoded text is not UTF-8".to_owned())?;
    Ok((!text.is_empty()).then(|| text.into_owned()))
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "rediss" } else { "redis" };
        let (kind, path) = match &self.topology {
            Topology::Single => ("", None),
            Topology::Sentinel(service) => ("+sentinel", Some(service)),
            Topology::Cluster => ("+cluster", None),
        };
        write!(f, "{scheme}{kind}://")?;
        if self.user.is_some() || self.password.is_some() {
            f.write_str("***@")?;
        }
        let addresses: Vec<_> = self.addresses.iter().map(Address::to_string).collect();
        f.write_str(&addresses.join(","))?;
        if let Some(service) = path {
            write!(f, "/{service}")?;
        }
        if self.database != 0 {
            write!(f, "/{}", self.database)?;
        }
        let replicas = (self.replicas != 0).then(|| self.replicas.to_string());
        let hidden = |text: &Option<String>| text.as_ref().map(|_| "***".to_owned());
        let parameters = [
            (
                "prefix",
                (self.prefix != PREFIX).then(|| self.prefix.clone()),
            ),
            ("replicas", replicas),
            ("appendfsync", self.vouches.then(|| "always".to_owned())),
            ("sentinel-user", hidden(&self.sentinel_user)),
            ("sentinel-password", hidden(&self.sentinel_password)),
        ];
        let mut before = '?';
        for (name, value) in parameters {
            if let Some(value) = value {
                write!(f, "{before}{name}={value}")?;
                before = '&';
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        RedisUrl::parse(text)
            .expect("a scheme of Redis")
            .map_or_else(|wrong| wrong, |url| url.to_string())
    }

    #[test]
    fn every_kind_is_read_and_shown_without_its_login() {
        for (text, expected) in [
            (
                "redis://",
                "server 1 must have an address such as redis.example:6379",
            ),
            ("redis://localhost", "redis://localhost:6379"),
            ("redis://localhost:1/3", "redis://localhost:1/3"),
            ("rediss://u:p%40ss@h", "rediss://***@h:6379"),
            ("redis://:secret@h", "redis://***@h:6379"),
            ("redis://u:a@b:c@h:7", "redis://***@h:7"),
            ("redis://[::1]:7", "redis://[::1]:7"),
            (
                "redis+cluster://a,b:7,c",
                "redis+cluster://a:6379,b:7,c:6379",
            ),
            (
                "redis+sentinel://a,b/main/2",
                "redis+sentinel://a:26379,b:26379/main/2",
            ),
            (
                "rediss+cluster://a?prefix=other",
                "rediss+cluster://a:6379?prefix=other",
            ),
            (
                "redis+sentinel://a",
                "name the service: redis+sentinel://HOST,HOST/SERVICE",
            ),
            (
                "redis://a,b",
                "several servers need redis+cluster:// or redis+sentinel://",
            ),
            (
                "redis://u:secret@h:x",
                "server 1 must have an address such as redis.example:6379",
            ),
            (
                "redis://h?prefix={}",
                "prefix must be 1 to 64 characters of A-Z a-z 0-9 - _",
            ),
            (
                "redis://h?appendfsync=no",
                "its parameters may be prefix, ca, replicas, appendfsync=always, sentinel-user and sentinel-password",
            ),
            (
                "redis://h?appendfsync=always",
                "redis://h:6379?appendfsync=always",
            ),
            ("redis://h?replicas=2", "redis://h:6379?replicas=2"),
            (
                "redis://h?replicas=many",
                "replicas must be a number up to 16",
            ),
            (
                "redis+sentinel://a/main?sentinel-user=u&sentinel-password=p%26w&replicas=1",
                "redis+sentinel://a:26379/main?replicas=1&sentinel-user=***&sentinel-password=***",
            ),
            (
                "redis://h?sentinel-password=secret",
                "sentinel-password needs redis+sentinel://",
            ),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn no_fault_repeats_what_may_be_a_password() {
        for text in [
            "redis://u:pa?secret@h",
            "redis://u:6379?secret@h",
            "redis://u:secret?x@h",
            "redis://u:1/secret",
            "redis://secret:x",
            "redis://[secret",
            "redis://h?secret",
            "redis://h?secret=1",
            "redis://h?prefix=secret!",
            "redis://h?replicas=secret",
            "redis://h?ca=secret",
            "redis://u:%FFsecret@h",
            "redis+cluster://a/secret",
            "redis+sentinel://secret",
            "redis+sentinel://a/main/secret",
        ] {
            let read = RedisUrl::parse(text).expect("a scheme of Redis");
            let fault = read.expect_err(text);
            assert!(!fault.contains("secret"), "{text}: {fault}");
        }
    }

    #[test]
    fn what_is_percent_encoded_is_decoded() {
        let url = RedisUrl::parse("rediss://us%65r:p%40ss@h?ca=/a%20b")
            .expect("one")
            .expect("right");
        assert_eq!(
            (url.user.as_deref(), url.password.as_deref()),
            (Some("user"), Some("p@ss"))
        );
        assert_eq!(url.ca, Some(PathBuf::from("/a b")));
        let url = "redis+sentinel://a/main?sentinel-password=p%26%3Dw";
        let url = RedisUrl::parse(url).expect("one").expect("right");
        assert_eq!(url.sentinel_password.as_deref(), Some("p&=w"));
    }

    #[test]
    fn other_schemes_are_not_redis() {
        for text in [
            "http://h",
            "embedded:x",
            "redis:x",
            "redis+unix://x",
            "rediss+x://h",
        ] {
            assert!(RedisUrl::parse(text).is_none(), "{text}");
        }
    }
}
