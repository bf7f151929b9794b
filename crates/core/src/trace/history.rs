//! Gradients taken inside the body of a loop, with respect to a value from outside: what earlier trips have done
//! with it is not seen there. Whether that matters is known when the loop is made.

use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result};

use super::close::Closed;
use super::grads::origin;
use super::{capture, symbol_of, with_frames};
use crate::block::ValueId;
use crate::grad::Grad;
use crate::var::Var;

/// A gradient with respect to a value from outside of a block, which passes what may depend on that value otherwise.
#[derive(Clone)]
pub(crate) struct Lost {
    /// The value, in the block below.
    pub outer: Var,
    /// The state that it is the value of.
    pub state: Option<Arc<str>>,
    /// The parameters that it passes.
    pub passed: Vec<ValueId>,
    /// Whether it passes values from outside that depend on it.
    pub passes_outer: bool,
    /// Whether all versions of a state count.
    pub is_leaf: bool,
    pub loc: Loc,
}

impl Closed {
    /// Refuses gradients that were taken inside the body of a loop and pass a carried value into which earlier trips
    /// may have put the value that they are with respect to. The carried values come into the body as its parameters
    /// from `first_param` on, and leave it as its results from `first_result` on.
    pub fn check_history(
        &self,
        init: &[&Var],
        first_param: usize,
        first_result: usize,
    ) -> Result<()> {
        self.check_freed()?;
        let Some(body) = self.blocks.first() else { return Ok(()) };
        for lost in &self.lost {
            let is_assigned = lost.state.as_ref().is_some_and(|state| self.states.contains(state));
            if is_assigned && lost.passes_outer {
                return Err(Error::gradient(
                    "a gradient inside a loop is with respect to a state that the loop assigns, and passes a value \
                     that was computed of it before the loop",
                )
                .remedy("compute the value inside the loop, or detach it")
                .at(lost.loc));
            }
            if is_assigned && !lost.is_leaf {
                continue;
            }
            let own = body.n_params - self.captures.len() - self.states.len();
            let state =
                lost.state.as_ref().and_then(|state| self.states.iter().position(|s| s == state));
            let capture = self.captures.iter().position(|capture| capture.same(&lost.outer));
            let param = state.map(|i| own + i).or(capture.map(|i| own + self.states.len() + i));
            let mut depends: Vec<bool> =
                init.iter().map(|var| depends_on(var, &lost.outer)).collect();
            loop {
                let before = depends.clone();
                for (i, own) in depends.iter_mut().enumerate() {
                    let influences = body.influences(&[first_result + i]);
                    *own |= param.is_some_and(|param| influences[param])
                        || (0..init.len()).any(|j| before[j] && influences[first_param + j]);
                }
                if depends == before {
                    break;
                }
            }
            let passes = lost.passed.iter().any(|&position| {
                let carried = (position as usize).checked_sub(first_param);
                carried.and_then(|i| depends.get(i)) == Some(&true)
            });
            if passes {
                return Err(Error::gradient(format!(
                    "a gradient inside a loop with respect to a value from outside, {}, passes a carried value, \
                     whose earlier trips are not seen inside the body",
                    lost.outer.ty()
                ))
                .remedy("detach the carried value, or take the gradient outside the loop")
                .at(lost.loc));
            }
        }
        Ok(())
    }
}

/// Whether a gradient of one value can reach another one, of the block on top.
fn depends_on(var: &Var, outer: &Var) -> bool {
    let (Some(from), Some(to)) = (symbol_of(outer), symbol_of(var)) else { return false };
    let (Ok(from), Ok(to)) =
        (capture(&from, false, Loc::Unknown), capture(&to, false, Loc::Unknown))
    else {
        return false;
    };
    with_frames(|frames| {
        let first = frames.iter().rposition(|frame| !frame.is_nested()).unwrap_or(0);
        let Some(top) = frames.len().checked_sub(1) else { return false };
        let (home, id) = origin(frames, first, top, from);
        let mut below: Vec<bool> = Vec::new();
        for (level, frame) in frames.iter().enumerate().skip(first) {
            let mut depends = vec![false; frame.types.len()];
            for (outer, param) in &frame.captures {
                depends[*param as usize] = below.get(outer.symbol_id() as usize) == Some(&true);
            }
            if level == home {
                depends[id as usize] = true;
            }
            for call in &frame.calls {
                let passes = !matches!(call.op.grad(), Grad::Stop)
                    && call.inputs.iter().any(|&id| depends[id as usize]);
                for &id in &call.outputs {
                    depends[id as usize] |= passes && frame.types[id as usize].is_inexact();
                }
            }
            below = depends;
        }
        below.get(to as usize) == Some(&true)
    })
}
