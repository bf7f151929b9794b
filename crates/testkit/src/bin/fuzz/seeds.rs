//! The files that inputs are changed from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fluvial::core::Value;
use fluvial::prelude::*;
use fluvial_bridge::onnx::{SaveOptions, to_bytes};
use fluvial_data::formats::records::{Compression, Options, Writer};
use fluvial_data::formats::{Input, npz};
use fluvial_data::{Field, files, safetensors};
use fluvial_debug::Engine;
use fluvial_debug::target::{Breakpoint, Event, Go, On, Target};
use fluvial_runtime::Checkpoint;
use fluvial_testkit::random::program;

use crate::Done;
use crate::onnx::{With, bytes, graph, info, ints, mlp, node};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Golden files of the readers.
pub fn golden(endings: &[&str]) -> Done<Vec<Vec<u8>>> {
    in_folder(&root().join("../data/tests/golden"), endings)
}

/// Golden files of models and weights that others have written.
pub fn others(endings: &[&str]) -> Done<Vec<Vec<u8>>> {
    let golden = root().join("../../python/tests/golden");
    let mut seeds = in_folder(&golden.join("paddle"), endings)?;
    seeds.extend(in_folder(&golden.join("gguf"), endings)?);
    Ok(seeds)
}

/// Programs of Fluid: a model, and the main and startup programs of trainings.
pub fn fluid() -> Done<Vec<Vec<u8>>> {
    let mut seeds = others(&["pdmodel"])?;
    for bytes in in_folder(&root().join("../../python/tests/golden/paddle"), &["npz"])? {
        let tensors = npz::read_input(&Input::memory("golden", bytes))?;
        let programs = tensors.iter().filter(|(name, _)| name == "main" || name == "startup");
        seeds.extend(programs.filter_map(|(_, tensor)| Some(tensor.as_bytes()?.to_vec())));
    }
    Ok(seeds)
}

/// Programs of the repository, and `more` below them.
pub fn programs(more: &str) -> Done<Vec<Vec<u8>>> {
    in_folder(&root().join("../../programs").join(more), &["fl"])
}

fn in_folder(folder: &Path, endings: &[&str]) -> Done<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| endings.contains(&ending)) {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| Ok(fs::read(path)?)).collect()
}

/// Runs `f` with a folder that is removed afterwards.
fn scratch<T>(f: impl FnOnce(&Path) -> Done<T>) -> Done<T> {
    let folder = std::env::temp_dir().join(format!("fluvial-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    files::allow(&folder)?;
    let made = f(&folder);
    fs::remove_dir_all(&folder)?;
    made
}

/// Record files of our own, of each compression.
pub fn records() -> Done<Vec<Vec<u8>>> {
    scratch(|folder| {
        let path = folder.join("a.rec").display().to_string();
        let mut seeds = Vec::new();
        for compression in [Compression::None, Compression::Snappy, Compression::Zstd] {
            let field = Field { name: "x".into(), ty: Type::parse("f32[n]")? };
            let options = Options { compression, chunk_bytes: 150 };
            let mut writer = Writer::create(&path, vec![field], options)?;
            for i in 0..20 {
                writer.write(&[&Tensor::zeros(DType::F32, &[i % 4])?])?;
            }
            writer.finish()?;
            seeds.push(fs::read(&path)?);
        }
        Ok(seeds)
    })
}

/// Files of tensors: ours, and one as others write it.
pub fn safetensors() -> Done<Vec<Vec<u8>>> {
    let (a, b) = (Tensor::zeros(DType::F32, &[2, 3])?, Tensor::zeros(DType::BF16, &[3])?);
    let mut seeds = vec![Vec::new(), Vec::new()];
    safetensors::write(&mut seeds[0], &[("weight", &a), ("bias", &b)], "x")?;
    safetensors::write(&mut seeds[1], &[("weight", &b)], "x")?;
    let header = br#"{"__metadata__":{"format":"pt"},"weight":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}"#;
    let mut foreign = (header.len() as u64).to_le_bytes().to_vec();
    foreign.extend(header);
    foreign.extend([0; 8]);
    seeds.push(foreign);
    Ok(seeds)
}

/// ONNX models: one with a loop, written by hand, and random programs as models.
pub fn onnx() -> Vec<Vec<u8>> {
    let body = graph(
        vec![node("Add", &["a", "a"], &["b"]), node("Identity", &["go"], &["on"])],
        vec![info("i", 7, &[]), info("go", 9, &[]), info("a", 1, &["batch", "2"])],
        vec![info("on", 9, &[]), info("b", 1, &["batch", "2"])],
        vec![],
    );
    let mut whole = mlp();
    whole.node.extend([
        node("Shape", &["y"], &["s"]),
        node("Concat", &["s", "one"], &["to"]).int("axis", 0),
        node("Reshape", &["y", "to"], &["z3"]),
        node("Squeeze", &["z3", "last"], &["z2"]),
        node("Loop", &["n", "", "z2"], &["z"]).graph("body", body),
    ]);
    let constants = [ints("one", &[1], &[1]), ints("last", &[2], &[1]), ints("n", &[2], &[])];
    whole.initializer.extend(constants);
    whole.output = vec![info("z", 1, &["batch", "2"])];
    let options = SaveOptions { states: true, ..SaveOptions::default() };
    let written = (0..200).filter_map(|seed| to_bytes(&program(seed), options).ok());
    [bytes(whole)].into_iter().chain(written.take(40)).collect()
}

/// A training that is stopped under way; its recording, and its states as a checkpoint.
pub struct Stopped {
    pub recording: Vec<u8>,
    pub checkpoint: Vec<u8>,
}

impl Stopped {
    pub fn new() -> Done<Stopped> {
        let text = "fluvial 1 short
            main(%x: f32[4, 2]) {
              %loss = repeat{times=6}(0.0) (%step: i64[], %before: f32[]) {
                %y = Linear{outputs=2}(%x)
                %square = mul(%y, %y)
                %loss = sum(%square)
                adam{lr=0.05}(%loss)
                return %loss
              }
              return %loss
            }";
        let program = Program::parse(text, &fluvial::short::registry())?;
        let executor = Executor::new(&program, State::new())?;
        let engine = Engine::new(true);
        let events = engine.events();
        let x = Tensor::full(&[4, 2], 0.5f32)?;
        let running = std::thread::spawn(move || executor.run(&[("x", x)]));
        let stop = || -> Done {
            while !matches!(events.recv()?, Event::Stopped(_)) {}
            Ok(())
        };
        stop()?;
        let point = Breakpoint::new(1, On::Name("adam_update".into()));
        engine.set_breakpoints(vec![point]);
        for _ in 0..3 {
            engine.go(Go::Continue)?;
            stop()?;
        }
        let recording = scratch(|folder| {
            let path = folder.join("a.flr");
            engine.record(&path)?;
            Ok(fs::read(&path)?)
        })?;
        engine.go(Go::Detach)?;
        running.join().map_err(|_| "the run has panicked")??;
        let states: Vec<(Arc<str>, Role, Value)> =
            vec![("w".into(), Role::Parameter, Tensor::full(&[3], 0.5f32)?.into())];
        let checkpoint = Checkpoint::of(7, states, fluvial_runtime::Suspension::default());
        Ok(Stopped { recording, checkpoint: checkpoint.to_bytes()? })
    }
}
