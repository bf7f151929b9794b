//! From the program of one process to that of trainers and that of parameter servers.
//!
//! Trainers compute gradients and send them; servers keep the states that an update changes, cut into parts, average what all
//! trainers send, update, and send parameters back. The block that trains is taken apart by what its values depend on:
//! on the data, which trainers have; or on averages and on what optimizers remember, which servers have.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fluvial_core::structural::{Assign, Constant, Note, Read};
use fluvial_core::{
    Block, Call, DType, Error, Loc, OpRef, Phase, Program, Ranks, Result, Rewrite, Role, StateDecl,
    Tensor, Type, ValueId, map_blocks, verify,
};
use fluvial_data::Reader;
use fluvial_ops::control::{Cond, ForEach, While};
use fluvial_ops::ranks::{
    AllReduce, Announce, BroadcastFrom, CollectParts, PullParts, PushParts, ServeParts, StepsLeft,
};

use super::facts::Want;
use super::forms::can_be_cut;
use super::parts::{Cut, with_parts};
use super::{Distribution, Strategy, data_parallel, planned};
use crate::driver::Patches;
use crate::passes::{carried, dead};

/// How many ranks are trainers, the first ones, and how many parameter servers, the last ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Those that compute gradients.
    pub trainers: usize,
    /// Those that keep states.
    pub servers: usize,
    /// Whether a program without a loop is run again and again by trainers, while servers run theirs once, until trainers
    /// say that they make no further step. Else both run theirs equally often.
    pub until_closed: bool,
    /// Whether startup blocks bring the parameters of rank 0 to all others. Else whoever runs the programs does.
    pub broadcasts: bool,
}

impl Sides {
    /// So many, which run their programs equally often.
    pub fn new(trainers: usize, servers: usize) -> Sides {
        Sides { trainers, servers, until_closed: false, broadcasts: true }
    }
}

/// The program of each trainer and that of each parameter server.
#[derive(Clone, Debug)]
pub struct Served {
    /// Of the first ranks.
    pub trainer: Program,
    /// Of the last ones.
    pub server: Program,
}

/// The first tag of what servers send; lower ones are of what trainers send.
const BACK: usize = 16_000;

/// The programs of trainers and of parameter servers, which update when all trainers have sent their gradients. Gradients are
/// sent together until they have `bucket` bytes.
pub fn distribute_to_servers(program: &Program, sides: Sides, bucket: usize) -> Result<Served> {
    if sides.trainers == 0 || sides.servers == 0 {
        return Err(Error::argument("there has to be a trainer and a parameter server at least")
            .remedy("use more ranks than parameter servers"));
    }
    let options = Distribution { bucket, ..Distribution::new(Strategy::DataParallel) };
    // Outputs are each trainer's own.
    let (spread, parameters) = data_parallel(program, &options, Want::Any)?;
    let path = path(&spread.main)?;
    let site = Site::of(&spread, &path)?;
    let split = Split::of(&site, &spread)?;
    let mut trainer = trainer(&spread, &path, &site, &split, sides)?;
    let mut server = server(&spread, &path, &site, &split, sides)?;
    check_unused(&spread, &split)?;
    let shared = if sides.broadcasts { split.parameters.clone() } else { BTreeSet::new() };
    for side in [&mut trainer, &mut server] {
        with_initial_values(side, program, &shared)?;
    }
    let is_cut = |name: &&Arc<str>| {
        server.states.get(*name).is_some_and(|decl| {
            decl.role != Role::Counter && can_be_cut(&decl.ty) && parameters.contains(&decl.ty)
        })
    };
    let states = split.served.iter().filter(is_cut).cloned().collect();
    verify(&trainer)?;
    verify(&server)?;
    let plan = planned(&server, &parameters, Want::Any)?;
    let cut = Cut { parts: sides.servers, first: sides.trainers, bucket };
    let server = with_parts(&server, &plan, &states, cut)?;
    verify(&server)?;
    Ok(Served { trainer, server })
}

/// An error if a state that servers keep has a value here: it would be lost.
fn check_unused(program: &Program, split: &Split) -> Result<()> {
    let has_value = |name: &&Arc<str>| {
        let cell = program.states.get(*name).and_then(|decl| decl.cell.as_ref());
        cell.is_some_and(fluvial_core::Cell::has_value)
    };
    match split.served.iter().find(has_value) {
        None => Ok(()),
        Some(name) => Err(Error::state(format!("`{name}` has a value already, which servers would not have"))
            .remedy("spread the program before its first step, or save it with its states and run it from its file")),
    }
}

