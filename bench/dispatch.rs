//! What one op costs beside its arithmetic: dispatch, recording and the reverse walk on tensors of
//! one element. Prints the minimum over many repetitions, in nanoseconds per op.

use std::hint::black_box;
use std::time::Instant;

use fluvial::prelude::*;

const REPETITIONS: usize = 30;
const OPS: usize = 20_000;

/// The least time per op of `f`, which performs `n` ops.
fn measure(name: &str, n: usize, target: Option<f64>, mut f: impl FnMut()) {
    let best = (0..REPETITIONS)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_nanos() as f64 / n as f64
        })
        .fold(f64::INFINITY, f64::min);
    let target = target.map(|ns| format!("   target {ns:.0} ns")).unwrap_or_default();
    println!("{name:<44} {best:>8.1} ns{target}");
}

fn main() -> Result<()> {
    let a = Var::scalar(1.5f32);
    let b = Var::scalar(2.5f32);
    let tracked = Var::scalar(1.5f32).track()?;

    measure("add, 1 element, not recorded", OPS, Some(150.0), || {
        for _ in 0..OPS {
            let _ = black_box(add(black_box(&a), black_box(&b)));
        }
    });
    measure("add, 1 element, recorded", OPS, Some(250.0), || {
        for _ in 0..OPS {
            let _ = black_box(add(black_box(&tracked), black_box(&b)));
        }
    });
    measure("mul, 1 element, recorded, keeps one", OPS, Some(250.0), || {
        for _ in 0..OPS {
            let _ = black_box(mul(black_box(&tracked), black_box(&b)));
        }
    });
    measure("a * 2.0, not recorded", OPS, None, || {
        for _ in 0..OPS {
            let _ = black_box(black_box(&a) * 2.0);
        }
    });
    for n in [16usize, 1024] {
        let x = Var::of(&vec![1.0f32; n], &[n])?;
        measure(&format!("add, {n} elements, not recorded"), OPS, None, || {
            for _ in 0..OPS {
                let _ = black_box(add(black_box(&x), black_box(&x)));
            }
        });
    }

    const CHAIN: usize = 1_000;
    let chain = |op: &dyn Fn(&Var) -> Result<Var>| -> Result<Vec<Var>> {
        (0..REPETITIONS).map(|_| (0..CHAIN).try_fold(tracked.clone(), |x, _| op(&x))).collect()
    };
    let mut chains = chain(&|x| add(x, &b))?.into_iter();
    measure("reverse walk, per add", CHAIN, Some(400.0), || {
        let y = chains.next().expect("one chain for each repetition");
        y.backward().expect("a chain of additions has a gradient");
    });
    let mut chains = chain(&|x| mul(x, &b))?.into_iter();
    measure("reverse walk, per mul", CHAIN, Some(400.0), || {
        let y = chains.next().expect("one chain for each repetition");
        y.backward().expect("a chain of products has a gradient");
    });
    Ok(())
}
