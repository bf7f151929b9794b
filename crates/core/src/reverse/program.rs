//! The walk over the program being built. The gradient ops are appended to the block on top, also
//! those of ops in blocks below it, whose values it captures.

use std::collections::HashSet;

use fluvial_tensor::{Loc, Phase, Result, Type};
use smallvec::SmallVec;

use super::{GradOptions, Record, Sum, Trace, call_hooks, walk};
use crate::bind::judged;
use crate::block::ValueId;
use crate::grad::{Grad, Keeps};
use crate::op::OpRef;
use crate::scope;
use crate::structural;
use crate::tape::{Hook, Slot};
use crate::trace::{self, Frame, Lost, localise, name_fresh_sizes, with_frames};
use crate::var::Var;

pub(super) fn vjp(
    outputs: &[&Var],
    seeds: &[Var],
    wrt: &[&Var],
    options: GradOptions,
    is_leaf: bool,
    loc: Loc,
) -> Result<Vec<Option<Var>>> {
    let found = sums(outputs, seeds, wrt, &[], options, is_leaf, loc)?;
    Ok(found.into_iter().map(|sum| sum.map(|sum| sum.var)).collect())
}

/// The gradients, zero where a run does not get there, and whether it does where only it knows.
pub(super) fn sums(
    outputs: &[&Var],
    seeds: &[Var],
    wrt: &[&Var],
    constants: &[&Var],
    options: GradOptions,
    is_leaf: bool,
    loc: Loc,
) -> Result<Vec<Option<Sum>>> {
    let _recording = scope::record(options.create_graph);
    let seeds: Vec<Sum> = seeds.iter().cloned().map(Sum::certain).collect();
    let (cotangents, reached) =
        cotangents(outputs, &seeds, wrt, constants, &[], &[], is_leaf, Some(options), loc)?;
    let _line = scope::at(loc);
    let or_zero = |((cotangent, reached), var): ((Option<Sum>, bool), &&Var)| match cotangent {
        // Reached, but only through ops whose derivative is zero.
        None if reached => Ok(Some(Sum::certain(structural::zeros_like(var)?))),
        None => Ok(None),
        Some(sum) => {
            let present = sum.present.clone();
            Ok(Some(Sum { var: sum.or_zero()?, present }))
        }
    };
    cotangents.into_iter().zip(reached).zip(wrt).map(or_zero).collect()
}

/// The cotangents that ops on the way give, and whether the outputs depend on the values at all. With `options`, the lines take
/// a gradient here: it frees what it passes, and may not pass what another one has freed.
#[allow(clippy::too_many_arguments)]
pub(super) fn cotangents(
    outputs: &[&Var],
    seeds: &[Sum],
    wrt: &[&Var],
    constants: &[&Var],
    starts: &[Option<Sum>],
    same: &[(&Var, &Var)],
    is_leaf: bool,
    options: Option<GradOptions>,
    loc: Loc,
) -> Result<(Vec<Option<Sum>>, Vec<bool>)> {
    let mut listing = Listing::new(outputs, wrt);
    same.iter().for_each(|(one, other)| listing.identify(one, other));
    let mut output_slots = Vec::with_capacity(outputs.len());
    for output in outputs {
        if let Some(symbol) = trace::symbol_of(output)
            && listing.slot(output).is_none()
            && !symbol.constant
        {
            localise(output, loc)?;
        }
        output_slots.push(listing.slot(output));
    }
    let wanted: Vec<Option<usize>> = wrt.iter().map(|var| listing.slot(var)).collect();
    let passed_over = constants.iter().filter_map(|var| listing.slot(var));
    let passed_over: HashSet<usize> = passed_over.collect();
    listing.mark(&output_slots, &wanted, &passed_over);
    listing.refuse_messages(loc)?;
    listing.note_history(wrt, &wanted, is_leaf, loc);
    if let Some(options) = options.filter(|_| trace::follows_lines()) {
        listing.refuse_freed(&output_slots, &wanted, is_leaf, loc)?;
        listing.frees = !options.retain_graph && !options.create_graph;
    }

    let mut cotangents = vec![None; listing.n_slots];
    for (slot, start) in wanted.iter().zip(starts) {
        if let (Some(slot), Some(start)) = (*slot, start) {
            cotangents[slot] = Some(start.clone());
        }
    }
    for (slot, seed) in output_slots.iter().zip(seeds) {
        let Some(slot) = *slot else { continue };
        let _line = scope::at(loc);
        cotangents[slot] = Some(match cotangents[slot].take() {
            Some(sum) => Sum::plus(sum, seed.clone())?,
            None => seed.clone(),
        });
    }
    walk(&mut listing, &mut cotangents, &|slot| wanted.contains(&Some(slot)))?;

    let mut sources: Vec<usize> = wanted.iter().flatten().copied().collect();
    sources.sort_unstable();
    sources.dedup();
    for slot in sources {
        call_hooks(listing.source_hooks(slot), &mut cotangents[slot])?;
    }

    let is_reached = |slot: &Option<usize>| slot.is_some_and(|slot| listing.reached[slot]);
    let reached: Vec<bool> = wanted.iter().map(is_reached).collect();
    let found = wanted.iter().map(|slot| cotangents[(*slot).filter(|_| is_reached(slot))?].clone());
    Ok((found.collect(), reached))
}

