//! The gradient of `while`: the forward loop stacks what the gradient of its body needs, and the
//! reverse loop takes it off again, last trip first. It goes on with the sums of what the body captures.

use std::sync::Arc;

use super::cond::cond_of;
use super::while_back::Back;
use super::while_loop::While;
use crate::prelude::*;

/// How many ways back there are before trips are no longer told apart.
const MAX_WAYS: usize = 6;

/// The loop with the gradient of its body, for these wanted inputs and given outputs.
pub(super) fn with_reverse(op: &While, wanted: &[bool], given: &[bool]) -> Result<Option<OpRef>> {
    let body = &op.body;
    let active = active_params(op, &wanted[1..]);
    // Outputs: carried values, the number of trips, then one list per stacked value.
    let first_list = op.n_carried + 1;
    let is_given = |output: usize| given.get(output).copied().unwrap_or(false);
    let stacked: Vec<usize> = (0..op.n_stacked()).filter(|&i| is_given(first_list + i)).collect();
    let carried: Vec<usize> = (0..op.n_carried).filter(|&i| active[i]).collect();
    // A capture that influences nothing gets no cotangent, not even zero.
    let of_stacked = stacked.iter().map(|&i| 1 + op.n_carried + i);
    let outputs: Vec<usize> = carried.iter().map(|&i| 1 + i).chain(of_stacked).collect();
    let influences = body.influences(&outputs);
    let matters = |i: &usize| active[*i] && (*i < op.n_carried || influences[*i]);
    let wrt: Vec<usize> = (0..body.n_params).filter(matters).collect();
    let last: Vec<(usize, bool)> =
        carried.iter().filter(|&&i| is_given(i)).map(|&i| (i, false)).collect();
    let is_covered = op.keeps()
        && wrt.iter().all(|i| op.wanted.contains(i))
        && op.seeds_of(0) == last
        && stacked == op.given;
    if is_covered {
        return Ok(None);
    }
    let summed: Vec<usize> = wrt.iter().copied().filter(|&i| i >= op.n_carried).collect();
    let mut ways = Ways { seeds: vec![last], next: vec![], all: carried };
    // In the first trip, what begins as one value is one.
    let is_wanted = |pair: &&Vec<usize>| pair.iter().all(|i| wrt.contains(i));
    let same: Vec<(usize, usize)> =
        op.same.iter().filter(is_wanted).map(|pair| (pair[0], pair[1])).collect();
    let mut n_ways: Option<usize> = None;
    let linear = linearize(body, &wrt, &summed, cond_of, &mut |made| {
        let seeds = match n_ways {
            None => ways.after(made, op.n_carried),
            Some(_) => None,
        };
        let (seeds, same) = match seeds {
            Some(seeds) => (seeds, vec![]),
            None if same.is_empty() => return None,
            None => {
                let n = *n_ways.get_or_insert(made.len());
                (ways.seeds.get(made.len() - n)?.clone(), same.clone())
            }
        };
        let of_stacked = stacked.iter().map(|&i| (1 + op.n_carried + i, false));
        let given = seeds.iter().map(|&(i, of_run)| (1 + i, of_run)).chain(of_stacked).collect();
        Some(Ask { given, same })
    })?;
    let halves = linear.reverses.len() / ways.seeds.len();
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
    let of = |reverse: &Reverse, only_of_run: bool| {
        let found = reverse.found.iter().filter(|(_, of_run)| *of_run || !only_of_run);
        found.map(|(i, _)| *i).collect::<Vec<usize>>()
    };
    let coded = |seeds: &Vec<(usize, bool)>| {
        seeds.iter().map(|&(i, of_run)| 2 * i + usize::from(of_run)).collect()
    };
    Ok(Some(OpRef::new(While {
        body: Arc::new(linear.forward.with_results(results)),
        n_carried: op.n_carried,
        same: op.same.clone(),
        wanted: wrt,
        given: stacked,
        seeds: (0..halves).flat_map(|_| ways.seeds.iter().map(coded)).collect(),
        found: linear.reverses.iter().map(|reverse| of(reverse, false)).collect(),
        of_run: linear.reverses.iter().map(|reverse| of(reverse, true)).collect(),
        next: ways.next,
        reverses: linear.reverses.into_iter().map(|reverse| reverse.block).collect(),
        residuals,
    })))
}

/// The ways back that trips need: they differ in which carried values have cotangents.
struct Ways {
    seeds: Vec<Vec<(usize, bool)>>,
    next: Vec<usize>,
    /// All carried values that may have one.
    all: Vec<usize>,
}

impl Ways {
    /// The seeds of the way to make now; nothing if all are made.
    fn after(&mut self, made: &[Reverse], n_carried: usize) -> Option<Vec<(usize, bool)>> {
        let Some(last) = made.last() else { return self.seeds.first().cloned() };
        let of_run: Vec<(usize, bool)> = self.all.iter().map(|&i| (i, true)).collect();
        let is_general = self.seeds.last() == Some(&of_run);
        let found = last.found.iter().copied().filter(|(i, _)| *i < n_carried).collect();
        let before = match is_general || self.seeds.len() >= MAX_WAYS {
            true => of_run,
            false => found,
        };
        let known = self.seeds.iter().position(|seeds| *seeds == before);
        self.next.push(known.unwrap_or(self.seeds.len()));
        if known.is_none() {
            self.seeds.push(before.clone());
        }
        known.is_none().then_some(before)
    }
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
                depends[id as usize] = from_inputs && body.types[id as usize].is_inexact();
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

/// The gradient rule: an ordinary loop.
pub(super) fn reverse_loop(p: &Pull<'_>, sums: &[Option<Sum>]) -> Result<Vec<Option<Sum>>> {
    let op = p.op::<While>()?;
    if !op.keeps() {
        return Err(Error::internal("a loop is differentiated in its variant with residuals"));
    }
    Back::new(p, op, sums).run()
}