fn refused(what: &str, loc: Loc) -> Error {
    Error::program(format!("{what}, so that parameter servers cannot update"))
        .remedy("spread it by `dp` or `zero1`")
        .at(loc)
}

/// Whether an exchange of the block itself leads to something else than its results.
fn updates(block: &Block) -> bool {
    let exchanged: BTreeSet<ValueId> = block
        .calls
        .iter()
        .filter(|call| call.op.downcast::<AllReduce>().is_some())
        .flat_map(Call::outputs)
        .collect();
    block.calls.iter().any(|call| call.inputs.iter().any(|id| exchanged.contains(id)))
}

fn updates_within(block: &Block) -> bool {
    updates(block)
        || block.calls.iter().any(|call| call.op.blocks().iter().any(|b| updates_within(b)))
}

/// The loops around the block that trains: by block, the number of the call.
fn path(block: &Block) -> Result<Vec<usize>> {
    let has = |call: &Call| call.op.blocks().iter().any(|inner| updates_within(inner));
    let inner: Vec<usize> =
        (0..block.calls.len()).filter(|&index| has(&block.calls[index])).collect();
    match (updates(block), &inner[..]) {
        (true, []) => Ok(Vec::new()),
        (false, [index]) => {
            let call = &block.calls[*index];
            let body =
                loop_body(call).ok_or_else(|| refused("an update stands in a branch", call.loc))?;
            let mut path = vec![*index];
            path.extend(self::path(body)?);
            Ok(path)
        }
        (_, [.., last]) => {
            Err(refused("the program updates at several places", block.calls[*last].loc))
        }
        (false, []) => Err(Error::program("the program trains nothing")),
    }
}

fn loop_body(call: &Call) -> Option<&Arc<Block>> {
    let carries = call.op.carries()?;
    match call.op.blocks()[..] {
        [body] if call.n_outputs == carries.outputs + carries.count => Some(body),
        _ => None,
    }
}

/// What a value of the block that trains is, seen from outside.
#[derive(Clone)]
enum Given {
    State(Arc<str>),
    /// What a call without inputs gives.
    Made(Call, Type),
}

/// The block that trains.
struct Site {
    block: Block,
    given: HashMap<ValueId, Given>,
    /// The next values of states.
    next: Vec<(Arc<str>, ValueId)>,
    /// By result: the state of which it is the next value.
    results: Vec<Option<Arc<str>>>,
}

impl Site {
    fn of(program: &Program, path: &[usize]) -> Result<Site> {
        let main = &program.main;
        let mut given = HashMap::new();
        let mut next = Vec::new();
        for call in &main.calls {
            if let Some(read) = call.op.downcast::<Read>() {
                given.insert(call.first_output, Given::State(read.state.clone()));
            } else if let Some(assign) = call.op.downcast::<Assign>() {
                next.push((assign.state.clone(), call.inputs[0]));
            }
        }
        let results = vec![None; main.results.len()];
        // Of several values that a state is assigned, the last one stays.
        let last =
            |at: usize, name: &Arc<str>| next[at + 1..].iter().all(|(later, _)| later != name);
        let next: Vec<(Arc<str>, ValueId)> = (0..next.len())
            .filter(|&at| last(at, &next[at].0))
            .map(|at| next[at].clone())
            .collect();
        let mut site = Site { block: main.clone(), given, next, results };
        for &index in path {
            site = site.within(index)?;
        }
        Ok(site)
    }

    /// The body of a loop.
    fn within(&self, index: usize) -> Result<Site> {
        let call = &self.block.calls[index];
        let lost = || refused("a loop is not known here", call.loc);
        let carries = call.op.carries().ok_or_else(lost)?;
        let body = loop_body(call).ok_or_else(lost)?;
        let (mut given, mut next) = (HashMap::new(), Vec::new());
        let mut results = vec![None; body.results.len()];
        for (place, &id) in call.inputs[carries.inputs..].iter().enumerate() {
            let param = (carries.params + place) as ValueId;
            let output = call.first_output + (carries.outputs + place) as ValueId;
            let assigned = self.next.iter().find(|(_, value)| *value == output);
            let begins = self.given.get(&id).cloned().or_else(|| self.made(id));
            match (place < carries.count, assigned, begins) {
                (true, Some((name, _)), Some(Given::State(first))) if first == *name => {
                    let result = carries.results + place;
                    given.insert(param, Given::State(name.clone()));
                    next.push((name.clone(), body.results[result]));
                    results[result] = Some(name.clone());
                }
                (false, _, Some(begins)) => {
                    given.insert(param, begins);
                }
                _ => {}
            }
        }
        Ok(Site { block: (**body).clone(), given, next, results })
    }

