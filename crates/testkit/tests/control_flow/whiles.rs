//! `while_loop`.

use fluvial_core::{Program, Result, Var, read_state};
use fluvial_ops::{lt, sin, stop_gradient, sum, tanh, while_loop};
use fluvial_testkit::{Modes, both_modes};

use crate::{constant, f64s, scalar, symbolic, total};

/// Multiplies by `w` until the sum exceeds a bound: trips are unknown, `w` is captured.
fn grow(x: &[Var]) -> Result<Vec<Var>> {
    while_loop(&[&x[0]], |v| lt(&total(&v[0])?, &constant(20.0)), |v| Ok(vec![&v[0] * &x[1] + 0.1]))
}

#[test]
fn unknown_trips_with_a_captured_value() {
    let w = f64s(&[1.5, 2.0], &[2]);
    let out = both_modes(grow, &[f64s(&[1.0, 0.5], &[2]), w]);
    assert!(out.outputs[0].tensor().unwrap().to_f64s().iter().sum::<f64>() >= 20.0);
}

#[test]
fn no_trips() {
    let (x, w) = (f64s(&[30.0, 0.5], &[2]), f64s(&[1.5, 2.0], &[2]));
    let out = both_modes(grow, &[x, w]);
    assert_eq!(out.outputs[0].tensor().unwrap().to_f64s(), [30.0, 0.5]);
    assert_eq!(out.first[1].tensor().unwrap().to_f64s(), [0.0, 0.0]);
}

#[test]
fn one_program_for_any_number_of_trips() {
    let w = f64s(&[1.5, 2.0], &[2]);
    let programs =
        [0.5, 5.0, 30.0].map(|x| both_modes(grow, &[f64s(&[x, x], &[2]), w.clone()]).program);
    assert_eq!(programs[0], programs[1]);
    assert_eq!(programs[0], programs[2]);
}

#[test]
fn a_counter_and_a_float_are_carried() {
    let f = |x: &[Var]| {
        while_loop(
            &[&Var::scalar(0i64), &x[0]],
            |v| lt(&v[0], &Var::scalar(4i64)),
            |v| Ok(vec![&v[0] + 1.0, sin(&v[1])? * &x[1]]),
        )
    };
    let out = both_modes(f, &[scalar(0.9), scalar(1.3)]);
    assert_eq!(out.outputs[0].tensor().unwrap().item::<i64>().unwrap(), 4);
}

#[test]
fn carried_values_that_change_places() {
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0], &x[1], &Var::scalar(0i64)],
            |v| lt(&v[2], &Var::scalar(3i64)),
            |v| Ok(vec![v[1].clone(), &v[0] * &v[1], &v[2] + 1.0]),
        )
    };
    both_modes(f, &[scalar(1.1), scalar(0.7)]);
}

#[test]
fn a_carried_value_that_only_later_depends_on_the_input() {
    // The second value starts as a constant, and gets the first one in the trips.
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0], &constant(1.0), &Var::scalar(0i64)],
            |v| lt(&v[2], &Var::scalar(3i64)),
            |v| Ok(vec![&v[0] * 0.5, &v[1] * &v[0], &v[2] + 1.0]),
        )
    };
    both_modes(f, &[scalar(1.7)]);
}

#[test]
fn a_body_that_does_not_depend_on_the_input() {
    let f = |x: &[Var]| {
        let out = while_loop(
            &[&constant(1.0)],
            |v| lt(&v[0], &constant(10.0)),
            |v| Ok(vec![&v[0] * 2.0]),
        )?;
        Ok(vec![&out[0] * &x[0]])
    };
    let out = both_modes(f, &[scalar(0.5)]);
    assert_eq!(out.outputs[0].tensor().unwrap().to_f64s(), [8.0]);
}

#[test]
fn a_loop_whose_result_is_not_used() {
    let f = |x: &[Var]| {
        let _ = while_loop(&[&x[0]], |v| lt(&v[0], &constant(4.0)), |v| Ok(vec![&v[0] * 2.0]))?;
        Ok(vec![&x[0] * &x[0]])
    };
    both_modes(f, &[scalar(0.5)]);
}

