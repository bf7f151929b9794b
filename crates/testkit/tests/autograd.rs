//! The semantics of gradients: leaves, tapes, hooks, errors; in both modes where both have them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fluvial_core::{
    Cell, Error, GradOptions, Loc, OpRef, Program, Result, Role, State, Tensor, Var, assign_state,
    enable_grad, grad, grad_with, no_grad, read_state, vjp,
};
use fluvial_ops::{exp, floor, gt, host_call, register_host, sin, stop_gradient, sum};

const KEEP: GradOptions = GradOptions { create_graph: false, retain_graph: true };
const GRAPH: GradOptions = GradOptions { create_graph: true, retain_graph: false };

fn leaf(x: f64) -> Var {
    Var::scalar(x).track().unwrap()
}

fn number(var: &Var) -> f64 {
    var.item().unwrap()
}

/// The gradient of `f` at `x`, on the tape and as a program; both must be the same number.
#[track_caller]
fn slope(f: impl Fn(&Var) -> Result<Var>, x: f64) -> f64 {
    let derive = |x: &Var| -> Result<Vec<Var>> { grad(&[&f(x)?], &[x]) };
    let by_tape = number(&derive(&leaf(x)).unwrap()[0]);
    let program = Program::build(&[("x", Var::scalar(x).ty())], |x| derive(&x[0])).unwrap();
    let by_program = number(&program.apply(&[&Var::scalar(x)]).unwrap()[0]);
    assert_eq!(by_tape, by_program);
    by_tape
}

/// The errors of `f` on a leaf and while building.
#[track_caller]
fn errors(f: impl Fn(&Var) -> Result<Vec<Var>>) -> [Error; 2] {
    let ty = Var::scalar(0.0f64).ty();
    let built = Program::build(&[("x", ty)], |x| f(&x[0])).unwrap_err();
    [f(&leaf(2.0)).unwrap_err(), built]
}

#[test]
fn backward_accumulates_until_zeroed() {
    let x = leaf(3.0);
    assert!(x.grad().is_none());
    (&x * &x).backward().unwrap();
    assert_eq!(number(&x.grad().unwrap()), 6.0);
    (&x * 2.0).backward().unwrap();
    assert_eq!(number(&x.grad().unwrap()), 8.0);
    x.zero_grad();
    assert!(x.grad().is_none());
}

#[test]
fn backward_accumulates_while_building() {
    let program = Program::build(&[("x", Var::scalar(0.0f64).ty())], |x| {
        let x = x[0].track()?;
        (&x * &x).backward()?;
        (&x * 2.0).backward()?;
        let sum = x.grad().expect("backward reached the leaf");
        x.zero_grad();
        assert!(x.grad().is_none());
        exp(&x)?.backward()?;
        Ok(vec![sum, x.grad().expect("backward reached the leaf")])
    })
    .unwrap();
    let out = program.apply(&[&Var::scalar(3.0f64)]).unwrap();
    assert_eq!((number(&out[0]), number(&out[1])), (8.0, 3f64.exp()));
}

#[test]
fn backward_reaches_every_leaf_and_shared_ones_once() {
    let (x, y) = (leaf(2.0), leaf(5.0));
    let shared = &x * &y;
    (&shared * &shared + &x).backward().unwrap();
    assert_eq!(number(&x.grad().unwrap()), 2.0 * 10.0 * 5.0 + 1.0);
    assert_eq!(number(&y.grad().unwrap()), 2.0 * 10.0 * 2.0);
}

#[test]
fn a_tape_is_freed_by_the_walk_unless_it_is_kept() {
    let x = leaf(2.0);
    let y = exp(&x).unwrap() * &x;
    y.backward_with(None, KEEP).unwrap();
    y.backward().unwrap();
    assert_eq!(number(&x.grad().unwrap()), 2.0 * (2f64.exp() + 2.0 * 2f64.exp()));
    let error = y.backward().unwrap_err().to_string();
    assert!(error.contains("was freed by an earlier backward pass"), "{error}");
    assert!(error.contains("retain_graph"), "{error}");
    assert!(error.contains("autograd.rs"), "{error}");
}

