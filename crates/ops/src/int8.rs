//! Which ops can be computed with bytes, and what they become.

use crate::conv::conv_nd::Conv;
use crate::linalg::matmul::Matmul;
use crate::prelude::*;
use crate::quant::{Int8Conv, Int8Linear};

pub use kernels::unpack_int8;

/// An op with a weight, computed with bytes.
pub struct Packed {
    /// The op: it takes the activations, which were the first input, their scale and zero point, the packed weight, and its
    /// scales.
    pub op: OpRef,
    /// The packed weight.
    pub weight: Tensor,
    /// The scale of each channel.
    pub scales: Tensor,
}

/// What an op on inputs of these types becomes with its weight, known to be this tensor, in bytes; or why it stays as it is.
/// Nothing, if it has no weight.
pub fn packed(op: &OpRef, inputs: &[&Type], weight: &Tensor) -> Result<Option<Packed>> {
    let matrix = op.downcast::<Matmul>().filter(|_| inputs[1].rank() == 2);
    let (rows, groups) = match (matrix, op.downcast::<Conv>()) {
        (Some(op), _) if !op.transpose_a && inputs[0].rank() > 0 => match op.transpose_b {
            true => (weight.clone(), 1),
            false => (weight.transpose(0, 1)?, 1),
        },
        (_, Some(op)) => (weight.clone(), op.groups),
        _ => return Ok(None),
    };
    if inputs[0].dtype() != DType::F32 || weight.dtype() != DType::F32 {
        return Err(Error::dtype(format!(
            "it computes with {} and {}, not with f32",
            inputs[0].dtype(),
            weight.dtype()
        )));
    }
    let outs = rows.dims()[0];
    let products = rows.dims()[1..].iter().product::<usize>();
    if outs < 4 * groups || products < 8 {
        return Err(Error::argument(format!(
            "{outs} channels in {groups} groups of {products} products are too few to gain by it"
        )));
    }
    if products > kernels::MAX_PRODUCTS {
        return Err(Error::argument(format!(
            "sums of {products} products of bytes may not fit into 32 bits"
        )));
    }
    let (bytes, scales) = per_channel(&rows)?;
    let made: OpRef = match op.downcast::<Conv>() {
        Some(Conv { stride, before, after, dilation, groups }) => Int8Conv {
            kernel: rows.dims()[2..].to_vec(),
            stride: stride.clone(),
            before: before.clone(),
            after: after.clone(),
            dilation: dilation.clone(),
            groups: *groups,
            bias: false,
            relu: false,
        }
        .into(),
        None => Int8Linear { bias: false, relu: false }.into(),
    };
    let weight = kernels::pack_int8(&bytes, groups)?;
    Ok(Some(Packed { op: made, weight, scales }))
}

/// Weights as bytes, symmetric around 0, and the scale of each slice along the first axis.
fn per_channel(weight: &Tensor) -> Result<(Tensor, Tensor)> {
    let numbers = weight.to_vec::<f32>()?;
    if numbers.iter().any(|x| !x.is_finite()) {
        return Err(Error::argument("a weight is infinite or NaN"));
    }
    let outs = weight.dims()[0];
    let mut bytes: Vec<i8> = Vec::with_capacity(numbers.len());
    let mut scales = Vec::with_capacity(outs);
    for row in numbers.chunks_exact(numbers.len() / outs) {
        let most = row.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        // A channel of zeros, or of numbers so small that their steps vanish, has bytes of 0.
        let scale = if most / 127.0 > 0.0 { most / 127.0 } else { 1.0 };
        scales.push(scale);
        let step = |x: &f32| (x / scale).round_ties_even().clamp(-127.0, 127.0) as i8;
        bytes.extend(row.iter().map(step));
    }
    Ok((Tensor::from_vec(bytes, weight.dims())?, Tensor::from_vec(scales, &[outs])?))
}
