//! Long loops and deep tapes: nothing recurses over their length. The shorter ones run on a small
//! stack, where a few bytes for each trip would be too many.

use fluvial_core::{Program, Result, Tensor, Var, grad};
use fluvial_ops::{list_new, list_push, list_stack, lt, scan, while_loop};

use crate::{constant, scalar};

const SHORT: i64 = 20_000;

fn on_small_stack(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    thread.spawn(f).unwrap().join().unwrap();
}

/// Multiplies `x` by `w` so many times.
fn power(x: &[Var], trips: i64) -> Result<Vec<Var>> {
    let out = while_loop(
        &[&x[0], &Var::scalar(0i64)],
        |v| lt(&v[1], &Var::scalar(trips)),
        |v| Ok(vec![&v[0] * &x[1], &v[1] + 1.0]),
    )?;
    Ok(vec![out[0].clone()])
}

fn power_with_gradient(trips: i64) -> Program {
    let ty = scalar(0.0).ty();
    let program = Program::build(&[("x", ty), ("w", ty)], |x| power(x, trips)).unwrap();
    program.append_backward("out0", &["x", "w"]).unwrap()
}

#[test]
fn a_hundred_thousand_trips_with_their_history() {
    const TRIPS: i64 = 100_000;
    let program = power_with_gradient(TRIPS);
    let out = program.apply(&[&Var::scalar(3.0f64), &Var::scalar(1.0f64)]).unwrap();
    assert_eq!(out[1].item::<f64>().unwrap(), 1.0);
    assert_eq!(out[2].item::<f64>().unwrap(), 3.0 * TRIPS as f64);
}

#[test]
fn a_long_loop_on_a_small_stack() {
    on_small_stack(|| {
        let program = power_with_gradient(SHORT);
        let out = program.apply(&[&Var::scalar(3.0f64), &Var::scalar(1.0f64)]).unwrap();
        assert_eq!(out[2].item::<f64>().unwrap(), 3.0 * SHORT as f64);
    });
}

#[test]
fn a_long_loop_on_the_tape() {
    on_small_stack(|| {
        let x = [3.0f64, 1.0].map(|x| Var::scalar(x).track().unwrap());
        let y = power(&x, SHORT).unwrap();
        let dw = grad(&[&y[0]], &[&x[1]]).unwrap();
        assert_eq!(dw[0].item::<f64>().unwrap(), 3.0 * SHORT as f64);
    });
}

#[test]
fn a_tape_of_300_000_ops_is_dropped() {
    let mut y = Var::scalar(1.0f64).track().unwrap();
    for _ in 0..300_000 {
        y = (y * 1.0).check().unwrap();
    }
    assert_eq!(y.item::<f64>().unwrap(), 1.0);
    drop(y);
}

#[test]
fn a_deep_tape_is_walked_and_dropped() {
    on_small_stack(|| {
        let x = Var::scalar(1.0f64).track().unwrap();
        let mut y = x.clone();
        for _ in 0..SHORT {
            y = (&y + &x).check().unwrap();
        }
        y.backward().unwrap();
        assert_eq!(x.grad().unwrap().item::<f64>().unwrap(), SHORT as f64 + 1.0);
    });
}

#[test]
fn a_deep_tape_is_walked_with_a_graph_and_dropped() {
    on_small_stack(|| {
        let x = Var::scalar(1.0f64).track().unwrap();
        let mut y = x.clone();
        for _ in 0..SHORT / 4 {
            y = (&y * &x).check().unwrap();
        }
        let options = fluvial_core::GradOptions {
            create_graph: true,
            ..fluvial_core::GradOptions::default()
        };
        let dx = fluvial_core::grad_with(&[&y], &[&x], options).unwrap();
        let n = SHORT as f64 / 4.0 + 1.0;
        assert_eq!(dx[0].item::<f64>().unwrap(), n);
        let ddx = grad(&[&dx[0]], &[&x]).unwrap();
        assert_eq!(ddx[0].item::<f64>().unwrap(), n * (n - 1.0));
    });
}

#[test]
fn a_long_list_of_tracked_values() {
    on_small_stack(|| {
        let one = Var::scalar(1.0f64).track().unwrap();
        let mut list = list_new(one.ty()).unwrap();
        for _ in 0..SHORT / 4 {
            list = list_push(&list, &one).unwrap();
        }
        let len = fluvial_core::Dim::size(SHORT as usize / 4);
        let sum = fluvial_ops::sum(&list_stack(&list, len, true).unwrap(), &[], false).unwrap();
        drop(list);
        sum.backward().unwrap();
        assert_eq!(one.grad().unwrap().item::<f64>().unwrap(), SHORT as f64 / 4.0);
    });
}

#[test]
fn a_long_scan() {
    on_small_stack(|| {
        let xs = Tensor::full(&[SHORT as usize / 4], 1.0f64).unwrap();
        let f = |x: &[Var]| {
            let (last, stacked) = scan(&[&constant(0.0)], &[&x[0]], |c, s| {
                let sum = &c[0] + &s[0];
                Ok((vec![sum.clone()], vec![sum]))
            })?;
            Ok(vec![last[0].clone(), stacked[0].clone()])
        };
        let program = Program::build(&[("x", xs.ty())], f).unwrap();
        let program = program.append_backward("out0", &["x"]).unwrap();
        let out = program.apply(&[&Var::new(xs)]).unwrap();
        assert_eq!(out[0].item::<f64>().unwrap(), SHORT as f64 / 4.0);
        assert_eq!(out[2].to_vec::<f64>().unwrap(), vec![1.0; SHORT as usize / 4]);
    });
}
