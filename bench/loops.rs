//! A training loop inside a program beside the same compiled step called from a loop in Rust, both on readers that
//! read ahead; and beside the same loop on a batch that is carried, which shows how long the loop waits for its
//! reader. Prints the minimum over repetitions in turns. An argument chooses cases by their names.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fluvial::data::{Position, Reader};
use fluvial::prelude::*;

const BATCH: usize = 128;
const BUDGET: Duration = Duration::from_secs(6);

/// The least seconds of each function, run in turns for the budget.
fn in_turns(functions: &mut [&mut dyn FnMut() -> Result<()>]) -> Result<Vec<f64>> {
    let mut best = vec![f64::INFINITY; functions.len()];
    for function in functions.iter_mut() {
        function()?;
    }
    let start = Instant::now();
    while start.elapsed() < BUDGET {
        for (function, best) in functions.iter_mut().zip(&mut best) {
            let start = Instant::now();
            function()?;
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    Ok(best)
}

/// A case: `steps` batches of `arrays` in a pass, and what is done with each.
fn case(
    name: &str,
    steps: usize,
    arrays: [(&str, Tensor); 2],
    step: impl Fn(&[Var]) -> Result<Var>,
) -> Result<()> {
    let reader = Reader::of(arrays)?.shuffle(7).batch(BATCH as u64, true).prefetch(4);
    let open = reader.open()?;
    let first = open.start(Position::default())?.next()?.unwrap_or_default();
    let types: Vec<Type> = first.iter().map(Tensor::ty).collect();
    let feed = Feed::new("train", reader);
    let zero = || Var::scalar(0.0f32);

    let inside = Program::build(&[], |_| feed.each(1, &[&zero()], |v, _| Ok(vec![step(v)?])))?;
    let inside = Executor::new(&inside, State::new())?;
    let one = Program::build(&[("x", types[0]), ("y", types[1])], |v| Ok(vec![step(v)?]))?;
    let one = Executor::new(&one, State::new())?;
    let carried = Program::build(&[("x", types[0]), ("y", types[1])], |v| {
        let is_due = |c: &[Var]| lt(&c[0], &Var::scalar(steps as i64));
        let init = [&Var::scalar(0i64), &zero(), &v[0], &v[1]];
        let last = while_loop(&init, is_due, |c| {
            let loss = step(&c[2..])?;
            Ok(vec![&c[0] + &Var::scalar(1i64), loss, c[2].clone(), c[3].clone()])
        })?;
        Ok(vec![last[1].clone()])
    })?;
    let carried = Executor::new(&carried, State::new())?;

    let mut epoch = 0;
    let mut from_rust = || {
        let mut cursor = open.start(Position { epoch, index: 0 })?;
        epoch += 1;
        while let Some(batch) = cursor.next()? {
            let [x, y] = <[Tensor; 2]>::try_from(batch)
                .map_err(|_| Error::internal("a batch has two fields"))?;
            black_box(one.run(&[("x", x), ("y", y)])?);
        }
        Ok(())
    };
    let mut in_program = || inside.run(&[]).map(|loss| drop(black_box(loss)));
    let fed = [("x", first[0].clone()), ("y", first[1].clone())];
    let mut without_reader = || carried.run(&fed).map(|loss| drop(black_box(loss)));
    let best = in_turns(&mut [&mut in_program, &mut from_rust, &mut without_reader])?;
    let micros = |i: usize| best[i] / steps as f64 * 1e6;
    println!(
        "{name:36} loop in the program {:8.2} us a step  step called from Rust {:8.2} us, {:.2}x  batch carried {:8.2} us: {:.1} % of the loop is waiting",
        micros(0),
        micros(1),
        micros(1) / micros(0),
        micros(2),
        100.0 * (1.0 - micros(2) / micros(0)).max(0.0),
    );
    Ok(())
}

/// Numbers between -1 and 1 that look random.
fn numbers(n: usize) -> Vec<f32> {
    let mut random = 7u64;
    let mut next = || {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn regression(steps: usize) -> Result<()> {
    let n = steps * BATCH;
    let x = numbers(n * 13);
    let y: Vec<f32> = x.chunks(13).map(|x| x.iter().sum()).collect();
    let arrays = [("x", Tensor::from_vec(x, &[n, 13])?), ("y", Tensor::from_vec(y, &[n, 1])?)];
    let net = Linear::new("net", 13, 1);
    let sgd = Sgd::new(net.parameters(), 1e-3);
    case("linear regression 13, batch 128, sgd", steps, arrays, |batch| {
        let loss = mean(&square(&(&net.forward(&batch[0])? - &batch[1]))?, &[], false)?;
        sgd.minimize(&loss)?;
        Ok(loss)
    })
}

fn mlp(steps: usize) -> Result<()> {
    let n = steps * BATCH;
    let labels: Vec<i64> = (0..n as i64).map(|i| i % 10).collect();
    let x = Tensor::from_vec(numbers(n * 784), &[n, 784])?;
    let arrays = [("x", x), ("y", Tensor::from_vec(labels, &[n])?)];
    let net = Sequential::new("net")
        .add(|at| Linear::new(at, 784, 128))
        .then(relu)
        .add(|at| Linear::new(at, 128, 10));
    let adam = Adam::new(net.parameters(), 1e-3);
    case("mlp 784-128-10, batch 128, adam", steps, arrays, |batch| {
        let logits = net.forward(&batch[0])?;
        let loss = cross_entropy(&logits, &batch[1], None, CrossEntropyOptions::default())?;
        adam.minimize(&loss)?;
        Ok(loss)
    })
}

fn main() -> Result<()> {
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    if "linear regression".contains(&only) {
        regression(2000)?;
    }
    if "mlp".contains(&only) {
        mlp(128)?;
    }
    Ok(())
}