#[test]
fn what_is_not_a_scalar_needs_a_seed() {
    let x = Var::of(&[1.0, 2.0], &[2]).unwrap().track().unwrap();
    let y = &x * &x;
    let error = y.backward().unwrap_err().to_string();
    assert!(error.contains("the output is f64[2], not a scalar"), "{error}");
    let seed = Var::of(&[10.0, 100.0], &[2]).unwrap();
    y.backward_with(Some(&seed), KEEP).unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), [20.0, 400.0]);
    let short = Var::of(&[1.0], &[1]).unwrap();
    let error = y.backward_with(Some(&short), KEEP).unwrap_err().to_string();
    assert!(error.contains("the seed is f64[1], but the output is f64[2]"), "{error}");
}

#[test]
fn what_is_no_float_has_no_gradient() {
    let error = Var::scalar(1i64).track().unwrap_err().to_string();
    assert!(error.contains("i64[] has no gradient"), "{error}");
    for error in errors(|x| grad(&[&gt(x, &Var::scalar(0.0))?], &[x])) {
        assert!(error.to_string().contains("bool[] has no gradient"), "{error}");
    }
}

#[test]
fn what_is_not_differentiable_is_refused_at_the_users_line() {
    register_host("test.opaque", |x| Ok(vec![x[0].clone()]));
    let line = line!() + 2;
    for error in errors(|x| {
        let y = host_call("test.opaque", &[x], &[x.ty()], None)?;
        grad(&[&(&y[0] * 2.0)], &[x])
    }) {
        let text = error.to_string();
        assert!(text.contains("`host_call` is not differentiable"), "{text}");
        assert!(text.contains("registered without a gradient"), "{text}");
        let at = error.loc().unwrap();
        assert_eq!((&*at.file(), at.line()), (file!(), line), "{text}");
    }
}

#[test]
fn what_is_not_differentiable_may_stand_beside_the_path() {
    register_host("test.beside", |x| Ok(vec![x[0].clone()]));
    let f = |x: &Var| {
        let y = host_call("test.beside", &[&x.detach()], &[x.ty()], None)?;
        Ok(&y[0] * x)
    };
    assert_eq!(slope(f, 3.0), 3.0);
}

#[test]
fn nothing_is_recorded_without_gradients() {
    let x = leaf(2.0);
    let y = {
        let _no_grad = no_grad();
        let y = &x * 2.0;
        assert!(!y.is_tracked());
        let _again = enable_grad();
        assert!((&x * 2.0).is_tracked());
        y
    };
    assert!((&x * 2.0).is_tracked());
    let error = y.backward().unwrap_err().to_string();
    assert!(error.contains("reaches no tracked value"), "{error}");
}

#[test]
fn gradients_stop_where_they_are_told_to() {
    assert_eq!(slope(|x| Ok(x * stop_gradient(x)?), 3.0), 3.0);
    assert_eq!(slope(|x| Ok(x * x.detach() * x), 3.0), 2.0 * 9.0);
    for error in errors(|x| grad(&[&x.detach()], &[x])) {
        assert!(
            error.to_string().contains("depend") || error.to_string().contains("tape"),
            "{error}"
        );
    }
}

#[test]
fn derivatives_that_are_zero_are_zeros() {
    assert_eq!(slope(|x| floor(x), 2.5), 0.0);
    assert_eq!(slope(|x| Ok(floor(x)? * x), 2.5), 2.0);
}

#[test]
fn a_value_that_nothing_depends_on_is_an_error() {
    let other = leaf(1.0);
    let error = grad(&[&(leaf(2.0) * 2.0)], &[&other]).unwrap_err().to_string();
    assert!(error.contains("no output depends on value 0"), "{error}");
    assert!(error.contains("autograd.rs"), "{error}");
    let ty = other.ty();
    let inputs = [("x", ty), ("unused", ty)];
    let built = Program::build(&inputs, |x| grad(&[&(&x[0] * 2.0)], &[&x[0], &x[1]]));
    let error = built.unwrap_err().to_string();
    assert!(error.contains("no output depends on value 1"), "{error}");
    let x = leaf(2.0);
    let found = vjp(&[&(&x * 2.0)], &[None], &[&other, &x], GradOptions::default()).unwrap();
    assert!(found[0].is_none() && found[1].is_some());
}

