//! Branches and loops on batched values. A condition that is batched chooses rows: each element takes its own way.

use crate::batch_spread::of_loop;
use crate::batch_walk::Walk;
use crate::control::{Checkpoint, Cond, While, cond_of, if_else, while_of};
use crate::index::{merge_rows, split_rows};
use crate::lists::{list_new, list_push};
use crate::prelude::*;
use crate::reduce::any;
use crate::shape::assume_dims;

/// The values with the axis of the batch where they should have it.
fn as_flagged(walk: &Walk, values: &[Var], have: &[bool], want: &[bool]) -> Result<Vec<Var>> {
    let grown = |i: usize| match want[i] && !have[i] {
        true => walk.grown(&values[i]),
        false => Ok(values[i].clone()),
    };
    (0..want.len()).map(grown).collect()
}

/// `cond` on batched values.
pub(crate) fn choice(
    walk: &Walk,
    op: &Cond,
    inputs: &[Var],
    flags: &[bool],
    outs: &[bool],
) -> Result<Outputs> {
    if flags[0] {
        return rows_of_choice(walk, op, inputs, flags);
    }
    let branch = |number: usize| -> Result<Vec<Var>> {
        let (results, have) = walk.apply(&op.branches[number], &inputs[1..], &flags[1..])?;
        let mut values = as_flagged(walk, &results, &have, &outs[..op.n_results])?;
        for list in &op.lists {
            let block = &op.branches[list[0]];
            let ty = block.types[block.results[list[1]] as usize];
            let kept = (list[0] == number).then(|| &results[list[1]]);
            let batched = outs[op.n_results + (values.len() - op.n_results)];
            let element = match kept {
                Some(kept) => kept.ty(),
                None if batched => batched_type(&ty, walk.size)?,
                None => ty,
            };
            let empty = list_new(element)?;
            values.push(kept.map_or(Ok(empty.clone()), |kept| list_push(&empty, kept))?);
        }
        Ok(values)
    };
    let then = trace_block(&[], |_| branch(0))?;
    let otherwise = trace_block(&[], |_| branch(1))?;
    cond_of(&inputs[0], then, otherwise).map(Outputs::from)
}

/// The positions of batched values, of which rows are taken.
fn batched_places(flags: &[bool]) -> Vec<usize> {
    (0..flags.len()).filter(|&i| flags[i]).collect()
}

fn rows_of_choice(walk: &Walk, op: &Cond, inputs: &[Var], flags: &[bool]) -> Result<Outputs> {
    let places = batched_places(flags);
    let taken: Vec<&Var> = places.iter().map(|&i| &inputs[i]).collect();
    let branch = |number: usize, rows: &[Var]| {
        let mut own = inputs.to_vec();
        places.iter().zip(rows).for_each(|(&i, row)| own[i] = row.clone());
        walk.of_rows(rows[0].dims()[0], |part| {
            let (results, have) = part.apply(&op.branches[number], &own[1..], &flags[1..])?;
            as_flagged(part, &results, &have, &vec![true; op.n_results])
        })
    };
    let results = if_else(&inputs[0], &taken, |rows| branch(0, rows), |rows| branch(1, rows))?;
    Ok(results.into())
}

