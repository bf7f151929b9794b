//! `channel_close`: nothing more is sent.

use fluvial_core::tasks;

use super::make_channel::message_of;
use crate::prelude::*;

attributes! {
    /// Closes a channel: what is in it can be received, nothing more can be sent.
    pub struct ChannelClose = "channel_close" {}
}

impl ChannelClose {
    /// Closes a channel. Closing it twice is an error.
    #[track_caller]
    pub fn of(channel: &Var) -> Result<()> {
        let loc = scope::user_line();
        let _line = at(loc);
        bind_at(ChannelClose {}.into(), &[channel], loc).map(drop)
    }
}

impl Op for ChannelClose {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        message_of(inputs[0]).map(|_| Types::new())
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        tasks::close(inputs[0].channel()?, scope::user_line())?;
        Ok(Values::new())
    }

    fn is_of_tasks(&self) -> bool {
        true
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::State))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("messages carry no gradient")
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ChannelClose::NAME, ChannelClose::build, Vec::new);
