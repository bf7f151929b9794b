//! Makes one op of elementwise ops that feed one another.
//!
//! An op joins the cluster of an op that uses it if it computes in the same type and passes its result on
//! without rounding, and if it has the shape of the result, or one element and no other use. So nothing is
//! computed twice per element, and the bits are those of the single ops. What is used elsewhere, too, is one
//! more result of the cluster, provided that all who use it can wait until the cluster is computed.

use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use fluvial_core::structural::{Constant, Expand};
use fluvial_core::{Block, Call, DType, NewValues, Op, OpRef, Result, Rewrite, Type, ValueId};
use fluvial_kernels::{Body, Inst};
use smallvec::SmallVec;

use crate::driver::Patches;
use crate::fused::{Fused, Scalar};

/// The most operands of a cluster: each is a stream of memory.
const MAX_INPUTS: usize = 24;
/// The most ops of a cluster.
const MAX_MEMBERS: usize = 128;
/// The most results of a cluster.
const MAX_RESULTS: usize = 8;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let clusters = Clusters::of(block);
    let mut on = Rewrite::new(block.param_types());
    let mut new: Vec<ValueId> = (0..block.n_params as ValueId).collect();
    new.resize(block.types.len(), ValueId::MAX);
    for index in 0..=block.calls.len() {
        for cluster in clusters.all.iter().filter(|cluster| cluster.at == index) {
            write(&mut on, block, cluster, &mut new, patches)?;
        }
        match block.calls.get(index) {
            Some(call) if clusters.of_call[index].is_none() => on.copy(block, call, &mut new),
            _ => {}
        }
    }
    Ok(on.finish_like(block, &new))
}

/// Writes a cluster: as one op if that is possible and allowed.
fn write(
    on: &mut Rewrite,
    block: &Block,
    cluster: &Cluster,
    new: &mut [ValueId],
    patches: &mut Patches,
) -> Result<()> {
    let fused = match patches.allowed() {
        true => fuse(on, block, cluster, new)?,
        false => None,
    };
    let Some(values) = fused else {
        cluster.members.iter().for_each(|&i| on.copy(block, &block.calls[i], new));
        return Ok(());
    };
    for (&member, value) in cluster.results.iter().zip(values) {
        new[block.calls[member].first_output as usize] = value;
    }
    let names: Vec<&str> = cluster.members.iter().map(|&i| block.calls[i].op.name()).collect();
    let last = cluster.members[cluster.members.len() - 1];
    patches.add(block.calls[last].loc, || format!("fused {}", names.join(", ")));
    Ok(())
}

/// Which calls become one.
struct Clusters {
    all: Vec<Cluster>,
    /// By call: the cluster it belongs to.
    of_call: Vec<Option<usize>>,
}

/// Calls that become one.
struct Cluster {
    /// In order.
    members: Vec<usize>,
    /// Those whose outputs others use, the last member last.
    results: Vec<usize>,
    /// The call before which the cluster is computed.
    at: usize,
}

impl Clusters {
    fn of(block: &Block) -> Clusters {
        let graph = Graph::of(block);
        let mut clusters = Clusters { all: Vec::new(), of_call: vec![None; block.calls.len()] };
        for root in (0..block.calls.len()).rev() {
            if clusters.of_call[root].is_some() || graph.compute[root].is_none() {
                continue;
            }
            let members = graph.cluster(root, &clusters);
            if members.len() < 2 {
                continue;
            }
            let at = graph.span(&members, &clusters).at();
            let results =
                members.iter().copied().filter(|&i| graph.is_result(i, &members)).collect();
            members.iter().for_each(|&i| clusters.of_call[i] = Some(clusters.all.len()));
            clusters.all.push(Cluster { members: members.into_iter().collect(), results, at });
        }
        clusters
    }
}

/// What is to be known of the calls of a block.
struct Graph<'a> {
    block: &'a Block,
    /// By call: the type in which it computes, if it is elementwise.
    compute: Vec<Option<DType>>,
    /// By value: the call that defines it.
    definition: Vec<Option<usize>>,
    /// By value: the calls that use it.
    users: Vec<SmallVec<[usize; 4]>>,
    /// By value: whether the block returns it.
    returned: Vec<bool>,
}

