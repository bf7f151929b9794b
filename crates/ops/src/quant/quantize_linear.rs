//! `quantize_linear`: numbers as integers of 8 bits.

use crate::prelude::*;

attributes! {
    /// The nearest integers of `x / scale + zero`, the even ones of two, in the type of `zero`, `u8` or `i8`; its ends for what is
    /// beyond them, and the least for NaN.
    ///
    /// Inputs: numbers, their scale and the zero point.
    pub struct QuantizeLinear = "quantize_linear" {}
}

impl Op for QuantizeLinear {
    fn arity(&self) -> Arity {
        Arity::Exactly(3)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (x, zero) = (inputs[0], inputs[2]);
        if x.is_list() || !x.is_float() {
            return Err(Error::dtype(format!("only floats are quantised, found {x}")));
        }
        steps(inputs[1], zero)?;
        Ok(smallvec![x.with_dtype(zero.dtype())])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let scale = inputs[1].tensor()?.item::<f32>()?;
        let zero = integers(inputs[2].tensor()?);
        let q = kernels::quantize(inputs[0].tensor()?, scale, zero[0], outs[0].dtype())?;
        Ok(smallvec![q.into()])
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }
}

/// Integers have no gradients.
pub(super) const NO_GRADIENT: Grad =
    Grad::NonDifferentiable("integers of 8 bits do not change smoothly; train before quantising");

/// Refuses a scale that is not one `f32`, and a zero point that is not one integer of 8 bits.
pub(super) fn steps(scale: &Type, zero: &Type) -> Result<()> {
    if scale.is_list() || scale.dtype() != DType::F32 || scale.rank() != 0 {
        return Err(Error::dtype(format!("a scale is one f32, found {scale}")));
    }
    match !zero.is_list() && is_eight_bits(zero.dtype()) && zero.rank() == 0 {
        true => Ok(()),
        false => Err(Error::dtype(format!("a zero point is one u8 or i8, found {zero}"))),
    }
}

/// Whether these are integers of 8 bits.
pub(super) fn is_eight_bits(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::I8)
}

/// The elements of a tensor of integers of 8 bits.
pub(super) fn integers(x: &Tensor) -> Vec<i32> {
    x.to_f64s().iter().map(|&x| x as i32).collect()
}

/// A tensor of one `f32` for samples.
pub(super) fn f32s(elements: &[f32], dims: &[usize]) -> Tensor {
    Tensor::from_slice(elements, dims).expect("a sample's sizes fit its elements")
}

/// A tensor of bytes without sign for samples.
pub(super) fn u8s(elements: &[u8], dims: &[usize]) -> Tensor {
    Tensor::from_slice(elements, dims).expect("a sample's sizes fit its elements")
}

/// A tensor of bytes with a sign for samples.
pub(super) fn i8s(elements: &[i8], dims: &[usize]) -> Tensor {
    Tensor::from_slice(elements, dims).expect("a sample's sizes fit its elements")
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(QuantizeLinear::NAME, QuantizeLinear::build, || {
    let x = || f32s(&[0.25, -1.0, 0.5, 100.0], &[2, 2]);
    let (scale, zero) = (|| f32s(&[0.5], &[]), || u8s(&[3], &[]));
    vec![
        Sample::new(QuantizeLinear {}, [x(), scale(), zero()])
            .gives([u8s(&[3, 1, 4, 203], &[2, 2])]),
        Sample::new(QuantizeLinear {}, [x(), scale(), i8s(&[-3], &[])])
            .gives([i8s(&[-3, -5, -2, 127], &[2, 2])]),
        Sample::new(QuantizeLinear {}, [u8s(&[1], &[1]), scale(), zero()])
            .refused("only floats are quantised"),
        Sample::new(QuantizeLinear {}, [x(), x(), zero()]).refused("a scale is one f32"),
        Sample::new(QuantizeLinear {}, [x(), scale(), scale()])
            .refused("a zero point is one u8 or i8"),
    ]
});
