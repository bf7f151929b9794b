//! `attempt`: a block that may fail, and what stands for its results then.

use std::sync::Arc;

use super::attempt_grad::AttemptGrad;
use crate::prelude::*;

/// Runs `body`. If it fails with one of the faults that are `caught`, its results are what its notes say where it
/// has failed: those called `key` and a dot and the number of the result, or else what `otherwise` returns. The note
/// called `key` is the number of the fault.
///
/// States that `body` assigns have, after a fault, what they had been assigned before it. Returns the number of the
/// fault, 0 if there is none, and the results. Both blocks are traced already and have no parameters; notes are
/// made by [`note_value`].
#[track_caller]
pub fn attempt_of(body: Traced, otherwise: Traced, key: &str, caught: &[i64]) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    // Its blocks say what of it has a history.
    let _recording = enable_grad();
    let closed = close(vec![body, otherwise], Runs::One)?;
    let mut blocks = closed.blocks.into_iter();
    let (Some(body), Some(otherwise)) = (blocks.next(), blocks.next()) else {
        return Err(Error::internal("an attempt has two blocks"));
    };
    let inputs: Vec<&Var> = closed.entries.iter().chain(&closed.captures).collect();
    let n_results = body.results.len() - closed.states.len();
    // Notes keep the names of states when a program is put under other names.
    let otherwise = Arc::new(with_names(&otherwise, &closed.states, n_results));
    let op = Attempt { blocks: vec![body, otherwise], key: key.into(), caught: caught.to_vec() };
    let mut outputs = bind_at(op.into(), &inputs, loc)?.into_vec();
    let assigned = outputs.split_off(1 + n_results);
    let _line = at(loc);
    for (name, value) in closed.states.iter().zip(&assigned) {
        assign_state(name, value)?;
    }
    Ok(outputs)
}

/// The block with a note of each state that it returns behind `n_results` others.
fn with_names(block: &Block, states: &[Arc<str>], n_results: usize) -> Block {
    let mut named = block.with_results(block.results.clone());
    let first_output = named.types.len() as ValueId;
    for (state, &value) in states.iter().zip(&block.results[n_results..]) {
        named.calls.push(Call {
            op: OpRef::new(Note { state: state.clone() }),
            inputs: smallvec![value],
            first_output,
            n_outputs: 0,
            loc: Loc::Unknown,
            twin: None,
        });
    }
    named
}

attributes! {
    /// The op behind [`attempt_of`].
    ///
    /// Inputs: the operands of both blocks. Outputs: the number of the fault, then the results.
    pub struct Attempt = "attempt" {
        /// What is run, and what gives its results where it has failed and no note says them. The notes at the end
        /// of the second one name the states that are the last results.
        pub blocks: Vec<Arc<Block>>,
        /// What the notes of this attempt are called.
        pub key: Arc<str>,
        /// The numbers of the faults that do not end the run.
        pub caught: Vec<i64>,
    }
}

impl Attempt {
    /// The outputs after a fault, if it is one to be caught: from what notes say, and what else gives.
    fn outputs<T: Clone>(
        &self,
        told: &Told<T>,
        number: impl FnOnce(&T) -> Result<i64>,
        otherwise: impl FnOnce() -> Result<Vec<T>>,
    ) -> Result<Option<(i64, Vec<T>)>> {
        let find = |name: &str| told.iter().find(|(known, _)| &**known == name).map(|(_, v)| v);
        let Some(number) = find(&self.key).map(number).transpose()? else { return Ok(None) };
        if !self.caught.contains(&number) {
            return Ok(None);
        }
        let states = self.states();
        let mut results = otherwise()?;
        let n_results = results.len() - states.len();
        for (i, result) in results.iter_mut().enumerate() {
            let name = match i.checked_sub(n_results) {
                None => format!("{}.{i}", self.key),
                Some(k) => states[k].to_string(),
            };
            if let Some(value) = find(&name) {
                *result = value.clone();
            }
        }
        Ok(Some((number, results)))
    }

