//! `all_to_all`: each rank sends a part to every rank.

use super::broadcast_from::of_one_type;
use crate::prelude::*;

/// Sends part `i` of the rows to rank `i`, and gives the parts that ranks have sent here, in their
/// order. The number of rows has to be a multiple of the number of ranks. The gradient goes back the same way.
#[track_caller]
pub fn all_to_all(x: &Var) -> Result<Var> {
    bind1(AllToAll {}, &[x])
}

attributes! {
    /// The op behind [`all_to_all`].
    pub struct AllToAll = "all_to_all" {}
}

impl Op for AllToAll {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        match inputs[0].rank() {
            0 => Err(Error::shape("a number has no rows").remedy("`unsqueeze` it first")),
            _ => of_one_type(inputs),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?.clone();
        Ok(smallvec![fluvial_dist::current().all_to_all(x)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| grads![p => bind1(AllToAll {}, &[&p.dy()])])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], world: usize) -> Option<Traffic> {
        Some(Traffic::all_to_all(bytes_of(inputs.iter().copied()), world))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Exchange)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AllToAll::NAME, AllToAll::build, || {
    let x = ramp(&[2, 3]);
    vec![
        Sample::new(AllToAll {}, [x.clone()]).gives([x]),
        Sample::new(AllToAll {}, [f64s(&[1.0], &[])]).refused("no rows"),
    ]
});
