//! The walk over the tape.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use fluvial_tensor::{Error, ErrorKind, Loc, Result, interrupt};
use smallvec::SmallVec;

use super::{GradOptions, Record, Sum, Trace, no_leaf, walk};
use crate::op::OpRef;
use crate::scope;
use crate::structural;
use crate::tape::{Edge, Hook, Kind, Leaf, Node, Saved, Slot, lock};
use crate::var::Var;

pub(super) fn vjp(
    outputs: &[&Var],
    seeds: &[Var],
    wrt: &[&Var],
    constants: &[&Var],
    options: GradOptions,
    loc: Loc,
) -> Result<Vec<Option<Var>>> {
    // Nothing lies behind what was recorded before it.
    let oldest = wrt.iter().filter_map(|var| Some(var.0.edge.as_ref()?.node.seq)).min();
    let oldest = oldest.unwrap_or(u64::MAX);
    let mut tape = Tape::collect(outputs, constants, oldest, options, loc)?;
    let slots: Vec<Option<usize>> = wrt.iter().map(|var| tape.slot(var.0.edge.as_ref()?)).collect();
    tape.refuse_former(wrt, &slots)?;
    tape.mark_paths_to(&slots);
    let mut cotangents = tape.walk(outputs, seeds, &|slot| slots.contains(&Some(slot)))?;
    let _recording = scope::record(options.create_graph);
    let reached = match slots.iter().flatten().any(|&slot| cotangents[slot].is_none()) {
        true => tape.reached(outputs),
        false => Vec::new(),
    };
    let mut found = Vec::with_capacity(wrt.len());
    for (i, (var, slot)) in wrt.iter().zip(&slots).enumerate() {
        let Some(slot) = *slot else {
            found.push(None);
            continue;
        };
        let asked_again = slots[i + 1..].contains(&Some(slot));
        let cotangent = match asked_again {
            true => cotangents[slot].clone(),
            false => cotangents[slot].take(),
        };
        found.push(match cotangent {
            // Reached, but only through ops whose derivative is zero.
            None if reached[slot] => Some(structural::zeros_like(var)?),
            cotangent => cotangent,
        });
    }
    Ok(found)
}

pub(super) fn backward(output: &Var, seeds: &[Var], options: GradOptions, loc: Loc) -> Result<()> {
    let mut tape = Tape::collect(&[output], &[], 0, options, loc)?;
    let leaves: Vec<(usize, Arc<Node>)> = (0..tape.len())
        .map(|i| tape.at(i))
        .filter(|visited| visited.node.leaf_slot().is_some())
        .map(|visited| (visited.first_slot, visited.node.clone()))
        .collect();
    if leaves.is_empty() {
        return Err(no_leaf(loc));
    }
    tape.nodes.iter_mut().for_each(|visited| visited.leads = true);
    let is_leaf = |slot: usize| leaves.binary_search_by_key(&slot, |(leaf, _)| *leaf).is_ok();
    let mut cotangents = tape.walk(&[output], seeds, &is_leaf)?;
    if leaves.iter().all(|(slot, _)| cotangents[*slot].is_none()) {
        // A program may have computed the output without any of its tracked inputs.
        let reached = tape.reached(&[output]);
        if !leaves.iter().any(|(slot, _)| reached[*slot]) {
            return Err(no_leaf(loc));
        }
    }
    // All leaves get their part, or none.
    let _whole = (scope::record(options.create_graph), interrupt::hear(false));
    for (slot, node) in &leaves {
        let (Some(leaf), Some(cotangent)) = (node.leaf_slot(), cotangents[*slot].take()) else {
            continue;
        };
        leaf.set(Some(match leaf.get() {
            Some(before) => structural::accumulate(&before, &cotangent)?,
            None => cotangent,
        }));
    }
    Ok(())
}

