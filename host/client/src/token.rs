//! `tillgate token`: gets a token from a running host, for other programs such as curl.

use clap::Args;

use super::output::print;
use super::session::{HostOptions, Session};

#[derive(Args, Debug)]
pub struct Token {
    #[command(flatten)]
    options: HostOptions,
}

/// Prints the token, or the whole answer of the token endpoint.
pub async fn run(arguments: Token) -> Result<(), String> {
    let options = arguments.options;
    let session = Session::open(&options).await?;
    let printed = if options.json {
        &session.issued.text
    } else {
        session.token()
    };
    print(&format!("{printed}\n"))
}
