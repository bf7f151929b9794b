//! `scan`.

use fluvial_core::{Program, Result, Var, read_state};
use fluvial_ops::{matmul, scan, sin, tanh};
use fluvial_testkit::{Modes, both_modes};

use crate::{constant, f64s, scalar, symbolic};

/// A small recurrent cell: carried state, stacked outputs, a captured weight.
fn cell(x: &[Var]) -> Result<Vec<Var>> {
    let (mut last, stacked) = scan(&[&x[0]], &[&x[1]], |h, slice| {
        let next = tanh(&(matmul(&h[0], &x[2])? + &slice[0]))?;
        Ok((vec![next.clone()], vec![&next * &next]))
    })?;
    last.extend(stacked);
    Ok(last)
}

fn cell_inputs(len: usize) -> Vec<fluvial_core::Tensor> {
    let elements: Vec<f64> = (0..2 * len).map(|i| 0.3 - 0.1 * i as f64).collect();
    vec![
        f64s(&[0.1, -0.2], &[2]),
        f64s(&elements, &[len, 2]),
        f64s(&[0.5, -0.3, 0.2, 0.7], &[2, 2]),
    ]
}

#[test]
fn carried_and_stacked_values() {
    let out = both_modes(cell, &cell_inputs(4));
    assert_eq!(out.outputs[1].ty().to_string(), "f64[4, 2]");
}

#[test]
fn no_steps() {
    let out = both_modes(cell, &cell_inputs(0));
    assert_eq!(out.outputs[0].tensor().unwrap().to_f64s(), [0.1, -0.2]);
    assert_eq!(out.outputs[1].ty().to_string(), "f64[0, 2]");
}

#[test]
fn one_program_for_any_length() {
    let types = [symbolic(&["2"]), symbolic(&["steps", "2"]), symbolic(&["2", "2"])];
    let programs: Vec<Program> = [0, 1, 5]
        .into_iter()
        .map(|len| Modes::of(cell).types(&types).check(&cell_inputs(len)).program)
        .collect();
    assert_eq!(programs[0], programs[1]);
    assert_eq!(programs[0], programs[2]);
}

#[test]
fn several_tensors_and_several_stacks() {
    let f = |x: &[Var]| {
        let (last, mut stacked) = scan(&[&x[2], &constant(1.0)], &[&x[0], &x[1]], |c, s| {
            let next = &c[0] * &s[0] + &s[1];
            let product = &c[1] * sin(&next)?;
            Ok((vec![next.clone(), product.clone()], vec![next, product, &s[0] * &s[1]]))
        })?;
        stacked.extend(last);
        Ok(stacked)
    };
    both_modes(f, &[f64s(&[0.5, -1.0, 2.0], &[3]), f64s(&[1.0, 0.25, -0.5], &[3]), scalar(0.8)]);
}

#[test]
fn stacks_without_carried_values_and_the_other_way_round() {
    let map = |x: &[Var]| Ok(scan(&[], &[&x[0]], |_, s| Ok((vec![], vec![sin(&s[0])?])))?.1);
    let fold = |x: &[Var]| {
        Ok(scan(&[&constant(1.0)], &[&x[0]], |c, s| Ok((vec![&c[0] * &s[0]], vec![])))?.0)
    };
    let x = [f64s(&[0.5, -1.0, 2.0], &[3])];
    both_modes(map, &x);
    both_modes(fold, &x);
}

#[test]
fn slices_of_matrices() {
    let f = |x: &[Var]| {
        let (last, stacked) = scan(&[&x[1]], &[&x[0]], |c, s| {
            let next = tanh(&matmul(&s[0], &c[0])?)?;
            Ok((vec![next.clone()], vec![next]))
        })?;
        Ok([last, stacked].concat())
    };
    let elements: Vec<f64> = (0..12).map(|i| 0.1 * f64::from(i) - 0.6).collect();
    both_modes(f, &[f64s(&elements, &[3, 2, 2]), f64s(&[0.4, -0.9], &[2])]);
}

#[test]
fn a_captured_parameter() {
    let f = |x: &[Var]| {
        let (last, _) = scan(&[&x[0]], &[&x[1]], |c, s| {
            Ok((vec![tanh(&(&c[0] * read_state("w")? + &s[0]))?], vec![]))
        })?;
        Ok(last)
    };
    let x = f64s(&[0.5, -1.0, 2.0], &[3]);
    Modes::of(f).parameter("w", scalar(0.7)).check(&[scalar(0.1), x]);
}

#[test]
fn a_scan_over_the_stacks_of_a_scan() {
    let f = |x: &[Var]| {
        let (_, sums) = scan(&[&constant(0.0)], &[&x[0]], |c, s| {
            let sum = &c[0] + &s[0];
            Ok((vec![sum.clone()], vec![sum]))
        })?;
        let (_, products) = scan(&[&constant(1.0)], &[&sums[0], &x[0]], |c, s| {
            let product = &c[0] * (&s[0] - &s[1] * 0.5);
            Ok((vec![product.clone()], vec![product]))
        })?;
        Ok(products)
    };
    both_modes(f, &[f64s(&[0.5, -1.0, 2.0], &[3])]);
}

#[test]
fn faults_are_told_alike_in_both_modes() {
    let f = |x: &[Var]| Ok(scan(&[], &[&x[0], &x[1]], |_, s| Ok((vec![], s.to_vec())))?.1);
    let inputs = [f64s(&[1.0, 2.0], &[2]), f64s(&[1.0], &[1])];
    let now = f(&inputs.clone().map(Var::new)).unwrap_err();
    let types = [("x", inputs[0].ty()), ("y", inputs[1].ty())];
    let built = Program::build(&types, f).unwrap_err();
    for error in [now, built] {
        let text = error.to_string();
        assert!(text.contains("the first axes differ: f64[2] and f64[1]"), "{text}");
        assert!(text.contains("scans.rs"), "{text}");
    }
}

#[test]
fn there_must_be_something_to_go_through() {
    let error = scan(&[&constant(0.0)], &[], |c, _| Ok((c.to_vec(), vec![]))).unwrap_err();
    assert!(error.to_string().contains("nothing to go through"), "{error}");
    let error = scan(&[], &[&constant(0.0)], |_, _| Ok((vec![], vec![]))).unwrap_err();
    assert!(error.to_string().contains("no axis to go through"), "{error}");
}
