//! Runs the program on .npy files: @NAME@ x=x.npy y=y.npy [--steps 10] [--weights before.safetensors]
//! [--save after.safetensors] [--out folder/]. Outputs are written as .npy files, named like them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fluvial_core::{Error, Result, Tensor};
use fluvial_data::{files, npy};
use @CRATE@::Model;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let model = Model::new()?;
    let (mut steps, mut save, mut out) = (1usize, None, PathBuf::new());
    let mut inputs: Vec<(&str, Tensor)> = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || {
            rest.next().ok_or_else(|| Error::argument(format!("`{arg}` needs a value")))
        };
        match (arg.as_str(), arg.split_once('=')) {
            ("--steps", _) => {
                let text = value()?;
                steps = text.parse().map_err(|_| Error::argument(format!("`{text}` is not a number")))?;
            }
            ("--weights", _) => model.load(Path::new(value()?))?,
            ("--save", _) => save = Some(PathBuf::from(value()?)),
            ("--out", _) => out = PathBuf::from(value()?),
            (_, Some((name, path))) => inputs.push((name, read(path)?)),
            _ => {
                let known: Vec<String> =
                    model.inputs().map(|(name, ty)| format!("{name}: {ty}")).collect();
                return Err(Error::argument(format!("`{arg}` is neither an option nor an input"))
                    .remedy(format!("give name=file.npy for each of: {}", known.join(", "))));
            }
        }
    }
    let mut results = Vec::new();
    for _ in 0..steps {
        results = model.run(&inputs)?;
    }
    for (name, tensor) in model.outputs().zip(&results) {
        let path = out.join(format!("{name}.npy"));
        let shown = path.display().to_string();
        files::write_at(&path, |to| npy::write(to, tensor, &shown))?;
        println!("{name}: {} -> {shown}", tensor.ty());
    }
    match save {
        Some(path) => model.save(&path),
        None => Ok(()),
    }
}

fn read(path: &str) -> Result<Tensor> {
    let io = |error| files::io(path, error);
    let mut file = File::open(path).map_err(io)?;
    let len = file.metadata().map_err(io)?.len();
    npy::read(&mut file, len, path)
}