/// The calls of the frames from the lowest that holds a wanted value up to the top one.
pub(super) struct Listing {
    lowest: usize,
    /// The frame that the lines stand in.
    top: usize,
    /// By frame and value: its slot. A captured value has the slot of what it captures.
    slots: Vec<Vec<usize>>,
    frame_ids: Vec<u64>,
    /// The calls, by frame and position, in order.
    pub(super) calls: Vec<(usize, usize)>,
    n_slots: usize,
    pub(super) depends: Vec<bool>,
    pub(super) reached: Vec<bool>,
    defined: Vec<bool>,
    /// Whether the walk frees what it passes.
    frees: bool,
}

impl Listing {
    fn new(outputs: &[&Var], wrt: &[&Var]) -> Listing {
        with_frames(|frames| {
            let home = frames.iter().rposition(|frame| !frame.is_nested()).unwrap_or(0);
            let level_of = |var: &&Var| {
                let symbol = trace::symbol_of(var)?;
                let level = frames.iter().position(|frame| frame.id == symbol.frame)?;
                Some(trace::origin(frames, home, level, symbol.id).0)
            };
            let top = frames.len().saturating_sub(1);
            let lowest = outputs.iter().chain(wrt).filter_map(level_of).min().unwrap_or(top);
            let mut listing = Listing {
                lowest,
                top,
                slots: Vec::new(),
                frame_ids: frames[lowest..].iter().map(|frame| frame.id).collect(),
                calls: Vec::new(),
                n_slots: 0,
                depends: Vec::new(),
                reached: Vec::new(),
                defined: Vec::new(),
                frees: false,
            };
            for (level, frame) in frames.iter().enumerate().skip(lowest) {
                listing.add(level, frame);
            }
            listing.depends = vec![false; listing.n_slots];
            listing.reached = vec![false; listing.n_slots];
            listing
        })
    }

    fn add(&mut self, level: usize, frame: &Frame) {
        let first = self.n_slots;
        let mut own: Vec<usize> = (first..first + frame.types.len()).collect();
        self.n_slots += own.len();
        self.defined.extend(frame.producers.iter().map(Option::is_some));
        if let Some(below) = self.slots.last() {
            for (outer, param) in &frame.captures {
                own[*param as usize] = below[outer.symbol_id() as usize];
            }
        }
        self.slots.push(own);
        self.calls.extend((0..frame.calls.len()).map(|call| (level, call)));
    }

    fn slot(&self, var: &Var) -> Option<usize> {
        let symbol = trace::symbol_of(var).filter(|symbol| !symbol.constant)?;
        let frame = self.frame_ids.iter().position(|&id| id == symbol.frame)?;
        self.slots[frame].get(symbol.id as usize).copied()
    }

