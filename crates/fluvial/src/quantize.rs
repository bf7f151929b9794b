//! Programs computed with bytes: their weights become integers of 8 bits, and what is multiplied with them, too.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fluvial_compile::{Options, compile, pipeline};
use fluvial_core::structural::{Constant, Read};
use fluvial_core::{
    Block, Call, Error, Loc, NewValues, Program, Result, Rewrite, Role, State, Tensor, ValueId,
    map_blocks,
};
use fluvial_ops::int8::{Packed, packed};
use fluvial_ops::quant::{DynamicQuantizeLinear, QuantizeLinear};
use fluvial_ops::reduce::{Max, Min};
use fluvial_runtime::Executor;

use crate::io::inference_program;

/// The passes that bring weights before the ops that take them.
const PASSES: [&str; 5] =
    ["dead code", "fold constants", "simplify", "common subexpressions", "clean up"];

/// Makes programs that compute with bytes: products of matrices and convolutions whose weights are parameters.
///
/// Weights have a scale for each output channel. Activations have one scale and a zero point: static ones, from the least and
/// the greatest numbers that were [observed](Quantizer::observe), or dynamic ones, from the numbers of each call. Sums of
/// products are exact. The program that comes of it has its weights in it, and no states.
///
/// ```
/// use fluvial::prelude::*;
///
/// let net = Linear::new("fc", 64, 32);
/// let ty = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(64)])?;
/// let program = Program::build(&[("x", ty)], |x| Ok(vec![net.forward(&x[0])?]))?;
/// let mut quantizer = fluvial::Quantizer::new(&program, &State::new(), &[])?;
/// let x = uniform(&Type::of(DType::F32, &[8, 64])?, -1.0, 1.0)?.tensor()?.clone();
/// quantizer.observe(&[("x", x)])?;
/// let small = quantizer.quantized()?;
/// assert!(small.program.to_string().contains("int8_linear"));
/// # Ok::<(), Error>(())
/// ```
pub struct Quantizer {
    /// In use, with its weights as constants.
    program: Program,
    sites: Vec<Site>,
    kept: Vec<QuantizedOp>,
    /// The program whose further outputs are the ends of what goes into the sites.
    observed: Executor,
    /// By site; none before anything was observed.
    ranges: Vec<Option<[f32; 2]>>,
}

/// A program that computes with bytes.
pub struct Quantized {
    /// The program.
    pub program: Program,
    /// The ops with weights that were found, and what became of them.
    pub ops: Vec<QuantizedOp>,
}

/// What became of an op with a weight.
#[derive(Clone, Debug)]
pub struct QuantizedOp {
    /// The name of the weight, or that of the layer.
    pub name: String,
    /// The op as it was.
    pub op: &'static str,
    /// The user's line.
    pub loc: Loc,
    /// How it is computed now.
    pub how: How,
}

/// How an op is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum How {
    /// With bytes, with this scale and zero point of the activations.
    Static {
        /// The number that one step stands for.
        scale: f32,
        /// The byte that stands for 0.
        zero: u8,
    },
    /// With bytes, with a scale of the numbers at hand.
    Dynamic,
    /// With floats.
    Kept {
        /// Why.
        why: String,
        /// Whether it was asked for.
        asked: bool,
    },
}

/// A call that can be computed with bytes.
struct Site {
    /// The number of the call in its block; before it those of the calls whose blocks these are.
    path: Vec<usize>,
    /// What is multiplied with the weight, in its block.
    input: ValueId,
    found: QuantizedOp,
    packed: Packed,
}

impl Site {
    fn is_main(&self) -> bool {
        self.path.len() == 1
    }
}

