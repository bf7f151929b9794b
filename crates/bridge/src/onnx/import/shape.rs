//! Ops that change shapes and move elements about.

use fluvial_core::{DType, Dim, Error, Result, Var, Whole};
use fluvial_ops::{self as ops, End, Index, PadMode, PadOptions};

use super::node::{Node, elements, front};
use super::table::Entry;
use super::value::{Sizes, Val};
use crate::fit;

pub const OPS: &[Entry] = &[
    Entry::one("CenterCropPad", 18, center_crop_pad),
    Entry::one("Concat", 1, |n| concat(&n.rest(0)?, n.int("axis", 1))).moves(&[]),
    Entry::one("DepthToSpace", 1, depth_to_space),
    Entry::one("Expand", 8, expand).moves(&[0]),
    Entry::one("Flatten", 1, |n| {
        let x = n.var(0)?;
        let dims = x.dims();
        let axis = n.int("axis", 1);
        let axis = if axis == dims.len() as i64 { dims.len() } else { front(axis, dims.len())? };
        ops::reshape(&x, &[fit::count(&dims[..axis])?, fit::count(&dims[axis..])?])
    })
    .moves(&[0]),
    Entry::many("Identity", 1, |n| Ok(vec![n.val(0)?.clone()])).moves(&[0]),
    Entry::one("Pad", 1, pad).refuses("pads that only the run knows"),
    Entry::one("Reshape", 1, reshape).moves(&[0]),
    Entry::one("ReverseSequence", 10, reverse_sequence),
    Entry::many("Shape", 1, |n| {
        let dims = dims_of(n.val(0)?)?;
        let rank = dims.len() as i64;
        let end = |i: i64| (if i < 0 { i.saturating_add(rank) } else { i }).clamp(0, rank) as usize;
        let (start, stop) = (end(n.int("start", 0)), end(n.int("end", i64::MAX)));
        Ok(vec![Sizes::of_dims(dims.get(start..stop).unwrap_or(&[])).val()?])
    })
    .never_folds(),
    Entry::many("Size", 1, |n| {
        let count = Whole::from(fit::count(&dims_of(n.val(0)?)?)?);
        Ok(vec![Sizes { items: vec![count], dims: vec![], dtype: DType::I64 }.val()?])
    })
    .never_folds(),
    Entry::one("Slice", 1, slice).moves(&[0]),
    Entry::one("SpaceToDepth", 1, |n| {
        let x = n.var(0)?;
        let (dims, block) = (image(&x)?, block_size(n)?);
        let [batch, channels, height, width] = dims;
        let parts =
            [batch, channels, height.floor_div(block)?, block, width.floor_div(block)?, block];
        let order: &[i64] = match n.string("mode", "DCR") == "CRD" {
            true => &[0, 1, 3, 5, 2, 4],
            false => &[0, 3, 5, 1, 2, 4],
        };
        let x = ops::permute(&fit::reshaped(&x, &parts)?, order)?;
        let channels = channels.mul(block)?.mul(block)?;
        ops::reshape(&x, &[batch, channels, parts[2], parts[4]])
    }),
    Entry::many("Split", 1, split).moves(&[0]),
    Entry::one("Squeeze", 1, |n| {
        let x = n.var(0)?;
        match n.ints_of("axes", 1)? {
            Some(axes) => {
                // An axis whose size is a symbol has one element, or the run says that it has not.
                let mut dims = x.dims().to_vec();
                for &axis in &axes {
                    let axis = front(axis, dims.len())?;
                    if dims[axis].is_symbolic() {
                        dims[axis] = Dim::size(1);
                    }
                }
                ops::squeeze(&crate::fit::assumed(&x, &dims)?, &axes)
            }
            None => {
                let dims = x.dims();
                let ones = (0..dims.len()).filter(|&i| dims[i] == Dim::size(1));
                let ones: Vec<i64> = ones.map(|i| i as i64).collect();
                if ones.is_empty() { Ok(x) } else { ops::squeeze(&x, &ones) }
            }
        }
    })
    .moves(&[0]),
    Entry::one("Tile", 1, |n| ops::tile(&n.var(0)?, &n.dims(1)?)).moves(&[0]),
    Entry::one("Transpose", 1, |n| {
        let x = n.var(0)?;
        let reversed = || (0..x.rank() as i64).rev().collect();
        ops::permute(&x, &n.ints("perm").unwrap_or_else(reversed))
    })
    .moves(&[0]),
    Entry::one("Unsqueeze", 1, unsqueeze).moves(&[0]),
];

