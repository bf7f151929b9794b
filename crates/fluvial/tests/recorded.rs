//! Compiled programs on the tape: they stay compiled, and outputs and gradients have the bits of op by op.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fluvial::core::{Value, history, scope};
use fluvial::prelude::*;
use fluvial::runtime::{Observer, Step};

fn f64s(dims: &[usize]) -> Type {
    Type::of(DType::F64, dims).unwrap()
}

fn ramp(dims: &[usize]) -> Var {
    let n: usize = dims.iter().product();
    let values: Vec<f64> = (0..n).map(|i| ((i * 37 + 11) % 64) as f64 / 32.0 - 1.0).collect();
    Var::of(&values, dims).unwrap()
}

fn bits(var: &Var) -> Vec<u64> {
    var.to_vec::<f64>().unwrap().into_iter().map(f64::to_bits).collect()
}

fn total(x: &Var) -> Result<Var> {
    sum(x, &[], false)
}

/// Outputs and gradients of a program on leaves, applied op by op or compiled; three times, so that every way of
/// a recorded call is taken.
fn outputs_and_gradients(program: &Program, xs: &[Var], compiled: bool) -> Result<Vec<Vec<u64>>> {
    let _scope = State::new().enter();
    let executor = Executor::new(program, fluvial::core::state::current())?;
    let mut found = Vec::new();
    for _ in 0..3 {
        let leaves = xs.iter().map(|x| x.track()).collect::<Result<Vec<Var>>>()?;
        let refs: Vec<&Var> = leaves.iter().collect();
        let outputs = match compiled {
            true => executor.apply(&refs)?,
            false => program.apply(&refs)?,
        };
        if compiled {
            assert_eq!(history(&outputs[0]), ["program"]);
        }
        found.extend(outputs.iter().map(bits));
        total(&outputs[0])?.backward()?;
        found.extend(
            leaves.iter().map(|leaf| leaf.grad().map(|grad| bits(&grad)).unwrap_or_default()),
        );
    }
    Ok(found)
}

fn agree(inputs: &[Var], f: impl FnOnce(&[Var]) -> Result<Vec<Var>>) -> Result<()> {
    let names: Vec<String> = (0..inputs.len()).map(|i| format!("x{i}")).collect();
    let named: Vec<(&str, Type)> =
        names.iter().zip(inputs).map(|(name, x)| (name.as_str(), x.ty())).collect();
    let program = Program::build(&named, f)?;
    let expected = outputs_and_gradients(&program, inputs, false)?;
    assert_eq!(outputs_and_gradients(&program, inputs, true)?, expected);
    Ok(())
}

#[test]
fn outputs_and_gradients_have_the_bits_of_op_by_op() -> Result<()> {
    agree(&[ramp(&[3, 4]), ramp(&[4, 2])], |x| {
        let y = tanh(&matmul(&x[0], &x[1])?)?;
        Ok(vec![softmax(&(&y * &y + 1.0), 1)?, &x[0] * 2.0])
    })
}

#[test]
fn loops_and_branches_are_part_of_the_node() -> Result<()> {
    agree(&[ramp(&[3])], |x| {
        let doubled = while_loop(
            &[&x[0]],
            |v| lt(&total(&v[0])?, &Var::scalar(10.0)),
            |v| Ok(vec![&v[0] * &v[0] + 1.0]),
        )?;
        let is_large = gt(&total(&doubled[0])?, &Var::scalar(1.0))?;
        let y = doubled[0].clone();
        cond(&is_large, || Ok(vec![sin(&y)?]), || Ok(vec![cos(&y)?]))
    })
}

#[test]
fn draws_are_the_same_on_the_way_back() -> Result<()> {
    agree(&[ramp(&[64])], |x| Ok(vec![dropout(&x[0], 0.5)?, &x[0] + 1.0]))
}

