//! Gradients, by what the op says of its own, and programs along with them.

use fluvial_core::{
    DType, Error, Grad, GradOptions, Loc, OpRef, Program, Result, Type, Value, Var, vjp,
};

use super::{Call, bind_here};
use crate::check::{Check, Context, Failure, Tolerance, all, close, ensure, flatten, has_gradient};
use crate::gradcheck::{energy, gradients};
use crate::modes::{Agreement, Modes};

/// How far gradients are taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    None = 0,
    First = 1,
    Second = 2,
}

/// How far gradients of the call can be taken.
pub(super) fn order_of(call: &Call) -> Order {
    match call.op.grad() {
        _ if call.floats().is_empty() => Order::None,
        Grad::Rule(..) | Grad::Totals(..) | Grad::Zero => Order::Second,
        Grad::Stop | Grad::NonDifferentiable(_) => Order::None,
    }
}

/// Checks that both modes agree on the call and its gradients; without differences.
pub(super) fn in_both_modes(call: &Call, order: Order) -> Check<Agreement> {
    modes_of(call, order, None).without_differences().without_replays().try_check(&call.inputs)
}

/// The same with another op and other types in programs, where sizes may be symbols.
pub(super) fn in_both_modes_as(call: &Call, order: Order, op: &OpRef, types: &[Type]) -> Check {
    let modes = modes_of(call, order, Some((op, types)));
    modes.without_differences().try_check(&call.inputs).map(drop)
}

fn modes_of<'a>(
    call: &'a Call,
    order: Order,
    symbolic: Option<(&'a OpRef, &'a [Type])>,
) -> Modes<'a> {
    let modes = Modes::of(move |x| {
        let op = match symbolic {
            Some((op, _)) if x.iter().any(Var::is_symbolic) => op,
            _ => &call.op,
        };
        bind_here(op, x).0.map(|outputs| outputs.into_vec())
    })
    .order(order as usize);
    match symbolic {
        Some((_, types)) => modes.types(types),
        None => modes,
    }
}

/// The outputs of a call that an op may refuse: both modes must refuse it, or agree.
pub(super) fn outcome_in_both_modes(call: &Call) -> Check<Option<Vec<Value>>> {
    match call.outputs() {
        Ok(_) => {
            call.run()?;
            in_both_modes(call, order_of(call).min(Order::First)).map(|agreed| Some(agreed.outputs))
        }
        Err(error) => {
            let outcome = run_as_program(call);
            ensure(outcome.is_err(), || {
                format!("a program accepts what is refused here: {error}")
            })?;
            Ok(None)
        }
    }
}

fn run_as_program(call: &Call) -> Result<()> {
    let program = build(call, |x| bind_here(&call.op, x).0.map(|outputs| outputs.into_vec()))?;
    let inputs: Vec<Var> = call.inputs.iter().cloned().map(Var::new).collect();
    program.apply(&inputs.iter().collect::<Vec<_>>()).map(drop)
}

fn build(call: &Call, f: impl FnOnce(&[Var]) -> Result<Vec<Var>>) -> Result<Program> {
    let names: Vec<String> = (0..call.inputs.len()).map(|i| format!("x{i}")).collect();
    let types = call.inputs.iter().map(Value::ty);
    Program::build(&names.iter().map(String::as_str).zip(types).collect::<Vec<_>>(), f)
}

/// Checks programs and gradients of the call.
pub(super) fn check(call: &Call) -> Check {
    let outputs = call.outputs()?;
    let exact = call.inputs.iter().all(|input| {
        let dtype = input.ty().dtype();
        !dtype.is_float() || dtype == DType::F64
    });
    let modes = modes_of(call, order_of(call), None);
    let modes = if exact { modes } else { modes.without_differences() };
    let agreed = modes.try_check(&call.inputs)?;
    let floats = call.floats();
    let float_outputs: Vec<usize> =
        (0..outputs.len()).filter(|&i| has_gradient(&outputs[i].ty())).collect();
    if floats.is_empty() {
        return Ok(());
    }
    match call.op.grad() {
        Grad::Rule(..) | Grad::Totals(..) => {
            one_input_at_a_time(call, &outputs, &agreed).context("one input tracked")?;
            if float_outputs.len() > 1 {
                one_output_at_a_time(call, &float_outputs)?;
            }
            Ok(())
        }
        Grad::Zero if !float_outputs.is_empty() => zero(call, &outputs, true),
        Grad::Stop if !float_outputs.is_empty() => zero(call, &outputs, false),
        Grad::NonDifferentiable(reason) if !float_outputs.is_empty() => {
            refused(call, &outputs, reason)
        }
        _ => untracked(call),
    }
}

