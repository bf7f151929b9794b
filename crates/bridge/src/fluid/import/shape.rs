//! Ops that change shapes and move elements about.

use fluvial_core::{DType, Dim, Error, Result, Var, Whole};
use fluvial_ops::{self as ops, PadMode, PadOptions};

use super::arithmetic::out;
use super::call::Call;
use super::table::{Entry, Outs};
use super::value::Val;
use crate::fit::{self, Sizes, front};

pub const OPS: &[Entry] = &[
    Entry::many("broadcast_tensors", |c| {
        let parts = fit::broadcast(&c.vars("X")?)?;
        let found = ops::broadcast_tensors(&parts.iter().collect::<Vec<_>>())?;
        Ok(vec![("Out", found.into_iter().map(Val::new).collect())])
    }),
    Entry::many("concat", concat),
    Entry::one("crop", |c| crop(c, "Offsets", "")),
    Entry::one("crop_tensor", |c| crop(c, "Offsets", "OffsetsTensor")),
    Entry::one("expand", |c| {
        let times = c.wholes("ExpandTimes", "expand_times_tensor", "expand_times")?;
        tiled(&c.var("X")?, times.unwrap_or_default())
    }),
    Entry::one("expand_as", |c| {
        let (x, like) = (c.var("X")?, c.var("target_tensor")?);
        let mut times = Vec::new();
        for (&to, &from) in like.dims().iter().zip(&x.dims()) {
            times.push(Whole::from(to.floor_div(from)?));
        }
        tiled(&x, times)
    }),
    Entry::one("expand_as_v2", |c| {
        let target = match c.opt_val("Y") {
            Some(like) => like.dims()?.into_iter().map(Whole::from).collect(),
            None => whole(c.ints("target_shape").unwrap_or_default()),
        };
        expanded(&c.var("X")?, &target)
    }),
    Entry::one("expand_v2", |c| {
        let target = c.wholes("Shape", "expand_shapes_tensor", "shape")?.unwrap_or_default();
        expanded(&c.var("X")?, &target)
    }),
    Entry::one("flatten", flatten),
    Entry::one("flatten2", flatten),
    Entry::one("flatten_contiguous_range", |c| {
        ops::flatten(&c.var("X")?, c.int("start_axis", 1), c.int("stop_axis", 1))
    }),
    Entry::one("flip", |c| ops::flip(&c.var("X")?, &c.ints("axis").unwrap_or_default())),
    Entry::one("pad", |c| {
        let x = c.var("X")?;
        let pads = c.ints("paddings").unwrap_or_default();
        let before: Vec<i64> = pads.iter().step_by(2).copied().collect();
        let after: Vec<i64> = pads.iter().skip(1).step_by(2).copied().collect();
        ops::pad(&x, &before, &after, PadOptions::default().value(c.float("pad_value", 0.0)))
    }),
    Entry::one("pad2d", |c| {
        let pads = c.ints("paddings").unwrap_or(vec![0; 4]);
        let [top, bottom, left, right] = pads[..] else {
            return Err(c.refuse("`paddings` does not have four numbers"));
        };
        padded(c, &[top, left], &[bottom, right], "pad_value")
    }),
    Entry::one("pad3d", |c| {
        let pads = match c.known("Paddings")? {
            Some(tensor) => tensor.cast(DType::I64)?.to_vec::<i64>()?,
            None => c.ints("paddings").unwrap_or(vec![0; 6]),
        };
        let [left, right, top, bottom, near, far] = pads[..] else {
            return Err(c.refuse("`paddings` does not have six numbers"));
        };
        padded(c, &[near, top, left], &[far, bottom, right], "value")
    }),
    Entry::one("pixel_shuffle", |c| {
        let factor = c.count("upscale_factor", 1)?;
        channels_first(c, "data_format", |x| ops::pixel_shuffle(x, factor))
    }),
    Entry::one("pixel_unshuffle", |c| {
        let factor = c.count("downscale_factor", 1)?;
        channels_first(c, "data_format", |x| ops::pixel_unshuffle(x, factor))
    }),
    Entry::many("reshape", reshape),
    Entry::many("reshape2", reshape),
    Entry::one("reverse", |c| ops::flip(&c.var("X")?, &c.ints("axis").unwrap_or_default())),
    Entry::one("roll", |c| {
        let (x, shifts) = (c.var("X")?, c.wholes("ShiftsTensor", "", "shifts")?);
        let shifts = shifts.unwrap_or_default();
        match c.ints("axis") {
            Some(axes) => ops::roll(&x, &shifts, &axes),
            None => {
                let flat = ops::roll(&ops::flatten(&x, 0, -1)?, &shifts, &[0])?;
                ops::reshape(&flat, &x.dims())
            }
        }
    }),
    Entry::one("shuffle_channel", |c| ops::channel_shuffle(&c.var("X")?, c.count("group", 1)?)),
    Entry::many("slice", slice),
    Entry::one("space_to_depth", |c| {
        let (x, size) = (c.var("X")?, c.count("blocksize", 1)?);
        let [batch, channels, height, width] = x.dims()[..] else {
            return Err(c.refuse("its input does not have four axes"));
        };
        let block = Dim::size(size);
        let (tall, wide) = (height.floor_div(block)?, width.floor_div(block)?);
        let parts = ops::reshape(&x, &[batch, channels, tall, block, wide, block])?;
        let moved = ops::permute(&parts, &[0, 3, 5, 1, 2, 4])?;
        ops::reshape(&moved, &[batch, channels.mul(block)?.mul(block)?, tall, wide])
    }),
    Entry::many("split", split),
    Entry::many("squeeze", |c| moved(c, squeezed)),
    Entry::many("squeeze2", |c| moved(c, squeezed)),
    Entry::to("stack", "Y", |c| {
        ops::stack(&fit::broadcast(&c.vars("X")?)?.iter().collect::<Vec<_>>(), c.int("axis", 0))
    }),
    Entry::one("strided_slice", |c| {
        let x = c.var("Input")?;
        let (Some(axes), Some(starts), Some(ends), Some(steps)) =
            (c.ints("axes"), c.ints("starts"), c.ints("ends"), c.ints("strides"))
        else {
            return Err(c.refuse("places that only the run knows"));
        };
        let mut found = x;
        for (i, &axis) in axes.iter().enumerate() {
            let at = |all: &[i64]| all.get(i).copied().ok_or_else(|| c.refuse("too few places"));
            let (start, end, step) = (at(&starts)?, at(&ends)?, at(&steps)?);
            found = ops::slice(&found, axis, Some(start), Some(end), step)?;
        }
        squeezed_after(c, &found)
    })
    .refuses("places that only the run knows"),
    Entry::one("temporal_shift", |c| {
        let (x, parts) = (c.var("X")?, c.count("seg_num", 1)?);
        let [rows, channels, height, width] = x.dims()[..] else {
            return Err(c.refuse("its input does not have four axes"));
        };
        let Some(count) = channels.value() else { return Err(c.refuse("unknown channels")) };
        let part = (count as f64 * c.float("shift_ratio", 0.25)) as usize;
        let steps = Dim::size(parts);
        let batch = rows.floor_div(steps)?;
        let x = fit::reshaped(&x, &[batch, steps, channels, height, width])?;
        let wide = ops::pad(&x, &[1, 0, 0, 0], &[1, 0, 0, 0], PadOptions::default())?;
        let cut = |start: usize, from: usize, len: usize| -> Result<Var> {
            let rows = ops::narrow(&wide, 1, Dim::size(start), steps)?;
            ops::narrow(&rows, 2, Dim::size(from), Dim::size(len))
        };
        let parts = [cut(0, 0, part)?, cut(2, part, part)?, cut(1, 2 * part, count - 2 * part)?];
        let found = ops::concat(&parts.iter().collect::<Vec<_>>(), 2)?;
        fit::reshaped(&found, &[rows, channels, height, width])
    }),
    Entry::one("tile", |c| {
        let times = c.wholes("RepeatTimes", "repeat_times_tensor", "repeat_times")?;
        tiled(&c.var("X")?, times.unwrap_or_default())
    }),
    Entry::one("transpose", |c| ops::permute(&c.var("X")?, &c.ints("axis").unwrap_or_default())),
    Entry::one("transpose2", |c| ops::permute(&c.var("X")?, &c.ints("axis").unwrap_or_default())),
    Entry::many("unbind", |c| {
        let found = ops::unbind(&c.var("X")?, c.int("axis", 0))?;
        Ok(vec![("Out", found.into_iter().map(Val::new).collect())])
    }),
    Entry::many("unsqueeze", |c| moved(c, unsqueezed)),
    Entry::many("unsqueeze2", |c| moved(c, unsqueezed)),
    Entry::many("unstack", |c| {
        let found = ops::unbind(&c.var("X")?, c.int("axis", 0))?;
        Ok(vec![("Y", found.into_iter().map(Val::new).collect())])
    }),
];

