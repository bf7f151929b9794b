//! Ops that take and write elements by position.

use fluvial_core::{DType, Dim, Result, Var, Whole};
use fluvial_ops::{self as ops, ScatterReduction};

use super::node::{Node, front};
use super::table::Entry;
use super::value::Val;
use crate::fit;

pub const OPS: &[Entry] = &[
    Entry::one("Compress", 9, compress),
    Entry::one("Gather", 1, |n| ops::gather(&n.var(0)?, &positions(n, 1)?, n.int("axis", 0)))
        .moves(&[0]),
    Entry::one("GatherElements", 11, |n| {
        let (x, index) = (n.var(0)?, positions(n, 1)?);
        let axis = n.axis(0, x.rank())?;
        ops::take_along_axis(&trimmed(&x, &index, axis)?, &index, axis as i64)
    }),
    Entry::one("GatherND", 11, gather_nd),
    Entry::one("NonMaxSuppression", 10, non_max_suppression),
    Entry::one("NonZero", 9, |n| ops::transpose(&ops::argwhere(&n.var(0)?)?, 0, 1)),
    Entry::one("OneHot", 9, one_hot),
    Entry::one("Scatter", 9, scatter_elements),
    Entry::one("ScatterElements", 11, scatter_elements),
    Entry::one("ScatterND", 11, scatter_nd),
    Entry::one("TensorScatter", 24, tensor_scatter),
    Entry::many("TopK", 1, top_k),
    Entry::many("Unique", 11, unique),
];

/// An input as positions.
pub fn positions(n: &Node<'_>, i: usize) -> Result<Var> {
    ops::cast(&n.var(i)?, DType::I64)
}

/// The first elements of all axes but one, so many as the index has.
fn trimmed(x: &Var, index: &Var, axis: usize) -> Result<Var> {
    let mut x = x.clone();
    for (i, &size) in index.dims().iter().enumerate().filter(|&(i, _)| i != axis) {
        if x.dims()[i] != size {
            x = ops::narrow(&x, i as i64, Dim::size(0), size)?;
        }
    }
    Ok(x)
}

/// Positions from the back, counted from the front.
fn from_front(index: &Var, size: Dim) -> Result<Var> {
    let size = ops::dim_size(size, DType::I64)?;
    ops::where_(&ops::lt(index, &Var::scalar(0i64))?, &ops::add(index, &size)?, index)
}

/// The last axis of an index holds a position for each of the first axes of `x`.
fn tuples_from_front(index: &Var, dims: &[Dim]) -> Result<Var> {
    let sizes =
        dims.iter().map(|&dim| ops::dim_size(dim, DType::I64)).collect::<Result<Vec<_>>>()?;
    if sizes.is_empty() {
        return Ok(index.clone());
    }
    let sizes = ops::stack(&sizes.iter().collect::<Vec<_>>(), 0)?;
    ops::where_(&ops::lt(index, &Var::scalar(0i64))?, &ops::add(index, &sizes)?, index)
}

fn compress(n: &Node<'_>) -> Result<Var> {
    let (x, mask) = (n.var(0)?, n.var(1)?);
    let (x, axis) = match n.opt_int("axis") {
        Some(axis) => {
            let axis = front(axis, x.rank())?;
            (x, axis)
        }
        None => (ops::flatten(&x, 0, -1)?, 0),
    };
    let places = ops::squeeze(&ops::argwhere(&mask)?, &[1])?;
    ops::gather(&x, &places, axis as i64)
}

fn gather_nd(n: &Node<'_>) -> Result<Var> {
    let (x, index) = (n.var(0)?, positions(n, 1)?);
    let batch = usize::try_from(n.int("batch_dims", 0)).unwrap_or(usize::MAX);
    let width = index.dims().last().and_then(|dim| dim.value());
    let Some(width) =
        width.filter(|width| batch < index.rank() && batch.saturating_add(*width) <= x.rank())
    else {
        return Err(n.refuse("the last axis of the positions does not fit"));
    };
    let index = tuples_from_front(&index, &x.dims()[batch..batch + width])?;
    if batch == 0 {
        return ops::gather_nd(&x, &index);
    }
    let (dims, places) = (x.dims(), index.dims());
    let rows = fit::count(&dims[..batch])?;
    let mut flat = vec![rows];
    flat.extend(&dims[batch..]);
    let x = ops::reshape(&x, &flat)?;
    let mut flat = vec![rows];
    flat.extend(&places[batch..]);
    let index = ops::reshape(&index, &flat)?;
    // The number of the row comes in front of each position.
    let mut shape = vec![Dim::size(1); index.rank()];
    shape[0] = rows;
    let mut full = index.dims().to_vec();
    full[index.rank() - 1] = Dim::size(1);
    let row = ops::reshape(&ops::iota(rows, DType::I64)?, &shape)?;
    let row = ops::broadcast_to(&row, &full)?;
    let found = ops::gather_nd(&x, &ops::concat(&[&row, &index], -1)?)?;
    let mut out = dims[..batch].to_vec();
    out.extend(&found.dims()[1..]);
    ops::reshape(&found, &out)
}

