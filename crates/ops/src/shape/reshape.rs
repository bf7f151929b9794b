//! `reshape`: other sizes, same elements.

use super::derived::{count, judged};
use crate::prelude::*;

/// The elements in other sizes; a view where possible. The sizes may be symbols, as long as both
/// shapes have the same number of elements. One of them may be [`Dim::REST`] (in Python -1): what
/// is left by the others.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[4])?;
/// let y = reshape(&x, &[Dim::size(2), Dim::size(2)])?;
/// assert_eq!(y.ty().to_string(), "f64[2, 2]");
/// assert_eq!(reshape(&y, &[Dim::REST, Dim::size(1)])?.ty().to_string(), "f64[4, 1]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn reshape(x: &Var, dims: &[Dim]) -> Result<Var> {
    if !dims.contains(&Dim::REST) {
        return bind1(Reshape { dims: dims.to_vec() }, &[x]);
    }
    let dims = judged("reshape", &[x], |types| without_rest(&types[0], dims))?;
    bind1(Reshape { dims }, &[x])
}

/// The dims with the size that is left in place of [`Dim::REST`].
fn without_rest(ty: &Type, dims: &[Dim]) -> Result<Vec<Dim>> {
    let others: Vec<Dim> = dims.iter().copied().filter(|&dim| dim != Dim::REST).collect();
    if others.len() + 1 < dims.len() {
        return Err(Error::argument("only one size can be what the others leave"));
    }
    let (all, given) = (count(ty.dims())?, count(&others)?);
    let rest = match given == Dim::size(0) {
        true => None,
        false => Some(all.floor_div(given)?),
    };
    match rest {
        Some(rest) if rest.mul(given)? == all => {
            Ok(dims.iter().map(|&dim| if dim == Dim::REST { rest } else { dim }).collect())
        }
        _ => Err(Error::shape(format!("the {all} elements of {ty} do not divide by {given}"))
            .remedy("give sizes whose product divides the number of elements")),
    }
}

attributes! {
    /// The op behind [`reshape`].
    pub struct Reshape = "reshape" {
        /// The new sizes.
        pub dims: Vec<Dim>,
    }
}

impl Op for Reshape {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list cannot be reshaped"));
        }
        let out = inputs[0].with_dims(&self.dims)?;
        let (before, after) = (count(inputs[0].dims())?, count(&self.dims)?);
        if before != after {
            return Err(Error::shape(format!(
                "{} has {before} elements, {out} would have {after}",
                inputs[0]
            )));
        }
        Ok(smallvec![out])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        Ok(smallvec![inputs[0].tensor()?.reshape(&known_sizes(&outs[0])?)?.into()])
    }

    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        if on.ty(inputs[0]).dims() == self.dims {
            return Ok(Some(smallvec![inputs[0]]));
        }
        let reshaped = |call: &&Call| call.op.downcast::<Reshape>().is_some();
        let Some(source) = on.producer(inputs[0]).filter(reshaped).map(|call| call.inputs[0])
        else {
            return Ok(None);
        };
        match on.ty(source).dims() == self.dims {
            true => Ok(Some(smallvec![source])),
            false => on.call(self.clone(), &[source]).map(Some),
        }
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.with(Reshape { dims: batch.dims(&self.dims).to_vec() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| grads![p => reshape(&p.dy(), p.in_type(0)?.dims())])
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::Same(0)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Reshape::NAME, Reshape::build, || {
    let to = |sizes: &[usize]| Reshape { dims: dims_of(sizes) };
    let x = ramp(&[2, 3]);
    let elements = x.to_f64s();
    vec![
        Sample::new(to(&[3, 2]), [x.clone()]).gives([f64s(&elements, &[3, 2])]),
        Sample::new(to(&[6]), [x.clone()]).gives([f64s(&elements, &[6])]),
        Sample::new(to(&[1, 6, 1]), [x.clone()]).gives([f64s(&elements, &[1, 6, 1])]),
        Sample::new(to(&[]), [f64s(&[2.0], &[1, 1])]).gives([f64s(&[2.0], &[])]),
        Sample::new(to(&[0, 7]), [ramp(&[3, 0])]).gives([f64s(&[], &[0, 7])]),
        Sample::new(to(&[4]), [x]).refused("has 6 elements"),
    ]
});
