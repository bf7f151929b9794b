//! `for_each`: a loop over what a reader gives.

use std::sync::Arc;

use fluvial_data::reader::{Cursor, Open};
use fluvial_data::{Position, Reader};

use super::while_loop::{is_condition, same_types};
use crate::prelude::*;

/// Repeats `body` for each result of a reader, from `position` on to the end of the pass, or of `passes`
/// passes, counting the one that it stands in. `body` takes the tensors that the reader gives and the carried
/// values, and returns whether to go on, if it may also end earlier, and the next carried values. Returns the
/// position after the last trip, and the last carried values.
///
/// A position is an `i64[2]`: the number of the pass and how many results it has given. Kept in a state, it makes
/// a later loop go on where this one ended.
///
/// In a program the loop is one op, with the description of the reader in it: the program reads its data by
/// itself. Sizes that differ from batch to batch are symbols in the body. Arrays, streams and functions of the
/// host are found by their names when the program runs: a reader of arrays in memory must live as long.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*; use fluvial_data::Reader;
/// let reader = Reader::of([("x", Tensor::from_slice(&[1.0, 2.0, 3.0], &[3])?)])?.batch(2, false);
/// let start = Var::of(&[0i64, 0], &[2])?;
/// let (position, total) = for_each(&reader, 1, &start, &[&Var::scalar(0.0)], |x, carried| {
///     Ok((None, vec![&carried[0] + &sum(&x[0], &[], false)?]))
/// })?;
/// assert_eq!(total[0].item::<f64>()?, 6.0);
/// assert_eq!(position.to_vec::<i64>()?, [1, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn for_each(
    reader: &Reader,
    passes: usize,
    position: &Var,
    init: &[&Var],
    body: impl Fn(&[Var], &[Var]) -> Result<(Option<Var>, Vec<Var>)>,
) -> Result<(Var, Vec<Var>)> {
    ForEach::followed(reader, passes, position, init, body, |_| Ok(()))
}

/// [`for_each`] of a body that is traced already: for front ends that open and close blocks themselves. The
/// body takes values of the types `fields`, as [`ForEach::fields_of`] gives them, then the carried values; it returns
/// whether to go on, then the next carried values.
#[track_caller]
pub fn for_each_of(
    reader: &Reader,
    passes: usize,
    fields: &[Type],
    position: &Var,
    init: &[&Var],
    body: Traced,
) -> Result<(Var, Vec<Var>)> {
    let loc = scope::user_line();
    let closed = close(vec![body], Runs::Trips)?;
    closed.check_history(init, fields.len(), 1)?;
    let n_carried = init.len() + closed.states.len();
    let Some(body) = closed.blocks.into_iter().next() else {
        return Err(Error::internal("a loop has a body"));
    };
    let mut inputs = vec![position];
    inputs.extend(init.iter().copied().chain(&closed.entries).chain(&closed.captures));
    let reader = reader.to_string().into();
    let op = ForEach { reader, epochs: passes, fields: fields.to_vec(), n_carried, body };
    let mut outputs = bind_at(op.into(), &inputs, loc)?.into_vec();
    let assigned = outputs.split_off(1 + init.len());
    let _line = at(loc);
    for (name, value) in closed.states.iter().zip(&assigned) {
        assign_state(name, value)?;
    }
    let position = outputs.remove(0);
    Ok((position, outputs))
}

attributes! {
    /// The op behind [`for_each`].
    ///
    /// Inputs: the position, the carried values, what the body captures. The body takes the tensors of the
    /// reader, carried values and captures, and returns whether to go on and the next carried values. Outputs:
    /// the position after the loop, the carried values.
    pub struct ForEach = "for_each" {
        /// The description of the reader.
        pub reader: Arc<str>,
        /// How many passes are made, with the one that the position stands in.
        pub epochs: usize,
        /// The types of what the reader gives.
        pub fields: Vec<Type>,
        /// How many values are carried.
        pub n_carried: usize,
        /// The body.
        pub body: Arc<Block>,
    }
}