fn whole(ints: Vec<i64>) -> Vec<Whole> {
    ints.into_iter().map(Whole::Number).collect()
}

/// An op that keeps elements in their order, so that integers that depend on sizes stay known.
fn moved(c: &Call<'_>, f: fn(&Call<'_>, &Var) -> Result<Var>) -> Result<Outs> {
    if let Val::Sizes(sizes) = c.val("X")? {
        let numbers: Vec<i64> = (0..sizes.items.len() as i64).collect();
        let found = {
            let _at_once = fluvial_core::imperative();
            f(c, &Var::new(fluvial_core::Tensor::from_vec(numbers, &sizes.dims)?))?
        };
        let dims = found.tensor()?.dims().to_vec();
        return out(Val::Sizes(Sizes { dims, ..sizes.clone() }));
    }
    let found = f(c, &c.var("X")?)?;
    let lengths = super::shared(c, &found)?;
    out(Val::Dense(found, lengths))
}

fn squeezed(c: &Call<'_>, x: &Var) -> Result<Var> {
    let dims = x.dims();
    let is_one = |i: usize| dims[i] == Dim::size(1);
    let axes = match c.ints("axes") {
        Some(axes) => {
            let axes = axes.iter().map(|&axis| front(axis, dims.len()));
            axes.collect::<Result<Vec<usize>>>()?
        }
        None => (0..dims.len()).collect(),
    };
    // Axes of another size stay.
    let axes: Vec<i64> = axes.into_iter().filter(|&i| is_one(i)).map(|i| i as i64).collect();
    if axes.is_empty() { Ok(x.clone()) } else { ops::squeeze(x, &axes) }
}

