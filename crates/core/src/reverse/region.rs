//! A part of the walk that only some runs take: what lies behind cotangents of which only a run knows whether
//! there are any is computed in a branch, so that nothing comes of nothing.

use std::cell::Cell;

use fluvial_tensor::{Error, Result};
use smallvec::SmallVec;

use super::sum::{Present, Sum, nothing};
use super::{Trace, step};
use crate::trace::{Depth, begin_block, end_block, trace_block};
use crate::var::Var;

/// The condition under which a record has any cotangents; nothing if it has some in any run, or none at all.
pub(super) fn condition(slots: &[usize], cotangents: &[Option<Sum>]) -> Result<Option<Present>> {
    let mut found: Option<Present> = None;
    for sum in slots.iter().filter_map(|&slot| cotangents[slot].as_ref()) {
        found = match (&sum.present, found) {
            (None, _) => return Ok(None),
            (Some(present), None) => Some(present.clone()),
            (Some(present), Some(other)) => Some(other.or(present)?),
        };
    }
    Ok(found)
}

/// Walks from record `end - 1` down, as far as records have cotangents under this condition only, in a branch of
/// the program. Returns where it stopped.
pub(super) fn conditional(
    trace: &mut impl Trace,
    cotangents: &mut [Option<Sum>],
    kept: &dyn Fn(usize) -> bool,
    end: usize,
    present: &Present,
) -> Result<usize> {
    let _depth = Depth::here();
    begin_block(&[])?;
    let mut inner: Vec<Option<Sum>> = cotangents.to_vec();
    let is_same = |sum: &Sum| is_under(sum, present);
    for sum in inner.iter_mut().flatten().filter(|sum| is_same(sum)) {
        sum.present = None;
    }
    record(trace, end - 1, &mut inner, kept)?;
    let mut i = end - 1;
    while i > 0 {
        let slots = trace.outputs(i - 1);
        let is_own =
            |&slot: &usize| inner[slot].is_none() || cotangents[slot].as_ref().is_none_or(is_same);
        if !slots.iter().all(is_own) {
            break;
        }
        match condition(&slots, &inner)? {
            Some(nested) => i = conditional(trace, &mut inner, kept, i, &nested)?,
            None => {
                record(trace, i - 1, &mut inner, kept)?;
                i -= 1;
            }
        }
    }
    leave(trace, cotangents, inner, present)?;
    Ok(i)
}

/// How many conditions may decide which outputs of a record have cotangents, for each case to be a branch.
const MAX_DOUBTS: usize = 2;

thread_local! {
    /// Whether a case of a record is being written. Cases of cases would be too many.
    static IN_CASE: Cell<bool> = const { Cell::new(false) };
}

/// Passes the cotangents of the outputs of a record on. Where only a run knows which of a few outputs have some, each
/// case is a branch: what an output without one leads to gets none. Otherwise it gets zeros.
pub(super) fn record(
    trace: &mut impl Trace,
    i: usize,
    cotangents: &mut [Option<Sum>],
    kept: &dyn Fn(usize) -> bool,
) -> Result<()> {
    let slots = trace.outputs(i);
    let doubt = slots.iter().find_map(|&slot| cotangents[slot].as_ref()?.present.clone());
    let Some(doubt) = doubt else { return step(trace, i, cotangents, kept) };
    let mut doubts: SmallVec<[Present; 4]> = SmallVec::new();
    for present in slots.iter().filter_map(|&slot| cotangents[slot].as_ref()?.present.clone()) {
        if !doubts.iter().any(|known| known.same(&present)) {
            doubts.push(present);
        }
    }
    if IN_CASE.get() || doubts.len() > MAX_DOUBTS {
        for &slot in slots.iter().filter(|slot| !kept(**slot)) {
            cotangents[slot].iter_mut().for_each(|sum| sum.present = None);
        }
        return step(trace, i, cotangents, kept);
    }
    let _case = InCase::begin();
    cases(trace, i, cotangents, kept, slots, &doubt)
}

/// Marks that a case of a record is being written.
struct InCase;

impl InCase {
    fn begin() -> InCase {
        IN_CASE.set(true);
        InCase
    }
}

impl Drop for InCase {
    fn drop(&mut self) {
        IN_CASE.set(false);
    }
}

