//! State: initial values, merging of programs, updates in place.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fluvial::core::end_program;
use fluvial::prelude::*;

fn vector(n: usize) -> Type {
    Type::of(DType::F64, &[n]).unwrap()
}

/// A program that gives state `name` an initial value, imperatively written as an assignment.
fn startup(name: &str, ty: Type, value: f64) -> Result<Program> {
    let scope = State::new();
    let sizes = ty.sizes().unwrap();
    scope.insert(name, Role::Parameter, Tensor::zeros(ty.dtype(), &sizes)?)?;
    let _scope = scope.enter();
    Program::build(&[], |_| {
        assign_state(name, &fluvial::core::structural::fill(value, &ty)?)?;
        Ok(vec![])
    })
}

/// A program that doubles state `name` and returns what it was.
fn doubling(name: &str, ty: Type) -> Result<Program> {
    let scope = State::new();
    scope.insert(name, Role::Parameter, Tensor::zeros(ty.dtype(), &ty.sizes().unwrap())?)?;
    let _scope = scope.enter();
    Program::build(&[], |_| {
        let before = read_state(name)?;
        assign_state(name, &(&before * 2.0))?;
        Ok(vec![before])
    })
}

#[test]
fn a_merged_program_initialises_once() -> Result<()> {
    let merged = Program::merge(&startup("w", vector(2), 3.0)?, &doubling("w", vector(2))?)?;
    let run = Interpreter::new(merged.clone(), State::new())?;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(run.run(&[])?[0].to_vec::<f64>()?[0]);
    }
    assert_eq!(seen, [3.0, 6.0, 12.0]);
    // Another program on the same state finds it there.
    let again = Interpreter::new(merged, run.state().clone())?;
    assert_eq!(again.run(&[])?[0].to_vec::<f64>()?, [24.0, 24.0]);
    Ok(())
}

#[test]
fn clashing_states_are_kept_apart() -> Result<()> {
    let other = startup("w", vector(5), 1.0)?;
    let main = Program::merge(&startup("w", vector(2), 3.0)?, &doubling("w", vector(2))?)?;
    let merged = Program::merge(&other, &main)?;
    assert_eq!(merged.states["w"].ty, vector(2));
    assert_eq!(merged.states["w_1"].ty, vector(5));
    let run = Interpreter::new(merged, State::new())?;
    assert_eq!(run.run(&[])?[0].to_vec::<f64>()?, [3.0, 3.0]);
    assert_eq!(run.state().tensor("w_1")?.to_vec::<f64>()?, [1.0; 5]);
    // A state that both initialise keeps the main program's own value.
    let twice = Program::merge(&startup("w", vector(2), 8.0)?, &main)?;
    assert_eq!(Interpreter::new(twice, State::new())?.run(&[])?[0].to_vec::<f64>()?, [3.0, 3.0]);
    Ok(())
}

#[test]
fn sizes_that_only_a_run_knows_do_not_clash() -> Result<()> {
    // Each startup block counts rows, whose number it calls `_0`.
    let counting = |name: &'static str| {
        Program::build(&[], move |_| {
            let init = || {
                let x = fluvial::core::structural::fill(2.0, &vector(3))?;
                let (rows, _) = split_rows(&gt(&x, &Var::scalar(1.0))?, &x)?;
                sum(&rows, &[], false)
            };
            Ok(vec![declare_state(name, Type::scalar(DType::F64), Role::Buffer, init)?])
        })
    };
    let merged = Program::merge(&counting("a")?, &counting("b")?)?;
    let run = Interpreter::new(merged, State::new())?;
    run.run(&[])?;
    assert_eq!(run.state().tensor("a")?.item::<f64>()?, 6.0);
    assert_eq!(run.state().tensor("b")?.item::<f64>()?, 6.0);
    Ok(())
}

#[test]
fn a_state_without_a_value_is_an_error_that_names_it() -> Result<()> {
    let run = Interpreter::new(doubling("w", vector(2))?, State::new())?;
    let error = run.run(&[]).unwrap_err().to_string();
    assert!(error.contains("state `w` has no value and no initialiser"), "{error}");
    run.state().insert("w", Role::Parameter, Tensor::full(&[2], 7.0)?)?;
    assert_eq!(run.run(&[])?[0].to_vec::<f64>()?, [7.0, 7.0]);
    Ok(())
}

#[test]
fn a_failed_initialiser_leaves_nothing_behind() -> Result<()> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    register_host("state.fail_once", move |_| match counter.fetch_add(1, Ordering::Relaxed) {
        0 => Err(Error::argument("not yet")),
        _ => Ok(vec![Tensor::full(&[2], 5.0)?]),
    });
    let program = Program::build(&[], |_| {
        let a = parameter("a", vector(2), || fluvial::core::structural::fill(1.0, &vector(2)))?;
        let b = parameter("b", vector(2), || {
            Ok(host_call("state.fail_once", &[], &[vector(2)], None)?.remove(0))
        })?;
        Ok(vec![a + b])
    })?;
    let run = Interpreter::new(program, State::new())?;
    assert!(run.run(&[]).unwrap_err().to_string().contains("not yet"));
    assert!(run.state().names().is_empty());
    assert_eq!(run.run(&[])?[0].to_vec::<f64>()?, [6.0, 6.0]);
    assert_eq!(run.run(&[])?[0].to_vec::<f64>()?, [6.0, 6.0]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    Ok(())
}

