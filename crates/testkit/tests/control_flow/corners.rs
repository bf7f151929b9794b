//! Corners where the two modes could drift apart.

use fluvial_core::{
    Program, Result, Role, State, Tensor, Var, assign_state, grad, no_grad, read_state,
};
use fluvial_ops::{cond, gt, if_else, lt, print, scan, sin, sqrt, while_loop};
use fluvial_testkit::both_modes;

use crate::{constant, f64s, total};

#[test]
fn a_capture_that_influences_nothing_gets_no_cotangent() {
    // At zero, a cotangent of zero through the square root would be NaN.
    let by_cond = |x: &[Var]| -> Result<Vec<Var>> {
        let root = sqrt(&x[0])?;
        let holds = gt(&x[0], &Var::scalar(-1.0))?;
        let then = || {
            let _ = print(&root, "root")?;
            Ok(vec![&x[0] * 2.0])
        };
        cond(&holds, then, || Ok(vec![x[0].clone()]))
    };
    let by_while = |x: &[Var]| -> Result<Vec<Var>> {
        let root = sqrt(&x[0])?;
        let body = |v: &[Var]| {
            let _ = print(&root, "root")?;
            Ok(vec![&v[0] * 2.0, &v[1] + 1.0])
        };
        let below_two = |v: &[Var]| lt(&v[1], &Var::scalar(2i64));
        Ok(vec![while_loop(&[&x[0], &Var::scalar(0i64)], below_two, body)?.remove(0)])
    };
    let gradient_of = |f: &dyn Fn(&[Var]) -> Result<Vec<Var>>| {
        let zero = Var::scalar(0.0f64);
        let program = Program::build(&[("x", zero.ty())], |x| {
            let y = f(x)?;
            grad(&[&y[0]], &[&x[0]])
        });
        let by_program = program.unwrap().apply(&[&zero]).unwrap()[0].item::<f64>().unwrap();
        let tracked = zero.track().unwrap();
        let y = f(std::slice::from_ref(&tracked)).unwrap();
        let by_tape = grad(&[&y[0]], &[&tracked]).unwrap()[0].item::<f64>().unwrap();
        (by_tape, by_program)
    };
    assert_eq!(gradient_of(&by_cond), (2.0, 2.0));
    assert_eq!(gradient_of(&by_while), (4.0, 4.0));
}

#[test]
fn no_gradient_passes_through_assigned_state() {
    let scope = || {
        let state = State::new();
        state.insert("m", Role::Buffer, Tensor::scalar(1.0f64)).unwrap();
        state
    };
    let plain = |x: &[Var]| -> Result<Var> {
        assign_state("m", &(&x[0] * 2.0))?;
        (&read_state("m")? * &x[0]).check()
    };
    let looped = |x: &[Var]| -> Result<Var> {
        let body = |v: &[Var]| {
            let next = &v[0] * read_state("m")?;
            assign_state("m", &(&read_state("m")? * &x[0]))?;
            Ok(vec![next, &v[1] + 1.0])
        };
        let below_three = |v: &[Var]| lt(&v[1], &Var::scalar(3i64));
        let out = while_loop(&[&x[0], &Var::scalar(0i64)], below_three, body)?;
        (&out[0] * read_state("m")?).check()
    };
    type Function<'a> = &'a dyn Fn(&[Var]) -> Result<Var>;
    for f in [&plain as Function, &looped] {
        let x = Var::scalar(3.0f64);
        let by_tape = {
            let _scope = scope().enter();
            let x = x.track().unwrap();
            let y = f(std::slice::from_ref(&x)).unwrap();
            grad(&[&y], &[&x]).unwrap()[0].item::<f64>().unwrap()
        };
        let _scope = scope().enter();
        let program = Program::build(&[("x", x.ty())], |x| grad(&[&f(x)?], &[&x[0]])).unwrap();
        assert_eq!(program.apply(&[&x]).unwrap()[0].item::<f64>().unwrap(), by_tape);
    }
}

