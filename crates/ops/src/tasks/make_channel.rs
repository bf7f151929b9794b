//! `make_channel`: where tasks send values and receive them.

use fluvial_core::tasks;

use crate::prelude::*;

attributes! {
    /// Makes a channel.
    pub struct MakeChannel = "make_channel" {
        /// The type of the channel.
        pub ty: Type,
        /// How many values it holds that nobody has received yet.
        pub capacity: usize,
    }
}

/// The most values that a channel may hold.
const MOST: usize = 1 << 32;

impl MakeChannel {
    /// A channel for values of this type. Symbols in it are sizes that may differ from message to message. It holds
    /// `capacity` values that nobody has received yet; with 0, a sender waits until its value is received.
    ///
    /// ```
    /// # use fluvial_ops::tasks::*; use fluvial_core::*;
    /// let channel = MakeChannel::of(&Type::parse("f64[n]")?, 1)?;
    /// ChannelSend::to(&channel, &Var::of(&[1.0, 2.0], &[2])?)?;
    /// let (x, ok) = ChannelRecv::from(&channel)?;
    /// assert!(ok.item::<bool>()? && x.to_vec::<f64>()? == [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn of(message: &Type, capacity: usize) -> Result<Var> {
        let _line = at(scope::user_line());
        let ty = message.channel_of().map_err(|error| error.at(scope::user_line()))?;
        bind1(MakeChannel { ty, capacity }, &[])
    }
}

impl Op for MakeChannel {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        match self.ty.is_channel() && self.capacity <= MOST {
            true => Ok(smallvec![self.ty]),
            false => Err(Error::argument(format!(
                "no channel is {} of capacity {}",
                self.ty, self.capacity
            ))),
        }
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        let message = self.ty.message().unwrap_or(self.ty);
        Ok(smallvec![tasks::channel(message, self.capacity, scope::user_line())?.into()])
    }

    fn is_of_tasks(&self) -> bool {
        true
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("messages carry no gradient")
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// The type of the messages of a channel, or an error if this is none.
pub(super) fn message_of(ty: &Type) -> Result<Type> {
    ty.message().ok_or_else(|| {
        Error::dtype(format!("expected a channel, found {ty}"))
            .remedy("make one with `make_channel`")
    })
}

/// The value as a message, which carries no gradient. What has a history is refused line by line, where it would be lost
/// on the way; in a program the walk refuses it. Under `no_grad` nothing has one.
#[track_caller]
pub(super) fn without_history(value: &Var) -> Result<Var> {
    let loc = scope::user_line();
    if !is_recording() && value.dtype().is_inexact() {
        return Ok(value.detach());
    }
    if !value.is_tracked() {
        return Ok(value.clone());
    }
    Err(Error::gradient(
        "a value that gradients pass leaves a task, and messages carry no gradient",
    )
    .remedy("take the gradient inside the task; send `x.detach()`, or compute it under `no_grad`")
    .at(loc))
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(MakeChannel::NAME, MakeChannel::build, Vec::new);
