//! Elementwise ops that write over their inputs.

use fluvial_core::family::known_sizes;
use fluvial_core::{Error, Result, Tensor, Value, ValueId, Values};
use fluvial_kernels::Given;
use smallvec::SmallVec;

use super::run::{Run, defined, explain};
use super::size::Over;
use super::{Frame, InPlace, PlanStep};
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
    let done = run.state.update_unique(&names, |states| compute(step, in_place, frame, states))?;
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
    let Some(body) = step.op.body() else {
        return Err(Error::internal("an elementwise op has no expression"));
    };
    // All that can fail comes before a state is taken out of its place.
    let mut outs: SmallVec<[Tensor; 4]> = SmallVec::new();
    let mut gone: SmallVec<[(ValueId, usize); 4]> = SmallVec::new();
    let mut of_states: SmallVec<[usize; 4]> = SmallVec::new();
    for (k, over) in in_place.over.iter().enumerate() {
        let tensor = match over {
            Some(Over::State(_, id)) => {
                of_states.push(k);
                gone.push((*id, k));
                Some(Tensor::scalar(0.0f32))
            }
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
        given.push(match gone.iter().find(|(taken, _)| *taken == id) {
            Some(&(_, k)) => Given::Out(k),
            None => Given::Tensor(defined(&frame.values, id)?.tensor()?),
        });
    }
    for (state, &k) in states.iter_mut().zip(&of_states) {
        outs[k] = std::mem::replace(state, Tensor::scalar(0.0f32));
    }
    let done = body.run_many(&given, &in_place.params, in_place.compute, &mut outs);
    drop(given);
    for (state, &k) in states.iter_mut().zip(&of_states) {
        *state = outs[k].clone();
        frame.in_state[step.first_output as usize + k] = true;
    }
    done.map_err(|error| error.in_op(step.op.name(), &[]).at(step.loc))?;
    Ok(outs.into_iter().map(Value::Tensor).collect())
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
