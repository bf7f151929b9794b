//! `channel_timer`: a channel on which a number comes after a time.

use fluvial_core::tasks;

use crate::prelude::*;

attributes! {
    /// Makes a channel on which the number of seconds comes after that time.
    pub struct ChannelTimer = "channel_timer" {}
}

impl ChannelTimer {
    /// A channel on which `seconds`, an `f64[]`, comes after that time.
    #[track_caller]
    pub fn after(seconds: &Var) -> Result<Var> {
        let loc = scope::user_line();
        let _line = at(loc);
        let mut outputs = bind_at(ChannelTimer {}.into(), &[seconds], loc)?;
        outputs.pop().ok_or_else(|| Error::internal("a timer is a channel"))
    }
}

impl Op for ChannelTimer {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let seconds = Type::scalar(DType::F64);
        match *inputs[0] == seconds {
            true => Ok(smallvec![seconds.channel_of()?]),
            false => Err(Error::dtype(format!("seconds are f64[], found {}", inputs[0]))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let seconds = inputs[0].tensor()?.item::<f64>()?;
        Ok(smallvec![tasks::timer(seconds, scope::user_line())?.into()])
    }

    fn is_of_tasks(&self) -> bool {
        true
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a time to wait has no gradient")
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ChannelTimer::NAME, ChannelTimer::build, Vec::new);
