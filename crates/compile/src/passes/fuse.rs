//! Makes one op of elementwise ops that feed one another.
//!
//! An op joins the cluster of the ops that use it if they are all in it, if it computes in the same type and
//! passes its result on without rounding, and if it has the shape of the result or one element. So nothing is
//! computed twice per element, and the bits are those of the single ops.

use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use fluvial_core::structural::Expand;
use fluvial_core::{Block, Call, DType, NewValues, Op, OpRef, Result, Rewrite, Type, ValueId};
use fluvial_kernels::{Body, Inst};
use smallvec::SmallVec;

use crate::driver::Patches;
use crate::fused::{Fused, Scalar};

/// The most operands of a cluster: each is a stream of memory.
const MAX_INPUTS: usize = 24;
/// The most ops of a cluster.
const MAX_MEMBERS: usize = 128;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let clusters = clusters(block);
    // By call: its inputs in the numbers of the new block.
    let mut inputs: Vec<SmallVec<[ValueId; 4]>> = Vec::with_capacity(block.calls.len());
    block.rewrite(|on, index, call| {
        inputs.push(call.inputs.clone());
        let Some(members) = &clusters[index] else { return Ok(None) };
        if !patches.allowed() {
            return Ok(None);
        }
        let fused = fuse(on, block, members, &inputs, call)?;
        if fused.is_some() {
            let names: Vec<&str> = members.iter().map(|&i| block.calls[i].op.name()).collect();
            patches.add(call.loc, || format!("fused {}", names.join(", ")));
        }
        Ok(fused)
    })
}

/// By call: the members, in order, of the cluster whose result it computes.
fn clusters(block: &Block) -> Vec<Option<Vec<usize>>> {
    let graph = Graph::of(block);
    let mut taken = vec![false; block.calls.len()];
    let mut clusters = vec![None; block.calls.len()];
    for root in (0..block.calls.len()).rev() {
        if taken[root] || graph.compute[root].is_none() {
            continue;
        }
        let members = graph.cluster(root, &taken);
        if members.len() > 1 {
            members.iter().for_each(|&i| taken[i] = true);
            clusters[root] = Some(members.into_iter().collect());
        }
    }
    clusters
}

/// What is to be known of the calls of a block.
struct Graph<'a> {
    block: &'a Block,
    /// By call: the type in which it computes, if it is elementwise.
    compute: Vec<Option<DType>>,
    /// By value: the call that defines it.
    definition: Vec<Option<usize>>,
    /// By value: the calls that use it; none at all if it is also a result of the block.
    users: Vec<Option<SmallVec<[usize; 4]>>>,
}

impl Graph<'_> {
    fn of(block: &Block) -> Graph<'_> {
        let mut definition = vec![None; block.types.len()];
        let mut users = vec![Some(SmallVec::new()); block.types.len()];
        for (index, call) in block.calls.iter().enumerate() {
            call.outputs().for_each(|id| definition[id as usize] = Some(index));
            for &id in &call.inputs {
                if let Some(users) = &mut users[id as usize] {
                    users.push(index);
                }
            }
        }
        block.results.iter().for_each(|&id| users[id as usize] = None);
        let compute = block.calls.iter().map(|call| compute_type(block, call)).collect();
        Graph { block, compute, definition, users }
    }

    fn output(&self, call: usize) -> ValueId {
        self.block.calls[call].first_output
    }

    fn ty(&self, call: usize) -> &Type {
        &self.block.types[self.output(call) as usize]
    }

    /// The calls that can be computed together with `root`.
    fn cluster(&self, root: usize, taken: &[bool]) -> BTreeSet<usize> {
        let mut members = BTreeSet::from([root]);
        let mut operands: BTreeSet<ValueId> =
            self.block.calls[root].inputs.iter().copied().collect();
        // The last ones first: all who use them have been decided on then.
        let mut candidates: BinaryHeap<usize> = self.producers(root).collect();
        while let Some(call) = candidates.pop() {
            if members.contains(&call) || taken[call] || !self.joins(call, root, &members) {
                continue;
            }
            let mut widened = operands.clone();
            widened.remove(&self.output(call));
            widened.extend(self.block.calls[call].inputs.iter().copied());
            if widened.len() > MAX_INPUTS || members.len() >= MAX_MEMBERS {
                continue;
            }
            operands = widened;
            members.insert(call);
            candidates.extend(self.producers(call));
        }
        members
    }

    fn producers(&self, call: usize) -> impl Iterator<Item = usize> {
        self.block.calls[call].inputs.iter().filter_map(|&id| self.definition[id as usize])
    }

    fn joins(&self, call: usize, root: usize, members: &BTreeSet<usize>) -> bool {
        let Some(compute) = self.compute[call] else { return false };
        let (ty, root_ty) = (self.ty(call), self.ty(root));
        let exact = ty.dtype() == compute || ty.dtype() == DType::Bool;
        let fits = ty.dims() == root_ty.dims() || ty.numel() == Some(1);
        let users = &self.users[self.output(call) as usize];
        Some(compute) == self.compute[root]
            && exact
            && fits
            && users.as_ref().is_some_and(|users| users.iter().all(|user| members.contains(user)))
    }
}

