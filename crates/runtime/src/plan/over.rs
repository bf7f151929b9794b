//! Ops that write over their inputs.

use fluvial_core::family::known_sizes;
use fluvial_core::{DType, Error, Result, Tensor, Value, ValueId, Values};
use fluvial_kernels::Given;
use smallvec::SmallVec;

use super::run::{Run, defined, explain};
use super::size::Over;
use super::{Frame, How, InPlace, PlanStep};
use crate::observe::{Step, Tell};

/// Runs the step. What is planned to be written over is, if nobody else sees it and nobody wants to keep it; else it
/// is as usual.
pub(super) fn perform<T: Tell>(
    step: &PlanStep,
    in_place: &InPlace,
    told: &Step<'_>,
    frame: &mut Frame,
    keeps: bool,
    run: Run<'_, T>,
) -> Result<Values> {
    run.observer.tell(|observer| {
        let inputs: Result<SmallVec<[&Value; 8]>> =
            step.inputs.iter().map(|&id| defined(&frame.values, id)).collect();
        observer.before(told, &inputs?)
    })?;
    if keeps {
        return as_usual(step, frame);
    }
    let mut names: SmallVec<[&str; 4]> = SmallVec::new();
    for over in in_place.over.iter().flatten() {
        if let Over::State(name, id) = over {
            // The state is the only other holder, and must be the only one.
            frame.values[*id as usize] = None;
            names.push(name);
        }
    }
    if names.is_empty() {
        return compute(step, in_place, frame, &mut []);
    }
    let done = run.state.update_all(&names, |states| compute(step, in_place, frame, states))?;
    if let Some(outputs) = done {
        return Ok(outputs);
    }
    for over in in_place.over.iter().flatten() {
        if let Over::State(name, id) = over {
            frame.values[*id as usize] = Some(run.state.read(name)?.value()?.clone());
        }
    }
    as_usual(step, frame)
}

/// Runs the op without writing over anything.
fn as_usual(step: &PlanStep, frame: &mut Frame) -> Result<Values> {
    let inputs: SmallVec<[&Value; 8]> =
        step.inputs.iter().map(|&id| defined(&frame.values, id)).collect::<Result<_>>()?;
    step.op.eval(&inputs, &step.types).map_err(|error| explain(error, step, &inputs))
}

/// Computes the outputs; those over states in the tensors given for them, in order.
fn compute(
    step: &PlanStep,
    in_place: &InPlace,
    frame: &mut Frame,
    states: &mut [Tensor],
) -> Result<Values> {
    let done = match &in_place.how {
        How::Op(n_over) => by_op(step, *n_over, &in_place.over, frame, states),
        How::Body(compute, params) => {
            by_body(step, (*compute, params), &in_place.over, frame, states)
        }
    };
    let outs = done.map_err(|error| error.in_op(step.op.name(), &[]).at(step.loc))?;
    let of_states = in_place.over.iter().enumerate();
    let of_states = of_states.filter(|(_, over)| matches!(over, Some(Over::State(..))));
    for (state, (k, _)) in states.iter_mut().zip(of_states) {
        *state = outs[k].clone();
        frame.in_state[step.first_output as usize + k] = true;
    }
    Ok(outs.into_iter().map(Value::Tensor).collect())
}