#[test]
fn programs_inlined_bring_their_states_along() -> Result<()> {
    let inner = Program::merge(&startup("w", vector(2), 3.0)?, &doubling("w", vector(2))?)?;
    let outer = Program::build(&[], |_| {
        let first = inner.apply(&[])?.remove(0);
        let second = inner.apply(&[])?.remove(0);
        Ok(vec![first, second])
    })?;
    let run = Interpreter::new(outer, State::new())?;
    let outputs = run.run(&[])?;
    assert_eq!(outputs[0].to_vec::<f64>()?, [3.0, 3.0]);
    assert_eq!(outputs[1].to_vec::<f64>()?, [6.0, 6.0]);
    assert_eq!(run.state().tensor("w")?.to_vec::<f64>()?, [12.0, 12.0]);
    Ok(())
}

#[test]
fn initialisers_see_states_that_are_there_already() -> Result<()> {
    let program = Program::build(&[], |_| {
        Ok(vec![parameter("a", vector(3), || uniform(&vector(3), 0.0, 1.0))?])
    })?;
    let numbers = |chosen: Option<i64>| -> Result<Vec<f64>> {
        let run = Interpreter::new(program.clone(), State::new())?;
        if let Some(chosen) = chosen {
            let _scope = run.state().enter();
            seed(chosen)?;
        }
        run.run(&[])?[0].to_vec::<f64>()
    };
    assert_eq!(numbers(None)?, numbers(Some(0))?);
    assert_ne!(numbers(Some(1))?, numbers(Some(0))?);
    // The same numbers as imperatively.
    let state = State::new();
    let _scope = state.enter();
    seed(1)?;
    let a = parameter("a", vector(3), || uniform(&vector(3), 0.0, 1.0))?;
    assert_eq!(a.to_vec::<f64>()?, numbers(Some(1))?);
    Ok(())
}

#[test]
fn pruning_keeps_what_the_outputs_need() -> Result<()> {
    fluvial::core::begin_program();
    let a = parameter("a", vector(2), || uniform(&vector(2), 0.0, 1.0))?;
    let b = parameter("b", vector(2), || uniform(&vector(2), 0.0, 1.0))?;
    let (double, product) = (&a * 2.0, &a * &b);
    assign_state("a", &product)?;
    let program = end_program(&[("double", &double), ("product", &product)])?;
    let pruned = program.prune(&["double"])?;
    assert_eq!(pruned.states.keys().map(|n| &**n).collect::<Vec<_>>(), ["a", "rng"]);
    assert!(pruned.main.calls.iter().all(|call| call.op.name() != "assign"));
    // The numbers do not depend on what else the program computed.
    let whole = Interpreter::new(program, State::new())?.run(&[])?;
    let part = Interpreter::new(pruned, State::new())?.run(&[])?;
    assert!(part[0].bitwise_eq(&whole[0]));
    assert!(Program::default().prune(&["x"]).unwrap_err().to_string().contains("no output `x`"));
    Ok(())
}

#[test]
fn an_update_is_in_place_when_nobody_holds_the_tensor() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    state.insert("w", Role::Parameter, Tensor::full(&[1000], 1.0f64)?)?;
    let address = || state.tensor("w").map(|tensor| tensor.data_ptr() as usize);
    let add_one = |tensor: &mut Tensor| {
        tensor.as_mut_slice::<f64>()?.iter_mut().for_each(|x| *x += 1.0);
        Ok(())
    };
    let before = address()?;
    // A tape that keeps nothing of `w` does not stand in the way of an update in place.
    let w = read_state("w")?;
    let sum_of = sum(&(&w + 1.0), &[], false)?;
    drop(w);
    state.update("w", add_one)?;
    assert_eq!(address()?, before);
    // One that keeps it goes on with the old numbers.
    let w = read_state("w")?;
    let squares = sum(&(&w * &w), &[], false)?;
    drop(w);
    state.update("w", add_one)?;
    assert_ne!(address()?, before);
    squares.backward()?;
    sum_of.backward()?;
    let w = read_state("w")?;
    assert_eq!(w.to_vec::<f64>()?[0], 3.0);
    assert_eq!(w.grad().unwrap().to_vec::<f64>()?[0], 4.0 + 1.0);
    Ok(())
}

#[test]
fn wrong_types_are_refused_and_change_nothing() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    state.insert("w", Role::Parameter, Tensor::full(&[2], 1.0f64)?)?;
    let error = assign_state("w", &Var::scalar(1.0f64)).unwrap_err().to_string();
    assert!(error.contains("state `w` is f64[2], but the value is f64[]"), "{error}");
    assert!(error.contains("tests/state.rs"), "{error}");
    let error = read_state("v").unwrap_err().to_string();
    assert!(error.contains("there is no state named `v`") && error.contains("tests/state.rs"));
    assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [1.0, 1.0]);
    Ok(())
}
