//! What ops with packed weights of 8 bits share.

use super::quantize_linear::steps;
use crate::prelude::*;
use kernels::{Binary, Inst, Int8Epilogue};

/// The number of channels that scales are given for.
pub(super) fn known_channels(scales: &Type) -> Result<usize> {
    let is_row = !scales.is_list() && scales.dtype() == DType::F32 && scales.rank() == 1;
    match is_row {
        true => known_size(scales.dim(0)),
        false => Err(Error::dtype(format!("a scale for each channel is f32[out], found {scales}"))),
    }
}

/// Refuses inputs that do not fit so many groups, channels and products, for an output of so many axes, one of which has the
/// channels.
pub(super) fn judge(
    inputs: &[&Type],
    [groups, outs, products]: [usize; 3],
    channels: usize,
    rank: usize,
) -> Result<()> {
    let (x, packed) = (inputs[0], inputs[3]);
    if x.is_list() || x.dtype() != DType::U8 {
        return Err(
            Error::dtype(format!("activations are u8, found {x}")).remedy("quantise them first")
        );
    }
    steps(inputs[1], inputs[2])?;
    if inputs[2].dtype() != DType::U8 {
        return Err(Error::dtype("the zero point of u8 is u8"));
    }
    if products > kernels::MAX_PRODUCTS {
        return Err(Error::argument(format!(
            "sums of {products} products of bytes may not fit into 32 bits"
        ))
        .remedy(format!("at most {} do; leave it in floats", kernels::MAX_PRODUCTS)));
    }
    let wanted = kernels::packed_dims(groups, outs / groups.max(1), products);
    if packed.is_list() || packed.dtype() != DType::I8 || packed.dims() != dims_of(&wanted) {
        return Err(Error::shape(format!(
            "{packed} are not packed weights of {outs} channels with {products} products each"
        ))
        .remedy(format!("expected i8{wanted:?}")));
    }
    let Some(bias) = inputs.get(5) else { return Ok(()) };
    let is_row = bias.dims() == [Dim::size(outs)];
    let fits = !bias.is_list()
        && bias.dtype() == DType::F32
        && (is_row || is_per_channel(bias, outs, channels, rank));
    match fits {
        true => Ok(()),
        false => Err(Error::shape(format!("a bias {bias} does not fit {outs} channels"))),
    }
}

/// Whether a summand of this type has one number for each channel of an output of so many axes.
fn is_per_channel(ty: &Type, outs: usize, channels: usize, rank: usize) -> bool {
    let Some(ahead) = rank.checked_sub(ty.rank()) else { return false };
    let size = |axis: usize| if axis + ahead == channels { outs } else { 1 };
    ahead <= channels
        && ty.dims().iter().enumerate().all(|(axis, &dim)| dim == Dim::size(size(axis)))
}

/// The scales of the channels, and their summands.
pub(super) fn scales(inputs: &[&Value]) -> Result<(Vec<f32>, Option<Vec<f32>>)> {
    let bias = inputs.get(5).map(|bias| bias.tensor()?.to_vec::<f32>()).transpose()?;
    Ok((inputs[4].tensor()?.to_vec()?, bias))
}

/// What follows the sums.
pub(super) fn then<'a>(
    inputs: &[&Value],
    weight_scale: &'a [f32],
    bias: Option<&'a [f32]>,
    relu: bool,
) -> Result<Int8Epilogue<'a>> {
    let (scale, zero) = (inputs[1].tensor()?.item()?, inputs[2].tensor()?.item()?);
    Ok(Int8Epilogue { scale, zero, weight_scale, bias, relu })
}

/// Whether `next` adds a number for each channel, and which, or makes negative numbers 0. `channels` is their axis in an output of
/// so many axes.
pub(super) fn finish(
    op: &dyn Op,
    on: &Rewrite,
    inputs: &[ValueId],
    next: &Call,
    [has_bias, has_relu]: [bool; 2],
    channels: impl Fn(usize) -> usize,
) -> Option<(Option<ValueId>, bool)> {
    let types: SmallVec<[&Type; 6]> = inputs.iter().map(|&id| on.ty(id)).collect();
    let out = op.infer(&types).ok()?[0];
    let other = next.inputs.iter().copied().find(|&id| id != ValueId::MAX);
    match (next.op.body()?.insts(), other) {
        (&[Inst::Input(0), Inst::Input(1), Inst::Binary(Binary::Add, 0, 1)], Some(id)) => {
            let outs = known_channels(types[4]).ok()?;
            let added = on.ty(id);
            let fits = !has_bias
                && !has_relu
                && added.dtype() == DType::F32
                && !added.is_list()
                && is_per_channel(added, outs, channels(out.rank()), out.rank());
            fits.then_some((Some(id), false))
        }
        (&[Inst::Input(0), Inst::Const(0.0), Inst::Binary(Binary::Max, 0, 1)], None) => {
            (!has_relu).then_some((None, true))
        }
        _ => None,
    }
}

/// The op that does more, with a further input.
pub(super) fn absorbed(
    op: impl Into<OpRef>,
    inputs: &[ValueId],
    bias: Option<ValueId>,
) -> Option<Absorbed> {
    Some(Absorbed { op: op.into(), inputs: inputs.iter().copied().chain(bias).collect() })
}
