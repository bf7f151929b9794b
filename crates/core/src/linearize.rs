//! Linearisation: a block split into a forward block that also returns what its gradient needs,
//! and a reverse block that takes it. Nothing is computed twice, so no effect is repeated.

use std::sync::Arc;

use fluvial_tensor::{Result, Type};

use crate::block::{Block, ValueId};
use crate::reverse::{GradOptions, vjp};
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
    block.check_form()?;
    let cotangent_types: Vec<Type> =
        outputs.iter().map(|&i| block.types[block.results[i] as usize]).collect();
    let mut reverse = None;
    let mut residuals = Vec::new();
    let traced = trace_free(block.param_types(), |params| {
        let mut results = block.apply_verbatim(&params.iter().collect::<Vec<_>>())?;
        let closed = close(vec![trace_block(&cotangent_types, |cotangents| {
            let ys: Vec<&Var> = outputs.iter().map(|&i| &results[i]).collect();
            let seeds: Vec<Option<&Var>> = cotangents.iter().map(Some).collect();
            let wanted: Vec<&Var> = wrt.iter().map(|&i| &params[i]).collect();
            let found = vjp(&ys, &seeds, &wanted, GradOptions::default())?;
            let or_zero = |(cotangent, param): (Option<Var>, &&Var)| match cotangent {
                Some(cotangent) => Ok(cotangent),
                None => zeros(param),
            };
            let found = found.into_iter().zip(&wanted).map(or_zero).collect::<Result<_>>()?;
            capture_sizes()?;
            Ok(found)
        })?])?;
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
        reverse = closed.blocks.into_iter().next();
        Ok(results)
    })?;
    let (forward, _) = traced.into_block();
    let reverse = reverse.unwrap_or_default();
    let used: Vec<ValueId> = reverse.results.clone();
    let reverse = Arc::new(reverse.keep(&used, &|_| false));
    Ok(Linear { forward: Arc::new(forward), reverse, residuals })
}

/// The zero cotangent of a value of the block being built.
pub fn zeros(of: &Var) -> Result<Var> {
    match of.ty().is_list() {
        true => structural::zeros_like(of),
        false => structural::fill(0.0, &of.ty()),
    }
}
