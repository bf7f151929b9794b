//! `while_loop`: repeats a body as long as a condition holds.

use std::sync::Arc;

use super::while_grad::{reverse_loop, with_reverse};
use crate::lists::{list_new, list_push};
use crate::prelude::*;

/// Repeats `body` on the carried values as long as `cond` of them holds, and returns the last
/// ones. The number of trips need not be known; gradients are exact.
///
/// In imperative mode the closures are simply called. In a program the loop is one op that owns
/// its body: what the closures use from outside becomes an operand, and state they assign is
/// carried and assigned once, after the loop.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// // Doubles until it exceeds 100.
/// let x = Var::scalar(3.0f64);
/// let out = while_loop(&[&x], |v| lt(&v[0], &Var::scalar(100.0)), |v| Ok(vec![&v[0] * 2.0]))?;
/// assert_eq!(out[0].item::<f64>()?, 192.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn while_loop(
    init: &[&Var],
    cond: impl Fn(&[Var]) -> Result<Var>,
    body: impl Fn(&[Var]) -> Result<Vec<Var>>,
) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    let init = init.iter().map(|&var| var.clone().check()).collect::<Result<Vec<_>>>()?;
    let step = |values: &[Var]| -> Result<Vec<Var>> {
        let next = body(values)?;
        let types: Vec<Type> = values.iter().map(Var::ty).collect();
        same_types(&types, &next.iter().map(Var::ty).collect::<Vec<_>>())
            .map_err(|error| error.in_op(While::NAME, &types.iter().collect::<Vec<_>>()).at(loc))?;
        next.into_iter().map(Var::check).collect()
    };
    let check_cond = |values: &[Var]| -> Result<Var> {
        let holds = cond(values)?.check()?;
        is_condition(&holds.ty()).map_err(|error| error.in_op(While::NAME, &[]).at(loc))?;
        Ok(holds)
    };
    match mode() {
        Mode::Imperative => {
            let mut values = init;
            while check_cond(&values)?.item::<bool>()? {
                interrupt::before_trip()?;
                values = step(&values)?;
            }
            Ok(values)
        }
        Mode::Building => build(&init, check_cond, step, loc),
    }
}

fn build(
    init: &[Var],
    cond: impl Fn(&[Var]) -> Result<Var>,
    step: impl Fn(&[Var]) -> Result<Vec<Var>>,
    loc: Loc,
) -> Result<Vec<Var>> {
    let first = cond(init)?;
    let types: Vec<Type> = init.iter().map(Var::ty).collect();
    let traced = trace_block_at(loc, &types, |values| {
        let next = step(values)?;
        let mut results = vec![cond(&next)?];
        results.extend(next);
        Ok(results)
    })?;
    let _line = at(loc);
    while_of(&first, &init.iter().collect::<Vec<_>>(), traced)
}

/// [`while_loop`] of a body that is traced already: for front ends that open and close blocks
/// themselves. The body takes the carried values and returns the condition for the next trip, then
/// the next carried values; `first` is the condition for the first trip.
#[track_caller]
pub fn while_of(first: &Var, init: &[&Var], body: Traced) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    // Its blocks say what of it has a history.
    let _recording = enable_grad();
    let runs = match known_value(first).and_then(|first| first.item().ok()) {
        Some(true) => Runs::SomeTrips,
        _ => Runs::Trips,
    };
    let closed = close(vec![body], runs)?;
    closed.check_history(init, 0, 1)?;
    let n_carried = init.len() + closed.states.len();
    let Some(body) = closed.blocks.into_iter().next() else {
        return Err(Error::internal("a loop has a body"));
    };
    let mut inputs = vec![first];
    inputs.extend(init.iter().copied().chain(&closed.entries).chain(&closed.captures));
    let is_same = |&(i, j): &(usize, usize)| {
        inputs[1 + i].ty().is_inexact() && same_value(inputs[1 + i], inputs[1 + j])
    };
    let last_of = |i: usize| (i + 1..body.n_params).rev().map(|j| (i, j)).find(is_same);
    let same = (0..n_carried).filter_map(last_of).map(|(i, j)| vec![i, j]).collect();
    let op = While {
        body,
        n_carried,
        same,
        reverses: vec![],
        wanted: vec![],
        given: vec![],
        seeds: vec![],
        found: vec![],
        of_run: vec![],
        next: vec![],
        residuals: vec![],
    };
    let mut outputs = bind_at(op.into(), &inputs, loc)?.into_vec();
    let assigned = outputs.split_off(init.len());
    let _line = at(loc);
    for (name, value) in closed.states.iter().zip(&assigned) {
        assign_state(name, value)?;
    }
    Ok(outputs)
}

