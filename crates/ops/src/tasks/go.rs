//! `go`: a task, which runs beside what follows.

use std::sync::Arc;

use fluvial_core::tasks::{self, Done};

use super::make_channel::without_history;
use super::wait_task::WaitTask;
use crate::prelude::*;
use crate::random::generator::{RNG, draw};
use crate::random::rng_split;

/// A task that was started.
pub struct Started {
    /// The channel on which `true` comes when it has ended.
    done: Var,
    /// The channels of its results.
    results: Vec<Var>,
    /// The states that it assigns, and the channels of their values.
    states: Vec<(Arc<str>, Var)>,
}

impl Started {
    /// Waits until the task has ended, and gives its results. States that it has assigned get their values here.
    #[track_caller]
    pub fn wait(&self) -> Result<Vec<Var>> {
        let _line = at(scope::user_line());
        let _ = WaitTask::of(&self.done)?;
        release_states(self.states.iter().map(|(name, _)| name));
        for (name, value) in &self.states {
            assign_state(name, &WaitTask::of(value)?)?;
        }
        self.results.iter().map(WaitTask::of).collect()
    }

    /// The states that it assigns.
    pub fn states(&self) -> impl Iterator<Item = &Arc<str>> {
        self.states.iter().map(|(name, _)| name)
    }
}

attributes! {
    /// Starts a task.
    ///
    /// Inputs: what its block takes. Outputs: a channel on which `true` comes when it has ended, and one for each result.
    pub struct Go = "go" {
        /// What it does.
        pub body: Arc<Block>,
    }
}

impl Go {
    /// Starts a task of the program being built, that does `body` beside what follows.
    #[track_caller]
    pub fn start(body: impl FnOnce() -> Result<Vec<Var>>) -> Result<Started> {
        let _line = at(scope::user_line());
        if mode() == Mode::Imperative {
            return Err(Error::symbolic("line by line a task is a thread of the host")
                .remedy("start it with `std::thread::spawn`, or build a program"));
        }
        let stream = Go::stream()?;
        let traced = trace_block(&[], |_| {
            Go::begin(&stream)?;
            let results = body()?;
            results.iter().try_for_each(Go::check_result)?;
            Ok(results)
        })?;
        Go::started(traced)
    }

    /// The random stream of the next task, to be taken before its block is opened.
    #[track_caller]
    pub fn stream() -> Result<Var> {
        rng_split(&draw()?, &Var::scalar(0i64))
    }

    /// Has to be called when the block of a task has been opened: gives it random numbers of its own.
    #[track_caller]
    pub fn begin(stream: &Var) -> Result<()> {
        assign_state(RNG, stream)
    }

    /// Refuses a result that gradients pass.
    #[track_caller]
    pub fn check_result(result: &Var) -> Result<()> {
        without_history(result).map(drop)
    }

    /// Starts a task whose block, without parameters, is traced already.
    #[track_caller]
    pub fn started(traced: Traced) -> Result<Started> {
        let loc = scope::user_line();
        let _line = at(loc);
        let closed = close(vec![traced], Runs::One)?;
        let Some(block) = closed.blocks.first() else {
            return Err(Error::internal("a task has a block"));
        };
        let is_stream = |name: &Arc<str>| **name == *RNG;
        let n_results = block.results.len() - closed.states.len();
        let kept: Vec<usize> =
            (0..closed.states.len()).filter(|&i| !is_stream(&closed.states[i])).collect();
        let results = (0..n_results).chain(kept.iter().map(|i| n_results + i));
        let results = results.map(|i| block.results[i]).collect();
        let body = Arc::new(block.with_results(results));
        let names: Vec<Arc<str>> = kept.iter().map(|&i| closed.states[i].clone()).collect();
        hold_states(&names, loc)?;
        let inputs: Vec<&Var> = closed.entries.iter().chain(&closed.captures).collect();
        let mut outputs = bind_at(Go { body }.into(), &inputs, loc)?.into_vec();
        let of_states = outputs.split_off(1 + n_results);
        let done = outputs.remove(0);
        Ok(Started { done, results: outputs, states: names.into_iter().zip(of_states).collect() })
    }
}

impl Op for Go {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.body.n_params)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let results = crate::control::cond::result_types(&self.body, inputs)?;
        let mut outs: Types = smallvec![Type::scalar(DType::Bool).channel_of()?];
        for ty in results {
            outs.push(ty.channel_of()?);
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
        let started = scope::user_line();
        let channel = |ty: &Type| tasks::channel(ty.message().unwrap_or(*ty), 1, started);
        let channels = outs.iter().map(channel).collect::<Result<Vec<_>>>()?;
        let args = inputs.iter().map(|input| super::channel_send::own(input));
        let args = args.collect::<Result<Values>>()?;
        blocks.spawn(args, Done { channels: channels.clone(), started })?;
        Ok(channels.into_iter().map(Value::Channel).collect())
    }

    fn is_of_tasks(&self) -> bool {
        true
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Memory))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("what a task gives carries no gradient")
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Go::NAME, Go::build, Vec::new);
