//! `parallel_for`: a loop whose trips do not depend on one another, and run at the same time.

use std::sync::{Arc, Mutex, PoisonError};

use crate::prelude::*;
use crate::random::generator::{RNG, rng_state};
use crate::random::{RngSplit, rng_next, rng_split};
use crate::{full, sum};

/// What becomes of the results of the trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reduce {
    /// They are stacked along a new first axis.
    #[default]
    Stack,
    /// They are added up.
    Sum,
    /// They are added up, and divided by their number.
    Mean,
}

/// How often a parallel loop runs, and on what.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trips<'a> {
    /// How many trips there are; nothing if `xs` say so.
    pub count: Option<Dim>,
    /// Each trip gets one slice of each of these, along the first axis.
    pub xs: &'a [&'a Var],
    /// Each trip gets all of these. Line by line, what has a history must be given here rather than used from outside.
    pub shared: &'a [&'a Var],
    /// What becomes of the results.
    pub reduce: Reduce,
}

/// Runs `body` for each number below a count, or for each slice of tensors, on all threads. `body` takes the number of
/// the trip, its slices and what is shared, and returns values that are stacked, added up or averaged. What comes out
/// does not depend on the number of threads: random numbers follow from the number of the trip, and sums are added up
/// in an order that follows from the count.
///
/// The trips cannot see one another: a body that assigns states, or has other effects, is refused. The gradient runs the
/// trips once more, at the same time as well.
///
/// ```
/// # use fluvial_ops::control::*; use fluvial_core::*;
/// let xs = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let squares = parallel_for(Trips { xs: &[&xs], ..Trips::default() }, |_, x, _| Ok(vec![&x[0] * &x[0]]))?;
/// assert_eq!(squares[0].to_vec::<f64>()?, [1.0, 4.0, 9.0]);
/// let sum = Trips { count: Some(Dim::size(4)), reduce: Reduce::Sum, ..Trips::default() };
/// assert_eq!(parallel_for(sum, |i, _, _| Ok(vec![i.clone()]))?[0].item::<i64>()?, 6);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn parallel_for(
    trips: Trips<'_>,
    body: impl FnOnce(&Var, &[Var], &[Var]) -> Result<Vec<Var>>,
) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    let _line = at(loc);
    if mode() == Mode::Building {
        let shared: Vec<Var> = trips.shared.iter().map(|&var| var.clone()).collect();
        let traced = ParallelFor::traced(trips.xs, |index, xs| body(index, xs, &shared))?;
        return parallel_for_of(trips, traced);
    }
    // Line by line it is a program of its own: so trips see the same streams, and gradients have the same bits.
    let all: Vec<&Var> = trips.xs.iter().chain(trips.shared).copied().collect();
    let names: Vec<String> = (0..all.len()).map(|i| format!("x{i}")).collect();
    let inputs: Vec<(&str, Type)> =
        names.iter().map(String::as_str).zip(all.iter().map(|var| var.ty())).collect();
    let program = Program::build(&inputs, |params| {
        let (xs, shared) = params.split_at(trips.xs.len());
        let xs: Vec<&Var> = xs.iter().collect();
        let traced = ParallelFor::traced(&xs, |index, xs| body(index, xs, shared))?;
        parallel_for_of(
            Trips { count: trips.count, xs: &xs, shared: &[], reduce: trips.reduce },
            traced,
        )
    })?;
    let state = fluvial_core::state::current().bound_to(&program.bound());
    program.initialise(&state)?;
    let _scope = state.enter();
    program.apply(&all)
}

/// [`parallel_for`] of a body that is traced already, as [`ParallelFor::traced`] does it, or between
/// [`ParallelFor::begin`] and the end of the block: for front ends that open and close blocks themselves.
#[track_caller]
pub fn parallel_for_of(trips: Trips<'_>, traced: Traced) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    // Its block says what of it has a history.
    let _recording = enable_grad();
    let explain = |error: Error| error.in_op(ParallelFor::NAME, &[]).at(loc);
    let count = ParallelFor::count(trips).map_err(explain)?;
    let closed = close(vec![traced], Runs::Trips)?;
    let assigned = closed.states.iter().find(|name| ***name != *RNG);
    if let Some(name) = assigned {
        return Err(explain(
            Error::new(
                ErrorKind::State,
                format!("the body of a parallel loop assigns the state `{name}`, and its trips have no order"),
            )
            .remedy("return the value from the body, and assign it after the loop"),
        ));
    }
    let Some(block) = closed.blocks.first() else {
        return Err(Error::internal("a loop has a body"));
    };
    if block.has_hooks() {
        return Err(explain(
            Error::gradient("a hook was put on a value in the body of a parallel loop")
                .remedy("put it on what goes in or comes out, outside"),
        ));
    }
    let (body, draws) = without_stream(block, closed.states.len(), 1 + trips.xs.len())?;
    let mut inputs: Vec<&Var> = trips.xs.to_vec();
    inputs.extend(closed.entries.iter().filter(|_| draws).chain(&closed.captures));
    let summed = vec![trips.reduce != Reduce::Stack; body.results.len()];
    let op = ParallelFor { trips: count, sliced: trips.xs.len(), summed, body: Arc::new(body) };
    let mut outputs = bind_at(op.into(), &inputs, loc)?.into_vec();
    let _line = at(loc);
    if draws && let Some(entry) = closed.entries.first() {
        assign_state(RNG, &rng_next(entry)?)?;
    }
    if trips.reduce == Reduce::Mean {
        for output in &mut outputs {
            *output = div(output, &as_number(count, output)?)?;
        }
    }
    Ok(outputs)
}

