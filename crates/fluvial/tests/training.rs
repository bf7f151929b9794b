//! A whole training step, written once, in both modes on the same kind of state.

use fluvial::core::{end_program, program_input};
use fluvial::prelude::*;

/// A perceptron with dropout, trained by one step of gradient descent; returns the loss.
fn step(x: &Var, y: &Var) -> Result<Var> {
    let w = parameter("w", Type::of(DType::F64, &[3, 4])?, || {
        uniform(&Type::of(DType::F64, &[3, 4])?, -0.5, 0.5)
    })?;
    let hidden = dropout(&tanh(&matmul(x, &w)?)?, 0.25)?;
    let v = parameter("v", Type::of(DType::F64, &[4])?, || {
        normal(&Type::of(DType::F64, &[4])?, 0.0, 0.3)
    })?;
    let error = matmul(&hidden, &v)? - y;
    let loss = mean(&(&error * &error), &[], false)?;
    loss.backward()?;
    for name in ["w", "v"] {
        let parameter = read_state(name)?;
        let gradient = parameter.grad().ok_or_else(|| Error::gradient("a gradient is missing"))?;
        assign_state(name, &(parameter.detach() - gradient * 0.1))?;
        parameter.zero_grad();
    }
    let steps =
        declare_state("steps", Type::scalar(DType::I64), Role::Counter, || Ok(Var::scalar(0i64)))?;
    assign_state("steps", &(steps + 1.0))?;
    Ok(loss)
}

fn batch(rows: usize) -> Result<(Var, Var)> {
    let x: Vec<f64> = (0..rows * 3).map(|i| ((i * 7 + rows) % 11) as f64 / 5.0 - 1.0).collect();
    let y: Vec<f64> = (0..rows).map(|i| (i % 3) as f64 - 1.0).collect();
    Ok((Var::of(&x, &[rows, 3])?, Var::of(&y, &[rows])?))
}

fn training_program() -> Result<Program> {
    let batch = Dim::symbol("batch")?;
    let inputs = [
        ("x", Type::new(DType::F64, &[batch, Dim::size(3)])?),
        ("y", Type::new(DType::F64, &[batch])?),
    ];
    Program::build(&inputs, |v| Ok(vec![step(&v[0], &v[1])?]))
}

fn same_states(a: &State, b: &State) {
    assert_eq!(a.names(), b.names());
    for name in a.names() {
        let (left, right) = (a.tensor(&name).unwrap(), b.tensor(&name).unwrap());
        assert!(left.bitwise_eq(&right), "{name}: {left:?} and {right:?}");
    }
}

#[test]
fn both_modes_train_to_the_same_bits() -> Result<()> {
    let sizes = [5, 1, 7, 5, 3];
    let imperative = State::new();
    let mut losses = Vec::new();
    {
        let _scope = imperative.enter();
        for rows in sizes {
            let (x, y) = batch(rows)?;
            losses.push(step(&x, &y)?.item::<f64>()?);
        }
    }
    let run = Interpreter::new(training_program()?, State::new())?;
    for (rows, loss) in sizes.into_iter().zip(&losses) {
        let (x, y) = batch(rows)?;
        let outputs = run.run(&[("x", x.tensor()?.clone()), ("y", y.tensor()?.clone())])?;
        assert_eq!(outputs[0].item::<f64>()?.to_bits(), loss.to_bits());
    }
    same_states(&imperative, run.state());
    assert_eq!(run.state().tensor("steps")?.item::<i64>()?, 5);
    Ok(())
}

#[test]
fn the_mode_may_change_at_every_step() -> Result<()> {
    let (alone, mixed) = (State::new(), State::new());
    let program = training_program()?;
    for i in 0..6 {
        let (x, y) = batch(2 + i)?;
        {
            let _scope = alone.enter();
            let _ = step(&x, &y)?;
        }
        let _scope = mixed.enter();
        match i % 2 {
            0 => drop(program.apply(&[&x, &y])?),
            _ => drop(step(&x, &y)?),
        }
    }
    same_states(&alone, &mixed);
    Ok(())
}

