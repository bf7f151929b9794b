//! Readers whose position is a state: line by line and in programs, stopped and taken up again.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fluvial::core::interrupt;
use fluvial::data::{Position, Reader};
use fluvial::io::{Load, load_states, save_states};
use fluvial::prelude::*;
use fluvial::runtime::{Outcome, Trip};

/// A stop is asked of the whole process: while one test does, no other may run.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// 10 samples in batches of 3, 3, 3 and 1.
fn feed(name: &str) -> Result<Feed> {
    let x: Vec<f32> = (0..20).map(|i| ((i * 7) % 20) as f32 / 10.0 - 1.0).collect();
    let y: Vec<f32> = x.chunks(2).map(|x| x[0] - 2.0 * x[1]).collect();
    let arrays = [("x", Tensor::from_vec(x, &[10, 2])?), ("y", Tensor::from_vec(y, &[10, 1])?)];
    Ok(Feed::new(name, Reader::of(arrays)?.shuffle(3).batch(3, false).prefetch(2)))
}

/// A layer and its optimizer.
struct Model(Linear, AdamW);

impl Model {
    fn new() -> Model {
        let net = Linear::new("net", 2, 1);
        let optimizer = AdamW::new(net.parameters(), 0.05);
        Model(net, optimizer)
    }

    /// A step: dropout and AdamW, so that random streams and moments take part.
    fn step(&self, batch: &[Var]) -> Result<Var> {
        let guess = self.0.forward(&dropout(&batch[0], 0.1)?)?;
        let loss = mean(&square(&(&guess - &batch[1]))?, &[], false)?;
        self.1.minimize(&loss)?;
        Ok(loss)
    }

    fn train(&self, feed: &Feed, passes: usize) -> Result<Vec<Var>> {
        feed.each(passes, &[&Var::scalar(0.0f32)], |batch, _| Ok(vec![self.step(batch)?]))
    }

    /// Passes until three were made, wherever the feed stands: a loop over a reader inside a loop.
    fn train_to_the_third(&self, feed: &Feed) -> Result<Vec<Var>> {
        let ty = Type::of(DType::I64, &[2])?;
        let start = || Var::of(&[0i64, 0], &[2]);
        let is_due = |_: &[Var]| {
            let position = declare_state(&feed.state_name(), ty, Role::Counter, start)?;
            lt(
                &sum(&narrow(&position, 0, Dim::size(0), Dim::size(1))?, &[], false)?,
                &Var::scalar(3i64),
            )
        };
        while_loop(&[&Var::scalar(0.0f32)], is_due, |_| self.train(feed, 1))
    }
}

fn same(a: &State, b: &State) -> Result<()> {
    assert_eq!(a.names(), b.names());
    for name in a.names() {
        assert!(a.tensor(&name)?.bitwise_eq(&b.tensor(&name)?), "{name}");
    }
    Ok(())
}

fn at(epoch: u64, index: u64) -> Position {
    Position { epoch, index }
}

#[test]
fn both_modes_move_the_position_alike() -> Result<()> {
    let _alone = alone();
    let feed = feed("train")?;
    let (line, compiled) = (State::new(), State::new());
    let _scope = line.enter();
    assert_eq!(feed.position()?, at(0, 0));
    let model = Model::new();
    let by_line = model.train(&feed, 3)?;
    assert_eq!(feed.position()?, at(3, 0));
    let known = line.declaration("train.position").unwrap();
    assert_eq!((known.ty, known.role), (Type::of(DType::I64, &[2])?, Role::Counter));

    let _scope = compiled.enter();
    let model = Model::new();
    let program = Program::build(&[], |_| model.train(&feed, 3))?;
    let by_plan = Executor::new(&program, compiled.clone())?.run(&[])?;
    assert!(by_plan[0].bitwise_eq(by_line[0].tensor()?));
    assert_eq!(feed.position()?, at(3, 0));
    same(&line, &compiled)
}

#[test]
fn ops_of_the_body_have_their_own_lines() -> Result<()> {
    let _alone = alone();
    let feed = feed("lines")?;
    let line = line!() + 2;
    let program = Program::build(&[], |_| {
        feed.each(1, &[&Var::scalar(0.0f32)], |batch, carried| {
            let total = sum(&batch[1], &[], false)?;
            Ok(vec![&carried[0] + &total])
        })
    })?;
    let text = program.to_string();
    for wanted in [line, line + 1, line + 2] {
        assert!(text.contains(&format!("feeds.rs:{wanted}")), "{wanted}: {text}");
    }
    Ok(())
}

