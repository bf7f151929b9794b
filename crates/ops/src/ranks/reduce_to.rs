//! `reduce`: the sum of all ranks on one of them.

use super::broadcast_from::BroadcastFrom;
use crate::prelude::*;

/// The sum of the values of all ranks on rank `root`; zeros on others. Its gradient is that of rank
/// `root`, on all ranks.
#[track_caller]
pub fn reduce_to(x: &Var, root: usize) -> Result<Var> {
    bind1(ReduceTo { root }, &[x])
}

attributes! {
    /// The op behind [`reduce_to`].
    pub struct ReduceTo = "reduce" {
        /// The rank that gets the sum.
        pub root: usize,
    }
}

impl Op for ReduceTo {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        super::all_reduce::Across::Sum.takes(inputs[0])?;
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (comm, x) = (fluvial_dist::current(), inputs[0].tensor()?);
        if self.root >= comm.world() {
            let what = format!("there is no rank {} among {}", self.root, comm.world());
            return Err(Error::index(what));
        }
        let sum = comm.all_reduce(x.clone(), fluvial_dist::Reduction::Sum)?;
        let own = if comm.rank() == self.root { sum } else { Tensor::zeros(x.dtype(), x.dims())? };
        Ok(smallvec![own.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let op = BroadcastFrom { root: p.op::<ReduceTo>()?.root };
            grads![p => bind1(op, &[&p.dy()])]
        })
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], world: usize) -> Option<Traffic> {
        Some(Traffic::broadcast(bytes_of(inputs.iter().copied()), world))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Exchange)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ReduceTo::NAME, ReduceTo::build, || {
    let x = ramp(&[2, 3]);
    vec![
        Sample::new(ReduceTo { root: 0 }, [x.clone()]).gives([x]),
        Sample::new(ReduceTo { root: 0 }, [bools(&[true], &[1])]).refused("this is none"),
    ]
});
