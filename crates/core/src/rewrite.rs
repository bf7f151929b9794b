//! Rewriting blocks: what passes, and the `simplify` of ops, are written with.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result, Tensor, Type};
use smallvec::SmallVec;

use crate::block::{Block, Call, ValueId};
use crate::op::OpRef;
use crate::structural::Constant;

/// The values that stand for the outputs of a call.
pub type NewValues = SmallVec<[ValueId; 1]>;

/// A block while it is written anew, call by call. What has been written can be looked at.
pub struct Rewrite {
    block: Block,
    /// By value: the call that defines it; none for parameters.
    definitions: Vec<Option<u32>>,
    loc: Loc,
}

impl Rewrite {
    /// A block of these parameters, without calls.
    pub fn new(params: &[Type]) -> Rewrite {
        let block = Block { types: params.to_vec(), n_params: params.len(), ..Block::default() };
        Rewrite { block, definitions: vec![None; params.len()], loc: Loc::Unknown }
    }

    /// Says on behalf of which line the next calls are written.
    pub fn set_loc(&mut self, loc: Loc) {
        self.loc = loc;
    }

    /// The number of values so far, which is that of the next one.
    pub fn n_values(&self) -> usize {
        self.block.types.len()
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self.block.types[value as usize]
    }

    /// The call that computes a value; none for parameters of the block.
    pub fn producer(&self, value: ValueId) -> Option<&Call> {
        let index = *self.definitions.get(value as usize)?;
        self.block.calls.get(index? as usize)
    }

    /// The tensor behind a value that is a constant.
    pub fn constant(&self, value: ValueId) -> Option<&Tensor> {
        self.producer(value)?.op.downcast::<Constant>().map(|constant| &constant.value)
    }

    /// The number that all elements of a value are, if that is known.
    pub fn uniform(&self, value: ValueId) -> Option<f64> {
        let call = self.producer(value)?;
        if let Some(constant) = self.constant(value) {
            let is_one = constant.numel() == 1 && !constant.dtype().is_complex();
            return is_one.then(|| constant.to_f64s()[0]);
        }
        match call.op.properties().view && call.n_outputs == 1 {
            true => self.uniform(*call.inputs.first()?),
            false => call.op.uniform(),
        }
    }

    /// Writes a call whose types are inferred; an error if the op does not take its inputs, or if a
    /// size of its outputs is known only when it runs.
    pub fn call(&mut self, op: impl Into<OpRef>, inputs: &[ValueId]) -> Result<NewValues> {
        let op = op.into();
        op.arity().check(op.name(), inputs.len())?;
        let types: SmallVec<[Type; 4]> = inputs.iter().map(|&id| *self.ty(id)).collect();
        let refs: SmallVec<[&Type; 4]> = types.iter().collect();
        let outs = crate::op::inferred(&*op, &refs)
            .map_err(|error| error.in_op(op.name(), &refs).at(self.loc))?;
        if outs.iter().any(is_open) {
            return Err(Error::program("a size of the output is known only when the op runs"));
        }
        Ok(self.push(op, inputs, &outs, self.loc))
    }

    /// Writes a call with one output.
    pub fn call1(&mut self, op: impl Into<OpRef>, inputs: &[ValueId]) -> Result<ValueId> {
        match self.call(op, inputs)?[..] {
            [value] => Ok(value),
            _ => Err(Error::internal("`call1` needs an op with exactly one output")),
        }
    }

    /// Writes a call whose outputs have these types.
    pub fn push(&mut self, op: OpRef, inputs: &[ValueId], outs: &[Type], loc: Loc) -> NewValues {
        let first_output = self.block.types.len() as ValueId;
        let index = self.block.calls.len() as u32;
        self.block.types.extend_from_slice(outs);
        self.definitions.resize(self.block.types.len(), Some(index));
        let n_outputs = outs.len();
        let call = Call { op, inputs: inputs.into(), first_output, n_outputs, loc, twin: None };
        let outputs = call.outputs().collect();
        self.block.calls.push(call);
        outputs
    }

