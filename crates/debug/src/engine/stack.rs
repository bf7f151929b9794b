//! The blocks under way in a run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fluvial_core::{Block, Call, Value, ValueId};
use fluvial_runtime::{Live, PARTS, Step};

use super::blocks::BlockInfo;
use super::listing::Path;
use super::points::{AtStep, resolve};
use super::pos::Pos;
use super::shared::{Known, Shared};
use super::source::Sources;

/// A block under way.
pub struct Level {
    pub info: Arc<BlockInfo>,
    /// The way to it in the listing.
    pub path: Path,
    /// The position of the step that is under way.
    pub index: usize,
    /// Which visit of the blocks of that step it is: for loops the number of the trip, from 1 on.
    pub visit: u64,
    /// The number of the block of that step that was entered last.
    pub entered: usize,
    /// The values that were alive when a block was entered.
    pub kept: Vec<(ValueId, Value)>,
    at: Arc<Vec<AtStep>>,
    generation: u64,
}

/// What is known of a block, and where breakpoints are in it.
struct Entry {
    info: Arc<BlockInfo>,
    at: Arc<Vec<AtStep>>,
    generation: u64,
}

/// Of so many loops it is kept where they began.
const MAX_BEGUN: usize = 1000;

/// The blocks under way, the outermost first.
#[derive(Default)]
pub struct Stack {
    pub run: u64,
    pub levels: Vec<Level>,
    pub known: Option<Arc<Known>>,
    /// How many steps were begun.
    pub steps: u64,
    /// For a run that is taken up: how many trips its loops had made, by depth.
    restored: Vec<u64>,
    /// Where loops over readers began, by run and position: epoch and index.
    began: HashMap<(u64, usize), (u64, u64)>,
    /// By the address of the block, which the entry holds alive.
    blocks: HashMap<(usize, Path), Entry>,
    pub sources: Sources,
}

impl Stack {
    /// A run begins, or is taken up after its loops have made these trips.
    pub fn begin(&mut self, run: u64, known: Arc<Known>, (trips, steps): (Vec<u64>, u64)) {
        let is_same = self.known.as_ref().is_some_and(|before| Arc::ptr_eq(before, &known));
        if !is_same {
            self.blocks.clear();
        }
        (self.run, self.known, self.restored, self.steps) = (run, Some(known), trips, steps);
        self.levels.clear();
    }

    /// A step is reached.
    pub fn arrive(&mut self, step: &Step<'_>, shared: &Shared) {
        self.levels.truncate(step.depth + 1);
        if self.levels.len() == step.depth {
            let level = self.level(step.block, shared);
            self.levels.push(level);
        }
        let visit = match step.is_resumed {
            true => self.restored.get(step.depth).copied().unwrap_or(0),
            false => 0,
        };
        let generation = shared.generation.load(Ordering::Acquire);
        let Some(level) = self.levels.last_mut() else { return };
        (level.index, level.visit) = (step.index, visit);
        level.kept.clear();
        if level.generation != generation {
            let (info, path) = (level.info.clone(), level.path.clone());
            let at = self.resolved(&info, &path, generation, shared);
            if let Some(level) = self.levels.last_mut() {
                (level.at, level.generation) = (at, generation);
            }
        }
    }

    /// A block of a step is entered.
    pub fn enter(&mut self, step: &Step<'_>, number: usize) {
        self.levels.truncate(step.depth + 1);
        self.steps += u64::from(self.is_step_loop(step.depth));
        if let Some(level) = self.levels.last_mut() {
            level.entered = number;
            level.visit = match step.op.carries().is_some() {
                true => level.visit + 1,
                false => 1 + if number == PARTS { 0 } else { number as u64 },
            };
        }
    }