fn one_hot(n: &Node<'_>) -> Result<Var> {
    let (ids, values) = (n.var(0)?, n.var(2)?);
    let depth = match n.val(1)?.tensor() {
        Some(depth) => fit::non_negative(depth.cast(DType::I64)?.to_vec::<i64>()?[0])?,
        None => {
            let depth = ops::cast(&n.var(1)?, DType::I64)?;
            let depth = ops::reshape(&depth, &[])?;
            ops::of_size(&depth)?.ty().dim(0)
        }
    };
    let ids = from_front(&ops::cast(&ids, DType::I64)?, depth)?;
    let hot = ops::ne(&ops::one_hot(&ids, depth)?, &Var::scalar(0i64))?;
    let rank = ids.rank() + 1;
    let axis = front(n.int("axis", -1), rank)?;
    let hot = ops::movedim(&hot, &[-1], &[axis as i64])?;
    let parts = ops::unbind(&values, 0)?;
    let [off, on] = &parts[..] else { return Err(n.refuse("`values` does not have two elements")) };
    ops::where_(&hot, on, off)
}

fn scatter_elements(n: &Node<'_>) -> Result<Var> {
    let (x, index, updates) = (n.var(0)?, positions(n, 1)?, n.var(2)?);
    let axis = n.axis(0, x.rank())?;
    let index = from_front(&index, x.dims()[axis])?;
    // Other axes may be shorter than those of `x`: what lies outside stays.
    let inner = trimmed(&x, &index, axis)?;
    let along = axis as i64;
    let written = match n.string("reduction", "none").as_str() {
        "none" => ops::scatter(&inner, along, &index, &updates)?,
        "add" => ops::scatter_add(&inner, along, &index, &updates)?,
        "mul" => ops::scatter_reduce(&inner, along, &index, &updates, ScatterReduction::Prod)?,
        "max" => ops::scatter_reduce(&inner, along, &index, &updates, ScatterReduction::Max)?,
        "min" => ops::scatter_reduce(&inner, along, &index, &updates, ScatterReduction::Min)?,
        other => return Err(n.refuse(format!("`{other}` is not a reduction"))),
    };
    if written.dims() == x.dims() {
        return Ok(written);
    }
    let range = |dim: &Dim| ops::Index::Slice {
        start: None,
        stop: Some(ops::End::At((*dim).into())),
        step: 1,
    };
    ops::setitem(&x, &written.dims().iter().map(range).collect::<Vec<_>>(), &written)
}

fn scatter_nd(n: &Node<'_>) -> Result<Var> {
    let (x, index, updates) = (n.var(0)?, positions(n, 1)?, n.var(2)?);
    let Some(width) = index.dims().last().and_then(|dim| dim.value()).filter(|&w| w <= x.rank())
    else {
        return Err(n.refuse("the last axis of the positions does not fit"));
    };
    let dims = x.dims();
    let index = tuples_from_front(&index, &dims[..width])?;
    let reduction = match n.string("reduction", "none").as_str() {
        "none" => return ops::scatter_nd_update(&x, &index, &updates),
        "add" => return ops::scatter_nd_add(&x, &index, &updates),
        "mul" => ScatterReduction::Prod,
        "max" => ScatterReduction::Max,
        "min" => ScatterReduction::Min,
        other => return Err(n.refuse(format!("`{other}` is not a reduction"))),
    };
    // The first axes as one.
    let rows = fit::count(&dims[..width])?;
    let mut flat = vec![rows];
    flat.extend(&dims[width..]);
    let parts = ops::unbind(&index, -1)?;
    let flat_index = ops::ravel_multi_index(&parts.iter().collect::<Vec<_>>(), &dims[..width])?;
    let count = fit::count(&flat_index.dims())?;
    let flat_index = ops::reshape(&flat_index, &[count])?;
    let mut shape = vec![count];
    shape.extend(&dims[width..]);
    let updates = ops::reshape(&updates, &shape)?;
    let written =
        ops::index_reduce(&ops::reshape(&x, &flat)?, &flat_index, &updates, 0, reduction)?;
    ops::reshape(&written, &dims)
}

