//! Constants and values made from nothing.

use fluvial_core::{DType, Dim, Result, Tensor, Type, Var, Whole};
use fluvial_ops as ops;

use super::arithmetic::out;
use super::call::Call;
use super::table::{Entry, Outs};
use super::value::{Val, scalar};
use crate::fit::Sizes;

pub const OPS: &[Entry] = &[
    Entry::many("assign", |c| out(c.val("X")?.clone())),
    Entry::one("assign_value", assign_value),
    Entry::many("share_data", |c| out(c.val("X")?.clone())),
    Entry::one("diag", |c| ops::diag(&c.var("Diagonal")?, 0)),
    Entry::one("diag_embed", |c| {
        let (a, b) = (c.int("dim1", -2), c.int("dim2", -1));
        ops::diag_embed(&c.var("Input")?, c.int("offset", 0), a, b)
    }),
    Entry::one("diag_v2", |c| {
        let x = c.var("X")?;
        match c.float("padding_value", 0.0) {
            0.0 => ops::diag(&x, c.int("offset", 0)),
            _ => Err(c.refuse("`padding_value`")),
        }
    }),
    Entry::one("diagonal", |c| {
        let (a, b) = (c.int("axis1", 0), c.int("axis2", 1));
        ops::diagonal(&c.var("Input")?, c.int("offset", 0), a, b)
    }),
    Entry::one("empty", |c| {
        let ty = c.made()?;
        ops::zeros(ty.dims(), ty.dtype())
    }),
    Entry::one("eye", |c| {
        let rows = c.count("num_rows", 0)?;
        let columns = match c.int("num_columns", -1) {
            -1 => rows,
            _ => c.count("num_columns", 0)?,
        };
        let dtype = c.dtype("dtype")?.unwrap_or(DType::F32);
        ops::eye(Dim::size(rows), Dim::size(columns), 0, dtype)
    }),
    Entry::one("fill", |c| {
        let dims = c.shape()?;
        let values = c.floats("value").unwrap_or_default();
        let sizes: Option<Vec<usize>> = dims.iter().map(|dim| dim.value()).collect();
        let sizes = sizes.ok_or_else(|| c.refuse("sizes that are not known"))?;
        let dtype = c.dtype("dtype")?.unwrap_or(DType::F32);
        Ok(Var::new(Tensor::from_f64s(dtype, &values, &sizes)?))
    }),
    Entry::one("fill_any_like", |c| {
        let x = c.var("X")?;
        let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
        ops::full(&x.dims(), c.float("value", 0.0), dtype)
    }),
    Entry::many("fill_constant", fill_constant),
    Entry::one("fill_constant_batch_size_like", |c| {
        let ty = like_batch(c)?;
        ops::full(ty.dims(), constant(c)?, ty.dtype())
    }),
    Entry::one("fill_zeros_like", |c| ops::zeros_like(&c.var("X")?)),
    Entry::one("fill_zeros_like2", |c| {
        let x = c.var("X")?;
        ops::zeros(&x.dims(), c.dtype("dtype")?.unwrap_or(x.dtype()))
    }),
    Entry::one("linspace", |c| {
        let number = |slot: &str| -> Result<f64> {
            let tensor = c.known(slot)?.ok_or_else(|| c.refuse(format!("`{slot}` is missing")))?;
            tensor.to_f64s().first().copied().ok_or_else(|| c.refuse("an empty end"))
        };
        let dtype = c.dtype("dtype")?.unwrap_or(DType::F32);
        let count = Whole::Number(number("Num")? as i64).dim()?;
        ops::linspace(number("Start")?, number("Stop")?, count, dtype)
    }),
    Entry::many("meshgrid", |c| {
        let vectors = c.vars("X")?;
        let grids = ops::meshgrid(&vectors.iter().collect::<Vec<_>>(), ops::Indexing::Ij)?;
        Ok(vec![("Out", grids.into_iter().map(Val::new).collect())])
    }),
    Entry::one("one_hot", |c| {
        let x = c.var("X")?;
        // The last axis, of size one, becomes that of the classes.
        let x = if x.dims().last() == Some(&Dim::size(1)) { ops::squeeze(&x, &[-1])? } else { x };
        one_hot(c, &x)
    }),
    Entry::one("one_hot_v2", |c| one_hot(c, &c.var("X")?)),
    Entry::one("range", range),
    Entry::many("shape", |c| {
        let (mut sizes, dtype) = (Sizes::of_dims(&c.val("Input")?.dims()?), DType::I32);
        sizes.dtype = dtype;
        out(Val::of_sizes(sizes)?)
    })
    .never_folds(),
    Entry::many("size", |c| {
        let count = Whole::from(crate::fit::count(&c.val("Input")?.dims()?)?);
        out(Val::of_sizes(Sizes { items: vec![count], dims: vec![], dtype: DType::I64 })?)
    })
    .never_folds(),
    Entry::one("tril_triu", |c| {
        let (x, k) = (c.var("X")?, c.int("diagonal", 0));
        if c.flag("lower", true) { ops::tril(&x, k) } else { ops::triu(&x, k) }
    }),
];

