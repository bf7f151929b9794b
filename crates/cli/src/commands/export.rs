//! `fluvial export`.

use std::path::PathBuf;

use clap::Args;
use fluvial::core::State;
use fluvial_export::{Blas, Options, Size, export};
use serde_json::json;

use crate::fault::{Outcome, usage};
use crate::out::Out;
use crate::program::ProgramArgs;

/// Write a program as C source that any compiler builds, with nothing but the C library.
///
/// The folder gets a header, the source, the initial values of the states, a `main.c` that reads and writes `.npy` files, a
/// `Makefile` and a `CMakeLists.txt`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    #[command(flatten)]
    program: ProgramArgs,
    /// The language: `c`.
    #[arg(long, default_value = "c", value_name = "LANGUAGE")]
    to: String,
    /// The folder to write.
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// The name of the files, and the beginning of all names in them.
    #[arg(long, default_value = "model")]
    name: String,
    /// What a size is (`batch=64`), or is at most (`batch<=64`); may be given more than once.
    #[arg(long, value_name = "NAME=NUMBER")]
    size: Vec<String>,
    /// An output to export; all of them if none is named. May be given more than once.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Write the initial values of states into the source, and not into a file beside it.
    #[arg(long)]
    embed: bool,
    /// How many elements a list of the program can take.
    #[arg(long, default_value_t = 64, value_name = "NUMBER")]
    list: usize,
    /// The library that makes matrix products: `none`, `cblas`, `openblas` or `mkl`.
    #[arg(long, default_value = "none", value_name = "LIBRARY")]
    blas: String,
}

const EXAMPLES: &str = "Examples:
  fluvial export model.flb --to c -o out/ --size batch=64
  fluvial export train.flb -o out/ --size 'batch<=64' --blas openblas
  make -C out && ./out/model x=x.npy --weights out/model.bin";

impl Export {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        if self.to != "c" {
            let what = format!("programs cannot be exported to `{}`", self.to);
            return Err(usage(what, "take `--to c`"));
        }
        let state = State::new();
        let program = self.program.load(&state)?;
        let options = Options {
            name: self.name.clone(),
            sizes: self.size.iter().map(|text| Size::parse(text)).collect::<Result<_, _>>()?,
            outputs: self.only.clone(),
            embed: self.embed,
            list_capacity: self.list,
            blas: Blas::parse(&self.blas)?,
        };
        let exported = export(&program, &state, &options)?;
        exported.write(&self.output)?;
        let (to, bytes) = (self.output.display().to_string(), exported.arena_bytes);
        let text = format!("{to}: {} files; a run needs {bytes} bytes", exported.files.len());
        out.note(&text, || json!({"event": "exported", "folder": to, "arena_bytes": bytes}));
        Ok(0)
    }
}
