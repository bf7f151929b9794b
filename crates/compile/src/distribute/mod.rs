//! From the program of one process to the one that each of several ranks runs.
//!
//! A value *varies* if ranks may have different ones: what readers and feeds give, and all that follows from it. States have to
//! stay the same on all ranks. So gradients of parameters, which vary, are averaged where they leave the backward pass, in
//! buckets and in the order in which it makes them; all that comes after (clipping, accumulation, scaling of losses,
//! schedules, moving averages) sees gradients of the whole batch. What would make a state differ in another way is refused
//! at the user's line, and so is an exchange that only some ranks would reach.
//!
//! - `facts`: what varies, and what has to be averaged. `rewrite`: the program with it.
//! - `servers`: the programs of trainers and of parameter servers.
//! - `forms`: which values are cut into parts, where ranks share states among them. `parts`: the program with it.

mod facts;
mod forms;
mod parts;
mod rewrite;
mod servers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fluvial_core::structural::Assign;
use fluvial_core::{Block, Error, Phase, Program, Result, Role, StateDecl, Type, verify};
use fluvial_ops::ranks::{BroadcastFrom, OwnPart};

pub use servers::{Served, Sides, distribute_to_servers};

use facts::{Fact, Plan, Planner, Want};
use forms::can_be_cut;
use parts::{Cut, with_parts};

/// How a program is spread over ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// What each rank has.
    pub strategy: Strategy,
    /// For how many ranks. Strategies that cut states into parts need to know.
    pub world: Option<usize>,
    /// Gradients are averaged together until they have so many bytes.
    pub bucket: usize,
    /// The first of them are, until they have so many, so that the exchange begins early.
    pub first_bucket: usize,
}

/// What each rank has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// All ranks have all states, and a part of the data (data parallel).
    DataParallel,
    /// As data parallel, but of what optimizers remember each rank has a part: gradients are averaged part by part, each
    /// rank updates its part of the parameters, and these are put together.
    ShardedOptimizer,
    /// As before, and each rank has a part of the parameters, too: they are put together where they are used.
    Sharded,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 3] =
        [Strategy::DataParallel, Strategy::ShardedOptimizer, Strategy::Sharded];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::DataParallel => "dp",
            Strategy::ShardedOptimizer => "zero1",
            Strategy::Sharded => "zero3",
        }
    }

    /// Whether states of this role are cut into parts.
    fn cuts(self, role: Role) -> bool {
        match self {
            Strategy::DataParallel => false,
            Strategy::ShardedOptimizer => role == Role::Optimizer,
            Strategy::Sharded => matches!(role, Role::Optimizer | Role::Parameter),
        }
    }

    /// The strategy of that name; an error that lists them.
    pub fn parse(name: &str) -> Result<Strategy> {
        if let Some(found) = Strategy::ALL.into_iter().find(|known| known.name() == name) {
            return Ok(found);
        }
        let known = Strategy::ALL.map(Strategy::name).join("`, `");
        let remedy = format!("use one of `{known}`");
        match name {
            "ps" => Err(Error::argument("parameter servers and trainers have a program each")
                .remedy("make both by `distribute_to_servers`, in Python `fl.dist.to_servers`")),
            "pipeline" | "tp" => {
                Err(Error::argument(format!("programs are not spread by `{name}` yet"))
                    .remedy(remedy))
            }
            _ => Err(Error::argument(format!("there is no way `{name}` to spread a program"))
                .remedy(remedy)),
        }
    }
}

impl Distribution {
    /// With buckets of the usual sizes.
    pub fn new(strategy: Strategy) -> Distribution {
        Distribution { strategy, world: None, bucket: 25 << 20, first_bucket: 1 << 20 }
    }

    /// For so many ranks.
    #[must_use]
    pub fn world(mut self, world: usize) -> Distribution {
        self.world = Some(world);
        self
    }
}

/// The program that each rank runs. It is the same for all of them and, unless states are cut into parts, for any number.
///
/// Loops over readers that train read the part of their rank. Gradients are averaged over the ranks, and so are buffers (the
/// statistics of batch norm) and numbers among the outputs. First values of states are those of rank 0. Draws of random
/// numbers differ from rank to rank, while the state that they come from stays the same.
pub fn distribute(program: &Program, options: &Distribution) -> Result<Program> {
    let (spread, parameters) = data_parallel(program, options, Want::Number)?;
    match options.strategy {
        Strategy::DataParallel => Ok(spread),
        _ => in_parts(&spread, options, &parameters),
    }
}

