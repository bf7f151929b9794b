//! Works factors and summands of channels, such as those of a batch norm, into constant weights.
//!
//! `(conv(x, w) - mean) / deviation * factor + bias` becomes `conv(x, w * a) + b`. This pays where the weight is
//! a number of the program, as in one that was frozen, so that `w * a` is computed once.

use std::collections::HashMap;

use fluvial_core::structural::{ADD, DIV, MUL, NEG, SUB};
use fluvial_core::{
    Block, Call, DType, Dim, NewValues, OpRef, Result, Rewrite, Type, ValueId, Weight,
};
use fluvial_kernels::{Binary, Inst};
use fluvial_ops::shape::Reshape;
use fluvial_ops::unary::RECIPROCAL;
use smallvec::{SmallVec, smallvec};

use super::is_pure;
use crate::driver::Patches;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let chains = Chains::of(block);
    if chains.by_end.is_empty() {
        return Ok(block.clone());
    }
    // The new numbers of what chains take.
    let mut inputs: HashMap<usize, SmallVec<[ValueId; 4]>> = HashMap::new();
    let rewritten = block.rewrite(|on, index, call| {
        inputs.insert(index, call.inputs.clone());
        let Some(chain) = chains.by_end.get(&index).filter(|_| patches.allowed()) else {
            return Ok(None);
        };
        let first = &block.calls[chain.calls[0]];
        let value = write(on, block, chain, &inputs)?;
        patches
            .add(call.loc, || format!("worked what follows `{}` into its weight", first.op.name()));
        Ok(Some(smallvec![value]))
    })?;
    // What has become constant is computed, and the ops by themselves are removed.
    let folded = super::fold::run(&rewritten, patches)?;
    super::dead::run(&folded, patches)
}

/// An op with a weight and the ops of each channel that follow it.
struct Chain {
    weight: Weight,
    /// The op first, then those that follow it.
    calls: Vec<usize>,
}

/// The chains of a block by their last call.
struct Chains {
    by_end: HashMap<usize, Chain>,
}

impl Chains {
    fn of(block: &Block) -> Chains {
        let uses = block.use_counts();
        let mut constant = vec![false; block.types.len()];
        let mut user: Vec<Option<usize>> = vec![None; block.types.len()];
        for (index, call) in block.calls.iter().enumerate() {
            let known = is_pure(call)
                && !call.op.properties().random
                && call.op.blocks().is_empty()
                && call.inputs.iter().all(|&id| constant[id as usize]);
            call.outputs().for_each(|id| constant[id as usize] = known);
            call.inputs.iter().for_each(|&id| user[id as usize] = Some(index));
        }
        let mut by_end = HashMap::new();
        for (index, call) in block.calls.iter().enumerate() {
            let types: SmallVec<[&Type; 4]> =
                call.inputs.iter().map(|&id| &block.types[id as usize]).collect();
            let Some(weight) = call.op.weight(&types).filter(|_| call.n_outputs == 1) else {
                continue;
            };
            if !constant[call.inputs[weight.input] as usize] {
                continue;
            }
            let mut chain = Chain { weight, calls: vec![index] };
            let mut value = call.first_output;
            let mut scales = false;
            while let Some(next) = user[value as usize].filter(|_| uses[value as usize] == 1) {
                let Some(kind) = affine(block, next, value, &weight, &constant) else { break };
                scales |= matches!(kind, Binary::Mul | Binary::Div);
                chain.calls.push(next);
                value = block.calls[next].first_output;
            }
            if scales {
                by_end.insert(chain.calls[chain.calls.len() - 1], chain);
            }
        }
        Chains { by_end }
    }
}

