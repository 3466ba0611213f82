//! The token service over HTTP: the life of a client, tokens, their legitimate holders, and everyone else.

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