#[test]
fn a_program_is_shared_between_threads() -> Result<()> {
    let run = Interpreter::new(training_program()?.for_inference()?, State::new())?;
    run.initialise()?;
    let (x, y) = batch(4)?;
    let feeds = [("x", x.tensor()?.clone()), ("y", y.tensor()?.clone())];
    let expected = run.run(&feeds)?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert!(run.run(&feeds).unwrap()[0].bitwise_eq(&expected[0]));
                }
            });
        }
    });
    Ok(())
}

#[test]
fn inference_drops_training() -> Result<()> {
    let program = training_program()?;
    let inference = program.for_inference()?;
    assert!(inference.main.calls.iter().all(|call| call.op.name() != "assign"), "{inference:#}");
    assert!(inference.main.calls.len() < program.main.calls.len() / 2, "{inference:#}");
    assert!(!inference.states.contains_key("steps"));
    // Nothing is dropped: two runs agree, though the stream of random numbers stands still.
    let run = Interpreter::new(inference, State::new())?;
    let (x, y) = batch(4)?;
    let feeds = [("x", x.tensor()?.clone()), ("y", y.tensor()?.clone())];
    assert!(run.run(&feeds)?[0].bitwise_eq(&run.run(&feeds)?[0]));
    Ok(())
}

#[test]
fn every_call_stands_at_a_line_of_the_user() -> Result<()> {
    let program = training_program()?;
    for call in program.main.calls.iter().chain(&program.startup.calls) {
        let file = call.loc.file();
        assert!(file.ends_with("tests/training.rs"), "`{}` is at {}", call.op.name(), call.loc);
    }
    Ok(())
}

#[test]
fn backward_can_be_appended_to_a_program() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    fluvial::core::begin_program();
    let x = program_input("x", Type::of(DType::F64, &[2])?)?;
    let w = parameter("w", Type::of(DType::F64, &[2])?, || Var::of(&[2.0, -1.0], &[2]))?;
    let loss = sum(&(&x * &w * &w), &[], false)?;
    // The state is assigned as well: the gradient is that of its value before.
    assign_state("w", &(&w * 0.5))?;
    let program = end_program(&[("loss", &loss)])?;
    let extended = program.append_backward("loss", &[])?.append_backward("loss", &["x"])?;
    assert_eq!(
        extended.outputs.iter().map(|n| &**n).collect::<Vec<_>>(),
        ["loss", "grad(w)", "grad(x)"]
    );
    let outputs = extended.apply(&[&Var::of(&[3.0, 4.0], &[2])?])?;
    assert_eq!(outputs[0].item::<f64>()?, 16.0);
    assert_eq!(outputs[1].to_vec::<f64>()?, [12.0, -8.0]);
    assert_eq!(outputs[2].to_vec::<f64>()?, [4.0, 1.0]);
    assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [1.0, -0.5]);
    let unknown = program.append_backward("loss", &["z"]).unwrap_err().to_string();
    assert!(unknown.contains("no state named `z`"), "{unknown}");
    Ok(())
}

#[test]
fn a_closed_block_that_is_kept_does_not_hold_the_mode() -> Result<()> {
    use fluvial::core::{begin_block, begin_program, end_block};
    begin_program();
    let x = program_input("x", Type::scalar(DType::F64))?;
    let inner = begin_block(&[x.ty()])?;
    let kept = end_block(&[&(&inner[0] * 2.0)])?;
    end_program(&[("x", &x)])?;
    assert_eq!(mode(), Mode::Imperative);
    drop(kept);
    assert_eq!(mode(), Mode::Imperative);
    // A panic while building leaves nothing behind either.
    let panicked = std::panic::catch_unwind(|| {
        Program::build(&[], |_| -> Result<Vec<Var>> { std::panic::panic_any("stop") })
    });
    assert!(panicked.is_err());
    assert_eq!(mode(), Mode::Imperative);
    Ok(())
}
