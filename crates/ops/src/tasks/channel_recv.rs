//! `channel_recv`: receives a value.

use fluvial_core::tasks;

use super::make_channel::message_of;
use crate::prelude::*;

attributes! {
    /// Receives a value, and says whether there was one: once a channel is closed and empty, it gives zeros and false.
    pub struct ChannelRecv = "channel_recv" {}
}

impl ChannelRecv {
    /// Receives a value, and waits until there is one. The flag is false, and the value zero, once the channel is closed
    /// and empty.
    #[track_caller]
    pub fn from(channel: &Var) -> Result<(Var, Var)> {
        let loc = scope::user_line();
        let _line = at(loc);
        let mut outputs = bind_at(ChannelRecv {}.into(), &[channel], loc)?.into_iter();
        match (outputs.next(), outputs.next()) {
            (Some(value), Some(ok)) => Ok((value, ok)),
            _ => Err(Error::internal("receiving gives a value and a flag")),
        }
    }
}

/// What a receiver gets: the message, or zeros, and whether there was one.
pub(super) fn received(channel: &Type, message: Option<Value>) -> Result<[Value; 2]> {
    let ok = Tensor::scalar(message.is_some());
    let value = match message {
        Some(message) => message,
        None => tasks::zero(&message_of(channel)?)?,
    };
    Ok([value, ok.into()])
}

impl Op for ChannelRecv {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![message_of(inputs[0])?, Type::scalar(DType::Bool)])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let channel = inputs[0].channel()?;
        let message = tasks::recv(channel, scope::user_line())?;
        Ok(received(&channel.ty(), message)?.into_iter().collect())
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
pub const DEF: OpDef = OpDef::new(ChannelRecv::NAME, ChannelRecv::build, Vec::new);