#[test]
fn a_loop_that_ended_early_goes_on_with_the_next_batch() -> Result<()> {
    let _alone = alone();
    let feed = feed("early")?;
    let two = || {
        feed.each_while(1, &[&Var::scalar(0i64)], |_, carried| {
            let count = &carried[0] + &Var::scalar(1i64);
            Ok((Some(lt(&count, &Var::scalar(3i64))?), vec![count]))
        })
    };
    let program = Program::build(&[], |_| two())?;
    for compiled in [false, true] {
        let state = State::new();
        let _scope = state.enter();
        let executor = Executor::new(&program, state.clone())?;
        for (trips, position) in [(3, at(0, 3)), (1, at(1, 0)), (3, at(1, 3))] {
            let counted = match compiled {
                true => executor.run(&[])?[0].item::<i64>()?,
                false => two()?[0].item::<i64>()?,
            };
            assert_eq!((counted, feed.position()?), (trips, position));
        }
        feed.seek(at(5, 2))?;
        let counted = if compiled { executor.run(&[])?[0].item()? } else { two()?[0].item()? };
        assert_eq!((counted, feed.position()?), (2i64, at(6, 0)));
    }
    assert!(feed.seek(at(u64::MAX, 0)).is_err());
    Ok(())
}

#[test]
fn states_saved_in_the_body_are_a_checkpoint() -> Result<()> {
    let _alone = alone();
    let feed = feed("saved")?;
    let path =
        std::env::temp_dir().join(format!("fluvial-feed-{}.safetensors", std::process::id()));
    let whole = State::new();
    let _scope = whole.enter();
    let model = Model::new();
    let count = Cell::new(0);
    feed.each(2, &[], |batch, _| {
        let _ = model.step(batch)?;
        count.set(count.get() + 1);
        if count.get() == 6 {
            save_states(&path, &whole, &Role::ALL)?;
        }
        Ok(vec![])
    })?;
    assert_eq!(count.get(), 8);
    let again = State::new();
    let _scope = again.enter();
    load_states(&path, &again, Load::default())?;
    std::fs::remove_file(&path).ok();
    assert_eq!(feed.position()?, at(1, 2));
    // The rest of the second pass, here as a program, by a model that finds its values there.
    let resumed = Model::new();
    let program = Program::build(&[], |_| resumed.train(&feed, 1))?;
    Executor::new(&program, again.clone())?.run(&[])?;
    same(&whole, &again)
}

#[test]
fn a_loop_that_was_stopped_line_by_line_goes_on() -> Result<()> {
    let _alone = alone();
    let feed = feed("stopped")?;
    let (whole, state) = (State::new(), State::new());
    let _scope = whole.enter();
    let model = Model::new();
    model.train(&feed, 1)?;
    let _scope = state.enter();
    let resumed = Model::new();
    let stopped = feed.each(1, &[], |batch, _| {
        let _ = resumed.step(batch)?;
        if feed.position()?.index == 2 {
            interrupt::request();
        }
        Ok(vec![])
    });
    assert_eq!(stopped.expect_err("a stop was asked for").kind(), ErrorKind::Interrupted);
    assert_eq!(feed.position()?, at(0, 2));
    resumed.train(&feed, 1)?;
    same(&whole, &state)
}

#[test]
fn a_nested_loop_that_was_suspended_goes_on_by_its_states() -> Result<()> {
    let _alone = alone();
    let feed = feed("nested")?;
    let whole = State::new();
    let _scope = whole.enter();
    let model = Model::new();
    model.train_to_the_third(&feed)?;
    for last in 0..12 {
        let state = State::new();
        let _scope = state.enter();
        let model = Model::new();
        let program = Program::build(&[], |_| model.train_to_the_third(&feed))?;
        let trips = Cell::new(0);
        let is_last = |trip: &Trip<'_>| {
            trip.step.op.reader().is_some() && trips.replace(trips.get() + 1) == last
        };
        let outcome = Executor::new(&program, state.clone())?.call().until(&is_last).start()?;
        assert!(matches!(outcome, Outcome::Suspended(_)));
        // Four batches are a pass.
        assert_eq!(feed.position()?, at(last / 4, last % 4), "before trip {last}");
        // Nothing but the states goes on, in turns as a program and line by line.
        match last % 2 {
            0 => drop(Executor::new(&program, state.clone())?.run(&[])?),
            _ => drop(model.train_to_the_third(&feed)?),
        }
        same(&whole, &state)?;
    }
    Ok(())
}

#[test]
fn a_pass_for_evaluation_leaves_the_position_alone() -> Result<()> {
    let _alone = alone();
    let feed = feed("held")?;
    let total = || {
        feed.pass(&[&Var::scalar(0.0f32)], |batch, total| {
            Ok(vec![&total[0] + &sum(&batch[1], &[], false)?])
        })
    };
    let state = State::new();
    let _scope = state.enter();
    let by_line = total()?[0].item::<f32>()?;
    let program = Program::build(&[], |_| total())?;
    assert_eq!(Executor::new(&program, state.clone())?.run(&[])?[0].item::<f32>()?, by_line);
    assert!(state.names().is_empty());
    state.insert("held.position", Role::Counter, Tensor::from_slice(&[-1i64, 0], &[2])?)?;
    assert!(feed.position().expect_err("it is negative").to_string().contains("held.position"));
    Ok(())
}