    /// Lets one value count as another.
    fn identify(&mut self, one: &Var, other: &Var) {
        if let (Some(one), Some(other)) = (self.slot(one), self.slot(other)) {
            let all = self.slots.iter_mut().flatten();
            all.filter(|slot| **slot == one).for_each(|slot| *slot = other);
        }
    }

    pub(super) fn slot_of(&self, level: usize, id: ValueId) -> usize {
        self.slots[level - self.lowest][id as usize]
    }

    /// Finds what depends on the wanted values and what the outputs depend on, not by way of `constants`.
    fn mark(
        &mut self,
        outputs: &[Option<usize>],
        wanted: &[Option<usize>],
        constants: &HashSet<usize>,
    ) {
        let counts = |slot: &usize| !constants.contains(slot);
        for slot in wanted.iter().flatten().filter(|slot| counts(slot)) {
            self.depends[*slot] = true;
        }
        for slot in outputs.iter().flatten().filter(|slot| counts(slot)) {
            self.reached[*slot] = true;
        }
        with_frames(|frames| {
            for &(level, index) in &self.calls {
                let call = &frames[level].calls[index];
                let depends = passes(&call.op)
                    && call.inputs.iter().any(|&id| self.depends[self.slot_of(level, id)]);
                for &id in &call.outputs {
                    let slot = self.slot_of(level, id);
                    self.depends[slot] |=
                        depends && counts(&slot) && frames[level].types[id as usize].is_inexact();
                }
            }
            for &(level, index) in self.calls.iter().rev() {
                let call = &frames[level].calls[index];
                let outputs: SmallVec<[bool; 4]> =
                    call.outputs.iter().map(|&id| self.reached[self.slot_of(level, id)]).collect();
                let reached = passes(&call.op) && outputs.contains(&true);
                let inputs = if reached { call.op.reaches(&outputs) } else { None };
                for (i, &id) in call.inputs.iter().enumerate() {
                    let reached = reached
                        && inputs.as_ref().is_none_or(|inputs| inputs.get(i) != Some(&false));
                    let slot = self.slot_of(level, id);
                    self.reached[slot] |=
                        reached && counts(&slot) && frames[level].types[id as usize].is_inexact();
                }
            }
        });
    }

    /// Refuses a walk from outputs that depend on calls which an earlier walk has freed, or has perhaps.
    /// Before the oldest of the wanted values nothing counts, unless all leaves are wanted.
    fn refuse_freed(
        &self,
        outputs: &[Option<usize>],
        wanted: &[Option<usize>],
        is_leaf: bool,
        loc: Loc,
    ) -> Result<()> {
        with_frames(|frames| {
            if frames.iter().all(|frame| frame.freed.is_empty()) {
                return Ok(());
            }
            // Whether an output depends on a value perhaps, or in any run.
            let mut reached: Vec<Option<bool>> = vec![None; self.n_slots];
            outputs.iter().flatten().for_each(|&slot| reached[slot] = Some(true));
            let mut is_sought: HashSet<usize> = wanted.iter().flatten().copied().collect();
            for &(level, index) in self.calls.iter().rev() {
                let call = &frames[level].calls[index];
                let own: SmallVec<[usize; 4]> =
                    call.outputs.iter().map(|&id| self.slot_of(level, id)).collect();
                let is_reached = own.iter().filter_map(|&slot| reached[slot]).max();
                let is_freed = trace::is_freed(frames, level, index);
                if let (Some(is_reached), Some(is_freed), true) =
                    (is_reached, is_freed, passes(&call.op))
                {
                    return Err(match is_reached && is_freed {
                        true => super::tape::freed(call.op.name(), call.loc, loc),
                        false => trace::perhaps_freed(call.op.name(), call.loc, loc),
                    });
                }
                own.iter().for_each(|slot| {
                    is_sought.remove(slot);
                });
                if is_sought.is_empty() && !is_leaf {
                    break;
                }
                let Some(is_sure) = is_reached.filter(|_| passes(&call.op)) else { continue };
                let given: SmallVec<[bool; 4]> =
                    own.iter().map(|&slot| reached[slot].is_some()).collect();
                let inputs = call.op.reaches(&given);
                let is_sure = is_sure && call.op.blocks().is_empty();
                for (i, &id) in call.inputs.iter().enumerate() {
                    if frames[level].types[id as usize].is_inexact()
                        && inputs.as_ref().is_none_or(|inputs| inputs.get(i) != Some(&false))
                    {
                        let slot = self.slot_of(level, id);
                        reached[slot] = reached[slot].max(Some(is_sure));
                    }
                }
            }
            Ok(())
        })
    }

