//! Arrays of tensors.

use fluvial_core::{DType, Dim, Error, Result, Var};
use fluvial_ops as ops;

use super::arithmetic::out;
use super::call::Call;
use super::table::{Entry, Outs};
use super::value::{Val, place};

pub const OPS: &[Entry] = &[
    Entry::one("lod_array_length", |c| {
        let count = match c.val("X")? {
            Val::Array(Some(list)) => ops::list_len(list)?,
            _ => Var::scalar(0i64),
        };
        ops::reshape(&count, &[Dim::size(1)])
    })
    .never_folds(),
    Entry::one("read_from_array", |c| {
        let Val::Array(Some(list)) = c.val("X")? else {
            return Err(c.refuse("nothing was written to the array before"));
        };
        ops::list_get(list, &place(&c.var("I")?)?, true)
    })
    .never_folds(),
    Entry::many("tensor_array_to_tensor", |c| {
        let Val::Array(Some(list)) = c.val("X")? else {
            return Err(c.refuse("nothing was written to the array before"));
        };
        let len = ops::of_size(&ops::list_len(list)?)?.ty().dim(0);
        let stacked = ops::list_stack(list, len, true)?;
        let axis = c.int("axis", 0);
        let each = match c.flag("use_stack", false) {
            true => Dim::size(1),
            false => {
                let element = stacked.rank() - 1;
                stacked.dims()[1 + crate::fit::front(axis, element)?]
            }
        };
        let counts = ops::broadcast_to(&ops::dim_size(each, DType::I32)?, &[len])?;
        let moved = ops::movedim(&stacked, &[0], &[axis])?;
        let found = match c.flag("use_stack", false) {
            true => moved,
            false => ops::flatten(&moved, axis, axis + 1)?,
        };
        Ok(vec![("Out", vec![found.into()]), ("OutIndex", vec![counts.into()])])
    })
    .never_folds(),
    Entry::many("write_to_array", write).never_folds(),
    Entry::many("create_array", |_| out(Val::Array(None))).never_folds(),
];

/// The array with another element at a place; what lies before it and was never written is zeros.
fn write(c: &Call<'_>) -> Result<Outs> {
    let (x, at) = (c.var("X")?, place(&c.var("I")?)?);
    let name = c.outputs("Out").first().ok_or_else(|| c.refuse("it has no output"))?;
    let old = match c.env.get(name) {
        Some(Val::Array(list)) => list.clone(),
        None => None,
        Some(_) => return Err(c.refuse(format!("`{name}` is not an array"))),
    };
    let zeros = ops::zeros_like(&x)?;
    let Some(old) = old else {
        if let Some(number) = c.val("I")?.tensor() {
            let number = number.to_f64s().first().copied().unwrap_or(0.0);
            if !(0.0..65536.0).contains(&number) {
                return Err(Error::index(format!("{number} is not a place of an array")));
            }
            let mut list = ops::list_new(x.ty())?;
            for _ in 0..number as usize {
                list = ops::list_push(&list, &zeros)?;
            }
            return out(Val::Array(Some(ops::list_push(&list, &x)?)));
        }
        let empty = ops::list_new(x.ty())?;
        return out(Val::Array(Some(grown(&empty, &at, &x, &zeros)?)));
    };
    out(Val::Array(Some(grown(&old, &at, &x, &zeros)?)))
}

fn grown(list: &Var, at: &Var, x: &Var, zeros: &Var) -> Result<Var> {
    let is_short = |list: &Var| ops::le(&ops::list_len(list)?, at);
    let long = ops::while_loop(
        &[list],
        |carried| is_short(&carried[0]),
        |carried| Ok(vec![ops::list_push(&carried[0], zeros)?]),
    )?;
    ops::list_set(&long[0], at, x)
}