#[test]
fn a_value_captured_many_times_in_one_trip() {
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0], &Var::scalar(0i64)],
            |v| lt(&v[1], &Var::scalar(3i64)),
            |v| Ok(vec![sin(&(&v[0] * &x[1]))? * &x[1] + &x[1], &v[1] + 1.0]),
        )
    };
    both_modes(f, &[scalar(0.9), scalar(1.3)]);
}

#[test]
fn a_captured_parameter() {
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0], &Var::scalar(0i64)],
            |v| lt(&v[1], &Var::scalar(3i64)),
            |v| Ok(vec![tanh(&(&v[0] * read_state("w")?))?, &v[1] + 1.0]),
        )
    };
    Modes::of(f).parameter("w", f64s(&[0.5, 1.5], &[2])).check(&[f64s(&[0.9, -0.2], &[2])]);
}

#[test]
fn the_condition_uses_what_it_captures() {
    let f = |x: &[Var]| {
        while_loop(&[&x[0]], |v| lt(&v[0], &x[1]), |v| Ok(vec![&v[0] * &v[0] + &x[1] * 0.1]))
    };
    both_modes(f, &[scalar(1.3), scalar(9.0)]);
}

#[test]
fn captured_constants_of_any_size() {
    let table = Var::of(&[0.5, -0.25, 0.1, 0.7], &[2, 2]).unwrap();
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0], &Var::scalar(0i64)],
            |v| lt(&v[1], &Var::scalar(3i64)),
            |v| Ok(vec![tanh(&fluvial_ops::matmul(&v[0], &table)?)?, &v[1] + 1.0]),
        )
    };
    both_modes(f, &[f64s(&[0.9, -0.2], &[1, 2])]);
}

#[test]
fn gradients_stop_inside_a_body() {
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0], &Var::scalar(0i64)],
            |v| lt(&v[1], &Var::scalar(3i64)),
            |v| Ok(vec![&v[0] * stop_gradient(&sin(&v[0])?)?, &v[1] + 1.0]),
        )
    };
    // Differences do not know of the stop.
    Modes::of(f).without_differences().check(&[scalar(0.9)]);
}

#[test]
fn one_symbolic_program_for_three_batch_sizes() {
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0]],
            |v| lt(&sum(&(&v[0] * &v[0]), &[], false)?, &constant(50.0)),
            |v| Ok(vec![fluvial_ops::matmul(&v[0], &x[1])? + 0.1]),
        )
    };
    let types = [symbolic(&["batch", "2"]), symbolic(&["2", "2"])];
    let w = f64s(&[1.5, 0.5, -0.25, 1.25], &[2, 2]);
    let programs: Vec<Program> = [1, 3, 7]
        .into_iter()
        .map(|batch| {
            let elements: Vec<f64> = (0..2 * batch).map(|i| 0.1 + 0.05 * i as f64).collect();
            let x = f64s(&elements, &[batch, 2]);
            Modes::of(f).types(&types).check(&[x, w.clone()]).program
        })
        .collect();
    assert_eq!(programs[0], programs[1]);
    assert_eq!(programs[0], programs[2]);
}

#[test]
fn a_body_that_changes_types_is_refused_in_both_modes() {
    let f = |x: &[Var]| {
        while_loop(
            &[&x[0]],
            |v| lt(&total(&v[0])?, &constant(4.0)),
            |v| Ok(vec![fluvial_ops::concat(&[&v[0], &v[0]], 0)?]),
        )
    };
    let x = f64s(&[1.0], &[1]);
    let now = f(&[Var::new(x.clone())]).unwrap_err();
    let built = Program::build(&[("x", x.ty())], f).unwrap_err();
    for error in [now, built] {
        let text = error.to_string();
        assert!(text.contains("carried value 0 is f64[1] before the body"), "{text}");
        assert!(text.contains("whiles.rs"), "{text}");
    }
}
