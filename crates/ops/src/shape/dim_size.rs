//! `dim_size`: a size, which may be a symbol, as a number.

use crate::prelude::*;

/// A size as a 0-d tensor. In a program a symbol gets its value when the program runs.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// assert_eq!(dim_size(Dim::size(3), DType::F32)?.item::<f32>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dim_size(size: Dim, dtype: DType) -> Result<Var> {
    bind1(DimSize { size, dtype }, &[])
}

/// A number that depends on sizes, as a 0-d tensor. Unlike a size, it may be negative.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// assert_eq!(whole_size(Whole::Number(-3), DType::F32)?.item::<f32>()?, -3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn whole_size(number: Whole, dtype: DType) -> Result<Var> {
    let _line = at(scope::user_line());
    let (left, right) = number.sides()?;
    match right == Dim::size(0) {
        true => dim_size(left, dtype),
        false => cast(&sub(&dim_size(left, DType::I64)?, &dim_size(right, DType::I64)?)?, dtype),
    }
}

attributes! {
    /// The op behind [`dim_size`].
    pub struct DimSize = "dim_size" {
        /// The size.
        pub size: Dim,
        /// The element type of the number.
        pub dtype: DType,
    }
}

impl Op for DimSize {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![Type::scalar(self.dtype)])
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        let size = Tensor::scalar(known_size(self.size)? as i64);
        Ok(smallvec![size.cast(self.dtype)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }

    fn uniform(&self) -> Option<f64> {
        self.size.value().map(|size| size as f64)
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::Size(self.size)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(DimSize::NAME, DimSize::build, || {
    vec![
        Sample::new(DimSize { size: Dim::size(7), dtype: DType::F64 }, [])
            .gives([f64s(&[7.0], &[])]),
        Sample::new(DimSize { size: Dim::size(7), dtype: DType::I64 }, []).gives([i64s(&[7], &[])]),
    ]
});
