//! `replicate`: values that all ranks have, whose gradients are averaged.

use super::all_reduce::{Across, AllReduce};
use super::broadcast_from::of_one_type;
use crate::prelude::*;

/// The values as they are, of parameters that all ranks have alike; their gradients are the means
/// of those of all ranks, by one exchange. All have one element type.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// use fluvial_dist::{Comm, Threads};
/// let slopes = Threads::run(2, |comm| {
///     let w = Var::scalar(1.0).track()?;
///     let own = replicate(&[&w])?;
///     (&own[0] * comm.rank() as f64).backward()?;
///     w.grad().ok_or_else(|| Error::gradient("none"))?.item::<f64>()
/// })?;
/// assert_eq!(slopes, [0.5, 0.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn replicate(xs: &[&Var]) -> Result<Vec<Var>> {
    Ok(bind(Replicate {}, xs)?.into_vec())
}

attributes! {
    /// The op behind [`replicate`].
    pub struct Replicate = "replicate" {}
}

impl Op for Replicate {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        match inputs.iter().all(|ty| ty.is_float()) {
            true => of_one_type(inputs),
            false => Err(Error::dtype("only floats have gradients that could be averaged")),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(inputs.iter().map(|&value| value.clone()).collect())
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::TYPES, |p| {
            let mut dys = Vec::new();
            for (i, dy) in p.dys().iter().enumerate() {
                // All ranks exchange as many, also where the cotangent is zero.
                let ty = p.in_type(i)?;
                dys.push(match dy {
                    Some(dy) => dy.clone(),
                    None => crate::full(ty.dims(), 0.0, ty.dtype())?,
                });
            }
            let dxs = bind(AllReduce { how: Across::Mean }, &dys.iter().collect::<Vec<_>>())?;
            Ok(dxs.into_iter().map(Some).collect())
        })
    }

    fn simplify(&self, _: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        Ok(Some(inputs.into()))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Replicate::NAME, Replicate::build, || {
    let (x, y) = (ramp(&[2, 3]), ramp(&[2]));
    vec![
        Sample::new(Replicate {}, [x.clone()]).gives([x.clone()]),
        Sample::new(Replicate {}, [x.clone(), y.clone()]).gives([x, y]),
        Sample::new(Replicate {}, [i64s(&[1], &[1])]).refused("only floats"),
    ]
});