#[test]
fn gradients_of_gradients_to_third_order() {
    let derive = |x: &Var| -> Result<Vec<Var>> {
        let y = sin(x)? * x;
        let first = grad_with(&[&y], &[x], GRAPH)?.remove(0);
        let second = grad_with(&[&first], &[x], GRAPH)?.remove(0);
        let third = grad_with(&[&second], &[x], GRAPH)?.remove(0);
        Ok(vec![first, second, third])
    };
    let x = 0.7f64;
    let expected =
        [x.sin() + x * x.cos(), 2.0 * x.cos() - x * x.sin(), -3.0 * x.sin() - x * x.cos()];
    let by_tape = derive(&leaf(x)).unwrap();
    let program = Program::build(&[("x", leaf(x).ty())], |x| derive(&x[0])).unwrap();
    let by_program = program.apply(&[&Var::scalar(x)]).unwrap();
    for found in [by_tape, by_program] {
        for (found, expected) in found.iter().zip(expected) {
            assert!((number(found) - expected).abs() < 1e-12, "{found:?} {expected}");
        }
    }
}

#[test]
fn gradients_are_not_recorded_unless_asked_for() {
    let x = leaf(2.0);
    let plain = grad_with(&[&(&x * &x)], &[&x], KEEP).unwrap();
    assert!(!plain[0].is_tracked());
    let with_graph = grad_with(&[&(&x * &x)], &[&x], GRAPH).unwrap();
    assert!(with_graph[0].is_tracked());
}

#[test]
fn values_between_can_be_asked_for() {
    let derive = |x: &Var| -> Result<Vec<Var>> {
        let middle = x * x;
        let y = &middle * &middle * x;
        grad(&[&y], &[&middle, x])
    };
    let by_tape = derive(&leaf(3.0)).unwrap();
    let program = Program::build(&[("x", leaf(0.0).ty())], |x| derive(&x[0])).unwrap();
    let by_program = program.apply(&[&Var::scalar(3.0f64)]).unwrap();
    for found in [by_tape, by_program] {
        assert_eq!(number(&found[0]), 2.0 * 9.0 * 3.0);
        assert_eq!(number(&found[1]), 5.0 * 81.0);
    }
}

#[test]
fn a_value_can_be_asked_for_twice_and_be_the_output_itself() {
    let derive = |x: &Var| -> Result<Vec<Var>> {
        let y = x * x;
        grad(&[&y, &y], &[x, &y, x])
    };
    let by_tape = derive(&leaf(3.0)).unwrap();
    let program = Program::build(&[("x", leaf(0.0).ty())], |x| derive(&x[0])).unwrap();
    let by_program = program.apply(&[&Var::scalar(3.0f64)]).unwrap();
    for found in [by_tape, by_program] {
        let found: Vec<f64> = found.iter().map(number).collect();
        assert_eq!(found, [12.0, 2.0, 12.0]);
    }
}

#[test]
fn a_parameter_is_one_leaf_however_often_it_is_read() {
    let state = State::new();
    let _scope = state.enter();
    state.insert("w", Role::Parameter, Tensor::scalar(3.0f64)).unwrap();
    let loss = || -> Result<Var> { (read_state("w")? * read_state("w")? * 2.0).check() };
    loss().unwrap().backward().unwrap();
    assert_eq!(number(&read_state("w").unwrap().grad().unwrap()), 12.0);
    // The gradient outlives the value it was taken for.
    assign_state("w", &Var::scalar(1.0f64)).unwrap();
    loss().unwrap().backward().unwrap();
    assert_eq!(number(&state.read("w").unwrap().grad().unwrap()), 16.0);

    let program = Program::build(&[], |_| grad(&[&loss()?], &[&read_state("w")?])).unwrap();
    let found = program.apply(&[]).unwrap();
    assert_eq!(number(&found[0]), 4.0);
}

#[test]
fn a_tape_keeps_the_numbers_it_has_seen() {
    let state = State::new();
    let _scope = state.enter();
    let two = Tensor::from_slice(&[2.0, 2.0], &[2]).unwrap();
    state.insert("w", Role::Parameter, two).unwrap();
    let w = read_state("w").unwrap();
    let y = sum(&(&w * &w), &[], false).unwrap();
    let change = |w: &mut Tensor| {
        w.as_mut_slice::<f64>()?.fill(100.0);
        Ok(())
    };
    state.update("w", change).unwrap();
    assert_eq!(state.tensor("w").unwrap().to_f64s(), [100.0, 100.0]);
    y.backward().unwrap();
    assert_eq!(state.read("w").unwrap().grad().unwrap().to_vec::<f64>().unwrap(), [4.0, 4.0]);
}