impl ForEach {
    /// The loop without those carried values for which `kept` does not hold: nothing needs what they are after it,
    /// nor has the body a use for them but to carry them.
    pub fn carrying(&self, kept: &[bool]) -> Result<ForEach> {
        let first = self.fields.len();
        let is_kept = |i: usize| kept.get(i) != Some(&false);
        let (cond, rest) = self.body.results.split_at(1.min(self.body.results.len()));
        let results = rest.iter().enumerate().filter(|(i, _)| is_kept(*i)).map(|(_, &id)| id);
        let results = cond.iter().copied().chain(results).collect();
        let keeps = |param: usize| param < first || is_kept(param - first);
        Ok(ForEach {
            n_carried: (0..self.n_carried).filter(|&i| is_kept(i)).count(),
            body: Arc::new(self.body.with_results(results).keeping_params(keeps)?),
            ..self.clone()
        })
    }

    /// [`for_each`] that line by line calls `moved` before each trip with the position after it, so that what
    /// is saved at the end of a trip counts its batch as read. In a program it is not called: there the states
    /// of a run that is suspended in a loop are those at the end of a trip anyway.
    #[track_caller]
    pub fn followed(
        reader: &Reader,
        passes: usize,
        position: &Var,
        init: &[&Var],
        body: impl Fn(&[Var], &[Var]) -> Result<(Option<Var>, Vec<Var>)>,
        moved: impl Fn(&Var) -> Result<()>,
    ) -> Result<(Var, Vec<Var>)> {
        let loc = scope::user_line();
        let init = init.iter().map(|&var| var.clone().check()).collect::<Result<Vec<_>>>()?;
        let types: Vec<Type> = init.iter().map(Var::ty).collect();
        let step = |fields: &[Var], carried: &[Var]| -> Result<(Option<Var>, Vec<Var>)> {
            let (go_on, next) = body(fields, carried)?;
            let check = || {
                same_types(&types, &next.iter().map(Var::ty).collect::<Vec<_>>())?;
                go_on.as_ref().map_or(Ok(()), |go_on| is_condition(&go_on.ty()))
            };
            check().map_err(|error| error.in_op(ForEach::NAME, &[]).at(loc))?;
            Ok((go_on, next.into_iter().map(Var::check).collect::<Result<_>>()?))
        };
        let open = reader.open().map_err(|error| error.in_op(ForEach::NAME, &[]).at(loc))?;
        match mode() {
            Mode::Imperative => {
                let mut walk = Walk::new(&open, position.value()?, passes)?;
                let mut carried = init;
                while let Some(sample) = walk.next().map_err(|error| error.at(loc))? {
                    interrupt::before_trip()?;
                    moved(&Var::new(walk.position()?))?;
                    let fields: Vec<Var> = sample.into_iter().map(Var::new).collect();
                    let (go_on, next) = step(&fields, &carried)?;
                    carried = next;
                    if go_on.map_or(Ok(false), |go_on| go_on.item::<bool>().map(|go_on| !go_on))? {
                        break;
                    }
                }
                Ok((Var::new(walk.position()?), carried))
            }
            Mode::Building => {
                let fields = ForEach::fields_of(&open)?;
                let all: Vec<Type> = fields.iter().chain(&types).copied().collect();
                let traced = trace_block_at(loc, &all, |params| {
                    let (fields, carried) = params.split_at(fields.len());
                    let (go_on, next) = step(fields, carried)?;
                    let go_on = go_on.unwrap_or_else(|| Var::scalar(true));
                    Ok(std::iter::once(go_on).chain(next).collect())
                })?;
                let _line = at(loc);
                let init: Vec<&Var> = init.iter().collect();
                for_each_of(reader, passes, &fields, position, &init, traced)
            }
        }
    }

    /// The types of what a reader gives, for a loop of the program under construction: with symbols of
    /// its own.
    pub fn fields_of(open: &Open) -> Result<Vec<Type>> {
        new_symbols(&open.fields().iter().map(|field| field.ty).collect::<Vec<_>>())
    }

    /// How many trips a pass through the data has, if that is known without reading it.
    pub fn trips_of_a_pass(&self) -> Option<u64> {
        self.open().ok()?.len(0)
    }

