//! What varies from rank to rank, and what has to be averaged so that states do not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fluvial_core::structural::{Assign, Note, Read};
use fluvial_core::{
    Block, Call, Carries, DType, Error, OpRef, Phase, Ranks, Result, Role, StateDecl, Type, ValueId,
};
use fluvial_data::Reader;
use fluvial_ops::control::ForEach;

use super::trains;

/// What is known of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fact {
    /// Ranks may have different ones.
    pub varies: bool,
    /// It is a random stream that all ranks have in common.
    pub is_stream: bool,
}

/// What has to be so of a result of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Want {
    /// Nothing.
    Any,
    /// It is the next value of a state of this role.
    State(Role),
    /// An output of the program: a single number is the mean of all ranks.
    Number,
}

/// Which uses of a value take the average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Uses {
    /// All but those of the backward pass, which goes on with the rank's own.
    Outside,
    /// Those of optimizers, states and results.
    Updates,
}

/// What is to be done with a block.
#[derive(Default)]
pub(super) struct Plan {
    /// The facts of its values.
    pub facts: Vec<Fact>,
    /// Values that are averaged.
    pub averaged: BTreeMap<ValueId, Uses>,
    /// By call: the plans of its blocks.
    pub inner: BTreeMap<usize, Vec<Plan>>,
    /// Loops over readers of which each rank reads a part.
    pub sharded: BTreeSet<usize>,
    /// Calls with blocks that not all ranks run alike.
    pub apart: BTreeSet<usize>,
    /// What has to be so of its values.
    wants: BTreeMap<ValueId, Want>,
    /// By result: whether it is averaged.
    pub results: Vec<bool>,
    /// A call in it waits for other ranks.
    pub exchanges: bool,
    /// It draws random numbers from a stream that ranks have in common, or something inside does.
    pub draws: bool,
}

/// What is known of the program.
pub(super) struct Planner<'a> {
    pub states: &'a BTreeMap<Arc<str>, StateDecl>,
    pub parameters: &'a [Type],
}

/// Whether a call takes the average of a value.
pub(super) fn takes_average(call: &Call, uses: Uses) -> bool {
    let phase = call.loc.phase();
    let is_state = call.op.downcast::<Assign>().is_some() || call.op.downcast::<Note>().is_some();
    is_state || phase == Phase::Optimizer || (uses == Uses::Outside && phase != Phase::Backward)
}

/// Whether each rank draws by itself here.
pub(super) fn draws_by_rank(call: &Call, has_stream: bool) -> bool {
    let properties = call.op.properties();
    properties.random
        && has_stream
        && call.op.ranks().is_none()
        && call.loc.phase() != Phase::Optimizer
}

