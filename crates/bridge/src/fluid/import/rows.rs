//! Rows of tables: gradients of lookups, and what is done with them.

use fluvial_core::Result;
use fluvial_ops as ops;

use super::arithmetic::out;
use super::call::Call;
use super::index::ids;
use super::table::{Entry, Outs};
use super::value::{Rows, Val};

pub const OPS: &[Entry] = &[
    Entry::many("get_tensor_from_selected_rows", |c| match c.val("X")? {
        Val::Rows(rows) => out(rows.values.clone()),
        val => out(val.clone()),
    }),
    Entry::many("lookup_table_grad", lookup_grad).never_folds(),
    Entry::many("lookup_table_v2_grad", lookup_grad).never_folds(),
    Entry::many("merge_selected_rows", |c| match c.val("X")? {
        Val::Rows(rows) => out(Val::Rows(rows.merged()?)),
        val => out(val.clone()),
    }),
];

/// The gradient of a table: a row for each number that was looked up.
fn lookup_grad(c: &Call<'_>) -> Result<Outs> {
    let (table, ids) = (c.var("W")?, ids(c, "Ids")?);
    let index = ops::flatten(&ids, 0, -1)?;
    let width = table.dims()[1];
    let mut values = ops::reshape(&c.var("Out@GRAD")?, &[index.dims()[0], width])?;
    let padding = c.int("padding_idx", -1);
    let is_sparse = c.flag("is_sparse", false);
    // Among rows, that of the padding keeps its gradient.
    if padding != -1 && !is_sparse {
        let is_padding = ops::unsqueeze(&ops::eq(&index, &index.literal(padding as f64))?, -1)?;
        values = ops::where_(&is_padding, &values.literal(0.0), &values)?;
    }
    let rows = Rows { index, values, height: table.dims()[0] };
    let val = match is_sparse {
        true => Val::Rows(rows),
        false => Val::new(rows.dense()?),
    };
    Ok(vec![("W@GRAD", vec![val])])
}