/// The nodes behind some outputs.
struct Tape {
    /// As they were found.
    nodes: Vec<Visited>,
    /// Positions in `nodes`, in the order of recording.
    order: Vec<u32>,
    index: HashMap<usize, u32, BuildHasherDefault<AddressHasher>>,
    n_slots: usize,
    /// Nodes not younger than this one count for nothing.
    oldest: u64,
    options: GradOptions,
    loc: Loc,
}

struct Visited {
    node: Arc<Node>,
    /// By input: the position of the node it comes from, and which of its outputs it is.
    sources: SmallVec<[(u32, u32); 2]>,
    first_slot: usize,
    /// A wanted value lies behind this node, or is its output.
    leads: bool,
    /// Whether a node before it may pass nothing on to it.
    is_doubtful: bool,
}

/// The source of an input that has no history.
const NOWHERE: u32 = u32::MAX;

impl Tape {
    /// The nodes behind `outputs`, not by way of `constants`. Nodes not younger than the `oldest` of the wanted values may have
    /// been freed: no way to these leads over them.
    fn collect(
        outputs: &[&Var],
        constants: &[&Var],
        oldest: u64,
        options: GradOptions,
        loc: Loc,
    ) -> Result<Tape> {
        let constants = constants.iter().filter_map(|var| var.0.edge.as_ref());
        let constants: HashSet<(usize, u32)> = constants.map(Edge::key).collect();
        let counts = |edge: &&Edge| constants.is_empty() || !constants.contains(&edge.key());
        let mut tape = Tape {
            nodes: Vec::new(),
            order: Vec::new(),
            index: HashMap::default(),
            n_slots: 0,
            oldest,
            options,
            loc,
        };
        let edges = outputs.iter().filter_map(|var| var.0.edge.as_ref());
        for edge in edges.filter(counts) {
            tape.visit(edge, false);
        }
        let mut next = 0;
        while let Some(visited) = tape.nodes.get(next) {
            let (node, is_doubtful) = (visited.node.clone(), visited.is_doubtful);
            if let Kind::Call { op, loc: line, saved } = &node.kind {
                let saved = lock(saved);
                match &*saved {
                    Some(saved) => {
                        let is_doubtful = is_doubtful || op.leaves_out();
                        let source = |slot: &Slot| match slot.edge().filter(counts) {
                            Some(edge) => (tape.visit(edge, is_doubtful), edge.out),
                            None => (NOWHERE, 0),
                        };
                        let sources = saved.inputs.iter().map(source).collect();
                        tape.nodes[next].sources = sources;
                    }
                    // The walk will say so, if it gets here.
                    None if is_doubtful || node.seq <= oldest => {}
                    None => return Err(freed(op.name(), *line, loc)),
                }
            }
            next += 1;
        }
        let is_freed = |Visited { node, is_doubtful, .. }: &Visited| {
            *is_doubtful && node.seq > oldest && node.is_freed()
        };
        let any_freed = tape.nodes.iter().any(is_freed);
        tape.order = (0..tape.nodes.len() as u32).rev().collect();
        tape.order.sort_by_key(|&i| tape.nodes[i as usize].node.seq);
        for &i in &tape.order {
            tape.nodes[i as usize].first_slot = tape.n_slots;
            tape.n_slots += tape.nodes[i as usize].node.types.len();
        }
        if any_freed {
            tape.refuse_freed(outputs, oldest)?;
        }
        Ok(tape)
    }

    /// Refuses outputs that depend on freed nodes in any run, though nodes of programs stand between.
    fn refuse_freed(&self, outputs: &[&Var], oldest: u64) -> Result<()> {
        let reached = self.reached_by(outputs, |op, output, input| op.passes_on(output, input));
        for Visited { node, first_slot, .. } in &self.nodes {
            let mut own = *first_slot..*first_slot + node.types.len();
            if let Kind::Call { op, loc, .. } = &node.kind
                && node.seq > oldest
                && node.is_freed()
                && own.any(|slot| reached[slot])
            {
                return Err(freed(op.name(), *loc, self.loc));
            }
        }
        Ok(())
    }

