//! The reverse walk: one function that turns cotangents of outputs into cotangents of inputs,
//! over the tape (`tape`) and over the program being built (`program`).

mod derived;
mod messages;
mod program;
mod region;
mod sum;
mod tape;

pub use derived::vjp_through;
pub use sum::{Choose, Present, Sum, nothing};
pub(crate) use tape::leads_to_freed;

use fluvial_tensor::{Error, ErrorKind, Loc, Phase, Result, interrupt};
use smallvec::SmallVec;

use crate::autocast;
use crate::grad::{Cotangents, Grad, Pull, TotalsRule};
use crate::op::OpRef;
use crate::scope::{self, Mode};
use crate::structural;
use crate::tape::{Hook, Slot};
use crate::trace;
use crate::var::Var;

/// How gradients are computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct GradOptions {
    /// The gradients can be differentiated again. Implies `retain_graph`.
    pub create_graph: bool,
    /// The tape stays, for another walk; by default it is freed as the walk passes.
    pub retain_graph: bool,
}

/// Gradients of the sum of `outputs` with respect to `wrt`, in both modes.
///
/// Outputs must be scalars; give seeds to [`vjp`] otherwise. A `wrt` that no output depends on is
/// an error, never a silent zero.
#[track_caller]
pub fn grad(outputs: &[&Var], wrt: &[&Var]) -> Result<Vec<Var>> {
    grad_with(outputs, wrt, GradOptions::default())
}

/// [`grad`] with options.
#[track_caller]
pub fn grad_with(outputs: &[&Var], wrt: &[&Var], options: GradOptions) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    let found = vjp(outputs, &vec![None; outputs.len()], wrt, options)?;
    let complete = found
        .into_iter()
        .enumerate()
        .map(|(i, cotangent)| cotangent.ok_or_else(|| unreached(i, wrt[i]).at(loc)));
    complete.collect()
}

/// The error for a value that no output depends on.
#[cold]
pub fn unreached(number: usize, wrt: &Var) -> Error {
    let what = format!("no output depends on value {number} of `wrt` ({})", wrt.ty());
    Error::new(ErrorKind::Unreached, what)
        .remedy("check that it is tracked, not detached, and used; or ask `vjp`")
}

/// The product of cotangents of `outputs` with the Jacobian with respect to `wrt`, in both modes.
///
/// A missing seed stands for one, if the output is a scalar. Nothing is returned for a `wrt` that
/// no output depends on.
#[track_caller]
pub fn vjp(
    outputs: &[&Var],
    seeds: &[Option<&Var>],
    wrt: &[&Var],
    options: GradOptions,
) -> Result<Vec<Option<Var>>> {
    let loc = scope::user_line();
    let _phase = (scope::in_phase(Phase::Backward), autocast::off());
    let seeds = complete_seeds(outputs, seeds, loc)?;
    if outputs.is_empty() || wrt.is_empty() {
        return Ok(vec![None; wrt.len()]);
    }
    let symbolic = outputs.iter().chain(wrt).any(|var| var.is_symbolic());
    match symbolic {
        true => program::vjp(outputs, &seeds, wrt, options, false, loc),
        false => tape::vjp(outputs, &seeds, wrt, &[], options, loc),
    }
}

/// Gradients as [`vjp`] gives them, with what only a run knows: whether a `wrt` was used. Where it was not, the
/// gradient is zero. No gradient passes `constants`, values on the way.
#[track_caller]
pub fn vjp_perhaps(
    outputs: &[&Var],
    seeds: &[Option<&Var>],
    wrt: &[&Var],
    constants: &[&Var],
    options: GradOptions,
) -> Result<Vec<Option<Sum>>> {
    let loc = scope::user_line();
    let _phase = (scope::in_phase(Phase::Backward), autocast::off());
    let seeds = complete_seeds(outputs, seeds, loc)?;
    if outputs.is_empty() || wrt.is_empty() {
        return Ok(vec![None; wrt.len()]);
    }
    if outputs.iter().chain(wrt).any(|var| var.is_symbolic()) {
        return program::sums(outputs, &seeds, wrt, constants, options, false, loc);
    }
    let found = tape::vjp(outputs, &seeds, wrt, constants, options, loc)?;
    Ok(found.into_iter().map(|var| var.map(Sum::certain)).collect())
}

