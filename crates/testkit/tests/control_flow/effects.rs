//! State, random numbers and calls of the host inside control flow: each effect happens once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fluvial_core::{
    GradOptions, Program, Result, Role, State, Tensor, Var, assign_state, read_state, vjp,
};
use fluvial_ops::{
    cond, dropout, gt, host_call, lt, normal, register_host, scan, seed, sin, uniform, while_loop,
};
use fluvial_testkit::Modes;

use crate::{constant, f64s, scalar, total};

fn count(state: &State) -> Result<()> {
    state.insert("count", Role::Counter, Tensor::scalar(0i64))?;
    state.insert("mean", Role::Buffer, Tensor::scalar(0.25f64))
}

fn tick() -> Result<()> {
    assign_state("count", &(read_state("count")? + 1.0))
}

fn times(n: i64, x: &Var, body: impl Fn(&Var) -> Result<Var>) -> Result<Vec<Var>> {
    let out = while_loop(
        &[x, &Var::scalar(0i64)],
        |v| lt(&v[1], &Var::scalar(n)),
        |v| Ok(vec![body(&v[0])?, &v[1] + 1.0]),
    )?;
    Ok(vec![out[0].clone()])
}

#[test]
fn a_state_assigned_in_a_loop() {
    let f = |x: &[Var]| {
        times(3, &x[0], |v| {
            tick()?;
            (v * sin(v)?).check()
        })
    };
    let out = Modes::of(f).state(count).check(&[scalar(0.8)]);
    assert_eq!(out.state("count"), [3.0]);
    let assigns = out.program.main.calls.iter().filter(|call| call.op.name() == "assign");
    assert_eq!(assigns.count(), 1, "the state is carried, and assigned once after the loop");
}

#[test]
fn a_state_that_the_values_depend_on() {
    // A running mean: read and assigned in each trip. No gradient passes through the state
    // imperatively, where what is assigned is a new leaf.
    let f = |x: &[Var]| {
        times(3, &x[0], |v| {
            let mean = read_state("mean")? * 0.5 + v.detach() * 0.5;
            assign_state("mean", &mean)?;
            (v * 1.5 + mean.detach()).check()
        })
    };
    Modes::of(f).state(count).without_differences().check(&[scalar(0.8)]);
}

#[test]
fn a_state_assigned_in_one_branch() {
    let f = |x: &[Var]| {
        let positive = gt(&x[0], &constant(0.0))?;
        cond(
            &positive,
            || {
                tick()?;
                Ok(vec![&x[0] * &x[0]])
            },
            || Ok(vec![sin(&x[0])?]),
        )
    };
    for (x, expected) in [(1.5, 1.0), (-1.5, 0.0)] {
        let out = Modes::of(f).state(count).check(&[scalar(x)]);
        assert_eq!(out.state("count"), [expected]);
    }
}

#[test]
fn a_state_assigned_in_nested_blocks() {
    let f = |x: &[Var]| {
        times(3, &x[0], |v| {
            tick()?;
            let small = lt(v, &constant(1.0))?;
            let next = cond(
                &small,
                || {
                    tick()?;
                    let out = times(2, v, |u| {
                        tick()?;
                        (u * 1.3).check()
                    })?;
                    Ok(out)
                },
                || Ok(vec![v * 0.4]),
            )?;
            tick()?;
            Ok(next[0].clone())
        })
    };
    let out = Modes::of(f).state(count).check(&[scalar(0.9)]);
    // 0.9 is small, 1.521 is not, 0.6084 is.
    assert_eq!(out.state("count"), [2.0 * 3.0 + 2.0 * 3.0]);
}

#[test]
fn a_state_assigned_in_a_scan() {
    let f = |x: &[Var]| {
        let (last, stacked) = scan(&[&constant(1.0)], &[&x[0]], |c, s| {
            tick()?;
            let next = &c[0] * &s[0];
            Ok((vec![next.clone()], vec![sin(&next)?]))
        })?;
        Ok([last, stacked].concat())
    };
    let out = Modes::of(f).state(count).check(&[f64s(&[0.5, 1.5, -0.25], &[3])]);
    assert_eq!(out.state("count"), [3.0]);
}

