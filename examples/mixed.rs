//! Both modes together: a program called inside imperative code, with gradients through the call;
//! an imperative callback inside a program; a parameter of a program updated imperatively.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fluvial::prelude::*;

fn gated(x: &[Var]) -> Result<Vec<Var>> {
    let w = parameter("w", Type::of(DType::F32, &[4, 1])?, || {
        uniform(&Type::of(DType::F32, &[4, 1])?, -0.5, 0.5)
    })?;
    let gate = lt(&mean(&x[0], &[], false)?, &Var::scalar(0.0f32))?;
    // In a program the condition is part of it; only one branch runs.
    let scaled = cond(&gate, || Ok(vec![&x[0] * 2.0]), || Ok(vec![x[0].clone()]))?;
    Ok(vec![matmul(&scaled[0], &w)?])
}

fn main() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();

    // A layer as a program, with a parameter that its startup block initialises.
    let x_type = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(4)])?;
    let layer = Program::build(&[("x", x_type)], gated)?;

    // Imperative code around it. The gradient passes through the call, to the parameter by name.
    let x = Var::of(&[0.1f32, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8], &[2, 4])?;
    let y = Var::of(&[1.0f32, -1.0], &[2, 1])?;
    let mut losses = Vec::new();
    for step in 0..40 {
        let error = &layer.apply(&[&x])?[0] - &y;
        let loss = mean(&(&error * &error), &[], false)?;
        loss.backward()?;
        let w = read_state("w")?;
        let gradient = w.grad().ok_or_else(|| Error::gradient("no gradient reached `w`"))?;
        // The update is written imperatively; the program sees it in its next run.
        assign_state("w", &(w.detach() - gradient * 0.3))?;
        w.zero_grad();
        losses.push(loss.item::<f32>()?);
        if step % 10 == 0 {
            println!("step {step:2}  loss {loss}");
        }
    }
    println!("loss {} -> {}", losses[0], losses[39]);
    assert!(losses[39] < 0.2 * losses[0]);

    // A callback of this process inside a program: it runs once for each trip of the loop.
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    register_host("watch", move |values| {
        counter.fetch_add(1, Ordering::Relaxed);
        println!("  the program passes {:?}", values[0]);
        Ok(vec![values[0].clone()])
    });
    let start = Type::scalar(DType::F32);
    let doubling = Program::build(&[("x", start)], |x| {
        while_loop(
            &[&x[0]],
            |v| lt(&v[0], &Var::scalar(100.0f32)),
            |v| host_call("watch", &[&(&v[0] * 2.0)], &[start], None),
        )
    })?;
    let end = doubling.apply(&[&Var::scalar(15.0f32)])?;
    println!("doubled to {} in {} calls", end[0], calls.load(Ordering::Relaxed));
    assert_eq!((end[0].item::<f32>()?, calls.load(Ordering::Relaxed)), (120.0, 3));
    Ok(())
}

#[test]
fn the_example_runs() -> Result<()> {
    main()
}

#[test]
fn its_modes_agree() -> Result<()> {
    let _scope = State::new().enter();
    for value in [-0.5f32, 0.5] {
        fluvial::runtime::check(gated, &[Tensor::full(&[2, 4], value)?])?;
    }
    Ok(())
}
