//! Ops that make tensors, change shapes, move elements about, and take and write them by position.

use fluvial_core::{DType, Dim, Error, Result, Tensor, Type};

use super::table::Export;
use super::{Node, Writer, int, ints};

pub const OPS: &[(&str, Export)] = &[
    ("arange", |w, n| {
        let (start, step): (f64, f64) = (n.attr("start")?, n.attr("step")?);
        let dtype: DType = n.attr("dtype")?;
        let numbers = counted(w, n.attr("size")?)?;
        let (start, step) = (w.number(start, dtype)?, w.number(step, dtype)?);
        let numbers = w.cast(&numbers, DType::I64, dtype);
        let scaled = w.op("Mul", &[&numbers, &step]);
        Ok(vec![w.op("Add", &[&scaled, &start])])
    }),
    ("argwhere", |w, n| {
        let places = w.op("NonZero", &[n.x(0)]);
        Ok(vec![w.with("Transpose", &[&places], vec![ints("perm", [1, 0])])])
    }),
    ("assume_dims", |_, n| Ok(vec![n.inputs[0].clone()])),
    ("concat", |w, n| {
        let axis: i64 = n.attr("axis")?;
        let to = n.out().dtype();
        let parts: Vec<String> =
            n.inputs.iter().zip(&n.types).map(|(x, ty)| w.cast(x, ty.dtype(), to)).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Ok(vec![w.with("Concat", &parts, vec![int("axis", axis)])])
    }),
    ("constant", |w, n| {
        let value: Tensor = n.attr("value")?;
        Ok(vec![w.constant(&value)?])
    }),
    ("dim_size", |w, n| {
        let size = w.size(n.attr("size")?)?;
        let axes = w.ints(&[0])?;
        let size = w.op("Squeeze", &[&size, &axes]);
        Ok(vec![w.cast(&size, DType::I64, n.attr("dtype")?)])
    }),
    ("expand", |w, n| {
        let sizes = w.sizes(n.out().dims())?;
        Ok(vec![w.op("Expand", &[n.x(0), &sizes])])
    }),
    ("fill", |w, n| {
        let (value, ty): (f64, Type) = (n.attr("value")?, n.attr("ty")?);
        filled(w, value, ty.dtype(), n.out().dims())
    }),
    ("gather", |w, n| {
        let axis: i64 = n.attr("axis")?;
        Ok(vec![w.with("Gather", &[n.x(0), n.x(1)], vec![int("axis", axis)])])
    }),
    ("index_add", |w, n| {
        // Zeros, with rows added at the positions of one axis.
        let axis: i64 = n.attr("axis")?;
        let rank = n.out().rank() as i64;
        let at = if axis < 0 { axis + rank } else { axis } as usize;
        let zeros = filled(w, 0.0, n.out().dtype(), n.out().dims())?.remove(0);
        let mut shape = vec![1; n.out().rank()];
        shape[at] = -1;
        let shape = w.ints(&shape)?;
        let index = w.op("Reshape", &[n.x(1), &shape]);
        let sizes = w.sizes(n.types[0].dims())?;
        let index = w.op("Expand", &[&index, &sizes]);
        let attrs = vec![int("axis", axis), super::string("reduction", "add")];
        Ok(vec![w.with("ScatterElements", &[&zeros, &index, n.x(0)], attrs)])
    }),
    ("narrow", |w, n| {
        let axis: i64 = n.attr("axis")?;
        let (start, len): (Dim, Dim) = (n.attr("start")?, n.attr("len")?);
        let first = w.size(start)?;
        let behind = match (start.value(), len.value()) {
            (Some(start), Some(len)) => w.ints(&[(start + len) as i64])?,
            _ => {
                let len = w.size(len)?;
                w.op("Add", &[&first, &len])
            }
        };
        let axes = w.ints(&[axis])?;
        Ok(vec![w.op("Slice", &[n.x(0), &first, &behind, &axes])])
    }),
    ("of_size", |w, n| {
        let falsehood = w.constant(&Tensor::scalar(false))?;
        let shape = w.ints(&[1])?;
        let count = w.cast(n.x(0), n.types[0].dtype(), DType::I64);
        let count = w.op("Reshape", &[&count, &shape]);
        Ok(vec![w.op("Expand", &[&falsehood, &count])])
    }),
    ("permute", |w, n| {
        let rank = n.types[0].rank() as i64;
        let axes: Vec<i64> = n.attr("axes")?;
        let axes = axes.into_iter().map(|axis| if axis < 0 { axis + rank } else { axis });
        Ok(vec![w.with("Transpose", &[n.x(0)], vec![ints("perm", axes)])])
    }),
    ("reshape", |w, n| {
        let open = n.out().dims().iter().filter(|dim| dim.is_symbolic()).count();
        let has_none = n.out().dims().contains(&Dim::size(0));
        let sizes = match (open, has_none) {
            (1, false) => {
                // The one that is not a number is what the others leave.
                let size = |dim: &Dim| dim.value().map_or(-1, |size| size as i64);
                w.ints(&n.out().dims().iter().map(size).collect::<Vec<_>>())?
            }
            _ => w.sizes(n.out().dims())?,
        };
        let attrs = if has_none { vec![int("allowzero", 1)] } else { vec![] };
        Ok(vec![w.with("Reshape", &[n.x(0), &sizes], attrs)])
    }),
    ("slice", slice),
    ("zeros_like", |w, n| filled(w, 0.0, n.out().dtype(), n.out().dims())),
];