/// Writes new steps of keys or values into those so far, each sample at its own place.
fn tensor_scatter(n: &Node<'_>) -> Result<Var> {
    let (past, update) = (n.var(0)?, n.var(1)?);
    let axis = front(n.int("axis", -2), past.rank())?;
    let (batch, size, steps) = (past.dims()[0], past.dims()[axis], update.dims()[axis]);
    let first = match n.opt(2)? {
        Some(first) => ops::cast(&first, DType::I64)?,
        None => ops::zeros(&[batch], DType::I64)?,
    };
    let mut index = ops::add(&ops::unsqueeze(&first, 1)?, &ops::iota(steps, DType::I64)?)?;
    match n.string("mode", "linear").as_str() {
        "linear" => {}
        "circular" => index = ops::remainder(&index, &ops::dim_size(size, DType::I64)?)?,
        other => return Err(n.refuse(format!("`{other}` is not a mode"))),
    }
    let mut dims = vec![Dim::size(1); past.rank()];
    dims[0] = batch;
    dims[axis] = steps;
    let index = ops::broadcast_to(&ops::reshape(&index, &dims)?, &update.dims())?;
    ops::scatter(&past, axis as i64, &index, &update)
}

fn top_k(n: &Node<'_>) -> Result<Vec<Val>> {
    let (x, largest) = (n.var(0)?, n.flag("largest", true));
    let axis = n.axis(-1, x.rank())?;
    let k = match n.opt_int("k") {
        Some(k) => Whole::Number(k),
        None => n.wholes(1)?.into_iter().next().ok_or_else(|| n.refuse("`k` is missing"))?,
    };
    if let Whole::Number(k) = k {
        let k = usize::try_from(k).map_err(|_| n.refuse("`k` is negative"))?;
        let (values, places) = ops::topk(&x, k, axis as i64, largest)?;
        return Ok(vec![values.into(), places.into()]);
    }
    // An open number of elements are the first of all.
    let (k, (values, places)) = (k.dim()?, ops::sort(&x, axis as i64, largest)?);
    let first = |all: &Var| match k == x.dims()[axis] {
        true => Ok(all.clone()),
        false => ops::narrow(all, axis as i64, Dim::size(0), k),
    };
    Ok(vec![first(&values)?.into(), first(&places)?.into()])
}

fn unique(n: &Node<'_>) -> Result<Vec<Val>> {
    let x = n.var(0)?;
    let axis = n.opt_int("axis").map(|axis| front(axis, x.rank())).transpose()?;
    // Slices along an axis are compared as wholes: each is the number of its place among them.
    let items = match axis {
        Some(axis) if x.rank() > 1 => slice_ranks(&x, axis)?,
        _ => ops::flatten(&x, 0, -1)?,
    };
    let (values, inverse, counts) = ops::unique(&items)?;
    let count = values.dims()[0];
    // Where each one occurs first: the least position of those that are it.
    let places = ops::iota(items.dims()[0], DType::I64)?;
    let far = ops::full(&[count], i64::MAX as f64 / 4.0, DType::I64)?;
    let first = ops::index_reduce(&far, &inverse, &places, 0, ScatterReduction::Min)?;
    let (first, inverse, counts) = match n.flag("sorted", true) {
        true => (first, inverse, counts),
        false => {
            let order = ops::argsort(&first, 0, false)?;
            let rank = ops::argsort(&order, 0, false)?;
            let of = |x: &Var, index: &Var| ops::gather(x, index, 0);
            (of(&first, &order)?, of(&rank, &inverse)?, of(&counts, &order)?)
        }
    };
    let chosen = match axis {
        Some(axis) => ops::gather(&x, &first, axis as i64)?,
        None => ops::gather(&items, &first, 0)?,
    };
    Ok(vec![chosen.into(), first.into(), inverse.into(), counts.into()])
}

/// By slice along an axis: how many different slices come before it, compared element by element.
fn slice_ranks(x: &Var, axis: usize) -> Result<Var> {
    let rows = ops::flatten(&ops::movedim(x, &[axis as i64], &[0])?, 1, -1)?;
    let (count, width) = (rows.dims()[0], rows.dims()[1]);
    // Sorting keeps the order of equal ones, so columns are sorted by from the last to the first.
    let width = ops::dim_size(width, DType::I64)?;
    let numbers = ops::iota(count, DType::I64)?;
    let sorted = ops::while_loop(
        &[&width, &numbers],
        |v| ops::gt(&v[0], &Var::scalar(0i64)),
        |v| {
            let column = (&v[0] - 1.0).check()?;
            let keys = ops::gather(&ops::gather(&rows, &column, 1)?, &v[1], 0)?;
            let order = ops::gather(&v[1], &ops::argsort(&keys, 0, false)?, 0)?;
            Ok(vec![column, order])
        },
    )?;
    let order = &sorted[1];
    let in_order = ops::gather(&rows, order, 0)?;
    let before = ops::maximum(&(&numbers - 1.0).check()?, &Var::scalar(0i64))?;
    let differs = ops::ne(&in_order, &ops::gather(&in_order, &before, 0)?)?;
    let ranks = ops::cumsum(&ops::cast(&ops::any(&differs, &[1], false)?, DType::I64)?, 0)?;
    ops::gather(&ranks, &ops::argsort(order, 0, false)?, 0)
}