    /// What makes a value, if that needs nothing.
    fn made(&self, id: ValueId) -> Option<Given> {
        let call = self.block.calls.iter().find(|call| call.outputs().contains(&id))?;
        let properties = call.op.properties();
        let is_plain = call.inputs.is_empty()
            && call.n_outputs == 1
            && !properties.effect
            && !properties.random
            && call.op.ranks().is_none();
        is_plain.then(|| Given::Made(call.clone(), self.block.types[id as usize]))
    }
}

/// Whether the next value of a state follows from itself and from constants: a counter, as of a schedule.
fn counts(site: &Site, name: &Arc<str>, id: ValueId) -> bool {
    if let Some(given) = site.given.get(&id) {
        return matches!(given, Given::Made(..))
            || matches!(given, Given::State(known) if known == name);
    }
    maker(&site.block, id).is_some_and(|call| {
        let properties = call.op.properties();
        !properties.effect
            && !properties.random
            && call.op.ranks().is_none()
            && call.inputs.iter().all(|&input| counts(site, name, input))
    })
}

/// It depends on what trainers have.
const LOCAL: u8 = 1;
/// It depends on what servers have.
const SERVER: u8 = 2;

/// Who computes what.
struct Split {
    /// The states that servers keep.
    served: BTreeSet<Arc<str>>,
    parameters: BTreeSet<Arc<str>>,
    /// By value.
    flags: Vec<u8>,
    /// Values that trainers get from servers.
    pulled: BTreeSet<ValueId>,
    /// By value: whether servers need it.
    of_server: Vec<bool>,
    /// The last exchange.
    last: usize,
}

impl Split {
    fn of(site: &Site, program: &Program) -> Result<Split> {
        let block = &site.block;
        let role = |name: &Arc<str>| program.states.get(name).map(|decl| decl.role);
        let made_by = |id: ValueId| block.calls.iter().find(|call| call.outputs().contains(&id));
        let is_served = |(name, id): &&(Arc<str>, ValueId)| match (role(name), made_by(*id)) {
            (Some(Role::Parameter | Role::Optimizer), Some(_)) => true,
            (Some(Role::Counter), Some(call)) => {
                call.loc.phase() == Phase::Optimizer || counts(site, name, *id)
            }
            _ => false,
        };
        let served: BTreeSet<Arc<str>> =
            site.next.iter().filter(is_served).map(|(name, _)| name.clone()).collect();
        let is_parameter = |name: &&Arc<str>| role(name) == Some(Role::Parameter);
        let parameters = served.iter().filter(is_parameter).cloned().collect();
        let last = block.calls.iter().rposition(|call| call.op.downcast::<AllReduce>().is_some());
        let mut split = Split {
            served,
            parameters,
            flags: Vec::new(),
            pulled: BTreeSet::new(),
            of_server: vec![false; block.types.len()],
            last: last.unwrap_or(0),
        };
        split.mark(site);
        split.find_pulled(site)?;
        split.find_served(site)?;
        split.check_order(block)?;
        Ok(split)
    }

    fn of_state(&self, name: &Arc<str>, site: &Site) -> u8 {
        match self.served.contains(name) {
            true if self.parameters.contains(name) => 0,
            true => SERVER,
            false if site.next.iter().any(|(assigned, _)| assigned == name) => LOCAL,
            false => 0,
        }
    }

    fn mark(&mut self, site: &Site) {
        let block = &site.block;
        self.flags = vec![0; block.types.len()];
        for id in 0..block.n_params as ValueId {
            self.flags[id as usize] = match site.given.get(&id) {
                Some(Given::State(name)) => self.of_state(name, site),
                Some(Given::Made(..)) => 0,
                None => LOCAL,
            };
        }
        for call in &block.calls {
            let flag = if let Some(read) = call.op.downcast::<Read>() {
                self.of_state(&read.state, site)
            } else if call.op.downcast::<AllReduce>().is_some() {
                SERVER
            } else {
                let all = call.inputs.iter().fold(0, |all, &id| all | self.flags[id as usize]);
                let is_own = call.op.properties().effect
                    || matches!(call.op.ranks(), Some(Ranks::Differ | Ranks::Once));
                if is_own { all | LOCAL } else { all }
            };
            call.outputs().for_each(|id| self.flags[id as usize] = flag);
        }
    }

