//! The token service, over HTTP: the life of a client, tokens, who holds one, and everyone who must not.

mod admin_roles;
mod away;
mod client_ids;
mod clients;
mod crates;
mod endpoint;
mod fixture;
mod hostile;
mod hosts;
mod keys;
mod limits;
mod path;
mod roles;
mod statements;
mod templates;
mod trusted;
mod versions;