/// What the call does to each channel of `value`, if it is one of the four operations with a constant.
fn affine(
    block: &Block,
    index: usize,
    value: ValueId,
    weight: &Weight,
    constant: &[bool],
) -> Option<Binary> {
    let call = &block.calls[index];
    let &[Inst::Input(0), Inst::Input(1), Inst::Binary(kind, 0, 1)] = call.op.body()?.insts()
    else {
        return None;
    };
    let [left, right] = call.inputs[..] else { return None };
    let other = if left == value { right } else { left };
    let in_order = match kind {
        Binary::Add | Binary::Mul => true,
        Binary::Sub | Binary::Div => left == value,
        _ => false,
    };
    let (ty, other_ty) = (&block.types[value as usize], &block.types[other as usize]);
    let same = block.output_types(call) == [*ty]
        && other_ty.dtype() == ty.dtype()
        && matches!(ty.dtype(), DType::F32 | DType::F64);
    let fits = in_order && same && left != right && constant[other as usize];
    (fits && is_per_channel(other_ty, ty, weight)).then_some(kind)
}

/// Whether a value of this type has at most one number for each channel.
fn is_per_channel(ty: &Type, out: &Type, weight: &Weight) -> bool {
    let ahead = out.rank() - ty.rank();
    let one = Dim::size(1);
    ty.dims().iter().enumerate().all(|(axis, &dim)| dim == one || axis + ahead == weight.channels)
}

/// Writes the op on a weight that does what follows, and the summand; returns the value of the chain.
fn write(
    on: &mut Rewrite,
    block: &Block,
    chain: &Chain,
    inputs: &HashMap<usize, SmallVec<[ValueId; 4]>>,
) -> Result<ValueId> {
    let (mut factor, mut summand): (Option<ValueId>, Option<ValueId>) = (None, None);
    let first = &block.calls[chain.calls[0]];
    let mut value = first.first_output;
    for &index in &chain.calls[1..] {
        let call: &Call = &block.calls[index];
        let position = usize::from(call.inputs[0] == value);
        let other = inputs[&index][position];
        match call.op.body().map(|body| body.insts()) {
            Some(&[_, _, Inst::Binary(Binary::Mul, ..)]) => {
                factor = Some(combined(on, &MUL, factor, other)?);
                summand = scaled(on, &MUL, summand, other)?;
            }
            Some(&[_, _, Inst::Binary(Binary::Div, ..)]) => {
                factor = match factor {
                    Some(factor) => Some(on.call1(&DIV, &[factor, other])?),
                    None => Some(on.call1(&RECIPROCAL, &[other])?),
                };
                summand = scaled(on, &DIV, summand, other)?;
            }
            Some(&[_, _, Inst::Binary(Binary::Sub, ..)]) => {
                summand = match summand {
                    Some(summand) => Some(on.call1(&SUB, &[summand, other])?),
                    None => Some(on.call1(&NEG, &[other])?),
                };
            }
            _ => summand = Some(combined(on, &ADD, summand, other)?),
        }
        value = call.first_output;
    }
    let mut operands = inputs[&chain.calls[0]].clone();
    if let Some(factor) = factor {
        operands[chain.weight.input] =
            weighted(on, &chain.weight, operands[chain.weight.input], factor)?;
    }
    let types = block.output_types(first);
    let output: NewValues = on.push(first.op.clone(), &operands, types, first.loc);
    match summand {
        Some(summand) => on.call1(&ADD, &[output[0], summand]),
        None => Ok(output[0]),
    }
}

/// `a op b`, or `b` if there is no `a`.
fn combined(
    on: &mut Rewrite,
    op: impl Into<OpRef>,
    a: Option<ValueId>,
    b: ValueId,
) -> Result<ValueId> {
    a.map_or(Ok(b), |a| on.call1(op, &[a, b]))
}

/// `a op b`, if there is an `a`.
fn scaled(
    on: &mut Rewrite,
    op: impl Into<OpRef>,
    a: Option<ValueId>,
    b: ValueId,
) -> Result<Option<ValueId>> {
    a.map(|a| on.call1(op, &[a, b])).transpose()
}

/// The weight, each slice times the factor of its channel.
fn weighted(on: &mut Rewrite, at: &Weight, weight: ValueId, factor: ValueId) -> Result<ValueId> {
    let mut dims = vec![Dim::size(1); on.ty(weight).rank()];
    if on.ty(factor).numel() != Some(1) {
        dims[at.axis] = on.ty(weight).dim(at.axis);
    }
    let factor = on.call1(Reshape { dims }, &[factor])?;
    on.call1(&MUL, &[weight, factor])
}