impl Planner<'_> {
    /// The plan of a block whose parameters are so, or why it cannot be spread.
    pub fn plan(&self, block: &Block, params: &[Fact], wanted: &[Want]) -> Result<Plan> {
        let raw = self.walk(block, params, wanted, BTreeMap::new(), false)?;
        let gradients = self.gradients(block, &raw.facts);
        self.walk(block, params, wanted, gradients, true)
    }

    /// Gradients of parameters: values of the backward pass that vary, of the type of a parameter, which reach an optimizer or
    /// a state by other calls than those of a backward pass.
    fn gradients(&self, block: &Block, facts: &[Fact]) -> BTreeMap<ValueId, Uses> {
        let mut reaches = vec![false; block.types.len()];
        let mut gradients = BTreeMap::new();
        for call in block.calls.iter().rev() {
            let phase = call.loc.phase();
            let is_end = phase == Phase::Optimizer
                || call.op.downcast::<Assign>().is_some()
                || call.op.downcast::<Note>().is_some()
                || call.op.blocks().iter().any(|inner| trains(inner));
            let is_on_the_way = call.outputs().any(|id| reaches[id as usize]);
            if is_end || (phase != Phase::Backward && is_on_the_way) {
                call.inputs.iter().for_each(|&id| reaches[id as usize] = true);
            }
            if phase != Phase::Backward {
                continue;
            }
            for id in call.outputs().filter(|&id| reaches[id as usize] && facts[id as usize].varies)
            {
                if self.parameters.contains(&block.types[id as usize]) {
                    gradients.insert(id, Uses::Outside);
                }
            }
        }
        gradients
    }

    /// Goes through a block. If it is not strict, nothing is refused and nothing is averaged besides.
    fn walk(
        &self,
        block: &Block,
        params: &[Fact],
        wanted: &[Want],
        averaged: BTreeMap<ValueId, Uses>,
        strict: bool,
    ) -> Result<Plan> {
        let mut plan = Plan { facts: params.to_vec(), averaged, ..Plan::default() };
        plan.wants = self.wants(block, wanted);
        plan.facts.resize(block.types.len(), Fact::default());
        for (index, call) in block.calls.iter().enumerate() {
            if strict {
                self.settle(block, call, &mut plan)?;
            }
            let inputs = plan.inputs(call);
            plan.exchanges |= matches!(call.op.ranks(), Some(Ranks::Agree | Ranks::Exchange));
            let outs = match call.op.blocks().is_empty() {
                true => self.of_call(block, call, &inputs, &mut plan),
                false => self.of_blocks(call, index, &inputs, &mut plan, strict)?,
            };
            call.outputs().zip(outs).for_each(|(id, fact)| plan.facts[id as usize] = fact);
        }
        plan.results = vec![false; block.results.len()];
        if strict {
            self.settle_results(block, wanted, &mut plan)?;
        }
        Ok(plan)
    }

    /// The values that are next ones of states, or results of which something is wanted.
    fn wants(&self, block: &Block, wanted: &[Want]) -> BTreeMap<ValueId, Want> {
        let results = block.results.iter().copied().zip(wanted.iter().copied());
        let mut wants: BTreeMap<ValueId, Want> = results.collect();
        for call in &block.calls {
            let state = call.op.downcast::<Assign>().and_then(|op| self.states.get(&op.state));
            if let (Some(decl), Some(&id)) = (state, call.inputs.first()) {
                wants.insert(id, Want::State(decl.role));
            }
        }
        wants
    }

    /// Averages what an optimizer or a state takes and may be averaged; refuses the rest.
    fn settle(&self, block: &Block, call: &Call, plan: &mut Plan) -> Result<()> {
        if call.op.ranks() == Some(Ranks::Once) {
            return Err(Error::program(format!("every rank would do `{}`", call.op.name()))
                .remedy("leave it out, and save the states after the run: rank 0 writes them")
                .at(call.loc));
        }
        let state = call.op.downcast::<Assign>().map(|op| &op.state);
        let state = state.or_else(|| call.op.downcast::<Note>().map(|op| &op.state));
        if state.is_none() && call.loc.phase() != Phase::Optimizer {
            return Ok(());
        }
        let role = state.and_then(|name| self.states.get(name)).map(|decl| decl.role);
        for (i, &id) in call.inputs.iter().enumerate() {
            if !plan.inputs(call)[i].varies {
                continue;
            }
            let ty = &block.types[id as usize];
            let is_number = state.is_none() && ty.is_float() && ty.rank() == 0;
            let is_statistic = role == Some(Role::Buffer) && ty.is_float();
            if !(is_number || is_statistic) || ty.is_list() {
                return Err(refusal(ty, state.map(|name| &**name), call));
            }
            plan.averaged.entry(id).or_insert(Uses::Updates);
        }
        Ok(())
    }

    fn settle_results(&self, block: &Block, wanted: &[Want], plan: &mut Plan) -> Result<()> {
        for (place, &id) in block.results.iter().enumerate() {
            let (ty, is_averaged) = (&block.types[id as usize], plan.averaged.contains_key(&id));
            if !plan.facts[id as usize].varies {
                continue;
            }
            let is_float = ty.is_float() && !ty.is_list();
            match wanted.get(place).copied().unwrap_or(Want::Any) {
                Want::Any => continue,
                Want::Number if !is_float || ty.rank() > 0 => continue,
                Want::Number => {}
                Want::State(_) if is_averaged => {}
                Want::State(Role::Buffer) if is_float => {}
                Want::State(_) => {
                    let made_by = block.calls.iter().find(|call| call.outputs().contains(&id));
                    let error = Error::program(format!(
                        "the next value of a state, {ty}, differs from rank to rank"
                    ))
                    .remedy(REMEDY);
                    return Err(made_by.map_or(error.clone(), |call| error.at(call.loc)));
                }
            }
            plan.averaged.entry(id).or_insert(Uses::Updates);
            plan.results[place] = true;
        }
        Ok(())
    }

    fn of_call(&self, block: &Block, call: &Call, inputs: &[Fact], plan: &mut Plan) -> Vec<Fact> {
        let role = call.op.downcast::<Read>().and_then(|read| self.states.get(&read.state));
        let role = role.map(|decl| decl.role);
        let has_stream = inputs.iter().any(|fact| fact.is_stream);
        let draws = draws_by_rank(call, has_stream);
        plan.draws |= draws;
        let varies = match call.op.ranks() {
            Some(Ranks::Agree) => false,
            Some(Ranks::Exchange | Ranks::Differ) => true,
            Some(Ranks::Once) | None => draws || inputs.iter().any(|fact| fact.varies),
        };
        let properties = call.op.properties();
        let of = |id: ValueId| {
            let ty = &block.types[id as usize];
            let goes_on = has_stream
                && inputs.iter().all(|fact| fact.is_stream)
                && !properties.random
                && ty.dtype() == DType::I64;
            Fact { varies, is_stream: role == Some(Role::Random) || goes_on }
        };
        call.outputs().map(of).collect()
    }

    /// What an op with blocks gives, and the plans of its blocks.
    fn of_blocks(
        &self,
        call: &Call,
        index: usize,
        inputs: &[Fact],
        plan: &mut Plan,
        strict: bool,
    ) -> Result<Vec<Fact>> {
        let (outs, plans) = match call.op.carries() {
            Some(carries) => self.of_loop(call, index, inputs, carries, plan, strict)?,
            None => self.of_branches(call, index, inputs, plan, strict)?,
        };
        plan.exchanges |= plans.iter().any(|inner| inner.exchanges || !inner.averaged.is_empty());
        plan.draws |= plans.iter().any(|inner| inner.draws);
        plan.inner.insert(index, plans);
        Ok(outs)
    }

    /// A loop: what it carries varies if it does at first or after a trip.
    fn of_loop(
        &self,
        call: &Call,
        index: usize,
        inputs: &[Fact],
        carries: Carries,
        plan: &mut Plan,
        strict: bool,
    ) -> Result<(Vec<Fact>, Vec<Plan>)> {
        let blocks = call.op.blocks();
        let [body] = blocks[..] else { return Err(unknown(&call.op, call)) };
        let Carries { inputs: first, count, params, results, outputs } = carries;
        let mut carried: Vec<Fact> = inputs.get(first..first + count).unwrap_or(&[]).to_vec();
        let want = |k: usize| {
            let output = call.first_output + (outputs + k) as ValueId;
            match plan.wants.get(&output) {
                Some(Want::State(role)) => Want::State(*role),
                _ => Want::Any,
            }
        };
        let mut wanted = vec![Want::Any; results];
        wanted.extend((0..count).map(want));
        let learns = |k: usize| {
            let after = body.results.get(results + k).copied();
            want(k) == Want::State(Role::Parameter) && after != Some((params + k) as ValueId)
        };
        let learns = trains(body) || (0..count).any(learns);
        let field = Fact { varies: reads_a_part(call, learns, index, plan)?, ..Fact::default() };
        let captures = inputs.get(first + count..).unwrap_or(&[]).to_vec();
        loop {
            let facts: Vec<Fact> = std::iter::repeat_n(field, params)
                .chain(carried.iter().copied())
                .chain(captures.iter().copied())
                .collect();
            let inner = match strict {
                true => self.plan(body, &facts, &wanted)?,
                false => self.walk(body, &facts, &wanted, BTreeMap::new(), false)?,
            };
            let after = |place: usize| {
                let id = body.results.get(place).copied().unwrap_or(0) as usize;
                inner.facts[id].varies && !inner.results[place]
            };
            let ends_apart =
                (0..results).any(after) || inputs[..first].iter().any(|fact| fact.varies);
            let mut has_changed = false;
            for (k, fact) in carried.iter_mut().enumerate() {
                let varies = fact.varies || after(results + k) || ends_apart;
                let is_stream = fact.is_stream
                    && body
                        .results
                        .get(results + k)
                        .is_some_and(|&id| inner.facts[id as usize].is_stream);
                has_changed |= varies != fact.varies || is_stream != fact.is_stream;
                (fact.varies, fact.is_stream) = (varies, is_stream);
            }
            if has_changed {
                continue;
            }
            if ends_apart && inner.waits() {
                return Err(apart(call, "a loop whose end depends on the data of the rank"));
            }
            if ends_apart {
                plan.apart.insert(index);
            }
            let any = carried.iter().chain(&captures).any(|fact| fact.varies) || field.varies;
            let rest = Fact { varies: any, ..Fact::default() };
            let head = std::iter::repeat_n(Fact::default(), outputs);
            let outs = head.chain(carried).chain(std::iter::repeat(rest));
            return Ok((outs.take(call.n_outputs).collect(), vec![inner]));
        }
    }

    /// Blocks of which some run, each on the last inputs.
    fn of_branches(
        &self,
        call: &Call,
        index: usize,
        inputs: &[Fact],
        plan: &mut Plan,
        strict: bool,
    ) -> Result<(Vec<Fact>, Vec<Plan>)> {
        let mut plans = Vec::new();
        for block in call.op.blocks() {
            let Some(own) = inputs.len().checked_sub(block.n_params).map(|at| &inputs[at..]) else {
                return Err(unknown(&call.op, call));
            };
            plans.push(match strict {
                true => self.plan(block, own, &[])?,
                false => self.walk(block, own, &[], BTreeMap::new(), false)?,
            });
        }
        let n_params = call.op.blocks().iter().map(|block| block.n_params).max().unwrap_or(0);
        let chosen = inputs[..inputs.len().saturating_sub(n_params)].iter().any(|fact| fact.varies);
        let may_fail = n_params == inputs.len() && call.op.fails(&[]).is_some();
        if strict && (chosen || may_fail) && plans.iter().any(Plan::waits) {
            return Err(apart(call, "a branch that depends on the data of the rank"));
        }
        if chosen || may_fail {
            plan.apart.insert(index);
        }
        let blocks = call.op.blocks();
        let result = |place: usize| {
            blocks.iter().zip(&plans).any(|(block, plan)| match block.results.get(place) {
                Some(&id) => plan.facts[id as usize].varies,
                None => true,
            })
        };
        let any =
            chosen || inputs.iter().any(|fact| fact.varies) || plans.iter().any(|plan| plan.draws);
        let same = |block: &&Arc<Block>| block.results.len() == call.n_outputs;
        let outs = (0..call.n_outputs).map(|k| {
            let varies = if blocks.iter().all(same) { chosen || result(k) } else { any };
            let is_stream = !varies
                && blocks.iter().zip(&plans).all(|(block, plan)| {
                    block.results.get(k).is_some_and(|&id| plan.facts[id as usize].is_stream)
                });
            Fact { varies, is_stream }
        });
        Ok((outs.collect(), plans))
    }
}