fn assign_value(c: &Call<'_>) -> Result<Var> {
    let ty = c.made()?;
    let sizes: Option<Vec<usize>> = ty.dims().iter().map(|dim| dim.value()).collect();
    let sizes = sizes.ok_or_else(|| c.refuse("sizes that are not known"))?;
    if let Some(longs) = c.ints("int64_values").or_else(|| c.ints("int32_values")) {
        return Ok(Var::new(Tensor::from_vec(longs, &sizes)?.cast(ty.dtype())?));
    }
    let numbers = ["values", "fp32_values", "fp64_values"].iter().find_map(|name| c.floats(name));
    let numbers = match numbers {
        Some(numbers) => numbers,
        None => {
            let flags = c.ints("bool_values").unwrap_or_default();
            flags.into_iter().map(|flag| flag as f64).collect()
        }
    };
    if numbers.len() != sizes.iter().product::<usize>() {
        return Err(c.refuse(format!("{} numbers for {ty}", numbers.len())));
    }
    Ok(Var::new(Tensor::from_f64s(ty.dtype(), &numbers, &sizes)?))
}

/// The number that a constant consists of. A text of it is more precise.
fn constant(c: &Call<'_>) -> Result<f64> {
    let text = c.text("str_value", "");
    match text.as_str() {
        "" => Ok(c.float("value", 0.0)),
        text => text
            .parse::<f64>()
            .map_err(|_| c.refuse(format!("`{text}` is not a number in `str_value`"))),
    }
}

fn fill_constant(c: &Call<'_>) -> Result<Outs> {
    let ty = c.made()?;
    if let Some(value) = c.opt("ValueTensor")? {
        let value = ops::cast(&scalar(&value)?, ty.dtype())?;
        return out(ops::broadcast_to(&value, ty.dims())?);
    }
    // What only the run knows, and a number that single precision cannot have.
    if let (Ok(whole), true) = (c.text("str_value", "").parse::<i64>(), ty.dtype() == DType::I64) {
        let value = Var::scalar(whole);
        return out(ops::broadcast_to(&value, ty.dims())?);
    }
    out(ops::full(ty.dims(), constant(c)?, ty.dtype())?)
}

/// The type with the batch of another value.
pub fn like_batch(c: &Call<'_>) -> Result<Type> {
    let like = c.val("Input")?;
    let (from, to) = (c.count("input_dim_idx", 0)?, c.count("output_dim_idx", 0)?);
    let mut sizes = c.ints("shape").unwrap_or_default();
    // Where there are sequences, their number is the batch.
    let batch = match like.lengths().first() {
        Some(lengths) if from == 0 => lengths.dims()[0],
        _ => *like.dims()?.get(from).ok_or_else(|| c.refuse("an axis that is not there"))?,
    };
    if to >= sizes.len() {
        return Err(c.refuse("an axis that is not there"));
    }
    sizes[to] = 0;
    let mut dims = Vec::new();
    for size in sizes {
        dims.push(Whole::Number(size).dim()?);
    }
    dims[to] = batch;
    Type::new(c.dtype("dtype")?.unwrap_or(DType::F32), &dims)
}

fn one_hot(c: &Call<'_>, ids: &Var) -> Result<Var> {
    let depth = match c.known("depth_tensor")? {
        Some(tensor) => tensor.to_f64s().first().copied().unwrap_or(0.0) as i64,
        None => c.int("depth", -1),
    };
    let hot = ops::one_hot(&ops::cast(ids, DType::I64)?, Whole::Number(depth).dim()?)?;
    ops::cast(&hot, c.dtype("dtype")?.unwrap_or(DType::F32))
}

/// Numbers from one to another; how many, only the run may know.
fn range(c: &Call<'_>) -> Result<Var> {
    let (start, end, step) = (c.var("Start")?, c.var("End")?, c.var("Step")?);
    let dtype = start.dtype();
    let (start, end, step) = (scalar(&start)?, scalar(&end)?, scalar(&step)?);
    if let (Some(a), Some(b), Some(s)) =
        (c.val("Start")?.tensor(), c.val("End")?.tensor(), c.val("Step")?.tensor())
    {
        let of = |x: Tensor| x.to_f64s().first().copied().unwrap_or(0.0);
        return ops::arange(of(a), of(b), of(s), dtype);
    }
    let whole = |val: &Val| val.sizes().and_then(|sizes| sizes.items.first().copied());
    let ends = (whole(c.val("Start")?), whole(c.val("End")?), whole(c.val("Step")?));
    let count = match ends {
        (Some(a), Some(b), Some(Whole::Number(1))) => b.sub(a)?.dim()?,
        _ => {
            let span = ops::cast(&ops::sub(&end, &start)?, DType::F64)?;
            let count = ops::ceil(&ops::div(&span, &ops::cast(&step, DType::F64)?)?)?;
            let count = ops::maximum(&count, &count.literal(0.0))?;
            ops::of_size(&ops::cast(&count, DType::I64)?)?.ty().dim(0)
        }
    };
    ops::add(&ops::mul(&ops::iota(count, dtype)?, &step)?, &start)
}