    /// Finds what trainers need of servers.
    fn find_pulled(&mut self, site: &Site) -> Result<()> {
        let block = &site.block;
        let mut need = vec![false; block.types.len()];
        for (&id, state) in block.results.iter().zip(&site.results) {
            if state.as_ref().is_none_or(|name| !self.served.contains(name)) {
                self.want(id, &mut need);
            }
        }
        for call in block.calls.iter().rev() {
            let is_needed = match stated(call) {
                Some(name) => !self.served.contains(name) && call.op.downcast::<Read>().is_none(),
                None => call.op.properties().effect || call.outputs().any(|id| need[id as usize]),
            };
            if is_needed {
                call.inputs.iter().for_each(|&id| self.want(id, &mut need));
            }
        }
        for (name, id) in site.next.iter().filter(|(name, _)| self.parameters.contains(name)) {
            if self.flags[*id as usize] & LOCAL != 0 {
                let loc = maker(block, *id).map_or(Loc::Unknown, |call| call.loc);
                let what = format!("the update of `{name}` depends on what only a trainer has");
                return Err(refused(&what, loc));
            }
            self.pulled.insert(*id);
        }
        for &id in &self.pulled {
            let ty = &block.types[id as usize];
            if ty.is_list() || ty.dtype().is_bool() || ty.numel().is_none() {
                let loc = maker(block, id).map_or(Loc::Unknown, |call| call.loc);
                return Err(refused(&format!("a trainer needs {ty} of a server"), loc));
            }
        }
        Ok(())
    }

    fn want(&mut self, id: ValueId, need: &mut [bool]) {
        match self.flags[id as usize] == SERVER {
            true => {
                self.pulled.insert(id);
            }
            false => need[id as usize] = true,
        }
    }

    /// Finds what servers compute.
    fn find_served(&mut self, site: &Site) -> Result<()> {
        let block = &site.block;
        let next = site.next.iter().filter(|(name, _)| self.served.contains(name));
        for id in next.map(|(_, id)| *id).chain(self.pulled.iter().copied()) {
            self.of_server[id as usize] = true;
        }
        for call in block.calls.iter().rev() {
            if !call.outputs().any(|id| self.of_server[id as usize])
                || call.op.downcast::<AllReduce>().is_some()
            {
                continue;
            }
            for &id in &call.inputs {
                if self.flags[id as usize] & LOCAL != 0 {
                    return Err(refused("an update depends on what only a trainer has", call.loc));
                }
                self.of_server[id as usize] = true;
            }
        }
        Ok(())
    }

    /// What comes from servers is there behind the last exchange.
    fn check_order(&self, block: &Block) -> Result<()> {
        for call in &block.calls[..self.last] {
            let is_own = call.outputs().any(|id| self.flags[id as usize] & LOCAL != 0);
            let is_early = call.inputs.iter().any(|id| self.pulled.contains(id));
            if is_own && is_early && call.op.downcast::<AllReduce>().is_none() {
                return Err(refused("a forward pass depends on what only servers have", call.loc));
            }
        }
        Ok(())
    }

    /// What is pulled, by element type.
    fn by_dtype(&self, block: &Block) -> Vec<(DType, Vec<ValueId>)> {
        let mut groups: Vec<(DType, Vec<ValueId>)> = Vec::new();
        for &id in &self.pulled {
            let dtype = block.types[id as usize].dtype();
            match groups.iter_mut().find(|(known, _)| *known == dtype) {
                Some((_, ids)) => ids.push(id),
                None => groups.push((dtype, vec![id])),
            }
        }
        groups
    }
}

/// The state that a call reads, assigns or notes.
fn stated(call: &Call) -> Option<&Arc<str>> {
    let name = call.op.downcast::<Read>().map(|op| &op.state);
    let name = name.or_else(|| call.op.downcast::<Assign>().map(|op| &op.state));
    name.or_else(|| call.op.downcast::<Note>().map(|op| &op.state))
}

fn maker(block: &Block, id: ValueId) -> Option<&Call> {
    block.calls.iter().find(|call| call.outputs().contains(&id))
}

