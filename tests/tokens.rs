//! The token service, over HTTP: the life of a client, tokens, who holds one, and everyone who must not.

mod away;
mod client_ids;
mod clients;
mod crates;
mod endpoint;
mod fixture;
mod forgery;
mod hostile;
mod hostile_claims;
mod hostile_credentials;
mod hostile_forms;
mod hostile_headers;
mod hostile_registrations;
mod hostile_signatures;
mod hosts;
mod keys;
mod limits;
mod path;
mod roles;
mod statements;
mod templates;
mod trusted;
mod versions;
mod wire;