/// [`vjp`] in a program being built, as sums: they go on from `starts`, and there is nothing for a `wrt` that
/// outputs depend on only through ops whose derivative is zero. The first value of each pair of `same` counts as
/// the second.
#[track_caller]
pub fn cotangents(
    outputs: &[&Var],
    seeds: &[Sum],
    wrt: &[&Var],
    starts: &[Option<Sum>],
    same: &[(&Var, &Var)],
) -> Result<Vec<Option<Sum>>> {
    let loc = scope::user_line();
    let _phase = (scope::in_phase(Phase::Backward), autocast::off());
    Ok(program::cotangents(outputs, seeds, wrt, &[], starts, same, false, None, loc)?.0)
}

impl Var {
    /// Accumulates the gradient of this scalar in every leaf it depends on, and frees the tape.
    #[track_caller]
    pub fn backward(&self) -> Result<()> {
        self.backward_with(None, GradOptions::default())
    }

    /// [`backward`](Var::backward) with a seed, for values that are not scalars, and options.
    #[track_caller]
    pub fn backward_with(&self, seed: Option<&Var>, options: GradOptions) -> Result<()> {
        let loc = scope::user_line();
        let _phase = (scope::in_phase(Phase::Backward), autocast::off());
        let seeds = complete_seeds(&[self], &[seed], loc)?;
        if !self.is_symbolic() {
            return tape::backward(self, &seeds, options, loc);
        }
        let leaves = trace::leaves();
        let outside = trace::going_back();
        let wrt: Vec<&Var> = leaves.iter().chain(outside.iter().map(|(var, _)| var)).collect();
        let mut grads = program::vjp(&[self], &seeds, &wrt, options, true, loc)?;
        let beyond = grads.split_off(leaves.len());
        let reached = || outside.iter().zip(&beyond).filter(|(_, grad)| grad.is_some());
        if reached().any(|((_, is_freed), _)| *is_freed) {
            return Err(tape::freed("input", Loc::Unknown, loc));
        }
        if reached().next().is_some() {
            return Err(Error::gradient(
                "`backward` inside of a function passes an input that was computed outside of it",
            )
            .remedy("call `backward` outside, on what the function returns, or give it a detached tensor")
            .at(loc));
        }
        if grads.iter().all(Option::is_none) {
            return Err(no_leaf(loc));
        }
        let _scope = (scope::at(loc), scope::record(options.create_graph));
        for (leaf, grad) in leaves.iter().zip(grads) {
            let Some(grad) = grad else { continue };
            trace::add_leaf_grad(leaf, grad)?;
        }
        Ok(())
    }
}

#[cold]
fn no_leaf(loc: Loc) -> Error {
    Error::gradient("`backward` reaches no tracked value")
        .remedy("call `track` on the leaves, or read parameters, before computing the value")
        .at(loc)
}

fn complete_seeds(outputs: &[&Var], seeds: &[Option<&Var>], loc: Loc) -> Result<Vec<Var>> {
    if outputs.len() != seeds.len() {
        return Err(Error::argument(format!(
            "{} outputs were given {} seeds",
            outputs.len(),
            seeds.len()
        ))
        .at(loc));
    }
    let complete = |(output, seed): (&&Var, &Option<&Var>)| {
        let ty = (*output).clone().check()?.ty();
        if !ty.is_inexact() {
            return Err(Error::gradient(format!("an output of type {ty} has no gradient"))
                .remedy("differentiate a float value")
                .at(loc));
        }
        match seed {
            Some(seed) if seed.ty() == ty => Ok((*seed).clone()),
            Some(seed) => {
                Err(Error::shape(format!("the seed is {}, but the output is {ty}", seed.ty()))
                    .at(loc))
            }
            None if ty.dtype().is_complex() => Err(Error::gradient(format!(
                "the output is {ty}: only of a real number there is one gradient"
            ))
            .remedy("take `abs`, `real` or `imag` of it, or give a seed of its type")
            .at(loc)),
            None if ty.numel() == Some(1) && !ty.is_list() => {
                let _line = scope::at(loc);
                let _no_grad = scope::no_grad();
                structural::fill(1.0, &ty)
            }
            None => Err(Error::gradient(format!("the output is {ty}, not a scalar"))
                .remedy("reduce it to a scalar (sum or mean), or give a seed of its shape")
                .at(loc)),
        }
    };
    outputs.iter().zip(seeds).map(complete).collect()
}