#[test]
fn a_value_captured_and_also_read_as_state() {
    // The handle stays what it was before the loop; the state moves on.
    let f = |x: &[Var]| {
        let before = read_state("mean")?;
        let out = times(3, &x[0], |v| {
            assign_state("mean", &(read_state("mean")? * 2.0))?;
            (v * &before + read_state("mean")?).check()
        })?;
        Ok(vec![out[0].clone(), read_state("mean")?, before])
    };
    let out = Modes::of(f).state(count).check(&[scalar(0.8)]);
    assert_eq!(out.state("mean"), [2.0]);
    let x = ((0.8 * 0.25 + 0.5) * 0.25 + 1.0) * 0.25 + 2.0;
    assert_eq!(out.outputs[0].tensor().unwrap().to_f64s(), [x]);
}

#[test]
fn a_parameter_read_in_a_loop_and_updated_after_it() {
    let f = |x: &[Var]| {
        let out = times(2, &x[0], |v| (v * read_state("w")?).check())?;
        assign_state("w", &(read_state("w")?.detach() * 0.5))?;
        Ok(vec![&out[0] * read_state("w")?.detach()])
    };
    let out = Modes::of(f).parameter("w", scalar(0.6)).without_differences().check(&[scalar(0.8)]);
    assert_eq!(out.state("w"), [0.3]);
}

#[test]
fn random_numbers_are_equal_in_both_modes() {
    let f = |x: &[Var]| {
        seed(7)?;
        let noise = uniform(&x[0].ty(), -1.0, 1.0)?;
        let out = times(3, &(&x[0] + &noise), |v| {
            let noise = normal(&v.ty(), 0.0, 0.5)?;
            Ok(dropout(&(v * (noise + 1.0)), 0.3)? + 0.1)
        })?;
        Ok(vec![out[0].clone(), uniform(&x[0].ty(), 0.0, 1.0)?])
    };
    let out = Modes::of(f).check(&[f64s(&[0.5, 1.5, -0.25, 2.0], &[4])]);
    assert_eq!(out.state("rng"), [7.0, 8.0], "the seed, and one draw for each call");
}

#[test]
fn dropout_in_branches_and_scans() {
    let f = |x: &[Var]| {
        seed(3)?;
        let positive = gt(&total(&x[0])?, &constant(0.0))?;
        let kept = cond(&positive, || Ok(vec![dropout(&x[0], 0.5)?]), || Ok(vec![x[0].clone()]))?;
        let (_, stacked) =
            scan(&[], &[&kept[0]], |_, s| Ok((vec![], vec![dropout(&sin(&s[0])?, 0.5)?])))?;
        Ok(stacked)
    };
    let x = [0.5, 1.5, -0.25, 2.0, 0.1, 0.2];
    let yes = Modes::of(f).check(&[f64s(&x, &[6])]);
    let no = Modes::of(f).check(&[f64s(&x.map(|x| -x), &[6])]);
    assert_eq!((yes.state("rng"), no.state("rng")), (vec![3.0, 7.0], vec![3.0, 6.0]));
}

#[test]
fn dropout_in_a_loop_passes_its_input_on_for_inference() {
    let f = |x: &[Var]| {
        seed(7)?;
        tick()?;
        times(3, &x[0], |v| Ok(dropout(v, 0.5)? * 2.0))
    };
    let state = State::new();
    let _scope = state.enter();
    count(&state).unwrap();
    let program = Program::build(&[("x", f64s(&[0.0; 2], &[2]).ty())], f).unwrap();
    let inference = program.for_inference().unwrap();
    assert!(inference.states.is_empty(), "what only counts and draws is gone: {inference:#}");
    let out = inference.apply(&[&Var::of(&[1.0, -2.0], &[2]).unwrap()]).unwrap();
    assert_eq!(out[0].to_vec::<f64>().unwrap(), [8.0, -16.0]);
    assert_eq!(state.tensor("count").unwrap().item::<i64>().unwrap(), 0);
}

