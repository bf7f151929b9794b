//! `linspace`: numbers that divide a range evenly.

use crate::prelude::*;

/// `size` numbers from `start` to `stop`, both included, at equal distances. Their number may be a
/// symbol.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = linspace(0.0, 1.0, Dim::size(5), DType::F64)?;
/// assert_eq!(x.to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn linspace(start: f64, stop: f64, size: Dim, dtype: DType) -> Result<Var> {
    bind1(Linspace { start, stop, size, dtype }, &[])
}

attributes! {
    /// The op behind [`linspace`].
    pub struct Linspace = "linspace" {
        /// The first number.
        pub start: f64,
        /// The last number.
        pub stop: f64,
        /// How many numbers.
        pub size: Dim,
        /// The element type.
        pub dtype: DType,
    }
}

impl Op for Linspace {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        match self.dtype.is_float() {
            true => Ok(smallvec![Type::new(self.dtype, &[self.size])?]),
            false => Err(Error::dtype(format!("{} has no fractions", self.dtype))
                .remedy("use a float type, and cast the result")),
        }
    }

    fn eval(&self, _: &[&Value], outs: &[Type]) -> Result<Values> {
        let sizes = known_sizes(&outs[0])?;
        let numbers = kernels::linspace(self.start, self.stop, sizes[0], self.dtype)?;
        Ok(smallvec![numbers.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Linspace::NAME, Linspace::build, || {
    let of = |start, stop, size, dtype| Linspace { start, stop, size: Dim::size(size), dtype };
    vec![
        Sample::new(of(1.0, 0.0, 3, DType::F64), []).gives([f64s(&[1.0, 0.5, 0.0], &[3])]),
        Sample::new(of(2.0, 5.0, 1, DType::F64), []).gives([f64s(&[2.0], &[1])]),
        Sample::new(of(2.0, 5.0, 0, DType::F64), []).gives([f64s(&[], &[0])]),
        Sample::new(of(0.0, 1.0, 3, DType::I64), []).refused("has no fractions"),
    ]
});
