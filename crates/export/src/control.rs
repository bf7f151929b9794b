//! Loops and branches in C.

use std::sync::Arc;

use fluvial_core::{Block, Call, DType, Error, Result, Sizes, Type};

use crate::block::{Emit, Reuse, Walk};
use crate::device::Threads;
use crate::place::{Place, Root};

impl Emit<'_> {
    pub fn while_loop(
        &mut self,
        walk: &mut Walk<'_>,
        index: usize,
        call: &Call,
        n_carried: usize,
        keeps: bool,
    ) -> Result<()> {
        let inputs = walk.inputs(call)?;
        let body = inner(call, 0, &inputs[1..])?;
        let mut slots: Vec<Place> = Vec::new();
        for (k, input) in inputs[1..=n_carried].iter().enumerate() {
            let id = call.inputs[1 + k];
            if walk.can_take(id, index)? {
                slots.push(input.clone());
            } else {
                slots.push(self.copied(input, "carried")?);
            }
        }
        let mut outs = slots.clone();
        let types = walk.block.output_types(call);
        if keeps {
            let trips = self.buffer("trips", Type::scalar(DType::I64))?;
            self.clear_bytes(&self.pointer(trips.root), "sizeof(int64_t)");
            outs.push(trips);
            for ty in &types[1 + n_carried..] {
                outs.push(self.empty_list("kept", *ty)?);
            }
        }
        let go = self.names.fresh("go");
        self.ask(&go, &self.at(&inputs[0]), true);
        self.touch_all(&inputs);
        self.touch_all(&outs);
        self.to.open(&format!("while ({go}) {{"));
        self.open_loop();
        let captured = inputs[1 + n_carried..].iter().cloned();
        let params: Vec<Place> = slots.iter().cloned().chain(captured).collect();
        let goals: Vec<Option<Root>> =
            std::iter::once(None).chain(slots.iter().map(|slot| Some(slot.root))).collect();
        let results = self.block(&body, params, &goals)?;
        self.ask(&go, &self.at(&results[0]), false);
        for (list, value) in outs.iter().skip(1 + n_carried).zip(&results[1 + n_carried..]) {
            self.push(call, list, value)?;
        }
        if keeps {
            let line = format!("{}[0] += 1;", self.pointer(outs[n_carried].root));
            self.kernel_of(Threads::One, |emit| {
                emit.to.line(&line);
                Ok(())
            })?;
        }
        self.carry(&results[1..=n_carried], &slots)?;
        self.touch_all(&results);
        self.touch_all(&outs);
        self.touch_all(&inputs);
        self.close_loop();
        self.to.close(1);
        for ((id, place), ty) in call.outputs().zip(outs).zip(types) {
            walk.places[id as usize] = Some(Place { ty: *ty, ..place });
        }
        Ok(())
    }

    /// Brings results to where the next trip looks for them.
    fn carry(&mut self, results: &[Place], slots: &[Place]) -> Result<()> {
        let mut moves: Vec<(Place, &Place)> = Vec::new();
        for (result, slot) in results.iter().zip(slots) {
            if result.root != slot.root || !result.is_whole()? {
                moves.push((result.clone(), slot));
            }
        }
        let written: Vec<Root> = moves.iter().map(|(_, slot)| slot.root).collect();
        // What lies where another result goes is first put aside.
        for (result, _) in &mut moves {
            if written.contains(&result.root) {
                *result = self.copied(result, "aside")?;
            }
        }
        for (result, slot) in moves {
            self.copy(&result, slot)?;
        }
        Ok(())
    }

    pub fn cond(
        &mut self,
        walk: &mut Walk<'_>,
        index: usize,
        call: &Call,
        n_results: usize,
        lists: &[(usize, usize)],
    ) -> Result<()> {
        let inputs = walk.inputs(call)?;
        let outs = self.outputs(walk, index, Reuse::Never)?;
        for list in &outs[n_results..] {
            self.clear_list(list);
        }
        self.touch_all(&inputs);
        let at = self.at(&inputs[0]);
        if self.is_host_of_device() {
            let is = self.names.fresh("is");
            self.ask(&is, &at, true);
            self.to.open(&format!("if ({is}) {{"));
        } else {
            self.to.open(&format!("if ({at}[0]) {{"));
        }
        for branch in 0..2 {
            if branch == 1 {
                self.to.otherwise();
            }
            let block = inner(call, branch, &inputs[1..])?;
            let goals: Vec<Option<Root>> =
                outs[..n_results].iter().map(|out| Some(out.root)).collect();
            let results = self.block(&block, inputs[1..].to_vec(), &goals)?;
            for (result, out) in results.iter().zip(&outs[..n_results]) {
                if result.root != out.root || !result.is_whole()? {
                    self.copy(result, out)?;
                }
            }
            for (list, &(_, result)) in
                outs[n_results..].iter().zip(lists).filter(|(_, of)| of.0 == branch)
            {
                self.push(call, list, &results[result])?;
            }
            self.touch_all(&results);
        }
        self.to.close(1);
        self.touch_all(&outs);
        self.touch_all(&inputs);
        Ok(())
    }

    fn touch_all(&mut self, places: &[Place]) {
        places.iter().for_each(|place| self.touch(place.root));
    }
}

/// A block of an op, for arguments of known types.
fn inner(call: &Call, number: usize, args: &[Place]) -> Result<Arc<Block>> {
    let blocks = call.op.blocks();
    let block = blocks.get(number).ok_or_else(|| Error::internal("an op has lost its block"))?;
    if !block.is_symbolic() {
        return Ok((*block).clone());
    }
    let mut sizes = Sizes::default();
    for (declared, arg) in block.param_types().iter().zip(args) {
        sizes.unify(declared, &arg.ty)?;
    }
    Ok(Arc::new(block.substitute(&|symbol| sizes.get(symbol))?))
}
