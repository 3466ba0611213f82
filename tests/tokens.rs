//! The token service, over HTTP: the life of a client, tokens, who holds one, and everyone who must not.

mod away;
mod client_ids;
mod clients;
mod endpoint;
mod fixture;
mod hostile;
mod hostile_claims;
mod hostile_credentials;
mod hostile_forms;
mod hostile_signatures;
mod keys;
mod limits;
mod path;
mod roles;
mod templates;
mod wire;
