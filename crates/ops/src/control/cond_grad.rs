//! The gradient of `cond`: each branch is linearised, and the gradient is again a `cond`. It goes on with the sums
//! of the operands' cotangents, and an operand of which only one branch makes use gets nothing of the other one.

use super::cond::{Cond, cond, cond_of};
use crate::lists::list_pop;
use crate::prelude::*;

/// The choice with the gradients of its branches, for these wanted inputs and given outputs.
pub(super) fn with_reverse(op: &Cond, wanted: &[bool], given: &[bool]) -> Result<Option<OpRef>> {
    let given_of = |branch: usize| {
        let is_given = |result: &usize| {
            let ty = op.branches[branch].types[op.branches[branch].results[*result] as usize];
            let output = op.output(branch, *result);
            ty.is_inexact() && output.is_ok_and(|i| given.get(i).copied().unwrap_or(false))
        };
        (0..op.branches[branch].results.len()).filter(is_given).collect::<Vec<_>>()
    };
    let given: Vec<Vec<usize>> = (0..op.branches.len()).map(given_of).collect();
    // An operand that influences nothing gets no cotangent, not even zero.
    let influences: Vec<Vec<bool>> =
        op.branches.iter().zip(&given).map(|(block, given)| block.influences(given)).collect();
    let matters = |i: &usize| wanted[1 + i] && influences.iter().any(|of_branch| of_branch[*i]);
    let wrt: Vec<usize> = (0..wanted.len() - 1).filter(matters).collect();
    let is_covered =
        !op.reverses.is_empty() && wrt.iter().all(|i| op.wanted.contains(i)) && op.given == given;
    if is_covered {
        return Ok(None);
    }
    let mut variant = Cond {
        reverses: vec![],
        wanted: wrt.clone(),
        given: given.clone(),
        found: vec![],
        of_run: vec![],
        residuals: vec![],
        branches: vec![],
        ..op.clone()
    };
    for (branch, block) in op.branches.iter().enumerate() {
        let ask = Ask { given: given[branch].iter().map(|&i| (i, false)).collect(), same: vec![] };
        let mut ask = Some(ask);
        let linear = linearize(block, &wrt, &wrt, cond_of, &mut |_| ask.take())?;
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
        for reverse in linear.reverses {
            let of_run = reverse.found.iter().filter(|(_, of_run)| *of_run);
            variant.of_run.push(of_run.map(|(i, _)| *i).collect());
            variant.found.push(reverse.found.iter().map(|(i, _)| *i).collect());
            variant.reverses.push(reverse.block);
        }
    }
    Ok(Some(OpRef::new(variant)))
}

/// Whether an operand has a cotangent behind the choice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    /// If it had one before.
    AsBefore,
    InAnyRun,
    /// Only a run knows.
    OfRun,
}

impl Cond {
    fn there(&self, branch: usize, operand: usize) -> There {
        match self.found[branch].contains(&operand) {
            false => There::AsBefore,
            true if self.of_run[branch].contains(&operand) => There::OfRun,
            true => There::InAnyRun,
        }
    }
}

/// The gradient rule: the reverse block of the branch that ran.
pub(super) fn reverse_branch(p: &Pull<'_>, sums: &[Option<Sum>]) -> Result<Vec<Option<Sum>>> {
    let op = p.op::<Cond>()?;
    if op.reverses.is_empty() {
        return Err(Error::internal("a condition is differentiated in its variant with residuals"));
    }
    let is_found = |i: &usize| op.found.iter().any(|found| found.contains(i));
    let found: Vec<usize> = op.wanted.iter().copied().filter(is_found).collect();
    // Operands that are there under one condition share its flag.
    let mut flags: Vec<([There; 2], Option<usize>)> = Vec::new();
    let mut flag_of: Vec<Option<usize>> = Vec::new();
    for &i in &found {
        let there = [op.there(0, i), op.there(1, i)];
        let before = sums[1 + i].as_ref().map(|sum| sum.present.is_some());
        let is_certain = before == Some(false) || there == [There::InAnyRun; 2];
        let is_own = before.is_some() || there.contains(&There::OfRun);
        let key = (there, is_own.then_some(i));
        flag_of.push(match is_certain {
            true => None,
            false => Some(flags.iter().position(|known| *known == key).unwrap_or_else(|| {
                flags.push(key);
                flags.len() - 1
            })),
        });
    }
    let run = |branch: usize| run_branch(p, op, sums, branch, &found, &flags);
    let results = cond(&p.x(0), || run(0), || run(1))?;
    let (totals, flags) = results.split_at(found.len());
    let mut all = vec![None; p.n_inputs()];
    for ((i, var), flag) in found.iter().zip(totals).zip(flag_of) {
        let present = flag.map(|flag| Present { flag: flags[flag].clone(), choose: cond_of });
        all[1 + i] = Some(Sum { var: var.clone(), present });
    }
    Ok(all)
}

/// The totals of the operands that were found, then the flags, if this branch ran.
fn run_branch(
    p: &Pull<'_>,
    op: &Cond,
    sums: &[Option<Sum>],
    branch: usize,
    found: &[usize],
    flags: &[([There; 2], Option<usize>)],
) -> Result<Vec<Var>> {
    let start = |i: usize| match &sums[1 + i] {
        Some(sum) => Ok(sum.var.clone()),
        None => nothing(&p.x(1 + i)),
    };
    let before = |i: usize| match &sums[1 + i] {
        Some(Sum { present: Some(present), .. }) => present.flag.clone(),
        sum => Var::scalar(sum.is_some()),
    };
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
    for &i in &op.wanted {
        args.push(start(i)?);
    }
    args.extend(op.wanted.iter().map(|&i| before(i)));
    for &source in &op.residuals[branch] {
        args.push(match usize::try_from(source) {
            Ok(operand) => p.x(1 + operand),
            Err(_) => list_pop(&p.y(op.output(branch, (-1 - source) as usize)?))?.1,
        });
    }
    let results = op.reverses[branch].apply(&args.iter().collect::<Vec<_>>())?;
    let (totals, of_run) = results.split_at(op.found[branch].len());
    let mut all = Vec::new();
    for &i in found {
        all.push(match op.found[branch].iter().position(|&known| known == i) {
            Some(position) => totals[position].clone(),
            None => start(i)?,
        });
    }
    for (there, operand) in flags {
        let operand = operand.unwrap_or(usize::MAX);
        all.push(match there[branch] {
            There::InAnyRun => Var::scalar(true),
            There::AsBefore if operand == usize::MAX => Var::scalar(false),
            There::AsBefore => before(operand),
            There::OfRun => {
                let position = op.of_run[branch].iter().position(|&known| known == operand);
                of_run[position.unwrap_or_default()].clone()
            }
        });
    }
    Ok(all)
}
