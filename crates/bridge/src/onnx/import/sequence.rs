//! Sequences and optional values. A sequence whose length only the run knows is a list of ours, of which the last element
//! can be taken.

use fluvial_core::{Dim, Result, Tensor, Var};
use fluvial_ops as ops;

use super::node::{Node, front};
use super::table::Entry;
use super::value::Val;

const REFUSES: &str = "places other than the end, where only the run knows the length";

pub const OPS: &[Entry] = &[
    Entry::many("ConcatFromSequence", 11, |n| {
        if let Some(list) = later(n)? {
            if n.int("axis", 0) != 0 || !n.flag("new_axis", false) {
                return Err(n.refuse("another axis than a new first one"));
            }
            let len = ops::of_size(&ops::list_len(&list)?)?.ty().dim(0);
            return Ok(vec![Val::Var(ops::list_stack(&list, len, true)?)]);
        }
        let parts = items(n, 0)?.iter().map(Val::var).collect::<Result<Vec<Var>>>()?;
        let axis = n.int("axis", 0);
        let joined = match n.flag("new_axis", false) {
            true => ops::stack(&parts.iter().collect::<Vec<_>>(), axis)?,
            false => super::shape::concat(&parts, axis)?,
        };
        Ok(vec![joined.into()])
    })
    .never_folds()
    .refuses(REFUSES),
    Entry::many("Optional", 15, |n| Ok(vec![n.opt_val(0).cloned().unwrap_or(Val::Nothing)]))
        .never_folds(),
    Entry::many("OptionalGetElement", 15, |n| Ok(vec![n.val(0)?.clone()])).never_folds(),
    Entry::many("OptionalHasElement", 15, |n| {
        let is_there = n.opt_val(0).is_some_and(|val| !matches!(val, Val::Nothing));
        Ok(vec![Val::Known(Tensor::scalar(is_there))])
    })
    .never_folds(),
    Entry::many("SequenceAt", 11, |n| {
        if let Some(list) = later(n)? {
            is_last(n, 1)?;
            return Ok(vec![Val::Var(ops::list_pop(&list)?.1)]);
        }
        let items = items(n, 0)?;
        let at = position(n, 1, items.len())?.ok_or_else(|| n.refuse("it has no position"))?;
        let item = items.get(at).cloned();
        Ok(vec![item.ok_or_else(|| n.refuse("the position is out of range"))?])
    })
    .never_folds()
    .refuses(REFUSES),
    Entry::many("SequenceConstruct", 11, |n| {
        Ok(vec![Val::List(n.inputs.iter().flatten().cloned().collect())])
    })
    .never_folds(),
    Entry::many("SequenceEmpty", 11, |_| Ok(vec![Val::List(Vec::new())])).never_folds(),
    Entry::many("SequenceErase", 11, |n| {
        if let Some(list) = later(n)? {
            is_last(n, 1)?;
            return Ok(vec![Val::Var(ops::list_pop(&list)?.0)]);
        }
        let mut items = items(n, 0)?.to_vec();
        let at = position(n, 1, items.len())?.unwrap_or(items.len().saturating_sub(1));
        if at >= items.len() {
            return Err(n.refuse("the position is out of range"));
        }
        items.remove(at);
        Ok(vec![Val::List(items)])
    })
    .never_folds()
    .refuses(REFUSES),
    Entry::many("SequenceInsert", 11, |n| {
        if let Some(list) = later(n)? {
            if n.has(2) {
                return Err(n.refuse("another place than the end"));
            }
            let mut item = n.var(1)?;
            if let Some(element) = list.ty().element() {
                item = crate::fit::assumed(&item, element.dims())?;
            }
            return Ok(vec![Val::Var(ops::list_push(&list, &item)?)]);
        }
        let mut items = items(n, 0)?.to_vec();
        let at = position(n, 2, items.len())?.unwrap_or(items.len());
        if at > items.len() {
            return Err(n.refuse("the position is out of range"));
        }
        items.insert(at, n.val(1)?.clone());
        Ok(vec![Val::List(items)])
    })
    .never_folds()
    .refuses(REFUSES),
    Entry::many("SequenceLength", 11, |n| {
        if let Some(list) = later(n)? {
            return Ok(vec![Val::Var(ops::list_len(&list)?)]);
        }
        Ok(vec![Val::Known(Tensor::scalar(items(n, 0)?.len() as i64))])
    })
    .never_folds()
    .refuses(REFUSES),
    Entry::many("SequenceMap", 17, sequence_map).never_folds().refuses(REFUSES),
    Entry::many("SplitToSequence", 11, split).never_folds().refuses(REFUSES),
];

