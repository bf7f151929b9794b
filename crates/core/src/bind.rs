//! `bind`: the one door through which every op passes, in both modes.

use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result, Type, interrupt};
use smallvec::SmallVec;

use crate::checkpoint;
use crate::device;
use crate::grad::{Grad, Keeps};
use crate::limits;
use crate::op::{self, OpRef, Types, Values};
use crate::scope::{self, Mode};
use crate::tape::{Edge, Node, Saved, Slot};
use crate::trace;
use crate::value::Value;
use crate::var::{Repr, Var};

/// The outputs of an op.
pub type Outputs = SmallVec<[Var; 1]>;

/// Applies an op: runs it now, or appends it to the program being built.
#[inline]
#[track_caller]
pub fn bind(op: impl Into<OpRef>, inputs: &[&Var]) -> Result<Outputs> {
    bind_at(op.into(), inputs, Loc::caller())
}

/// Applies an op with one output.
#[inline]
#[track_caller]
pub fn bind1(op: impl Into<OpRef>, inputs: &[&Var]) -> Result<Var> {
    let mut outputs = bind_at(op.into(), inputs, Loc::caller())?;
    match outputs.pop() {
        Some(output) if outputs.is_empty() => Ok(output),
        _ => Err(Error::internal("`bind1` needs an op with exactly one output")),
    }
}

/// Applies an op on behalf of the line `loc`.
pub fn bind_at(op: OpRef, inputs: &[&Var], loc: Loc) -> Result<Outputs> {
    let loc = scope::line_or(loc);
    let flags = scope::flags();
    match flags.mode {
        Mode::Imperative if flags.watched => {
            let name = op.name();
            scope::telling(name, loc, inputs, || run(op, inputs, loc, flags.recording))
        }
        Mode::Imperative => run(op, inputs, loc, flags.recording),
        Mode::Building => trace::append(op, inputs, loc),
    }
}

/// Runs `f` on the types of the inputs after checking their number; adds op, types and line to
/// its error.
pub(crate) fn judged<R>(
    op: &OpRef,
    types: &[Type],
    loc: Loc,
    f: impl FnOnce(&[&Type]) -> Result<R>,
) -> Result<R> {
    let refs: SmallVec<[&Type; 4]> = types.iter().collect();
    let result = op.arity().check(op.name(), refs.len()).and_then(|()| f(&refs));
    result.map_err(|error| error.in_op(op.name(), &refs).at(loc))
}

fn run(op: OpRef, inputs: &[&Var], loc: Loc, recording: bool) -> Result<Outputs> {
    let mut values: SmallVec<[&Value; 4]> = SmallVec::new();
    let mut n_tracked = 0;
    for var in inputs {
        let Repr::Value(value) = &var.0.repr else { return Err(not_concrete(&op, var, loc)) };
        values.push(value);
        n_tracked += usize::from(var.0.edge.is_some());
    }
    let recorded = n_tracked > 0 && recording;
    if !limits::has_largest()
        && let Some(output) = op.quick(&values)
    {
        let node = match recorded {
            true => {
                let outs = Types::from_buf([output.ty()]);
                new_node(op, inputs, n_tracked, outs, std::slice::from_ref(&output), loc)
            }
            false => None,
        };
        let edge = node.map(|node| Edge { node, out: 0 });
        return Ok(Outputs::from_buf([Var::with_edge(output, edge)]));
    }
    let types: SmallVec<[Type; 2]> = values.iter().map(|value| value.ty()).collect();
    if recorded {
        return run_recorded(op, inputs, n_tracked, &values, &types, loc);
    }
    let (_, outputs) = judged(&op, &types, loc, |refs| evaluate(&op, refs, &values, loc))?;
    Ok(untracked(outputs))
}

fn untracked(outputs: Values) -> Outputs {
    outputs.into_iter().map(|value| Var::with_edge(value, None)).collect()
}

#[inline]
fn evaluate(op: &OpRef, types: &[&Type], values: &[&Value], loc: Loc) -> Result<(Types, Values)> {
    let mut outs = op::inferred(&**op, types)?;
    let outputs = match limits::is_any() {
        false => interrupt::caught(|| op.eval(values, &outs))?,
        // A limit is in force, or a device in use.
        true => {
            limits::check_outputs(&outs)?;
            device::evaluate(op, types, values, &outs, loc)?
        }
    };
    if outputs.len() != outs.len() {
        return Err(Error::internal("`eval` and `infer` disagree on the number of outputs"));
    }
    for (ty, value) in outs.iter_mut().zip(&outputs) {
        // A size that `infer` could not know is known now.
        if ty.is_symbolic() {
            *ty = value.ty();
        }
    }
    Ok((outs, outputs))
}