    /// Keeps the values around a block that is about to be entered, for those who look from inside. What a loop
    /// carries is another one inside.
    pub fn keep(&mut self, step: &Step<'_>, live: &Live<'_>) {
        let Some(level) = self.levels.last_mut() else { return };
        let Some(call) = step.block.calls.get(step.index) else { return };
        if call.op.reader().is_some() && !step.is_resumed && step.depth == 0 {
            let position = call.inputs.first().and_then(|&id| live.get(id)?.tensor().ok());
            if let Some([epoch, index]) = position.map(|position| position.to_f64s()).as_deref() {
                if self.began.len() >= MAX_BEGUN {
                    self.began.clear();
                }
                self.began.insert((self.run, step.index), (*epoch as u64, *index as u64));
            }
        }
        let kept = live.iter().filter(|(id, _)| !call.inputs.contains(id));
        level.kept = kept.map(|(id, value)| (id, value.clone())).collect();
    }

    /// What is to be looked at at the step under way.
    pub fn at(&self) -> Option<&AtStep> {
        let level = self.levels.last()?;
        level.at.get(level.index)
    }

    /// Where the run is.
    pub fn pos(&self) -> Pos {
        self.pos_at(self.levels.len().saturating_sub(1))
    }

    /// Where the run is in the block at this depth.
    pub fn pos_at(&self, depth: usize) -> Pos {
        let mut pos = Pos::of_run(self.run);
        self.levels.iter().take(depth + 1).for_each(|level| pos.push(level.index, level.visit));
        pos
    }

    /// Where the next trip of the innermost loop begins.
    pub fn next_trip(&self) -> Pos {
        let mut pos = Pos::of_run(self.run);
        let last = self.levels.len().saturating_sub(1);
        for (depth, level) in self.levels.iter().enumerate() {
            pos.push(level.index, level.visit + u64::from(depth == last));
        }
        pos
    }

    /// Whether the call under way at a depth is the loop whose trips are steps: the outermost one over a reader, or
    /// else the outermost one.
    fn is_step_loop(&self, depth: usize) -> bool {
        let call = |level: &Level| level.info.block.calls.get(level.index).cloned();
        let Some(here) = self.levels.get(depth).and_then(call) else { return false };
        let reads = |call: &Call| call.op.reader().is_some();
        let around = || self.levels[..depth].iter().filter_map(call);
        match self.known.as_ref().is_some_and(|known| known.has_readers) {
            true => reads(&here) && !around().any(|call| reads(&call)),
            false => {
                here.op.carries().is_some() && !around().any(|call| call.op.carries().is_some())
            }
        }
    }

    /// How many steps were begun, for those who take the run up before the next trip.
    pub fn steps_before(&self) -> u64 {
        let outer = self.levels.len().saturating_sub(1);
        // A step that is under way is entered once more then.
        self.steps - u64::from((0..outer).any(|depth| self.is_step_loop(depth)))
    }

    /// How many trips the loops have made, for those who take the run up before the next trip.
    pub fn trips(&self) -> Vec<u64> {
        let last = self.levels.len().saturating_sub(1);
        let trips = |(depth, level): (usize, &Level)| match depth == last {
            true => level.visit,
            false => level.visit.saturating_sub(1),
        };
        self.levels.iter().enumerate().map(trips).collect()
    }

    /// The depth of loops and branches, parts of ops not counted.
    pub fn depth(&self) -> usize {
        let nested = self.levels.len().saturating_sub(1);
        self.levels[..nested].iter().filter(|level| level.entered != PARTS).count()
    }

    /// The loops under way, the outermost first: depth and number of the trip from 0 on.
    pub fn loops(&self) -> Vec<(usize, u64)> {
        let nested = self.levels.len().saturating_sub(1);
        let is_loop = |level: &Level| {
            let call = level.info.block.calls.get(level.index);
            call.is_some_and(|call| call.op.carries().is_some())
        };
        let loops = self.levels[..nested].iter().enumerate().filter(|(_, level)| is_loop(level));
        loops.map(|(depth, level)| (depth, level.visit.saturating_sub(1))).collect()
    }

