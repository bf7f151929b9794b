//! `fluvial transpile`.

use std::path::PathBuf;

use clap::Args;
use fluvial::core::State;
use serde_json::json;

use crate::fault::{self, Outcome};
use crate::out::Out;
use crate::program::ProgramArgs;
use crate::ranks::{Spread, SpreadArgs};

/// Write the program that each of several ranks runs.
///
/// The program of one process becomes one with exchanges: gradients are averaged over the ranks, and each reads its part
/// of the data. It is the same for all ranks. `fluvial run --dist` does it by itself.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Transpile {
    #[command(flatten)]
    program: ProgramArgs,
    /// How it is spread over the ranks: `dp`, data parallel; `zero1`, each has a part of what the optimizer remembers; `zero3`,
    /// and a part of the parameters; `ps`, the last ranks are parameter servers.
    #[arg(long, value_name = "HOW", default_value = "dp")]
    dist: String,
    /// For how many ranks; `dp` need not know.
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    world: Option<u32>,
    #[command(flatten)]
    spread: SpreadArgs,
    /// The folder for `trainer.flb`, and `trainer.fl` for people; for `ps` also `server.flb` and `server.fl`.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

const EXAMPLES: &str = "Examples:
  fluvial transpile train.flb --dist dp -o out/
  fluvial transpile train.flb --dist zero1 -n 4 -o out/
  fluvial transpile train.flb --dist ps -n 6 --servers 2 -o out/
  mpirun -n 2 fluvial run train.flb --dist dp";

impl Transpile {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let program = self.program.load_placed(&State::new())?;
        let world = self.world.map(|n| n as usize);
        let spread = Spread::of(&program, &self.dist, world, &self.spread)?;
        std::fs::create_dir_all(&self.output).map_err(|error| fault::file(&self.output, error))?;
        for (name, program) in spread.named() {
            for ending in ["flb", "fl"] {
                let path = self.output.join(format!("{name}.{ending}"));
                program.save(&path)?;
                let shown = path.display().to_string();
                out.note(&format!("wrote {shown}"), || json!({"event": "wrote", "file": shown}));
            }
        }
        Ok(0)
    }
}