#[test]
fn open_sizes_are_known_on_the_way_back() -> Result<()> {
    let n = Dim::symbol("n")?;
    let ty = Type::new(DType::F64, &[n, Dim::size(2)])?;
    let program = Program::build(&[("x", ty)], |x| Ok(vec![mean(&(&x[0] * &x[0]), &[], false)?]))?;
    for rows in [1, 5] {
        let x = [ramp(&[rows, 2])];
        let expected = outputs_and_gradients(&program, &x, false)?;
        assert_eq!(outputs_and_gradients(&program, &x, true)?, expected);
    }
    let chosen = Program::build(&[("x", Type::new(DType::F64, &[n])?)], |x| {
        let positive = masked_select(&x[0], &gt(&x[0], &Var::scalar(0.0))?)?;
        Ok(vec![&positive * &positive, mean(&positive, &[], false)?])
    })?;
    let x = [ramp(&[9])];
    let expected = outputs_and_gradients(&chosen, &x, false)?;
    assert_eq!(outputs_and_gradients(&chosen, &x, true)?, expected);
    Ok(())
}

/// A parameter times an input.
fn scaled(ty: Type) -> Result<Program> {
    Program::build(&[("x", ty)], |x| {
        let w =
            declare_state("w", ty, Role::Parameter, || fluvial::core::structural::fill(3.0, &ty))?;
        Ok(vec![total(&(&x[0] * &w))?])
    })
}

#[test]
fn parameters_are_leaves_of_the_node() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let executor = Executor::new(&scaled(f64s(&[2]))?, state.clone())?;
    let x = Var::of(&[2.0, 5.0], &[2])?;
    for times in 1..=3 {
        let loss = executor.apply(&[&x])?.remove(0);
        assert_eq!(history(&loss), ["program"]);
        loss.backward()?;
        let grad = state.read("w")?.grad().unwrap().to_vec::<f64>()?;
        assert_eq!(grad, [2.0 * times as f64, 5.0 * times as f64]);
    }
    let _no_grad = no_grad();
    assert!(!executor.apply(&[&x])?[0].is_tracked());
    Ok(())
}

#[test]
fn what_an_output_does_not_depend_on_has_no_gradient() -> Result<()> {
    let program = Program::build(&[("x", f64s(&[])), ("y", f64s(&[]))], |x| {
        Ok(vec![&x[0] * 2.0, &x[1] * 3.0, floor(&x[0])?])
    })?;
    let executor = Executor::new(&program, State::new())?;
    let (x, y) = (Var::scalar(1.5).track()?, Var::scalar(2.0).track()?);
    let outputs = executor.apply(&[&x, &y])?;
    let error = grad(&[&outputs[0]], &[&y]).unwrap_err().to_string();
    assert!(error.contains("no output depends on value 0"), "{error}");
    let outputs = executor.apply(&[&x, &y])?;
    assert_eq!(grad(&[&outputs[2]], &[&x])?[0].item::<f64>()?, 0.0);
    let outputs = executor.apply(&[&x, &y])?;
    (&outputs[2] + 0.0).backward()?;
    assert!(x.grad().is_none());
    // An untracked input beside a tracked one: only what depends on the tracked one is tracked.
    let outputs = executor.apply(&[&x, &Var::scalar(1.0)])?;
    assert_eq!(outputs.iter().map(Var::is_tracked).collect::<Vec<_>>(), [true, false, true]);
    Ok(())
}

#[test]
fn second_derivatives() -> Result<()> {
    let program = Program::build(&[("x", f64s(&[2]))], |x| {
        Ok(vec![total(&(&(&x[0] * &x[0]) * &exp(&x[0])?))?])
    })?;
    let executor = Executor::new(&program, State::new())?;
    let second = |apply: &dyn Fn(&Var) -> Result<Var>| -> Result<Vec<f64>> {
        let x = Var::of(&[0.5, 1.25], &[2])?.track()?;
        let options = GradOptions { create_graph: true, ..GradOptions::default() };
        let first = grad_with(&[&apply(&x)?], &[&x], options)?.remove(0);
        let again = grad_with(&[&total(&(&first * &first))?], &[&x], options)?.remove(0);
        grad(&[&total(&again)?], &[&x])?[0].to_vec()
    };
    let expected = second(&|x| Ok(program.apply(&[x])?.remove(0)))?;
    for _ in 0..3 {
        let found = second(&|x| Ok(executor.apply(&[x])?.remove(0)))?;
        for (found, expected) in found.iter().zip(&expected) {
            // Sums are made in another order.
            assert!((found / expected - 1.0).abs() < 1e-14, "{found} {expected}");
        }
    }
    Ok(())
}