fn items<'n>(n: &'n Node<'_>, i: usize) -> Result<&'n [Val]> {
    match n.val(i)? {
        Val::List(items) => Ok(items),
        other => Err(n.refuse(format!("{} is not a sequence", other.shown()))),
    }
}

/// The sequence, if its length is not known now.
fn later(n: &Node<'_>) -> Result<Option<Var>> {
    match n.val(0)? {
        Val::Var(var) if var.ty().is_list() => Ok(Some(var.clone())),
        _ => Ok(None),
    }
}

/// Of a sequence whose length is not known, only the last element can be taken.
fn is_last(n: &Node<'_>, i: usize) -> Result<()> {
    match n.known_ints(i)?.as_deref() {
        None | Some([-1]) => Ok(()),
        _ => Err(n.refuse("another place than the end of a sequence whose length is not known")),
    }
}

fn position(n: &Node<'_>, i: usize, len: usize) -> Result<Option<usize>> {
    let Some(at) = n.known_ints(i)?.and_then(|at| at.first().copied()) else { return Ok(None) };
    let at = if at < 0 { at.saturating_add(len as i64) } else { at };
    usize::try_from(at).map(Some).map_err(|_| n.refuse("the position is out of range"))
}

fn sequence_map(n: &Node<'_>) -> Result<Vec<Val>> {
    let body = n.graph("body")?;
    let count = items(n, 0)?.len();
    let mut lists = vec![Vec::new(); n.n_outputs()];
    for i in 0..count {
        let mut inputs = Vec::new();
        for val in n.inputs.iter().flatten() {
            inputs.push(match val {
                Val::List(items) => {
                    items.get(i).cloned().ok_or_else(|| n.refuse("a sequence is shorter"))?
                }
                other => other.clone(),
            });
        }
        let found = n.importer.subgraph(body, inputs, n.env)?;
        for (list, val) in lists.iter_mut().zip(found) {
            list.push(val);
        }
    }
    Ok(lists.into_iter().map(Val::List).collect())
}

fn split(n: &Node<'_>) -> Result<Vec<Val>> {
    let x = n.var(0)?;
    let axis = front(n.int("axis", 0), x.rank())?;
    if x.dims()[axis].is_symbolic() && axis == 0 && !n.has(1) && !n.flag("keepdims", true) {
        return Ok(vec![Val::Var(ops::list_unstack(&x, true)?)]);
    }
    let size = x.dims()[axis].value().ok_or_else(|| n.refuse("the size of the axis is open"))?;
    let sizes = match n.known(1)? {
        None => vec![1; size],
        Some(split) if split.rank() == 0 => {
            let each = split.to_f64s()[0].max(1.0) as usize;
            (0..size.div_ceil(each)).map(|i| each.min(size - i * each)).collect()
        }
        Some(split) => split.to_f64s().iter().map(|&size| size.max(0.0) as usize).collect(),
    };
    let squeezes = !n.has(1) && !n.flag("keepdims", true);
    let dims: Vec<Dim> = sizes.into_iter().map(Dim::size).collect();
    let mut found = Vec::new();
    for part in ops::split(&x, &dims, axis as i64)? {
        let part = if squeezes { ops::squeeze(&part, &[axis as i64])? } else { part };
        found.push(part.into());
    }
    Ok(vec![Val::List(found)])
}