/// One op as the walk sees it.
pub(crate) struct Record {
    op: OpRef,
    loc: Loc,
    inputs: SmallVec<[Slot; 2]>,
    /// By input: where its cotangent accumulates, if it is wanted.
    targets: SmallVec<[Option<usize>; 2]>,
    /// The outputs that the rule keeps.
    outputs: SmallVec<[Option<Var>; 1]>,
}

/// A sequence of ops in the order in which they ran.
pub(crate) trait Trace {
    /// The number of ops.
    fn len(&self) -> usize;

    /// The slots of the outputs of op `i`.
    fn outputs(&self, i: usize) -> SmallVec<[usize; 1]>;

    /// The slots of the inputs of op `i`, in a program.
    fn inputs(&self, _i: usize) -> SmallVec<[usize; 4]> {
        SmallVec::new()
    }

    /// Op `i`, of whose outputs the `given` have cotangents; nothing if no wanted cotangent lies
    /// behind it.
    fn record(&mut self, i: usize, given: &[bool]) -> Result<Option<Record>>;

    /// The hooks on a slot, to be called when its cotangent is complete.
    fn hooks(&self, i: usize, output: usize) -> Vec<Hook>;

    /// The value of a slot, in a program.
    fn value(&self, _slot: usize) -> Option<Var> {
        None
    }
}

/// Walks a trace backwards. `cotangents` holds the seeds at first and every cotangent at the end;
/// those of slots that are not `kept` are dropped when they have been passed on.
pub(crate) fn walk(
    trace: &mut impl Trace,
    cotangents: &mut [Option<Sum>],
    kept: &dyn Fn(usize) -> bool,
) -> Result<()> {
    let watch = interrupt::Watch::start();
    let mut i = trace.len();
    while i > 0 {
        watch.check()?;
        match region::condition(&trace.outputs(i - 1), cotangents)? {
            Some(present) => i = region::conditional(trace, cotangents, kept, i, &present)?,
            None => {
                region::record(trace, i - 1, cotangents, kept)?;
                i -= 1;
            }
        }
    }
    Ok(())
}

/// Passes the cotangents of the outputs of op `i` on to its inputs.
fn step(
    trace: &mut impl Trace,
    i: usize,
    cotangents: &mut [Option<Sum>],
    kept: &dyn Fn(usize) -> bool,
) -> Result<()> {
    let slots = trace.outputs(i);
    if slots.iter().all(|&slot| cotangents[slot].is_none()) {
        return Ok(());
    }
    for (output, &slot) in slots.iter().enumerate() {
        call_hooks(trace.hooks(i, output), &mut cotangents[slot])?;
    }
    let given: SmallVec<[bool; 4]> = slots.iter().map(|&slot| cotangents[slot].is_some()).collect();
    let Some(record) = trace.record(i, &given)? else { return Ok(()) };
    let dys: SmallVec<[Option<Var>; 1]> = slots
        .iter()
        .map(|&slot| match kept(slot) {
            true => cotangents[slot].as_ref().map(|sum| sum.var.clone()),
            false => cotangents[slot].take().map(|sum| sum.var),
        })
        .collect();
    let _line = match scope::mode() {
        Mode::Building => scope::exactly_at(record.loc.with_phase(Phase::Backward)),
        Mode::Imperative => scope::at(record.loc),
    };
    let explain = |error: Error| {
        let note = format!("in the gradient of `{}`", record.op.name());
        error.at(record.loc).note(note)
    };
    if let Grad::Totals(_, rule) = record.op.grad() {
        return totals(&record, &dys, rule, cotangents).map_err(explain);
    }
    let dxs = pull(&record, &dys).map_err(explain)?;
    for ((dx, target), input) in dxs.into_iter().zip(&record.targets).zip(&record.inputs) {
        let (Some(dx), Some(target)) = (dx, *target) else { continue };
        let dx = Sum::certain(fit(dx, input, &record)?);
        cotangents[target] = Some(match cotangents[target].take() {
            Some(sum) => sum.plus(dx)?,
            None => dx,
        });
    }
    Ok(())
}

