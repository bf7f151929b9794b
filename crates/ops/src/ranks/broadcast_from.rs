//! `broadcast`: the value of one rank.

use super::packed::packed;
use super::reduce_to::ReduceTo;
use crate::prelude::*;

/// The value that rank `root` has, on all ranks; those of others say its type. Its gradient, on rank
/// `root`, is the sum of the gradients of all ranks, and zero on others.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// use fluvial_dist::{Comm, Threads};
/// let all = Threads::run(2, |comm| broadcast_from(&Var::scalar(comm.rank() as i64), 1)?.item::<i64>())?;
/// assert_eq!(all, [1, 1]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn broadcast_from(x: &Var, root: usize) -> Result<Var> {
    bind1(BroadcastFrom { root }, &[x])
}

attributes! {
    /// The op behind [`broadcast_from`]: any number of values of one element type.
    pub struct BroadcastFrom = "broadcast" {
        /// The rank whose values count.
        pub root: usize,
    }
}

/// Refuses lists, and values of several element types.
pub(super) fn of_one_type(inputs: &[&Type]) -> Result<Types> {
    for ty in inputs {
        if ty.is_list() || ty.dtype() != inputs[0].dtype() {
            return Err(Error::dtype("only tensors of one element type are exchanged at once")
                .remedy("exchange those of each type by themselves"));
        }
    }
    Ok(inputs.iter().map(|ty| **ty).collect())
}

impl Op for BroadcastFrom {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        of_one_type(inputs)
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        packed(inputs, |all| fluvial_dist::current().broadcast(all, self.root))
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::TYPES, |p| {
            let root = p.op::<BroadcastFrom>()?.root;
            let each = p.dys().iter().enumerate().map(|(i, dy)| {
                let dy = match dy {
                    Some(dy) => dy.clone(),
                    None => {
                        let ty = p.in_type(i)?;
                        crate::full(ty.dims(), 0.0, ty.dtype())?
                    }
                };
                bind1(ReduceTo { root }, &[&dy]).map(Some)
            });
            each.collect()
        })
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], world: usize) -> Option<Traffic> {
        Some(Traffic::broadcast(bytes_of(inputs.iter().copied()), world))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Agree)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(BroadcastFrom::NAME, BroadcastFrom::build, || {
    let x = ramp(&[2, 3]);
    vec![
        Sample::new(BroadcastFrom { root: 0 }, [x.clone()]).gives([x.clone()]),
        Sample::new(BroadcastFrom { root: 0 }, [bools(&[true], &[1])])
            .gives([bools(&[true], &[1])]),
        Sample::new(BroadcastFrom { root: 0 }, [x, i64s(&[1], &[])]).refused("one element type"),
    ]
});
