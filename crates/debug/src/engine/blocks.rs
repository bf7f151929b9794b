//! What is to be known of a block while it is run: what its values are, to the user.

use std::collections::HashMap;
use std::sync::Arc;

use fluvial_core::structural::{Assign, Read};
use fluvial_core::{Block, Call, Loc, Phase, ValueId};
use fluvial_ops::control::ForEach;
use fluvial_runtime::PARTS;

use super::source::Sources;

/// A block, and what is known of its values.
pub struct BlockInfo {
    /// The block as it is planned.
    pub block: Arc<Block>,
    /// The values that states have, by value.
    pub states: HashMap<ValueId, Arc<str>>,
    /// The values that states will get.
    pub updates: HashMap<ValueId, Arc<str>>,
    /// Values by name, in the order of their definition. A line in a loop of the host's language gives the same name
    /// to many.
    pub named: HashMap<Arc<str>, Vec<ValueId>>,
    /// By value: the name to show.
    pub names: HashMap<ValueId, Arc<str>>,
    /// By variable: the calls that bind it in calls that they were made of, or in their blocks.
    within: HashMap<Arc<str>, Vec<usize>>,
    /// For the body of a loop over a reader: how many trips a pass through the data has.
    pub pass: Option<u64>,
    /// By line: the last call made there.
    last_of_line: HashMap<(Arc<str>, u32), usize>,
}

impl BlockInfo {
    /// For the main block of a program.
    pub fn main(block: &Arc<Block>, sources: &mut Sources) -> BlockInfo {
        BlockInfo::new(block, HashMap::new(), HashMap::new(), None, sources)
    }

    /// For a block, given by its number, of a call of a block that is known.
    pub fn nested(
        outer: &BlockInfo,
        index: usize,
        number: usize,
        block: &Arc<Block>,
        sources: &mut Sources,
    ) -> BlockInfo {
        let Some(call) = outer.block.calls.get(index) else {
            return BlockInfo::main(block, sources);
        };
        let carries = call.op.carries();
        // Which input of the call a parameter is, and which output a result.
        let (params, inputs, results, outputs) = match carries {
            Some(at) => (at.params, at.inputs, at.results, at.outputs),
            None if number == PARTS => (0, 0, 0, 0),
            // Branches take all but what is decided on.
            None => (0, call.inputs.len().saturating_sub(block.n_params), 0, 0),
        };
        let mut states = HashMap::new();
        for param in params..block.n_params {
            let state =
                call.inputs.get(param - params + inputs).and_then(|id| outer.states.get(id));
            states.extend(state.map(|state| (param as ValueId, state.clone())));
        }
        let mut updates = HashMap::new();
        for (result, &id) in block.results.iter().enumerate().skip(results) {
            let k = result - results;
            let carried = carries.filter(|at| k < at.count);
            let of_param = carried.and_then(|at| states.get(&((at.params + k) as ValueId)));
            let output = call.first_output + (k + outputs) as ValueId;
            let state = of_param.or_else(|| outer.updates.get(&output));
            updates.extend(state.map(|state| (id, state.clone())));
        }
        let within = (number == PARTS).then_some((outer, index));
        let mut info = BlockInfo::new(block, states, updates, within, sources);
        for param in params..block.n_params {
            let outside = call.inputs.get(param - params + inputs);
            // What a loop carries is no longer what it was outside, but for states.
            let is_carried = carries.is_some_and(|at| param < at.params + at.count);
            if let Some(name) = outside.and_then(|id| outer.names.get(id)).filter(|_| !is_carried) {
                info.add(param as ValueId, name.clone());
            }
        }
        info.name_trip(call, sources);
        info.pass = call.op.downcast::<ForEach>().and_then(ForEach::trips_of_a_pass);
        info
    }

    /// Names what a loop gives to each trip: what it reads, by its line, and what it carries, by what the trip before
    /// has assigned.
    fn name_trip(&mut self, call: &Call, sources: &mut Sources) {
        let Some(at) = call.op.carries() else { return };
        let given = sources.given(&call.loc.file(), call.loc.line());
        if given.len() == at.params && call.op.reader().is_some() {
            given.into_iter().enumerate().for_each(|(i, name)| self.add(i as ValueId, name));
        }
        for k in 0..at.count {
            let param = (at.params + k) as ValueId;
            let result = self.block.results.get(at.results + k).filter(|&&result| result != param);
            let name = result.and_then(|result| self.names.get(result)).cloned();
            if let Some(name) = name.filter(|_| !self.names.contains_key(&param)) {
                self.add(param, name);
            }
        }
    }

