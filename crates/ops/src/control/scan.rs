//! `scan`: a loop over the slices of tensors, derived from `while_loop` and lists.

use super::while_loop::{same_types, while_loop};
use crate::gt;
use crate::lists::{list_len, list_new, list_pop, list_push, list_stack, list_unstack};
use crate::prelude::*;

/// Goes through the slices of `xs` along their first axis. `step` takes the carried values and one
/// slice of each of `xs`, and returns the next carried values, and values that are stacked along a
/// new first axis. Returns the last carried values and the stacks.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// // Running sums.
/// let xs = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let (last, sums) = scan(&[&Var::scalar(0.0)], &[&xs], |carried, x| {
///     let sum = &carried[0] + &x[0];
///     Ok((vec![sum.clone()], vec![sum]))
/// })?;
/// assert_eq!(last[0].item::<f64>()?, 6.0);
/// assert_eq!(sums[0].to_vec::<f64>()?, [1.0, 3.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scan(
    init: &[&Var],
    xs: &[&Var],
    step: impl Fn(&[Var], &[Var]) -> Result<(Vec<Var>, Vec<Var>)>,
) -> Result<(Vec<Var>, Vec<Var>)> {
    let loc = scope::user_line();
    let len = common_length(xs).map_err(|error| error.in_op("scan", &[]).at(loc))?;
    match mode() {
        Mode::Imperative => run(init, xs, len, step, loc),
        Mode::Building => build(init, xs, len, step, loc),
    }
}

/// The types of the carried values, then of one slice of each of `xs`.
fn step_types(init: &[&Var], xs: &[&Var]) -> Result<Vec<Type>> {
    let slices = xs.iter().map(|x| x.ty().with_dims(&x.ty().dims()[1..]));
    init.iter().map(|var| Ok(var.ty())).chain(slices).collect()
}

fn run(
    init: &[&Var],
    xs: &[&Var],
    len: Dim,
    step: impl Fn(&[Var], &[Var]) -> Result<(Vec<Var>, Vec<Var>)>,
    loc: Loc,
) -> Result<(Vec<Var>, Vec<Var>)> {
    let types = step_types(init, xs)?;
    let mut lists = Vec::new();
    {
        let _line = at(loc);
        for x in xs {
            lists.push(list_unstack(x, false)?);
        }
    }
    let mut carried: Vec<Var> = init.iter().map(|&var| var.clone()).collect();
    let mut stacks: Option<Vec<Var>> = None;
    for _ in 0..len.value().unwrap_or(0) {
        interrupt::before_trip()?;
        let mut slices = Vec::new();
        for list in &mut lists {
            let (rest, slice) = list_pop(list)?;
            *list = rest;
            slices.push(slice);
        }
        let (next, outs) = step(&carried, &slices)?;
        let next_types: Vec<Type> = next.iter().map(Var::ty).collect();
        same_types(&types[..init.len()], &next_types)
            .map_err(|error| error.in_op("scan", &[]).at(loc))?;
        carried = next;
        let _line = at(loc);
        let empty = || outs.iter().map(|out| list_new(out.ty())).collect::<Result<Vec<_>>>();
        let before = stacks.take().map_or_else(empty, Ok)?;
        let pushed = before.iter().zip(&outs).map(|(stack, out)| list_push(stack, out));
        stacks = Some(pushed.collect::<Result<_>>()?);
    }
    let stacks = match stacks {
        Some(stacks) => stacks,
        None => outline(&types, |params| {
            let (carried, slices) = params.split_at(init.len());
            Ok(step(carried, slices)?.1)
        })?
        .into_iter()
        .map(list_new)
        .collect::<Result<_>>()?,
    };
    let _line = at(loc);
    let stacked = stacks.iter().map(|stack| list_stack(stack, len, true));
    Ok((carried, stacked.collect::<Result<_>>()?))
}

fn build(
    init: &[&Var],
    xs: &[&Var],
    len: Dim,
    step: impl Fn(&[Var], &[Var]) -> Result<(Vec<Var>, Vec<Var>)>,
    loc: Loc,
) -> Result<(Vec<Var>, Vec<Var>)> {
    let n_init = init.len();
    let mut n_next = 0;
    let traced = trace_block_at(loc, &step_types(init, xs)?, |params| {
        let (carried, slices) = params.split_at(n_init);
        let (mut results, outs) = step(carried, slices)?;
        n_next = results.len();
        results.extend(outs);
        Ok(results)
    })?;
    let _line = at(loc);
    let stacked_types = traced.result_types().split_off(n_next);
    let closed = close(vec![traced], Runs::Trips)?;
    closed.check_history(init, 0, 0)?;
    let Some(body) = closed.blocks.first() else {
        return Err(Error::internal("a scan has a body"));
    };
    let n_states = closed.states.len();
    let lists = xs.iter().map(|x| list_unstack(x, false)).collect::<Result<Vec<_>>>()?;
    let stacks = stacked_types.iter().map(|&ty| list_new(ty)).collect::<Result<Vec<_>>>()?;
    // Carried by the loop: the values, the states, the slices left, the stacks.
    let carried: Vec<&Var> =
        init.iter().copied().chain(&closed.entries).chain(&lists).chain(&stacks).collect();
    let (first_list, first_stack) = (n_init + n_states, n_init + n_states + lists.len());
    let finished = while_loop(
        &carried,
        |values| gt(&list_len(&values[first_list])?, &Var::scalar(0i64)),
        |values| {
            let mut slices = Vec::new();
            let mut rests = Vec::new();
            for list in &values[first_list..first_stack] {
                let (rest, slice) = list_pop(list)?;
                rests.push(rest);
                slices.push(slice);
            }
            let args = values[..n_init].iter().chain(&slices).chain(&values[n_init..first_list]);
            let mut next = body.apply(&args.chain(&closed.captures).collect::<Vec<_>>())?;
            let states = next.split_off(n_next + stacked_types.len());
            let outs = next.split_off(n_next);
            next.extend(states.into_iter().chain(rests));
            for (stack, out) in values[first_stack..].iter().zip(&outs) {
                next.push(list_push(stack, out)?);
            }
            Ok(next)
        },
    )?;
    for (name, value) in closed.states.iter().zip(&finished[n_init..]) {
        assign_state(name, value)?;
    }
    let stacked = finished[first_stack..].iter().map(|stack| list_stack(stack, len, true));
    Ok((finished[..n_init].to_vec(), stacked.collect::<Result<_>>()?))
}

fn common_length(xs: &[&Var]) -> Result<Dim> {
    let first = xs.first().ok_or_else(|| {
        Error::argument("there is nothing to go through").remedy("pass at least one tensor in `xs`")
    })?;
    let length = |x: &Var| match x.ty().rank() {
        0 => Err(Error::shape(format!("{} has no axis to go through", x.ty()))),
        _ => Ok(x.ty().dim(0)),
    };
    let len = length(first)?;
    for x in xs {
        if length(x)? != len {
            return Err(Error::shape(format!(
                "the first axes differ: {} and {}",
                first.ty(),
                x.ty()
            )));
        }
    }
    Ok(len)
}
