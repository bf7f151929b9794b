//! Programs beside the same code run imperatively: time of a training step, time to compile, memory.
//! Prints the minimum over many repetitions, measured in turns. An argument chooses cases by their names;
//! with `--profile`, the compiled programs and the time of each op are shown.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fluvial::compile::Options;
use fluvial::prelude::*;
use fluvial::runtime::Profiler;
use fluvial::tensor::memory;

/// The least seconds of each function, run in turns for about `budget` each.
fn in_turns(
    budget: Duration,
    functions: &mut [&mut dyn FnMut() -> Result<()>],
) -> Result<Vec<f64>> {
    let mut best = vec![f64::INFINITY; functions.len()];
    for function in functions.iter_mut() {
        function()?;
    }
    let start = Instant::now();
    while start.elapsed() < budget * functions.len() as u32 {
        for (function, best) in functions.iter_mut().zip(&mut best) {
            for _ in 0..5 {
                let start = Instant::now();
                function()?;
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
    }
    Ok(best)
}

fn micros(seconds: f64) -> String {
    format!("{:.1} us", seconds * 1e6)
}

/// A network of linear layers of these widths.
fn mlp(widths: &[usize]) -> Sequential {
    let last = widths.len() - 2;
    widths.windows(2).enumerate().fold(Sequential::new("net"), |net, (i, pair)| {
        let net = net.add(|at| Linear::new(at, pair[0], pair[1]));
        if i < last { net.then(relu) } else { net }
    })
}

fn train(
    net: &Sequential,
    optimizer: &impl Fn(&Var) -> Result<()>,
    x: &Var,
    y: &Var,
) -> Result<Var> {
    let loss = cross_entropy(&net.forward(x)?, y, None, CrossEntropyOptions::default())?;
    optimizer(&loss)?;
    Ok(loss)
}

/// One training step, in both modes.
fn step(name: &str, widths: &[usize], batch: usize, adam: bool, target: f64) -> Result<()> {
    let net = mlp(widths);
    let (with_adam, with_sgd) =
        (Adam::new(net.parameters(), 1e-3), Sgd::new(net.parameters(), 1e-2));
    let optimizer = |loss: &Var| match adam {
        true => with_adam.minimize(loss).map(drop),
        false => with_sgd.minimize(loss).map(drop),
    };
    let classes = *widths.last().unwrap_or(&1);
    let x = Var::of(&vec![0.5f32; batch * widths[0]], &[batch, widths[0]])?;
    let y = Var::of(&(0..batch).map(|i| (i % classes) as i64).collect::<Vec<_>>(), &[batch])?;
    let inputs = [("x", x.ty()), ("y", y.ty())];
    let build = || Program::build(&inputs, |v| Ok(vec![train(&net, &optimizer, &v[0], &v[1])?]));
    let program = build()?;

    let state = State::new();
    let executor = Executor::new(&program, State::new())?;
    let interpreter = Interpreter::new(program.clone(), State::new())?;
    let feeds = [("x", x.tensor()?.clone()), ("y", y.tensor()?.clone())];
    let mut imperative = || {
        let _scope = state.enter();
        train(&net, &optimizer, &x, &y).map(|loss| drop(black_box(loss)))
    };
    let mut interpreted = || interpreter.run(&feeds).map(|loss| drop(black_box(loss)));
    let mut compiled = || executor.run(&feeds).map(|loss| drop(black_box(loss)));
    let best = in_turns(
        Duration::from_millis(400),
        &mut [&mut imperative, &mut interpreted, &mut compiled],
    )?;
    let compile = in_turns(
        Duration::from_millis(100),
        &mut [&mut || Executor::new(&program, State::new()).map(drop)],
    )?;
    println!(
        "{name:40} imperative {:>10}  interpreted {:>10}  compiled {:>10}  {:.2}x (target {target})  compile {:.1} ms, {} -> {} calls",
        micros(best[0]),
        micros(best[1]),
        micros(best[2]),
        best[0] / best[2],
        compile[0] * 1e3,
        program.main.calls.len(),
        executor.compiled().program.main.calls.len(),
    );
    if std::env::args().any(|arg| arg == "--profile") {
        let profiler = Profiler::new();
        for _ in 0..200 {
            executor.call().feeds(&feeds).observe(&profiler).run()?;
        }
        println!("{}\n{profiler}", executor.compiled().program);
    }
    Ok(())
}

/// What is spelled with small ops, compiled, beside the op that it is.
fn spelling(
    name: &str,
    sizes: &[usize],
    small: impl Fn(&Var) -> Result<Var>,
    big: impl Fn(&Var) -> Result<Var>,
) -> Result<()> {
    let x = Tensor::full(sizes, 0.5f32)?;
    let executor = |f: &dyn Fn(&Var) -> Result<Var>, options: &Options| {
        let program = Program::build(&[("x", x.ty())], |x| Ok(vec![f(&x[0])?]))?;
        Executor::with(&program, &["out0"], State::new(), options)
    };
    let fast = Options { fast: true, ..Options::default() };
    let executors =
        [executor(&big, &fast)?, executor(&small, &fast)?, executor(&small, &Options::default())?];
    let feeds = [("x", x)];
    let run = |i: usize| executors[i].run(&feeds).map(|y| drop(black_box(y)));
    let best = in_turns(
        Duration::from_millis(300),
        &mut [&mut || run(0), &mut || run(1), &mut || run(2)],
    )?;
    println!(
        "{name:40} op {:>10}  small ops {:>10}, {:.2}x (target 1.05)  without recognition {:>10}, {:.2}x",
        micros(best[0]),
        micros(best[1]),
        best[1] / best[0],
        micros(best[2]),
        best[2] / best[0],
    );
    Ok(())
}

fn spellings(only: &str) -> Result<()> {
    if "sigmoid 1024 x 1024, spelled".contains(only) {
        let small = |x: &Var| (1.0 / (1.0 + exp(&-x)?)).check();
        spelling("sigmoid 1024 x 1024, spelled", &[1024, 1024], small, sigmoid)?;
    }
    if "softmax 1024 x 1024, spelled".contains(only) {
        let small = |x: &Var| {
            let powers = exp(&(x - max(x, &[-1], true)?))?;
            div(&powers, &sum(&powers, &[-1], true)?)
        };
        spelling("softmax 1024 x 1024, spelled", &[1024, 1024], small, |x| softmax(x, -1))?;
    }
    if "layer norm 1024 x 1024, spelled".contains(only) {
        let small = |x: &Var| {
            let centred = sub(x, &mean(x, &[-1], true)?)?;
            let variance = mean(&(&centred * &centred), &[-1], true)?;
            div(&centred, &sqrt(&(variance + 1e-5))?)
        };
        let big = |x: &Var| layer_norm(x, 1, None, None, 1e-5);
        spelling("layer norm 1024 x 1024, spelled", &[1024, 1024], small, big)?;
    }
    if "attention 8 x 512 x 64, spelled".contains(only) {
        let small = |x: &Var| {
            let scores = matmul(x, &permute(x, &[0, 2, 1])?)? * 0.125;
            matmul(&softmax(&scores, -1)?, x)
        };
        let big =
            |x: &Var| scaled_dot_product_attention(x, x, x, None, AttentionOptions::default());
        spelling("attention 8 x 512 x 64, spelled", &[8, 512, 64], small, big)?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    let sizes = [784, 256, 256, 10];
    let cases: [(&str, &[usize], usize, bool, f64); 6] = [
        ("mlp 784-256-256-10, batch 128, sgd", &sizes, 128, false, 1.15),
        ("mlp 784-256-256-10, batch 128, adam", &sizes, 128, true, 1.15),
        ("mlp 784-256-256-10, batch 1, sgd", &sizes, 1, false, 3.0),
        ("mlp 784-256-256-10, batch 1, adam", &sizes, 1, true, 3.0),
        ("mlp 16-16-16-10, batch 16, sgd", &[16, 16, 16, 10], 16, false, 3.0),
        ("mlp 16-16-16-10, batch 16, adam", &[16, 16, 16, 10], 16, true, 3.0),
    ];
    for (name, widths, batch, adam, target) in cases {
        if name.contains(&only) {
            step(name, widths, batch, adam, target)?;
        }
    }
    spellings(&only)?;
    println!("memory: {:?}", memory::stats());
    Ok(())
}