    fn open(&self) -> Result<Arc<Open>> {
        let open = self.reader.parse::<Reader>()?.open()?;
        let found: Vec<Type> = open.fields().iter().map(|field| field.ty).collect();
        let mut sizes = Sizes::default();
        let fits = found.len() == self.fields.len()
            && self.fields.iter().zip(&found).all(|(declared, found)| {
                // A size that the data does not fix is judged batch by batch.
                sizes.unify(declared, found).is_ok() || found.is_symbolic()
            });
        match fits {
            true => Ok(open),
            false => Err(Error::shape(format!(
                "the reader gives {}, but the program was built for {}",
                listed(&found),
                listed(&self.fields)
            ))
            .remedy("build the program again, or read other files")),
        }
    }

    /// An error if a result of the reader is not of the declared types.
    fn check(&self, sample: &[Tensor]) -> Result<()> {
        let mut sizes = Sizes::default();
        for (declared, tensor) in self.fields.iter().zip(sample) {
            sizes.unify(declared, &tensor.ty()).map_err(|error| error.note("in a batch"))?;
        }
        Ok(())
    }

    /// Applies the body trip after trip.
    fn run(&self, inputs: &[&Var]) -> Result<Vec<Var>> {
        let mut walk = Walk::new(&self.open()?, inputs[0].value()?, self.epochs)?;
        let mut carried: Vec<Var> = inputs[1..=self.n_carried].iter().map(|&v| v.clone()).collect();
        let captures = &inputs[1 + self.n_carried..];
        let mut goes_on = true;
        while goes_on && let Some(sample) = walk.next()? {
            interrupt::before_trip()?;
            self.check(&sample)?;
            let fields: Vec<Var> = sample.into_iter().map(Var::new).collect();
            let args = fields.iter().chain(&carried).chain(captures.iter().copied());
            let mut results = self.body.apply(&args.collect::<Vec<_>>())?;
            carried = results.split_off(1);
            goes_on = results[0].item()?;
        }
        let mut outputs = vec![Var::new(walk.position()?)];
        outputs.extend(carried);
        Ok(outputs)
    }
}

fn listed(types: &[Type]) -> String {
    types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ")
}

impl Op for ForEach {
    fn arity(&self) -> Arity {
        Arity::Exactly(1 + self.body.n_params.saturating_sub(self.fields.len()))
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let n_fields = self.fields.len();
        if self.body.n_params < n_fields + self.n_carried
            || self.body.results.len() != 1 + self.n_carried
            || self.body.param_types()[..n_fields] != self.fields[..]
        {
            return Err(Error::program("the body does not take and return what it should"));
        }
        if *inputs[0] != Type::of(DType::I64, &[2])? {
            return Err(Error::shape(format!("a position is i64[2], found {}", inputs[0])));
        }
        let mut sizes = Sizes::default();
        for (declared, found) in self.body.param_types()[n_fields..].iter().zip(&inputs[1..]) {
            sizes.unify(declared, found)?;
        }
        let results = self
            .body
            .result_types()
            .map(|ty| ty.substitute(&|symbol| sizes.get(symbol)))
            .collect::<Result<Vec<_>>>()?;
        is_condition(&results[0])?;
        let carried: Vec<Type> = inputs[1..=self.n_carried].iter().map(|ty| **ty).collect();
        same_types(&carried, &results[1..])?;
        Ok(std::iter::once(*inputs[0]).chain(carried).collect())
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
        _: &[Type],
        blocks: &mut dyn Blocks,
    ) -> Result<Values> {
        let open = self.open()?;
        let captures = &inputs[1 + self.n_carried..];
        let mut carried: Values = smallvec![];
        let resumed = blocks.resumed();
        let mut is_resumed = resumed.is_some();
        let mut walk = match resumed {
            Some(state) => Walk::resumed(&open, &state, self.epochs)?,
            None => {
                carried.extend(inputs[1..=self.n_carried].iter().map(|&value| value.clone()));
                Walk::new(&open, inputs[0], self.epochs)?
            }
        };
        let mut goes_on = true;
        while goes_on {
            let mut args: Values = smallvec![];
            // The trip that was suspended has its arguments already.
            if !std::mem::take(&mut is_resumed) {
                let Some(sample) = walk.next()? else { break };
                self.check(&sample)?;
                args.extend(sample.into_iter().map(Value::Tensor));
                args.append(&mut carried);
                args.extend(captures.iter().map(|&value| value.clone()));
            }
            let mut results = blocks.trip(args, &|| walk.state())?.into_iter();
            goes_on = match results.next() {
                Some(goes_on) => goes_on.tensor()?.item()?,
                None => return Err(Error::internal("the body of a loop lost its condition")),
            };
            carried = results.collect();
        }
        carried.insert(0, walk.position()?);
        Ok(carried)
    }