/// The sizes of any value.
fn dims_of(val: &Val) -> Result<Vec<Dim>> {
    match val {
        Val::Sizes(sizes) => Ok(sizes.dims.iter().map(|&dim| Dim::size(dim)).collect()),
        // A parameter becomes no state because it is measured.
        Val::Param(param) => Ok(param.tensor.ty().dims().to_vec()),
        val => Ok(val.var()?.dims().to_vec()),
    }
}

/// Values one after the other; sizes of other axes that only the run knows are checked by it.
pub fn concat(parts: &[Var], axis: i64) -> Result<Var> {
    let Some(first) = parts.first() else { return Err(Error::argument("it has no inputs")) };
    let axis = front(axis, first.rank())?;
    let mut wanted = first.dims();
    let rank = wanted.len();
    for part in parts.iter().filter(|part| part.rank() == rank) {
        for (to, &dim) in wanted.iter_mut().zip(&part.dims()) {
            if to.is_symbolic() && !dim.is_symbolic() {
                *to = dim;
            }
        }
    }
    let mut fitted = Vec::new();
    for part in parts {
        let mut dims = wanted.clone();
        if part.rank() == dims.len() {
            dims[axis] = part.dims()[axis];
        }
        fitted.push(fit::assumed(part, &dims)?);
    }
    ops::concat(&fitted.iter().collect::<Vec<_>>(), axis as i64)
}

fn expand(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let target = n.dims(1)?;
    let (own, rank) = (x.dims(), x.rank().max(target.len()));
    let one = Dim::size(1);
    let at = |dims: &[Dim], i: usize| match (i + dims.len()).checked_sub(rank) {
        Some(i) => dims[i],
        None => one,
    };
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for i in 0..rank {
        let (own, target) = (at(&own, i), at(&target, i));
        let both = match (own, target) {
            (own, target) if target == one => own,
            (own, target) if own == one => target,
            (own, target) if own.is_symbolic() => target,
            (own, _) => own,
        };
        from.push(if own == one { one } else { both });
        to.push(both);
    }
    let from = &from[rank - x.rank()..];
    ops::broadcast_to(&fit::assumed(&x, from)?, &to)
}

fn reshape(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let keeps_zero = n.flag("allowzero", false);
    let own = x.dims();
    let wanted = match n.ints("shape") {
        Some(ints) => ints.into_iter().map(Whole::Number).collect(),
        None => match n.val(1)?.sizes() {
            Some(sizes) => sizes.items,
            None => return reshape_later(&x, &n.var(1)?, keeps_zero),
        },
    };
    let mut dims = Vec::new();
    for (i, &size) in wanted.iter().enumerate() {
        dims.push(match size {
            Whole::Number(-1) => Dim::REST,
            Whole::Number(0) if !keeps_zero => *own.get(i).ok_or_else(|| {
                n.refuse(format!("size {i} is that of an axis that is not there"))
            })?,
            size => size.dim()?,
        });
    }
    fit::reshaped(&x, &dims)
}

/// Sizes that only the run knows, among which 0 and -1 have their meaning.
fn reshape_later(x: &Var, shape: &Var, keeps_zero: bool) -> Result<Var> {
    let own = x.dims();
    let one = Var::scalar(1i64);
    let mut sizes = Vec::new();
    let mut given = one.clone();
    for (i, size) in elements(shape)?.iter().enumerate() {
        let mut size = ops::cast(size, DType::I64)?;
        if !keeps_zero && let Some(&dim) = own.get(i) {
            let dim = ops::dim_size(dim, DType::I64)?;
            size = ops::where_(&ops::eq(&size, &Var::scalar(0i64))?, &dim, &size)?;
        }
        let is_rest = ops::lt(&size, &Var::scalar(0i64))?;
        given = ops::mul(&given, &ops::where_(&is_rest, &one, &size)?)?;
        sizes.push((is_rest, size));
    }
    let all = ops::dim_size(fit::count(&own)?, DType::I64)?;
    let rest = ops::floor_div(&all, &ops::maximum(&given, &one)?)?;
    let mut dims = Vec::new();
    for (is_rest, size) in sizes {
        let size = ops::where_(&is_rest, &rest, &size)?;
        dims.push(ops::of_size(&size)?.ty().dim(0));
    }
    fit::reshaped(x, &dims)
}

fn unsqueeze(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let axes = n.ints_of("axes", 1)?.ok_or_else(|| n.refuse("it has no axes"))?;
    let rank = x.rank() + axes.len();
    let mut axes = axes.iter().map(|&axis| front(axis, rank)).collect::<Result<Vec<usize>>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(n.refuse("an axis is named twice"));
    }
    axes.iter().try_fold(x, |x, &axis| ops::unsqueeze(&x, axis as i64))
}

