//! Random calls of every op: whatever attributes and inputs an op is asked about, it answers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fluvial_core::{
    Arity, Attr, Block, DType, GradOptions, List, OpRef, Program, Registry, Result, Sample, Tensor,
    Type, Value, Var, bind, no_grad, structural::zeros_like, vjp,
};

use super::{Rng, mutated_op, random_type};
use crate::check::has_gradient;

/// Values up to this size are also computed.
const MAX_ELEMENTS: usize = 200;

/// What came of the random calls of an op.
#[derive(Clone, Debug)]
pub struct Tally {
    /// The op.
    pub op: &'static str,
    /// Accepted by `infer`.
    pub accepted: usize,
    /// Run by `eval`, with whatever outcome.
    pub run: usize,
    /// The first call that panicked.
    pub panicked: Option<String>,
}

/// Asks each op of the registry about `n_calls` random calls. Those that `infer` accepts are also
/// differentiated, and run if they are small.
pub fn survive(registry: &Registry, programs: &[Program], n_calls: usize) -> Vec<Tally> {
    let known = known_calls(registry, programs);
    let mut tallies = Vec::new();
    for def in registry.defs() {
        let own: Vec<&Known> = known.iter().filter(|call| call.op.name() == def.name).collect();
        let seed = def.name.bytes().fold(0, |hash: u64, c| hash.wrapping_mul(31) + u64::from(c));
        let mut rng = Rng::new(seed);
        let mut tally = Tally { op: def.name, accepted: 0, run: 0, panicked: None };
        for _ in 0..if own.is_empty() { 0 } else { n_calls } {
            let known = *rng.pick(&own);
            let op = match rng.one_in(3) {
                true => Ok(known.op.clone()),
                false => mutated_op(&mut rng, &known.op, registry),
            };
            let Ok(op) = op else { continue };
            let types = random_inputs(&mut rng, &op, &known.types);
            if let Err(panicked) = ask(&mut rng, &op, &types, &mut tally) {
                tally.panicked = Some(panicked);
                break;
            }
        }
        tallies.push(tally);
    }
    tallies
}

/// Calls of all ops, each following from its seed, for runs that go on for hours.
pub struct Calls {
    registry: Registry,
    known: Vec<Known>,
}

impl Calls {
    /// Of the ops of a registry, like those of its samples and of these programs.
    pub fn new(registry: Registry, programs: &[Program]) -> Calls {
        let known = known_calls(&registry, programs);
        Calls { registry, known }
    }

    /// Asks an op about the call of this seed, and says whether the call was accepted. The error is a panic.
    pub fn ask(&self, seed: u64) -> Result<bool, String> {
        let mut rng = Rng::new(seed);
        let known = rng.pick(&self.known);
        let Ok(op) = mutated_op(&mut rng, &known.op, &self.registry) else { return Ok(false) };
        let types = random_inputs(&mut rng, &op, &known.types);
        let mut tally = Tally { op: op.name(), accepted: 0, run: 0, panicked: None };
        ask(&mut rng, &op, &types, &mut tally)?;
        Ok(tally.accepted > 0)
    }
}

/// A call that an op is known to be made for, from which others are made.
struct Known {
    op: OpRef,
    types: Vec<Type>,
}

/// The calls of all samples and of all blocks of the programs.
fn known_calls(registry: &Registry, programs: &[Program]) -> Vec<Known> {
    let samples = registry.defs().flat_map(|def| (def.samples)());
    let known = |sample: Sample| Known {
        types: sample.inputs.iter().map(Value::ty).collect(),
        op: sample.op,
    };
    let mut calls: Vec<Known> = samples.map(known).collect();
    for program in programs {
        collect(&program.startup, &mut calls);
        collect(&program.main, &mut calls);
    }
    calls
}

fn collect(block: &Block, calls: &mut Vec<Known>) {
    for call in &block.calls {
        let types = call.inputs.iter().map(|&id| block.types[id as usize]).collect();
        calls.push(Known { op: call.op.clone(), types });
        call.op.attrs().iter().for_each(|(_, attr)| collect_attr(attr, calls));
    }
}

fn collect_attr(attr: &Attr, calls: &mut Vec<Known>) {
    match attr {
        Attr::Block(block) => collect(block, calls),
        Attr::List(items) => items.iter().for_each(|item| collect_attr(item, calls)),
        _ => {}
    }
}

