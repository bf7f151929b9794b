//! `cond`.

use fluvial_core::{Program, Result, Tensor, Value, Var, read_state};
use fluvial_ops::{cond, exp, gt, lt, sin, tanh};
use fluvial_testkit::{Modes, both_modes};

use crate::{constant, f64s, scalar, total};

/// `x * w` or `sin(x) - w`, by the sign of `x`'s sum; `w` is captured.
fn by_sign(x: &[Var]) -> Result<Vec<Var>> {
    let positive = gt(&total(&x[0])?, &constant(0.0))?;
    cond(&positive, || Ok(vec![&x[0] * &x[1]]), || Ok(vec![sin(&x[0])? - &x[1]]))
}

#[test]
fn both_branches_with_a_captured_value() {
    let w = f64s(&[0.3, -0.7], &[2]);
    let yes = both_modes(by_sign, &[f64s(&[1.0, 2.0], &[2]), w.clone()]);
    let no = both_modes(by_sign, &[f64s(&[-1.0, 0.5], &[2]), w]);
    assert_eq!(yes.outputs[0].tensor().unwrap().to_f64s(), [0.3, -1.4]);
    assert_eq!(no.outputs[0].tensor().unwrap().to_f64s()[1], 0.5f64.sin() + 0.7);
    assert_eq!(yes.program, no.program, "one program holds both branches");
}

#[test]
fn a_branch_that_does_not_depend_on_the_input() {
    let f = |x: &[Var]| {
        let positive = gt(&x[0], &constant(0.0))?;
        cond(&positive, || Ok(vec![exp(&x[0])?]), || Ok(vec![constant(3.0)]))
    };
    both_modes(f, &[scalar(0.5)]);
    let flat = both_modes(f, &[scalar(-0.5)]);
    assert_eq!(fluvial_testkit::check::flatten(&flat.first[0]), [0.0]);
}

#[test]
fn branches_that_return_what_they_were_given() {
    let f = |x: &[Var]| {
        let less = lt(&x[0], &x[1])?;
        cond(
            &less,
            || Ok(vec![x[0].clone(), x[1].clone()]),
            || Ok(vec![x[1].clone(), x[0].clone()]),
        )
    };
    both_modes(f, &[scalar(1.0), scalar(2.0)]);
    both_modes(f, &[scalar(2.5), scalar(2.0)]);
    both_modes(f, &[scalar(2.0), scalar(2.0)]);
}

#[test]
fn several_results_of_different_types() {
    let f = |x: &[Var]| {
        let positive = gt(&total(&x[0])?, &constant(0.0))?;
        cond(
            &positive,
            || Ok(vec![total(&x[0])?, &x[0] * 2.0, Var::scalar(1i64)]),
            || Ok(vec![total(&(&x[0] * &x[0]))?, tanh(&x[0])?, Var::scalar(2i64)]),
        )
    };
    let yes = both_modes(f, &[f64s(&[1.0, 2.0], &[2])]);
    let no = both_modes(f, &[f64s(&[-1.0, -2.0], &[2])]);
    assert_eq!([tag(&yes.outputs[2]), tag(&no.outputs[2])], [1, 2]);
}

fn tag(value: &Value) -> i64 {
    value.tensor().unwrap().item().unwrap()
}

#[test]
fn a_captured_parameter() {
    let f = |x: &[Var]| {
        let positive = gt(&x[0], &constant(0.0))?;
        cond(
            &positive,
            || Ok(vec![&x[0] * read_state("w")? * read_state("w")?]),
            || Ok(vec![sin(&read_state("w")?)?]),
        )
    };
    for x in [1.5, -1.5] {
        Modes::of(f).parameter("w", scalar(0.7)).check(&[scalar(x)]);
    }
}

#[test]
fn captured_constants_of_any_size() {
    let table = Var::of(&[1.0, -2.0, 3.0, 0.5], &[2, 2]).unwrap();
    let f = |x: &[Var]| {
        let positive = gt(&total(&x[0])?, &constant(0.0))?;
        cond(&positive, || Ok(vec![&x[0] * &table]), || Ok(vec![&table - &x[0] * 2.0]))
    };
    both_modes(f, &[f64s(&[1.0, 2.0], &[2])]);
    both_modes(f, &[f64s(&[-1.0, -2.0], &[2])]);
}

#[test]
fn one_condition_for_two_choices() {
    let f = |x: &[Var]| {
        let positive = gt(&x[0], &constant(0.0))?;
        let a = cond(&positive, || Ok(vec![exp(&x[0])?]), || Ok(vec![-&x[0]]))?;
        cond(&positive, || Ok(vec![&a[0] * &x[0]]), || Ok(vec![sin(&a[0])?]))
    };
    both_modes(f, &[scalar(0.4)]);
    both_modes(f, &[scalar(-0.4)]);
}

#[test]
fn a_known_condition_leaves_one_branch() {
    let ty = scalar(0.0).ty();
    let program = Program::build(&[("x", ty)], |x| {
        cond(&Var::scalar(true), || Ok(vec![&x[0] + 1.0]), || Ok(vec![&x[0] - 1.0]))
    })
    .unwrap();
    assert!(program.main.calls.iter().all(|call| call.op.name() != "cond"));
}

#[test]
fn branches_that_do_not_match_are_refused_in_programs() {
    let refused = |then: Tensor, otherwise: Tensor| {
        Program::build(&[("x", scalar(0.0).ty())], |x| {
            let positive = gt(&x[0], &constant(0.0))?;
            cond(&positive, || Ok(vec![Var::new(then)]), || Ok(vec![Var::new(otherwise)]))
        })
        .unwrap_err()
        .to_string()
    };
    let text = refused(scalar(1.0), f64s(&[1.0, 2.0], &[2]));
    assert!(text.contains("value 0 is f64[] in one branch and f64[2] in the other"), "{text}");
    assert!(text.contains("conds.rs"), "{text}");
    let text = Program::build(&[("x", scalar(0.0).ty())], |x| {
        let positive = gt(&x[0], &constant(0.0))?;
        cond(&positive, || Ok(vec![x[0].clone()]), || Ok(vec![]))
    })
    .unwrap_err()
    .to_string();
    assert!(text.contains("different numbers of values"), "{text}");
}

#[test]
fn a_condition_must_be_a_bool_scalar_in_both_modes() {
    let f = |x: &[Var]| cond(&x[0], || Ok(vec![]), || Ok(vec![]));
    let now = f(&[constant(1.0)]).unwrap_err();
    let built = Program::build(&[("x", scalar(0.0).ty())], f).unwrap_err();
    for error in [now, built] {
        assert!(error.to_string().contains("a condition must be bool[]"), "{error}");
        assert!(error.to_string().contains("conds.rs"), "{error}");
    }
}