/// The program of data parallel ranks, with what is wanted of its outputs, and the types of parameters.
fn data_parallel(
    program: &Program,
    options: &Distribution,
    outputs: Want,
) -> Result<(Program, Vec<Type>)> {
    verify(program)?;
    let role = |name: &str| program.states.get(name).map(|decl| decl.role);
    if !program.assigned().iter().any(|name| role(name) == Some(Role::Parameter)) {
        return Err(Error::program("the program trains nothing: it assigns no parameter")
            .remedy("spread the program of a training; prediction needs no other ranks"));
    }
    let parameters = program.states.values().filter(|decl| decl.role == Role::Parameter);
    let parameters: Vec<Type> = parameters.map(|decl| decl.ty).collect();
    let plan = planned(program, &parameters, outputs)?;
    let main = rewrite::rewritten(&program.main, &plan, options)?;
    let spread = Program { main, startup: with_first_values(&program.startup)?, ..program.clone() };
    verify(&spread)?;
    Ok((spread, parameters))
}

/// The program of data parallel ranks, with states that are cut into parts.
fn in_parts(spread: &Program, options: &Distribution, parameters: &[Type]) -> Result<Program> {
    let name = options.strategy.name();
    let Some(parts) = options.world.filter(|world| *world > 0) else {
        return Err(Error::argument(format!("`{name}` cuts states into parts, one for each rank"))
            .remedy("say for how many ranks"));
    };
    let assigned = spread.assigned();
    let is_cut = |(name, decl): &(&Arc<str>, &StateDecl)| {
        options.strategy.cuts(decl.role)
            && assigned.contains(name)
            && can_be_cut(&decl.ty)
            && parameters.contains(&decl.ty)
    };
    let states = spread.states.iter().filter(is_cut).map(|(name, _)| name.clone()).collect();
    let plan = planned(spread, parameters, Want::Number)?;
    let cut = Cut { parts, first: 0, bucket: options.bucket };
    let program = with_parts(spread, &plan, &states, cut)?;
    verify(&program)?;
    Ok(program)
}

/// The states that a spread program has parts of: by name, the type of the whole. Its startup block says so.
pub fn parts_of(program: &Program) -> BTreeMap<Arc<str>, Type> {
    let startup = &program.startup;
    let mut found = BTreeMap::new();
    for call in &startup.calls {
        let (Some(assign), Some(&id)) = (call.op.downcast::<Assign>(), call.inputs.first()) else {
            continue;
        };
        let maker = startup.calls.iter().find(|other| other.outputs().contains(&id));
        if let Some(maker) = maker.filter(|maker| maker.op.downcast::<OwnPart>().is_some()) {
            found.insert(assign.state.clone(), startup.types[maker.inputs[0] as usize]);
        }
    }
    found
}

/// What varies from rank to rank in a program.
fn planned(program: &Program, parameters: &[Type], outputs: Want) -> Result<Plan> {
    let planner = Planner { states: &program.states, parameters };
    let feeds = vec![Fact { varies: true, ..Fact::default() }; program.main.n_params];
    let wanted = vec![outputs; program.main.results.len()];
    planner.plan(&program.main, &feeds, &wanted)
}

/// First values come from rank 0.
fn with_first_values(startup: &Block) -> Result<Block> {
    let assigned: BTreeSet<u32> = startup
        .calls
        .iter()
        .filter(|call| call.op.downcast::<Assign>().is_some())
        .flat_map(|call| call.inputs.iter().copied())
        .collect();
    if assigned.is_empty() {
        return Ok(startup.clone());
    }
    startup.rewrite(|on, _, call| match call.op.downcast::<Assign>() {
        Some(_) => {
            let value = on.call1(BroadcastFrom { root: 0 }, &call.inputs[..1])?;
            Ok(Some(on.push(call.op.clone(), &[value], &[], call.loc)))
        }
        None => Ok(None),
    })
}

/// Whether a call in the block, or in one inside it, belongs to an optimizer.
fn trains(block: &Block) -> bool {
    block.calls.iter().any(|call| {
        call.loc.phase() == Phase::Optimizer || call.op.blocks().iter().any(|inner| trains(inner))
    })
}