/// A size as a number to divide by.
fn as_number(count: Dim, like: &Var) -> Result<Var> {
    match count.value() {
        Some(size) => Ok(like.literal(size as f64)),
        None => sum(&full(&[count], 1.0, like.dtype())?, &[], false),
    }
}

/// The body without the state of random numbers, and whether it draws any. Then its stream stays an operand.
fn without_stream(block: &Block, n_states: usize, stream: usize) -> Result<(Block, bool)> {
    if n_states == 0 {
        return Ok((block.clone(), false));
    }
    let n_results = block.results.len() - n_states;
    let last = block.results[n_results];
    let maker = block.calls.iter().find(|call| call.outputs().any(|id| id == last));
    let is_split = |call: &Call| call.op.downcast::<RngSplit>().is_some();
    let is_unused = maker.is_some_and(|call| is_split(call) && call.inputs[0] as usize == stream);
    let own = block.with_results(block.results[..n_results].to_vec());
    match is_unused {
        true => Ok((own.keeping_params(|param| param != stream)?, false)),
        false => Ok((own, true)),
    }
}

attributes! {
    /// The op behind [`parallel_for`].
    ///
    /// Inputs: what is sliced, then what each trip takes as a whole. The body takes the number of the trip, its slices
    /// and the rest. Outputs: for each result of the body a stack, or a sum.
    pub struct ParallelFor = "parallel_for" {
        /// The number of trips.
        pub trips: Dim,
        /// How many inputs are sliced along their first axis.
        pub sliced: usize,
        /// By result of the body: whether it is added up rather than stacked.
        pub summed: Vec<bool>,
        /// The body.
        pub body: Arc<Block>,
    }
}

/// Sums are made of so many parts, in each of which trips are added up one after the other.
const PARTS: usize = 64;

impl ParallelFor {
    /// Traces a body: a function of the number of the trip and of slices.
    pub fn traced(
        xs: &[&Var],
        body: impl FnOnce(&Var, &[Var]) -> Result<Vec<Var>>,
    ) -> Result<Traced> {
        let types = ParallelFor::param_types(xs)?;
        trace_block(&types, |params| {
            ParallelFor::begin(&params[0])?;
            body(&params[0], &params[1..])
        })
    }

    /// The types of the parameters of a body: the number of the trip, and a slice of each of `xs`.
    pub fn param_types(xs: &[&Var]) -> Result<Vec<Type>> {
        let slices = xs.iter().map(|x| slice_type(&x.ty()));
        std::iter::once(Ok(Type::scalar(DType::I64))).chain(slices).collect()
    }

    /// Has to be called when the block of a body has been opened: gives the trip random numbers of its own.
    #[track_caller]
    pub fn begin(index: &Var) -> Result<()> {
        assign_state(RNG, &rng_split(&rng_state()?, index)?)
    }

    /// The number of trips.
    pub fn count(trips: Trips<'_>) -> Result<Dim> {
        let mut count = trips.count;
        for x in trips.xs {
            let ty = x.ty();
            if ty.is_list() || ty.rank() == 0 {
                return Err(Error::shape(format!("{ty} has no slices"))
                    .remedy("give tensors with an axis for the trips in front"));
            }
            let known = *count.get_or_insert(ty.dim(0));
            if known != ty.dim(0) {
                return Err(Error::shape(format!(
                    "there are {known} trips, but {ty} has {} slices",
                    ty.dim(0)
                )));
            }
        }
        count.ok_or_else(|| {
            Error::argument("a parallel loop needs a number of trips, or something to go through")
        })
    }

