//! The program with its exchanges.

use std::collections::HashMap;
use std::sync::Arc;

use fluvial_core::{Block, Call, DType, OpRef, Result, Rewrite, ValueId, map_blocks};
use fluvial_data::Reader;
use fluvial_ops::control::ForEach;
use fluvial_ops::ranks::{Across, AllReduce, RankStream};
use smallvec::SmallVec;

use super::Distribution;
use super::facts::{Plan, draws_by_rank, takes_average};

/// The block as its plan says.
pub(super) fn rewritten(block: &Block, plan: &Plan, options: &Distribution) -> Result<Block> {
    let mut new: Vec<ValueId> = (0..block.n_params as ValueId).collect();
    new.resize(block.types.len(), ValueId::MAX);
    let on = Rewrite::new(block.param_types());
    let mut work = Work {
        block,
        plan,
        options,
        on,
        new,
        averages: HashMap::new(),
        streams: HashMap::new(),
        waiting: Vec::new(),
        is_first: true,
    };
    (0..block.n_params as ValueId).try_for_each(|id| work.defined(id))?;
    for (index, call) in block.calls.iter().enumerate() {
        work.call(index, call)?;
    }
    work.finish()
}

struct Work<'a> {
    block: &'a Block,
    plan: &'a Plan,
    options: &'a Distribution,
    on: Rewrite,
    /// By old value: the new one.
    new: Vec<ValueId>,
    /// By old value: its average.
    averages: HashMap<ValueId, ValueId>,
    /// By new value, a stream: that of the rank.
    streams: HashMap<ValueId, ValueId>,
    /// Old values that are to be averaged, in order.
    waiting: Vec<ValueId>,
    /// No bucket has been closed.
    is_first: bool,
}

impl Work<'_> {
    fn call(&mut self, index: usize, call: &Call) -> Result<()> {
        let averaged = |id: &ValueId| {
            self.plan.averaged.get(id).is_some_and(|&uses| takes_average(call, uses))
        };
        let takes: SmallVec<[bool; 8]> = call.inputs.iter().map(averaged).collect();
        let mut inputs: SmallVec<[ValueId; 8]> = SmallVec::new();
        for (&id, takes) in call.inputs.iter().zip(takes) {
            inputs.push(match takes {
                true => self.average(id)?,
                false => self.new[id as usize],
            });
        }
        self.on.set_loc(call.loc);
        let is_stream = |&id: &ValueId| self.plan.facts[id as usize].is_stream;
        if draws_by_rank(call, call.inputs.iter().any(is_stream)) {
            for (place, id) in call.inputs.iter().enumerate().filter(|(_, id)| is_stream(id)) {
                debug_assert_eq!(self.block.types[*id as usize].dtype(), DType::I64);
                inputs[place] = self.stream(inputs[place])?;
            }
        }
        let op = self.op(index, call)?;
        let types = self.block.output_types(call);
        let outputs = self.on.push(op, &inputs, types, call.loc);
        call.outputs().zip(outputs).for_each(|(old, value)| self.new[old as usize] = value);
        call.outputs().try_for_each(|id| self.defined(id))
    }

    /// The op, with what is inside of it rewritten.
    fn op(&self, index: usize, call: &Call) -> Result<OpRef> {
        let Some(plans) = self.plan.inner.get(&index) else { return Ok(call.op.clone()) };
        let blocks = call.op.blocks();
        let op = map_blocks(&call.op, &mut |inner| {
            let place = blocks.iter().position(|known| std::ptr::eq(&***known, inner));
            match place {
                Some(place) => rewritten(inner, &plans[place], self.options).map(Arc::new),
                None => Ok(Arc::new(inner.clone())),
            }
        })?;
        match op.downcast::<ForEach>() {
            Some(found) if self.plan.sharded.contains(&index) => {
                let reader = found.reader.parse::<Reader>()?.for_ranks();
                Ok(OpRef::new(ForEach { reader: reader.to_string().into(), ..found.clone() }))
            }
            _ => Ok(op),
        }
    }

    /// A value is there: it waits for its bucket if it is to be averaged.
    fn defined(&mut self, id: ValueId) -> Result<()> {
        if !self.plan.averaged.contains_key(&id) {
            return Ok(());
        }
        self.waiting.push(id);
        let ty = |id: ValueId| &self.block.types[id as usize];
        let dtype = ty(id).dtype();
        let alike = self.waiting.iter().filter(|&&other| ty(other).dtype() == dtype);
        let bytes: usize = alike.map(|&other| ty(other).numel().unwrap_or(0) * dtype.size()).sum();
        let most = if self.is_first { self.options.first_bucket } else { self.options.bucket };
        if bytes >= most { self.close(dtype) } else { Ok(()) }
    }

    /// Averages those of an element type that wait.
    fn close(&mut self, dtype: DType) -> Result<()> {
        let is_alike = |id: &ValueId| self.block.types[*id as usize].dtype() == dtype;
        let bucket: Vec<ValueId> = self.waiting.iter().copied().filter(is_alike).collect();
        self.waiting.retain(|id| !is_alike(id));
        let values: Vec<ValueId> = bucket.iter().map(|&id| self.new[id as usize]).collect();
        let Some(&last) = bucket.last() else { return Ok(()) };
        let made_by = self.block.calls.iter().find(|call| call.outputs().contains(&last));
        if let Some(call) = made_by {
            self.on.set_loc(call.loc);
        }
        self.is_first = false;
        let averages = self.on.call(AllReduce { how: Across::Mean }, &values)?;
        self.averages.extend(bucket.into_iter().zip(averages));
        Ok(())
    }

    fn average(&mut self, id: ValueId) -> Result<ValueId> {
        if !self.averages.contains_key(&id) {
            self.close(self.block.types[id as usize].dtype())?;
        }
        Ok(self.averages.get(&id).copied().unwrap_or(self.new[id as usize]))
    }

    /// The stream from which this rank draws.
    fn stream(&mut self, stream: ValueId) -> Result<ValueId> {
        if let Some(&own) = self.streams.get(&stream) {
            return Ok(own);
        }
        let own = self.on.call1(RankStream {}, &[stream])?;
        self.streams.insert(stream, own);
        Ok(own)
    }

    fn finish(mut self) -> Result<Block> {
        let mut results = Vec::new();
        for (place, &id) in self.block.results.iter().enumerate() {
            let is_averaged = self.plan.results.get(place) == Some(&true);
            results.push(if is_averaged { self.average(id)? } else { self.new[id as usize] });
        }
        for (&id, name) in &self.block.names {
            self.on.name(self.new[id as usize], name);
        }
        Ok(self.on.finish(results))
    }
}