fn unsqueezed(c: &Call<'_>, x: &Var) -> Result<Var> {
    let axes = c.wholes("AxesTensor", "AxesTensorList", "axes")?.unwrap_or_default();
    let mut found = x.clone();
    for axis in axes {
        let axis = axis.number().ok_or_else(|| c.refuse("an axis that only the run knows"))?;
        found = ops::unsqueeze(&found, axis)?;
    }
    Ok(found)
}

fn concat(c: &Call<'_>) -> Result<Outs> {
    let axis = match c.known("AxisTensor")? {
        Some(tensor) => tensor.to_f64s().first().copied().unwrap_or(0.0) as i64,
        None => c.int("axis", 0),
    };
    let vals = c.vals("X");
    if vals.iter().any(|val| matches!(val, Val::Sizes(_))) && axis == 0 {
        let parts: Option<Vec<Sizes>> = vals.iter().map(|val| val.sizes()).collect();
        if let Some(parts) = parts {
            let dtype = parts[0].dtype;
            let items: Vec<Whole> = parts.into_iter().flat_map(|part| part.items).collect();
            return out(Val::of_sizes(Sizes { dims: vec![items.len()], items, dtype })?);
        }
    }
    let found = crate::onnx::concatenated(&c.vars("X")?, axis)?;
    let lengths = super::shared(c, &found)?;
    out(Val::Dense(found, lengths))
}

fn crop(c: &Call<'_>, offsets: &str, each: &str) -> Result<Var> {
    let x = c.var("X")?;
    let offsets = c.wholes(offsets, each, "offsets")?.unwrap_or(vec![Whole::Number(0); x.rank()]);
    let sizes = match c.opt_val("Y") {
        Some(like) => like.dims()?.into_iter().map(Whole::from).collect(),
        None => c.wholes("Shape", "ShapeTensor", "shape")?.unwrap_or_default(),
    };
    let mut found = x.clone();
    for (i, (&offset, &size)) in offsets.iter().zip(&sizes).enumerate() {
        let len = match size {
            Whole::Number(-1) => Whole::from(x.dims()[i]).sub(offset)?.dim()?,
            size => size.dim()?,
        };
        found = ops::narrow(&found, i as i64, offset.dim()?, len)?;
    }
    Ok(found)
}