    /// What a trip takes.
    fn args(&self, trip: usize, inputs: &[&Value]) -> Result<Vec<Value>> {
        let mut args: Vec<Value> = vec![Tensor::scalar(trip as i64).into()];
        for (i, input) in inputs.iter().enumerate() {
            args.push(match i < self.sliced {
                true => input.tensor()?.index(0, trip)?.into(),
                false => (*input).clone(),
            });
        }
        Ok(args)
    }

    /// Makes outputs of what the parts have given: by result, for each trip, or the sum of a part.
    fn joined(&self, results: Vec<Vec<Tensor>>, outs: &[Type]) -> Result<Values> {
        let mut outputs = Values::new();
        for ((result, &is_sum), out) in results.into_iter().zip(&self.summed).zip(outs) {
            let output = match (result.is_empty(), is_sum) {
                (true, _) => {
                    let sizes = known_sizes(out)?;
                    let count = sizes.iter().product();
                    Tensor::from_f64s(out.dtype(), &vec![0.0; count], &sizes)?
                }
                (false, true) => added(result)?,
                (false, false) => kernels::stack(&result.iter().collect::<Vec<_>>(), 0)?,
            };
            outputs.push(output.into());
        }
        Ok(outputs)
    }
}

/// The sum, added up from the first on.
fn added(tensors: Vec<Tensor>) -> Result<Tensor> {
    let _now = (imperative(), no_grad());
    let mut sum: Option<Var> = None;
    for tensor in tensors {
        let next = Var::new(tensor);
        sum = Some(match sum {
            None => next,
            Some(sum) => add(&sum, &next)?,
        });
    }
    match sum {
        Some(sum) => sum.tensor().cloned(),
        None => Err(Error::internal("nothing is added up")),
    }
}

fn slice_type(ty: &Type) -> Result<Type> {
    match ty.is_list() || ty.rank() == 0 {
        true => Err(Error::shape(format!("{ty} has no slices"))
            .remedy("give tensors with an axis for the trips in front")),
        false => ty.with_dims(&ty.dims()[1..]),
    }
}

impl Op for ParallelFor {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.body.n_params.saturating_sub(1))
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if self.body.n_params == 0
            || self.sliced > inputs.len()
            || self.summed.len() != self.body.results.len()
            || self.body.types[0] != Type::scalar(DType::I64)
        {
            return Err(Error::program("the body does not take and return what it should"));
        }
        if self.body.has_effect() {
            return Err(Error::argument("the body of a parallel loop has an effect, and its trips have no order")
                .remedy("print, save and assert what the loop returns; for tasks that talk, start them with `go`"));
        }
        let mut sizes = Sizes::default();
        for (i, (declared, found)) in self.body.param_types()[1..].iter().zip(inputs).enumerate() {
            if i >= self.sliced {
                sizes.unify(declared, found)?;
                continue;
            }
            sizes.unify(declared, &slice_type(found)?)?;
            if found.dim(0) != self.trips {
                return Err(Error::shape(format!(
                    "{found} has no slice for each of {} trips",
                    self.trips
                )));
            }
        }
        let mut outs = Types::new();
        for (ty, &is_sum) in self.body.result_types().zip(&self.summed) {
            let ty = ty.substitute(&|symbol| sizes.get(symbol))?;
            if ty.is_list() {
                return Err(Error::dtype(format!("{ty} cannot be the result of a parallel loop"))
                    .remedy("return tensors; stack a list first"));
            }
            if is_sum && ty.dtype().is_bool() {
                return Err(Error::dtype("bools cannot be added up")
                    .remedy("cast them to an integer first"));
            }
            let dims: Vec<Dim> =
                std::iter::once(self.trips).chain(ty.dims().iter().copied()).collect();
            outs.push(if is_sum { ty } else { ty.with_dims(&dims)? });
        }
        Ok(outs)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        self.eval_blocks(inputs, outs, &mut CallByCall(self.blocks()))
    }

    fn blocks(&self) -> SmallVec<[&Arc<Block>; 2]> {
        smallvec![&self.body]
    }

    fn eval_blocks(
        &self,
        inputs: &[&Value],
        outs: &[Type],
        blocks: &mut dyn Blocks,
    ) -> Result<Values> {
        let n = known_size(self.trips)?;
        // Only sums need few parts; which trips make a part depends on the count alone.
        let n_parts = if self.summed.contains(&true) { n.min(PARTS) } else { n };
        let given: Mutex<Vec<Option<Vec<Vec<Tensor>>>>> = Mutex::new(vec![None; n_parts]);
        let ranks = fluvial_dist::is_distributed().then(fluvial_dist::current);
        blocks.each(n_parts, &|part, run| {
            let _ranks = ranks.clone().map(fluvial_dist::enter);
            let mut results: Vec<Vec<Tensor>> = vec![Vec::new(); self.summed.len()];
            for trip in part * n / n_parts..(part + 1) * n / n_parts {
                let args = self.args(trip, inputs)?;
                let values = run(&args.iter().collect::<Vec<_>>())?;
                for ((result, value), &is_sum) in results.iter_mut().zip(values).zip(&self.summed) {
                    let tensor = value.tensor()?.clone();
                    let before = if is_sum { result.pop() } else { None };
                    result.push(match before {
                        Some(before) => added(vec![before, tensor])?,
                        None => tensor,
                    });
                }
            }
            given.lock().unwrap_or_else(PoisonError::into_inner)[part] = Some(results);
            Ok(())
        })?;
        let given = given.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Vec<Tensor>> = vec![Vec::new(); self.summed.len()];
        for part in given {
            let part = part.ok_or_else(|| Error::internal("a trip of a loop was lost"))?;
            all.iter_mut().zip(part).for_each(|(all, own)| all.extend(own));
        }
        self.joined(all, outs)
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn reaches(&self, outputs: &[bool]) -> Option<Vec<bool>> {
        let results: Vec<usize> = (0..outputs.len()).filter(|&i| outputs[i]).collect();
        Some(self.body.influences(&results).into_iter().skip(1).collect())
    }

    fn depends(&self, output: usize, input: usize) -> bool {
        self.body.influences(&[output]).get(input + 1) == Some(&true)
    }

    fn surely_tracked(&self, inputs: &[bool]) -> Vec<bool> {
        let params: Vec<bool> = std::iter::once(false).chain(inputs.iter().copied()).collect();
        self.body.surely(&params)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, back)
    }
}

