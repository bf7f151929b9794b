//! `element_numbers`: every element's number.

use crate::prelude::*;

/// The number of each element of a tensor with these dims, in row-major order. The dims may be
/// symbols.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let numbers = element_numbers(&[Dim::size(2), Dim::size(2)])?;
/// assert_eq!(numbers.to_vec::<i64>()?, [0, 1, 2, 3]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn element_numbers(dims: &[Dim]) -> Result<Var> {
    bind1(ElementNumbers { dims: dims.to_vec() }, &[])
}

attributes! {
    /// The op behind [`element_numbers`].
    pub struct ElementNumbers = "element_numbers" {
        /// The sizes.
        pub dims: Vec<Dim>,
    }
}

impl Op for ElementNumbers {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![Type::new(DType::I64, &self.dims)?])
    }

    fn eval(&self, _: &[&Value], outs: &[Type]) -> Result<Values> {
        Ok(smallvec![kernels::element_numbers(&known_sizes(&outs[0])?)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("positions are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ElementNumbers::NAME, ElementNumbers::build, || {
    let of = |sizes: &[usize]| ElementNumbers { dims: dims_of(sizes) };
    vec![
        Sample::new(of(&[2, 3]), []).gives([i64s(&[0, 1, 2, 3, 4, 5], &[2, 3])]),
        Sample::new(of(&[]), []).gives([i64s(&[0], &[])]),
        Sample::new(of(&[0, 2]), []).gives([i64s(&[], &[0, 2])]),
    ]
});