fn ask(rng: &mut Rng, op: &OpRef, types: &[Type], tally: &mut Tally) -> Result<(), String> {
    let refs: Vec<&Type> = types.iter().collect();
    if op.arity().check(op.name(), refs.len()).is_err() {
        return Ok(());
    }
    let told = |what: &str| format!("{what} panics: {op:?} on {types:?}");
    let judged = catch_unwind(AssertUnwindSafe(|| fluvial_core::inferred(&**op, &refs)));
    let Ok(outs) = judged.map_err(|_| told("`infer`"))? else { return Ok(()) };
    tally.accepted += 1;
    let derive = || differentiate(op, types).map(drop);
    catch_unwind(AssertUnwindSafe(derive)).map(drop).map_err(|_| told("the gradient"))?;
    // What no memory could hold is refused, too.
    let is_bounded = outs.iter().all(is_small_or_open) || outs.iter().any(is_beyond);
    if op.properties().effect || !types.iter().all(is_small) || !is_bounded {
        return Ok(());
    }
    let inputs: Option<Vec<Var>> =
        types.iter().map(|ty| random_value(rng, ty).map(Var::new)).collect();
    let Some(mut inputs) = inputs else { return Ok(()) };
    if op.properties().residuals {
        // A loop with another body may never end, unless it never begins.
        if has_nested_loops(op) || types[0] != Type::scalar(DType::Bool) {
            return Ok(());
        }
        inputs[0] = Var::scalar(false);
    }
    tally.run += 1;
    let run = || {
        let _no_grad = no_grad();
        bind(op, &inputs.iter().collect::<Vec<_>>()).map(drop)
    };
    catch_unwind(AssertUnwindSafe(run)).map(drop).map_err(|_| told("`eval`"))
}

/// The program of the op with the gradients of all its floats.
fn differentiate(op: &OpRef, types: &[Type]) -> Result<Program> {
    let names: Vec<String> = (0..types.len()).map(|i| format!("x{i}")).collect();
    let inputs = names.iter().map(String::as_str).zip(types.iter().copied());
    Program::build(&inputs.collect::<Vec<_>>(), |x| {
        let outputs = bind(op, &x.iter().collect::<Vec<_>>())?;
        let outputs: Vec<&Var> = outputs.iter().filter(|var| has_gradient(&var.ty())).collect();
        let seeds = outputs.iter().map(|var| zeros_like(var)).collect::<Result<Vec<_>>>()?;
        let wrt: Vec<&Var> = x.iter().filter(|var| has_gradient(&var.ty())).collect();
        if outputs.is_empty() || wrt.is_empty() {
            return Ok(vec![]);
        }
        let seeds: Vec<Option<&Var>> = seeds.iter().map(Some).collect();
        let found = vjp(&outputs, &seeds, &wrt, GradOptions::default())?;
        Ok(found.into_iter().flatten().collect())
    })
}

/// Whether a block of the op has ops that own blocks.
fn has_nested_loops(op: &OpRef) -> bool {
    let mut inner = Vec::new();
    op.attrs().iter().for_each(|(_, attr)| collect_attr(attr, &mut inner));
    inner.iter().any(|call| call.op.properties().residuals)
}

/// Types for the inputs: those of the known call, the same with a change, or any.
fn random_inputs(rng: &mut Rng, op: &OpRef, known: &[Type]) -> Vec<Type> {
    let mut types = known.to_vec();
    match rng.below(4) {
        0 => {}
        1 if !types.is_empty() => {
            let i = rng.below(types.len());
            types[i] = random_type(rng);
        }
        2 if !types.is_empty() => {
            let i = rng.below(types.len());
            types[i] = types[i].with_dtype(*rng.pick(&DType::ALL));
        }
        _ => {
            let n_inputs = match op.arity() {
                Arity::Exactly(n) => n,
                Arity::AtLeast(n) => n + rng.below(3),
            };
            let alike = random_type(rng);
            types = vec![alike; n_inputs];
            for ty in &mut types {
                if rng.one_in(3) {
                    *ty = random_type(rng);
                }
            }
        }
    }
    types
}

fn is_small(ty: &Type) -> bool {
    let element = (0..ty.lists()).try_fold(*ty, |ty, _| ty.element()).unwrap_or(*ty);
    element.numel().is_some_and(|numel| numel <= MAX_ELEMENTS)
}

/// Whether no machine has memory for it.
fn is_beyond(ty: &Type) -> bool {
    !ty.is_list() && ty.sizes().is_some_and(|_| ty.numel().is_none_or(|numel| numel > 1 << 44))
}

/// A size that `infer` leaves open is bounded by those of the inputs.
fn is_small_or_open(ty: &Type) -> bool {
    is_small(ty) || ty.dims().iter().any(|dim| dim.fresh_index().is_some())
}

/// A value of this type; nothing if its sizes are beyond all bounds, though one of them is 0.
fn random_value(rng: &mut Rng, ty: &Type) -> Option<Value> {
    if let Some(element) = ty.element() {
        let values: Option<Vec<Value>> =
            (0..rng.below(3)).map(|_| random_value(rng, &element)).collect();
        return List::from_bottom(element, values?).ok().map(Value::List);
    }
    let numbers: Vec<f64> = (0..ty.numel()?).map(|_| rng.between(-3.0, 3.0)).collect();
    Tensor::from_f64s(ty.dtype(), &numbers, &ty.sizes()?).ok().map(Value::Tensor)
}