/// An end of a slice; numbers at the ends of their type, or beyond any axis, stand for no end.
fn end(whole: Whole) -> Option<End> {
    const FAR: i64 = 1_000_000_000;
    match whole {
        Whole::Number(number) if !(-FAR..FAR).contains(&number) => None,
        whole => Some(End::At(whole)),
    }
}

fn slice(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let numbers = |ints: Vec<i64>| ints.into_iter().map(Whole::Number).collect::<Vec<_>>();
    let (starts, stops, axes, steps);
    if n.opset < 10 {
        starts = Ends::Now(numbers(n.ints("starts").unwrap_or_default()));
        stops = Ends::Now(numbers(n.ints("ends").unwrap_or_default()));
        (axes, steps) = (n.ints("axes"), None);
    } else {
        (starts, stops) = (ends_at(n, 1)?, ends_at(n, 2)?);
        (axes, steps) = (n.known_ints(3)?, n.known_ints(4)?);
    }
    let count = starts.len();
    let axes = axes.unwrap_or_else(|| (0..count as i64).collect());
    let steps = steps.unwrap_or_else(|| vec![1; count]);
    if stops.len() != count || axes.len() != count || steps.len() != count {
        return Err(n.refuse("starts, ends, axes and steps are not equally many"));
    }
    let mut index: Vec<Index> =
        (0..x.rank()).map(|_| Index::Slice { start: None, stop: None, step: 1 }).collect();
    for (i, (&axis, &step)) in axes.iter().zip(&steps).enumerate() {
        let axis = front(axis, x.rank())?;
        let (start, stop) = (starts.at(i), stops.at(i));
        index[axis] = Index::Slice { start, stop, step };
    }
    ops::getitem(&x, &index)
}

enum Ends {
    Now(Vec<Whole>),
    Later(Vec<Var>),
}

impl Ends {
    fn len(&self) -> usize {
        match self {
            Ends::Now(wholes) => wholes.len(),
            Ends::Later(vars) => vars.len(),
        }
    }

    fn at(&self, i: usize) -> Option<End> {
        match self {
            Ends::Now(wholes) => end(wholes[i]),
            Ends::Later(vars) => Some(End::Value(vars[i].clone())),
        }
    }
}

fn ends_at(n: &Node<'_>, i: usize) -> Result<Ends> {
    match n.val(i)?.sizes() {
        Some(sizes) => Ok(Ends::Now(sizes.items)),
        None => {
            let parts = elements(&n.var(i)?)?;
            let wide = parts.iter().map(|part| ops::cast(part, DType::I64));
            Ok(Ends::Later(wide.collect::<Result<Vec<Var>>>()?))
        }
    }
}

fn split(n: &Node<'_>) -> Result<Vec<Val>> {
    let x = n.var(0)?;
    let axis = n.axis(0, x.rank())?;
    let size = x.dims()[axis];
    let sizes: Vec<Dim> = match (n.ints("split"), n.has(1)) {
        (Some(sizes), _) => sizes.into_iter().map(fit::non_negative).collect::<Result<_>>()?,
        (None, true) => n.dims(1)?,
        (None, false) => {
            let parts = match n.opt_int("num_outputs") {
                Some(parts) => usize::try_from(parts).ok().filter(|&parts| parts > 0),
                None => Some(n.n_outputs()),
            };
            let parts = parts.ok_or_else(|| n.refuse("`num_outputs` is not positive"))?;
            match size.value() {
                Some(size) => {
                    let each = size.div_ceil(parts);
                    let left = |i: usize| size.saturating_sub(i * each).min(each);
                    (0..parts).map(|i| Dim::size(left(i))).collect()
                }
                None => {
                    let each = size.floor_div(Dim::size(parts))?;
                    if each.mul(Dim::size(parts))? != size {
                        return Err(n.refuse(format!("{size} elements do not make {parts} parts")));
                    }
                    vec![each; parts]
                }
            }
        }
    };
    let parts = ops::split(&x, &sizes, axis as i64)?;
    Ok(parts.into_iter().map(Val::from).collect())
}

