//! The gradient of `while`: the body is linearised once, its residuals are stacked trip by trip,
//! and an ordinary loop takes them off again, last trip first.

use std::sync::Arc;

use super::while_loop::{While, while_loop};
use crate::gt;
use crate::lists::list_pop;
use crate::prelude::*;

/// The loop with the gradient of its body, for these wanted inputs and given outputs.
pub(super) fn with_reverse(op: &While, wanted: &[bool], given: &[bool]) -> Result<Option<OpRef>> {
    let body = &op.body;
    let active = active_params(op, &wanted[1..]);
    // Outputs: carried values, the number of trips, then one list per stacked value.
    let first_list = op.n_carried + 1;
    let stacked: Vec<usize> = (0..op.n_stacked())
        .filter(|&i| given.get(first_list + i).copied().unwrap_or(false))
        .collect();
    let carried = (0..op.n_carried).filter(|&i| active[i]).map(|i| 1 + i);
    let outputs: Vec<usize> =
        carried.chain(stacked.iter().map(|&i| 1 + op.n_carried + i)).collect();
    // A capture that influences nothing gets no cotangent, not even zero.
    let influences = body.influences(&outputs);
    let matters = |i: &usize| active[*i] && (*i < op.n_carried || influences[*i]);
    let wrt: Vec<usize> = (0..body.n_params).filter(matters).collect();
    let covered = op.reverse.is_some()
        && wrt.iter().all(|i| op.wanted.contains(i))
        && stacked.iter().all(|i| op.given.contains(i));
    if covered {
        return Ok(None);
    }
    let linear = linearize(body, &outputs, &wrt)?;
    let first_new = op.n_stacked();
    let mut results = linear.forward.results.clone();
    let mut residuals = Vec::new();
    for residual in &linear.residuals {
        residuals.push(match *residual {
            Residual::Param(i) if i >= op.n_carried => i as i64,
            // A carried value differs from trip to trip: it is stacked.
            Residual::Param(i) => {
                results.push(i as ValueId);
                -1 - (results.len() - 2 - op.n_carried) as i64
            }
            Residual::Result(i) => -1 - (first_new + i) as i64,
        });
    }
    Ok(Some(OpRef::new(While {
        body: Arc::new(linear.forward.with_results(results)),
        n_carried: op.n_carried,
        reverse: Some(linear.reverse),
        wanted: wrt,
        given: stacked,
        residuals,
    })))
}

/// The parameters of the body that a wanted one influences in some trip.
fn active_params(op: &While, wanted: &[bool]) -> Vec<bool> {
    let body = &op.body;
    let mut active: Vec<bool> = wanted.to_vec();
    loop {
        let mut depends = vec![false; body.types.len()];
        depends[..body.n_params].copy_from_slice(&active);
        for call in &body.calls {
            let from_inputs = call.inputs.iter().any(|&id| depends[id as usize])
                && !matches!(call.op.grad(), Grad::Stop);
            for id in call.outputs() {
                depends[id as usize] = from_inputs && body.types[id as usize].is_float();
            }
        }
        let mut grew = false;
        for i in 0..op.n_carried {
            if depends[body.results[1 + i] as usize] && !active[i] {
                active[i] = true;
                grew = true;
            }
        }
        if !grew {
            return active;
        }
    }
}

/// The gradient rule: an ordinary loop that carries the trips left, cotangents of carried values,
/// sums for captures, and the lists it takes residuals from.
pub(super) fn reverse_loop(p: &Pull<'_>) -> Result<Cotangents> {
    let op = p.op::<While>()?;
    let Some(reverse) = &op.reverse else {
        return Err(Error::internal("a loop is differentiated in its variant with residuals"));
    };
    let first_list = op.n_carried + 1;
    let carried: Vec<usize> = op.wanted.iter().copied().filter(|&i| i < op.n_carried).collect();
    let captured: Vec<usize> = op.wanted.iter().copied().filter(|&i| i >= op.n_carried).collect();

    let mut init = vec![p.y(op.n_carried)];
    for &i in &carried {
        init.push(match &p.dys()[i] {
            Some(cotangent) => cotangent.clone(),
            None => zeros_like(&p.y(i))?,
        });
    }
    for &i in &captured {
        init.push(zeros_like(&p.x(1 + i))?);
    }
    let n_sums = init.len();
    for &i in &op.given {
        init.push(match p.dys().get(first_list + i) {
            Some(Some(cotangent)) => cotangent.clone(),
            _ => zeros_like(&p.y(first_list + i))?,
        });
    }
    let stacked: Vec<usize> = op
        .residuals
        .iter()
        .filter(|&&source| source < 0)
        .map(|&source| (-1 - source) as usize)
        .collect();
    for &i in &stacked {
        init.push(p.y(first_list + i));
    }

    let finished = while_loop(
        &init.iter().collect::<Vec<_>>(),
        |values| gt(&values[0], &Var::scalar(0i64)),
        |values| {
            let mut next = vec![&values[0] - 1.0];
            let mut rests = Vec::new();
            let mut tops = Vec::new();
            for list in &values[n_sums..] {
                let (rest, top) = list_pop(list)?;
                rests.push(rest);
                tops.push(top);
            }
            let mut args: Vec<Var> = values[1..1 + carried.len()].to_vec();
            args.extend(tops[..op.given.len()].iter().cloned());
            let mut popped = tops[op.given.len()..].iter();
            for &source in &op.residuals {
                match usize::try_from(source) {
                    Ok(param) => args.push(p.x(1 + param)),
                    Err(_) => args.extend(popped.next().cloned()),
                }
            }
            let cotangents = reverse.apply(&args.iter().collect::<Vec<_>>())?;
            let (of_carried, of_captured) = cotangents.split_at(carried.len());
            next.extend(of_carried.iter().cloned());
            for (sum, cotangent) in values[1 + carried.len()..n_sums].iter().zip(of_captured) {
                next.push(accumulate(sum, cotangent)?);
            }
            next.extend(rests);
            Ok(next)
        },
    )?;

    let mut cotangents: Cotangents = smallvec![None; p.n_inputs()];
    for (&i, cotangent) in carried.iter().chain(&captured).zip(&finished[1..]) {
        cotangents[1 + i] = Some(cotangent.clone());
    }
    Ok(cotangents)
}
