//! The models of `examples/models`: both modes end with the same parameters, and a run that was stopped goes on to
//! the same bits, in either mode.

#![allow(clippy::duplicate_mod, reason = "each model is an example by itself")]

#[allow(dead_code)]
#[path = "../../../examples/models/gpt.rs"]
mod gpt;
#[allow(dead_code)]
#[path = "../../../examples/models/lenet.rs"]
mod lenet;
#[allow(dead_code)]
#[path = "../../../examples/models/mlp.rs"]
mod mlp;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use fluvial::data::files;
use fluvial::io;
use fluvial::prelude::{Executor, Program, Result, State, Tensor, registry};

/// Steps, last loss, loss and hits of what was held back, parameters.
type Ended = (u64, u32, u64, u64, u64);

/// A folder of a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = format!("fluvial-models-{name}-{}", std::process::id());
        Folder(std::env::temp_dir().join(folder))
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Trains a new network by a command line, in a scope of its own.
macro_rules! train {
    ($model:ident, $net:expr, $batch:expr) => {
        |line: &str| -> Result<Ended> {
            let words = std::iter::once("model").chain(line.split_whitespace());
            let options = $model::common::Options::try_parse_from(words).expect(line);
            let _scope = State::new().enter();
            let report = $model::train(&options, &$net, $batch)?;
            let $model::common::Report { steps, loss, held_loss, right, parameters } = report;
            assert!((0.0..=1.0).contains(&right) && held_loss.is_finite(), "{line}");
            Ok((steps, loss.to_bits(), held_loss.to_bits(), right.to_bits(), parameters))
        }
    };
}

/// Trains for `steps` steps: whole in each mode, and in two parts with another mode for each.
fn check(name: &str, steps: u64, train: impl Fn(&str) -> Result<Ended>) -> Result<Folder> {
    let folder = Folder::new(name);
    let line = |mode: &str, to: &str, steps: u64| {
        format!("--mode {mode} --epochs 3 --save {} --every 2 --steps {steps}", folder.at(to))
    };
    let file = folder.at("training.flb");
    let export = format!("{} --export {file}", line("program", "program", steps));
    let whole = train(&export)?;
    assert_eq!(whole.0, steps);
    assert_eq!(train(&line("imperative", "imperative", steps))?, whole);
    for (first, second) in [("imperative", "program"), ("program", "imperative")] {
        let stopped = train(&line(first, first, steps - 3))?;
        assert_ne!(stopped.4, whole.4);
        assert_eq!(train(&format!("{} --resume", line(second, first, steps)))?, whole);
        // All states are equal, and there is nothing left to do.
        let states = |to: &str| fs::read(Path::new(&folder.at(to)).join("states.safetensors"));
        assert!(states(first).expect("states") == states("program").expect("states"));
        let again = train(&format!("{} --resume", line(first, first, steps)))?;
        assert_eq!((again.0, again.2, again.4), (whole.0, whole.2, whole.4));
        assert!(f32::from_bits(again.1).is_nan());
    }

    // The program in the file trains to the same numbers by itself.
    let program = Program::load(&file, &registry())?;
    let outputs = Executor::new(&program, State::new())?.run(&[])?;
    assert_eq!(outputs[0].item::<f32>()?.to_bits(), whole.1);
    assert_eq!(outputs[1].item::<f64>()?.to_bits(), whole.2);
    Ok(folder)
}

/// What the saved model gives for two samples.
fn used(folder: &Folder, x: Tensor) -> Result<Tensor> {
    files::allow(&folder.0)?;
    let state = State::new();
    let program = io::load_model(folder.at("program/model.safetensors"), &state)?;
    Ok(Executor::new(&program, state)?.run(&[("x", x)])?.remove(0))
}

#[test]
fn mlp_trains_in_both_modes_and_resumes() -> Result<()> {
    // Over the end of an epoch.
    let train = train!(mlp, mlp::Mlp::new("mlp", &[784, 32, 16, 10]), 16);
    let folder = check("mlp", 23, train)?;
    assert_eq!(used(&folder, Tensor::full(&[2, 784], 0.5f32)?)?.dims(), [2, 10]);
    Ok(())
}