/// The numbers of the calls that exchange what servers need, with these outputs.
fn exchanges<'a>(
    block: &'a Block,
    split: &'a Split,
) -> impl Iterator<Item = (usize, Vec<usize>)> + 'a {
    block.calls.iter().enumerate().filter_map(|(index, call)| {
        call.op.downcast::<AllReduce>()?;
        let is_needed = |&k: &usize| split.of_server[call.first_output as usize + k];
        let places: Vec<usize> = (0..call.n_outputs).filter(is_needed).collect();
        (!places.is_empty()).then_some((index, places))
    })
}

fn trainer(
    spread: &Program,
    path: &[usize],
    site: &Site,
    split: &Split,
    sides: Sides,
) -> Result<Program> {
    let body = trainer_block(site, split, sides, !path.is_empty() || sides.until_closed)?;
    let main = match path {
        [] => body,
        _ => around(&spread.main, path, &Arc::new(body), split, Some(sides))?,
    };
    let main = among(&pruned(&main)?, sides.trainers as u64)?;
    let names: BTreeSet<&Arc<str>> = main.calls.iter().filter_map(stated).collect();
    let states = spread.states.iter().filter(|(name, _)| names.contains(name));
    let states = states.map(|(name, decl)| (name.clone(), decl.clone())).collect();
    Ok(Program { states, main, ..spread.clone() })
}

/// The block that trains, without updates.
fn trainer_block(site: &Site, split: &Split, sides: Sides, is_loop: bool) -> Result<Block> {
    let Sides { trainers, servers, .. } = sides;
    let block = &site.block;
    let mut on = Rewrite::new(block.param_types());
    let mut new: HashMap<ValueId, ValueId> = HashMap::new();
    let is_own = |id: ValueId| split.flags[id as usize] != SERVER;
    new.extend((0..block.n_params as ValueId).filter(|&id| is_own(id)).map(|id| (id, id)));
    let sent: HashMap<usize, (usize, Vec<usize>)> = exchanges(block, split)
        .enumerate()
        .map(|(tag, (index, places))| (index, (tag, places)))
        .collect();
    for (index, call) in block.calls.iter().enumerate() {
        on.set_loc(call.loc);
        if let Some((tag, places)) = sent.get(&index) {
            if is_loop && *tag == 0 {
                on.call(Announce { trainers, servers, more: true }, &[])?;
            }
            let inputs: Vec<ValueId> = places.iter().map(|&k| new[&call.inputs[k]]).collect();
            on.call(PushParts { trainers, servers, tag: *tag }, &inputs)?;
        }
        if index == split.last {
            for (group, (_, ids)) in split.by_dtype(block).into_iter().enumerate() {
                let types = ids.iter().map(|&id| block.types[id as usize]).collect();
                let tag = BACK + group;
                let pulled = on.call(PullParts { trainers, servers, types, tag }, &[])?;
                new.extend(ids.into_iter().zip(pulled));
            }
        }
        let state = stated(call).filter(|name| split.served.contains(*name));
        let is_left = match state {
            Some(name) => {
                call.op.downcast::<Assign>().is_none() && call.op.downcast::<Read>().is_none()
                    || !split.parameters.contains(name)
            }
            None => call.op.downcast::<AllReduce>().is_some(),
        };
        let inputs: Option<Vec<ValueId>> =
            call.inputs.iter().map(|id| new.get(id).copied()).collect();
        let known = call.outputs().any(|id| new.contains_key(&id));
        if let (Some(inputs), false, false) = (inputs, is_left, known) {
            let outputs = on.push_like(call, &inputs, block.output_types(call));
            new.extend(call.outputs().zip(outputs));
        }
    }
    let mut results = Vec::new();
    for (place, (id, state)) in block.results.iter().zip(&site.results).enumerate() {
        let kept = state
            .as_ref()
            .filter(|name| split.served.contains(*name) && !split.parameters.contains(*name));
        let given = kept.and_then(|name| {
            let is_it = |(_, given): &(&ValueId, &Given)| matches!(given, Given::State(known) if known == name);
            site.given.iter().find(is_it).map(|(&param, _)| param)
        });
        let value = given.or_else(|| new.get(id).copied());
        results.push(value.ok_or_else(|| {
            Error::internal(format!("result {place} of the block that trains is on no side"))
        })?);
    }
    for (id, name) in block.names.iter().filter(|(id, _)| is_own(**id)) {
        if let Some(&value) = new.get(id) {
            on.name(value, name);
        }
    }
    Ok(on.finish(results))
}