/// Chooses boxes, the best first, that overlap none chosen before too much.
fn non_max_suppression(n: &Node<'_>) -> Result<Var> {
    let (boxes, scores) = (n.var(0)?, n.var(1)?);
    let (&[batches, count, _], &[_, classes, _]) = (&*boxes.dims(), &*scores.dims()) else {
        return Err(n.refuse("boxes or scores have other axes"));
    };
    let scalar = |i: usize, default: Var| match n.opt(i)? {
        Some(x) => ops::reshape(&x, &[]),
        None => Ok(default),
    };
    let most = scalar(2, Var::scalar(0i64))?;
    let overlap = scalar(3, Var::scalar(0.0f32))?;
    let order = ops::argsort(&scores, -1, true)?;
    let sorted = ops::take_along_axis(&scores, &order, -1)?;
    let mut allowed = ops::ones(&[batches, classes, count], DType::Bool)?;
    if let Some(least) = n.opt(4)? {
        allowed = ops::gt(&sorted, &ops::reshape(&least, &[])?)?;
    }
    // [batch, class, box, corner], the best first.
    let corners = corners(&boxes, n.flag("center_point_box", false))?;
    let places = ops::unsqueeze(&order, 3)?;
    let corners = ops::take_along_axis(&ops::unsqueeze(&corners, 1)?, &places, 2)?;
    let overlaps = ops::gt(&overlaps(&corners)?, &overlap)?;
    let steps = ops::iota(count, DType::I64)?;
    let none = ops::zeros(&[batches, classes, count], DType::Bool)?;
    let step = |kept: &[Var], now: &[Var]| {
        let is_it = ops::eq(&steps, &now[0])?;
        let beside = ops::any(&ops::logical_and(&overlaps, &is_it)?, &[-1], false)?;
        let clashes = ops::any(&ops::logical_and(&beside, &kept[0])?, &[-1], true)?;
        let chosen = ops::sum(&ops::cast(&kept[0], DType::I64)?, &[-1], true)?;
        let is_free = ops::logical_and(&ops::logical_not(&clashes)?, &ops::lt(&chosen, &most)?)?;
        let takes = ops::logical_and(&ops::logical_and(&is_it, &allowed)?, &is_free)?;
        Ok((vec![ops::logical_or(&kept[0], &takes)?], vec![]))
    };
    let (kept, _) = ops::scan(&[&none], &[&steps], step)?;
    let found = ops::argwhere(&kept[0])?;
    let chosen = ops::unsqueeze(&ops::gather_nd(&order, &found)?, 1)?;
    let first = ops::narrow(&found, 1, Dim::size(0), Dim::size(2))?;
    ops::concat(&[&first, &chosen], 1)
}

/// The lower and the upper corner of boxes `[.., 4]`.
fn corners(boxes: &Var, is_center: bool) -> Result<Var> {
    let parts = ops::unbind(boxes, -1)?;
    let [a, b, c, d] = &parts[..] else {
        return Err(fluvial_core::Error::shape("boxes do not have four numbers"));
    };
    let half = |x: &Var| (x / 2.0).check();
    let all = match is_center {
        true => [
            ops::sub(b, &half(d)?)?,
            ops::sub(a, &half(c)?)?,
            ops::add(b, &half(d)?)?,
            ops::add(a, &half(c)?)?,
        ],
        false => {
            [ops::minimum(a, c)?, ops::minimum(b, d)?, ops::maximum(a, c)?, ops::maximum(b, d)?]
        }
    };
    ops::stack(&all.iter().collect::<Vec<_>>(), -1)
}

/// The intersection over the union of all pairs of boxes: `[.., box, box]`.
fn overlaps(corners: &Var) -> Result<Var> {
    let (a, b) = (ops::unsqueeze(corners, -2)?, ops::unsqueeze(corners, -3)?);
    let (a, b) = (ops::unbind(&a, -1)?, ops::unbind(&b, -1)?);
    let zero = corners.literal(0.0);
    let side = |lo: usize, hi: usize| {
        let length = ops::sub(&ops::minimum(&a[hi], &b[hi])?, &ops::maximum(&a[lo], &b[lo])?)?;
        ops::maximum(&length, &zero)
    };
    let area = |x: &[Var]| ops::mul(&ops::sub(&x[2], &x[0])?, &ops::sub(&x[3], &x[1])?);
    let both = ops::mul(&side(0, 2)?, &side(1, 3)?)?;
    let union = ops::sub(&ops::add(&area(&a)?, &area(&b)?)?, &both)?;
    let share = ops::div(&both, &union)?;
    ops::where_(&ops::gt(&both, &zero)?, &share, &zero)
}
