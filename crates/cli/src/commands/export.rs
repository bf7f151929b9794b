//! `fluvial export`.

use std::path::PathBuf;

use clap::Args;
use fluvial::core::State;
use fluvial_export::{
    Blas, Export as Exported, Language, Options, RustOptions, Size, export, export_rust,
};
use serde_json::json;

use crate::fault::{Outcome, usage};
use crate::out::Out;
use crate::program::ProgramArgs;

/// Write a program as source: C that any compiler builds, with nothing but the C library, CUDA C++, or a crate of Rust.
///
/// For C and CUDA, the folder gets a header, the source, the initial values of the states, a `main.c` or `main.cu` that
/// reads and writes `.npy` files, a `Makefile` and a `CMakeLists.txt`. For Rust, it gets a crate with the program and the
/// values inside.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    #[command(flatten)]
    program: ProgramArgs,
    /// The language: `c`, `cuda` or `rust`.
    #[arg(long, default_value = "c", value_name = "LANGUAGE")]
    to: String,
    /// The folder to write.
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// The name of the files, and the beginning of all names in them.
    #[arg(long, default_value = "model")]
    name: String,
    /// What a size is (`batch=64`), or for C and CUDA is at most (`batch<=64`); may be given more than once.
    #[arg(long, value_name = "NAME=NUMBER")]
    size: Vec<String>,
    /// An output to export; all of them if none is named. May be given more than once.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// C: write the initial values of states into the source, and not into a file beside it.
    #[arg(long)]
    embed: bool,
    /// C and CUDA: how many elements a list of the program can take; 64 if nothing is said.
    #[arg(long, value_name = "NUMBER")]
    list: Option<usize>,
    /// C: the library that makes matrix products: `none`, `cblas`, `openblas` or `mkl`.
    #[arg(long, value_name = "LIBRARY")]
    blas: Option<String>,
    /// Rust: the folder with the crates of Fluvial, if they shall not come from a registry.
    #[arg(long, value_name = "FOLDER")]
    crates: Option<String>,
}

const EXAMPLES: &str = "Examples:
  fluvial export model.flb --to c -o out/ --size batch=64
  fluvial export train.flb --to cuda -o out/ --size batch=64
  fluvial export model.flb --to rust -o out/ && cargo build --release --manifest-path out/Cargo.toml
  fluvial export train.flb -o out/ --size 'batch<=64' --blas openblas
  make -C out && ./out/model x=x.npy --weights out/model.bin";

impl Export {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let state = State::new();
        let exported = match self.to.as_str() {
            "c" => self.to_source(&state, Language::C)?,
            "cuda" => self.to_source(&state, Language::Cuda)?,
            "rust" => self.to_rust(&state)?,
            other => {
                let what = format!("programs cannot be exported to `{other}`");
                return Err(usage(what, "take `--to c`, `--to cuda` or `--to rust`"));
            }
        };
        exported.write(&self.output)?;
        let (to, bytes) = (self.output.display().to_string(), exported.arena_bytes);
        let mut text = format!("{to}: {} files", exported.files.len());
        if bytes > 0 {
            text.push_str(&format!("; a run needs {bytes} bytes"));
        }
        out.note(&text, || json!({"event": "exported", "folder": to, "arena_bytes": bytes}));
        Ok(0)
    }

    fn sizes(&self) -> Outcome<Vec<Size>> {
        Ok(self.size.iter().map(|text| Size::parse(text)).collect::<Result<_, _>>()?)
    }

    fn to_source(&self, state: &State, language: Language) -> Outcome<Exported> {
        if self.crates.is_some() {
            return Err(usage("`--crates` is for Rust", "leave it out, or take `--to rust`"));
        }
        let program = self.program.load(state)?;
        let default = Options::default();
        let options = Options {
            name: self.name.clone(),
            sizes: self.sizes()?,
            outputs: self.only.clone(),
            embed: self.embed,
            list_capacity: self.list.unwrap_or(default.list_capacity),
            blas: self.blas.as_deref().map(Blas::parse).transpose()?.unwrap_or_default(),
            language,
        };
        Ok(export(&program, state, &options)?)
    }

    fn to_rust(&self, state: &State) -> Outcome<Exported> {
        for (is_given, name) in
            [(self.embed, "embed"), (self.list.is_some(), "list"), (self.blas.is_some(), "blas")]
        {
            if is_given {
                return Err(usage(format!("`--{name}` is for C"), "leave it out: Rust needs none"));
            }
        }
        let program = self.program.load(state)?;
        let options = RustOptions {
            name: self.name.clone(),
            sizes: self.sizes()?,
            outputs: self.only.clone(),
            crates: self.crates.clone(),
        };
        Ok(export_rust(&program, state, &options)?)
    }
}