    /// Notes gradients with respect to values from outside of a block that pass what may depend on them otherwise:
    /// parameters of the block, into which earlier trips of a loop may have put them.
    fn note_history(&self, wrt: &[&Var], wanted: &[Option<usize>], is_leaf: bool, loc: Loc) {
        with_frames(|frames| {
            for level in self.lowest + 1..frames.len() {
                let frame = &frames[level];
                if !frame.is_nested() {
                    continue;
                }
                let is_capture = |id: ValueId| frame.captures.iter().any(|(_, param)| *param == id);
                let is_passed = |id: &&ValueId| {
                    let slot = self.slot_of(level, **id);
                    self.reached[slot] && !is_capture(**id) && !wanted.contains(&Some(slot))
                };
                let passed: Vec<ValueId> = frame.params.iter().filter(is_passed).copied().collect();
                let below = self.slots[..level - self.lowest].iter().flatten();
                let passes_outer = below.into_iter().any(|&slot| {
                    self.depends[slot] && self.reached[slot] && !wanted.contains(&Some(slot))
                });
                if passed.is_empty() && !passes_outer {
                    continue;
                }
                let mut lost = Vec::new();
                for slot in wrt.iter().filter_map(|var| self.slot(var)) {
                    let outer = &self.slots[level - 1 - self.lowest];
                    let Some(id) = outer.iter().position(|&own| own == slot) else { continue };
                    let outer = frames[level - 1].var(id as ValueId);
                    let entry = frame
                        .entries
                        .iter()
                        .find(|(_, param)| self.slot_of(level, **param) == slot);
                    let state = entry.map(|(name, _)| name.clone());
                    let passed = passed.clone();
                    lost.push(Lost { outer, state, passed, passes_outer, is_leaf, loc });
                }
                frames[level].lost.extend(lost);
            }
        });
    }

    /// Puts the variant with residuals in place of op `i`.
    fn with_residuals(
        &self,
        i: usize,
        op: OpRef,
        wanted: &[bool],
        given: &[bool],
        types: &[Type],
        loc: Loc,
    ) -> Result<OpRef> {
        let _line = scope::exactly_at(loc.with_phase(Phase::Backward));
        let Some(variant) = judged(&op, types, loc, |_| op.with_residuals(wanted, given))? else {
            return Ok(op);
        };
        let outs = judged(&variant, types, loc, |refs| crate::op::inferred(&*variant, refs))?;
        let (level, index) = self.calls[i];
        let outs = name_fresh_sizes(&outs)?;
        with_frames(|frames| frames[level].swap_in_residuals(index, variant.clone(), &outs));
        Ok(variant)
    }

    /// The hooks of values that no call of the listing defines: parameters.
    fn source_hooks(&self, slot: usize) -> Vec<Hook> {
        if self.defined[slot] {
            return Vec::new();
        }
        with_frames(|frames| {
            let frame = self.slots.iter().position(|slots| slots.contains(&slot));
            let Some(frame) = frame else { return Vec::new() };
            let id = self.slots[frame].iter().position(|&own| own == slot).unwrap_or(usize::MAX);
            trace::hooks_of(frames, self.lowest + frame, id as ValueId)
        })
    }
}

pub(super) fn passes(op: &OpRef) -> bool {
    !matches!(op.grad(), Grad::Stop)
}

