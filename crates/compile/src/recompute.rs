//! Computes values again instead of keeping them, where memory is limited.
//!
//! What training keeps from the forward half of a program for the backward half is most of its memory. Here the
//! forward half is cut into segments. Only what one segment passes on to the next is kept; the rest of a
//! segment is computed once more, from that, when the backward half comes to need it.

use std::collections::{BTreeMap, BTreeSet};

use fluvial_core::structural::Read;
use fluvial_core::{Block, Call, Error, ErrorKind, Result, Rewrite, ValueId};

use crate::driver::Patches;
use crate::memory::Owners;
use crate::passes::is_pure;

/// The numbers of segments that are tried.
const SEGMENTS: [usize; 12] = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];

/// A block that computes the same with at most `limit` bytes, as `peak` counts them: the block itself if it
/// keeps to them. If no such block is found, the error tells how many bytes the best one needs.
pub fn recompute(block: &Block, limit: usize, peak: &dyn Fn(&Block) -> usize) -> Result<Block> {
    let before = peak(block);
    if before <= limit {
        return Ok(block.clone());
    }
    let halves = Halves::of(block);
    let mut best: Option<(usize, usize)> = None;
    for n in SEGMENTS {
        let segments = halves.segments(n);
        let all = halves.without(&segments, segments.len());
        let bytes = peak(&all);
        if bytes <= limit {
            return Ok(fewest(&halves, &segments, all, limit, peak));
        }
        best = best.filter(|(least, _)| *least <= bytes).or(Some((bytes, n)));
    }
    let least = best.map_or(before, |(bytes, _)| bytes.min(before));
    Err(Error::new(ErrorKind::Memory, format!(
        "a run needs {} of memory beside inputs and states, {} without computing values twice; the limit is {}",
        megabytes(least),
        megabytes(before),
        megabytes(limit)
    ))
    .remedy("raise the limit, or feed smaller batches"))
}

/// A value of fewer bytes is kept in any case.
const WORTH: usize = 1 << 16;

/// Computes again, where the backward half needs it, what is elementwise or random, of inputs that are kept
/// anyway: as the result of a dropout beside what it was given. That is about as fast as fetching it.
pub(crate) fn recompute_cheap(block: &Block, patches: &mut Patches) -> Block {
    let halves = Halves::of(block);
    let mut segments: Vec<Segment> = Vec::new();
    let mut dropped: BTreeSet<ValueId> = BTreeSet::new();
    for (index, call) in block.calls[..halves.middle].iter().enumerate() {
        let properties = call.op.properties();
        let is_cheap = properties.elementwise || properties.random;
        if !is_cheap || call.n_outputs != 1 || !halves.can_repeat(index) || !patches.allowed() {
            continue;
        }
        let segment = halves.segment(index..halves.middle, Some(index));
        let is_kept = |&id: &ValueId| {
            let owner = halves.owners.of_value[id as usize];
            let there = halves.crosses(owner) || halves.definition[owner as usize].is_none();
            there && !dropped.contains(&owner)
        };
        if segment.bytes >= WORTH && call.inputs.iter().all(is_kept) {
            patches.add(call.loc, || format!("`{}` is computed again", call.op.name()));
            dropped.extend(&segment.dropped);
            segments.push(segment);
        }
    }
    if segments.is_empty() { block.clone() } else { halves.without(&segments, segments.len()) }
}

fn megabytes(bytes: usize) -> String {
    format!("{:.1} MB", bytes as f64 / (1024.0 * 1024.0))
}

/// Recomputes no more segments than the limit asks for.
fn fewest(
    halves: &Halves<'_>,
    segments: &[Segment],
    all: Block,
    limit: usize,
    peak: &dyn Fn(&Block) -> usize,
) -> Block {
    let (mut low, mut high, mut found) = (1, segments.len(), all);
    while low < high {
        let middle = (low + high) / 2;
        let block = halves.without(segments, middle);
        match peak(&block) <= limit {
            true => (high, found) = (middle, block),
            false => low = middle + 1,
        }
    }
    found
}