/// The cotangents of the inputs: by a loop whose trips compute forwards and back.
fn back(p: &Pull<'_>) -> Result<Cotangents> {
    let op = p.op::<ParallelFor>()?;
    let n = p.n_inputs();
    let given: Vec<usize> = (0..p.dys().len()).filter(|&i| p.dys()[i].is_some()).collect();
    let wanted: Vec<usize> = (0..n).filter(|&i| p.wanted(i)).collect();
    let is_whole = |&i: &usize| op.summed[i];
    // What is sliced comes first.
    let (whole, sliced): (Vec<usize>, Vec<usize>) = given.iter().copied().partition(is_whole);
    let dy = |&i: &usize| p.dys()[i].clone();
    let mut operands: Vec<Var> = (0..op.sliced).map(|i| p.x(i)).collect();
    operands.extend(sliced.iter().filter_map(dy));
    let n_sliced = operands.len();
    operands.extend((op.sliced..n).map(|i| p.x(i)));
    operands.extend(whole.iter().filter_map(dy));
    let element = |(i, var): (usize, &Var)| match i < n_sliced {
        true => slice_type(&var.ty()),
        false => Ok(var.ty()),
    };
    let types = operands.iter().enumerate().map(element);
    let types = std::iter::once(Ok(Type::scalar(DType::I64))).chain(types);
    let types: Vec<Type> = types.collect::<Result<_>>()?;
    let mut found: Vec<bool> = Vec::new();
    let body = free_block(&types, |params| {
        let (xs, rest) = params[1..].split_at(op.sliced);
        let (sliced_dys, rest) = rest.split_at(sliced.len());
        let (wholes, whole_dys) = rest.split_at(n - op.sliced);
        let own: Vec<&Var> = params[..1].iter().chain(xs).chain(wholes).collect();
        let results = op.body.apply(&own)?;
        let outputs: Vec<&Var> = sliced.iter().chain(&whole).map(|&i| &results[i]).collect();
        let seeds: Vec<Option<&Var>> = sliced_dys.iter().chain(whole_dys).map(Some).collect();
        let wrt: Vec<&Var> = wanted.iter().map(|&i| own[1 + i]).collect();
        let options = GradOptions { create_graph: true, retain_graph: true };
        let cotangents = vjp(&outputs, &seeds, &wrt, options)?;
        found = cotangents.iter().map(Option::is_some).collect();
        Ok(cotangents.into_iter().flatten().collect())
    })?;
    let mut all = Cotangents::from_elem(None, n);
    if !found.contains(&true) {
        return Ok(all);
    }
    let found: Vec<usize> =
        wanted.iter().zip(&found).filter(|(_, found)| **found).map(|(&i, _)| i).collect();
    let summed = found.iter().map(|&i| i >= op.sliced).collect();
    let loops = ParallelFor { trips: op.trips, sliced: n_sliced, summed, body };
    let outputs = bind(loops, &operands.iter().collect::<Vec<_>>())?;
    for (&i, output) in found.iter().zip(outputs) {
        all[i] = Some(output);
    }
    Ok(all)
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ParallelFor::NAME, ParallelFor::build, Vec::new);