/// Lets a rule go on with the sums of its inputs. One that is there several times has its sum at the last place.
fn totals(
    record: &Record,
    dys: &[Option<Var>],
    rule: TotalsRule,
    cotangents: &mut [Option<Sum>],
) -> Result<()> {
    let is_last = |i: usize| !record.targets[i + 1..].contains(&record.targets[i]);
    let sum = |(i, target): (usize, &Option<usize>)| {
        cotangents[(*target)?].clone().filter(|_| is_last(i))
    };
    let sums: Vec<Option<Sum>> = record.targets.iter().enumerate().map(sum).collect();
    let found = asked(record, dys, |p| rule(p, &sums))?;
    let (whole, parts): (Vec<_>, Vec<_>) =
        found.into_iter().zip(&record.targets).enumerate().partition(|(i, _)| is_last(*i));
    for (i, (total, target)) in whole.into_iter().chain(parts) {
        let (Some(total), Some(target)) = (total, *target) else { continue };
        cotangents[target] = Some(match cotangents[target].take().filter(|_| !is_last(i)) {
            Some(sum) => sum.plus(total)?,
            None => total,
        });
    }
    Ok(())
}

fn call_hooks(hooks: Vec<Hook>, cotangent: &mut Option<Sum>) -> Result<()> {
    let Some(sum) = cotangent.as_mut().filter(|_| !hooks.is_empty()) else { return Ok(()) };
    let replaced = || -> Result<Var> {
        let mut current = sum.var.clone();
        for hook in hooks {
            let Some(replacement) = hook(&current)? else { continue };
            if replacement.ty() != current.ty() {
                return Err(Error::gradient(format!(
                    "a gradient hook returned {} for a gradient of type {}",
                    replacement.ty(),
                    current.ty()
                )));
            }
            current = replacement.check()?;
        }
        Ok(current)
    };
    let var = match &sum.present {
        None => replaced()?,
        Some(present) => {
            let found = present.choose(|| Ok(vec![replaced()?]), || Ok(vec![sum.var.clone()]))?;
            found.into_iter().next().unwrap_or_else(|| sum.var.clone())
        }
    };
    sum.var = var;
    Ok(())
}

fn pull(record: &Record, dys: &[Option<Var>]) -> Result<Cotangents> {
    match record.op.grad() {
        Grad::Zero | Grad::Stop => Ok(Cotangents::new()),
        Grad::NonDifferentiable(reason) => {
            Err(Error::gradient(format!("`{}` is not differentiable: {reason}", record.op.name()))
                .remedy(
                    "detach its input, or keep it off the path from the parameters to the loss",
                ))
        }
        Grad::Totals(..) => Err(Error::internal("a rule of totals was asked for cotangents")),
        Grad::Rule(_, rule) => asked(record, dys, rule),
    }
}

/// What a rule gives that is asked of a record.
fn asked<R>(
    record: &Record,
    dys: &[Option<Var>],
    rule: impl FnOnce(&Pull<'_>) -> Result<R>,
) -> Result<R> {
    let wanted: SmallVec<[bool; 4]> = record.targets.iter().map(Option::is_some).collect();
    rule(&Pull {
        op: &record.op,
        inputs: &record.inputs,
        wanted: &wanted,
        outputs: &record.outputs,
        dys,
    })
}

/// Brings a cotangent to the type of the input it belongs to: the transpose of broadcasting and of
/// type promotion, at the one place where every rule passes.
fn fit(dx: Var, input: &Slot, record: &Record) -> Result<Var> {
    let Some(ty) = input.ty() else { return Ok(dx) };
    let found = dx.ty();
    if found == ty || ty.is_list() {
        return Ok(dx);
    }
    let summed = match found.dims() == ty.dims() {
        true => dx,
        false if record.op.properties().broadcasts => structural::sum_to(&dx, ty.dims())?,
        false => {
            return Err(Error::internal(format!(
                "the gradient rule of `{}` gave {found} for an input of type {ty}",
                record.op.name()
            )));
        }
    };
    let summed = match ty.dtype().is_complex() {
        true => summed,
        false => structural::real(&summed)?,
    };
    match summed.dtype() == ty.dtype() {
        true => Ok(summed),
        false => structural::cast(&summed, ty.dtype()),
    }
}
