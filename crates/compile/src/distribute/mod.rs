//! From the program of one process to the one that each of several ranks runs.
//!
//! A value *varies* if ranks may have different ones: what readers and feeds give, and all that follows from it. States have to
//! stay the same on all ranks. So gradients of parameters, which vary, are averaged where they leave the backward pass, in
//! buckets and in the order in which it makes them; all that comes after (clipping, accumulation, scaling of losses,
//! schedules, moving averages) sees gradients of the whole batch. What would make a state differ in another way is refused
//! at the user's line, and so is an exchange that only some ranks would reach.
//!
//! - `facts`: what varies, and what has to be averaged. `rewrite`: the program with it.

mod facts;
mod rewrite;

use std::collections::BTreeSet;

use fluvial_core::structural::Assign;
use fluvial_core::{Block, Error, Phase, Program, Result, Role, Type, verify};
use fluvial_ops::ranks::BroadcastFrom;

use facts::{Fact, Planner, Want};

/// How a program is spread over ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// What each rank has.
    pub strategy: Strategy,
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
}

impl Strategy {
    /// The strategy of that name; an error that lists them.
    pub fn parse(name: &str) -> Result<Strategy> {
        match name {
            "dp" => Ok(Strategy::DataParallel),
            "zero1" | "zero3" | "ps" | "pipeline" | "tp" => {
                Err(Error::argument(format!("programs are not spread by `{name}` yet"))
                    .remedy("use `dp`"))
            }
            _ => Err(Error::argument(format!("there is no way `{name}` to spread a program"))
                .remedy("use `dp`")),
        }
    }
}

impl Distribution {
    /// With buckets of the usual sizes.
    pub fn new(strategy: Strategy) -> Distribution {
        Distribution { strategy, bucket: 25 << 20, first_bucket: 1 << 20 }
    }
}

/// The program that each rank runs. It is the same for all of them, and for any number.
///
/// Loops over readers that train read the part of their rank. Gradients are averaged over the ranks, and so are buffers (the
/// statistics of batch norm) and numbers among the outputs. First values of states are those of rank 0. Draws of random
/// numbers differ from rank to rank, while the state that they come from stays the same.
pub fn distribute(program: &Program, options: &Distribution) -> Result<Program> {
    verify(program)?;
    let Strategy::DataParallel = options.strategy;
    let role = |name: &str| program.states.get(name).map(|decl| decl.role);
    if !program.assigned().iter().any(|name| role(name) == Some(Role::Parameter)) {
        return Err(Error::program("the program trains nothing: it assigns no parameter")
            .remedy("spread the program of a training; prediction needs no other ranks"));
    }
    let parameters = program.states.values().filter(|decl| decl.role == Role::Parameter);
    let parameters: Vec<Type> = parameters.map(|decl| decl.ty).collect();
    let planner = Planner { states: &program.states, parameters: &parameters };
    let feeds = vec![Fact { varies: true, ..Fact::default() }; program.main.n_params];
    let wanted = vec![Want::Number; program.main.results.len()];
    let plan = planner.plan(&program.main, &feeds, &wanted)?;
    let main = rewrite::rewritten(&program.main, &plan, options)?;
    let spread = Program { main, startup: with_first_values(&program.startup)?, ..program.clone() };
    verify(&spread)?;
    Ok(spread)
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