/// The type in which a call that applies a scalar expression computes.
fn compute_type(block: &Block, call: &Call) -> Option<DType> {
    let properties = call.op.properties();
    if !properties.elementwise || properties.effect || properties.random || call.n_outputs != 1 {
        return None;
    }
    call.op.body()?;
    let types: SmallVec<[&Type; 4]> =
        call.inputs.iter().map(|&id| &block.types[id as usize]).collect();
    call.op.body_dtype(&types)
}

/// Writes the op that computes all members.
fn fuse(
    on: &mut Rewrite,
    block: &Block,
    members: &[usize],
    new_inputs: &[SmallVec<[ValueId; 4]>],
    root: &Call,
) -> Result<Option<NewValues>> {
    let mut insts: Vec<Inst> = Vec::new();
    let mut inputs: Vec<ValueId> = Vec::new();
    let mut leaves: HashMap<ValueId, u16> = HashMap::new();
    // By value of the old block: the instruction that computes it.
    let mut computed: HashMap<ValueId, u16> = HashMap::new();
    for &index in members {
        let call = &block.calls[index];
        let Some(body) = call.op.body() else { return Ok(None) };
        let params = call.op.body_params();
        let mut operands: SmallVec<[u16; 4]> = SmallVec::new();
        for (old, &new) in call.inputs.iter().zip(&new_inputs[index]) {
            operands.push(match computed.get(old).or_else(|| leaves.get(&new)) {
                Some(&inst) => inst,
                None => {
                    insts.push(leaf(on, new, &mut inputs));
                    leaves.insert(new, insts.len() as u16 - 1);
                    insts.len() as u16 - 1
                }
            });
        }
        let result = inline(body, &params, &operands, &mut insts);
        computed.insert(call.first_output, result);
    }
    let (Some(compute), Ok(n_inputs)) = (compute_of(on, root), u8::try_from(inputs.len())) else {
        return Ok(None);
    };
    let Ok(body) = Body::from_insts(n_inputs, 0, &insts) else { return Ok(None) };
    let result = block.output_types(root)[0];
    let op = Fused { body: Scalar(Arc::new(body)), compute, dtype: result.dtype() };
    // The op broadcasts by itself. Without axes that only constants or broadcasting have, its result may
    // have lost them.
    let short: Vec<ValueId> = inputs.iter().map(|&id| unexpanded(on, id)).collect();
    let fits = |inputs: &[ValueId]| {
        let given: Vec<&Type> = inputs.iter().map(|&id| on.ty(id)).collect();
        !inputs.is_empty() && op.infer(&given).is_ok_and(|types| types[..] == [result])
    };
    let inputs = match () {
        () if fits(&short) => short,
        () if fits(&inputs) => inputs,
        () => return Ok(None),
    };
    Ok(Some(on.push(OpRef::new(op), &inputs, &[result], root.loc)))
}

fn compute_of(on: &Rewrite, call: &Call) -> Option<DType> {
    let types: SmallVec<[&Type; 4]> = call.inputs.iter().map(|&id| on.ty(id)).collect();
    call.op.body_dtype(&types)
}

/// The instruction for a value from outside: a number if it is known, else an input.
fn leaf(on: &Rewrite, value: ValueId, inputs: &mut Vec<ValueId>) -> Inst {
    // Not all integers beyond this can be told from their neighbours.
    let is_exact = |number: &f64| number.abs() <= (1u64 << 53) as f64 || on.ty(value).is_float();
    match on.uniform(value).filter(is_exact) {
        Some(number) => Inst::Const(number),
        None => {
            inputs.push(value);
            Inst::Input(inputs.len() as u8 - 1)
        }
    }
}

/// The value behind broadcasting, which the fused op does by itself.
fn unexpanded(on: &Rewrite, value: ValueId) -> ValueId {
    let expanded = on.producer(value).filter(|call| call.op.downcast::<Expand>().is_some());
    expanded.map_or(value, |call| unexpanded(on, call.inputs[0]))
}

/// Adds the instructions of a body on these operands; the last one is its result.
fn inline(body: &Body, params: &[f64], operands: &[u16], insts: &mut Vec<Inst>) -> u16 {
    let mut placed: Vec<u16> = Vec::with_capacity(body.insts().len());
    for &inst in body.insts() {
        placed.push(match inst {
            Inst::Input(k) => operands[k as usize],
            Inst::Param(k) => {
                insts.push(Inst::Const(params[k as usize]));
                insts.len() as u16 - 1
            }
            other => {
                insts.push(other.map_operands(|operand| placed[operand as usize]));
                insts.len() as u16 - 1
            }
        });
    }
    placed.last().copied().unwrap_or_default()
}