/// `while` on batched values.
pub(crate) fn loops(
    walk: &Walk,
    op: &While,
    inputs: &[Var],
    flags: &[bool],
    outs: &[bool],
) -> Result<Outputs> {
    let n = op.n_carried;
    let (carried, results) = of_loop(op, flags, walk.randomness)
        .map_err(|(name, _)| Error::internal(format!("`{name}` was batched, and cannot be")))?;
    let init = as_flagged(walk, &inputs[1..=n], &flags[1..=n], &carried)?;
    let params: Vec<bool> = carried.iter().chain(&flags[1 + n..]).copied().collect();
    if flags[0] || results[0] {
        return rows_of_loop(walk, op, inputs, flags[0], init, &params);
    }
    let captures = &inputs[1 + n..];
    let n_lists = outs.len().saturating_sub(n + 1);
    let mut all = init;
    if outs.len() > n {
        all.push(Var::scalar(0i64));
    }
    for i in 0..n_lists {
        let ty = op.body.types[op.body.results[1 + n + i] as usize];
        all.push(list_new(if results[1 + n + i] { batched_type(&ty, walk.size)? } else { ty })?);
    }
    let types: Vec<Type> = all.iter().map(Var::ty).collect();
    let traced = trace_block(&types, |values| {
        let args: Vec<Var> = values[..n].iter().chain(captures).cloned().collect();
        let (found, have) = walk.apply(&op.body, &args, &params)?;
        let mut next = vec![found[0].clone()];
        next.extend(as_flagged(walk, &found[1..], &have[1..], &carried)?);
        if outs.len() > n {
            next.push(add(&values[n], &Var::scalar(1i64))?);
        }
        for i in 0..n_lists {
            next.push(list_push(&values[n + 1 + i], &found[1 + n + i])?);
        }
        Ok(next)
    })?;
    while_of(&inputs[0], &all.iter().collect::<Vec<_>>(), traced).map(Outputs::from)
}

/// A loop in which each element makes as many trips as its own condition says.
fn rows_of_loop(
    walk: &Walk,
    op: &While,
    inputs: &[Var],
    first_is_batched: bool,
    init: Vec<Var>,
    params: &[bool],
) -> Result<Outputs> {
    let n = op.n_carried;
    let active = match first_is_batched {
        true => inputs[0].clone(),
        false => walk.grown(&inputs[0])?,
    };
    let places = batched_places(params);
    let mut all = vec![active.clone()];
    all.extend(init);
    let types: Vec<Type> = all.iter().map(Var::ty).collect();
    let traced = trace_block(&types, |values| {
        let active = &values[0];
        let given: Vec<Var> = values[1..].iter().chain(&inputs[1 + n..]).cloned().collect();
        let (mut going, mut resting) = (given.clone(), given.clone());
        let (first, rest) = split_rows(active, active)?;
        let (count, rest_count) = (first.dims()[0], rest.dims()[0]);
        for &i in &places {
            let (yes, no) = split_rows(active, &given[i])?;
            (going[i], resting[i]) = (with_rows(&yes, count)?, with_rows(&no, rest_count)?);
        }
        let (found, have) = walk.of_rows(count, |part| {
            let (found, have) = part.apply(&op.body, &going, params)?;
            let mut want = vec![true];
            want.extend(&params[..n]);
            Ok((as_flagged(part, &found, &have, &want)?, want))
        })?;
        let ended = zeros_like(&rest)?;
        let next_active = merge_rows(active, &found[0], &ended)?;
        let mut next = vec![any(&next_active, &[], false)?, next_active];
        for i in 0..n {
            next.push(match have[1 + i] {
                true => merge_rows(active, &found[1 + i], &resting[i])?,
                false => found[1 + i].clone(),
            });
        }
        Ok(next)
    })?;
    let first = any(&active, &[], false)?;
    let mut last = while_of(&first, &all.iter().collect::<Vec<_>>(), traced)?;
    drop(last.remove(0));
    Ok(last.into())
}

/// The rows, of which there are as many as a mask says: each split names the number anew.
fn with_rows(rows: &Var, count: Dim) -> Result<Var> {
    let mut dims = rows.dims();
    dims[0] = count;
    assume_dims(rows, &dims)
}

/// `checkpoint` on batched values.
pub(crate) fn again(
    walk: &Walk,
    op: &Checkpoint,
    inputs: &[Var],
    flags: &[bool],
) -> Result<Outputs> {
    let types: Vec<Type> = inputs.iter().map(Var::ty).collect();
    let block = free_block(&types, |params| Ok(walk.apply(&op.block, params, flags)?.0))?;
    bind(Checkpoint { block }, &inputs.iter().collect::<Vec<_>>())
}