fn pad(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let rank = x.rank();
    let given = n.ints_of("pads", 1)?.ok_or_else(|| n.refuse("it has no pads"))?;
    let axes = match n.known_ints(3)? {
        Some(axes) => axes.iter().map(|&axis| front(axis, rank)).collect::<Result<Vec<_>>>()?,
        None => (0..rank).collect(),
    };
    if given.len() != 2 * axes.len() {
        return Err(n.refuse(format!("{} pads were given for {} axes", given.len(), axes.len())));
    }
    let (mut before, mut after) = (vec![0; rank], vec![0; rank]);
    for (i, &axis) in axes.iter().enumerate() {
        (before[axis], after[axis]) = (given[i], given[i + axes.len()]);
    }
    let (value, later) = match (n.opset < 11, n.opt_val(2)) {
        (true, _) => (n.float("value", 0.0), None),
        (false, Some(val)) if val.tensor().is_none() => (0.0, Some(val.var()?)),
        (false, _) => (n.known_number(2)?.unwrap_or(0.0), None),
    };
    let mode = match n.string("mode", "constant").as_str() {
        "constant" => PadMode::Constant,
        "reflect" => PadMode::Reflect,
        "edge" => PadMode::Replicate,
        "wrap" => PadMode::Circular,
        other => return Err(n.refuse(format!("`{other}` is not a way to pad"))),
    };
    // Only axes that are padded must fit what a mode can do.
    let first = (0..rank).find(|&i| before[i] != 0 || after[i] != 0);
    let Some(first) = first else { return Ok(x) };
    let padded =
        |x: &Var, options: PadOptions| ops::pad(x, &before[first..], &after[first..], options);
    let filled = padded(&x, PadOptions::default().mode(mode).value(value))?;
    match later {
        Some(value) if mode == PadMode::Constant => {
            let inside = padded(&ops::ones(&x.dims(), DType::F32)?, PadOptions::default())?;
            let value = ops::reshape(&value, &[])?;
            ops::where_(&ops::ne(&inside, &inside.literal(0.0))?, &filled, &value)
        }
        _ => Ok(filled),
    }
}

fn center_crop_pad(n: &Node<'_>) -> Result<Var> {
    let mut x = n.var(0)?;
    let rank = x.rank();
    let target = n.known_ints(1)?.ok_or_else(|| n.refuse("it has no sizes"))?;
    let axes = n.ints("axes").unwrap_or_else(|| (0..rank as i64).collect());
    for (&axis, &size) in axes.iter().zip(&target) {
        let axis = front(axis, rank)?;
        let own = x.dims()[axis].value().ok_or_else(|| n.refuse("a size is not known"))? as i64;
        let more = size - own;
        // Of an odd number, the greater half is behind what is padded, and of what is cut off, too.
        let start = if more >= 0 { more / 2 } else { -((-more) / 2) };
        let (mut before, mut after) = (vec![0; rank], vec![0; rank]);
        (before[axis], after[axis]) = (start, more - start);
        x = ops::pad(&x, &before, &after, PadOptions::default())?;
    }
    Ok(x)
}

fn image(x: &Var) -> Result<[Dim; 4]> {
    x.dims().as_slice().try_into().map_err(|_| Error::shape(format!("{} is not an image", x.ty())))
}

fn block_size(n: &Node<'_>) -> Result<Dim> {
    match n.int("blocksize", 0) {
        size if size > 0 => fit::non_negative(size),
        _ => Err(n.refuse("`blocksize` is not positive")),
    }
}

fn depth_to_space(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let block = block_size(n)?;
    let [batch, channels, height, width] = image(&x)?;
    let channels = channels.floor_div(block.mul(block)?)?;
    let x = match n.string("mode", "DCR") == "CRD" {
        true => {
            let x = fit::reshaped(&x, &[batch, channels, block, block, height, width])?;
            ops::permute(&x, &[0, 1, 4, 2, 5, 3])?
        }
        false => {
            let x = fit::reshaped(&x, &[batch, block, block, channels, height, width])?;
            ops::permute(&x, &[0, 3, 4, 1, 5, 2])?
        }
    };
    ops::reshape(&x, &[batch, channels, height.mul(block)?, width.mul(block)?])
}

fn reverse_sequence(n: &Node<'_>) -> Result<Var> {
    let (x, lengths) = (n.var(0)?, n.var(1)?);
    let (time, batch) =
        (front(n.int("time_axis", 0), x.rank())?, front(n.int("batch_axis", 1), x.rank())?);
    let size = x.dims()[time];
    let steps = ops::iota(size, DType::I64)?;
    // [batch, time]: which step is at each place.
    let lengths = ops::unsqueeze(&lengths, 1)?;
    let mirrored = ops::sub(&(&lengths - 1.0).check()?, &steps)?;
    let index = ops::where_(&ops::lt(&steps, &lengths)?, &mirrored, &steps)?;
    let index = if time < batch { ops::transpose(&index, 0, 1)? } else { index };
    let (first, second) = (time.min(batch), time.max(batch));
    let mut dims = vec![Dim::size(1); x.rank()];
    (dims[first], dims[second]) = (x.dims()[first], x.dims()[second]);
    ops::take_along_axis(&x, &ops::reshape(&index, &dims)?, time as i64)
}