/// A block, cut at the call where most memory is needed.
struct Halves<'a> {
    block: &'a Block,
    owners: Owners,
    /// The first call of the backward half.
    middle: usize,
    /// By value: the call that defines it; none for parameters.
    definition: Vec<Option<usize>>,
    /// By owner: the calls that use it, or what shows it.
    users: Vec<BTreeSet<usize>>,
}

/// Calls of the forward half, and what of theirs need not be kept.
struct Segment {
    calls: std::ops::Range<usize>,
    /// Owners of memory that only this segment and the backward half use.
    dropped: BTreeSet<ValueId>,
    /// Their bytes.
    bytes: usize,
}

impl Halves<'_> {
    fn of(block: &Block) -> Halves<'_> {
        let mut owners = Owners::of(block);
        // The memory of states is there anyway.
        let reads = block.calls.iter().filter(|call| call.op.downcast::<Read>().is_some());
        reads.flat_map(Call::outputs).for_each(|id| owners.bytes[id as usize] = 0);
        let mut definition = vec![None; block.types.len()];
        let mut users = vec![BTreeSet::new(); block.types.len()];
        for (index, call) in block.calls.iter().enumerate() {
            call.outputs().for_each(|id| definition[id as usize] = Some(index));
            for &id in &call.inputs {
                users[owners.of_value[id as usize] as usize].insert(index);
            }
        }
        for &id in &block.results {
            users[owners.of_value[id as usize] as usize].insert(block.calls.len());
        }
        let mut halves = Halves { block, owners, middle: 0, definition, users };
        halves.middle = halves.fullest();
        halves
    }

    /// The call before which most memory is in use.
    fn fullest(&self) -> usize {
        let n = self.block.calls.len();
        let (mut begins, mut ends) = (vec![0; n + 1], vec![0; n + 1]);
        for (id, &bytes) in self.owners.bytes.iter().enumerate() {
            let Some(made) = self.definition[id].filter(|_| bytes > 0) else { continue };
            begins[made] += bytes;
            ends[self.users[id].last().copied().unwrap_or(made)] += bytes;
        }
        let mut live = 0usize;
        let mut fullest = (0, 0);
        for step in 0..n {
            live += begins[step];
            fullest = fullest.max((live, n - step));
            live -= ends[step];
        }
        n - fullest.1
    }

    /// Whether what an owner holds can be computed again.
    fn can_repeat(&self, call: usize) -> bool {
        let call = &self.block.calls[call];
        let has_list = call.outputs().any(|id| self.block.types[id as usize].is_list());
        is_pure(call) && !has_list && call.op.blocks().is_empty() && !call.inputs.is_empty()
    }

    /// Whether something is in memory from the forward to the backward half.
    fn crosses(&self, owner: ValueId) -> bool {
        let made = self.definition[owner as usize];
        made.is_some_and(|made| made < self.middle)
            && self.users[owner as usize].range(self.middle..).next().is_some()
    }

    /// The forward half in about so many segments, those that save most first. The last one is left out: what
    /// it makes is needed at once.
    fn segments(&self, n: usize) -> Vec<Segment> {
        let kept: Vec<usize> = (0..self.middle)
            .map(|call| {
                let made = self.block.calls[call].outputs().filter(|&id| self.crosses(id));
                made.map(|id| self.owners.bytes[id as usize]).sum()
            })
            .collect();
        let passed = self.passed_on();
        let total: usize = kept.iter().sum();
        let mut cuts = vec![0];
        let mut sum = 0usize;
        // Around each n-th of what is kept, the place where least is passed on.
        let mut best: Option<(usize, usize)> = None;
        for call in 0..self.middle {
            sum += kept[call];
            let share = (sum as f64 / total.max(1) as f64) * n as f64 - cuts.len() as f64;
            if share > -0.5 {
                let here = (passed[call + 1], call + 1);
                best = Some(best.map_or(here, |least| if here.0 < least.0 { here } else { least }));
            }
            if share > 0.5
                && let Some((_, cut)) = best.take()
            {
                cuts.push(cut);
            }
        }
        cuts.dedup();
        let mut segments: Vec<Segment> =
            cuts.windows(2).map(|cut| self.segment(cut[0]..cut[1], None)).collect();
        segments.retain(|segment| segment.bytes > 0);
        segments.sort_by_key(|segment| std::cmp::Reverse(segment.bytes));
        segments
    }

    /// By call of the forward half: the bytes from before it that calls from it on use within the half.
    fn passed_on(&self) -> Vec<usize> {
        let mut change = vec![0isize; self.middle + 2];
        for (id, &bytes) in self.owners.bytes.iter().enumerate() {
            let Some(made) = self.definition[id].filter(|&made| made < self.middle && bytes > 0)
            else {
                continue;
            };
            if let Some(&last) = self.users[id].range(..self.middle).next_back() {
                change[made + 1] += bytes as isize;
                change[last + 1] -= bytes as isize;
            }
        }
        let mut sum = 0isize;
        change
            .iter()
            .map(|change| {
                sum += change;
                sum.max(0) as usize
            })
            .collect()
    }

    /// The segment of these calls, of which everything is dropped, or the outputs of one call.
    fn segment(&self, calls: std::ops::Range<usize>, only: Option<usize>) -> Segment {
        let mut dropped = BTreeSet::new();
        let candidates = only.map_or(calls.clone(), |call| call..call + 1);
        for call in candidates.filter(|&call| self.can_repeat(call)) {
            for id in self.block.calls[call].outputs() {
                let owns = self.owners.of_value[id as usize] == id && self.crosses(id);
                let users = &self.users[id as usize];
                let passed_on = users.range(calls.end..self.middle).next().is_some();
                let is_result = users.contains(&self.block.calls.len());
                if owns && !passed_on && !is_result {
                    dropped.insert(id);
                }
            }
        }
        let bytes = dropped.iter().map(|&id| self.owners.bytes[id as usize]).sum();
        Segment { calls, dropped, bytes }
    }

    /// The block that computes the first `n` of the segments again.
    fn without(&self, segments: &[Segment], n: usize) -> Block {
        // By call: what is computed again before it.
        let mut again: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for segment in &segments[..n] {
            let users = segment
                .dropped
                .iter()
                .flat_map(|&id| self.users[id as usize].range(self.middle..).next().copied());
            if let Some(first) = users.min() {
                again.entry(first).or_default().extend(self.repeated(segment));
            }
        }
        let mut on = Rewrite::new(self.block.param_types());
        let mut new: Vec<ValueId> = (0..self.block.n_params as ValueId).collect();
        new.resize(self.block.types.len(), ValueId::MAX);
        let mut later = new.clone();
        for (index, call) in self.block.calls.iter().enumerate() {
            if index == self.middle {
                later.clone_from(&new);
            }
            for &call in again.get(&index).into_iter().flatten() {
                on.copy(self.block, &self.block.calls[call], &mut later);
            }
            let names = if index < self.middle { &mut new } else { &mut later };
            on.copy(self.block, call, names);
        }
        let last = if self.middle < self.block.calls.len() { &later } else { &new };
        on.finish_like(self.block, last)
    }

    /// The calls of a segment that have to be run again for what is dropped of it, in order.
    fn repeated(&self, segment: &Segment) -> BTreeSet<usize> {
        let mut repeated = BTreeSet::new();
        // All that shows dropped memory is lost with it.
        let shown = segment.calls.clone().filter(|&call| {
            let lost = |id: ValueId| segment.dropped.contains(&self.owners.of_value[id as usize]);
            self.block.calls[call].outputs().any(lost)
        });
        let mut open: Vec<usize> = shown.collect();
        while let Some(index) = open.pop() {
            if !repeated.insert(index) {
                continue;
            }
            for &id in &self.block.calls[index].inputs {
                let owner = self.owners.of_value[id as usize];
                let is_kept = self.crosses(owner) && !segment.dropped.contains(&owner);
                let made = self.definition[id as usize];
                // What is not kept anyway is made again, too, rather than kept for this.
                let made = made.filter(|made| segment.calls.contains(made) && !is_kept);
                open.extend(made.filter(|&made| self.can_repeat(made)));
            }
        }
        repeated
    }
}
