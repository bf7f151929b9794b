//! Control flow inside control flow.

use fluvial_core::{Result, Var};
use fluvial_ops::{cond, gt, lt, scan, sin, tanh, while_loop};
use fluvial_testkit::{Modes, both_modes};

use crate::{constant, f64s, scalar, symbolic, total};

fn int(x: i64) -> Var {
    Var::scalar(x)
}

#[test]
fn a_loop_and_a_choice_in_a_loop() {
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0], &int(0)],
            |v| lt(&v[1], &int(3)),
            |v| {
                let inner = while_loop(
                    &[&v[0]],
                    |u| lt(&u[0], &constant(2.0)),
                    |u| Ok(vec![&u[0] * &x[1] + 0.3]),
                )?;
                let large = gt(&inner[0], &constant(2.5))?;
                let next = cond(
                    &large,
                    || Ok(vec![sin(&inner[0])? * &x[1]]),
                    || Ok(vec![&inner[0] * &inner[0] * 0.1]),
                )?;
                Ok(vec![next[0].clone(), &v[1] + 1.0])
            },
        )
    };
    let modes = Modes::of(f);
    for x in [0.4, 0.9, 2.2] {
        modes.check(&[scalar(x), scalar(1.4)]);
    }
}

#[test]
fn a_choice_in_a_loop_that_goes_both_ways() {
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0], &int(0)],
            |v| lt(&v[1], &int(5)),
            |v| {
                let positive = gt(&v[0], &constant(0.0))?;
                let next =
                    cond(&positive, || Ok(vec![&v[0] - &x[1]]), || Ok(vec![&v[0] * &v[0] + 0.2]))?;
                Ok(vec![next[0].clone(), &v[1] + 1.0])
            },
        )
    };
    both_modes(f, &[scalar(0.5), scalar(0.75)]);
}

#[test]
fn a_loop_in_a_branch() {
    let f = |x: &[Var]| {
        let positive = gt(&x[0], &constant(0.0))?;
        cond(
            &positive,
            || while_loop(&[&x[0]], |v| lt(&v[0], &constant(8.0)), |v| Ok(vec![&v[0] * &x[1]])),
            || Ok(vec![&x[0] * &x[1]]),
        )
    };
    both_modes(f, &[scalar(0.7), scalar(1.9)]);
    both_modes(f, &[scalar(-0.7), scalar(1.9)]);
}

/// A choice that holds a scan whose step holds a choice and a loop.
fn deep(x: &[Var]) -> Result<Vec<Var>> {
    let positive = gt(&total(&x[0])?, &constant(0.0))?;
    cond(
        &positive,
        || {
            let (last, stacked) = scan(&[&constant(0.5)], &[&x[0]], |carried, slice| {
                let up = gt(&slice[0], &constant(0.0))?;
                let a = cond(
                    &up,
                    || Ok(vec![&carried[0] * &slice[0] + &x[1]]),
                    || {
                        while_loop(
                            &[&carried[0]],
                            |v| lt(&v[0], &constant(1.5)),
                            |v| Ok(vec![&v[0] * 1.25 - &slice[0]]),
                        )
                    },
                )?;
                Ok((vec![tanh(&a[0])?], vec![&a[0] * &carried[0]]))
            })?;
            Ok(vec![last[0].clone(), total(&stacked[0])?])
        },
        || Ok(vec![&x[1] * &x[1], total(&x[0])?]),
    )
}

#[test]
fn control_flow_in_a_scan_in_a_choice() {
    both_modes(deep, &[f64s(&[0.5, -0.2, 1.0], &[3]), scalar(0.3)]);
    both_modes(deep, &[f64s(&[-0.5, -0.2, 0.1], &[3]), scalar(0.3)]);
}

#[test]
fn the_same_with_a_symbolic_length() {
    let types = [symbolic(&["n"]), symbolic(&[])];
    for elements in [&[0.5, -0.2, 1.0][..], &[0.25], &[]] {
        let x = f64s(elements, &[elements.len()]);
        Modes::of(deep).types(&types).check(&[x, scalar(0.3)]);
    }
}

#[test]
fn a_loop_in_a_loop_in_a_loop() {
    fn level(depth: usize, x: &Var, w: &Var) -> Result<Var> {
        if depth == 0 {
            return (sin(&(x * w))? + 0.5).check();
        }
        let out = while_loop(
            &[x, &int(0)],
            |v| lt(&v[1], &int(2)),
            |v| Ok(vec![level(depth - 1, &v[0], w)?, &v[1] + 1.0]),
        )?;
        Ok(out[0].clone())
    }
    both_modes(|x| Ok(vec![level(3, &x[0], &x[1])?]), &[scalar(0.6), scalar(1.2)]);
}