/// [`record`] in a branch for each case of a doubt.
fn cases(
    trace: &mut impl Trace,
    i: usize,
    cotangents: &mut [Option<Sum>],
    kept: &dyn Fn(usize) -> bool,
    slots: SmallVec<[usize; 1]>,
    doubt: &Present,
) -> Result<()> {
    let mut touched: Vec<usize> = trace.inputs(i).into_vec();
    touched.extend(slots.iter().copied().filter(|&slot| kept(slot)));
    touched.sort_unstable();
    touched.dedup();
    let _depth = Depth::here();
    let mut both = Vec::new();
    for is_there in [true, false] {
        begin_block(&[])?;
        let mut inner: Vec<Option<Sum>> = cotangents.to_vec();
        for &slot in &slots {
            if let Some(sum) = inner[slot].as_mut().filter(|sum| is_under(sum, doubt)) {
                sum.present = None;
                inner[slot] = inner[slot].take().filter(|_| is_there);
            }
        }
        let further = slots.iter().find_map(|&slot| inner[slot].as_ref()?.present.clone());
        match further {
            Some(further) => cases(trace, i, &mut inner, kept, slots.clone(), &further)?,
            None => step(trace, i, &mut inner, kept)?,
        }
        let mut results = Vec::new();
        for &slot in &touched {
            results.push(match &inner[slot] {
                Some(sum) => sum.var.clone(),
                None => {
                    trace.value(slot).map_or_else(|| Ok(Var::scalar(false)), |of| nothing(&of))?
                }
            });
            results.push(match &inner[slot] {
                Some(Sum { present: Some(present), .. }) => present.flag.clone(),
                sum => Var::scalar(sum.is_some()),
            });
        }
        both.push((end_block(&results.iter().collect::<Vec<_>>())?, inner));
    }
    let [(then, with), (otherwise, without)] =
        <[_; 2]>::try_from(both).map_err(|_| Error::internal("a doubt has two cases"))?;
    let values = (doubt.choose)(&doubt.flag, then, otherwise)?;
    for slot in slots {
        cotangents[slot] = cotangents[slot].take().filter(|_| kept(slot));
    }
    for (&slot, pair) in touched.iter().zip(values.chunks(2)) {
        let is_certain = |sum: &Option<Sum>| sum.as_ref().is_some_and(|sum| sum.present.is_none());
        if with[slot].is_none() && without[slot].is_none() {
            continue;
        }
        let present = match is_certain(&with[slot]) && is_certain(&without[slot]) {
            true => None,
            false => Some(Present { flag: pair[1].clone(), choose: doubt.choose }),
        };
        cotangents[slot] = Some(Sum { var: pair[0].clone(), present });
    }
    Ok(())
}

fn is_under(sum: &Sum, present: &Present) -> bool {
    sum.present.as_ref().is_some_and(|known| known.same(present))
}

/// Closes the branch, and takes over what it has added.
fn leave(
    trace: &impl Trace,
    cotangents: &mut [Option<Sum>],
    inner: Vec<Option<Sum>>,
    present: &Present,
) -> Result<()> {
    let mut changed: Vec<(usize, Sum)> = Vec::new();
    for (slot, sum) in inner.into_iter().enumerate() {
        match (&cotangents[slot], sum) {
            (Some(_), None) => cotangents[slot] = None,
            (Some(outer), Some(sum)) if outer.var.same(&sum.var) => {}
            (_, Some(sum)) => changed.push((slot, sum)),
            (None, None) => {}
        }
    }
    let mut results: Vec<&Var> = changed.iter().map(|(_, sum)| &sum.var).collect();
    results.extend(changed.iter().filter_map(|(_, sum)| Some(&sum.present.as_ref()?.flag)));
    let then = end_block(&results)?;
    if changed.is_empty() {
        return Ok(());
    }
    let otherwise = trace_block(&[], |_| {
        let mut results = Vec::new();
        for (slot, sum) in &changed {
            results.push(match &cotangents[*slot] {
                Some(outer) => outer.var.clone(),
                None => nothing(&trace.value(*slot).unwrap_or_else(|| sum.var.clone()))?,
            });
        }
        for (slot, _) in changed.iter().filter(|(_, sum)| sum.present.is_some()) {
            let outer = cotangents[*slot].as_ref().and_then(|sum| sum.present.as_ref());
            results.push(outer.map_or_else(|| Var::scalar(false), |outer| outer.flag.clone()));
        }
        Ok(results)
    })?;
    let mut values = (present.choose)(&present.flag, then, otherwise)?.into_iter();
    let vars: Vec<Var> = values.by_ref().take(changed.len()).collect();
    for ((slot, sum), var) in changed.into_iter().zip(vars) {
        let outer = cotangents[slot].take();
        let of_run = sum.present.and_then(|_| values.next());
        let present = match (outer.map(|outer| outer.present), of_run) {
            (Some(None), _) => None,
            (_, Some(flag)) => Some(Present { flag, choose: present.choose }),
            (None, None) => Some(present.clone()),
            (Some(Some(outer)), None) => Some(outer.or(present)?),
        };
        cotangents[slot] = Some(Sum { var, present });
    }
    Ok(())
}
