//! The command `fluvial`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fluvial_cli::run(std::env::args_os())
}
