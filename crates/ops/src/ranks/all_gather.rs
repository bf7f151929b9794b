//! `all_gather`: the rows of all ranks.

use super::all_reduce::Across;
use super::packed::{check_world, other_rows};
use super::reduce_scatter::ReduceScatter;
use crate::prelude::*;

/// The rows of all ranks, in their order; every rank has as many. The gradient adds up what the
/// ranks have for the rows of each (`reduce_scatter`).
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// use fluvial_dist::{Comm, Threads};
/// let all = Threads::run(2, |comm| all_gather(&Var::of(&[comm.rank() as f64], &[1])?)?.to_vec::<f64>())?;
/// assert_eq!(all[1], [0.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn all_gather(x: &Var) -> Result<Var> {
    bind1(AllGather { world: None }, &[x])
}

attributes! {
    /// The op behind [`all_gather`].
    pub struct AllGather = "all_gather" {
        /// How many ranks there are, if the program was made for so many.
        pub world: Option<usize>,
    }
}

impl Op for AllGather {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("only tensors are exchanged"));
        }
        other_rows(inputs[0], |rows| match self.world {
            Some(world) => rows.mul(Dim::size(world)),
            None => Ok(Dim::fresh(0)),
        })
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let comm = fluvial_dist::current();
        check_world(self.world, comm.world())?;
        Ok(smallvec![comm.all_gather(inputs[0].tensor()?.clone())?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let op = ReduceScatter { how: Across::Sum, world: p.op::<AllGather>()?.world };
            grads![p => crate::assume_dims(&bind1(op, &[&p.dy()])?, p.in_type(0)?.dims())]
        })
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], world: usize) -> Option<Traffic> {
        Some(Traffic::all_gather(bytes_of(inputs.iter().copied()), world))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Agree)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AllGather::NAME, AllGather::build, || {
    let x = ramp(&[2, 3]);
    vec![
        Sample::new(AllGather { world: None }, [x.clone()]).gives([x.clone()]),
        Sample::new(AllGather { world: Some(1) }, [x.clone()]).gives([x]),
        Sample::new(AllGather { world: None }, [f64s(&[1.0], &[])]).refused("no rows"),
    ]
});
