//! `fluvial convert`.

use std::path::PathBuf;

use clap::Args;
use fluvial::core::Tensor;
use serde_json::json;

use crate::fault::{Outcome, usage};
use crate::out::Out;
use crate::{program, tensors};

/// Convert a program between text (`.fl`) and binary (`.flb`), or tensors between `.npz`, `.npy` and `.safetensors`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Convert {
    /// The file to read.
    from: PathBuf,
    /// The file to write; its ending says what it becomes.
    to: PathBuf,
}

const EXAMPLES: &str = "Examples:
  fluvial convert model.fl model.flb
  fluvial convert model.flb model.fl
  fluvial convert model.safetensors model.npz";

impl Convert {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let (from, to) = (&self.from, &self.to);
        if program::is_named(to) {
            let program = program::load(from)?;
            program.save(to)?;
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
            let remedy = "programs become .fl or .flb; tensors .npz, .npy or .safetensors; samples \
                          are converted by `fluvial data convert`";
            return Err(usage(what, remedy));
        }
        let to = to.display().to_string();
        out.note(&format!("wrote {to}"), || json!({"event": "wrote", "file": to}));
        Ok(0)
    }
}
