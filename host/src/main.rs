//! `tillgate`: the command line begins here and goes on in [`tillgate::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tillgate::cli::main()
}