fn tiled(x: &Var, times: Vec<Whole>) -> Result<Var> {
    let times = times.into_iter().map(Whole::dim).collect::<Result<Vec<Dim>>>()?;
    ops::tile(x, &times)
}

/// The value repeated to sizes, of which -1 stands for the own one.
fn expanded(x: &Var, target: &[Whole]) -> Result<Var> {
    let own = x.dims();
    let skipped = target.len().checked_sub(own.len());
    let skipped = skipped.ok_or_else(|| Error::shape(format!("{} has more axes", x.ty())))?;
    let mut dims = Vec::new();
    for (i, &size) in target.iter().enumerate() {
        let mine = i.checked_sub(skipped).map(|i| own[i]);
        dims.push(match (size, mine) {
            (Whole::Number(-1), Some(mine)) => mine,
            (size, _) => size.dim()?,
        });
    }
    let from: Vec<Dim> = own
        .iter()
        .zip(&dims[skipped..])
        .map(|(&own, &to)| if own == Dim::size(1) { own } else { to })
        .collect();
    ops::broadcast_to(&fit::assumed(x, &from)?, &dims)
}

fn flatten(c: &Call<'_>) -> Result<Var> {
    let x = c.var("X")?;
    let (dims, axis) = (x.dims(), c.count("axis", 1)?);
    if axis > dims.len() {
        return Err(c.refuse(format!("axis {axis} of {}", x.ty())));
    }
    ops::reshape(&x, &[fit::count(&dims[..axis])?, fit::count(&dims[axis..])?])
}

fn padded(c: &Call<'_>, before: &[i64], after: &[i64], value: &str) -> Result<Var> {
    let mode = match c.text("mode", "constant").as_str() {
        "constant" => PadMode::Constant,
        "reflect" => PadMode::Reflect,
        "edge" | "replicate" => PadMode::Replicate,
        "circular" => PadMode::Circular,
        other => return Err(c.refuse(format!("`{other}` is not a mode"))),
    };
    let options = PadOptions::default().mode(mode).value(c.float(value, 0.0));
    channels_first(c, "data_format", |x| ops::pad(x, before, after, options.clone()))
}

/// Applies a function of images whose channels are the second axis.
pub fn channels_first(
    c: &Call<'_>,
    attr: &str,
    f: impl FnOnce(&Var) -> Result<Var>,
) -> Result<Var> {
    let slot = if c.opt_val("X").is_some() { "X" } else { "Input" };
    let x = c.var(slot)?;
    match c.text(attr, "NCHW").as_str() {
        "NHWC" | "NDHWC" | "NLC" => {
            let found = f(&ops::movedim(&x, &[-1], &[1])?)?;
            ops::movedim(&found, &[1], &[-1])
        }
        _ => f(&x),
    }
}

fn reshape(c: &Call<'_>) -> Result<Outs> {
    let wanted = c.wholes("Shape", "ShapeTensor", "shape")?.unwrap_or_default();
    if let Val::Sizes(sizes) = c.val("X")? {
        let numbers: Option<Vec<i64>> = wanted.iter().map(|size| size.number()).collect();
        if let Some([-1]) = numbers.as_deref() {
            let dims = vec![sizes.items.len()];
            return out(Val::Sizes(Sizes { dims, ..sizes.clone() }));
        }
    }
    let x = c.var("X")?;
    let own = x.dims();
    let mut dims = Vec::new();
    for (i, &size) in wanted.iter().enumerate() {
        dims.push(match size {
            Whole::Number(-1) => Dim::REST,
            Whole::Number(0) => *own.get(i).ok_or_else(|| {
                c.refuse(format!("size {i} is that of an axis that is not there"))
            })?,
            size => size.dim()?,
        });
    }
    let found = fit::reshaped(&x, &dims)?;
    let lengths = super::shared(c, &found)?;
    out(Val::Dense(found, lengths))
}