/// A rule must not need what is there only if other inputs are tracked, too.
fn one_input_at_a_time(call: &Call, outputs: &[Value], agreed: &Agreement) -> Check {
    for (position, &i) in call.floats().iter().enumerate() {
        let derive = |x: &[Var]| -> Result<Vec<Var>> {
            let results = bind_here(&call.op, x).0?;
            let loss = energy(&results, outputs)?;
            gradients(loss.as_ref(), &[&x[i]], GradOptions::default())
        };
        let mut inputs: Vec<Var> = call.inputs.iter().cloned().map(Var::new).collect();
        inputs[i] = inputs[i].track()?;
        let expected = [agreed.first[position].clone()];
        let same = |found: &Value, expected: &Value| close(found, expected, Tolerance::EXACT);
        let by_tape = derive(&inputs).context(format!("input {i}"))?;
        all(&concrete(&by_tape)?, &expected, same).context(format!("input {i}"))?;

        let program = build(call, derive).context(format!("input {i}, in a program"))?;
        inputs[i] = Var::new(call.inputs[i].clone());
        let by_program = program.apply(&inputs.iter().collect::<Vec<_>>())?;
        all(&concrete(&by_program)?, &expected, same)
            .context(format!("input {i}, in a program"))?;
    }
    Ok(())
}

/// A rule must cope with outputs that have no cotangent.
fn one_output_at_a_time(call: &Call, float_outputs: &[usize]) -> Check {
    for &i in float_outputs {
        let modes = Modes::of(|x| Ok(vec![bind_here(&call.op, x).0?.remove(i)]));
        modes.try_check(&call.inputs).context(format!("output {i} alone"))?;
    }
    Ok(())
}

/// An op of derivative zero gives zeros, one that stops gradients gives none, in both modes.
fn zero(call: &Call, outputs: &[Value], reached: bool) -> Check {
    let mut found = Vec::new();
    let mut derive = |x: &[Var], wrt: &[usize]| -> Result<Vec<Var>> {
        let results = bind_here(&call.op, x).0?;
        let Some(loss) = energy(&results, outputs)? else { return Ok(vec![]) };
        let wrt: Vec<&Var> = wrt.iter().map(|&i| &x[i]).collect();
        // On the tape, a value that nothing tracked leads to has no history at all.
        found = match loss.is_symbolic() || loss.is_tracked() {
            true => vjp(&[&loss], &[None], &wrt, GradOptions::default())?,
            false => vec![None; wrt.len()],
        };
        Ok(found.iter().flatten().cloned().collect())
    };
    let floats = call.floats();
    let inputs = tracked(call)?;
    let zeros = derive(&inputs, &floats)?;
    check_zeros(&zeros, &floats, reached).context("imperatively")?;
    let program = build(call, |x| derive(x, &floats))?;
    let inputs: Vec<Var> = call.inputs.iter().cloned().map(Var::new).collect();
    let zeros = program.apply(&inputs.iter().collect::<Vec<_>>())?;
    check_zeros(&zeros, &floats, reached).context("in a program")
}

fn check_zeros(found: &[Var], wrt: &[usize], reached: bool) -> Check {
    let expected = if reached { wrt.len() } else { 0 };
    ensure(found.len() == expected, || format!("{} gradients, expected {expected}", found.len()))?;
    let numbers: Vec<f64> = concrete(found)?.iter().flat_map(flatten).collect();
    ensure(numbers.iter().all(|&x| x == 0.0), || format!("expected zeros, found {numbers:?}"))
}

/// The gradient of what has none is an error that names the op, the reason and the user's line.
fn refused(call: &Call, outputs: &[Value], reason: &str) -> Check {
    let mut here = Loc::Unknown;
    let mut derive = |x: &[Var], wrt: &[usize]| -> Result<Vec<Var>> {
        let (results, line) = bind_here(&call.op, x);
        here = line;
        let loss = energy(&results?, outputs)?;
        let wrt: Vec<&Var> = wrt.iter().map(|&i| &x[i]).collect();
        gradients(loss.as_ref(), &wrt, GradOptions::default())
    };
    let floats = call.floats();
    let by_tape = derive(&tracked(call)?, &floats).err();
    let by_program = build(call, |x| derive(x, &floats)).err();
    for (how, error) in [("imperatively", by_tape), ("in a program", by_program)] {
        let error: Error =
            error.ok_or_else(|| Failure::new(format!("{how}: a gradient of what has none")))?;
        let text = error.to_string();
        let named = text.contains(call.op.name()) && text.contains(reason);
        ensure(named, || format!("{how}: the error must name op and reason: {error}"))?;
        ensure(error.loc() == Some(here), || format!("{how}: expected the line {here}: {error}"))?;
    }
    Ok(())
}

/// Outputs that are not floats are not tracked.
fn untracked(call: &Call) -> Check {
    let (outputs, _) = bind_here(&call.op, &tracked(call)?);
    ensure(outputs?.iter().all(|output| !output.is_tracked()), || {
        "an output that is not a float is tracked".to_string()
    })
}

fn tracked(call: &Call) -> Result<Vec<Var>> {
    let var = |value: &Value| match has_gradient(&value.ty()) {
        true => Var::new(value.clone()).track(),
        false => Ok(Var::new(value.clone())),
    };
    call.inputs.iter().map(var).collect()
}

fn concrete(vars: &[Var]) -> Result<Vec<Value>> {
    vars.iter().map(|var| var.value().cloned()).collect()
}