#[test]
fn rows_split_inside_branches_and_loops_to_second_order() {
    let rows = |x: &Var| -> Result<Vec<Var>> {
        let mask = lt(x, &Var::scalar(0.0))?;
        if_else(&mask, &[x], |r| Ok(vec![sin(&r[0])?]), |r| Ok(vec![&r[0] * &r[0]]))
    };
    let in_branch = |x: &[Var]| {
        let holds = gt(&total(&x[0])?, &constant(0.0))?;
        cond(&holds, || rows(&x[0]), || Ok(vec![x[0].clone()]))
    };
    both_modes(in_branch, &[f64s(&[0.5, -1.0, 2.0], &[3])]);
    let in_loop = |x: &[Var]| {
        let body = |v: &[Var]| Ok(vec![rows(&v[0])?.remove(0), &v[1] + 1.0]);
        let below_two = |v: &[Var]| lt(&v[1], &Var::scalar(2i64));
        Ok(vec![while_loop(&[&x[0], &Var::scalar(0i64)], below_two, body)?.remove(0)])
    };
    both_modes(in_loop, &[f64s(&[0.5, -1.0, 1.5], &[3])]);
    let in_scan = |x: &[Var]| {
        let step = |c: &[Var], slices: &[Var]| {
            let y = rows(&(&c[0] * &slices[0]))?.remove(0);
            Ok((vec![y.clone()], vec![y]))
        };
        let (last, all) = scan(&[&x[0]], &[&x[1]], step)?;
        Ok(vec![last[0].clone(), all[0].clone()])
    };
    both_modes(in_scan, &[f64s(&[0.5, -1.0], &[2]), f64s(&[0.7, 1.2, -0.4], &[3])]);
}

#[test]
fn a_hook_inside_a_loop() {
    let f = |x: &[Var]| {
        let body = |v: &[Var]| {
            let y = sin(&v[0])?;
            y.register_hook(|dy| Ok(Some(dy * 2.0)))?;
            Ok(vec![y])
        };
        while_loop(&[&x[0]], |v| gt(&v[0], &Var::scalar(0.4)), body)
    };
    let x = Var::scalar(0.9f64).track().unwrap();
    let y = f(std::slice::from_ref(&x)).unwrap();
    let by_line = grad(&[&y[0]], &[&x]).unwrap()[0].item::<f64>().unwrap();
    let program = Program::build(&[("x", x.ty())], |x| grad(&[&f(x)?[0]], &[&x[0]])).unwrap();
    let found = program.apply(&[&Var::scalar(0.9f64)]).unwrap()[0].item::<f64>().unwrap();
    assert_eq!(by_line.to_bits(), found.to_bits());
}

#[test]
fn a_hook_inside_a_loop_on_a_value_from_outside_is_refused() {
    let ty = Var::scalar(0.5f64).ty();
    let error = Program::build(&[("x", ty)], |x| {
        let outer = sin(&x[0])?;
        let body = |v: &[Var]| {
            outer.register_hook(|dy| Ok(Some(dy * 2.0)))?;
            Ok(vec![&v[0] * &outer])
        };
        while_loop(&[&x[0]], |v| gt(&v[0], &Var::scalar(0.4)), body)
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("once for each trip") && text.contains("corners.rs"), "{text}");
}

#[test]
fn what_a_run_leaves_out_contributes_nothing() {
    // Behind the loss that is not used, cotangents of zero would give NaN.
    let f = |x: &[Var]| {
        let loss = sqrt(&(&x[0] * 0.0))?;
        let use_it = gt(&x[0], &Var::scalar(0.0))?;
        cond(&use_it, || Ok(vec![loss.clone()]), || Ok(vec![&x[0] * &x[0]]))
    };
    let x = Var::scalar(-3.0f64).track().unwrap();
    let y = f(std::slice::from_ref(&x)).unwrap();
    let by_line = grad(&[&y[0]], &[&x]).unwrap()[0].item::<f64>().unwrap();
    let program = Program::build(&[("x", x.ty())], |x| grad(&[&f(x)?[0]], &[&x[0]])).unwrap();
    let found = program.apply(&[&Var::scalar(-3.0f64)]).unwrap()[0].item::<f64>().unwrap();
    assert_eq!((by_line, found), (-6.0, -6.0));
}

#[test]
fn what_is_made_without_recording_is_a_constant() {
    let f = |x: &[Var]| {
        let square = {
            let _scope = no_grad();
            (&x[0] * &x[0]).check()?
        };
        Ok(vec![&square * &x[0]])
    };
    let x = Var::scalar(3.0f64).track().unwrap();
    let slopes = |x: &[Var]| grad(&[&f(x)?[0]], &[&x[0]]);
    let program = Program::build(&[("x", x.ty())], slopes).unwrap();
    let found = program.apply(&[&Var::scalar(3.0f64)]).unwrap();
    assert_eq!(slopes(std::slice::from_ref(&x)).unwrap()[0].item::<f64>().unwrap(), 9.0);
    assert_eq!(found[0].item::<f64>().unwrap(), 9.0);
}

#[test]
fn a_gradient_that_would_miss_earlier_trips_is_refused() {
    let ty = Var::scalar(0.5f64).ty();
    let error = Program::build(&[("w", ty)], |w| {
        let body = |v: &[Var]| {
            let y = &v[0] * &w[0];
            let inner = grad(&[&y], &[&w[0]])?;
            Ok(vec![inner[0].clone() + y])
        };
        while_loop(&[&w[0]], |v| lt(&v[0], &Var::scalar(4.0)), body)
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("earlier trips") && text.contains("corners.rs"), "{text}");
}