#[test]
fn states_are_assigned_once_and_carry_no_gradient() -> Result<()> {
    let ty = f64s(&[]);
    let program = Program::build(&[("x", ty)], |x| {
        let n = declare_state("n", ty, Role::Counter, || Ok(Var::scalar(0.0)))?;
        assign_state("n", &(&n + &x[0]))?;
        Ok(vec![&x[0] * &read_state("n")?])
    })?;
    let state = State::new();
    let _scope = state.enter();
    let executor = Executor::new(&program, state.clone())?;
    for trip in 1..=4 {
        let x = Var::scalar(2.0).track()?;
        let y = executor.apply(&[&x])?.remove(0);
        assert_eq!(state.tensor("n")?.item::<f64>()?, 2.0 * trip as f64);
        y.backward()?;
        assert_eq!(x.grad().unwrap().item::<f64>()?, 2.0 * trip as f64);
        assert_eq!(state.tensor("n")?.item::<f64>()?, 2.0 * trip as f64);
    }
    Ok(())
}

#[test]
fn effects_happen_once() -> Result<()> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    register_host("recorded.double", |x| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        Ok(vec![(Var::from(x[0].clone()) * 2.0).tensor()?.clone()])
    });
    register_host("recorded.back", |x| Ok(vec![(Var::from(x[1].clone()) * 2.0).tensor()?.clone()]));
    let program = Program::build(&[("x", f64s(&[]))], |x| {
        let y = host_call("recorded.double", &[&x[0]], &[x[0].ty()], Some("recorded.back"))?;
        let beside = host_call("recorded.double", &[&x[0]], &[x[0].ty()], None)?;
        Ok(vec![&y[0] * &y[0], &x[0] * 5.0, stop_gradient(&beside[0])?])
    })?;
    let executor = Executor::new(&program, State::new())?;
    for trip in 1..=3 {
        let x = Var::scalar(3.0).track()?;
        let outputs = executor.apply(&[&x])?;
        (&outputs[0] + &outputs[1]).backward()?;
        assert_eq!(x.grad().unwrap().item::<f64>()?, 24.0 + 5.0);
        assert_eq!(CALLS.load(Ordering::Relaxed), 2 * trip);
    }
    let x = Var::scalar(3.0).track()?;
    let options = GradOptions { create_graph: true, ..GradOptions::default() };
    let error = grad_with(&[&executor.apply(&[&x])?[0]], &[&x], options).unwrap_err().to_string();
    assert!(error.contains("cannot be run again"), "{error}");
    Ok(())
}

#[test]
fn an_effect_beside_the_path_is_not_repeated() -> Result<()> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    register_host("recorded.look", |_| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        Ok(vec![])
    });
    let program = Program::build(&[("x", f64s(&[]))], |x| {
        host_call("recorded.look", &[&x[0]], &[], None)?;
        Ok(vec![&x[0] * &x[0]])
    })?;
    let executor = Executor::new(&program, State::new())?;
    for trip in 1..=3 {
        let x = Var::scalar(3.0).track()?;
        executor.apply(&[&x])?[0].backward()?;
        assert_eq!((x.grad().unwrap().item::<f64>()?, CALLS.load(Ordering::Relaxed)), (6.0, trip));
    }
    Ok(())
}

#[test]
fn hooks_outside_see_the_gradients() -> Result<()> {
    let program = Program::build(&[("x", f64s(&[]))], |x| Ok(vec![&x[0] * &x[0]]))?;
    let executor = Executor::new(&program, State::new())?;
    let x = Var::scalar(3.0).track()?;
    let y = executor.apply(&[&x])?.remove(0);
    y.register_hook(|grad| Ok(Some(grad * 10.0)))?;
    y.backward()?;
    assert_eq!(x.grad().unwrap().item::<f64>()?, 60.0);
    Ok(())
}

