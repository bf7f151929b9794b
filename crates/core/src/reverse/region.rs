//! A part of the walk that only some runs take: what lies behind cotangents of which only a run knows whether
//! there are any is computed in a branch, so that nothing comes of nothing.

use fluvial_tensor::Result;

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
    let is_same = |sum: &Sum| sum.present.as_ref().is_some_and(|known| known.same(present));
    for sum in inner.iter_mut().flatten().filter(|sum| is_same(sum)) {
        sum.present = None;
    }
    for slot in trace.outputs(end - 1) {
        inner[slot].iter_mut().for_each(|sum| sum.present = None);
    }
    step(trace, end - 1, &mut inner, kept)?;
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
                step(trace, i - 1, &mut inner, kept)?;
                i -= 1;
            }
        }
    }
    leave(trace, cotangents, inner, present)?;
    Ok(i)
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
