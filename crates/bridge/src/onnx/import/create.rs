//! Ops that make tensors.

use fluvial_core::{DType, Dim, Error, Result, Tensor, Var, Whole};
use fluvial_ops as ops;

use super::node::Node;
use super::table::Entry;
use super::value::{Sizes, Val};
use crate::onnx::tensors;

pub const OPS: &[Entry] = &[
    Entry::many("Constant", 1, constant),
    Entry::many("ConstantOfShape", 9, constant_of_shape),
    Entry::one("EyeLike", 9, |n| {
        let x = n.var(0)?;
        let dtype = n.dtype("dtype")?.unwrap_or(x.dtype());
        match *x.dims() {
            [rows, columns] => ops::eye(rows, columns, n.int("k", 0), dtype),
            _ => Err(n.refuse("its input is not a matrix")),
        }
    }),
    Entry::many("Range", 11, range),
    Entry::one("Trilu", 14, |n| {
        let k = n.known_ints(1)?.and_then(|k| k.first().copied()).unwrap_or(0);
        let x = n.var(0)?;
        match n.flag("upper", true) {
            true => ops::triu(&x, k),
            false => ops::tril(&x, k),
        }
    }),
];

fn constant(n: &Node<'_>) -> Result<Vec<Val>> {
    let tensor = if let Some(tensor) = n.tensor("value")? {
        tensor
    } else if let Some(attr) = n.attr("value_float") {
        Tensor::scalar(attr.f)
    } else if let Some(attr) = n.attr("value_floats") {
        Tensor::from_slice(&attr.floats, &[attr.floats.len()])?
    } else if let Some(attr) = n.attr("value_int") {
        Tensor::scalar(attr.i)
    } else if let Some(attr) = n.attr("value_ints") {
        Tensor::from_slice(&attr.ints, &[attr.ints.len()])?
    } else if let Some(sparse) = n.attr("sparse_value").and_then(|attr| attr.sparse_tensor.as_ref())
    {
        tensors::sparse(sparse, n.importer.folder)?
    } else if n.attr("value_string").is_some() || n.attr("value_strings").is_some() {
        return Err(Error::dtype("there is no element type string here"));
    } else {
        return Err(n.refuse("it has no value"));
    };
    Ok(vec![Val::Known(tensor)])
}

fn constant_of_shape(n: &Node<'_>) -> Result<Vec<Val>> {
    let value = match n.tensor("value")? {
        Some(value) => value,
        None => Tensor::scalar(0.0f32),
    };
    let dims = n.dims(0)?;
    let dtype = value.dtype();
    if dtype == DType::I64 && dims.len() == 1 && dims[0].value().is_some_and(|n| n <= 64) {
        // Sizes are made of these, too, so they must be known.
        let count = dims[0].value().unwrap_or(0);
        let item = Whole::Number(value.to_vec::<i64>()?.first().copied().unwrap_or(0));
        return Ok(vec![Sizes { items: vec![item; count], dims: vec![count], dtype }.val()?]);
    }
    let first = ops::reshape(&Var::new(value), &[])?;
    Ok(vec![ops::broadcast_to(&first, &dims)?.into()])
}

fn range(n: &Node<'_>) -> Result<Vec<Val>> {
    let dtype = match n.val(0)?.sizes() {
        Some(sizes) => sizes.dtype,
        None => n.var(0)?.dtype(),
    };
    let whole = |i: usize| Ok(n.val(i)?.sizes().and_then(|sizes| sizes.items.first().copied()));
    let (start, limit, step): (Option<Whole>, _, _) = (whole(0)?, whole(1)?, whole(2)?);
    if let (Some(start), Some(limit), Some(Whole::Number(1))) = (start, limit, step)
        && dtype.is_int()
    {
        let count = match limit.sub(start)? {
            Whole::Number(number) => Dim::size(usize::try_from(number).unwrap_or(0)),
            Whole::Open(dim) => dim,
        };
        let numbers = ops::iota(count, dtype)?;
        return Ok(vec![match start {
            Whole::Number(0) => numbers.into(),
            start => ops::add(&numbers, &ops::whole_size(start, dtype)?)?.into(),
        }]);
    }
    let numbers = [n.known(0), n.known(1), n.known(2)].map(|known| known.ok().flatten());
    if let [Some(start), Some(limit), Some(step)] = numbers {
        let at = |tensor: &Tensor| tensor.to_f64s().first().copied().unwrap_or(0.0);
        let (start, limit, step) = (at(&start), at(&limit), at(&step));
        if step == 0.0 {
            return Err(n.refuse("its step is zero"));
        }
        return Ok(vec![ops::arange(start, limit, step, dtype)?.into()]);
    }
    // How many there are is known only when it runs.
    let (start, limit, step) = (n.var(0)?, n.var(1)?, n.var(2)?);
    let wide = |x: &Var| ops::cast(x, DType::F64);
    let span = ops::div(&ops::sub(&wide(&limit)?, &wide(&start)?)?, &wide(&step)?)?;
    let count = ops::maximum(&ops::ceil(&span)?, &Var::scalar(0.0f64))?;
    let count = ops::of_size(&ops::cast(&count, DType::I64)?)?.ty().dim(0);
    let numbers = ops::mul(&ops::iota(count, dtype)?, &step)?;
    Ok(vec![ops::add(&numbers, &start)?.into()])
}