/// Whether ranks read different parts in a loop over a reader: if it trains, or if its reader says so.
fn reads_a_part(call: &Call, learns: bool, index: usize, plan: &mut Plan) -> Result<bool> {
    let Some(op) = call.op.downcast::<ForEach>() else { return Ok(false) };
    let is_sharded = op.reader.parse::<Reader>().map_err(|error| error.at(call.loc))?.is_sharded();
    if learns && !is_sharded {
        plan.sharded.insert(index);
    }
    Ok(is_sharded || learns)
}

impl Plan {
    /// The facts of a call's inputs, as it takes them.
    fn inputs(&self, call: &Call) -> Vec<Fact> {
        let fact = |&id: &ValueId| {
            let own = self.facts[id as usize];
            let is_averaged = self.averaged.get(&id).is_some_and(|&uses| takes_average(call, uses));
            Fact { varies: own.varies && !is_averaged, ..own }
        };
        call.inputs.iter().map(fact).collect()
    }

    /// Whether it waits for other ranks.
    fn waits(&self) -> bool {
        self.exchanges || !self.averaged.is_empty()
    }
}

const REMEDY: &str = "average it over the ranks by `all_reduce`, or leave it out of the program";

fn refusal(ty: &Type, state: Option<&str>, call: &Call) -> Error {
    let what = match state {
        Some(name) => format!(
            "the state `{name}` would differ from rank to rank: it is given {ty}, which does"
        ),
        None => format!(
            "an update depends on {ty}, which differs from rank to rank and is not a gradient of a whole parameter"
        ),
    };
    Error::program(what).remedy(REMEDY).at(call.loc)
}

fn apart(call: &Call, what: &str) -> Error {
    Error::program(format!(
        "ranks wait for one another in {what}, which not all of them would reach"
    ))
    .remedy("let it depend on what all ranks have in common, such as a counter of steps")
    .at(call.loc)
}

fn unknown(op: &OpRef, call: &Call) -> Error {
    Error::program(format!("what `{}` does with its blocks is not known here", op.name()))
        .at(call.loc)
}
