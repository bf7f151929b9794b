//! `fluvial convert`.

use std::path::{Path, PathBuf};

use clap::Args;
use fluvial::core::{Program, Result, Tensor};
use fluvial::io;
use fluvial_bridge::{fluid, onnx};
use serde_json::json;

use crate::fault::{Outcome, usage};
use crate::out::Out;
use crate::{program, tensors};

/// Convert a program between text (`.fl`) and binary (`.flb`), a program to and from an ONNX model, from a model of Fluid or Paddle (`.pdmodel`, or a folder with `__model__`), or tensors between `.npz`, `.npy` and `.safetensors`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Convert {
    /// The file to read; `-` is a program on standard input.
    from: PathBuf,
    /// The file to write; its ending says what it becomes. `-` writes a program as text to standard output.
    to: PathBuf,
}

const EXAMPLES: &str = "Examples:
  fluvial convert model.fl model.flb
  fluvial convert model.flb model.fl
  fluvial convert model.onnx model.flb
  fluvial convert model.flb model.onnx
  fluvial convert model.pdmodel model.flb
  fluvial convert model.safetensors model.npz";

impl Convert {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let (from, to) = (&self.from, &self.to);
        if program::is_standard(to) {
            let text = loaded(from)?.to_string();
            out.result(&text, || json!({"event": "program", "text": text}));
            return Ok(0);
        }
        if program::is_named(to) {
            let program = loaded(from)?;
            program.save(to)?;
        } else if is_onnx(to) {
            let program = loaded(from)?;
            let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
            let program = io::inference_program(&program, &outputs)?;
            onnx::save(to, &program, onnx::SaveOptions::default())?;
        } else if tensors::is_named(from) && tensors::is_named(to) {
            let read = tensors::read(from)?;
            let stem = from.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
            let named = read.iter().map(|(name, tensor)| match name.as_str() {
                "" => (&*stem, tensor),
                name => (name, tensor),
            });
            tensors::write(to, &named.collect::<Vec<(&str, &Tensor)>>())?;
        } else {
            let what = format!("`{}` cannot become `{}`", from.display(), to.display());
            let remedy = "programs, .onnx models and .pdmodel files become .fl, .flb or .onnx; tensors .npz, .npy or .safetensors; samples \
                          are converted by `fluvial data convert`";
            return Err(usage(what, remedy));
        }
        let to = to.display().to_string();
        out.note(&format!("wrote {to}"), || json!({"event": "wrote", "file": to}));
        Ok(0)
    }
}

/// A program, or that of a model of others, whose weights are the initial values of its states.
pub(super) fn loaded(from: &Path) -> Result<Program> {
    let is_fluid = from.extension().is_some_and(|ending| ending == "pdmodel")
        || from.file_name().is_some_and(|name| name == "__model__")
        || from.join("__model__").is_file();
    match is_onnx(from) {
        true => onnx::load(from, &onnx::Options::default()),
        false if is_fluid => {
            let folder = from.file_name().is_some_and(|name| name == "__model__");
            let path = if folder { from.parent().unwrap_or(from) } else { from };
            fluid::load_inference_model(path, None, &fluid::Options::default())
        }
        false => program::load(from),
    }
}

pub(super) fn is_onnx(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "onnx")
}
