//! `conv_integer`: exact convolutions of bytes.

use super::quantize_linear::{NO_GRADIENT, i8s, integers, is_eight_bits, u8s};
use crate::conv::geometry::{Geometry, same_channels, with_spatial};
use crate::prelude::*;

attributes! {
    /// Convolves integers of 8 bits with weights of such, each less its zero points. The results are `i32`, and wrap.
    ///
    /// Inputs: `x`, `[batch, in, ..]`; weights `[out, in / groups, ..]`; the zero point of `x`, which also stands beyond the edges;
    /// that of the weights, or one for each output channel.
    pub struct ConvInteger = "conv_integer" {
        /// The distance between windows, per spatial axis.
        pub stride: Vec<usize>,
        /// Zero points in front of each axis.
        pub before: Vec<usize>,
        /// Zero points behind each axis.
        pub after: Vec<usize>,
        /// The distance between the elements of a kernel.
        pub dilation: Vec<usize>,
        /// The number of groups of channels.
        pub groups: usize,
    }
}

impl ConvInteger {
    fn geometry(&self) -> Geometry {
        let ConvInteger { stride, before, after, dilation, groups } = self.clone();
        Geometry { stride, before, after, dilation, groups }
    }
}

impl Op for ConvInteger {
    fn arity(&self) -> Arity {
        Arity::Exactly(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (geometry, x, weight) = (self.geometry(), inputs[0], inputs[1]);
        if let Some(other) = inputs.iter().find(|ty| ty.is_list() || !is_eight_bits(ty.dtype())) {
            return Err(Error::dtype(format!("expected integers of 8 bits, found {other}")));
        }
        // Shapes are those of floats.
        let (of_x, of_weight) = (x.with_dtype(DType::F32), weight.with_dtype(DType::F32));
        geometry.judge(&[("input", &of_x), ("weight", &of_weight)])?;
        geometry.divides("input", x.dim(1))?;
        geometry.divides("output", weight.dim(0))?;
        let expected = weight.dim(1).mul(Dim::size(self.groups))?;
        same_channels(x.dim(1), expected, &format!("in {} groups", self.groups))?;
        let zero = inputs[3];
        if inputs[2].rank() != 0 || !(zero.rank() == 0 || zero.dims() == [weight.dim(0)]) {
            return Err(Error::shape(format!(
                "zero points {} and {zero} do not fit the input and the output channels",
                inputs[2]
            )));
        }
        let counts = geometry.counts(&x.dims()[2..], &weight.dims()[2..])?;
        let dims = with_spatial(x.dim(0), weight.dim(0), &counts);
        Ok(smallvec![Type::new(DType::I32, &dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (x, weight) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let (x_zero, weight_zero) = (integers(inputs[2].tensor()?), integers(inputs[3].tensor()?));
        let geometry = self.geometry();
        let windows = geometry.windows(&weight.dims()[2..]);
        let y = kernels::conv_integer(x, weight, &windows, self.groups, x_zero[0], &weight_zero)?;
        Ok(smallvec![y.into()])
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ConvInteger::NAME, ConvInteger::build, || {
    let of = |before: usize, groups: usize| ConvInteger {
        stride: vec![1],
        before: vec![before],
        after: vec![0],
        dilation: vec![1],
        groups,
    };
    let x = || u8s(&[1, 2, 3, 4], &[1, 1, 4]);
    let pair = || i8s(&[1, 10], &[1, 1, 2]);
    let (one, none) = (|| u8s(&[1], &[]), || i8s(&[0], &[]));
    let i32s = |x: &[i32], dims: &[usize]| Tensor::from_slice(x, dims).expect("sizes that fit");
    vec![
        Sample::new(of(0, 1), [x(), pair(), one(), none()])
            .gives([i32s(&[10, 21, 32], &[1, 1, 3])]),
        Sample::new(of(1, 1), [x(), pair(), one(), i8s(&[1], &[1])])
            .gives([i32s(&[0, 9, 18, 27], &[1, 1, 4])]),
        Sample::new(of(0, 2), [x(), pair(), one(), none()])
            .refused("1 input channels are not divisible by 2 groups"),
        Sample::new(of(0, 1), [x(), pair(), one(), i8s(&[1, 2], &[2])]).refused("do not fit"),
        Sample::new(of(0, 1), [ramp(&[1, 1, 4]), pair(), one(), none()])
            .refused("expected integers of 8 bits"),
    ]
});