/// Runs an op that turns its first inputs into its outputs.
fn by_op(
    step: &PlanStep,
    n_over: usize,
    over: &[Option<Over>],
    frame: &mut Frame,
    states: &mut [Tensor],
) -> Result<Vec<Tensor>> {
    let (first, others) = step.inputs.split_at(n_over);
    let mut states = states.iter_mut();
    let mut outs: Vec<Tensor> = Vec::with_capacity(n_over);
    let mut lent: SmallVec<[(&mut Tensor, usize); 8]> = SmallVec::new();
    for (k, (&id, over)) in first.iter().zip(over).enumerate() {
        let found = match over {
            Some(Over::State(..)) => states.next().map(|state| {
                let tensor = std::mem::replace(state, Tensor::scalar(0.0f32));
                lent.push((state, k));
                tensor
            }),
            Some(Over::Value(_)) => match frame.values[id as usize].take() {
                Some(Value::Tensor(tensor)) => Some(tensor),
                _ => None,
            },
            None => Some(defined(&frame.values, id)?.tensor()?.clone()),
        };
        let missing = || Error::internal("what an op writes over is not there");
        outs.push(found.ok_or_else(missing)?);
    }
    let done = others.iter().map(|&id| defined(&frame.values, id)?.tensor());
    let done = done.collect::<Result<SmallVec<[&Tensor; 8]>>>().and_then(|others| {
        frame.arena.place(&step.places, || step.op.eval_over(&mut outs, &others))
    });
    if done.is_err() {
        lent.into_iter().for_each(|(state, k)| *state = outs[k].clone());
    }
    done.map(|()| outs)
}

/// Runs an elementwise op by its expression.
fn by_body(
    step: &PlanStep,
    (compute, params): (DType, &[f64]),
    over: &[Option<Over>],
    frame: &mut Frame,
    states: &mut [Tensor],
) -> Result<Vec<Tensor>> {
    let Some(body) = step.op.body() else {
        return Err(Error::internal("an elementwise op has no expression"));
    };
    // All that can fail comes before a state is taken out of its place.
    let mut outs: Vec<Tensor> = Vec::with_capacity(over.len());
    let mut gone: SmallVec<[(ValueId, usize); 4]> = SmallVec::new();
    let mut held: SmallVec<[(ValueId, Tensor); 4]> = SmallVec::new();
    let mut lent: SmallVec<[(&mut Tensor, usize); 4]> = SmallVec::new();
    let mut states = states.iter_mut();
    for (k, over) in over.iter().enumerate() {
        let tensor = match over {
            Some(Over::State(_, id)) => match states.next() {
                Some(state) if state.is_unique() && state.is_contiguous() => {
                    gone.push((*id, k));
                    lent.push((state, k));
                    Some(Tensor::scalar(0.0f32))
                }
                state => {
                    held.extend(state.map(|state| (*id, state.clone())));
                    None
                }
            },
            Some(Over::Value(id)) => {
                let tensor = take_unique(&mut frame.values[*id as usize]);
                gone.extend(tensor.is_some().then_some((*id, k)));
                tensor
            }
            None => None,
        };
        outs.push(match tensor {
            Some(tensor) => tensor,
            None => {
                let sizes = known_sizes(&step.types[k])?;
                let place = &step.places[k..=k];
                frame.arena.place(place, || Tensor::empty(step.types[k].dtype(), &sizes))?
            }
        });
    }
    let mut given: SmallVec<[Given<'_>; 8]> = SmallVec::new();
    for &id in &step.inputs {
        let taken = gone.iter().find(|(taken, _)| *taken == id);
        let other = held.iter().find(|(held, _)| *held == id);
        given.push(match (taken, other) {
            (Some(&(_, k)), _) => Given::Out(k),
            (_, Some((_, tensor))) => Given::Tensor(tensor),
            _ => Given::Tensor(defined(&frame.values, id)?.tensor()?),
        });
    }
    for (state, k) in &mut lent {
        outs[*k] = std::mem::replace(*state, Tensor::scalar(0.0f32));
    }
    let done = body.run_many(&given, params, compute, &mut outs);
    drop(given);
    if done.is_err() {
        lent.into_iter().for_each(|(state, k)| *state = outs[k].clone());
    }
    done.map(|()| outs)
}

/// The tensor of a value, if nobody else sees it and it is contiguous; else it stays.
fn take_unique(value: &mut Option<Value>) -> Option<Tensor> {
    match value {
        Some(Value::Tensor(tensor)) if tensor.is_unique() && tensor.is_contiguous() => {}
        _ => return None,
    }
    match value.take() {
        Some(Value::Tensor(tensor)) => Some(tensor),
        _ => None,
    }
}
