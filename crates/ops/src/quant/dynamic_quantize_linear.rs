//! `dynamic_quantize_linear`: numbers as bytes that reach over all of them.

use super::quantize_linear::{NO_GRADIENT, f32s, u8s};
use crate::prelude::*;

attributes! {
    /// Bytes without sign for numbers, with a scale and a zero point that reach over all of them and 0. A NaN makes the
    /// scale NaN, and so what is computed with it.
    ///
    /// Outputs: the bytes, the scale and the zero point.
    pub struct DynamicQuantizeLinear = "dynamic_quantize_linear" {}
}

impl Op for DynamicQuantizeLinear {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let x = inputs[0];
        if x.is_list() || !x.is_float() {
            return Err(Error::dtype(format!("only floats are quantised, found {x}")));
        }
        let (scale, zero) = (Type::scalar(DType::F32), Type::scalar(DType::U8));
        Ok(smallvec![x.with_dtype(DType::U8), scale, zero])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let (scale, zero) = kernels::dynamic_scale(x)?;
        let q = kernels::quantize(x, scale, zero.into(), DType::U8)?;
        Ok(smallvec![q.into(), Tensor::scalar(scale).into(), Tensor::scalar(zero).into()])
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef =
    OpDef::new(DynamicQuantizeLinear::NAME, DynamicQuantizeLinear::build, || {
        let op = || DynamicQuantizeLinear {};
        vec![
            Sample::new(op(), [f32s(&[-51.0, 204.0, 0.0, 1.0], &[2, 2])]).gives([
                u8s(&[0, 255, 51, 52], &[2, 2]),
                f32s(&[1.0], &[]),
                u8s(&[51], &[]),
            ]),
            Sample::new(op(), [f32s(&[0.0, 0.0], &[2])]).gives([
                u8s(&[0, 0], &[2]),
                f32s(&[0.0], &[]),
                u8s(&[0], &[]),
            ]),
            Sample::new(op(), [u8s(&[1], &[1])]).refused("only floats are quantised"),
        ]
    });