#[test]
fn lenet_trains_in_both_modes_and_resumes() -> Result<()> {
    let net = || {
        let channels = [4, 6];
        let sizes = lenet::Sizes { side: 28, channels, kernel: 5, hidden: 16, classes: 10 };
        lenet::LeNet::new("lenet", sizes)
    };
    let folder = check("lenet", 6, train!(lenet, net(), 4))?;
    assert_eq!(used(&folder, Tensor::full(&[2, 1, 28, 28], 0.5f32)?)?.dims(), [2, 10]);
    Ok(())
}

#[test]
fn gpt_trains_in_both_modes_and_resumes() -> Result<()> {
    let net = || {
        let sizes = gpt::Sizes { vocab: 96, dim: 16, heads: 2, layers: 2, length: 24 };
        gpt::Gpt::new("gpt", sizes)
    };
    let folder = check("gpt", 6, train!(gpt, net(), 4))?;
    let x = Tensor::from_slice(&(0..48).collect::<Vec<i64>>(), &[2, 24])?;
    assert_eq!(used(&folder, x)?.dims(), [2, 24, 96]);
    Ok(())
}

/// An IDX file of bytes.
fn write_idx(path: String, sizes: &[u32], element: impl Fn(usize) -> u8) {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    sizes.iter().for_each(|size| bytes.extend(size.to_be_bytes()));
    bytes.extend((0..sizes.iter().product::<u32>() as usize).map(element));
    fs::write(path, bytes).expect("a file");
}

#[test]
fn digits_are_read_from_files_of_mnist() -> Result<()> {
    let folder = Folder::new("digits");
    fs::create_dir_all(&folder.0).expect("a folder");
    let net = || mlp::Mlp::new("mlp", &[784, 10]);
    let line = |mode: &str| format!("--data {} --epochs 20 --mode {mode}", folder.0.display());
    let fault = train!(mlp, net(), 8)(&line("program")).unwrap_err().to_string();
    assert!(fault.contains("has not got a file `train-images…`"), "{fault}");
    for (part, n) in [("train", 40), ("t10k", 13)] {
        // Of digit `k`, the rows up to `2 k` are white.
        let white = |i: usize| if i / 28 % 28 <= 2 * (i / 784 % 10) { 255 } else { 0 };
        write_idx(folder.at(&format!("{part}-images-idx3-ubyte")), &[n, 28, 28], white);
        write_idx(folder.at(&format!("{part}-labels-idx1-ubyte")), &[n], |i| (i % 10) as u8);
    }
    let fault = train!(mlp, net(), 41)(&line("program")).unwrap_err().to_string();
    assert!(fault.contains("fewer samples than the 41 of a batch"), "{fault}");
    let ended = train!(mlp, net(), 8)(&line("program"))?;
    assert_eq!((ended.0, f64::from_bits(ended.3)), (100, 1.0));
    assert_eq!(train!(mlp, net(), 8)(&line("imperative"))?, ended);
    Ok(())
}

#[test]
fn texts_are_read_from_files() -> Result<()> {
    let folder = Folder::new("texts");
    fs::create_dir_all(&folder.0).expect("a folder");
    let net = || {
        let sizes = gpt::Sizes { vocab: 96, dim: 16, heads: 2, layers: 1, length: 16 };
        gpt::Gpt::new("gpt", sizes)
    };
    let line = |mode: &str| format!("--data {} --epochs 2 --mode {mode}", folder.0.display());
    fs::write(folder.at("a.txt"), "too short").expect("a file");
    let fault = train!(gpt, net(), 4)(&line("program")).unwrap_err().to_string();
    assert!(fault.contains("has not got `.txt` files that are long enough"), "{fault}");
    // Letters that ASCII does not have are left out.
    fs::write(folder.at("b.txt"), "Over the hills\nand far awäy.\n".repeat(20)).expect("a file");
    let ended = train!(gpt, net(), 4)(&line("program"))?;
    // 9 + 20 * 29 characters are 36 texts, of which 33 are trained on.
    assert_eq!(ended.0, 16);
    assert_eq!(train!(gpt, net(), 4)(&line("imperative"))?, ended);
    Ok(())
}

#[test]
fn options_that_need_a_folder_say_so() {
    for option in ["--resume", "--export training.flb"] {
        let words = std::iter::once("model").chain(option.split_whitespace());
        let fault = mlp::common::Options::try_parse_from(words).err().expect("no options");
        assert!(fault.to_string().contains("--save"), "{fault}");
    }
}