impl Quantizer {
    /// For a program, whose states are the cells that it is bound to, and else those of `state`. Ops whose weights, or layers,
    /// `skip` names, by their whole name or the beginning of it up to a dot, stay as they are.
    pub fn new(program: &Program, state: &State, skip: &[&str]) -> Result<Quantizer> {
        let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
        let used = inference_program(program, &outputs)?;
        let changing = |role: Role| !matches!(role, Role::Parameter | Role::Buffer);
        let reads = used.main.calls.iter().filter_map(|call| call.op.downcast::<Read>());
        let mut read = reads.filter_map(|read| used.states.get_key_value(&read.state));
        if let Some((name, decl)) = read.find(|(_, decl)| changing(decl.role)) {
            return Err(Error::program(format!(
                "the program reads the state `{name}`, a {:?}, which would stand still in a quantised one",
                decl.role
            ))
            .remedy("quantise the part of the model that is the same in every call"));
        }
        let state = state.bound_to(&used.bound());
        used.initialise(&state)?;
        let mut names: Vec<(&str, Tensor)> = Vec::new();
        for name in used.states.keys() {
            names.push((name, state.tensor(name)?));
        }
        let without = pipeline().iter().map(|pass| pass.name.to_string());
        let without = without.filter(|name| !PASSES.contains(&&**name)).collect();
        let options = Options { without, ..Options::default() };
        let program = compile(&used.freeze(&state)?, &outputs, &options)?.program;
        let mut search = Search {
            names: &names,
            skip,
            sites: Vec::new(),
            kept: Vec::new(),
            met: vec![false; skip.len()],
        };
        search.block(&program.main, &[], &HashMap::new())?;
        let Search { sites, kept, met, .. } = search;
        if let Some((name, _)) = skip.iter().zip(met).find(|(_, met)| !met) {
            let known: Vec<&str> = sites.iter().map(|site| &*site.found.name).collect();
            return Err(Error::argument(format!(
                "no op that could be quantised is named `{name}`"
            ))
            .remedy(format!("those that can: {}", known.join(", "))));
        }
        if sites.is_empty() {
            let reasons = kept.iter().map(|op| format!("{}: {}", op.name, op.how));
            return Err(Error::program("the program has nothing that can be quantised")
                .remedy(
                    "it needs a product of matrices or a convolution of f32 whose weight is a parameter",
                )
                .note(reasons.collect::<Vec<_>>().join("; ")));
        }
        let observed = Executor::new(&observing(&program, &sites)?, State::new())?;
        let ranges = vec![None; sites.len()];
        Ok(Quantizer { program, sites, kept, observed, ranges })
    }

    /// Runs the program on inputs, by name, and remembers the least and the greatest numbers that go into its ops.
    pub fn observe(&mut self, feeds: &[(&str, Tensor)]) -> Result<()> {
        let found = self.observed.run(feeds)?;
        let ends = found[self.program.outputs.len()..].chunks_exact(2);
        let main = self.sites.iter().zip(&mut self.ranges).filter(|(site, _)| site.is_main());
        for ((site, range), ends) in main.zip(ends) {
            let (low, high) = (ends[0].item::<f32>()?, ends[1].item::<f32>()?);
            if !low.is_finite() || !high.is_finite() {
                return Err(Error::argument(format!(
                    "what goes into `{}` reaches from {low} to {high} with these inputs",
                    site.found.name
                ))
                .remedy("look for NaN and infinity in the samples and the weights")
                .at(site.found.loc));
            }
            let [least, most] = range.unwrap_or([0.0, 0.0]);
            *range = Some([least.min(low), most.max(high)]);
        }
        Ok(())
    }

    /// The program with static scales, from what was observed. Inside of loops they are dynamic.
    pub fn quantized(&self) -> Result<Quantized> {
        let known = self.sites.iter().zip(&self.ranges).filter(|(site, _)| site.is_main());
        if known.clone().next().is_some() && known.clone().all(|(_, range)| range.is_none()) {
            return Err(Error::argument("no samples were observed")
                .remedy("give samples that are like those to come, or ask for dynamic scales"));
        }
        self.with(|i| self.ranges[i].map(steps))
    }

    /// The program with dynamic scales.
    pub fn dynamic(&self) -> Result<Quantized> {
        self.with(|_| None)
    }