/// A place of a slice on an axis: negative ones count from the end, and none lie beyond it.
fn place(at: Whole, size: Dim) -> Result<Whole> {
    let whole = Whole::from(size);
    match (at, size.value()) {
        (Whole::Number(at), Some(size)) => {
            let at = if at < 0 { at.saturating_add(size as i64) } else { at };
            Ok(Whole::Number(at.clamp(0, size as i64)))
        }
        (Whole::Number(at), None) if at < 0 => whole.add(Whole::Number(at)),
        // More than any size stands for the end.
        (Whole::Number(at), None) if at >= i64::from(i32::MAX) => Ok(whole),
        (at, _) => Ok(at),
    }
}

fn slice(c: &Call<'_>) -> Result<Outs> {
    let axes = c.ints("axes").unwrap_or_default();
    let starts = c.wholes("StartsTensor", "StartsTensorList", "starts")?.unwrap_or_default();
    let ends = c.wholes("EndsTensor", "EndsTensorList", "ends")?.unwrap_or_default();
    if starts.len() != axes.len() || ends.len() != axes.len() {
        return Err(c.refuse("as many starts and ends as axes are needed"));
    }
    if let Val::Array(_) = c.val("Input")? {
        return Err(c.refuse("a slice of an array"));
    }
    if let (Val::Sizes(sizes), [0]) = (c.val("Input")?, &axes[..]) {
        let count = Dim::size(sizes.items.len());
        let (start, end) = (place(starts[0], count)?.number(), place(ends[0], count)?.number());
        if let (Some(start), Some(end)) = (start, end) {
            let items = sizes.items.get(start as usize..end as usize).unwrap_or(&[]).to_vec();
            let is_dropped = c.ints("decrease_axis").is_some() && self_scalar(c);
            let dims = if is_dropped { vec![] } else { vec![items.len()] };
            return out(Val::of_sizes(Sizes { items, dims, dtype: sizes.dtype })?);
        }
    }
    let mut found = c.var("Input")?;
    for (i, &axis) in axes.iter().enumerate() {
        let size = found.dims()[front(axis, found.rank())?];
        let (start, end) = (place(starts[i], size)?, place(ends[i], size)?);
        let len = match end.sub(start)? {
            Whole::Number(len) if len < 0 => Dim::size(0),
            len => len.dim()?,
        };
        found = ops::narrow(&found, axis, start.dim()?, len)?;
    }
    let found = squeezed_after(c, &found)?;
    let lengths = super::shared(c, &found)?;
    out(Val::Dense(found, lengths))
}

/// Whether the result of a slice that loses all axes has none, as since version 2.5, and not one.
fn self_scalar(c: &Call<'_>) -> bool {
    c.importer.says_scalars()
}

fn squeezed_after(c: &Call<'_>, x: &Var) -> Result<Var> {
    match c.ints("decrease_axis") {
        Some(axes) if axes.len() == x.rank() && !self_scalar(c) => ops::reshape(x, &[Dim::size(1)]),
        Some(axes) => ops::squeeze(x, &axes),
        None => Ok(x.clone()),
    }
}

fn split(c: &Call<'_>) -> Result<Outs> {
    let x = c.var("X")?;
    let axis = match c.known("AxisTensor")? {
        Some(tensor) => tensor.to_f64s().first().copied().unwrap_or(0.0) as i64,
        None => c.int("axis", 0),
    };
    let axis = front(axis, x.rank())?;
    let sections = c.wholes("", "SectionsTensorList", "sections")?;
    let found = match sections {
        Some(sections) => {
            let mut given = sections.iter().filter(|&&size| size != Whole::Number(-1));
            let given = given.try_fold(Whole::Number(0), |sum, &size| sum.add(size))?;
            let rest = Whole::from(x.dims()[axis]).sub(given)?;
            let size =
                |&size: &Whole| if size == Whole::Number(-1) { rest.dim() } else { size.dim() };
            let sizes = sections.iter().map(size).collect::<Result<Vec<Dim>>>()?;
            ops::split(&x, &sizes, axis as i64)?
        }
        None => {
            let count = match c.count("num", 0)? {
                0 => c.outputs("Out").len(),
                count => count,
            };
            ops::chunk(&x, count, axis as i64)?
        }
    };
    Ok(vec![("Out", found.into_iter().map(Val::new).collect())])
}
