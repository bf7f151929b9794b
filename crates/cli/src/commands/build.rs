//! `fluvial build`.

use std::path::PathBuf;

use clap::Args;
use fluvial::core::Program;
use serde_json::json;

use crate::fault::{Outcome, usage};
use crate::out::Out;
use crate::program;
use crate::table::count;

/// Build the program of a Python script, and write it to a file.
///
/// This is the one command that needs Python, with the package `fluvial`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Build {
    /// The script.
    script: PathBuf,
    /// The file to write: `.flb` (binary) or `.fl` (text); `-` writes text to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Arguments of the script.
    #[arg(last = true)]
    args: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  fluvial build train.py -o train.flb
  fluvial build train.py -o train.fl -- --hidden 64

FLUVIAL_PYTHON names the Python to use; it is `python3` otherwise.";

impl Build {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        if program::is_standard(&self.output) {
            let text = program::text_of(&self.script, &self.args)?;
            out.result(&text, || json!({"event": "program", "text": text}));
            return Ok(0);
        }
        if !program::is_named(&self.output) {
            let what = format!("`{}` does not name a program", self.output.display());
            return Err(usage(what, "end it in `.flb` (binary) or `.fl` (text)"));
        }
        program::build(&self.script, &self.output, None, &self.args)?;
        let built = Program::load(&self.output, program::registry())?;
        let (to, n_states) = (self.output.display().to_string(), built.states.len());
        let text = format!(
            "{to}: ({}) -> ({}), {}",
            built.inputs.join(", "),
            built.outputs.join(", "),
            count(n_states, "state")
        );
        out.note(&text, || {
            json!({"event": "built", "file": to, "inputs": built.inputs.join(","), "states": n_states})
        });
        Ok(0)
    }
}