    fn with(&self, steps: impl Fn(usize) -> Option<(f32, u8)>) -> Result<Quantized> {
        let mut ops = Vec::new();
        let mut by_path = BTreeMap::new();
        for (i, site) in self.sites.iter().enumerate() {
            let how = match steps(i) {
                Some((scale, zero)) => How::Static { scale, zero },
                None => How::Dynamic,
            };
            by_path.insert(site.path.as_slice(), (site, how.clone()));
            ops.push(QuantizedOp { how, ..site.found.clone() });
        }
        ops.extend(self.kept.iter().cloned());
        let main = rewritten(&self.program.main, &[], &by_path)?;
        let program = Program { main, ..self.program.clone() };
        let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
        Ok(Quantized { program: program.prune(&outputs)?, ops })
    }
}

/// The scale and the zero point of bytes that reach over a range with 0 in it.
fn steps([low, high]: [f32; 2]) -> (f32, u8) {
    let scale = (high - low) / 255.0;
    match scale > 0.0 && scale.is_finite() {
        true => (scale, (-low / scale).round_ties_even().clamp(0.0, 255.0) as u8),
        // All numbers were 0.
        false => (1.0, 0),
    }
}

impl std::fmt::Display for How {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            How::Static { scale, zero } => write!(f, "int8, scale {scale}, zero point {zero}"),
            How::Dynamic => write!(f, "int8, dynamic scale"),
            How::Kept { why, .. } => write!(f, "floats: {why}"),
        }
    }
}

/// Looks for ops with weights.
struct Search<'a> {
    names: &'a [(&'a str, Tensor)],
    skip: &'a [&'a str],
    sites: Vec<Site>,
    kept: Vec<QuantizedOp>,
    /// By name to skip: whether it was met.
    met: Vec<bool>,
}

impl Search<'_> {
    /// `params` are those parameters of the block that are known.
    fn block(
        &mut self,
        block: &Block,
        path: &[usize],
        params: &HashMap<ValueId, Tensor>,
    ) -> Result<()> {
        let mut known = params.clone();
        for (index, call) in block.calls.iter().enumerate() {
            let path: Vec<usize> = path.iter().copied().chain([index]).collect();
            if let Some(constant) = call.op.downcast::<Constant>() {
                known.insert(call.first_output, constant.value.clone());
            }
            if let Some((body, params)) = loop_body(call, &known) {
                self.block(&body, &path, &params)?;
                continue;
            }
            let types = block.input_types(call);
            let Some(weight) = call.inputs.get(1).and_then(|id| known.get(id)) else { continue };
            let name = self.name(call, weight);
            let op = QuantizedOp { name, op: call.op.name(), loc: call.loc, how: How::Dynamic };
            match packed(&call.op, &types, weight) {
                Ok(None) => {}
                Ok(Some(_)) if self.is_skipped(&op.name) => {
                    self.kept.push(QuantizedOp {
                        how: How::Kept { why: "asked for".into(), asked: true },
                        ..op
                    });
                }
                Ok(Some(packed)) => {
                    self.sites.push(Site { path, input: call.inputs[0], found: op, packed });
                }
                Err(error) => {
                    let how = How::Kept { why: error.message().to_string(), asked: false };
                    self.kept.push(QuantizedOp { how, ..op });
                }
            }
        }
        Ok(())
    }

    /// The name of the state that a weight is, else that of the layer, else the op's.
    fn name(&self, call: &Call, weight: &Tensor) -> String {
        let state = self.names.iter().find(|(_, tensor)| tensor.shares_storage(weight));
        match (state, call.loc.layer()) {
            (Some((name, _)), _) => name.to_string(),
            (None, Some(layer)) => layer.to_string(),
            (None, None) => call.op.name().to_string(),
        }
    }

    fn is_skipped(&mut self, name: &str) -> bool {
        let mut is_skipped = false;
        for (skip, met) in self.skip.iter().zip(&mut self.met) {
            let rest = name.strip_prefix(skip);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
                (*met, is_skipped) = (true, true);
            }
        }
        is_skipped
    }
}

