//! `if_else`: rows through branches of their own.

use fluvial_core::{Program, Result, Tensor, Var, read_state};
use fluvial_ops::{exp, if_else, lt, matmul, sin, sum};
use fluvial_testkit::{Modes, both_modes};

use crate::{constant, f64s, scalar, symbolic};

/// `exp` of negative rows, the square of the others.
fn split(x: &[Var]) -> Result<Vec<Var>> {
    let mask = lt(&x[0], &constant(0.0))?;
    if_else(&mask, &[&x[0]], |r| Ok(vec![exp(&r[0])?]), |r| Ok(vec![&r[0] * &r[0]]))
}

#[test]
fn mixed_all_and_none() {
    for elements in [&[-1.0, 2.0, -3.0, 0.5][..], &[-1.0, -2.0], &[1.0, 2.0, 3.0], &[]] {
        let out = both_modes(split, &[f64s(elements, &[elements.len()])]);
        let expected: Vec<f64> =
            elements.iter().map(|&x| if x < 0.0 { x.exp() } else { x * x }).collect();
        let found = out.outputs[0].tensor().unwrap().to_f64s();
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14), "{found:?}");
    }
}

#[test]
fn one_program_for_any_number_of_rows() {
    let mut programs = Vec::new();
    for elements in [&[-1.0, 2.0, -3.0, 0.5][..], &[-1.0, -2.0], &[1.0]] {
        let x = f64s(elements, &[elements.len()]);
        programs.push(Modes::of(split).types(&[symbolic(&["n"])]).check(&[x]).program);
    }
    assert_eq!(programs[0], programs[1]);
    assert_eq!(programs[0], programs[2]);
}

/// Rows of two inputs, two results, and a captured weight.
fn several(x: &[Var]) -> Result<Vec<Var>> {
    let mask = lt(&sum(&x[0], &[1], false)?, &constant(0.0))?;
    if_else(
        &mask,
        &[&x[0], &x[1]],
        |r| Ok(vec![matmul(&r[0], &x[2])? + &r[1], sin(&r[1])?]),
        |r| Ok(vec![&r[0] * &r[1] * &r[1], &r[1] * 3.0]),
    )
}

fn several_inputs() -> [Tensor; 3] {
    [
        f64s(&[1.0, -2.0, 0.5, 0.25, -0.75, 0.5], &[3, 2]),
        f64s(&[0.3, -0.6, 0.9], &[3, 1]),
        f64s(&[0.5, -0.3, 0.2, 0.7], &[2, 2]),
    ]
}

#[test]
fn several_inputs_and_results_with_a_captured_value() {
    both_modes(several, &several_inputs());
    let types = [symbolic(&["n", "2"]), symbolic(&["n", "1"]), symbolic(&["2", "2"])];
    Modes::of(several).types(&types).check(&several_inputs());
}

#[test]
fn a_captured_parameter() {
    let f = |x: &[Var]| {
        let mask = lt(&x[0], &constant(0.0))?;
        if_else(
            &mask,
            &[&x[0]],
            |r| Ok(vec![&r[0] * read_state("w")?]),
            |r| Ok(vec![sin(&(&r[0] + read_state("w")?))?]),
        )
    };
    let x = [f64s(&[-1.0, 2.0, -3.0], &[3])];
    Modes::of(f).parameter("w", scalar(0.7)).check(&x);
    Modes::of(f).parameter("w", scalar(0.7)).types(&[symbolic(&["n"])]).check(&x);
}

#[test]
fn rows_split_again() {
    let f = |x: &[Var]| {
        let mask = lt(&x[0], &constant(0.0))?;
        if_else(
            &mask,
            &[&x[0]],
            |r| {
                let far = lt(&r[0], &constant(-2.0))?;
                if_else(&far, &[&r[0]], |q| Ok(vec![&q[0] * 2.0]), |q| Ok(vec![sin(&q[0])?]))
            },
            |r| Ok(vec![&r[0] * &r[0]]),
        )
    };
    for elements in [&[-1.0, 2.0, -3.0][..], &[1.0], &[-3.0, -4.0]] {
        let x = [f64s(elements, &[elements.len()])];
        both_modes(f, &x);
        Modes::of(f).types(&[symbolic(&["n"])]).check(&x);
    }
}

#[test]
fn branches_that_do_not_match_are_refused_in_both_modes() {
    let f = |x: &[Var]| {
        let mask = lt(&x[0], &constant(0.0))?;
        if_else(&mask, &[&x[0]], |r| Ok(vec![r[0].clone()]), |_| Ok(vec![]))
    };
    let x = f64s(&[-1.0, 2.0], &[2]);
    let now = f(&[Var::new(x.clone())]).unwrap_err();
    let built = Program::build(&[("x", x.ty())], f).unwrap_err();
    for error in [now, built] {
        let text = error.to_string();
        assert!(text.contains("one branch returns 1 values, the other 0"), "{text}");
        assert!(text.contains("rows.rs"), "{text}");
    }
}
