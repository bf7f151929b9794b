//! Values that are gone: computed again, from a snapshot, or from the program as it was written.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use fluvial_core::structural::Constant;
use fluvial_core::{
    Call, Error, Loc, Phase, Result, Value, ValueId, Var, bind_at, imperative, no_grad,
};
use fluvial_runtime::attach::Ended;
use fluvial_runtime::{Live, Step};

use super::blocks::{BlockInfo, each_part, is_step, lines_of};
use super::each_call;
use super::halt::Paused;
use super::history::{Run, Snapshot};
use super::inner::Inner;
use super::lane::Lane;
use super::mode::Mode;
use super::pos::Pos;
use super::shared::{Known, Shared};
use super::source::Sources;
use super::view::Bound;

/// From so many snapshots values are sought, going back.
const MAX_SNAPSHOTS: usize = 3;
/// What the compiler has left out is computed by at most so many calls.
const MAX_CALLS: usize = 10_000;

/// What is sought while a part of a run is run again, and what was found.
#[derive(Default)]
pub struct Collected {
    names: Vec<String>,
    /// The lines that bind these names.
    lines: Vec<(Arc<str>, u32)>,
    found: HashMap<String, Value>,
}

impl Collected {
    fn new(names: &[String], known: &Known, sources: &mut Sources) -> Collected {
        let binds = |(file, line): &&(Arc<str>, u32)| {
            let bound = sources.assigned(file, *line);
            bound.is_some_and(|bound| names.iter().any(|name| *name == *bound))
        };
        let lines = known.lines.iter().filter(binds).cloned().collect();
        Collected { names: names.to_vec(), lines, found: HashMap::new() }
    }

    /// Whether one of the calls that a call was made of binds a name that is sought.
    pub fn is_inside(&self, call: &Call) -> bool {
        let mut is_inside = false;
        each_part(call, &mut |part| {
            let loc = part.loc;
            let is_one = |loc: Loc| {
                self.lines.iter().any(|(file, line)| *line == loc.line() && *file == loc.file())
            };
            let is_line = loc.phase() == Phase::Forward && lines_of(loc).any(is_one);
            is_inside |= is_line && !std::ptr::eq(part, call);
        });
        is_inside
    }

    /// Takes a value of a block if it is one that is sought.
    fn take(&mut self, info: &BlockInfo, id: ValueId, value: &Value) {
        for name in &self.names {
            let is_one = match name.strip_prefix('@') {
                Some(state) => info.states.get(&id).is_some_and(|known| **known == *state),
                None => info.named.get(name.as_str()).is_some_and(|ids| ids.contains(&id)),
            };
            if is_one {
                self.found.insert(name.clone(), value.clone());
            }
        }
    }
}

impl Inner {
    /// Takes what a block was given.
    pub fn collect_params(&mut self, live: &Live<'_>) {
        let Some(level) = self.stack.levels.last() else { return };
        if level.index > 0 {
            return;
        }
        for id in 0..level.info.block.n_params as ValueId {
            if let Some(value) = live.get(id) {
                self.collected.take(&level.info, id, value);
            }
        }
    }

    /// Takes what a step has computed.
    pub fn collect_outputs(&mut self, step: &Step<'_>, outputs: &[Value]) {
        let Some(level) = self.stack.levels.last() else { return };
        for (id, value) in (step.first_output..).zip(outputs) {
            self.collected.take(&level.info, id, value);
        }
    }
}

impl Paused<'_, '_> {
    /// The values that variables were bound to last, by name. What is gone is computed again; an error says why it
    /// cannot be had.
    pub fn recall(&mut self, names: &[String]) -> Result<HashMap<String, Value>> {
        let mut recalled = HashMap::new();
        for name in names {
            let value = match self.again(std::slice::from_ref(name))?.remove(name) {
                Some(value) => value,
                None => self.derive(name)?,
            };
            recalled.insert(name.clone(), value);
        }
        Ok(recalled)
    }