/// The body of a loop, and which of its parameters are known to be the same in every trip.
fn loop_body(
    call: &Call,
    known: &HashMap<ValueId, Tensor>,
) -> Option<(Arc<Block>, HashMap<ValueId, Tensor>)> {
    let carries = call.op.carries()?;
    let body = (*call.op.blocks().first()?).clone();
    let captured = call.inputs.get(carries.inputs + carries.count..)?;
    let first = carries.params + carries.count;
    let params = captured.iter().enumerate().filter_map(|(i, id)| {
        let param = (first + i < body.n_params).then_some((first + i) as ValueId)?;
        Some((param, known.get(id)?.clone()))
    });
    let params = params.collect();
    Some((body, params))
}

/// The program with the least and the greatest number that goes into each site as further outputs.
fn observing(program: &Program, sites: &[Site]) -> Result<Program> {
    let main = &program.main;
    let inputs: Vec<ValueId> =
        sites.iter().filter(|site| site.is_main()).map(|site| site.input).collect();
    let mut ends: HashMap<ValueId, [ValueId; 2]> = HashMap::new();
    let mut further = |on: &mut Rewrite, old: ValueId, new: ValueId| -> Result<()> {
        if inputs.contains(&old) && !ends.contains_key(&old) {
            let low = on.call1(Min { axes: vec![], keepdims: false }, &[new])?;
            ends.insert(old, [low, on.call1(Max { axes: vec![], keepdims: false }, &[new])?]);
        }
        Ok(())
    };
    let mut on = Rewrite::new(main.param_types());
    let mut new: Vec<ValueId> = (0..main.n_params as ValueId).collect();
    new.resize(main.types.len(), ValueId::MAX);
    for id in 0..main.n_params as ValueId {
        further(&mut on, id, id)?;
    }
    for call in &main.calls {
        on.copy(main, call, &mut new);
        for id in call.outputs() {
            further(&mut on, id, new[id as usize])?;
        }
    }
    let found: Vec<ValueId> = inputs.iter().flat_map(|id| ends[id]).collect();
    let mut observed = on.finish_like(main, &new);
    let mut outputs = program.outputs.clone();
    for (i, id) in found.into_iter().enumerate() {
        observed.results.push(id);
        outputs.push(format!("{i} of the ends of activations").into());
    }
    Ok(Program { main: observed, outputs, ..program.clone() })
}

fn rewritten(
    block: &Block,
    path: &[usize],
    sites: &BTreeMap<&[usize], (&Site, How)>,
) -> Result<Block> {
    block.rewrite(|on, index, call| {
        let path: Vec<usize> = path.iter().copied().chain([index]).collect();
        if let Some((site, how)) = sites.get(path.as_slice()) {
            return write(on, site, how, call.inputs[0]).map(Some);
        }
        let is_inside = |other: &[usize]| other.len() > path.len() && other.starts_with(&path);
        if !sites.keys().any(|other| is_inside(other)) {
            return Ok(None);
        }
        let op = map_blocks(&call.op, &mut |inner| rewritten(inner, &path, sites).map(Arc::new))?;
        Ok(Some(on.push(op, &call.inputs, block.output_types(call), call.loc)))
    })
}

/// Writes the op on bytes.
fn write(on: &mut Rewrite, site: &Site, how: &How, x: ValueId) -> Result<NewValues> {
    let constant = |on: &mut Rewrite, value: Tensor| on.call1(Constant { value }, &[]);
    let [q, scale, zero] = match how {
        How::Static { scale, zero } => {
            let scale = constant(on, Tensor::scalar(*scale))?;
            let zero = constant(on, Tensor::scalar(*zero))?;
            [on.call1(QuantizeLinear {}, &[x, scale, zero])?, scale, zero]
        }
        _ => match on.call(DynamicQuantizeLinear {}, &[x])?[..] {
            [q, scale, zero] => [q, scale, zero],
            _ => return Err(Error::internal("an op has other outputs than it says")),
        },
    };
    let weight = constant(on, site.packed.weight.clone())?;
    let scales = constant(on, site.packed.scales.clone())?;
    on.call(site.packed.op.clone(), &[q, scale, zero, weight, scales])
}
