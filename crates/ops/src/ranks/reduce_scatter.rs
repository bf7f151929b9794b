//! `reduce_scatter`: the values of all ranks as one, of which each rank gets its part.

use super::all_gather::AllGather;
use super::all_reduce::Across;
use super::packed::{check_world, other_rows};
use crate::prelude::*;

/// The values of all ranks as one, of which rank `i` gets part `i` of the rows. Their number has to
/// be a multiple of the number of ranks. The gradient of a sum is `all_gather`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_ops::ranks::Across; use fluvial_core::*;
/// use fluvial_dist::Threads;
/// let parts = Threads::run(2, |_| {
///     reduce_scatter(&Var::of(&[1.0, 2.0], &[2])?, Across::Sum)?.to_vec::<f64>()
/// })?;
/// assert_eq!(parts, [[2.0], [4.0]]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn reduce_scatter(x: &Var, how: Across) -> Result<Var> {
    bind1(ReduceScatter { how, world: None }, &[x])
}

attributes! {
    /// The op behind [`reduce_scatter`].
    pub struct ReduceScatter = "reduce_scatter" {
        /// How they become one.
        pub how: Across,
        /// How many ranks there are, if the program was made for so many.
        pub world: Option<usize>,
    }
}

impl Op for ReduceScatter {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        self.how.takes(inputs[0])?;
        other_rows(inputs[0], |rows| match (self.world, rows.value()) {
            (Some(world), Some(rows)) if world > 0 && rows % world == 0 => {
                Ok(Dim::size(rows / world))
            }
            (Some(world), Some(rows)) => {
                Err(Error::shape(format!("{rows} rows cannot be cut into {world} equal parts"))
                    .remedy("pad them to a multiple of the number of ranks"))
            }
            _ => Ok(Dim::fresh(0)),
        })
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let comm = fluvial_dist::current();
        check_world(self.world, comm.world())?;
        let x = inputs[0].tensor()?.clone();
        Ok(smallvec![comm.reduce_scatter(x, self.how.reduction())?.into()])
    }

    fn grad(&self) -> Grad {
        match self.how {
            Across::Sum => Grad::Rule(Keeps::NOTHING, |p| {
                let op = AllGather { world: p.op::<ReduceScatter>()?.world };
                grads![p => crate::assume_dims(&bind1(op, &[&p.dy()])?, p.in_type(0)?.dims())]
            }),
            _ => Grad::NonDifferentiable("only the sum of several ranks has a gradient by parts"),
        }
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], world: usize) -> Option<Traffic> {
        let bytes = bytes_of(inputs.iter().copied());
        Some(match fluvial_dist::is_added(inputs[0].dtype()) {
            true => Traffic::reduce_scatter(bytes, world),
            false => Traffic::all_gather(bytes, world),
        })
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Exchange)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ReduceScatter::NAME, ReduceScatter::build, || {
    let of = |world| ReduceScatter { how: Across::Sum, world };
    let x = ramp(&[2, 3]);
    vec![
        Sample::new(of(None), [x.clone()]).gives([x.clone()]),
        Sample::new(of(Some(1)), [x.clone()]).gives([x.clone()]),
        Sample::new(of(Some(3)), [x]).refused("cannot be cut into 3"),
        Sample::new(of(None), [bools(&[true], &[1])]).refused("this is none"),
    ]
});