/// A function of the host that counts its calls.
fn counter(name: &str) -> Arc<AtomicUsize> {
    let calls = Arc::new(AtomicUsize::new(0));
    let own = calls.clone();
    register_host(name, move |x| {
        own.fetch_add(1, Ordering::Relaxed);
        Ok(vec![x[0].clone()])
    });
    register_host(&format!("{name}.backward"), |x| Ok(vec![x[x.len() - 1].clone()]));
    calls
}

#[test]
fn a_call_of_the_host_happens_once_per_trip_also_with_gradients() {
    let calls = counter("test.loop");
    let f = |x: &[Var]| {
        let out = times(4, &x[0], |v| {
            let seen = host_call("test.loop", &[v], &[v.ty()], Some("test.loop.backward"))?;
            (&seen[0] * 1.5).check()
        })?;
        Ok(out[0].clone())
    };
    let x = Var::scalar(0.5f64).track().unwrap();
    let y = f(std::slice::from_ref(&x)).unwrap();
    let by_tape = vjp(&[&y], &[None], &[&x], GradOptions::default()).unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 4);

    let program = Program::build(&[("x", x.ty())], |x| Ok(vec![f(x)?])).unwrap();
    let with_gradient = program.append_backward("out0", &["x"]).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 0, "building calls nothing");
    program.apply(&[&Var::scalar(0.5f64)]).unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 4);
    let out = with_gradient.apply(&[&Var::scalar(0.5f64)]).unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 4);
    let slope = 1.5f64.powi(4);
    assert_eq!(out[1].item::<f64>().unwrap(), slope);
    assert_eq!(by_tape[0].as_ref().unwrap().item::<f64>().unwrap(), slope);

    // The program run on a tracked value, and its gradient taken twice from a tape that stays.
    let y = &program.apply(&[&x]).unwrap()[0];
    let keep = GradOptions { retain_graph: true, ..GradOptions::default() };
    let first = vjp(&[y], &[None], &[&x], keep).unwrap();
    let again = vjp(&[y], &[None], &[&x], keep).unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 4);
    for found in [first, again] {
        assert_eq!(found[0].as_ref().unwrap().item::<f64>().unwrap(), slope);
    }
}

#[test]
fn a_call_of_the_host_in_nested_blocks_happens_once() {
    let calls = counter("test.nested");
    let f = |x: &[Var]| {
        let out = times(3, &x[0], |v| {
            let small = lt(v, &constant(1.0))?;
            let out = cond(
                &small,
                || host_call("test.nested", &[v], &[v.ty()], Some("test.nested.backward")),
                || Ok(vec![v * 0.5]),
            )?;
            (&out[0] * 1.5).check()
        })?;
        Ok(out)
    };
    let program = Program::build(&[("x", scalar(0.0).ty())], f).unwrap();
    let with_gradient = program.append_backward("out0", &["x"]).unwrap();
    for program in [&program, &with_gradient] {
        // 0.5 and 0.75 are small, 1.125 is not.
        program.apply(&[&Var::scalar(0.5f64)]).unwrap();
        assert_eq!(calls.swap(0, Ordering::Relaxed), 2);
    }
}

#[test]
fn a_call_of_the_host_whose_result_nothing_uses_still_happens() {
    let calls = counter("test.unused");
    let f = |x: &[Var]| {
        let out = times(3, &x[0], |v| {
            let _ = host_call("test.unused", &[v], &[v.ty()], None)?;
            (v * 1.5).check()
        })?;
        Ok(out)
    };
    let program = Program::build(&[("x", scalar(0.0).ty())], f).unwrap();
    let with_gradient = program.append_backward("out0", &["x"]).unwrap();
    for program in [&program, &with_gradient] {
        program.apply(&[&Var::scalar(0.5f64)]).unwrap();
        assert_eq!(calls.swap(0, Ordering::Relaxed), 3);
    }
}
