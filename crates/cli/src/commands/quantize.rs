//! `fluvial quantize`.

use std::path::PathBuf;

use clap::Args;
use fluvial::core::State;
use fluvial::{Quantized, Quantizer};
use serde_json::json;

use super::RunArgs;
use crate::fault::{Outcome, usage};
use crate::feeds::{FeedArgs, Feeds};
use crate::out::Out;
use crate::program::{ProgramArgs, is_named};
use crate::table::{row, table};
use crate::{settings, signals};

/// Compute the products and convolutions of a program with integers of 8 bits.
///
/// Weights get a scale for each output channel. The scales of what is multiplied with them are taken from samples, or, with
/// `--dynamic`, from the numbers of each run. The program that is written has its weights in it.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Quantize {
    #[command(flatten)]
    program: ProgramArgs,
    /// Files of samples, each with tensors by the names of the inputs (`.npz`, `.safetensors`), or with the tensor of the only
    /// input (`.npy`): the inputs of one run each. May be given often.
    #[arg(short, long = "samples", value_name = "FILE", num_args = 1..)]
    samples: Vec<String>,
    /// The program to write: `.flb` or `.fl`.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Take scales from the numbers of each run; no samples are needed.
    #[arg(long)]
    dynamic: bool,
    /// Leave what has this weight, or whose weight's name begins with it up to a dot, in floats. May be given often.
    #[arg(long, value_name = "NAME")]
    skip: Vec<String>,
    /// Load states from a file of tensors.
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    #[command(flatten)]
    common: RunArgs,
}

const EXAMPLES: &str = "Examples:
  fluvial quantize model.flb --samples batch0.npz batch1.npz -o small.flb
  fluvial quantize saved_model/ --samples x.npy -o small.flb --skip head
  fluvial quantize model.flb --load model.safetensors --dynamic -o small.flb";

impl Quantize {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        if !is_named(&self.output) {
            let what = format!("`{}` does not name a program", self.output.display());
            return Err(usage(what, "end it in `.flb` or `.fl`"));
        }
        match (self.dynamic, self.samples.is_empty()) {
            (false, true) => {
                return Err(usage(
                    "scales are taken from samples, and there are none",
                    "give --samples FILE, or --dynamic",
                ));
            }
            (true, false) => {
                return Err(usage("dynamic scales need no samples", "leave one of them out"));
            }
            _ => {}
        }
        signals::watch()?;
        self.common.settle()?;
        let state = State::new();
        let program = self.program.load(&state)?;
        if let Some(path) = &self.load {
            settings::load(&program, path, &state, out)?;
        }
        let skip: Vec<&str> = self.skip.iter().map(String::as_str).collect();
        let mut quantizer = Quantizer::new(&program, &state, &skip)?;
        for file in &self.samples {
            let feeds = Feeds::read(&program, &FeedArgs { feeds: vec![file.clone()] })?;
            quantizer.observe(&feeds.in_order(&program)?)?;
        }
        let Quantized { program, ops } =
            if self.dynamic { quantizer.dynamic()? } else { quantizer.quantized()? };
        program.save(&self.output)?;
        let mut rows = vec![row(["weight", "op", "computed with"])];
        for op in &ops {
            rows.push(row([&op.name, op.op, &op.how.to_string()]));
        }
        out.result(&table(&rows, &[]), || {
            let ops = ops
                .iter()
                .map(|op| json!({"weight": op.name, "op": op.op, "how": op.how.to_string()}));
            json!({"event": "quantized", "ops": ops.collect::<Vec<_>>()})
        });
        let to = self.output.display().to_string();
        out.note(&format!("wrote {to}"), || json!({"event": "wrote", "file": to}));
        Ok(0)
    }
}
