//! `int8_conv`: windows of bytes by packed weights, as numbers.

use super::packed::{absorbed, finish, judge, known_channels, scales, then};
use super::quantize_linear::{NO_GRADIENT, f32s, i8s, u8s};
use crate::conv::geometry::{Geometry, with_spatial};
use crate::prelude::*;

attributes! {
    /// A convolution of bytes with packed weights of bytes, as numbers: `scale * weight_scale * sum + bias`, of which negative
    /// ones become 0 if it is said so. The sums of products are exact.
    ///
    /// Inputs: bytes without sign `x`, `[batch, in, ..]`; their `scale` and `zero` point, which also stands beyond the edges;
    /// weights of `out` channels that were [packed](kernels::pack_int8); a scale for each channel, `[out]`; and perhaps a bias
    /// for each.
    pub struct Int8Conv = "int8_conv" {
        /// The sizes of a kernel.
        pub kernel: Vec<usize>,
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
        /// Whether there is a bias.
        pub bias: bool,
        /// Whether negative results become 0.
        pub relu: bool,
    }
}

impl Int8Conv {
    fn geometry(&self) -> Geometry {
        let Int8Conv { stride, before, after, dilation, groups, .. } = self.clone();
        Geometry { stride, before, after, dilation, groups }
    }
}

impl Op for Int8Conv {
    fn arity(&self) -> Arity {
        Arity::Exactly(5 + usize::from(self.bias))
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (geometry, x) = (self.geometry(), inputs[0]);
        let of_x = x.with_dtype(DType::F32);
        if self.kernel.len() != geometry.n_axes() {
            return Err(Error::argument("the kernel has other axes than the strides"));
        }
        geometry.judge(&[("input", &of_x), ("input", &of_x)])?;
        let ins = known_size(geometry.divides("input", x.dim(1))?)?;
        let outs = known_channels(inputs[4])?;
        geometry.divides("output", Dim::size(outs))?;
        let products =
            self.kernel.iter().fold(ins, |products, &size| products.saturating_mul(size));
        judge(inputs, [self.groups, outs, products], 1, x.rank())?;
        let counts = geometry.counts(&x.dims()[2..], &dims_of(&self.kernel))?;
        let dims = with_spatial(x.dim(0), Dim::size(outs), &counts);
        Ok(smallvec![Type::new(DType::F32, &dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (weight_scale, bias) = scales(inputs)?;
        let then = then(inputs, &weight_scale, bias.as_deref(), self.relu)?;
        let (x, packed) = (inputs[0].tensor()?, inputs[3].tensor()?);
        let geometry = self.geometry();
        let windows = geometry.windows(&self.kernel);
        let y = kernels::int8_conv(x, packed, weight_scale.len(), &windows, &then)?;
        Ok(smallvec![y.into()])
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn weight(&self, _: &[&Type]) -> Option<Weight> {
        let is_bare = !self.bias && !self.relu;
        is_bare.then_some(Weight { input: 4, axis: 0, channels: 1 })
    }

    fn absorb(&self, on: &Rewrite, inputs: &[ValueId], next: &Call) -> Option<Absorbed> {
        let (bias, relu) = finish(self, on, inputs, next, [self.bias, self.relu], |_| 1)?;
        let op = Int8Conv { bias: bias.is_some() || self.bias, relu, ..self.clone() };
        absorbed(op, inputs, bias)
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Int8Conv::NAME, Int8Conv::build, || {
    let of = |before: usize, bias: bool| Int8Conv {
        kernel: vec![2],
        stride: vec![1],
        before: vec![before],
        after: vec![0],
        dilation: vec![1],
        groups: 1,
        bias,
        relu: bias,
    };
    let x = || u8s(&[1, 2, 3, 4], &[1, 1, 4]);
    let packed = kernels::pack_int8(&i8s(&[1, 10], &[1, 1, 2]), 1).expect("weights of 8 bits");
    let (scale, zero) = (|| f32s(&[0.5], &[]), || u8s(&[1], &[]));
    let scales = || f32s(&[2.0], &[1]);
    let all = || vec![x(), scale(), zero(), packed.clone(), scales()];
    let mut with_bias = all();
    with_bias.push(f32s(&[-15.0], &[1]));
    vec![
        Sample::new(of(0, false), all()).gives([f32s(&[10.0, 21.0, 32.0], &[1, 1, 3])]),
        Sample::new(of(1, true), with_bias).gives([f32s(&[0.0, 0.0, 6.0, 17.0], &[1, 1, 4])]),
        Sample::new(Int8Conv { kernel: vec![9], ..of(0, false) }, all())
            .refused("are not packed weights"),
        Sample::new(Int8Conv { kernel: vec![2, 2], ..of(0, false) }, all())
            .refused("other axes than the strides"),
        Sample::new(of(0, false), [ramp(&[1, 1, 4]), scale(), zero(), packed.clone(), scales()])
            .refused("activations are u8"),
    ]
});
