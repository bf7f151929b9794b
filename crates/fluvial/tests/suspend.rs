//! Runs that are suspended between the trips of loops and taken up again give the bits of runs that are not.

use std::cell::Cell;

use fluvial::core::interrupt;
use fluvial::prelude::*;
use fluvial::runtime::{Outcome, Suspension};

/// Trains in a loop inside a loop, with lists, a branch and random numbers.
fn program() -> Result<Program> {
    Program::build(&[("n", Type::scalar(DType::I64))], |inputs| {
        let w = |scale: f64| {
            declare_state("w", Type::of(DType::F32, &[3])?, Role::Parameter, || {
                Ok(Var::of(&[1.0f32, -2.0, 0.5], &[3])? * scale)
            })
        };
        let before = &w(1.0)? * 2.0;
        let zero = Var::scalar(0i64);
        let total = Var::scalar(0.0f32);
        let out = while_loop(
            &[&zero, &total],
            |v| lt(&v[0], &inputs[0]),
            |v| {
                let inner = while_loop(
                    &[&zero, &v[1]],
                    |u| lt(&u[0], &Var::scalar(3i64)),
                    |u| {
                        let w = read_state("w")?;
                        let noise = uniform(&Type::of(DType::F32, &[3])?, 0.0, 1.0)?;
                        let loss = sum(&square(&(&w - &noise))?, &[], false)?;
                        let slope = grad(&[&loss], &[&w])?;
                        assign_state("w", &(&w - &(&slope[0] * 0.1)))?;
                        Ok(vec![&u[0] + &Var::scalar(1i64), &u[1] + &loss])
                    },
                )?;
                Ok(vec![&v[0] + &Var::scalar(1i64), inner[1].clone()])
            },
        )?;
        let w = w(1.0)?;
        Ok(vec![out[1].clone(), &w + &before])
    })
}

fn feeds() -> [(&'static str, Tensor); 1] {
    [("n", Tensor::scalar(4i64))]
}

fn numbers(tensors: &[Tensor]) -> Vec<f64> {
    tensors.iter().flat_map(Tensor::to_f64s).collect()
}

/// Runs to the end, suspending before every trip for which `at` of its number holds.
fn in_pieces(
    program: &Program,
    state: &State,
    at: impl Fn(u32) -> bool,
) -> Result<(Vec<Tensor>, u32)> {
    let count = Cell::new(0);
    let wanted = |_: &fluvial::runtime::Trip<'_>| {
        count.set(count.get() + 1);
        at(count.get())
    };
    // A new executor each time: nothing but the suspension and the states goes from one to the next.
    let mut outcome =
        Executor::new(program, state.clone())?.call().feeds(&feeds()).until(&wanted).start()?;
    let mut n_pieces = 1;
    loop {
        match outcome {
            Outcome::Done(outputs) => return Ok((outputs, n_pieces)),
            Outcome::Suspended(suspension) => {
                assert!(!suspension.is_stop);
                n_pieces += 1;
                let executor = Executor::new(program, state.clone())?;
                outcome = executor.call().resume(suspension).until(&wanted).start()?;
            }
        }
    }
}

#[test]
fn a_run_in_pieces_is_the_run() -> Result<()> {
    let program = program()?;
    let state = State::new();
    let whole = Executor::new(&program, state.clone())?.run(&feeds())?;
    let same = |other: &State, outputs: &[Tensor]| -> Result<()> {
        assert_eq!(numbers(outputs), numbers(&whole));
        for name in state.names() {
            assert!(state.tensor(&name)?.bitwise_eq(&other.tensor(&name)?), "{name}");
        }
        Ok(())
    };
    for every in 1..18 {
        let other = State::new();
        let (outputs, n_pieces) = in_pieces(&program, &other, |trip| trip % every == 0)?;
        assert_eq!(n_pieces, 1 + 16 / every, "every {every}");
        same(&other, &outputs)?;
    }
    Ok(())
}

#[test]
fn a_stop_loses_nothing() -> Result<()> {
    let program = program()?;
    let (state, whole) = (State::new(), State::new());
    let executor = Executor::new(&program, state.clone())?;
    let count = Cell::new(0);
    let wanted = |_: &fluvial::runtime::Trip<'_>| {
        count.set(count.get() + 1);
        if count.get() == 6 {
            interrupt::request();
        }
        false
    };
    let Outcome::Suspended(suspension) = executor.call().feeds(&feeds()).until(&wanted).start()?
    else {
        panic!("the run was not stopped");
    };
    assert!(suspension.is_stop);
    // The sixth trip is the fourth of the inner loop, or so many updates have been made.
    let first: Vec<f64> = state.tensor("w")?.to_f64s();
    let stepped = Executor::new(&program, whole.clone())?;
    stepped.initialise()?;
    assert_ne!(
        first,
        whole.tensor("w")?.to_f64s(),
        "the updates before the stop are in the states"
    );
    let again: Suspension = suspension;
    let Outcome::Done(outputs) = executor.call().resume(again).start()? else {
        panic!("the run was suspended again");
    };
    assert_eq!(numbers(&outputs), numbers(&stepped.run(&feeds())?));
    Ok(())
}
