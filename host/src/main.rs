//! The program `tillgate`: see [`tillgate::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tillgate::cli::main()
}