impl Trace for Listing {
    fn value(&self, slot: usize) -> Option<Var> {
        let frame = self.slots.iter().position(|slots| slots.contains(&slot))?;
        let id = self.slots[frame].iter().position(|&own| own == slot)?;
        with_frames(|frames| Some(frames[self.lowest + frame].var(id as ValueId)))
    }

    fn len(&self) -> usize {
        self.calls.len()
    }

    fn outputs(&self, i: usize) -> SmallVec<[usize; 1]> {
        let (level, index) = self.calls[i];
        with_frames(|frames| {
            let outputs = &frames[level].calls[index].outputs;
            let known = |id: &&ValueId| (**id as usize) < self.slots[level - self.lowest].len();
            outputs.iter().filter(known).map(|&id| self.slot_of(level, id)).collect()
        })
    }

    fn inputs(&self, i: usize) -> SmallVec<[usize; 4]> {
        let (level, index) = self.calls[i];
        with_frames(|frames| {
            let inputs = frames[level].calls[index].inputs.iter();
            let is_wanted = |slot: &usize| self.depends[*slot];
            inputs.map(|&id| self.slot_of(level, id)).filter(is_wanted).collect()
        })
    }

    fn record(&mut self, i: usize, given: &[bool]) -> Result<Option<Record>> {
        let (level, index) = self.calls[i];
        let (op, loc, inputs, types) = with_frames(|frames| {
            let frame = &frames[level];
            let call = &frame.calls[index];
            let inputs: SmallVec<[Var; 4]> = call.inputs.iter().map(|&id| frame.var(id)).collect();
            let types: SmallVec<[Type; 4]> = inputs.iter().map(Var::ty).collect();
            (call.op.clone(), call.loc, inputs, types)
        });
        let slots: SmallVec<[usize; 4]> =
            inputs.iter().map(|var| self.slot_of(level, var.symbol_id())).collect();
        if !passes(&op) || !slots.iter().any(|&slot| self.depends[slot]) {
            return Ok(None);
        }
        let wanted: SmallVec<[bool; 4]> = slots
            .iter()
            .zip(&types)
            .map(|(&slot, ty)| self.depends[slot] && ty.is_inexact())
            .collect();
        let op = match op.properties().residuals {
            true => self.with_residuals(i, op, &wanted, given, &types, loc)?,
            false => op,
        };
        if self.frees {
            // Only the run knows which trips and branches there were to free, and whether it passes a branch of the walk.
            let is_sure = |frames: &[Frame]| op.blocks().is_empty() && self.top + 1 == frames.len();
            with_frames(|frames| {
                let (key, is_sure) = ((frames[level].id, index), is_sure(frames));
                let known = frames[self.top].freed.entry(key).or_insert(is_sure);
                *known |= is_sure;
            });
        }
        let keeps = match op.grad() {
            Grad::Rule(keeps, _) | Grad::Totals(keeps, _) => keeps,
            _ => Keeps::NOTHING,
        };
        let n_wanted = wanted.iter().filter(|wanted| **wanted).count();
        let slot = |(i, var): (usize, &Var)| match keeps.input(i, n_wanted - usize::from(wanted[i]))
        {
            true => Slot::Kept(var.clone()),
            false if wanted[i] || keeps.all_types() => Slot::Typed(Box::new(types[i])),
            false => Slot::Untracked,
        };
        let outputs = with_frames(|frames| {
            let frame = &frames[level];
            let outputs = frame.calls[index].outputs.iter().enumerate();
            outputs.map(|(i, &id)| keeps.output(i).then(|| frame.var(id))).collect()
        });
        Ok(Some(Record {
            loc,
            inputs: inputs.iter().enumerate().map(slot).collect(),
            targets: (0..inputs.len()).map(|i| wanted[i].then(|| slots[i])).collect(),
            outputs,
            op,
        }))
    }

    fn hooks(&self, i: usize, output: usize) -> Vec<Hook> {
        let (level, index) = self.calls[i];
        with_frames(|frames| {
            let id = frames[level].calls[index].outputs[output];
            trace::hooks_of(frames, level, id)
        })
    }
}