/// The blocks around the one that trains, with another one in its place. Trainers say when they have made all steps.
fn around(
    block: &Block,
    path: &[usize],
    body: &Arc<Block>,
    split: &Split,
    sides: Option<Sides>,
) -> Result<Block> {
    let [at, rest @ ..] = path else { return Ok((**body).clone()) };
    let mut on = Rewrite::new(block.param_types());
    let mut new: Vec<ValueId> = (0..block.n_params as ValueId).collect();
    new.resize(block.types.len(), ValueId::MAX);
    for (index, call) in block.calls.iter().enumerate() {
        on.set_loc(call.loc);
        let inputs: Vec<ValueId> = call.inputs.iter().map(|&id| new[id as usize]).collect();
        if call.op.downcast::<AllReduce>().is_some() {
            // A number among the outputs is each trainer's own.
            let is_output = |id: ValueId| {
                block.results.contains(&id)
                    && !block.calls.iter().any(|other| other.inputs.contains(&id))
            };
            if !call.outputs().all(is_output) {
                return Err(refused(
                    "averages are needed outside of the loop that trains",
                    call.loc,
                ));
            }
            call.outputs().zip(inputs).for_each(|(id, value)| new[id as usize] = value);
            continue;
        }
        let is_gone =
            |name: &&Arc<str>| split.served.contains(*name) && !split.parameters.contains(*name);
        if call.op.downcast::<Assign>().is_some() && stated(call).filter(is_gone).is_some() {
            continue;
        }
        let op: OpRef = match index == *at {
            true => {
                let inner = loop_body(call).map(|body| &**body).unwrap_or(block);
                let inner = Arc::new(around(inner, rest, body, split, None)?);
                map_blocks(&call.op, &mut |_| Ok(inner.clone()))?
            }
            false => call.op.clone(),
        };
        let outputs = on.push(op, &inputs, block.output_types(call), call.loc);
        call.outputs().zip(outputs).for_each(|(id, value)| new[id as usize] = value);
        if let Some(Sides { trainers, servers, .. }) = sides.filter(|_| index == *at) {
            on.call(Announce { trainers, servers, more: false }, &[])?;
        }
    }
    let names = block.names.iter().filter(|(id, _)| !served_name(block, **id, split));
    for (id, name) in names.filter(|(id, _)| new[**id as usize] != ValueId::MAX) {
        on.name(new[*id as usize], name);
    }
    Ok(on.finish(block.results.iter().map(|&id| new[id as usize]).collect()))
}

/// Whether a value is what is read of a state that trainers do not have.
fn served_name(block: &Block, id: ValueId, split: &Split) -> bool {
    maker(block, id).and_then(stated).is_some_and(|name| split.served.contains(name))
}

/// Servers do not read: a part of the data is one among trainers.
fn among(block: &Block, trainers: u64) -> Result<Block> {
    block.rewrite(|on, _, call| {
        if call.op.blocks().is_empty() {
            return Ok(None);
        }
        let mut op = map_blocks(&call.op, &mut |inner| among(inner, trainers).map(Arc::new))?;
        if let Some(found) = op.downcast::<ForEach>() {
            let reader: Reader = found.reader.parse()?;
            let reader = reader.among(trainers).to_string().into();
            op = OpRef::new(ForEach { reader, ..found.clone() });
        }
        Ok(Some(on.push(op, &call.inputs, block.output_types(call), call.loc)))
    })
}

/// Without what nothing needs.
fn pruned(block: &Block) -> Result<Block> {
    let mut patches = Patches::default();
    let inner = block.rewrite(|on, _, call| match loop_body(call) {
        Some(body) => {
            let body = Arc::new(dead::run(body, &mut Patches::default())?);
            let op = map_blocks(&call.op, &mut |_| Ok(body.clone()))?;
            Ok(Some(on.push(op, &call.inputs, block.output_types(call), call.loc)))
        }
        None => Ok(None),
    })?;
    dead::run(&carried::run(&inner, &mut patches)?, &mut patches)
}

