//! What the debugger costs a training step of a small network: `make bench-debugger` builds this with and without the
//! debugger, and compares.
//!
//! Prints the least time of a step in microseconds: nobody debugs, and with the debugger also somebody who has set no
//! breakpoint, or only the stop at NaN.

use std::time::Instant;

use fluvial::prelude::*;

/// Rounds of each kind, in turns.
const ROUNDS: usize = 12;
/// Steps of a round.
const STEPS: i64 = 300;

/// The whole training as one program: `STEPS` steps on one batch.
fn training() -> Result<Program> {
    let (x, y) = (Type::of(DType::F32, &[128, 784])?, Type::of(DType::I64, &[128])?);
    Program::build(&[("x", x), ("y", y)], |batch| {
        let net = Sequential::new("net")
            .add(|at| Linear::new(at, 784, 256))
            .then(relu)
            .add(|at| Linear::new(at, 256, 256))
            .then(relu)
            .add(|at| Linear::new(at, 256, 10));
        let optimizer = Momentum::new(net.parameters(), 0.02);
        let start = [&Var::scalar(0i64), &Var::scalar(0.0f32)];
        let last = while_loop(
            &start,
            |carried| lt(&carried[0], &Var::scalar(STEPS)),
            |carried| {
                let logits = net.forward(&batch[0])?;
                let loss = cross_entropy(&logits, &batch[1], None, CrossEntropyOptions::default())?;
                optimizer.minimize(&loss)?;
                Ok(vec![&carried[0] + &Var::scalar(1i64), loss])
            },
        )?;
        Ok(vec![last[1].clone()])
    })
}

fn main() -> Result<()> {
    let numbers: Vec<f32> = (0..128 * 784).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect();
    let labels: Vec<i64> = (0..128).map(|i| i % 10).collect();
    let x = Tensor::from_slice(&numbers, &[128, 784])?;
    let y = Tensor::from_slice(&labels, &[128])?;
    let executor = Executor::new(&training()?, State::new())?;
    let step = || -> Result<f64> {
        let began = Instant::now();
        executor.run(&[("x", x.clone()), ("y", y.clone())])?;
        Ok(began.elapsed().as_secs_f64() * 1e6 / STEPS as f64)
    };
    step()?;
    let mut least = vec![("nobody", f64::INFINITY)];
    for _ in 0..ROUNDS {
        note(&mut least, "nobody", step()?);
        #[cfg(feature = "debug")]
        attached(&mut least, &step)?;
    }
    for (name, time) in least {
        println!("{name}\t{time:.2}");
    }
    Ok(())
}

/// Keeps the least time of a kind.
fn note(least: &mut Vec<(&'static str, f64)>, name: &'static str, time: f64) {
    match least.iter_mut().find(|(known, _)| *known == name) {
        Some((_, best)) => *best = best.min(time),
        None => least.push((name, time)),
    }
}

/// The same under the debugger, which is attached, and has nothing to do or looks for NaN.
#[cfg(feature = "debug")]
fn attached(least: &mut Vec<(&'static str, f64)>, step: &dyn Fn() -> Result<f64>) -> Result<()> {
    use fluvial::debug::Engine;
    use fluvial::debug::target::{Breakpoint, Fault, Go, On, Target};

    let engine = Engine::new(false);
    let _events = engine.events();
    note(least, "attached", step()?);
    engine.set_breakpoints(vec![Breakpoint::new(1, On::Fault(Fault::Nan))]);
    note(least, "attached, stops at NaN", step()?);
    engine.go(Go::Detach)
}
