//! `reshape`: other sizes, same elements.

use crate::prelude::*;

/// The elements in other sizes; a view where possible. The sizes may be symbols, as long as both
/// shapes have the same number of elements.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[4])?;
/// let y = reshape(&x, &[Dim::size(2), Dim::size(2)])?;
/// assert_eq!(y.ty().to_string(), "f64[2, 2]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn reshape(x: &Var, dims: &[Dim]) -> Result<Var> {
    bind1(Reshape { dims: dims.to_vec() }, &[x])
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

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list cannot be reshaped"));
        }
        let count = |dims: &[Dim]| dims.iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim));
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

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| grads![p => reshape(&p.dy(), p.in_type(0)?.dims())])
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
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
