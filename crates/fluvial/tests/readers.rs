//! Programs that read their data by themselves: all ways of running them agree, and a run can be resumed.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fluvial::core::{Value, interrupt};
use fluvial::data::Reader;
use fluvial::data::reader::register_dataset;
use fluvial::prelude::*;
use fluvial::runtime::{Checkpoints, Observer, Outcome, Step, Trip};

/// A stop is asked of the whole process: while one test does, no other may run.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// 21 samples: five batches, the last of one sample.
fn reader(name: &str) -> Result<Reader> {
    let x: Vec<f32> = (0..63).map(|i| ((i * 37) % 64) as f32 / 32.0 - 1.0).collect();
    let y: Vec<f32> = x.chunks(3).map(|x| x[0] - 2.0 * x[1] + 0.5 * x[2]).collect();
    let arrays = fluvial::data::reader::Arrays::new([
        ("x", Tensor::from_vec(x, &[21, 3])?),
        ("y", Tensor::from_vec(y, &[21, 1])?),
    ])?;
    register_dataset(name, std::sync::Arc::new(arrays));
    Ok(Reader::memory(name).shuffle(7).batch(5, false).prefetch(2))
}

/// A layer and its optimizer, made in a scope.
fn model(state: &State) -> (Linear, Adam) {
    let _scope = state.enter();
    let layer = Linear::new("net", 3, 1);
    let adam = Adam::new(layer.parameters(), 0.05);
    (layer, adam)
}

/// The training as a program that finds its states by name, as from a file.
fn training(reader: &Reader, passes: usize) -> Result<Program> {
    let model = model(&State::new());
    Ok(Program::build(&[], |_| train(&model, reader, passes))?.unbound())
}

/// Trains for `passes` passes; every second step also evaluates, in a loop inside the loop.
fn train((layer, adam): &(Linear, Adam), reader: &Reader, passes: usize) -> Result<Vec<Var>> {
    let position =
        declare_state("reader.position", Type::of(DType::I64, &[2])?, Role::Counter, || {
            Var::of(&[0i64, 0], &[2])
        })?;
    let init = [&Var::scalar(0.0f32), &Var::scalar(0i64)];
    let (position, last) = for_each(reader, passes, &position, &init, |batch, carried| {
        let x = dropout(&batch[0], 0.2)?;
        let loss = mean(&square(&(&layer.forward(&x)? - &batch[1]))?, &[], false)?;
        adam.minimize(&loss)?;
        let is_even = eq(&remainder(&carried[1], &Var::scalar(2i64))?, &Var::scalar(0i64))?;
        let evaluated = cond(
            &is_even,
            || {
                let start = Var::of(&[0i64, 0], &[2])?;
                let (_, total) =
                    for_each(reader, 1, &start, &[&Var::scalar(0.0f32)], |batch, total| {
                        let fault = &layer.forward(&batch[0])? - &batch[1];
                        Ok((None, vec![&total[0] + &sum(&square(&fault)?, &[], false)?]))
                    })?;
                Ok(total)
            },
            || Ok(vec![carried[0].clone()]),
        )?;
        Ok((None, vec![evaluated[0].clone(), &carried[1] + &Var::scalar(1i64)]))
    })?;
    assign_state("reader.position", &position)?;
    Ok(last)
}

fn same(a: &State, b: &State) -> Result<()> {
    assert_eq!(a.names(), b.names());
    for name in a.names() {
        let (a, b) = (a.tensor(&name)?, b.tensor(&name)?);
        assert!(a.bitwise_eq(&b), "{name}: {:?} {:?}", a.to_f64s(), b.to_f64s());
    }
    Ok(())
}

#[test]
fn all_ways_of_running_agree() -> Result<()> {
    let _alone = alone();
    let reader = reader("agree")?;
    let (line, interpreted, compiled) = (State::new(), State::new(), State::new());
    let model_compiled = model(&compiled);
    let program = Program::build(&[], |_| train(&model_compiled, &reader, 3))?;
    let text = program.to_string();
    assert!(text.contains("for_each"), "{text}");
    let again = Program::parse(&text, &fluvial::ops::registry())?;
    assert_eq!(program, again);
    let model_by_line = model(&line);
    let by_line = {
        let _state = line.enter();
        train(&model_by_line, &reader, 3)?
    };
    let by_calls = Interpreter::new(again, interpreted.clone())?.run(&[])?;
    let executor = Executor::new(&program, compiled.clone())?;
    let by_plan = executor.run(&[])?;
    for i in 0..2 {
        assert_eq!(by_line[i].tensor()?.to_f64s(), by_plan[i].to_f64s());
        assert_eq!(by_calls[i].to_f64s(), by_plan[i].to_f64s());
    }
    assert_eq!(by_plan[1].item::<i64>()?, 15);
    assert_eq!(compiled.tensor("reader.position")?.to_vec::<i64>()?, [3, 0]);
    same(&line, &compiled)?;
    same(&interpreted, &compiled)?;
    // A second run makes three more passes, with other orders.
    executor.run(&[])?;
    assert_eq!(compiled.tensor("reader.position")?.to_vec::<i64>()?, [6, 0]);
    Ok(())
}

