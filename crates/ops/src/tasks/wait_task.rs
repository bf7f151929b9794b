//! `wait_task`: what a task gives, once it has ended.

use fluvial_core::tasks;

use super::make_channel::message_of;
use crate::prelude::*;

attributes! {
    /// Waits for the value that a task leaves in the channel of a result. The value stays there.
    pub struct WaitTask = "wait_task" {}
}

impl WaitTask {
    /// The value of a result of a task, once it is there.
    #[track_caller]
    pub fn of(result: &Var) -> Result<Var> {
        let loc = scope::user_line();
        let _line = at(loc);
        let mut outputs = bind_at(WaitTask {}.into(), &[result], loc)?;
        outputs.pop().ok_or_else(|| Error::internal("a task gives a value"))
    }
}

impl Op for WaitTask {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![message_of(inputs[0])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![tasks::wait(inputs[0].channel()?, scope::user_line())?])
    }

    fn is_of_tasks(&self) -> bool {
        true
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::State))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("what a task gives carries no gradient")
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(WaitTask::NAME, WaitTask::build, Vec::new);