    /// Where a variable was bound whose value is gone: before this point.
    fn bound_before(&self, name: &str) -> Pos {
        let levels = &self.inner.stack.levels;
        let innermost = levels.len().saturating_sub(1);
        let is_bound = |depth: &usize| {
            let level = &levels[*depth];
            level.info.bindings(name).iter().any(|(at, _)| *at <= level.index)
        };
        match (0..levels.len()).rev().find(is_bound) {
            // The blocks inside of it have nothing to do with it.
            Some(depth) if depth < innermost && !self.is_rebound(name, depth) => {
                self.inner.stack.pos_at(depth).before()
            }
            _ => self.pos(),
        }
    }

    /// Whether a block further in binds a variable, too, perhaps in an earlier trip.
    fn is_rebound(&self, name: &str, depth: usize) -> bool {
        let inner = &self.inner.stack.levels[depth + 1..];
        inner.iter().any(|level| !level.info.bindings(name).is_empty())
    }

    /// Runs a part of the run again, to get the values that variables had last.
    fn again(&self, names: &[String]) -> Result<HashMap<String, Value>> {
        let until = match names {
            [name] if !name.starts_with('@') => self.bound_before(name),
            _ => self.pos(),
        };
        let (snapshots, runs) = {
            let history = self.lane.history();
            let latest = history.before(&until).map_or(0, |latest| latest + 1);
            let first = latest.saturating_sub(MAX_SNAPSHOTS);
            let snapshots: Vec<Snapshot> =
                history.snapshots.range(first..latest).rev().cloned().collect();
            let runs: Vec<Run> = history.runs.iter().cloned().collect();
            (snapshots, runs)
        };
        let mut found = HashMap::new();
        for snapshot in &snapshots {
            found = self.replay(snapshot, &runs, &until, names)?;
            if names.iter().all(|name| found.contains_key(name)) {
                break;
            }
        }
        Ok(found)
    }

    fn replay(
        &self,
        snapshot: &Snapshot,
        runs: &[Run],
        until: &Pos,
        names: &[String],
    ) -> Result<HashMap<String, Value>> {
        let shared = Arc::new(Shared::default());
        {
            let (control, mut quiet) = (self.shared.control(), shared.control());
            quiet.programs = control.programs.clone();
            quiet.edits = control.edits.clone();
        }
        let lane = Lane::new(shared, self.lane.thread, self.lane.history.clone());
        let mut found = HashMap::new();
        let (mut start, mut trips) =
            (snapshot.start.clone(), (snapshot.trips.clone(), snapshot.steps));
        // What was printed is not printed again.
        fluvial_ops::mute_prints(true);
        let mut state = None;
        for run in runs.iter().filter(|run| run.number >= snapshot.pos.run()) {
            let known = self.shared.control().known(&run.executor);
            let Some(known) = known.filter(|_| run.number <= until.run()) else { break };
            if run.number > snapshot.pos.run() {
                (start, trips) = (run.start.clone(), run.trips.clone());
            }
            // On copies of the states, so that nothing changes.
            let state = match &state {
                Some(state) => state,
                None => {
                    let fork = run.executor.state().fork()?;
                    snapshot.restore(&fork)?;
                    state.insert(fork)
                }
            };
            let executor = run.executor.on(state.clone());
            {
                let mut inner = lane.inner();
                let collected = Collected::new(names, &known, &mut inner.stack.sources);
                inner.collected = collected;
                inner.mode = Mode::Collect { until: until.clone() };
                (inner.is_replay, inner.frontier) = (true, Pos::end());
                inner.has_edits = true;
                inner.stack.begin(run.number, known, trips.clone());
                inner.state = Some(executor.state().clone());
            }
            let wanted = |trip: &fluvial_runtime::Trip<'_>| lane.before_trip(trip, &|| false);
            let ended = executor.stretch(&run.plan, start.clone(), Some(&lane), &wanted);
            let mut inner = lane.inner();
            found.extend(std::mem::take(&mut inner.collected.found));
            if inner.rewind.take().is_some() {
                break;
            }
            drop(inner);
            match ended {
                Ok(Ended::Done(_)) => {}
                Ok(Ended::Suspended(_)) => {
                    fluvial_ops::mute_prints(self.inner.is_replay);
                    return Err(Error::state("it was interrupted"));
                }
                // The run has failed where it is stopped.
                Err(_) => break,
            }
        }
        fluvial_ops::mute_prints(self.inner.is_replay);
        Ok(found)
    }

