//! A training that is one file: reading, network, optimizer and evaluation. It is run with checkpoints, stopped in
//! the middle and taken up again, and ends with the bits of a run that was never stopped, and of the same
//! code line by line.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use fluvial::core::{Value, interrupt};
use fluvial::data::formats::records::{Options, Writer};
use fluvial::data::{Field, Reader, files};
use fluvial::prelude::*;
use fluvial::runtime::{Checkpoints, Observer, Step};

const DIGITS: &[u8] = include_bytes!("data/digits/digits.bin");
const EPOCHS: i64 = 3;
const STOP_AFTER: u32 = 40;

/// Writes the digits for which `wanted` holds to a record file.
fn write_digits(path: &str, wanted: impl Fn(usize) -> bool) -> Result<()> {
    let field = |name: &str, ty| Field { name: Arc::from(name), ty };
    let (image, label) = (Type::of(DType::U8, &[64])?, Type::scalar(DType::I64));
    let fields = vec![field("image", image), field("label", label)];
    let mut writer = Writer::create(path, fields, Options::default())?;
    for (_, digit) in DIGITS.chunks_exact(65).enumerate().filter(|(i, _)| wanted(*i)) {
        let (pixels, label) = digit.split_at(64);
        let image = Tensor::from_slice(pixels, &[64])?;
        writer.write(&[&image, &Tensor::scalar(i64::from(label[0]))])?;
    }
    writer.finish()
}

/// Pixels with mean 0 and variance 1, nearly.
fn digits(path: &str) -> Reader {
    Reader::records(path).scale("image", 1.0 / 6.0, -4.9 / 6.0)
}

fn model() -> (Sequential, AdamW) {
    let net = Sequential::new("net")
        .add(|at| Linear::new(at, 64, 64))
        .then(relu)
        .add(|at| Dropout::new(at, 0.2))
        .add(|at| Linear::new(at, 64, 10));
    let optimizer = AdamW::new(net.parameters(), 2e-2)
        .clip(Clip::GlobalNorm(5.0))
        .schedule(Schedule::cosine(23 * EPOCHS as u32, 0.0));
    (net, optimizer)
}

/// The whole training, for both modes. Returns the last loss, and the part of the digits held back that is
/// read right.
fn train(net: &Sequential, optimizer: &AdamW, train: &Feed, held: &Feed) -> Result<Vec<Var>> {
    let start = [&Var::scalar(0i64), &Var::scalar(0.0f32), &Var::scalar(0.0f64)];
    let is_due = |carried: &[Var]| lt(&carried[0], &Var::scalar(EPOCHS));
    let last = while_loop(&start, is_due, |carried| {
        let loss = train.each(1, &[&carried[1]], |batch, _| {
            let logits = net.forward(&batch[0])?;
            let loss = cross_entropy(&logits, &batch[1], None, CrossEntropyOptions::default())?;
            optimizer.minimize(&loss)?;
            Ok(vec![loss])
        })?;
        net.eval();
        let counts =
            held.pass(&[&Var::scalar(0.0f64), &Var::scalar(0.0f64)], |batch, counts| {
                let right = eq(&argmax(&net.forward(&batch[0])?, -1, false)?, &batch[1])?;
                let right = cast(&right, DType::F64)?;
                let all = sum(&ones_like(&right)?, &[], false)?;
                Ok(vec![&counts[0] + &sum(&right, &[], false)?, &counts[1] + &all])
            })?;
        net.train();
        let right = div(&counts[0], &counts[1])?;
        Ok(vec![&carried[0] + &Var::scalar(1i64), loss[0].clone(), right])
    })?;
    Ok(last[1..].to_vec())
}

/// Asks for a stop after so many batches, as Ctrl-C does.
struct StopAfter(AtomicU32);

impl Observer for StopAfter {
    fn leave(&self, step: &Step<'_>, _: usize, _: &[Value]) -> Result<()> {
        if step.op.reader().is_some() && self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            interrupt::request();
        }
        Ok(())
    }
}

/// Runs the program until it is stopped, then goes on in a scope that knows nothing but the checkpoint.
fn stopped_and_resumed(program: &Program, folder: &Path, state: &State) -> Result<Vec<Tensor>> {
    let checkpoints = Checkpoints::new(folder).every_steps(25).keep(2);
    let first = Executor::new(program, State::new())?;
    let stop = StopAfter(AtomicU32::new(STOP_AFTER));
    let stopped = first.call().observe(&stop).checkpoints(&checkpoints, false).run();
    match stopped {
        Err(error) if error.kind() == ErrorKind::Interrupted => println!("{error}\n"),
        Err(error) => return Err(error),
        Ok(_) => return Err(Error::internal("the run was not stopped")),
    }
    let second = Executor::new(program, state.clone())?;
    second.call().checkpoints(&checkpoints, true).run()
}

fn run(folder: &Path) -> Result<()> {
    // What our own code names, programs may touch.
    files::allow(folder)?;
    let path = |name: &str| folder.join(name).display().to_string();
    // Every fifth digit is held back.
    write_digits(&path("train.rec"), |i| i % 5 != 4)?;
    write_digits(&path("held.rec"), |i| i % 5 == 4)?;
    let shuffled = digits(&path("train.rec")).shuffle(7).batch(64, false).prefetch(2);
    let training = Feed::new("train", shuffled);
    let held = Feed::new("held", digits(&path("held.rec")).batch(128, false));

    // What is made in a scope is listed there. The program from the file knows its states by their names alone.
    let states = [(); 3].map(|()| State::new());
    let _scope = states[0].enter();
    let (net, optimizer) = model();
    let whole = || train(&net, &optimizer, &training, &held);
    let file = folder.join("training.flb");
    Program::build(&[], |_| whole())?.save(&file)?;
    let program = Program::load(&file, &fluvial::ops::registry())?;

    let names = ["line by line", "program", "stopped, resumed"];
    let mut rows = Vec::new();
    for (name, state) in names.into_iter().zip(&states) {
        let _scope = state.enter();
        let start = Instant::now();
        let outputs: Vec<Tensor> = match name {
            "line by line" => {
                let last = whole()?;
                last.iter().map(|var| var.tensor().cloned()).collect::<Result<_>>()?
            }
            "program" => Executor::new(&program, state.clone())?.run(&[])?,
            _ => stopped_and_resumed(&program, &folder.join("checkpoints"), state)?,
        };
        let (loss, right) = (outputs[0].item::<f32>()?, outputs[1].item::<f64>()?);
        let steps = state.tensor("adamw.step")?.item::<i64>()?;
        let seconds = start.elapsed().as_secs_f64();
        rows.push(format!("{name:16} {steps:6} {loss:10.4} {:20.1}% {seconds:8.1}", 100.0 * right));
        assert!(right >= 0.9, "only {right} of the digits were read right");
        assert_eq!(training.position()?.epoch, EPOCHS as u64);
    }
    println!("run               steps  last loss  held back read right  seconds");
    println!("{}", rows.join("\n"));

    let [by_line, others @ ..] = &states;
    for other in others {
        assert_eq!(by_line.names(), other.names());
        for name in by_line.names() {
            let same = by_line.tensor(&name)?.bitwise_eq(&other.tensor(&name)?);
            assert!(same, "`{name}` differs between the runs");
        }
    }
    println!("all {} states are equal to the bit", by_line.names().len());
    Ok(())
}

fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("fluvial-train-file-{}", std::process::id()));
    let done = run(&folder);
    std::fs::remove_dir_all(&folder).ok();
    done
}

#[test]
fn the_example_runs() -> Result<()> {
    main()
}