    /// The states that are the last results.
    fn states(&self) -> Vec<Arc<str>> {
        let calls = self.blocks.get(1).map_or(&[][..], |block| &block.calls);
        let notes = calls.iter().filter_map(|call| call.op.downcast::<Note>());
        notes.map(|note| note.state.clone()).collect()
    }

    /// Applies the blocks, so that a recording tape sees inside.
    pub(super) fn apply(&self, inputs: &[&Var]) -> Result<Vec<Var>> {
        let numbered = |number: i64, results: Vec<Var>| {
            [Var::scalar(number)].into_iter().chain(results).collect()
        };
        let (done, told) = notes::taken(|| self.blocks[0].apply(inputs));
        let error = match done {
            Ok(results) => return Ok(numbered(0, results)),
            Err(error) => error,
        };
        if !is_fault(&error) {
            return Err(error);
        }
        match self.outputs(&told, Var::item, || self.blocks[1].apply(inputs))? {
            Some((number, results)) => {
                notes::keep_error(&self.key, &error);
                Ok(numbered(number, results))
            }
            None => Err(error),
        }
    }
}

/// Whether an error is one that lines may catch, and not one of the run itself.
fn is_fault(error: &Error) -> bool {
    use ErrorKind::{Internal, Interrupted, Memory};
    !matches!(error.kind(), Interrupted | Internal | Memory)
}

impl Op for Attempt {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.blocks.first().map_or(0, |block| block.n_params))
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let [body, otherwise] = &self.blocks[..] else {
            return Err(Error::program("an attempt has two blocks"));
        };
        if body.n_params != otherwise.n_params {
            return Err(Error::program("the blocks take different operands"));
        }
        let types = super::cond::result_types(body, inputs)?;
        if types != super::cond::result_types(otherwise, inputs)? {
            return Err(Error::program("the blocks return different types"));
        }
        if self.states().len() > types.len() {
            return Err(Error::program("more states are named than there are results"));
        }
        let number = Type::scalar(DType::I64);
        Ok([number].into_iter().chain(types).collect())
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        self.eval_blocks(inputs, outs, &mut CallByCall(self.blocks()))
    }

    fn blocks(&self) -> SmallVec<[&Arc<Block>; 2]> {
        self.blocks.iter().collect()
    }

    fn eval_blocks(
        &self,
        inputs: &[&Value],
        _: &[Type],
        blocks: &mut dyn Blocks,
    ) -> Result<Values> {
        let numbered = |number: i64, results: Vec<Value>| {
            [Value::Tensor(Tensor::scalar(number))].into_iter().chain(results).collect()
        };
        let (done, told) = blocks.attempt(0, inputs);
        let error = match done {
            Ok(results) => return Ok(numbered(0, results)),
            Err(error) => error,
        };
        if !is_fault(&error) {
            return Err(error);
        }
        let number = |value: &Value| value.tensor()?.item::<i64>();
        let otherwise = || {
            blocks.caught();
            blocks.run(1, inputs)
        };
        match self.outputs(&told, number, otherwise)? {
            Some((number, results)) => {
                notes::keep_error(&self.key, &error);
                Ok(numbered(number, results))
            }
            None => Err(error),
        }
    }

    fn grad(&self) -> Grad {
        Grad::Totals(Keeps::INPUTS, |p, sums| {
            let op = p.op::<Attempt>()?;
            if let Some(line) = Attempt::repeats(&op.blocks[0]) {
                return Err(Error::gradient(
                    "a gradient passes a `try` that has an effect in it, which would happen twice",
                )
                .remedy("print, or call what has an effect, before or after it")
                .note(format!("at {line}")));
            }
            AttemptGrad::bind(op, p, sums)
        })
    }

    fn properties(&self) -> Properties {
        let effect = self.blocks.iter().any(|block| block.has_effect());
        Properties { effect, ..Properties::PURE }
    }

    fn unroll(&self, inputs: &[&Var]) -> Result<Option<Outputs>> {
        self.apply(inputs).map(|outputs| Some(outputs.into()))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Attempt::NAME, Attempt::build, Vec::new);