    /// The position of the node of an edge, which is added if it is new.
    fn visit(&mut self, edge: &Edge, is_doubtful: bool) -> u32 {
        let next = self.nodes.len() as u32;
        *self.index.entry(Arc::as_ptr(&edge.node) as usize).or_insert_with(|| {
            let node = edge.node.clone();
            self.nodes.push(Visited {
                node,
                sources: SmallVec::new(),
                first_slot: 0,
                leads: false,
                is_doubtful,
            });
            next
        })
    }

    fn slot(&self, edge: &Edge) -> Option<usize> {
        let position = self.index.get(&(Arc::as_ptr(&edge.node) as usize))?;
        Some(self.nodes[*position as usize].first_slot + edge.out as usize)
    }

    /// Refuses a parameter of which the outputs were computed with a former value: its gradient would be lost.
    fn refuse_former(&self, wrt: &[&Var], slots: &[Option<usize>]) -> Result<()> {
        let unreached = wrt.iter().zip(slots).filter(|(_, slot)| slot.is_none());
        let leaves = unreached.filter_map(|(var, _)| var.0.edge.as_ref()?.node.leaf_slot());
        let leaves: HashSet<*const Leaf> = leaves.map(Arc::as_ptr).collect();
        let is_former = |visited: &Visited| {
            visited.node.leaf_slot().is_some_and(|leaf| leaves.contains(&Arc::as_ptr(leaf)))
        };
        match !leaves.is_empty() && self.nodes.iter().any(is_former) {
            false => Ok(()),
            true => Err(Error::gradient(
                "a parameter has got another value since the output was computed with it: by an assignment or an \
                 update, perhaps in another thread",
            )
            .remedy("compute the output again; where several threads train, compute and update in one program")
            .at(self.loc)),
        }
    }

    /// By slot: whether an output depends on it. A node that lies behind an output may have outputs that do not.
    fn reached(&self, outputs: &[&Var]) -> Vec<bool> {
        self.reached_by(outputs, |op, output, input| op.depends(output, input))
    }

    fn reached_by(
        &self,
        outputs: &[&Var],
        depends: impl Fn(&OpRef, usize, usize) -> bool,
    ) -> Vec<bool> {
        let mut reached = vec![false; self.n_slots];
        for edge in outputs.iter().filter_map(|var| var.0.edge.as_ref()) {
            if let Some(slot) = self.slot(edge) {
                reached[slot] = true;
            }
        }
        for i in (0..self.order.len()).rev() {
            let Visited { node, first_slot, sources, .. } = self.at(i);
            let Kind::Call { op, .. } = &node.kind else { continue };
            for (input, (source, out)) in sources.iter().enumerate() {
                let Some(source) = self.nodes.get(*source as usize) else { continue };
                let passes = |output| reached[first_slot + output] && depends(op, output, input);
                let is_reached = (0..node.types.len()).any(passes);
                reached[source.first_slot + *out as usize] |= is_reached;
            }
        }
        reached
    }

    fn mark_paths_to(&mut self, wanted: &[Option<usize>]) {
        for &i in &self.order {
            let Visited { node, first_slot, sources, .. } = &self.nodes[i as usize];
            let own = *first_slot..*first_slot + node.types.len();
            let behind =
                |&(source, _): &(u32, u32)| source != NOWHERE && self.nodes[source as usize].leads;
            let leads = wanted.iter().flatten().any(|slot| own.contains(slot))
                || sources.iter().any(behind)
                || self.is_freed(&self.nodes[i as usize]);
            self.nodes[i as usize].leads = leads;
        }
    }

    /// Whether a walk that gets to a node finds it freed.
    fn is_freed(&self, visited: &Visited) -> bool {
        visited.node.seq > self.oldest && visited.node.is_freed()
    }

    fn at(&self, i: usize) -> &Visited {
        &self.nodes[self.order[i] as usize]
    }