#[test]
fn a_loop_may_end_early_and_go_on_later() -> Result<()> {
    let _alone = alone();
    let reader = reader("early")?;
    let take = |position: &Var, most: i64| {
        for_each(&reader, 1, position, &[&Var::scalar(0i64)], |batch, carried| {
            let next = &carried[0] + &Var::scalar(1i64);
            let _ = batch;
            Ok((Some(lt(&next, &Var::scalar(most))?), vec![next]))
        })
    };
    let start = Var::of(&[0i64, 0], &[2])?;
    let by_line = take(&start, 2)?;
    assert_eq!(by_line.0.to_vec::<i64>()?, [0, 2]);
    let ty = start.ty();
    let program = Program::build(&[("position", ty)], |inputs| {
        let (position, carried) = take(&inputs[0], 2)?;
        Ok(vec![position, carried[0].clone()])
    })?;
    let executor = Executor::new(&program, State::new())?;
    let mut position = start.tensor()?.clone();
    let mut trips = Vec::new();
    for expected in [[0, 2], [0, 4], [1, 0], [1, 2]] {
        let outputs = executor.run(&[("position", position)])?;
        position = outputs[0].clone();
        trips.push(outputs[1].item::<i64>()?);
        assert_eq!(position.to_vec::<i64>()?, expected);
    }
    assert_eq!(trips, [2, 2, 1, 2]);
    Ok(())
}

/// Asks for a stop after so many trips.
struct StopAfter(AtomicU32);

impl Observer for StopAfter {
    fn leave(&self, _: &Step<'_>, _: usize, _: &[Value]) -> Result<()> {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            interrupt::request();
        }
        Ok(())
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("fluvial-readers-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_run_that_was_stopped_anywhere_ends_with_the_same_bits() -> Result<()> {
    let _alone = alone();
    let reader = reader("stopped")?;
    let program = training(&reader, 3)?;
    let whole = State::new();
    let outputs = Executor::new(&program, whole.clone())?.run(&[])?;
    let folder = Folder::new("stopped");
    let checkpoints = Checkpoints::new(&folder.0).every_steps(4).keep(2);
    // Each run is stopped within a trip or two, also inside the evaluation; then another process would go on.
    let mut n_runs = 0;
    let (last, state) = loop {
        let state = State::new();
        let executor = Executor::new(&program, state.clone())?;
        let watcher = StopAfter(AtomicU32::new(7));
        n_runs += 1;
        match executor.call().observe(&watcher).checkpoints(&checkpoints, true).run() {
            Ok(outputs) => break (outputs, state),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
                assert!(error.to_string().contains("checkpoint was written"), "{error}");
            }
        }
        assert!(checkpoints.list()?.len() <= 2);
    };
    assert!(n_runs > 5, "{n_runs}");
    for (a, b) in outputs.iter().zip(&last) {
        assert!(a.bitwise_eq(b));
    }
    same(&whole, &state)
}

#[test]
fn a_run_that_was_stopped_goes_on_by_its_states() -> Result<()> {
    let _alone = alone();
    let reader = reader("by states")?;
    let program = training(&reader, 1)?;
    let (whole, state) = (State::new(), State::new());
    Executor::new(&program, whole.clone())?.run(&[])?;
    let executor = Executor::new(&program, state.clone())?;
    // The first trip, its five of the evaluation, and the second trip.
    let watcher = StopAfter(AtomicU32::new(8));
    let error = executor.call().observe(&watcher).run().expect_err("a stop was asked for");
    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    assert_eq!(state.tensor("reader.position")?.to_vec::<i64>()?, [0, 2]);
    executor.run(&[])?;
    same(&whole, &state)
}