    /// Computes what the compiler has left out, from the program as it was written.
    fn derive(&mut self, name: &str) -> Result<Value> {
        let Some(known) = self.inner.stack.known.clone() else { return Err(lost(name, "")) };
        let source = known.executor.source();
        let main = Arc::new(source.main.clone());
        let mut sources = Sources::default();
        let mut infos = vec![Arc::new(BlockInfo::main(&main, &mut sources))];
        collect_infos(0, &mut infos, &mut sources);
        let here = self.step.loc;
        let mut best: Option<(Arc<BlockInfo>, ValueId, bool)> = None;
        let mut seen: Vec<(&Arc<BlockInfo>, Loc)> = Vec::new();
        for info in &infos {
            for &id in info.named.get(name).into_iter().flatten() {
                let call = info.block.calls.iter().find(|call| call.outputs().contains(&id));
                // Of several trips that are written one behind the other, nobody knows here which one is under way.
                let is_again = call.is_some_and(|call| {
                    let is_it = |(other, loc): &(&Arc<BlockInfo>, Loc)| {
                        Arc::ptr_eq(other, info) && *loc == call.loc
                    };
                    let is_again = seen.iter().any(is_it);
                    seen.push((info, call.loc));
                    is_again
                });
                if is_again {
                    let why = "its line was written out several times, as a loop of Python is";
                    return Err(lost(name, why));
                }
                let is_before = call.is_some_and(|call| {
                    lines_of(call.loc)
                        .any(|loc| loc.file() == here.file() && loc.line() <= here.line())
                });
                if best.as_ref().is_none_or(|(.., before)| is_before || !before) {
                    best = Some((info.clone(), id, is_before));
                }
            }
        }
        // A number or a tensor that the line writes down.
        let best = best.or_else(|| {
            infos.iter().find_map(|info| {
                let call =
                    info.block.calls.iter().find(|call| binds_constant(call, name, &mut sources));
                call.map(|call| (info.clone(), call.first_output, true))
            })
        });
        let Some((info, id, _)) = best else {
            return Err(lost(name, "no line of the program binds it"));
        };
        let mut done = HashMap::new();
        let mut budget = MAX_CALLS;
        self.compute(&info, id, true, &mut done, &mut budget).map_err(|why| lost(name, &why))
    }

    /// A value of a block of the program as it was written, or why it cannot be had.
    fn compute(
        &mut self,
        info: &BlockInfo,
        id: ValueId,
        is_wanted: bool,
        done: &mut HashMap<ValueId, Value>,
        budget: &mut usize,
    ) -> std::result::Result<Value, String> {
        if let Some(value) = done.get(&id) {
            return Ok(value.clone());
        }
        *budget = budget.checked_sub(1).ok_or("too much would have to be computed again")?;
        let name = info.names.get(&id).cloned();
        let is_one = name.as_ref().is_some_and(|name| {
            // The names of states belong to no variable.
            info.named.get(name).is_some_and(|ids| ids.len() == 1)
        });
        if let Some(name) = name.as_ref().filter(|_| is_one && !is_wanted) {
            if let Bound::Alive(value) = self.view().variable(name) {
                return Ok(value);
            }
            let found = self.again(&[name.to_string()]).ok();
            if let Some(value) = found.and_then(|mut found| found.remove(&**name)) {
                return Ok(value);
            }
        }
        let call = info.block.calls.iter().find(|call| call.outputs().contains(&id)).cloned();
        // What a loop hands its trips, or what the line reads.
        if let Some(state) = info.states.get(&id) {
            let name = format!("@{state}");
            let found = self.again(std::slice::from_ref(&name)).ok();
            let found = found.and_then(|mut found| found.remove(&name));
            return found.ok_or_else(|| format!("it needs the former value of `{name}`"));
        }
        let Some(call) = call else {
            let name = name.map_or(format!("%{id}"), |name| name.to_string());
            return Err(format!("it needs `{name}`, which is given to the block and gone"));
        };
        let properties = call.op.properties();
        if properties.effect || properties.random || !call.op.blocks().is_empty() {
            return Err(format!("it needs `{}`, which is not run again", call.op.name()));
        }
        if call.op.attrs().is_symbolic() {
            return Err("it needs sizes that only the run knows".to_string());
        }
        let mut inputs = Vec::new();
        for &input in &call.inputs {
            inputs.push(Var::new(self.compute(info, input, false, done, budget)?));
        }
        let _scope = (imperative(), no_grad());
        let inputs: Vec<&Var> = inputs.iter().collect();
        let outputs = bind_at(call.op.clone(), &inputs, call.loc)
            .map_err(|error| error.message().to_string())?;
        for (output, var) in call.outputs().zip(&outputs) {
            let value = var.value().map_err(|error| error.message().to_string())?;
            done.insert(output, value.clone());
        }
        done.get(&id).cloned().ok_or_else(|| "an op has lost an output".to_string())
    }

