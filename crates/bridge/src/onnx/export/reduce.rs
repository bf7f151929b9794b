//! Reductions, sums along axes, and orders.

use fluvial_core::{DType, Dim, Result};

use super::table::Export;
use super::{Node, Writer, int};

pub const OPS: &[(&str, Export)] = &[
    ("all", |w, n| {
        let x = truth(w, n)?;
        let not = w.op("Not", &[&x]);
        let any = any_of(w, n, &not)?;
        Ok(vec![w.op("Not", &[&any])])
    }),
    ("any", |w, n| {
        let x = truth(w, n)?;
        Ok(vec![any_of(w, n, &x)?])
    }),
    ("argmax", |w, n| arg(w, n, "ArgMax")),
    ("argmin", |w, n| arg(w, n, "ArgMin")),
    ("argsort", |w, n| {
        let (axis, descending): (i64, bool) = (n.attr("axis")?, n.attr("descending")?);
        let rank = n.types[0].rank() as i64;
        let at = if axis < 0 { axis + rank } else { axis };
        let count = w.size(n.types[0].dim(at as usize))?;
        top(w, n, &count, axis, descending)
    }),
    ("cumsum", |w, n| {
        let (axis, reverse): (i64, bool) = (n.attr("axis")?, n.attr("reverse")?);
        let axis = w.number(axis as f64, DType::I64)?;
        let x = w.cast(n.x(0), n.types[0].dtype(), n.out().dtype());
        Ok(vec![w.with("CumSum", &[&x, &axis], vec![int("reverse", reverse.into())])])
    }),
    ("logsumexp", |w, n| reduced(w, n, "ReduceLogSumExp")),
    ("max", |w, n| reduced(w, n, "ReduceMax")),
    ("min", |w, n| reduced(w, n, "ReduceMin")),
    ("prod", |w, n| reduced(w, n, "ReduceProd")),
    ("sum", |w, n| reduced(w, n, "ReduceSum")),
    ("sum_to", |w, n| {
        // Axes that broadcasting has made or widened.
        let (from, to) = (n.types[0].dims(), n.out().dims());
        let more = from.len() - to.len();
        let is_summed =
            |i: usize| i < more || to[i - more] == Dim::size(1) && from[i] != Dim::size(1);
        let axes: Vec<i64> = (0..from.len()).filter(|&i| is_summed(i)).map(|i| i as i64).collect();
        let mut x = n.inputs[0].clone();
        if !axes.is_empty() {
            let axes = w.ints(&axes)?;
            x = w.with("ReduceSum", &[&x, &axes], vec![int("keepdims", 1)]);
        }
        if more > 0 {
            let axes = w.ints(&(0..more as i64).collect::<Vec<_>>())?;
            x = w.op("Squeeze", &[&x, &axes]);
        }
        Ok(vec![x])
    }),
    ("top_positions", |w, n| {
        let (k, axis): (usize, i64) = (n.attr("k")?, n.attr("axis")?);
        let largest: bool = n.attr("largest")?;
        let count = w.ints(&[k as i64])?;
        top(w, n, &count, axis, largest)
    }),
];

fn reduced(w: &mut Writer, n: &Node<'_>, op: &str) -> Result<Vec<String>> {
    let x = w.cast(n.x(0), n.types[0].dtype(), n.out().dtype());
    Ok(vec![over_axes(w, n, op, &x)?])
}

fn over_axes(w: &mut Writer, n: &Node<'_>, op: &str, x: &str) -> Result<String> {
    let (axes, keepdims): (Vec<i64>, bool) = (n.attr("axes")?, n.attr("keepdims")?);
    let keepdims = vec![int("keepdims", keepdims.into())];
    if axes.is_empty() {
        return Ok(w.with(op, &[x], keepdims));
    }
    let axes = w.ints(&axes)?;
    Ok(w.with(op, &[x, &axes], keepdims))
}

/// The first input as bools.
fn truth(w: &mut Writer, n: &Node<'_>) -> Result<String> {
    let own = n.types[0].dtype();
    if own.is_bool() {
        return Ok(n.inputs[0].clone());
    }
    let zero = w.number(0.0, own)?;
    let is_zero = w.op("Equal", &[n.x(0), &zero]);
    Ok(w.op("Not", &[&is_zero]))
}

/// Whether one of the bools is true; of none, none is.
fn any_of(w: &mut Writer, n: &Node<'_>, x: &str) -> Result<String> {
    let x = w.cast(x, DType::Bool, DType::I32);
    let count = over_axes(w, n, "ReduceSum", &x)?;
    Ok(w.cast(&count, DType::I32, DType::Bool))
}

fn arg(w: &mut Writer, n: &Node<'_>, op: &str) -> Result<Vec<String>> {
    let (axis, keepdims): (i64, bool) = (n.attr("axis")?, n.attr("keepdims")?);
    let x = ordered(w, n);
    Ok(vec![w.with(op, &[&x], vec![int("axis", axis), int("keepdims", keepdims.into())])])
}

fn top(w: &mut Writer, n: &Node<'_>, count: &str, axis: i64, largest: bool) -> Result<Vec<String>> {
    let attrs = vec![int("axis", axis), int("largest", largest.into()), int("sorted", 1)];
    let x = ordered(w, n);
    let found = w.several("TopK", &[&x, count], attrs, 2);
    Ok(vec![found[1].clone()])
}

/// The first input as elements of which ONNX knows the order: bools as integers.
fn ordered(w: &mut Writer, n: &Node<'_>) -> String {
    let own = n.types[0].dtype();
    w.cast(n.x(0), own, if own.is_bool() { DType::I32 } else { own })
}
