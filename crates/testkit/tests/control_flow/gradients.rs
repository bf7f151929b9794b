//! Gradients taken inside control flow: they are values of the block like any others.

use fluvial_core::{GradOptions, Result, Var, grad_with};
use fluvial_ops::{cond, gt, lt, sin, while_loop};
use fluvial_testkit::Modes;
use fluvial_testkit::check::Tolerance;

use crate::{constant, f64s, total};

const GRAPH: GradOptions = GradOptions { create_graph: true, retain_graph: false };

/// The value, tracked also where the function is run without gradients.
fn tracked(x: &Var) -> Result<Var> {
    if x.is_symbolic() || x.is_tracked() { Ok(x.clone()) } else { x.track() }
}

fn twice(x: &Var, body: impl Fn(&Var) -> Result<Var>) -> Result<Vec<Var>> {
    let out = while_loop(
        &[x, &Var::scalar(0i64)],
        |v| lt(&v[1], &Var::scalar(2i64)),
        |v| Ok(vec![body(&v[0])?, &v[1] + 1.0]),
    )?;
    Ok(vec![out[0].clone()])
}

#[track_caller]
fn check(f: impl Fn(&[Var]) -> Result<Vec<Var>>) {
    let inputs = [f64s(&[0.5, 1.5], &[2]), f64s(&[0.7, 1.1], &[2])];
    Modes::of(f).first_order(Tolerance::of(1e-13)).check(&inputs);
}

#[test]
fn a_loop_of_gradient_descent() {
    check(|x| {
        twice(&x[0], |w| {
            let w = tracked(w)?;
            let loss = total(&(sin(&w)? * &w * &x[1]))?;
            let slope = grad_with(&[&loss], &[&w], GRAPH)?;
            (&w - &slope[0] * 0.1).check()
        })
    });
}

#[test]
fn with_respect_to_a_captured_value() {
    check(|x| {
        let captured = tracked(&x[1])?;
        twice(&x[0], |w| {
            // The carried value may not stand between: its earlier trips would be missed.
            let loss = total(&(sin(&captured)? * &captured))?;
            let slope = grad_with(&[&loss], &[&captured], GRAPH)?;
            (w * 0.5 + w * &slope[0]).check()
        })
    });
}

#[test]
fn of_a_value_from_outside() {
    check(|x| {
        let outer = tracked(&x[0])?;
        let loss = total(&(sin(&outer)? * &outer))?;
        twice(&x[1], |w| {
            let slope = grad_with(&[&loss], &[&outer], GRAPH)?;
            (w * &slope[0]).check()
        })
    });
}

#[test]
fn in_a_branch() {
    check(|x| {
        let positive = gt(&total(&x[0])?, &constant(0.0))?;
        cond(
            &positive,
            || {
                let own = tracked(&x[0])?;
                let loss = total(&(sin(&own)? * &own * &x[1]))?;
                grad_with(&[&loss], &[&own], GRAPH)
            },
            || Ok(vec![x[0].clone()]),
        )
    });
}

#[test]
fn accumulated_in_leaves_of_the_block() {
    let f = |x: &[Var]| {
        twice(&x[0], |w| {
            let leaf = w.detach().track()?;
            total(&(sin(&leaf)? * x[1].detach()))?.backward()?;
            let slope = leaf.grad().expect("backward reaches the leaf");
            (w * slope).check()
        })
    };
    // Differences see through what is detached.
    let inputs = [f64s(&[0.5, 1.5], &[2]), f64s(&[0.7, 1.1], &[2])];
    Modes::of(f).without_differences().check(&inputs);
}
