//! Calls made from other calls: inputs in other layouts, element types and sizes.

use fluvial_core::{Attr, Attrs, Complex, DType, Dim, List, OpRef, Result, Tensor, Value, Var};

use super::Call;
use crate::check::map_tensors;

type Relayout = fn(&Tensor) -> Result<Tensor>;

/// Ways to lay out the same elements differently in memory.
pub(super) const LAYOUTS: [(&str, Relayout); 3] =
    [("axes reversed in memory", transposed), ("negative steps", backwards), ("gaps", with_gaps)];

fn transposed(x: &Tensor) -> Result<Tensor> {
    let reversed: Vec<usize> = (0..x.rank()).rev().collect();
    x.permute(&reversed)?.contiguous()?.permute(&reversed)
}

fn backwards(x: &Tensor) -> Result<Tensor> {
    let turn = |x: Tensor| -> Result<Tensor> {
        (0..x.rank()).try_fold(x, |x, axis| match x.dims()[axis] {
            0 => Ok(x),
            n => x.slice(axis, n - 1, n, -1),
        })
    };
    turn(turn(x.clone())?.contiguous()?)
}

fn with_gaps(x: &Tensor) -> Result<Tensor> {
    let mut dims = x.dims().to_vec();
    dims.push(2);
    x.unsqueeze(x.rank())?.expand(&dims)?.contiguous()?.index(x.rank(), 1)
}

/// The first slice along the first axis, repeated without a copy.
pub(super) fn expanded(x: &Tensor) -> Result<Tensor> {
    match x.dims().first() {
        None | Some(0) => Ok(x.clone()),
        Some(_) => x.slice(0, 0, 1, 1)?.expand(x.dims()),
    }
}