    /// `within` is the block in which a call stands for this one.
    fn new(
        block: &Arc<Block>,
        mut states: HashMap<ValueId, Arc<str>>,
        mut updates: HashMap<ValueId, Arc<str>>,
        within: Option<(&BlockInfo, usize)>,
        sources: &mut Sources,
    ) -> BlockInfo {
        for call in &block.calls {
            if let Some(read) = call.op.downcast::<Read>() {
                states.insert(call.first_output, read.state.clone());
            }
            if let (Some(assign), Some(&id)) = (call.op.downcast::<Assign>(), call.inputs.first()) {
                updates.insert(id, assign.state.clone());
            }
        }
        let mut last_of_line: HashMap<(Arc<str>, u32), usize> = HashMap::new();
        for (index, call) in block.calls.iter().enumerate() {
            each_part(call, &mut |part| {
                if is_step(part) && part.loc.is_known() && part.loc.phase() == Phase::Forward {
                    for loc in lines_of(part.loc) {
                        last_of_line.insert((loc.file(), loc.line()), index);
                    }
                }
            });
        }
        if let Some((outer, index)) = within {
            last_of_line.retain(|line, _| outer.last_of_line.get(line) == Some(&index));
        }
        let mut info = BlockInfo {
            block: block.clone(),
            states,
            updates,
            named: HashMap::new(),
            names: HashMap::new(),
            within: HashMap::new(),
            pass: None,
            last_of_line,
        };
        info.name_all(sources);
        info.name_loops(sources);
        info.find_within(sources);
        info
    }

    /// Names what loops and branches give by what their blocks assign last.
    fn name_loops(&mut self, sources: &mut Sources) {
        let block = self.block.clone();
        for (index, call) in block.calls.iter().enumerate() {
            let blocks = call.op.blocks();
            let Some(first) = blocks.first() else { continue };
            let inner: Vec<BlockInfo> = blocks
                .iter()
                .enumerate()
                .map(|(number, inner)| BlockInfo::nested(self, index, number, inner, sources))
                .collect();
            let (results, outputs) = match call.op.carries() {
                Some(at) => (at.results, at.outputs),
                None => (0, 0),
            };
            for k in results..first.results.len() {
                let id = call.first_output + (k - results + outputs) as ValueId;
                let name_in = |info: &BlockInfo| {
                    info.block.results.get(k).and_then(|result| info.names.get(result)).cloned()
                };
                let name = inner.first().and_then(name_in);
                let is_one = inner.iter().all(|info| name_in(info) == name);
                let is_state = self.updates.contains_key(&id);
                let is_free = call.outputs().contains(&id) && !self.names.contains_key(&id);
                if let Some(name) = name.filter(|_| is_one && is_free && !is_state) {
                    self.add(id, name);
                }
            }
        }
    }

    /// Finds variables that calls bind inside.
    fn find_within(&mut self, sources: &mut Sources) {
        let block = self.block.clone();
        for (index, call) in block.calls.iter().enumerate() {
            let mut lines = Vec::new();
            lines_within(call, &mut lines);
            for loc in lines.into_iter().flat_map(lines_of) {
                let Some(name) = sources.assigned(&loc.file(), loc.line()) else { continue };
                let calls = self.within.entry(name).or_default();
                if calls.last() != Some(&index) {
                    calls.push(index);
                }
            }
        }
    }

    /// Whether a call binds a variable in calls that it was made of, or in its blocks.
    pub fn is_bound_within(&self, name: &str, index: usize) -> bool {
        self.within.get(name).is_some_and(|calls| calls.contains(&index))
    }

    /// All variables that the block binds.
    pub fn bound(&self) -> impl Iterator<Item = &Arc<str>> {
        self.named.keys().chain(self.within.keys())
    }

    /// Where a variable is bound, in the order of execution: 0 for parameters, else the number of the call from 1 on;
    /// and the value, unless it is one inside of the call.
    pub fn bindings(&self, name: &str) -> Vec<(usize, Option<ValueId>)> {
        let mut found: Vec<(usize, Option<ValueId>)> = Vec::new();
        for &id in self.named.get(name).into_iter().flatten() {
            let at = match (id as usize) < self.block.n_params {
                true => 0,
                false => {
                    // Values are numbered in the order of the calls.
                    let calls = &self.block.calls;
                    calls.partition_point(|call| call.first_output <= id)
                }
            };
            found.push((at, Some(id)));
        }
        for &index in self.within.get(name).into_iter().flatten() {
            if !found.iter().any(|(at, _)| *at == index + 1) {
                found.push((index + 1, None));
            }
        }
        found.sort_unstable();
        found
    }