#[test]
fn checkpoints_are_judged() -> Result<()> {
    let _alone = alone();
    let reader = reader("judged")?;
    let program = training(&reader, 2)?;
    let folder = Folder::new("judged");
    let checkpoints = Checkpoints::new(&folder.0).every_steps(2).keep(3);
    let state = State::new();
    let executor = Executor::new(&program, state.clone())?;
    executor.call().checkpoints(&checkpoints, false).run()?;
    let found = checkpoints.list()?;
    assert_eq!(found.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [8, 6, 4]);
    // Weights are there by their names.
    let (latest, faults) = checkpoints.latest()?;
    let elsewhere = State::new();
    latest.expect("there is one").restore(&elsewhere)?;
    assert!(faults.is_empty() && elsewhere.contains("net.weight"));
    // A file that is broken is passed over.
    let bytes = std::fs::read(&found[0].1).unwrap();
    for cut in [0, 1, 9, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&found[0].1, &bytes[..cut]).unwrap();
        let (latest, faults) = checkpoints.latest()?;
        assert_eq!((latest.map(|latest| latest.step), faults.len()), (Some(6), 1));
    }
    let again = State::new();
    let resumed = Executor::new(&program, again.clone())?;
    resumed.call().checkpoints(&checkpoints, true).run()?;
    same(&state, &again)?;
    // Any byte of the header changed gives an error or a checkpoint, never a panic; with its checksum, an error.
    let bare = without_checksums(&bytes);
    for (bytes, is_checked, each) in [(&bare, false, 2), (&bytes, true, 16)] {
        let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        for at in (0..header).step_by(each) {
            let mut changed = bytes.clone();
            changed[at] = changed[at].wrapping_add(1);
            std::fs::write(&found[0].1, &changed).unwrap();
            let read = fluvial::runtime::Checkpoint::read(&found[0].1);
            assert!(read.is_err() || !is_checked, "byte {at}");
        }
    }
    std::fs::write(&found[0].1, &bare).unwrap();
    assert!(fluvial::runtime::Checkpoint::read(&found[0].1).is_ok());
    std::fs::write(&found[0].1, &bytes).unwrap();
    let other = training(&reader.take(8), 2)?;
    let error = Executor::new(&other, State::new())?
        .call()
        .checkpoints(&checkpoints, true)
        .run()
        .expect_err("it is another program");
    assert!(error.to_string().contains("another program"), "{error}");
    Ok(())
}

/// The bytes of a file as versions before checksums wrote it.
fn without_checksums(bytes: &[u8]) -> Vec<u8> {
    let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let (header, rest) = bytes[8..].split_at(len);
    let header = String::from_utf8(header.to_vec()).unwrap();
    let start = header.find("\"fluvial.checksum\"").unwrap();
    let mark = "\"fluvial.checked\":\"crc32\",";
    let end = header.find(mark).unwrap() + mark.len();
    let header = format!("{}{}", &header[..start], &header[end..]);
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), rest].concat()
}

#[test]
fn more_epochs_go_on_from_a_checkpoint() -> Result<()> {
    let _alone = alone();
    let reader = reader("epochs")?;
    let (whole, more) = (State::new(), State::new());
    Executor::new(&training(&reader, 5)?, whole.clone())?.run(&[])?;
    let folder = Folder::new("epochs");
    let checkpoints = Checkpoints::new(&folder.0).every_steps(3);
    let first = Executor::new(&training(&reader, 2)?, State::new())?;
    first.call().checkpoints(&checkpoints, false).run()?;
    let then = Executor::new(&training(&reader, 5)?, more.clone())?;
    then.call().checkpoints(&checkpoints, true).run()?;
    same(&whole, &more)
}

#[test]
fn data_of_other_types_is_refused() -> Result<()> {
    let _alone = alone();
    let reader = reader("types")?;
    let program = training(&reader, 1)?;
    let arrays = fluvial::data::reader::Arrays::new([("x", Tensor::zeros(DType::F32, &[9, 4])?)])?;
    register_dataset("types", std::sync::Arc::new(arrays));
    let error = Executor::new(&program, State::new())?.run(&[]).expect_err("one field is missing");
    assert!(error.to_string().contains("the program was built for"), "{error}");
    Ok(())
}

#[test]
fn a_loop_over_a_reader_has_no_gradient_as_a_whole() -> Result<()> {
    let _alone = alone();
    let reader = reader("whole")?;
    let ty = Type::scalar(DType::F32);
    let built = Program::build(&[("w", ty)], |inputs| {
        let start = Var::of(&[0i64, 0], &[2])?;
        let w = &inputs[0];
        let (_, total) = for_each(&reader, 1, &start, &[&Var::scalar(0.0f32)], |batch, total| {
            Ok((None, vec![&total[0] + &(w * &sum(&batch[1], &[], false)?)]))
        })?;
        grad(&[&total[0]], &[w])
    });
    let error = built.expect_err("there is no gradient").to_string();
    assert!(error.contains("take the gradient inside"), "{error}");
    Ok(())
}

#[test]
fn pieces_of_a_run_over_a_reader() -> Result<()> {
    let _alone = alone();
    let reader = reader("pieces")?;
    let program = training(&reader, 2)?;
    let whole = State::new();
    Executor::new(&program, whole.clone())?.run(&[])?;
    for every in 1..12 {
        let state = State::new();
        let count = Cell::new(0);
        let wanted = |_: &Trip<'_>| {
            count.set(count.get() + 1);
            count.get() % every == 0
        };
        let mut outcome = Executor::new(&program, state.clone())?.call().until(&wanted).start()?;
        while let Outcome::Suspended(suspension) = outcome {
            outcome = Executor::new(&program, state.clone())?
                .call()
                .resume(suspension)
                .until(&wanted)
                .start()?;
        }
        same(&whole, &state)?;
    }
    Ok(())
}