    /// The names of all variables that the user's function has bound so far.
    pub fn bound_names(&self) -> Vec<String> {
        let view = self.view();
        let mut names: Vec<String> = Vec::new();
        for level in &self.inner.stack.levels {
            let bound = level.info.bound().filter(|name| !name.contains('.'));
            let bound = bound.filter(|name| !matches!(view.variable(name), Bound::Unbound));
            names.extend(bound.map(|name| name.to_string()));
        }
        names.extend(self.dropped_names());
        names.sort();
        names.dedup();
        names
    }

    /// The variables that lines before this one of the same function bind, of which the compiler has left nothing.
    fn dropped_names(&self) -> Vec<String> {
        let here = self.step.loc;
        let Some(known) = &self.inner.stack.known else { return Vec::new() };
        let mut sources = Sources::default();
        let mut names = Vec::new();
        let is_before = |call: &Call, loc: Loc| {
            call.loc.phase() == Phase::Forward
                && (is_step(call) || is_constant(call) && loc == call.loc)
                && loc.is_known()
                && loc.file() == here.file()
                && loc.function() == here.function()
                && loc.line() < here.line()
        };
        let mut stepped = HashSet::new();
        let mut constants = Vec::new();
        let mut visit = |call: &Call| {
            for loc in lines_of(call.loc) {
                if is_step(call) && call.loc.phase() == Phase::Forward {
                    stepped.insert((loc.file(), loc.line()));
                }
                if is_before(call, loc) {
                    let name = sources.assigned(&loc.file(), loc.line());
                    let found = if is_step(call) { &mut names } else { &mut constants };
                    found.extend(name.map(|name| (name.to_string(), (loc.file(), loc.line()))));
                }
            }
        };
        each_call(&known.executor.source().main, &mut visit);
        constants.retain(|(_, line)| !stepped.contains(line));
        names.into_iter().chain(constants).map(|(name, _)| name).collect()
    }
}

/// Whether a call writes a number or a tensor down.
fn is_constant(call: &Call) -> bool {
    call.op.downcast::<Constant>().is_some()
}

/// Whether a call writes down what its line assigns to a variable.
fn binds_constant(call: &Call, name: &str, sources: &mut Sources) -> bool {
    is_constant(call)
        && call.loc.is_known()
        && call.loc.phase() == Phase::Forward
        && sources.assigned(&call.loc.file(), call.loc.line()).is_some_and(|bound| *bound == *name)
}

/// Adds what is known of the blocks in a block.
fn collect_infos(at: usize, infos: &mut Vec<Arc<BlockInfo>>, sources: &mut Sources) {
    let outer = infos[at].clone();
    for (index, call) in outer.block.calls.iter().enumerate() {
        for (number, inner) in call.op.blocks().iter().enumerate() {
            infos.push(Arc::new(BlockInfo::nested(&outer, index, number, inner, sources)));
            collect_infos(infos.len() - 1, infos, sources);
        }
    }
}

fn lost(name: &str, why: &str) -> Error {
    let why = if why.is_empty() { "" } else { &format!(": {why}") };
    Error::state(format!("`{name}` is gone here, and cannot be computed again{why}"))
        .remedy("stop at the line that binds it, or return it from the function")
}