fn server(
    spread: &Program,
    path: &[usize],
    site: &Site,
    split: &Split,
    sides: Sides,
) -> Result<Program> {
    let block = &site.block;
    let served: Vec<Arc<str>> = split.served.iter().cloned().collect();
    let mut others: BTreeSet<Arc<str>> = BTreeSet::new();
    for (&id, given) in &site.given {
        if let (Given::State(name), true) = (given, split.of_server[id as usize]) {
            others.insert(name.clone());
        }
    }
    let others: Vec<Arc<str>> =
        others.into_iter().filter(|name| !split.served.contains(name)).collect();
    let names: Vec<Arc<str>> = served.iter().chain(&others).cloned().collect();
    let types: Vec<Type> = names.iter().map(|name| spread.states[name].ty).collect();
    let step = server_block(site, split, sides, &names, &types, &served)?;
    let loc = block.calls.get(split.last).map_or(Loc::Unknown, |call| call.loc);
    let mut on = Rewrite::new(&[]);
    on.set_loc(loc);
    let mut values = Vec::new();
    for (state, &ty) in names.iter().zip(&types) {
        values.push(on.call1(Read { state: state.clone(), ty }, &[])?);
    }
    let next: Vec<ValueId> = if path.is_empty() && !sides.until_closed {
        inlined(&mut on, &step, &values)
    } else {
        let body = serving(&Arc::new(step), &types, served.len(), sides)?;
        let always = on.call1(Constant { value: Tensor::scalar(true) }, &[])?;
        let inputs: Vec<ValueId> = std::iter::once(always).chain(values).collect();
        on.call(while_of(body, served.len()), &inputs)?.to_vec()
    };
    for (state, value) in served.iter().zip(next) {
        on.call(Assign { state: state.clone() }, &[value])?;
    }
    let unbound = |name: &Arc<str>| {
        let decl = &spread.states[name];
        (name.clone(), StateDecl::new(decl.ty, decl.role))
    };
    let states: BTreeMap<Arc<str>, StateDecl> = names.iter().map(unbound).collect();
    Ok(Program { states, main: on.finish(Vec::new()), ..Program::default() })
}

fn while_of(body: Block, n_carried: usize) -> While {
    While {
        body: Arc::new(body),
        n_carried,
        same: vec![],
        reverses: vec![],
        wanted: vec![],
        given: vec![],
        seeds: vec![],
        found: vec![],
        of_run: vec![],
        next: vec![],
        residuals: vec![],
    }
}

/// The calls of a block, on these values; gives its results.
fn inlined(on: &mut Rewrite, block: &Block, values: &[ValueId]) -> Vec<ValueId> {
    let mut new: Vec<ValueId> = values.to_vec();
    new.resize(block.types.len(), ValueId::MAX);
    block.calls.iter().for_each(|call| on.copy(block, call, &mut new));
    block.results.iter().map(|&id| new[id as usize]).collect()
}

/// A trip of a server: a step, if trainers make one.
fn serving(step: &Arc<Block>, types: &[Type], n_served: usize, sides: Sides) -> Result<Block> {
    let Sides { trainers, servers, .. } = sides;
    let loc = step.calls.last().map_or(Loc::Unknown, |call| call.loc);
    let otherwise = Rewrite::new(types).finish((0..n_served as ValueId).collect());
    let mut on = Rewrite::new(types);
    on.set_loc(loc);
    let more = on.call1(StepsLeft { trainers, servers }, &[])?;
    let choice = Cond {
        branches: vec![step.clone(), Arc::new(otherwise)],
        n_results: n_served,
        reverses: vec![],
        wanted: vec![],
        given: vec![],
        found: vec![],
        of_run: vec![],
        residuals: vec![],
        lists: vec![],
    };
    let inputs: Vec<ValueId> = std::iter::once(more).chain(0..types.len() as ValueId).collect();
    let next = on.call(choice, &inputs)?;
    Ok(on.finish(std::iter::once(more).chain(next).collect()))
}

