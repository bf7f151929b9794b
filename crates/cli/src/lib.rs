//! The command line of Fluvial: runs, shows, checks and compares programs, without Python.
//!
//! Everything is behind [`run`], so that other hosts can offer the same command.
//!
//! - `commands`: one file each. What it takes is a struct, which also has its help.
//! - `fault`: what goes wrong, how it is told, and the exit code. `out`: where text and events go.
//! - `program`, `tensors`, `feeds`, `settings`: files and options become programs, inputs and states.
//! - `ranks`: several processes that run one program.
//! - `progress`, `journal`, `signals`: what happens while a program runs.

mod checkpoints;
mod commands;
mod compare;
mod dot;
mod fault;
mod feeds;
mod journal;
mod limits;
mod lines;
mod names;
mod observers;
mod out;
mod program;
mod progress;
mod quantity;
mod ranks;
mod settings;
mod signals;
mod table;
mod tensors;
mod typed;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;
use crate::out::Out;

/// Runs, shows, checks and compares programs of Fluvial.
///
/// A program is a file: text (`.fl`) or binary (`.flb`). It has inputs, outputs and named states, and runs
/// without Python.
#[derive(Parser)]
#[command(name = "fluvial", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    /// Write one JSON object per line, for machines.
    #[arg(long, global = true)]
    json: bool,
    /// Write results and errors only.
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  fluvial run train.flb --epochs 3
  fluvial run model.fl --feed x=x.npy --fetch y -o y.npz
  fluvial show model.flb --passes
  fluvial view runs/
  fluvial doctor

Exit codes: 0 fine, 1 a fault of the program or of files (`diff`: differences), 2 wrong usage,
3 the launcher belongs to another library of MPI, 4 there is none, 5 another rank was lost,
6 ranks disagree, 130 stopped by Ctrl-C, 143 terminated.";

/// Runs the command line, whose first word is the name of the command itself, and returns its exit code.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    ExitCode::from(status(args))
}

/// [`run`] for hosts that need the exit code as a number.
///
/// ```
/// assert_eq!(fluvial_cli::status(["fluvial", "show", "no-such-file.fl"]), 1);
/// assert_eq!(fluvial_cli::status(["fluvial", "no-such-command"]), 2);
/// ```
pub fn status(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody may be listening.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(fault::USAGE);
        }
    };
    let out = Out::new(cli.json, cli.quiet);
    let status = match cli.command.run(&out) {
        Ok(status) => status,
        Err(fault) => fault.tell(&out),
    };
    out.finish(status)
}