/// Positions before the first element end a slice here; there they are the first one, if the slice goes backwards.
fn slice(w: &mut Writer, n: &Node<'_>) -> Result<Vec<String>> {
    let (axis, step): (i64, i64) = (n.attr("axis")?, n.attr("step")?);
    let (start, stop): (Option<i64>, Option<i64>) = (n.attr("start")?, n.attr("stop")?);
    if step > 0 {
        let (start, stop) = (start.unwrap_or(0), stop.unwrap_or(i64::MAX));
        return Ok(vec![cut(w, n.x(0), axis, [start, stop, step])?]);
    }
    let at = if axis < 0 { axis + n.types[0].rank() as i64 } else { axis };
    let (size, count) = (n.types[0].dim(at as usize).value(), n.out().dim(at as usize).value());
    let is_before = start.is_some_and(|start| match size {
        Some(size) => start < -(size as i64),
        None => start < -1,
    });
    let whole = [start.unwrap_or(-1), stop.unwrap_or(i64::MIN + 1), step];
    match (count, is_before) {
        (Some(0), _) => Ok(vec![cut(w, n.x(0), axis, [0, 0, 1])?]),
        (_, false) => Ok(vec![cut(w, n.x(0), axis, whole)?]),
        // What lies between, and that from its end.
        (_, true) => {
            let behind = |place: Option<i64>, none: i64| match place {
                Some(-1) => i64::MAX,
                Some(place) => place + 1,
                None => none,
            };
            let ends = [behind(stop, 0), behind(start, i64::MAX), 1];
            let between = cut(w, n.x(0), axis, ends)?;
            Ok(vec![cut(w, &between, axis, [-1, i64::MIN + 1, step])?])
        }
    }
}

/// The elements from one position to another, so far apart.
pub fn cut(w: &mut Writer, x: &str, axis: i64, [start, stop, step]: [i64; 3]) -> Result<String> {
    let (start, stop) = (w.ints(&[start])?, w.ints(&[stop])?);
    let (axes, steps) = (w.ints(&[axis])?, w.ints(&[step])?);
    Ok(w.op("Slice", &[x, &start, &stop, &axes, &steps]))
}

/// The numbers 0, 1, 2, …, so many.
pub fn counted(w: &mut Writer, size: Dim) -> Result<String> {
    let axes = w.ints(&[0])?;
    let size = w.size(size)?;
    let size = w.op("Squeeze", &[&size, &axes]);
    let (zero, one) = (w.number(0.0, DType::I64)?, w.number(1.0, DType::I64)?);
    Ok(w.op("Range", &[&zero, &size, &one]))
}

/// One number everywhere.
pub fn filled(w: &mut Writer, value: f64, dtype: DType, dims: &[Dim]) -> Result<Vec<String>> {
    if dims.iter().any(|dim| dim.fresh_index().is_some()) {
        return Err(Error::symbolic("a size is not known"));
    }
    let number = w.number(value, dtype)?;
    if dims.is_empty() {
        return Ok(vec![number]);
    }
    let sizes = w.sizes(dims)?;
    Ok(vec![w.op("Expand", &[&number, &sizes])])
}
