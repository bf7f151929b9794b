//! Elements by their places, sorting and searching.

use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops as ops;

use super::arithmetic::out;
use super::call::Call;
use super::table::{Entry, Outs};
use super::value::Val;

pub const OPS: &[Entry] = &[
    Entry::many("argsort", |c| {
        let (x, axis) = (c.var("X")?, c.int("axis", -1));
        let (sorted, places) = ops::sort(&x, axis, c.flag("descending", false))?;
        Ok(vec![("Out", vec![sorted.into()]), ("Indices", vec![places.into()])])
    }),
    Entry::many("gather", gather),
    Entry::one("gather_nd", |c| ops::gather_nd(&c.var("X")?, &ids(c, "Index")?)),
    Entry::one("index_sample", |c| ops::take_along_axis(&c.var("X")?, &ids(c, "Index")?, 1)),
    Entry::one("index_select", |c| {
        let index = ops::flatten(&ids(c, "Index")?, 0, -1)?;
        ops::index_select(&c.var("X")?, c.int("dim", 0), &index)
    }),
    Entry::one("is_empty", |c| {
        let count = crate::fit::count(&c.val("X")?.dims()?)?;
        match count.value() {
            Some(count) => Ok(Var::scalar(count == 0)),
            None => ops::eq(&ops::dim_size(count, DType::I64)?, &Var::scalar(0i64)),
        }
    }),
    Entry::one("lookup_table", |c| {
        let ids = ids(c, "Ids")?;
        // The last axis of the numbers has size one.
        let ids =
            if ids.dims().last() == Some(&Dim::size(1)) { ops::squeeze(&ids, &[-1])? } else { ids };
        lookup(c, &ids)
    }),
    Entry::one("lookup_table_v2", |c| lookup(c, &ids(c, "Ids")?)),
    Entry::one("masked_select", |c| {
        let found = ops::broadcast_to(&c.var("Mask")?, &c.var("X")?.dims())?;
        ops::masked_select(&c.var("X")?, &found)
    }),
    Entry::one("multiplex", |c| {
        let all = ops::stack(&c.vars("X")?.iter().collect::<Vec<_>>(), 0)?;
        let which = ops::flatten(&ids(c, "Ids")?, 0, -1)?;
        let rows = ops::iota(which.dims()[0], DType::I64)?;
        ops::gather_nd(&all, &ops::stack(&[&which, &rows], 1)?)
    }),
    Entry::to("put_along_axis", "Result", |c| {
        let (x, index, value) = (c.var("Input")?, ids(c, "Index")?, c.var("Value")?);
        let value = ops::broadcast_to(&value, &index.dims())?;
        match c.text("Reduce", "assign").as_str() {
            "assign" => ops::scatter(&x, c.int("Axis", 0), &index, &value),
            "add" => ops::scatter_add(&x, c.int("Axis", 0), &index, &value),
            other => Err(c.refuse(format!("the reduction `{other}`"))),
        }
    }),
    Entry::one("scatter", |c| {
        let (x, updates) = (c.var("X")?, c.var("Updates")?);
        let index = ops::flatten(&ids(c, "Ids")?, 0, -1)?;
        if c.flag("overwrite", true) {
            return ops::index_put(&x, &index, &updates, 0);
        }
        // Rows that are named begin at zero.
        let cleared = ops::index_put(&x, &index, &ops::zeros_like(&updates)?, 0)?;
        ops::add(&cleared, &ops::index_add(&updates, &index, 0, x.dims()[0])?)
    }),
    Entry::one("scatter_nd_add", |c| {
        ops::scatter_nd_add(&c.var("X")?, &ids(c, "Index")?, &c.var("Updates")?)
    }),
    Entry::one("searchsorted", |c| {
        let (sorted, values) = (c.var("SortedSequence")?, c.var("Values")?);
        let found = ops::searchsorted(&sorted, &values, c.flag("right", false))?;
        ops::cast(&found, if c.flag("out_int32", false) { DType::I32 } else { DType::I64 })
    }),
    Entry::to("take_along_axis", "Result", |c| {
        ops::take_along_axis(&c.var("Input")?, &ids(c, "Index")?, c.int("Axis", 0))
    }),
    Entry::many("top_k", |c| top(c, -1, true)),
    Entry::many("top_k_v2", |c| top(c, c.int("axis", -1), c.flag("largest", true))),
    Entry::one("where_index", |c| ops::argwhere(&c.var("Condition")?)),
    Entry::one("shard_index", |c| {
        let x = c.var("X")?;
        let size = (c.int("index_num", 1) + c.int("nshards", 1) - 1) / c.int("nshards", 1).max(1);
        let mine = ops::eq(
            &ops::floor_div(&x, &x.literal(size as f64))?,
            &x.literal(c.int("shard_id", 0) as f64),
        )?;
        let inside = ops::remainder(&x, &x.literal(size as f64))?;
        ops::where_(&mine, &inside, &x.literal(c.int("ignore_value", -1) as f64))
    }),
];

/// Numbers of places.
pub fn ids(c: &Call<'_>, slot: &str) -> Result<Var> {
    ops::cast(&c.var(slot)?, DType::I64)
}

fn gather(c: &Call<'_>) -> Result<Outs> {
    let axis = match c.known("Axis")? {
        Some(tensor) => tensor.to_f64s().first().copied().unwrap_or(0.0) as i64,
        None => c.int("axis", 0),
    };
    let index = ids(c, "Index")?;
    let index = if index.rank() == 2 { ops::flatten(&index, 0, -1)? } else { index };
    out(Val::new(ops::gather(&c.var("X")?, &index, axis)?))
}

fn lookup(c: &Call<'_>, ids: &Var) -> Result<Var> {
    let table = c.var("W")?;
    let padding = c.int("padding_idx", -1);
    if padding == -1 {
        return ops::gather(&table, ids, 0);
    }
    // The row of the padding is zeros, and gets no gradient.
    let is_padding = ops::eq(ids, &ids.literal(padding as f64))?;
    let rows = ops::gather(&table, ids, 0)?;
    ops::where_(&ops::unsqueeze(&is_padding, -1)?, &rows.literal(0.0), &rows)
}

fn top(c: &Call<'_>, axis: i64, largest: bool) -> Result<Outs> {
    let x = c.var("X")?;
    let k = match c.known("K")? {
        Some(tensor) => tensor.to_f64s().first().copied().unwrap_or(1.0) as usize,
        None => c.count("k", 1)?,
    };
    let (values, places) = ops::topk(&x, k, axis, largest)?;
    Ok(vec![("Out", vec![values.into()]), ("Indices", vec![places.into()])])
}