attributes! {
    /// The op behind [`while_loop`].
    ///
    /// Inputs: the condition for the first trip, the carried values, what the body captures. The
    /// body takes carried values and captures, and returns the condition for the next trip, the
    /// next carried values, and values to stack. Outputs: the carried values; and, once a gradient
    /// was asked for, the number of trips and one list per stacked value, the last trip on top.
    pub struct While = "while" {
        /// The body.
        pub body: Arc<Block>,
        /// How many values are carried.
        pub n_carried: usize,
        /// Carried values that begin as the same value as another parameter of the body, with the last such one.
        pub same: Vec<Vec<usize>>,
        /// The ways back through the body, once asked for; the first one is that of the last trip. If there are
        /// twice as many as in `next`, the second half is for the first trip, in which `same` are one value. Each goes from
        /// cotangents of its `seeds` and of the stacked values in `given`, whether those seeds are there of which
        /// only a run knows, the sums of the captures in `wanted` so far, whether there is anything in them, then
        /// residuals; to totals of `found`, then whether those in `of_run` are there.
        pub reverses: Vec<Arc<Block>>,
        /// The parameters of the body whose cotangents are wanted.
        pub wanted: Vec<usize>,
        /// The stacked values whose cotangents the ways back take.
        pub given: Vec<usize>,
        /// By way: the carried values that have cotangents behind the trip: twice their number, and one more where
        /// only a run knows.
        pub seeds: Vec<Vec<usize>>,
        /// By way: the parameters of the body of which it gives totals.
        pub found: Vec<Vec<usize>>,
        /// By way: those of them of which only a run knows if anything was added.
        pub of_run: Vec<Vec<usize>>,
        /// By way of the first half: that of the trip before.
        pub next: Vec<usize>,
        /// Where the residuals come from: parameter `i` of the body, or stacked value `-1 - i`.
        pub residuals: Vec<i64>,
    }
}

impl While {
    /// Whether it keeps what its gradient needs.
    pub(super) fn keeps(&self) -> bool {
        !self.reverses.is_empty()
    }

    /// The loop without those carried values for which `kept` does not hold: nothing needs what they are after it,
    /// nor has the body a use for them but to carry them. None if a gradient needs one of them.
    pub fn carrying(&self, kept: &[bool]) -> Result<Option<While>> {
        let is_kept = |param: usize| kept.get(param) != Some(&false);
        let place = |param: usize| (0..param).filter(|&i| is_kept(i)).count();
        let params = |all: &[usize]| all.iter().map(|&i| place(i)).collect::<Vec<_>>();
        let of_ways = |ways: &[Vec<usize>]| ways.iter().map(|way| params(way)).collect::<Vec<_>>();
        let sources = self.residuals.iter().filter_map(|&source| usize::try_from(source).ok());
        if !self.wanted.iter().copied().chain(sources).all(is_kept) {
            return Ok(None);
        }
        let (cond, rest) = self.body.results.split_at(1.min(self.body.results.len()));
        let results = rest.iter().enumerate().filter(|(i, _)| is_kept(*i)).map(|(_, &id)| id);
        let results = cond.iter().copied().chain(results).collect();
        let coded = |&code: &usize| 2 * place(code / 2) + code % 2;
        let source = |&source: &i64| usize::try_from(source).map_or(source, |i| place(i) as i64);
        let both = |pair: &&Vec<usize>| pair.iter().copied().all(is_kept);
        Ok(Some(While {
            body: Arc::new(self.body.with_results(results).keeping_params(is_kept)?),
            n_carried: place(self.n_carried),
            same: self.same.iter().filter(both).map(|pair| params(pair)).collect(),
            reverses: self.reverses.clone(),
            wanted: params(&self.wanted),
            given: self.given.clone(),
            seeds: self.seeds.iter().map(|way| way.iter().map(coded).collect()).collect(),
            found: of_ways(&self.found),
            of_run: of_ways(&self.of_run),
            next: self.next.clone(),
            residuals: self.residuals.iter().map(source).collect(),
        }))
    }

    /// How many values are stacked.
    pub(super) fn n_stacked(&self) -> usize {
        self.body.results.len().saturating_sub(1 + self.n_carried)
    }
}

