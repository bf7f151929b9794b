//! Random calls: `infer` answers whatever it is asked, and `eval` what `infer` accepts.

use fluvial_core::{DType, Program, Role, Tensor, Type, Var, assign_state, declare_state};
use fluvial_ops::{cond, gt, lt, while_loop};
use fluvial_testkit::random::{calls, program};

/// A program with states, a choice and a loop, and the same with their gradients.
fn programs() -> Vec<Program> {
    let ty = Type::of(DType::F64, &[2]).unwrap();
    let plain = Program::build(&[("x", ty)], |x| {
        let w = declare_state("w", ty, Role::Parameter, || Ok(Var::new(Tensor::full(&[2], 0.5)?)))?;
        let sum = |x: &Var| fluvial_ops::sum(x, &[], false);
        let grown = while_loop(
            &[&x[0], &Var::scalar(0i64)],
            |v| lt(&v[1], &Var::scalar(3i64)),
            |v| Ok(vec![&v[0] * &w, &v[1] + 1.0]),
        )?;
        let positive = gt(&sum(&x[0])?, &Var::scalar(0.0))?;
        let chosen = cond(&positive, || Ok(vec![&grown[0] * &w]), || Ok(vec![-&grown[0]]))?;
        assign_state("w", &(&w * 0.5))?;
        Ok(vec![sum(&chosen[0])?])
    })
    .unwrap();
    let with_gradients = plain.append_backward("out0", &["x", "w"]).unwrap();
    let mut programs = vec![plain, with_gradients];
    programs.extend((0..20).map(program));
    programs
}

#[test]
fn no_call_panics() {
    let tallies = calls::survive(&fluvial_ops::registry(), &programs(), 400);
    let panics: Vec<&String> = tallies.iter().filter_map(|tally| tally.panicked.as_ref()).collect();
    assert!(panics.is_empty(), "{panics:#?}");
    let idle: Vec<_> = tallies.iter().filter(|tally| tally.accepted == 0).collect();
    assert!(idle.is_empty(), "no random call was accepted: {idle:?}");
}