    /// The number of the step under way, from 0 on: in a program without loops, that of the run.
    pub fn step(&self) -> u64 {
        match self.counts_trips() {
            true => self.steps.saturating_sub(1),
            false => self.run.saturating_sub(1),
        }
    }

    /// Whether a step of this number or a later one is under way.
    pub fn is_in_step(&self, wanted: u64) -> bool {
        (!self.counts_trips() || self.step_loop().is_some()) && self.step() >= wanted
    }

    /// Whether the program has loops.
    pub fn counts_trips(&self) -> bool {
        self.levels.first().is_some_and(|main| {
            main.info.block.calls.iter().any(|call| call.op.carries().is_some())
        })
    }

    /// The depth of the loop whose trips are steps, if it is under way.
    pub fn step_loop(&self) -> Option<usize> {
        let outer = self.levels.len().saturating_sub(1);
        (0..outer).find(|&depth| self.is_step_loop(depth))
    }

    /// The number of the pass through the data, from 0 on: the trip of the loop around that over a reader, or as that
    /// loop counts by itself, from the position that it began at.
    pub fn epoch(&self) -> Option<u64> {
        let depth = self.step_loop()?;
        let loops = self.loops();
        if let Some(&(_, trip)) = loops.iter().rfind(|&&(outer, _)| outer < depth) {
            return Some(trip);
        }
        let level = self.levels.get(depth).filter(|_| depth == 0)?;
        let pass = self.levels.get(depth + 1)?.info.pass.filter(|&pass| pass > 0)?;
        let (epoch, index) = self.began.get(&(self.run, level.index))?;
        Some(epoch + (index + level.visit.saturating_sub(1)) / pass)
    }

    /// The line of the step under way of a level in the listing of the compiled program.
    pub fn listed(&self, depth: usize) -> Option<u32> {
        let level = self.levels.get(depth)?;
        let lines = &self.known.as_ref()?.compiled.of_block;
        match lines.get(&level.path) {
            Some(lines) => lines.get(level.index).copied().filter(|&line| line > 0),
            None => self.listed(depth.checked_sub(1)?),
        }
    }

    fn level(&mut self, block: &Arc<Block>, shared: &Shared) -> Level {
        let outer = self.levels.last();
        let mut path = outer.map_or(Vec::new(), |level| level.path.clone());
        path.extend(outer.map(|level| (level.index, level.entered)));
        let key = (Arc::as_ptr(block).addr(), path.clone());
        if !self.blocks.contains_key(&key) {
            let sources = &mut self.sources;
            let info = match outer {
                Some(level) => {
                    BlockInfo::nested(&level.info, level.index, level.entered, block, sources)
                }
                None => BlockInfo::main(block, sources),
            };
            let entry = Entry { info: Arc::new(info), at: Arc::default(), generation: 0 };
            self.blocks.insert(key.clone(), entry);
        }
        let generation = shared.generation.load(Ordering::Acquire);
        let info = match self.blocks.get(&key) {
            Some(entry) => entry.info.clone(),
            None => Arc::new(BlockInfo::main(block, &mut self.sources)),
        };
        let at = self.resolved(&info, &path, generation, shared);
        Level { info, path, index: 0, visit: 0, entered: 0, kept: Vec::new(), at, generation }
    }

    /// Where breakpoints are in a block.
    fn resolved(
        &mut self,
        info: &Arc<BlockInfo>,
        path: &Path,
        generation: u64,
        shared: &Shared,
    ) -> Arc<Vec<AtStep>> {
        let key = (Arc::as_ptr(&info.block).addr(), path.clone());
        if let Some(entry) = self.blocks.get(&key)
            && entry.generation == generation
        {
            return entry.at.clone();
        }
        let at = resolve(&shared.control().points, info, path, self.known.as_deref());
        let at = Arc::new(at);
        if let Some(entry) = self.blocks.get_mut(&key) {
            (entry.at, entry.generation) = (at.clone(), generation);
        }
        at
    }
}