    /// Writes a call of the same op as `call`, on behalf of the same line and the same calls.
    pub fn push_like(&mut self, call: &Call, inputs: &[ValueId], outs: &[Type]) -> NewValues {
        let outputs = self.push(call.op.clone(), inputs, outs, call.loc);
        self.set_twin(call.twin.clone());
        outputs
    }

    /// Says which calls the last call was made of.
    pub fn set_twin(&mut self, twin: Option<Arc<Block>>) {
        if let Some(call) = self.block.calls.last_mut() {
            call.twin = twin;
        }
    }

    /// The calls that an op with these inputs will stand for, as a block of its own: `calls`, which have been
    /// written nowhere yet, and what was written before that they need besides. `resolve` says for an input of
    /// theirs what it is here; nothing for outputs of one another. Results and names are of outputs of `calls`. Nothing if
    /// more than the inputs is needed.
    pub fn twin(
        &self,
        inputs: &[ValueId],
        calls: &[(&Call, &[Type])],
        results: &[ValueId],
        names: &BTreeMap<ValueId, Arc<str>>,
        resolve: &dyn Fn(ValueId) -> Option<ValueId>,
    ) -> Option<Arc<Block>> {
        let types: SmallVec<[Type; 8]> = inputs.iter().map(|&id| *self.ty(id)).collect();
        let mut twin = Rewrite::new(&types);
        let mut known: HashMap<ValueId, ValueId> = inputs.iter().copied().zip(0..).collect();
        let mut made: HashMap<ValueId, ValueId> = HashMap::new();
        for (call, outs) in calls {
            let mut operands: SmallVec<[ValueId; 4]> = SmallVec::new();
            for &input in &call.inputs {
                operands.push(match (made.get(&input), resolve(input)) {
                    (Some(&made), None) => made,
                    (_, Some(outside)) => self.bring(outside, &mut twin, &mut known)?,
                    (None, None) => return None,
                });
            }
            let outputs = twin.push_like(call, &operands, outs);
            for (old, value) in call.outputs().zip(outputs) {
                made.insert(old, value);
                if let Some(name) = names.get(&old) {
                    twin.name(value, name);
                }
            }
        }
        let results = results.iter().map(|id| made.get(id).copied()).collect::<Option<_>>()?;
        Some(Arc::new(twin.finish(results)))
    }

    /// Copies what computes a value into `twin`; `known` has the values that are there. A parameter of this block
    /// cannot be copied.
    fn bring(
        &self,
        value: ValueId,
        twin: &mut Rewrite,
        known: &mut HashMap<ValueId, ValueId>,
    ) -> Option<ValueId> {
        if let Some(&id) = known.get(&value) {
            return Some(id);
        }
        let call = self.producer(value)?;
        let operands: Option<SmallVec<[ValueId; 4]>> =
            call.inputs.iter().map(|&input| self.bring(input, twin, known)).collect();
        let outputs = twin.push_like(call, &operands?, self.block.output_types(call));
        known.extend(call.outputs().zip(outputs));
        known.get(&value).copied()
    }

    /// Writes a call of `block` as it is; `new` has the new numbers of its values, also of the outputs
    /// afterwards.
    pub fn copy(&mut self, block: &Block, call: &Call, new: &mut [ValueId]) {
        let inputs: SmallVec<[ValueId; 4]> =
            call.inputs.iter().map(|&id| new[id as usize]).collect();
        let outputs = self.push_like(call, &inputs, block.output_types(call));
        call.outputs().zip(outputs).for_each(|(old, value)| new[old as usize] = value);
    }

    /// The block that returns what `block` does, under the names that it has; `new` has the new numbers of
    /// its values.
    pub fn finish_like(mut self, block: &Block, new: &[ValueId]) -> Block {
        for (&id, name) in block.names.iter().filter(|(id, _)| new[**id as usize] != ValueId::MAX) {
            self.name(new[id as usize], name);
        }
        self.finish(block.results.iter().map(|&id| new[id as usize]).collect())
    }

