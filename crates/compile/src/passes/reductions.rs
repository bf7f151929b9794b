//! Joins reductions with the elementwise op that computes what they reduce, which is then never stored.

use std::sync::Arc;

use fluvial_core::{Block, Call, Op, Result, Rewrite, Type};
use fluvial_kernels::{Body, Inst};
use smallvec::SmallVec;

use super::is_pure;
use crate::driver::Patches;
use crate::fused::Scalar;
use crate::fused_reduce::FusedReduce;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let uses = block.use_counts();
    let rewritten = block.rewrite(|on, index, call| {
        let old = &block.calls[index];
        let ([input], [out]) = (&old.inputs[..], block.output_types(old)) else { return Ok(None) };
        if uses[*input as usize] != 1 || !patches.allowed() {
            return Ok(None);
        }
        let Some(producer) = on.producer(call.inputs[0]) else { return Ok(None) };
        let Some(op) = joined(on, producer, call, out) else {
            return Ok(None);
        };
        patches
            .add(call.loc, || format!("joined `{}` with `{}`", call.op.name(), producer.op.name()));
        let inputs = producer.inputs.clone();
        let types = block.output_types(call);
        let twin = on.twin(&inputs, &[(call, types)], &[call.first_output], &block.names, &Some);
        let outputs = on.push(op.into(), &inputs, types, call.loc);
        on.set_twin(twin);
        Ok(Some(outputs))
    })?;
    // The elementwise ops by themselves.
    super::dead::run(&rewritten, patches)
}

/// The op that reduces what `producer` computes.
fn joined(on: &Rewrite, producer: &Call, call: &Call, out: &Type) -> Option<FusedReduce> {
    let properties = producer.op.properties();
    if !properties.elementwise || !is_pure(producer) || properties.random || producer.n_outputs != 1
    {
        return None;
    }
    let ty = on.ty(producer.first_output);
    let (kind, axes) = call.op.reduces(ty)?;
    let types: SmallVec<[&Type; 8]> = producer.inputs.iter().map(|&id| on.ty(id)).collect();
    // What has no inputs has no shape of its own.
    let compute = producer.op.body_dtype(&types).filter(|_| !types.is_empty())?;
    let op = FusedReduce {
        body: Scalar(Arc::new(with_numbers(producer.op.body()?, &producer.op.body_params())?)),
        compute,
        element: ty.dtype(),
        kind: kind.name().into(),
        axes: axes.to_vec(),
        dtype: out.dtype(),
        dims: out.dims().to_vec(),
    };
    (op.infer(&types).ok()?[..] == [*out]).then_some(op)
}

/// The body with its parameters worked in.
fn with_numbers(body: &Body, params: &[f64]) -> Option<Body> {
    let insts: Vec<Inst> = body
        .insts()
        .iter()
        .map(|&inst| match inst {
            Inst::Param(k) => Inst::Const(params[k as usize]),
            other => other,
        })
        .collect();
    Body::from_parts(u8::try_from(body.n_inputs()).ok()?, 0, &insts, body.results()).ok()
}