#[test]
fn hooks_see_gradients_in_both_modes() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let f = |x: &Var| {
        let middle = (x * x).check()?;
        middle.register_hook(|dy| {
            SEEN.fetch_add(1, Ordering::Relaxed);
            assert_eq!(dy.ty().to_string(), "f64[]");
            Ok(None)
        })?;
        Ok(&middle * 3.0 + &middle)
    };
    assert_eq!(slope(f, 2.0), 16.0);
    assert_eq!(SEEN.load(Ordering::Relaxed), 2, "once on the tape, once while building");
}

#[test]
fn hooks_replace_gradients_in_both_modes() {
    let on_middle = |x: &Var| {
        let middle = (x * x).check()?;
        middle.register_hook(|dy| (dy * 10.0).check().map(Some))?;
        middle.register_hook(|dy| (dy + 1.0).check().map(Some))?;
        Ok(&middle * 3.0)
    };
    assert_eq!(slope(on_middle, 2.0), (3.0 * 10.0 + 1.0) * 4.0);
    let on_leaf = |x: &Var| {
        x.register_hook(|dx| (dx * 10.0).check().map(Some))?;
        Ok(x * x)
    };
    assert_eq!(slope(on_leaf, 2.0), 40.0);
}

#[test]
fn a_hook_is_called_once_for_a_value_asked_for_twice() {
    let derive = |x: &Var| -> Result<Vec<Var>> {
        x.register_hook(|dx| (dx * 10.0).check().map(Some))?;
        grad(&[&(x * x)], &[x, x])
    };
    let by_tape = derive(&leaf(2.0)).unwrap();
    let program = Program::build(&[("x", leaf(0.0).ty())], |x| derive(&x[0])).unwrap();
    let by_program = program.apply(&[&Var::scalar(2.0f64)]).unwrap();
    for found in [by_tape, by_program] {
        assert_eq!((number(&found[0]), number(&found[1])), (40.0, 40.0));
    }
}

#[test]
fn hooks_are_checked() {
    let wrong = |x: &Var| -> Result<Vec<Var>> {
        let middle = (x * x).check()?;
        middle.register_hook(|_| Var::of(&[1.0, 2.0], &[2]).map(Some))?;
        grad(&[&(&middle * 3.0)], &[x])
    };
    for error in errors(wrong) {
        assert!(error.to_string().contains("a gradient hook returned f64[2]"), "{error}");
    }
    let on_leaf = |x: &Var| -> Result<Vec<Var>> {
        x.register_hook(|_| Var::of(&[1.0, 2.0], &[2]).map(Some))?;
        grad(&[&(x * 3.0)], &[x])
    };
    for error in errors(on_leaf) {
        assert!(error.to_string().contains("a gradient hook returned f64[2]"), "{error}");
    }
    let error = Var::scalar(1.0f64).register_hook(|_| Ok(None)).unwrap_err().to_string();
    assert!(error.contains("that no gradient reaches"), "{error}");
}

#[test]
fn versions_of_a_leaf_share_gradient_and_hooks() {
    let x = leaf(2.0);
    let handle = x.register_hook(|dx| (dx * 10.0).check().map(Some)).unwrap();
    let y = (&x * 3.0).check().unwrap();
    let next = Var::scalar(5.0f64).track_as(&x).unwrap();
    y.backward().unwrap();
    (&next * &next).check().unwrap().backward().unwrap();
    assert_eq!(number(&next.grad().unwrap()), 130.0);
    assert_eq!(number(&x.grad().unwrap()), 130.0);
    handle.remove();
    next.zero_grad();
    (&next * 2.0).check().unwrap().backward().unwrap();
    assert_eq!(number(&next.grad().unwrap()), 2.0);
}

#[test]
fn a_hook_on_a_cell_survives_updates_in_both_modes() {
    let cell = Cell::of("w", Role::Parameter, Tensor::scalar(3.0f64));
    let handle = cell.register_hook(|dw| (dw * 10.0).check().map(Some));
    let slope = || -> Result<Vec<Var>> {
        let w = cell.read()?;
        grad(&[&(&w * &w)], &[&w])
    };
    assert_eq!(number(&slope().unwrap()[0]), 60.0);
    cell.assign(&Var::scalar(4.0f64)).unwrap();
    assert_eq!(number(&slope().unwrap()[0]), 80.0);
    let built = || Program::build(&[], |_| slope()).unwrap();
    let program = built();
    assert_eq!(number(&program.apply(&[]).unwrap()[0]), 80.0);
    handle.remove();
    assert_eq!(number(&slope().unwrap()[0]), 8.0);
    assert_eq!(number(&built().apply(&[]).unwrap()[0]), 8.0);
    assert_eq!(
        number(&program.apply(&[]).unwrap()[0]),
        80.0,
        "a program keeps the hooks it was built with"
    );
}