/// When a cluster can be computed. Times are counted twice: call `i` takes place at `2 i + 1`, a cluster
/// before it at `2 i`.
struct Span {
    /// When the last of what it takes is there.
    ready: Option<usize>,
    /// When others first take something from it.
    due: usize,
}

impl Span {
    /// The call before which it is computed.
    fn at(&self) -> usize {
        self.ready.map_or(0, |ready| ready / 2 + 1)
    }

    fn is_possible(&self) -> bool {
        2 * self.at() < self.due
    }
}

impl Graph<'_> {
    fn of(block: &Block) -> Graph<'_> {
        let mut definition = vec![None; block.types.len()];
        let mut users = vec![SmallVec::new(); block.types.len()];
        for (index, call) in block.calls.iter().enumerate() {
            call.outputs().for_each(|id| definition[id as usize] = Some(index));
            call.inputs.iter().for_each(|&id| users[id as usize].push(index));
        }
        let mut returned = vec![false; block.types.len()];
        block.results.iter().for_each(|&id| returned[id as usize] = true);
        let compute = block.calls.iter().map(|call| compute_type(block, call)).collect();
        Graph { block, compute, definition, users, returned }
    }

    fn output(&self, call: usize) -> usize {
        self.block.calls[call].first_output as usize
    }

    fn ty(&self, call: usize) -> &Type {
        &self.block.types[self.output(call)]
    }

    /// The calls that can be computed together with `root`.
    fn cluster(&self, root: usize, clusters: &Clusters) -> BTreeSet<usize> {
        let mut members = BTreeSet::from([root]);
        // The last ones first: most who use them have been decided on then.
        let mut candidates: BinaryHeap<usize> = self.producers(root).collect();
        while let Some(call) = candidates.pop() {
            let is_taken = members.contains(&call) || clusters.of_call[call].is_some();
            if is_taken || !self.fits(call, root) {
                continue;
            }
            members.insert(call);
            if self.is_too_large(&members) || !self.can_wait(call, root, &members, clusters) {
                members.remove(&call);
                continue;
            }
            candidates.extend(self.producers(call));
        }
        members
    }

    fn producers(&self, call: usize) -> impl Iterator<Item = usize> {
        self.block.calls[call].inputs.iter().filter_map(|&id| self.definition[id as usize])
    }

    /// Whether the call computes like the root.
    fn fits(&self, call: usize, root: usize) -> bool {
        let Some(compute) = self.compute[call] else { return false };
        let (ty, root_ty) = (self.ty(call), self.ty(root));
        let exact = ty.dtype() == compute || ty.dtype() == DType::Bool;
        let shaped = ty.dims() == root_ty.dims() || ty.numel() == Some(1);
        Some(compute) == self.compute[root] && exact && shaped
    }

    /// Whether all who use the call from outside can wait for the whole cluster.
    fn can_wait(
        &self,
        call: usize,
        root: usize,
        members: &BTreeSet<usize>,
        clusters: &Clusters,
    ) -> bool {
        let is_result = self.is_result(call, members);
        let shaped = self.ty(call).dims() == self.ty(root).dims();
        (shaped || !is_result) && self.span(members, clusters).is_possible()
    }

    /// Whether the output of a call will be a number of the expression.
    fn is_number(&self, call: usize) -> bool {
        let op = &self.block.calls[call].op;
        let constant = op.downcast::<Constant>();
        op.uniform().is_some()
            || constant
                .is_some_and(|Constant { value }| value.numel() == 1 && !value.dtype().is_complex())
    }

    /// Whether others use the output of a member.
    fn is_result(&self, call: usize, members: &BTreeSet<usize>) -> bool {
        let output = self.output(call);
        self.returned[output] || self.users[output].iter().any(|user| !members.contains(user))
    }

    fn span(&self, members: &BTreeSet<usize>, clusters: &Clusters) -> Span {
        let outside = |call: &usize| !members.contains(call);
        let time = |call: usize| match clusters.of_call[call] {
            Some(cluster) => 2 * clusters.all[cluster].at,
            None => 2 * call + 1,
        };
        let sources = members.iter().flat_map(|&i| self.producers(i)).filter(outside);
        let users = members.iter().flat_map(|&i| self.users[self.output(i)].iter().copied());
        Span {
            ready: sources.map(time).max(),
            due: users.filter(outside).map(time).min().unwrap_or(usize::MAX),
        }
    }

    fn is_too_large(&self, members: &BTreeSet<usize>) -> bool {
        let inputs = members.iter().flat_map(|&i| self.block.calls[i].inputs.iter());
        let is_operand = |id: &ValueId| match self.definition[*id as usize] {
            Some(call) => !members.contains(&call) && !self.is_number(call),
            None => true,
        };
        let outside: BTreeSet<ValueId> = inputs.copied().filter(is_operand).collect();
        let n_results = members.iter().filter(|&&i| self.is_result(i, members)).count();
        outside.len() > MAX_INPUTS || n_results > MAX_RESULTS || members.len() > MAX_MEMBERS
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
    cluster: &Cluster,
    new: &[ValueId],
) -> Result<Option<NewValues>> {
    let mut insts: Vec<Inst> = Vec::new();
    let mut inputs: Vec<ValueId> = Vec::new();
    let mut leaves: HashMap<ValueId, u16> = HashMap::new();
    // By value of the old block: the instruction that computes it.
    let mut computed: HashMap<ValueId, u16> = HashMap::new();
    for &index in &cluster.members {
        let call = &block.calls[index];
        let Some(body) = call.op.body() else { return Ok(None) };
        let params = call.op.body_params();
        let mut operands: SmallVec<[u16; 4]> = SmallVec::new();
        for old in &call.inputs {
            let outside = new[*old as usize];
            operands.push(match computed.get(old).or_else(|| leaves.get(&outside)) {
                Some(&inst) => inst,
                None => {
                    insts.push(leaf(on, outside, &mut inputs));
                    leaves.insert(outside, insts.len() as u16 - 1);
                    insts.len() as u16 - 1
                }
            });
        }
        let result = inline(body, &params, &operands, &mut insts);
        computed.insert(call.first_output, result);
    }
    let root = &block.calls[cluster.members[cluster.members.len() - 1]];
    let results = cluster.results.iter().map(|&i| block.calls[i].first_output);
    let types: Vec<Type> = results.clone().map(|id| block.types[id as usize]).collect();
    let results: Vec<u16> = results.map(|id| computed[&id]).collect();
    let (Some(compute), Ok(n_inputs)) = (compute_type(block, root), u8::try_from(inputs.len()))
    else {
        return Ok(None);
    };
    let Ok(body) = Body::from_parts(n_inputs, 0, &insts, &results) else { return Ok(None) };
    let dtypes = types.iter().map(Type::dtype).collect();
    let op = Fused { body: Scalar(Arc::new(body)), compute, dtypes };
    // The op broadcasts by itself. Without axes that only constants or broadcasting have, its result may
    // have lost them.
    let short: Vec<ValueId> = inputs.iter().map(|&id| unexpanded(on, id)).collect();
    let fits = |inputs: &[ValueId]| {
        let given: Vec<&Type> = inputs.iter().map(|&id| on.ty(id)).collect();
        !inputs.is_empty() && op.infer(&given).is_ok_and(|found| found[..] == types[..])
    };
    let inputs = match () {
        () if fits(&short) => short,
        () if fits(&inputs) => inputs,
        () => return Ok(None),
    };
    let calls: Vec<(&Call, &[Type])> = cluster
        .members
        .iter()
        .map(|&i| &block.calls[i])
        .map(|call| (call, block.output_types(call)))
        .collect();
    let results: Vec<ValueId> =
        cluster.results.iter().map(|&i| block.calls[i].first_output).collect();
    let resolve = |old: ValueId| (!computed.contains_key(&old)).then(|| new[old as usize]);
    let twin = on.twin(&inputs, &calls, &results, &block.names, &resolve);
    let outputs = on.push(OpRef::new(op), &inputs, &types, root.loc);
    on.set_twin(twin);
    Ok(Some(outputs))
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
