//! The gradient of `cond`: each branch is linearised, and the gradient is again a `cond`.

use std::sync::Arc;

use super::cond::{Cond, cond};
use crate::lists::list_pop;
use crate::prelude::*;

/// The choice with the gradients of its branches, for these wanted inputs and given outputs.
pub(super) fn with_reverse(op: &Cond, wanted: &[bool], given: &[bool]) -> Result<Option<OpRef>> {
    let given_of = |branch: usize| {
        let is_given = |result: &usize| {
            let ty = op.branches[branch].types[op.branches[branch].results[*result] as usize];
            let output = op.output(branch, *result);
            ty.is_float() && output.is_ok_and(|i| given.get(i).copied().unwrap_or(false))
        };
        (0..op.branches[branch].results.len()).filter(is_given).collect::<Vec<_>>()
    };
    let given: Vec<Vec<usize>> = (0..op.branches.len()).map(given_of).collect();
    // An operand that influences nothing gets no cotangent, not even zero.
    let influences: Vec<Vec<bool>> =
        op.branches.iter().zip(&given).map(|(block, given)| block.influences(given)).collect();
    let matters = |i: &usize| wanted[1 + i] && influences.iter().any(|of_branch| of_branch[*i]);
    let wrt: Vec<usize> = (0..wanted.len() - 1).filter(matters).collect();
    let covers =
        |(known, asked): (&Vec<usize>, &Vec<usize>)| asked.iter().all(|i| known.contains(i));
    let covered = !op.reverses.is_empty()
        && wrt.iter().all(|i| op.wanted.contains(i))
        && op.given.iter().zip(&given).all(covers);
    if covered {
        return Ok(None);
    }
    let mut variant = Cond {
        reverses: vec![],
        wanted: wrt.clone(),
        given: given.clone(),
        residuals: vec![],
        branches: vec![],
        ..op.clone()
    };
    for (branch, block) in op.branches.iter().enumerate() {
        let linear = linearize(block, &given[branch], &wrt)?;
        let first_new = block.results.len();
        for i in first_new..linear.forward.results.len() {
            variant.lists.push(vec![branch, i]);
        }
        let source = |residual: &Residual| match *residual {
            Residual::Param(i) => i as i64,
            Residual::Result(i) => -1 - (first_new + i) as i64,
        };
        variant.residuals.push(linear.residuals.iter().map(source).collect());
        variant.branches.push(linear.forward);
        variant.reverses.push(Arc::clone(&linear.reverse));
    }
    Ok(Some(OpRef::new(variant)))
}

/// The gradient rule: the reverse block of the branch that ran.
pub(super) fn reverse_branch(p: &Pull<'_>) -> Result<Cotangents> {
    let op = p.op::<Cond>()?;
    if op.reverses.is_empty() {
        return Err(Error::internal("a condition is differentiated in its variant with residuals"));
    }
    let run = |branch: usize| -> Result<Vec<Var>> {
        let mut args = Vec::new();
        for &result in &op.given[branch] {
            let output = op.output(branch, result)?;
            args.push(match (p.dys().get(output), result < op.n_results) {
                (Some(Some(cotangent)), true) => cotangent.clone(),
                (Some(Some(cotangents)), false) => list_pop(cotangents)?.1,
                (_, true) => zeros_like(&p.y(output))?,
                (_, false) => zeros_like(&list_pop(&p.y(output))?.1)?,
            });
        }
        for &source in &op.residuals[branch] {
            args.push(match usize::try_from(source) {
                Ok(operand) => p.x(1 + operand),
                Err(_) => list_pop(&p.y(op.output(branch, (-1 - source) as usize)?))?.1,
            });
        }
        op.reverses[branch].apply(&args.iter().collect::<Vec<_>>())
    };
    let found = cond(&p.x(0), || run(0), || run(1))?;
    let mut cotangents: Cotangents = smallvec![None; p.n_inputs()];
    for (&i, cotangent) in op.wanted.iter().zip(found) {
        cotangents[1 + i] = Some(cotangent);
    }
    Ok(cotangents)
}