/// The call with `f` applied to each tensor of its inputs; nothing if it has none.
pub(super) fn map_inputs(
    call: &Call,
    f: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<Option<Call>> {
    if call.inputs.is_empty() {
        return Ok(None);
    }
    let inputs = call.inputs.iter().map(|input| map_tensors(input, &mut |x| f(x)));
    Ok(Some(Call { op: call.op.clone(), inputs: inputs.collect::<Result<_>>()? }))
}

/// The value with another element type.
pub(super) fn cast(value: &Value, dtype: DType) -> Result<Value> {
    match value {
        Value::List(list) if list.is_empty() => {
            List::new(list.element().with_dtype(dtype)).map(Value::List)
        }
        _ => map_tensors(value, &mut |x| x.cast(dtype)),
    }
}

/// The call with another element type wherever it has floats, in inputs and in attributes.
pub(super) fn with_dtype(call: &Call, dtype: DType) -> Result<Call> {
    let inputs = call.inputs.iter().map(|input| match input.ty().is_float() {
        true => cast(input, dtype),
        false => Ok(input.clone()),
    });
    let change = |attr: &Attr| match attr {
        Attr::DType(own) if own.is_float() => Attr::DType(dtype),
        Attr::Type(ty) if ty.is_float() => Attr::Type(ty.with_dtype(dtype)),
        other => other.clone(),
    };
    let op = rebuild(&call.op, &change).unwrap_or_else(|_| call.op.clone());
    Ok(Call { op, inputs: inputs.collect::<Result<_>>()? })
}

/// The call with complex numbers in place of `f64`, whose imaginary parts follow from the real ones and their places.
pub(super) fn complex(call: &Call) -> Result<Call> {
    let wide = with_dtype(call, DType::C128)?;
    let fill = |x: &Tensor| -> Result<Tensor> {
        if x.dtype() != DType::C128 {
            return Ok(x.clone());
        }
        let filled = |(i, z): (usize, Complex<f64>)| {
            Complex::new(z.re, 0.21 + 0.35 * z.re + 0.11 * (i % 5) as f64)
        };
        let elements = x.to_vec::<Complex<f64>>()?.into_iter().enumerate().map(filled);
        Tensor::from_vec(elements.collect(), x.dims())
    };
    let inputs = wide.inputs.iter().map(|input| match input {
        Value::List(list) if list.is_empty() => Ok(input.clone()),
        _ => map_tensors(input, &mut |x| fill(x)),
    });
    Ok(Call { op: wide.op.clone(), inputs: inputs.collect::<Result<_>>()? })
}

/// The call with its first `f64` input in `f32`; nothing if there is no other one.
pub(super) fn mixed(call: &Call) -> Result<Option<Call>> {
    let is_f64 = |value: &Value| value.ty().dtype() == DType::F64;
    if call.inputs.iter().filter(|input| is_f64(input)).count() < 2 {
        return Ok(None);
    }
    let mut inputs = call.inputs.clone();
    if let Some(first) = inputs.iter_mut().find(|input| is_f64(input)) {
        *first = cast(first, DType::F32)?;
    }
    Ok(Some(Call { op: call.op.clone(), inputs }))
}

/// The call with each tensor input reduced to its first element, 0-d; nothing if one has none.
pub(super) fn zero_d(call: &Call) -> Result<Option<Call>> {
    let has_elements = |input: &Value| input.tensor().is_ok_and(|x| x.numel() > 0);
    match call.inputs.iter().all(has_elements) {
        false => Ok(None),
        true => map_inputs(call, |x| x.reshape(&[x.numel()])?.index(0, 0)),
    }
}

/// The sizes that occur in the inputs, without repeats.
pub(super) fn sizes(call: &Call) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        call.inputs.iter().flat_map(|input| input.ty().sizes().unwrap_or_default()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Whether a tensor among the inputs has this size.
pub(super) fn is_bound(call: &Call, size: usize) -> bool {
    call.inputs.iter().any(|input| input.tensor().is_ok_and(|x| x.dims().contains(&size)))
}

/// The symbol that stands for a size.
pub(super) fn symbol(size: usize) -> Result<Dim> {
    Dim::symbol(&format!("n{size}"))
}

/// The op with symbols for these sizes, in each attribute that takes symbols.
pub(super) fn symbolic_op(op: &OpRef, sizes: &[usize]) -> Result<OpRef> {
    let mut op = op.clone();
    let names: Vec<String> = op.attrs().iter().map(|(name, _)| name.to_string()).collect();
    for name in names {
        let mut attrs = Attrs::new();
        for (own, attr) in op.attrs().iter() {
            let attr = if own == name { symbolic_attr(attr, sizes)? } else { attr.clone() };
            attrs.push(own.to_string(), attr);
        }
        // An attribute that is an integer and no size refuses symbols.
        op = if op.attrs() == attrs { op } else { op.rebuild(&attrs).unwrap_or(op) };
    }
    Ok(op)
}

fn symbolic_attr(attr: &Attr, sizes: &[usize]) -> Result<Attr> {
    Ok(match attr {
        Attr::Int(n) if sizes.iter().any(|&size| size as i64 == *n) => {
            Attr::Dim(symbol(*n as usize)?)
        }
        Attr::List(items) => {
            Attr::List(items.iter().map(|item| symbolic_attr(item, sizes)).collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}

/// The call with another size wherever this one occurs: fewer elements, or the same ones repeated.
pub(super) fn resized(call: &Call, size: usize, new_size: usize) -> Result<Call> {
    let resize = |x: &Tensor| -> Result<Tensor> {
        let axes = (0..x.rank()).filter(|&axis| x.dims()[axis] == size);
        axes.collect::<Vec<_>>().into_iter().try_fold(x.clone(), |x, axis| {
            let mut whole = Var::new(x);
            while whole.tensor()?.dims()[axis] < new_size {
                whole = fluvial_ops::concat(&[&whole, &whole], axis as i64)?;
            }
            whole.tensor()?.slice(axis, 0, new_size, 1)
        })
    };
    let resize_value = |input: &Value| match input {
        Value::List(list) if list.is_empty() => Ok(input.clone()),
        _ => map_tensors(input, &mut |x| resize(x)),
    };
    let inputs = call.inputs.iter().map(resize_value).collect::<Result<_>>()?;
    let symbol = symbol(size)?;
    let attrs = symbolic_op(&call.op, &[size])?.attrs();
    let attrs = attrs.substitute(&|dim| (dim == symbol).then(|| Dim::size(new_size)))?;
    let op = call.op.rebuild(&attrs).unwrap_or_else(|_| call.op.clone());
    Ok(Call { op, inputs })
}

fn rebuild(op: &OpRef, change: &dyn Fn(&Attr) -> Attr) -> Result<OpRef> {
    let mut attrs = Attrs::new();
    for (name, attr) in op.attrs().iter() {
        attrs.push(name.to_string(), change(attr));
    }
    op.rebuild(&attrs)
}
