//! Linearisation: a block split into a forward block that also returns what its gradient needs,
//! and a reverse block that takes it. Nothing is computed twice, so no effect is repeated.

use std::sync::Arc;

use fluvial_tensor::{Result, Type};

use crate::block::{Block, ValueId};
use crate::reverse::cotangents;
use crate::structural;
use crate::trace::{capture_sizes, close, trace_block, trace_free};
use crate::var::Var;

/// A block and its gradient.
pub struct Linear {
    /// The block, with the residuals behind its own results.
    pub forward: Arc<Block>,
    /// From cotangents of the chosen results, then the residuals, to cotangents of the chosen
    /// parameters.
    pub reverse: Arc<Block>,
    /// Where each residual comes from.
    pub residuals: Vec<Residual>,
}

/// Where a residual comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// It is a parameter of the block.
    Param(usize),
    /// It is a result of the forward block, counted behind the block's own results.
    Result(usize),
}

/// Splits a block. `outputs` are the results that have cotangents, `wrt` the parameters whose
/// cotangents are wanted; both must be floats.
pub fn linearize(block: &Block, outputs: &[usize], wrt: &[usize]) -> Result<Linear> {
    let or_zero = |found: Option<Var>, param: &Var| match found {
        Some(cotangent) => Ok(Some(cotangent)),
        None => zeros(param).map(Some),
    };
    let (forward, reverses, residuals) = split(block, &[outputs.to_vec()], wrt, &or_zero)?;
    let reverse = reverses.into_iter().next().map(|reverse| reverse.block).unwrap_or_default();
    Ok(Linear { forward, reverse, residuals })
}

/// One way back through a block.
pub struct Reverse {
    /// From cotangents of the results of its group, then the residuals, to cotangents of parameters.
    pub block: Arc<Block>,
    /// Of which ones among those that were wanted: the group depends on the others in no way, or through ops
    /// whose derivative is zero.
    pub found: Vec<usize>,
}

/// [`linearize`] for several groups of results, of which each has a way back; all take the same residuals.
pub fn linearize_each(
    block: &Block,
    groups: &[Vec<usize>],
    wrt: &[usize],
) -> Result<(Arc<Block>, Vec<Reverse>, Vec<Residual>)> {
    split(block, groups, wrt, &|found, _| Ok(found))
}

fn split(
    block: &Block,
    groups: &[Vec<usize>],
    wrt: &[usize],
    complete: &dyn Fn(Option<Var>, &Var) -> Result<Option<Var>>,
) -> Result<(Arc<Block>, Vec<Reverse>, Vec<Residual>)> {
    block.check_form()?;
    let mut reverses = Vec::new();
    let mut residuals = Vec::new();
    let traced = trace_free(block.param_types(), |params| {
        let mut results = block.apply_verbatim(&params.iter().collect::<Vec<_>>())?;
        let wanted: Vec<&Var> = wrt.iter().map(|&i| &params[i]).collect();
        let mut parts = Vec::new();
        for group in groups {
            let types = group.iter().map(|&i| block.types[block.results[i] as usize]);
            let mut positions = Vec::new();
            parts.push(trace_block(&types.collect::<Vec<Type>>(), |given| {
                let ys: Vec<&Var> = group.iter().map(|&i| &results[i]).collect();
                let seeds: Vec<Option<&Var>> = given.iter().map(Some).collect();
                let mut cotangents_found = Vec::new();
                for (i, found) in cotangents(&ys, &seeds, &wanted)?.into_iter().enumerate() {
                    let Some(cotangent) = complete(found, wanted[i])? else { continue };
                    cotangents_found.push(cotangent);
                    positions.push(wrt[i]);
                }
                capture_sizes()?;
                Ok(cotangents_found)
            })?);
            reverses.push(Reverse { block: Arc::default(), found: positions });
        }
        let closed = close(parts)?;
        let mut n_saved = 0;
        for captured in closed.captures {
            let param = params.iter().position(|param| param.same(&captured));
            residuals.push(match param {
                Some(i) => Residual::Param(i),
                None => {
                    results.push(captured);
                    n_saved += 1;
                    Residual::Result(n_saved - 1)
                }
            });
        }
        for (reverse, block) in reverses.iter_mut().zip(closed.blocks) {
            let used: Vec<ValueId> = block.results.clone();
            reverse.block = Arc::new(block.keep(&used, &|_| false));
        }
        Ok(results)
    })?;
    Ok((Arc::new(traced.into_block().0), reverses, residuals))
}

/// The zero cotangent of a value of the block being built.
pub fn zeros(of: &Var) -> Result<Var> {
    match of.ty().is_list() {
        true => structural::zeros_like(of),
        false => structural::fill(0.0, &of.ty()),
    }
}