/// Counts the steps of runs, by the names of their ops.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Observer for Counter {
    fn after(&self, _: &Step<'_>, _: &[Value]) -> Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn a_recorded_call_runs_the_compiled_steps_and_nothing_op_by_op() -> Result<()> {
    let program = Program::build(&[("x", f64s(&[100]))], |x| {
        Ok(vec![(0..20).fold(x[0].clone(), |y, _| tanh(&(y * 0.5 + 1.0)).unwrap())])
    })?;
    let executor = Executor::new(&program, State::new())?;
    let bound = Arc::new(AtomicUsize::new(0));
    let x = ramp(&[100]).track()?;
    for trip in 0..3 {
        let counter = Counter::default();
        let seen = bound.clone();
        let watch = scope::watch(Box::new(move |_| {
            seen.fetch_add(1, Ordering::Relaxed);
        }));
        let y = executor.call().observe(&counter).apply(vec![x.clone()])?.remove(0);
        drop(watch);
        assert_eq!(history(&y), ["program"]);
        let steps = counter.0.load(Ordering::Relaxed);
        assert!(steps <= 1 + 2 * usize::from(trip > 0), "{steps} steps in trip {trip}");
        total(&y)?.backward()?;
    }
    assert_eq!(bound.load(Ordering::Relaxed), 0);
    Ok(())
}

#[test]
fn what_is_given_away_stays_with_a_recorded_call() -> Result<()> {
    let program = Program::build(&[("x", f64s(&[1000]))], |x| Ok(vec![&x[0] * &x[0]]))?;
    let executor = Executor::new(&program, State::new())?;
    let leaf = ramp(&[1000]).track()?;
    let x = &leaf + 0.5;
    let expected: Vec<f64> = x.to_vec::<f64>()?.iter().map(|x| 2.0 * x).collect();
    let y = executor.call().donate().apply(vec![x])?.remove(0);
    total(&y)?.backward()?;
    assert_eq!(leaf.grad().unwrap().to_vec::<f64>()?, expected);
    Ok(())
}

#[test]
fn the_tape_can_be_kept_and_is_freed() -> Result<()> {
    let program = Program::build(&[("x", f64s(&[]))], |x| Ok(vec![&x[0] * &x[0]]))?;
    let executor = Executor::new(&program, State::new())?;
    for _ in 0..2 {
        let x = Var::scalar(3.0).track()?;
        let y = executor.apply(&[&x])?.remove(0);
        y.backward_with(None, GradOptions { retain_graph: true, ..GradOptions::default() })?;
        y.backward()?;
        assert_eq!(x.grad().unwrap().item::<f64>()?, 12.0);
        let error = y.backward().unwrap_err();
        assert!(error.to_string().contains("freed by an earlier backward pass"), "{error}");
    }
    Ok(())
}

#[test]
fn in_a_program_being_built_it_is_inlined() -> Result<()> {
    let inner = Program::build(&[("x", f64s(&[]))], |x| Ok(vec![&x[0] * &x[0]]))?;
    let executor = Executor::new(&inner, State::new())?;
    let outer = Program::build(&[("x", f64s(&[]))], |x| executor.apply(&[&x[0]]))?;
    assert_eq!(outer.main.calls.iter().map(|call| call.op.name()).collect::<Vec<_>>(), ["mul"]);
    Ok(())
}

#[test]
fn what_has_no_derivative_is_refused_when_it_is_asked_for() -> Result<()> {
    register_host("recorded.opaque", |x| Ok(x.to_vec()));
    let program = Program::build(&[("x", f64s(&[]))], |x| {
        host_call("recorded.opaque", &[&x[0]], &[x[0].ty()], None)
    })?;
    let executor = Executor::new(&program, State::new())?;
    let x = Var::scalar(3.0).track()?;
    let y = executor.apply(&[&x])?.remove(0);
    assert_eq!(y.item::<f64>()?, 3.0);
    let error = y.backward().unwrap_err().to_string();
    assert!(error.contains("`host_call` is not differentiable"), "{error}");
    assert!(error.contains("recorded.rs"), "{error}");
    Ok(())
}

#[test]
fn hooks_registered_inside_are_called_on_the_way_back() -> Result<()> {
    let program = Program::build(&[("x", f64s(&[]))], |x| {
        let y = &x[0] * &x[0];
        y.register_hook(|grad| Ok(Some(grad * 10.0)))?;
        Ok(vec![&y * 3.0])
    })?;
    let executor = Executor::new(&program, State::new())?;
    for _ in 0..3 {
        let x = Var::scalar(2.0).track()?;
        executor.apply(&[&x])?[0].backward()?;
        assert_eq!(x.grad().unwrap().item::<f64>()?, 120.0);
        let x = Var::scalar(2.0).track()?;
        program.apply(&[&x])?[0].backward()?;
        assert_eq!(x.grad().unwrap().item::<f64>()?, 120.0);
    }
    Ok(())
}