    fn name_all(&mut self, sources: &mut Sources) {
        let block = self.block.clone();
        for (&id, name) in &block.names {
            self.add(id, name.clone());
        }
        for (&id, name) in &self.states {
            self.names.insert(id, name.clone());
        }
        for (index, call) in block.calls.iter().enumerate() {
            for (k, id) in call.outputs().enumerate().filter(|_| is_step(call)) {
                let Some(own) = output_line(call, k) else { continue };
                for (depth, loc) in lines_of(own).enumerate() {
                    let (file, line) = (loc.file(), loc.line());
                    let Some(name) = sources.assigned(&file, line) else { continue };
                    let rest = &block.calls[index + 1..];
                    // What the same line goes on with has no name of its own.
                    let goes_on =
                        |next: &Call| next.inputs.contains(&id) && stands_on(next, &file, line);
                    // What a function gives is what it computes last.
                    let next = || rest.iter().find(|next| is_step(next));
                    let is_last = self.last_of_line.contains_key(&(file.clone(), line))
                        && !rest.iter().any(goes_on)
                        && (depth == 0 || !next().is_some_and(|next| stands_on(next, &file, line)));
                    if is_last {
                        self.add(id, name);
                    }
                }
            }
        }
    }

    fn add(&mut self, id: ValueId, name: Arc<str>) {
        self.named.entry(name.clone()).or_default().push(id);
        self.names.entry(id).or_insert(name);
    }

    /// What to call a value: by its name, or its number.
    pub fn name(&self, id: ValueId) -> String {
        match self.names.get(&id) {
            Some(name) => name.to_string(),
            None => format!("%{id}"),
        }
    }

    /// The values of that name: of a variable, of a state, or by number.
    pub fn values(&self, name: &str) -> Vec<ValueId> {
        let number = name.strip_prefix('%').unwrap_or(name);
        let mut found = self.named.get(number).cloned().unwrap_or_default();
        let by_number = name.strip_prefix('%').and_then(|number| number.parse().ok());
        found.extend(by_number.filter(|&id: &ValueId| (id as usize) < self.block.types.len()));
        found
    }
}

/// Whether people take a call for a step of their program: numbers, reads of states and where random numbers go on are
/// none.
pub fn is_step(call: &Call) -> bool {
    !call.inputs.is_empty() && !matches!(call.op.name(), "rng_next" | "rng_stream")
}

/// Whether a call does something outside of the program, which is not to be done again: a function of the host's
/// language, a file.
pub fn is_outside(call: &Call) -> bool {
    matches!(call.op.name(), "host_call" | "load" | "save")
}

/// Where a call of the forward half was made: its own line, and those that have called the function around it, as long as
/// they stand in a function that is compiled.
pub fn lines_of(loc: Loc) -> impl Iterator<Item = Loc> {
    let callers = std::iter::successors(loc.parent(), |loc| loc.parent());
    let callers = callers.filter(|caller| caller.is_known() && caller.function().is_some());
    std::iter::once(loc).chain(callers)
}

/// Whether a call, or one that it was made of, is a step of the forward half that a line has made, perhaps by a function
/// that it calls.
fn stands_on(call: &Call, file: &str, line: u32) -> bool {
    let mut is_there = false;
    each_part(call, &mut |part| {
        let is_forward = is_step(part) && part.loc.phase() == Phase::Forward;
        is_there |=
            is_forward && lines_of(part.loc).any(|loc| loc.line() == line && *loc.file() == *file);
    });
    is_there
}

/// The lines of the forward half inside of a call: of the calls that it was made of, and of its blocks.
fn lines_within(call: &Call, lines: &mut Vec<Loc>) {
    let inner = call.twin.iter().map(|twin| &**twin);
    let blocks = call.op.blocks();
    for block in inner.chain(blocks.iter().map(|block| &***block)) {
        for part in &block.calls {
            let is_line = is_step(part) && part.loc.is_known();
            if is_line && part.loc.phase() == Phase::Forward && lines.last() != Some(&part.loc) {
                lines.push(part.loc);
            }
            lines_within(part, lines);
        }
    }
}

/// Calls `f` with a call, and those it was made of.
pub fn each_part(call: &Call, f: &mut dyn FnMut(&Call)) {
    f(call);
    if let Some(twin) = &call.twin {
        twin.calls.iter().for_each(|part| each_part(part, f));
    }
}

/// The line at which an output of a call was written, in the forward half.
fn output_line(call: &Call, k: usize) -> Option<Loc> {
    let of_part = |twin: &Arc<Block>| {
        let result = *twin.results.get(k)?;
        let part = twin.calls.iter().find(|part| part.outputs().contains(&result))?;
        output_line(part, (result - part.first_output) as usize)
    };
    match &call.twin {
        Some(twin) => of_part(twin),
        None => Some(call.loc).filter(|loc| loc.is_known() && loc.phase() == Phase::Forward),
    }
}