impl Op for While {
    fn arity(&self) -> Arity {
        Arity::Exactly(1 + self.body.n_params)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if self.n_carried > self.body.n_params || self.body.results.len() <= self.n_carried {
            return Err(Error::program("the body does not take and return the carried values"));
        }
        self.check_reverse()?;
        is_condition(inputs[0])?;
        let mut sizes = Sizes::default();
        for (declared, found) in self.body.param_types().iter().zip(&inputs[1..]) {
            sizes.unify(declared, found)?;
        }
        let results = self
            .body
            .result_types()
            .map(|ty| ty.substitute(&|symbol| sizes.get(symbol)))
            .collect::<Result<Vec<_>>>()?;
        is_condition(&results[0])?;
        let carried: Vec<Type> = inputs[1..=self.n_carried].iter().map(|ty| **ty).collect();
        same_types(&carried, &results[1..=self.n_carried])?;
        let mut outs: Types = carried.into_iter().collect();
        if self.keeps() {
            outs.push(Type::scalar(DType::I64));
            for ty in &results[1 + self.n_carried..] {
                outs.push(ty.list_of()?);
            }
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
        let captures = &inputs[1 + self.n_carried..];
        let (mut holds, mut trips) = (true, 0i64);
        let mut carried: Values = smallvec![];
        let mut lists: SmallVec<[List; 4]> = smallvec![];
        if let Some(state) = blocks.resumed() {
            let mut state = state.into_iter();
            trips = match state.next() {
                Some(trips) => trips.tensor()?.item()?,
                None => return Err(Error::program("a suspended loop lost its state")),
            };
            lists = state.map(|value| value.list().cloned()).collect::<Result<_>>()?;
        } else {
            holds = inputs[0].tensor()?.item()?;
            carried.extend(inputs[1..=self.n_carried].iter().map(|&value| value.clone()));
            for ty in outs.iter().skip(1 + self.n_carried) {
                lists.push(List::new(ty.element().unwrap_or(*ty))?);
            }
        }
        while holds {
            let mut args = std::mem::take(&mut carried);
            args.extend(captures.iter().map(|&value| value.clone()));
            let state = || {
                let lists = lists.iter().cloned().map(Value::List);
                std::iter::once(Tensor::scalar(trips).into()).chain(lists).collect()
            };
            let mut results = blocks.trip(args, &state)?.into_iter();
            holds = match results.next() {
                Some(next) => next.tensor()?.item()?,
                None => return Err(Error::internal("the body of a loop lost its condition")),
            };
            carried = results.by_ref().take(self.n_carried).collect();
            lists.iter_mut().zip(results).for_each(|(list, value)| *list = list.push(value));
            trips += 1;
        }
        if self.keeps() {
            carried.push(Tensor::scalar(trips).into());
            carried.extend(lists.into_iter().map(Value::List));
        }
        Ok(carried)
    }

    fn carries(&self) -> Option<Carries> {
        Some(Carries { inputs: 1, outputs: 0, params: 0, results: 1, count: self.n_carried })
    }

    fn grad(&self) -> Grad {
        Grad::Totals(Keeps::ALL, reverse_loop)
    }

    fn properties(&self) -> Properties {
        Properties { effect: self.body.has_effect(), residuals: true, ..Properties::PURE }
    }

    fn with_residuals(&self, wanted: &[bool], given: &[bool]) -> Result<Option<OpRef>> {
        with_reverse(self, wanted, given)
    }

    fn reaches(&self, outputs: &[bool]) -> Option<Vec<bool>> {
        let is_reached = |output: usize| outputs.get(output) == Some(&true);
        let mut carried: Vec<bool> = (0..self.n_carried).map(is_reached).collect();
        let stacked = (0..self.n_stacked()).filter(|i| is_reached(self.n_carried + 1 + i));
        let stacked: Vec<usize> = stacked.map(|i| 1 + self.n_carried + i).collect();
        loop {
            let results = (0..self.n_carried).filter(|&i| carried[i]).map(|i| 1 + i);
            let results: Vec<usize> = results.chain(stacked.iter().copied()).collect();
            let influences = self.body.influences(&results);
            let grown: Vec<bool> =
                carried.iter().zip(&influences).map(|(known, found)| *known || *found).collect();
            if grown == carried {
                // Without a trip, carried values are what they were before.
                let captures = influences.into_iter().skip(self.n_carried);
                return Some(std::iter::once(false).chain(carried).chain(captures).collect());
            }
            carried = grown;
        }
    }

    fn surely_tracked(&self, inputs: &[bool]) -> Vec<bool> {
        // There may be no trip, or any number.
        let mut params = inputs[1..].to_vec();
        loop {
            let results = self.body.surely(&params);
            let mut changed = false;
            for (param, result) in params[..self.n_carried].iter_mut().zip(&results[1..]) {
                changed |= *param && !result;
                *param &= result;
            }
            if !changed {
                return params[..self.n_carried].to_vec();
            }
        }
    }

    fn unroll(&self, inputs: &[&Var]) -> Result<Option<Outputs>> {
        let types: Vec<Type> = inputs.iter().map(|var| var.ty()).collect();
        let outs = self.infer(&types.iter().collect::<Vec<_>>())?;
        self.run(inputs, &outs).map(|outputs| Some(outputs.into()))
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::While { carried: self.n_carried, keeps: self.keeps() }))
    }
}

