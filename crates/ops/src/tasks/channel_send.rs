//! `channel_send`: sends a value.

use fluvial_core::tasks;

use super::make_channel::{message_of, without_history};
use crate::prelude::*;

attributes! {
    /// Sends a value: waits until there is room for it in the channel, or until somebody receives it.
    pub struct ChannelSend = "channel_send" {}
}

impl ChannelSend {
    /// Sends a value on a channel. One that is closed is an error.
    #[track_caller]
    pub fn to(channel: &Var, value: &Var) -> Result<()> {
        let loc = scope::user_line();
        let _line = at(loc);
        let value = without_history(value)?;
        bind_at(ChannelSend {}.into(), &[channel, &value], loc).map(drop)
    }
}

/// Refuses a message that a channel does not take.
pub(super) fn check_message(channel: &Type, value: &Type) -> Result<()> {
    let message = message_of(channel)?;
    match tasks::fits(&message, value) {
        true => Ok(()),
        false => Err(Error::shape(format!("{value} cannot be sent on a {channel}"))
            .remedy("send what the channel was made for, or make it for other values")),
    }
}

impl Op for ChannelSend {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        check_message(inputs[0], inputs[1]).map(|()| Types::new())
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let value = own(inputs[1])?;
        tasks::send(inputs[0].channel()?, value, scope::user_line())?;
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

/// A value that others may hold: copied, if it lies in the memory of a plan, which is used again.
pub(super) fn own(value: &Value) -> Result<Value> {
    match value {
        Value::Tensor(tensor) if tensor.is_placed() => Ok(tensor.copy()?.into()),
        other => Ok(other.clone()),
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ChannelSend::NAME, ChannelSend::build, Vec::new);
