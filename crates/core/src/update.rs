//! Ops that change states in their place.

use fluvial_tensor::{Loc, Result, Tensor, Type};
use smallvec::SmallVec;

use crate::bind::{Outputs, bind_at, judged};
use crate::op::OpRef;
use crate::scope::{self, Mode};
use crate::state::{assign_state, current, read_state};
use crate::var::Var;

/// Applies an op whose outputs take the place of its first inputs (see [`Op::n_over`](crate::Op::n_over)):
/// these are the states of these names, which are assigned the outputs; `others` are the inputs behind them.
/// Both modes. Where nobody else holds a state it is changed in place, so what it costs is what the op
/// writes.
///
/// No gradient passes. If it fails, the states are as they were.
#[track_caller]
pub fn update_states(op: impl Into<OpRef>, states: &[&str], others: &[&Var]) -> Result<()> {
    let (op, loc) = (op.into(), scope::user_line());
    if scope::mode() == Mode::Building {
        let read = states.iter().map(|name| read_state(name));
        let values: Vec<Var> = read.collect::<Result<_>>()?;
        let inputs: Vec<&Var> = values.iter().chain(others.iter().copied()).collect();
        let outputs = bind_at(op, &inputs, loc)?;
        return states.iter().zip(&outputs).try_for_each(|(name, new)| assign_state(name, new));
    }
    match scope::flags().watched {
        false => run(&op, states, others, loc),
        true => {
            let run = || {
                run(&op, states, others, loc)?;
                states.iter().map(|name| current().read(name)).collect::<Result<Outputs>>()
            };
            scope::telling(op.name(), loc, others, run).map(drop)
        }
    }
}

fn run(op: &OpRef, states: &[&str], others: &[&Var], loc: Loc) -> Result<()> {
    let state = current();
    let mut types: Vec<Type> = Vec::with_capacity(states.len() + others.len());
    for name in states {
        types.push(state.read(name).map_err(|error| error.at(loc))?.ty());
    }
    types.extend(others.iter().map(|other| other.ty()));
    let tensors: SmallVec<[&Tensor; 4]> =
        others.iter().map(|other| other.tensor()).collect::<Result<_>>()?;
    judged(op, &types, loc, |types| {
        op.infer(types)?;
        state.update_all(states, |over| op.eval_over(over, &tensors))
    })
}