impl While {
    /// Refuses a reverse block, read from a file, that does not fit the body.
    fn check_reverse(&self) -> Result<()> {
        let n_ways = self.reverses.len();
        let n_params = self.body.n_params;
        let is_source = |&source: &i64| match usize::try_from(source) {
            Ok(param) => param < n_params,
            Err(_) => source.unsigned_abs() <= self.n_stacked() as u64,
        };
        let n_sums = self.wanted.iter().filter(|&&i| i >= self.n_carried).count();
        let way_fits = |way: usize| {
            let (reverse, found) = (&self.reverses[way], &self.found[way]);
            let seeds = self.seeds_of(way);
            let n_flags = seeds.iter().filter(|(_, of_run)| *of_run).count();
            let n_given = seeds.len() + self.given.len() + n_flags;
            seeds.iter().all(|(i, _)| *i < self.n_carried && self.wanted.contains(i))
                && found.iter().all(|i| self.wanted.contains(i))
                && self.of_run[way].iter().all(|i| found.contains(i))
                && reverse.n_params == n_given + 2 * n_sums + self.residuals.len()
                && reverse.results.len() == found.len() + self.of_run[way].len()
        };
        let complete = [&self.seeds, &self.found, &self.of_run].iter().all(|of| of.len() == n_ways)
            && (self.next.len() == n_ways || 2 * self.next.len() == n_ways)
            && self.next.iter().all(|&way| way < self.next.len());
        let is_pair = |pair: &Vec<usize>| matches!(pair[..], [i, j] if i < j && i < self.n_carried && j < n_params);
        let fits = self.wanted.is_sorted()
            && self.wanted.iter().all(|&i| i < n_params)
            && self.given.iter().all(|&i| i < self.n_stacked())
            && self.residuals.iter().all(is_source)
            && complete
            && self.same.iter().all(is_pair)
            && (0..n_ways).all(way_fits);
        match fits {
            true => Ok(()),
            false => Err(Error::program("the reverse block does not fit the body")),
        }
    }

    /// The carried values that have cotangents behind a trip whose way back is this one, and whether only a run
    /// knows if they do.
    pub(super) fn seeds_of(&self, way: usize) -> Vec<(usize, bool)> {
        self.seeds[way].iter().map(|&coded| (coded / 2, coded % 2 == 1)).collect()
    }

    /// Applies the body trip after trip.
    fn run(&self, inputs: &[&Var], outs: &[Type]) -> Result<Vec<Var>> {
        let mut holds = inputs[0].item::<bool>()?;
        let mut carried: Vec<Var> = inputs[1..=self.n_carried].iter().map(|&v| v.clone()).collect();
        let captures = &inputs[1 + self.n_carried..];
        let mut lists = Vec::new();
        for ty in outs.iter().skip(1 + self.n_carried) {
            lists.push(list_new(ty.element().unwrap_or(*ty))?);
        }
        let mut trips = 0i64;
        while holds {
            interrupt::before_trip()?;
            let args: Vec<&Var> = carried.iter().chain(captures.iter().copied()).collect();
            let mut results = self.body.apply(&args)?;
            holds = results[0].item()?;
            for (list, var) in lists.iter_mut().zip(&results[1 + self.n_carried..]) {
                *list = list_push(list, var)?;
            }
            results.truncate(1 + self.n_carried);
            carried = results.split_off(1);
            trips += 1;
        }
        if self.keeps() {
            carried.push(Var::scalar(trips));
            carried.extend(lists);
        }
        Ok(carried)
    }
}

/// Refuses what is not a bool scalar.
pub(super) fn is_condition(ty: &Type) -> Result<()> {
    if ty.dtype() == DType::Bool && ty.rank() == 0 && !ty.is_list() {
        return Ok(());
    }
    Err(Error::dtype(format!("a condition must be bool[], found {ty}"))
        .remedy("compare with something, and reduce with `any` or `all`"))
}

pub(super) fn same_types(before: &[Type], after: &[Type]) -> Result<()> {
    if before.len() != after.len() {
        return Err(Error::argument(format!(
            "the loop carries {} values, but its body returns {}",
            before.len(),
            after.len()
        )));
    }
    for (i, (before, after)) in before.iter().zip(after).enumerate() {
        let lists = before.is_list() && before.lists() == after.lists();
        if before != after && !(lists && before.dtype() == after.dtype()) {
            return Err(Error::shape(format!(
                "carried value {i} is {before} before the body and {after} after it"
            ))
            .remedy("a loop must keep types: cast, pad or reshape, or start with the final type"));
        }
    }
    Ok(())
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(While::NAME, While::build, Vec::new);