    fn carries(&self) -> Option<Carries> {
        let params = self.fields.len();
        Some(Carries { inputs: 1, outputs: 1, params, results: 1, count: self.n_carried })
    }

    fn reader(&self) -> Option<&str> {
        Some(&self.reader)
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::File))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable(
            "a loop over a reader is not differentiated as a whole; take the gradient inside it",
        )
    }

    fn properties(&self) -> Properties {
        Properties { residuals: true, ..Properties::EFFECT }
    }

    fn unroll(&self, inputs: &[&Var]) -> Result<Option<Outputs>> {
        self.run(inputs).map(|outputs| Some(outputs.into()))
    }
}

/// A cursor that goes from pass to pass.
struct Walk {
    cursor: Cursor,
    /// The pass that was the first one.
    start: u64,
    /// The pass that is not made any more.
    end: u64,
    /// Where the last result was.
    last: Position,
}

impl Walk {
    fn new(open: &Arc<Open>, position: &Value, passes: usize) -> Result<Walk> {
        let (epoch, index) = two(position)?;
        let last = Position { epoch, index };
        let end = epoch.saturating_add(passes as u64);
        Ok(Walk { cursor: open.start(last)?, start: epoch, end, last })
    }

    /// What [`Walk::state`] was of another one, which perhaps made another number of passes.
    fn resumed(open: &Arc<Open>, state: &[Value], passes: usize) -> Result<Walk> {
        let whole = |value: &Value| Ok::<_, Error>(value.tensor()?.item::<i64>()?.unsigned_abs());
        let (position, start, end, last) = match state {
            [position, _, start, last] => {
                let start = whole(start)?;
                (position, start, start.saturating_add(passes as u64), last)
            }
            // As older versions left it.
            [position, end, last] => (position, 0, whole(end)?, last),
            _ => return Err(Error::program("a suspended loop lost its state")),
        };
        let (position, last) = (two(position)?, two(last)?);
        let cursor = open.start(Position { epoch: position.0, index: position.1 })?;
        let last = Position { epoch: last.0, index: last.1 };
        Ok(Walk { cursor, start, end, last })
    }

    fn state(&self) -> Values {
        let (start, end) = (self.start as i64, self.end as i64);
        let [start, end] = [start, end].map(|pass| Tensor::scalar(pass).into());
        match (self.position(), as_value(self.last)) {
            (Ok(position), Ok(last)) => smallvec![position, end, start, last],
            _ => smallvec![],
        }
    }

    /// The next result; none at the end of the last pass.
    fn next(&mut self) -> Result<Option<Vec<Tensor>>> {
        let mut n_empty = 0;
        while self.cursor.position().epoch < self.end {
            let position = self.cursor.position();
            if let Some(sample) = self.cursor.next()? {
                self.last = position;
                return Ok(Some(sample));
            }
            self.cursor.next_epoch();
            n_empty += 1;
            if n_empty > 1 {
                // A pass without results: so are all others.
                break;
            }
        }
        Ok(None)
    }

    fn position(&self) -> Result<Value> {
        as_value(self.cursor.position())
    }
}

fn as_value(Position { epoch, index }: Position) -> Result<Value> {
    Ok(Tensor::from_slice(&[epoch as i64, index as i64], &[2])?.into())
}

/// The numbers of a position.
fn two(position: &Value) -> Result<(u64, u64)> {
    match position.tensor()?.to_vec::<i64>()?[..] {
        [epoch, index] if epoch >= 0 && index >= 0 => Ok((epoch as u64, index as u64)),
        _ => Err(Error::argument("a position is two numbers, none below zero")),
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ForEach::NAME, ForEach::build, Vec::new);
