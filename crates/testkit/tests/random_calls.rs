//! Random calls: `infer` answers whatever it is asked, and `eval` what `infer` accepts.

use fluvial::data::Reader;
use fluvial_core::{DType, Program, Role, Tensor, Type, Var, assign_state, declare_state};
use fluvial_ops::{cond, for_each, gt, lt, while_loop};
use fluvial_testkit::random::{calls, program};

/// A program with states, a choice and a loop, the same with their gradients, and one with a loop over a
/// reader.
fn programs(reader: &Reader) -> Vec<Program> {
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
    let position = Type::of(DType::I64, &[2]).unwrap();
    let reading = Program::build(&[("position", position)], |inputs| {
        let zero = Var::scalar(0.0f64);
        let (position, total) = for_each(reader, 1, &inputs[0], &[&zero], |batch, carried| {
            Ok((None, vec![&carried[0] + &fluvial_ops::sum(&batch[0], &[], false)?]))
        })?;
        Ok(vec![position, total[0].clone()])
    })
    .unwrap();
    let mut programs = vec![plain, with_gradients, reading];
    programs.extend((0..20).map(program));
    programs
}

#[test]
fn no_call_panics() {
    let x = Tensor::from_slice(&[0.5, 1.5, 2.5], &[3]).unwrap();
    let reader = Reader::of([("x", x)]).unwrap().batch(2, false);
    let tallies = calls::survive(&fluvial_ops::registry(), &programs(&reader), 400);
    let panics: Vec<&String> = tallies.iter().filter_map(|tally| tally.panicked.as_ref()).collect();
    assert!(panics.is_empty(), "{panics:#?}");
    // A note belongs to a block of a program, and is refused elsewhere; what is tried, and what runs at the same time,
    // needs blocks that fit together; channels cannot be made at random; servers need ranks.
    let bound =
        ["note", "attempt", "attempt_grad", "checkpoint", "parallel_for", "go", "wait_task"];
    let of_servers = ["announce", "collect_parts", "pull_parts", "steps_left"];
    let is_bound =
        |op: &str| bound.contains(&op) || of_servers.contains(&op) || op.contains("channel");
    let free = |tally: &&calls::Tally| !is_bound(tally.op);
    let idle: Vec<_> = tallies.iter().filter(free).filter(|tally| tally.accepted == 0).collect();
    assert!(idle.is_empty(), "no random call was accepted: {idle:?}");
}