    fn walk(
        &mut self,
        outputs: &[&Var],
        seeds: &[Var],
        kept: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<Option<Var>>> {
        let _recording = scope::record(self.options.create_graph);
        let mut cotangents = vec![None; self.n_slots];
        for (output, seed) in outputs.iter().zip(seeds) {
            let Some(slot) = output.0.edge.as_ref().and_then(|edge| self.slot(edge)) else {
                continue;
            };
            let seed = Sum::certain(seed.clone());
            cotangents[slot] = Some(match cotangents[slot].take() {
                Some(sum) => Sum::plus(sum, seed)?,
                None => seed,
            });
        }
        walk(self, &mut cotangents, kept)?;
        // Line by line, everybody knows what there is.
        Ok(cotangents.into_iter().map(|sum| Some(sum?.var)).collect())
    }

    /// What the node saved: taken from it, unless the tape is to stay.
    fn saved(&self, i: usize) -> Result<Option<Saved>> {
        let Kind::Call { op, loc, saved } = &self.at(i).node.kind else { return Ok(None) };
        let mut saved = lock(saved);
        let stays = self.options.retain_graph || self.options.create_graph;
        let content = if stays { saved.clone() } else { saved.take() };
        drop(saved);
        let content = content.ok_or_else(|| freed(op.name(), *loc, self.loc))?;
        content.with_values(stays).map(Some)
    }
}

impl Trace for Tape {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn outputs(&self, i: usize) -> SmallVec<[usize; 1]> {
        let Visited { node, first_slot, .. } = self.at(i);
        (*first_slot..*first_slot + node.types.len()).collect()
    }

    fn record(&mut self, i: usize, _given: &[bool]) -> Result<Option<Record>> {
        // A wanted value of which nothing else is asked keeps its history.
        let leads = |&(source, _): &(u32, u32)| {
            self.nodes.get(source as usize).is_some_and(|visited| visited.leads)
        };
        if !self.at(i).sources.iter().any(leads) && !self.is_freed(self.at(i)) {
            return Ok(None);
        }
        let Some(saved) = self.saved(i)? else { return Ok(None) };
        let Visited { node, sources, .. } = self.at(i);
        let Kind::Call { op, loc, .. } = &node.kind else { return Ok(None) };
        let target = |&(source, out): &(u32, u32)| {
            let visited = self.nodes.get(source as usize).filter(|visited| visited.leads)?;
            Some(visited.first_slot + out as usize)
        };
        let targets = sources.iter().map(target).collect();
        let attach = |(out, value): (usize, Option<_>)| {
            let edge = self.options.create_graph && node.types[out].is_inexact();
            let edge = edge.then(|| Edge { node: node.clone(), out: out as u32 });
            value.map(|value| Var::with_edge(value, edge))
        };
        let outputs = saved.outputs.into_iter().enumerate().map(attach).collect();
        Ok(Some(Record { op: op.clone(), loc: *loc, inputs: saved.inputs, targets, outputs }))
    }

    fn hooks(&self, i: usize, output: usize) -> Vec<Hook> {
        self.at(i).node.hooks(output as u32)
    }
}

/// Whether a backward pass has freed what a value was computed from.
pub(crate) fn leads_to_freed(var: &Var) -> bool {
    let found = Tape::collect(&[var], &[], 0, GradOptions::default(), Loc::Unknown);
    found.is_err_and(|error| error.kind() == ErrorKind::Freed)
}

#[cold]
pub(super) fn freed(op: &str, line: Loc, loc: Loc) -> Error {
    Error::new(ErrorKind::Freed, "a part of the tape was freed by an earlier backward pass")
        .remedy("pass `retain_graph: true` to the earlier pass, or compute the value again")
        .note(format!("it is behind `{op}`, which was recorded at {line}"))
        .at(loc)
}

/// Hashes addresses: they differ in their middle bits, which a multiplication spreads.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte as usize);
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}
