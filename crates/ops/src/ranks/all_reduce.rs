//! `all_reduce`: the values of all ranks as one.

use super::packed::packed;
use crate::prelude::*;
use fluvial_dist::Reduction;

choices! {
    /// How the values of all ranks become one.
    pub enum Across {
        /// Their sum.
        Sum = "sum",
        /// Their mean; of floats only.
        Mean = "mean",
        /// The greatest.
        Max = "max",
        /// The least.
        Min = "min",
    }
}

impl Across {
    pub(super) fn reduction(self) -> Reduction {
        match self {
            Across::Sum => Reduction::Sum,
            Across::Mean => Reduction::Mean,
            Across::Max => Reduction::Max,
            Across::Min => Reduction::Min,
        }
    }

    /// Refuses types that cannot be reduced so.
    pub(super) fn takes(self, ty: &Type) -> Result<()> {
        if ty.is_list() || ty.dtype().is_bool() {
            return Err(Error::dtype("numbers of several ranks are reduced, this is none")
                .remedy("cast it to a number first"));
        }
        match self == Across::Mean && !ty.is_float() {
            true => Err(Error::dtype("the mean of integers is not an integer")
                .remedy("cast to a float first, or take the sum")),
            false => Ok(()),
        }
    }
}

/// The values of all ranks as one, which each rank gets. Every rank has to call it, in the same
/// order, with the same type. The gradient of a sum is the sum of the gradients of all ranks, that of a mean their mean.
///
/// ```
/// # use fluvial_ops::*; use fluvial_ops::ranks::Across; use fluvial_core::*;
/// use fluvial_dist::{Comm, Threads};
/// let sums = Threads::run(2, |comm| {
///     let own = Var::scalar(comm.rank() as f64 + 1.0);
///     all_reduce(&own, Across::Sum)?.item::<f64>()
/// })?;
/// assert_eq!(sums, [3.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn all_reduce(x: &Var, how: Across) -> Result<Var> {
    bind1(AllReduce { how }, &[x])
}

/// [`all_reduce`] of several values of one element type by one exchange.
#[track_caller]
pub fn all_reduce_all(xs: &[&Var], how: Across) -> Result<Vec<Var>> {
    Ok(bind(AllReduce { how }, xs)?.into_vec())
}

attributes! {
    /// The op behind [`all_reduce`]: any number of values of one element type, each as one.
    pub struct AllReduce = "all_reduce" {
        /// How they become one.
        pub how: Across,
    }
}

impl Op for AllReduce {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        for ty in inputs {
            self.how.takes(ty)?;
            if ty.dtype() != inputs[0].dtype() {
                return Err(Error::dtype(
                    "values of several element types are not reduced at once",
                )
                .remedy("reduce those of each type by themselves"));
            }
        }
        Ok(inputs.iter().map(|ty| **ty).collect())
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let comm = fluvial_dist::current();
        packed(inputs, |all| comm.all_reduce(all, self.how.reduction()))
    }

    fn grad(&self) -> Grad {
        match self.how {
            Across::Sum | Across::Mean => Grad::Rule(Keeps::TYPES, |p| {
                let op = p.op::<AllReduce>()?.clone();
                let mut dys = Vec::new();
                for (i, dy) in p.dys().iter().enumerate() {
                    // Every rank has to exchange as many, also where the cotangent is zero.
                    dys.push(match dy {
                        Some(dy) => dy.clone(),
                        None => zeros_of(&p.in_type(i)?)?,
                    });
                }
                let dxs = bind(op, &dys.iter().collect::<Vec<_>>())?;
                Ok(dxs.into_iter().map(Some).collect())
            }),
            Across::Max | Across::Min => Grad::NonDifferentiable(
                "the greatest and the least of several ranks have no gradient",
            ),
        }
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Limit))
    }

    fn traffic(&self, inputs: &[&Type], _: &[Type], world: usize) -> Option<Traffic> {
        let bytes = bytes_of(inputs.iter().copied());
        // What the library does not add up is gathered, and added up by each rank.
        let is_added = inputs.iter().all(|ty| fluvial_dist::is_added(ty.dtype()));
        Some(match is_added {
            true => Traffic::all_reduce(bytes, world),
            false => Traffic::all_gather(bytes, world),
        })
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Agree)
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// Zeros of a type.
fn zeros_of(ty: &Type) -> Result<Var> {
    crate::full(ty.dims(), 0.0, ty.dtype())
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AllReduce::NAME, AllReduce::build, || {
    let of = |how| AllReduce { how };
    let (x, y) = (ramp(&[2, 3]), ramp(&[4]));
    vec![
        Sample::new(of(Across::Sum), [x.clone()]).gives([x.clone()]),
        Sample::new(of(Across::Mean), [x.clone(), y.clone()]).gives([x.clone(), y]),
        Sample::new(of(Across::Max), [i64s(&[1, 2], &[2])]).gives([i64s(&[1, 2], &[2])]),
        Sample::new(of(Across::Mean), [i64s(&[1], &[1])]).refused("not an integer"),
        Sample::new(of(Across::Sum), [bools(&[true], &[])]).refused("this is none"),
        Sample::new(of(Across::Sum), [x, i64s(&[1], &[1])]).refused("several element types"),
    ]
});
