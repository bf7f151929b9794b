//! `recv`: a value from another rank.

use super::send_to::tag_of;
use crate::prelude::*;

/// The value that another rank sends here by `send_to` with the same tag; `like` says its type. It
/// has no gradient: gradients pass between ranks by `broadcast_from`, `all_to_all` and their like.
#[track_caller]
pub fn recv_from(like: &Var, rank: usize, tag: usize) -> Result<Var> {
    bind1(RecvFrom { rank, tag }, &[like])
}

attributes! {
    /// The op behind [`recv_from`].
    pub struct RecvFrom = "recv" {
        /// The rank that sends it.
        pub rank: usize,
        /// What tells it from others.
        pub tag: usize,
    }
}

impl Op for RecvFrom {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        tag_of(self.tag)?;
        match inputs[0].is_list() {
            true => Err(Error::dtype("only tensors are exchanged")),
            false => Ok(smallvec![*inputs[0]]),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let like = inputs[0].tensor()?.clone();
        let found = fluvial_dist::current().recv(like, self.rank, tag_of(self.tag)?)?;
        Ok(smallvec![found.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable(
            "no gradient goes back to the rank that sent it; use `broadcast_from` or `all_to_all`",
        )
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, _: &[&Type], outs: &[Type], _: usize) -> Option<Traffic> {
        Some(Traffic::received(bytes_of(outs), 1))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Exchange)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RecvFrom::NAME, RecvFrom::build, || {
    vec![Sample::new(RecvFrom { rank: 1, tag: 40_000 }, [ramp(&[2])]).refused("too large")]
});
