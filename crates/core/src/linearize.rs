//! Linearisation: a block split into a forward block that also returns what its gradient needs,
//! and reverse blocks that take it. Nothing is computed twice, so no effect is repeated.

use std::sync::Arc;

use fluvial_tensor::{DType, Result, Type};

use crate::block::{Block, ValueId};
use crate::reverse::{Choose, Present, Sum, cotangents};
use crate::trace::{Runs, capture_sizes, close, trace_block, trace_free};
use crate::var::Var;

/// A block and its gradient.
pub struct Linear {
    /// The block, with the residuals behind its own results.
    pub forward: Arc<Block>,
    /// The ways back, in the order in which they were asked for; all take the same residuals.
    pub reverses: Vec<Reverse>,
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

/// A way back that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The results that have cotangents, and whether only a run knows if they do.
    pub given: Vec<(usize, bool)>,
    /// Pairs of parameters that stand for one value.
    pub same: Vec<(usize, usize)>,
}

/// One way back through a block.
pub struct Reverse {
    /// From the cotangents of results, whether those are there of which only a run knows, the sums so far of the
    /// parameters that are summed up, whether there is anything in them, and the residuals; to the totals of what
    /// was found, and whether those are there of which only a run knows.
    pub block: Arc<Block>,
    /// The parameters that have totals, and whether only a run knows if anything was added. The results depend on
    /// the others in no way, or through ops whose derivative is zero.
    pub found: Vec<(usize, bool)>,
}

/// Splits a block. `wrt` are the parameters whose cotangents are wanted, of which those in `summed` go on from
/// sums; all must be floats. `ask` gives one way after the other; it sees those that were made.
pub fn linearize(
    block: &Block,
    wrt: &[usize],
    summed: &[usize],
    choose: Choose,
    ask: &mut dyn FnMut(&[Reverse]) -> Option<Ask>,
) -> Result<Linear> {
    block.check_form()?;
    let mut reverses: Vec<Reverse> = Vec::new();
    let mut residuals = Vec::new();
    let traced = trace_free(block.param_types(), |params| {
        let mut results = block.apply_verbatim(&params.iter().collect::<Vec<_>>())?;
        let mut parts = Vec::new();
        while let Some(asked) = ask(&reverses) {
            let types = way_types(block, &asked, summed);
            let mut found = Vec::new();
            parts.push(trace_block(&types, |given| {
                let results_found =
                    way_back(&asked, given, &results, params, wrt, summed, choose, &mut found)?;
                capture_sizes()?;
                Ok(results_found)
            })?);
            reverses.push(Reverse { block: Arc::default(), found });
        }
        let closed = close(parts, Runs::One)?;
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
    Ok(Linear { forward: Arc::new(traced.into_block().0), reverses, residuals })
}

/// The types of what a way back takes, besides residuals.
fn way_types(block: &Block, asked: &Ask, summed: &[usize]) -> Vec<Type> {
    let flag = Type::scalar(DType::Bool);
    let cotangents = asked.given.iter().map(|&(i, _)| block.types[block.results[i] as usize]);
    let flags = asked.given.iter().filter(|(_, of_run)| *of_run).map(|_| flag);
    let sums = summed.iter().map(|&i| block.types[i]);
    cotangents.chain(flags).chain(sums).chain(summed.iter().map(|_| flag)).collect()
}

#[expect(clippy::too_many_arguments, reason = "the parts of one trace")]
fn way_back(
    asked: &Ask,
    given: &[Var],
    results: &[Var],
    params: &[Var],
    wrt: &[usize],
    summed: &[usize],
    choose: Choose,
    found: &mut Vec<(usize, bool)>,
) -> Result<Vec<Var>> {
    let (dys, rest) = given.split_at(asked.given.len());
    let n_flags = asked.given.iter().filter(|(_, of_run)| *of_run).count();
    let (flags, rest) = rest.split_at(n_flags);
    let (sums, filled) = rest.split_at(summed.len());
    let present = |flag: &Var| Present { flag: flag.clone(), choose };
    let mut flags = flags.iter();
    let mut seeds = Vec::new();
    for ((_, of_run), dy) in asked.given.iter().zip(dys) {
        let flag = if *of_run { flags.next() } else { None };
        seeds.push(Sum { var: dy.clone(), present: flag.map(present) });
    }
    let start = |i: &usize| {
        let position = summed.iter().position(|known| known == i)?;
        Some(Sum { var: sums[position].clone(), present: Some(present(&filled[position])) })
    };
    let starts: Vec<Option<Sum>> = wrt.iter().map(start).collect();
    let ys: Vec<&Var> = asked.given.iter().map(|&(i, _)| &results[i]).collect();
    let wanted: Vec<&Var> = wrt.iter().map(|&i| &params[i]).collect();
    let same: Vec<(&Var, &Var)> =
        asked.same.iter().map(|&(one, other)| (&params[one], &params[other])).collect();
    let totals = cotangents(&ys, &seeds, &wanted, &starts, &same)?;
    let mut vars = Vec::new();
    let mut of_run = Vec::new();
    for (i, (total, start)) in totals.into_iter().zip(&starts).enumerate() {
        let is_start = |total: &Sum| start.as_ref().is_some_and(|start| start.var.same(&total.var));
        let counts_as_another = asked.same.iter().any(|&(one, _)| one == wrt[i]);
        let Some(total) = total.filter(|total| !is_start(total) && !counts_as_another) else {
            continue;
        };
        found.push((wrt[i], total.present.is_some()));
        vars.push(total.var);
        of_run.extend(total.present.map(|present| present.flag));
    }
    vars.extend(of_run);
    Ok(vars)
}