fn run_recorded(
    op: OpRef,
    inputs: &[&Var],
    n_tracked: usize,
    values: &[&Value],
    types: &[Type],
    loc: Loc,
) -> Result<Outputs> {
    if op.properties().residuals
        && let Some(outputs) = judged(&op, types, loc, |_| op.unroll(inputs))?
    {
        return Ok(outputs);
    }
    let (op, n_visible) = residual_variant(op, inputs, types, loc)?;
    let (outs, outputs) = judged(&op, types, loc, |refs| evaluate(&op, refs, values, loc))?;
    let Some(node) = new_node(op, inputs, n_tracked, outs, &outputs, loc) else {
        return Ok(untracked(outputs));
    };
    let wrap = |(i, value): (usize, Value)| {
        let edge = node.types[i].is_inexact().then(|| Edge { node: node.clone(), out: i as u32 });
        Var::with_edge(value, edge)
    };
    Ok(outputs.into_iter().take(n_visible).enumerate().map(wrap).collect())
}

/// Puts an op on the tape that has run outside of [`bind`], with what it gave: the outputs that `reached` names
/// are tracked if they are floats or complex and an input is. Whether the thread records is the caller's affair.
pub fn record(op: OpRef, inputs: &[&Var], outputs: Values, reached: &[bool], loc: Loc) -> Outputs {
    let n_tracked = inputs.iter().filter(|var| var.is_tracked()).count();
    let types = outputs.iter().map(Value::ty).collect();
    let node = match n_tracked {
        0 => None,
        _ => new_node(op, inputs, n_tracked, types, &outputs, scope::line_or(loc)),
    };
    let Some(node) = node else { return untracked(outputs) };
    let wrap = |(i, value): (usize, Value)| {
        let is_tracked = reached.get(i) == Some(&true) && node.types[i].is_inexact();
        let edge = is_tracked.then(|| Edge { node: node.clone(), out: i as u32 });
        Var::with_edge(value, edge)
    };
    outputs.into_iter().enumerate().map(wrap).collect()
}

/// The node of an op that has run; nothing if no gradient can pass through it.
#[inline]
fn new_node(
    op: OpRef,
    inputs: &[&Var],
    n_tracked: usize,
    outs: Types,
    outputs: &[Value],
    loc: Loc,
) -> Option<Arc<Node>> {
    let keeps = match op.grad() {
        Grad::Stop => return None,
        Grad::Rule(keeps, _) | Grad::Totals(keeps, _) => keeps,
        Grad::Zero | Grad::NonDifferentiable(_) => Keeps::NOTHING,
    };
    if !outs.iter().any(Type::is_inexact) {
        return None;
    }
    let saved = checkpoint::kept(op.name(), save(keeps, inputs, n_tracked, outputs));
    Some(Arc::new(Node::call(op, loc, outs, saved)))
}

/// The op to record in place of `op`, and how many of its outputs the user sees.
fn residual_variant(
    op: OpRef,
    inputs: &[&Var],
    types: &[Type],
    loc: Loc,
) -> Result<(OpRef, usize)> {
    if !op.properties().residuals {
        return Ok((op, usize::MAX));
    }
    let n_visible = judged(&op, types, loc, |refs| op::inferred(&*op, refs))?.len();
    let wanted: SmallVec<[bool; 4]> = inputs.iter().map(|var| var.is_tracked()).collect();
    let given: SmallVec<[bool; 4]> = SmallVec::from_elem(true, n_visible);
    let variant = judged(&op, types, loc, |_| op.with_residuals(&wanted, &given))?;
    Ok((variant.unwrap_or(op), n_visible))
}

#[inline]
fn save(keeps: Keeps, inputs: &[&Var], n_tracked: usize, outputs: &[Value]) -> Saved {
    let slot = |(i, var): (usize, &&Var)| {
        let edge = &var.0.edge;
        let others = n_tracked - usize::from(edge.is_some());
        match edge {
            _ if keeps.input(i, others) => Slot::Kept((*var).clone()),
            Some(edge) => Slot::Dropped(edge.clone()),
            None if keeps.all_types() => Slot::Typed(Box::new(var.ty())),
            None => Slot::Untracked,
        }
    };
    let kept_output = |(i, value): (usize, &Value)| keeps.output(i).then(|| value.clone());
    Saved {
        inputs: inputs.iter().enumerate().map(slot).collect(),
        outputs: match keeps.any_output() {
            true => outputs.iter().enumerate().map(kept_output).collect(),
            false => Vec::new(),
        },
        again: None,
    }
}

#[cold]
fn not_concrete(op: &OpRef, var: &Var, loc: Loc) -> Error {
    match &var.0.repr {
        Repr::Failed(error) => error.clone(),
        _ => Error::symbolic(format!(
            "{} is a value of a program being built, but ops run at once here",
            var.ty()
        ))
        .remedy("leave the `imperative` scope, or use the value of a run of the program")
        .in_op(op.name(), &[&var.ty()])
        .at(loc),
    }
}