    /// Names a value for listings, unless it has a name.
    pub fn name(&mut self, value: ValueId, name: &Arc<str>) {
        self.block.names.entry(value).or_insert_with(|| name.clone());
    }

    /// The block, which returns these values.
    pub fn finish(self, results: Vec<ValueId>) -> Block {
        Block { results, ..self.block }
    }
}

/// Whether `infer` left a size open.
fn is_open(ty: &Type) -> bool {
    ty.dims().iter().any(|dim| dim.fresh_index().is_some())
}

impl Block {
    /// Writes the block anew. `f` sees each call, with the new numbers of its inputs, and writes
    /// others in its place or, by returning nothing, leaves it as it is.
    pub fn rewrite(
        &self,
        mut f: impl FnMut(&mut Rewrite, usize, &Call) -> Result<Option<NewValues>>,
    ) -> Result<Block> {
        self.check_form()?;
        let mut on = Rewrite::new(self.param_types());
        let mut new: Vec<ValueId> = (0..self.n_params as ValueId).collect();
        new.resize(self.types.len(), ValueId::MAX);
        for (index, call) in self.calls.iter().enumerate() {
            let inputs = call.inputs.iter().map(|&id| new[id as usize]).collect();
            let moved = Call { inputs, ..call.clone() };
            on.set_loc(call.loc);
            let types = self.output_types(call);
            let outputs = match f(&mut on, index, &moved)? {
                Some(outputs) => {
                    let same = outputs.len() == types.len()
                        && outputs.iter().zip(types).all(|(&id, ty)| on.ty(id) == ty);
                    if !same {
                        return Err(Error::internal(format!(
                            "what stands for `{}` has other types",
                            call.op.name()
                        ))
                        .at(call.loc));
                    }
                    outputs
                }
                None => on.push_like(call, &moved.inputs, types),
            };
            call.outputs().zip(outputs).for_each(|(old, value)| new[old as usize] = value);
        }
        Ok(on.finish_like(self, &new))
    }

    /// The calls for which `keep` holds. The values `given`, which the others define, are further
    /// parameters; what the others define besides must not be used.
    pub fn select(&self, given: &[ValueId], mut keep: impl FnMut(usize) -> bool) -> Result<Block> {
        self.check_form()?;
        let given_types = given.iter().map(|&id| self.types[id as usize]);
        let params: Vec<Type> = self.param_types().iter().copied().chain(given_types).collect();
        let mut on = Rewrite::new(&params);
        let mut new: Vec<ValueId> = vec![ValueId::MAX; self.types.len()];
        let all_params = (0..self.n_params as ValueId).chain(given.iter().copied());
        all_params.zip(0..).for_each(|(id, param)| new[id as usize] = param);
        for (index, call) in self.calls.iter().enumerate() {
            if !keep(index) {
                continue;
            }
            on.copy(self, call, &mut new);
        }
        Ok(on.finish_like(self, &new))
    }

    /// The block without those parameters for which `keep` does not hold, and without the calls that depend on
    /// them. No result does.
    pub fn keeping_params(&self, mut keep: impl FnMut(usize) -> bool) -> Result<Block> {
        self.check_form()?;
        let kept: Vec<usize> = (0..self.n_params).filter(|&i| keep(i)).collect();
        let mut on = Rewrite::new(&kept.iter().map(|&i| self.types[i]).collect::<Vec<_>>());
        let mut new = vec![ValueId::MAX; self.types.len()];
        kept.iter().enumerate().for_each(|(place, &i)| new[i] = place as ValueId);
        for call in &self.calls {
            if call.inputs.iter().all(|&id| new[id as usize] != ValueId::MAX) {
                on.copy(self, call, &mut new);
            }
        }
        if self.results.iter().any(|&id| new[id as usize] == ValueId::MAX) {
            return Err(Error::internal("a result depends on a parameter that is to go"));
        }
        Ok(on.finish_like(self, &new))
    }
}
