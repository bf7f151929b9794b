//! `fluvial transpile`.

use std::path::PathBuf;

use clap::Args;
use fluvial::core::State;
use serde_json::json;

use crate::fault::{self, Outcome};
use crate::out::Out;
use crate::program::ProgramArgs;
use crate::ranks;

/// Write the program that each of several ranks runs.
///
/// The program of one process becomes one with exchanges: gradients are averaged over the ranks, and each reads its part
/// of the data. It is the same for all ranks and for any number of them. `fluvial run --dist` does it by itself.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Transpile {
    #[command(flatten)]
    program: ProgramArgs,
    /// How it is spread over the ranks: `dp`, data parallel.
    #[arg(long, value_name = "HOW", default_value = "dp")]
    dist: String,
    /// The folder for `trainer.flb`, and `trainer.fl` for people.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

const EXAMPLES: &str = "Examples:
  fluvial transpile train.flb --dist dp -o out/
  mpirun -n 2 fluvial run train.flb --dist dp";

impl Transpile {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let program = self.program.load_placed(&State::new())?;
        let spread = ranks::spread(&program, &self.dist)?;
        std::fs::create_dir_all(&self.output).map_err(|error| fault::file(&self.output, error))?;
        for name in ["trainer.flb", "trainer.fl"] {
            let path = self.output.join(name);
            spread.save(&path)?;
            let shown = path.display().to_string();
            out.note(&format!("wrote {shown}"), || json!({"event": "wrote", "file": shown}));
        }
        Ok(0)
    }
}