#[test]
fn hooks_on_a_wanted_value_between() {
    let derive = |x: &Var| -> Result<Vec<Var>> {
        let middle = (x * x).check()?;
        middle.register_hook(|dy| (dy * 10.0).check().map(Some))?;
        grad(&[&(&middle * 3.0)], &[&middle, x])
    };
    let by_tape = derive(&leaf(2.0)).unwrap();
    let program = Program::build(&[("x", leaf(0.0).ty())], |x| derive(&x[0])).unwrap();
    let by_program = program.apply(&[&Var::scalar(2.0f64)]).unwrap();
    for found in [by_tape, by_program] {
        assert_eq!((number(&found[0]), number(&found[1])), (30.0, 120.0));
    }
}

#[test]
fn a_tracked_tensor_is_refused_while_building() {
    let tracked = Var::of(&[1.0, 2.0], &[2]).unwrap().track().unwrap();
    let line = line!() + 1;
    let error = Program::build(&[("x", tracked.ty())], |x| Ok(vec![(&x[0] * &tracked).check()?]))
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("tracked for gradients was used while building"), "{text}");
    assert!(text.contains("make it a state"), "{text}");
    assert_eq!(error.loc().map(Loc::line), Some(line), "{text}");
    let detached = tracked.detach();
    assert!(Program::build(&[("x", tracked.ty())], |x| Ok(vec![&x[0] * &detached])).is_ok());
}

#[test]
fn a_failed_operator_carries_its_line_to_the_next_call() {
    let (a, b) = (Var::of(&[1.0; 3], &[3]).unwrap(), Var::of(&[1.0; 2], &[2]).unwrap());
    let line = line!() + 1;
    let failed = (&a + &b) * 2.0;
    let error = exp(&failed).unwrap_err();
    assert!(error.to_string().contains("add(f64[3], f64[2])"), "{error}");
    assert_eq!(error.loc().map(Loc::line), Some(line));
}

#[test]
fn a_program_keeps_the_users_lines() {
    let line = line!() + 2;
    let program = Program::build(&[("x", Var::of(&[1.0; 2], &[2]).unwrap().ty())], |x| {
        Ok(vec![sum(&(&x[0] * 3.0), &[], false)?])
    })
    .unwrap();
    let appended = line!() + 1;
    let with_gradient = program.append_backward("out0", &["x"]).unwrap();
    for (program, lines) in [(&program, &[line][..]), (&with_gradient, &[line, appended])] {
        for call in &program.main.calls {
            let is_known = &*call.loc.file() == file!() && lines.contains(&call.loc.line());
            assert!(is_known, "{} at {}", call.op.name(), call.loc);
        }
    }
}

#[test]
fn handles_cross_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Var>();
    is_send_and_sync::<Program>();
    is_send_and_sync::<State>();
    is_send_and_sync::<OpRef>();
    is_send_and_sync::<Error>();
    is_send_and_sync::<Tensor>();
}

#[test]
fn one_program_runs_on_two_threads() {
    let ty = Var::of(&[0.0; 64], &[64]).unwrap().ty();
    let program = Program::build(&[("x", ty)], |x| Ok(vec![sum(&exp(&sin(&x[0])?)?, &[], false)?]));
    let program = Arc::new(program.unwrap().append_backward("out0", &["x"]).unwrap());
    let run = |program: Arc<Program>| {
        let elements: Vec<f64> = (0..64).map(|i| f64::from(i) * 0.1).collect();
        let x = Var::of(&elements, &[64]).unwrap();
        (0..50)
            .map(|_| program.apply(&[&x]).unwrap()[1].to_vec::<f64>().unwrap())
            .collect::<Vec<_>>()
    };
    let other = program.clone();
    let thread = std::thread::spawn(move || run(other));
    let here = run(program);
    assert_eq!(thread.join().unwrap(), here);
}

#[test]
fn a_tape_made_on_two_threads_is_walked_on_one() {
    let x = leaf(2.0);
    let shared = x.clone();
    let y = std::thread::spawn(move || (exp(&shared).unwrap() * &shared).check().unwrap())
        .join()
        .unwrap();
    (y * &x).backward().unwrap();
    assert_eq!(number(&x.grad().unwrap()), 2f64.exp() * 4.0 + 2.0 * 2.0 * 2f64.exp());
}
