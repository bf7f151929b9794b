//! From the program of one process to that of trainers and that of parameter servers.
//!
//! Trainers compute gradients and send them; servers keep the states that an update changes, cut into parts, average what all
//! trainers send, update, and send parameters back. The block that trains is taken apart by what its values depend on:
//! on the data, which trainers have; or on averages and on what optimizers remember, which servers have.

mod server;
mod split;
mod trainer;

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
use server::server;
use split::{SERVER, Split};
use trainer::trainer;

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