/// A step of a server, from states to the next values of those that it keeps.
fn server_block(
    site: &Site,
    split: &Split,
    sides: Sides,
    names: &[Arc<str>],
    types: &[Type],
    served: &[Arc<str>],
) -> Result<Block> {
    let Sides { trainers, servers, .. } = sides;
    let block = &site.block;
    let mut on = Rewrite::new(types);
    let mut new: HashMap<ValueId, ValueId> = HashMap::new();
    for (&id, given) in site.given.iter().filter(|(id, _)| split.of_server[**id as usize]) {
        if let Given::State(name) = given
            && let Some(place) = names.iter().position(|known| known == name)
        {
            new.insert(id, place as ValueId);
        }
    }
    let mut made: Vec<(ValueId, &Call, Type)> = Vec::new();
    for (&id, given) in site.given.iter().filter(|(id, _)| split.of_server[**id as usize]) {
        if let Given::Made(call, ty) = given {
            made.push((id, call, *ty));
        }
    }
    made.sort_unstable_by_key(|(id, _, _)| *id);
    for (id, call, ty) in made {
        new.insert(id, on.push(call.op.clone(), &[], &[ty], call.loc)[0]);
    }
    let collected: HashMap<usize, (usize, Vec<usize>)> = exchanges(block, split)
        .enumerate()
        .map(|(tag, (index, places))| (index, (tag, places)))
        .collect();
    for (index, call) in block.calls.iter().enumerate() {
        on.set_loc(call.loc);
        if let (Some((tag, places)), Some(op)) =
            (collected.get(&index), call.op.downcast::<AllReduce>())
        {
            let types = places.iter().map(|&k| block.output_types(call)[k]).collect();
            let (how, tag, cut) = (op.how, *tag, false);
            let outputs = on.call(CollectParts { trainers, servers, how, types, cut, tag }, &[])?;
            for (&k, value) in places.iter().zip(outputs) {
                new.insert(call.first_output + k as ValueId, value);
            }
            continue;
        }
        if stated(call).is_some() || !call.outputs().any(|id| split.of_server[id as usize]) {
            continue;
        }
        let inputs: Option<Vec<ValueId>> =
            call.inputs.iter().map(|id| new.get(id).copied()).collect();
        let inputs = inputs
            .ok_or_else(|| refused("an update depends on what servers do not have", call.loc))?;
        let outputs = on.push_like(call, &inputs, block.output_types(call));
        new.extend(call.outputs().zip(outputs));
    }
    for (group, (_, ids)) in split.by_dtype(block).into_iter().enumerate() {
        let values: Vec<ValueId> = ids.iter().map(|id| new[id]).collect();
        on.call(ServeParts { trainers, servers, tag: BACK + group }, &values)?;
    }
    let mut results = Vec::new();
    for name in served {
        let next = site.next.iter().find(|(known, _)| known == name).map(|(_, id)| id);
        let value = next.and_then(|id| new.get(id).copied());
        results.push(value.ok_or_else(|| Error::internal("a state has no next value"))?);
    }
    Ok(on.finish(results))
}

/// Adds the startup block of a side, and states that only this reads, such as a random stream. Shared states are those of
/// rank 0 on both sides.
fn with_initial_values(
    side: &mut Program,
    program: &Program,
    shared: &BTreeSet<Arc<str>>,
) -> Result<()> {
    let startup = &program.startup;
    let kept = loop {
        let kept = needed_for(startup, &side.states);
        let calls = startup.calls.iter().zip(&kept).filter(|(_, kept)| **kept);
        let mut reads = calls.filter_map(|(call, _)| call.op.downcast::<Read>());
        match reads.find(|read| !side.states.contains_key(&read.state)) {
            None => break kept,
            Some(read) => {
                let decl = program.states.get(&read.state);
                let decl = decl.ok_or_else(|| Error::internal("a state is read, but unknown"))?;
                side.states.insert(read.state.clone(), StateDecl::new(decl.ty, decl.role));
            }
        }
    };
    let own = startup.select(&[], |index| kept[index])?;
    side.startup = own.rewrite(|on, _, call| match call.op.downcast::<Assign>() {
        Some(assign) if shared.contains(&assign.state) => {
            let value = on.call1(BroadcastFrom { root: 0 }, &call.inputs[..1])?;
            Ok(Some(on.push(call.op.clone(), &[value], &[], call.loc)))
        }
        _ => Ok(None),
    })?;
    Ok(())
}

/// By call of a startup block: whether the initial values of these states need it.
fn needed_for(startup: &Block, states: &BTreeMap<Arc<str>, StateDecl>) -> Vec<bool> {
    let mut needed = vec![false; startup.types.len()];
    let mut kept = vec![false; startup.calls.len()];
    for (index, call) in startup.calls.iter().enumerate().rev() {
        kept[index] = match call.op.downcast::<Assign>() {
            Some(assign) => states.contains_key(&assign.state),
            None => call.outputs().any(|id| needed[id as usize]),
        };
        if kept[index] {
            call.inputs.iter().for_each(|&id| needed[id as usize] = true);
        }
    }
    kept
}
