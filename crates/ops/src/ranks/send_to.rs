//! `send`: a value to another rank.

use crate::prelude::*;

/// Sends a value to another rank, which has to `recv_from` it with the same tag. It has no gradient:
/// gradients pass between ranks by `broadcast_from`, `all_to_all` and their like.
#[track_caller]
pub fn send_to(x: &Var, rank: usize, tag: usize) -> Result<()> {
    bind(SendTo { rank, tag }, &[x]).map(drop)
}

attributes! {
    /// The op behind [`send_to`].
    pub struct SendTo = "send" {
        /// The rank that gets it.
        pub rank: usize,
        /// What tells it from others.
        pub tag: usize,
    }
}

/// The tag, if it is one.
pub(super) fn tag_of(tag: usize) -> Result<u32> {
    match tag <= 32767 {
        true => Ok(tag as u32),
        false => {
            Err(Error::argument(format!("the tag {tag} is too large"))
                .remedy("tags are 0 to 32767"))
        }
    }
}

impl Op for SendTo {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        tag_of(self.tag)?;
        match inputs[0].is_list() {
            true => Err(Error::dtype("only tensors are exchanged")),
            false => Ok(smallvec![]),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?.clone();
        fluvial_dist::current().send(x, self.rank, tag_of(self.tag)?)?;
        Ok(smallvec![])
    }

    fn grad(&self) -> Grad {
        Grad::Stop
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], _: usize) -> Option<Traffic> {
        Some(Traffic::sent(bytes_of(inputs.iter().copied()), 1))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Exchange)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(SendTo::NAME, SendTo::build, || {
    vec![Sample::new(SendTo { rank: 1, tag: 40_000 }, [ramp(&[2])]).refused("too large")]
});
