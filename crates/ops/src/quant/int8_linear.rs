//! `int8_linear`: bytes by packed weights, as numbers.

use super::packed::{absorbed, finish, judge, known_channels, scales, then};
use super::quantize_linear::{NO_GRADIENT, f32s, i8s, u8s};
use crate::prelude::*;

attributes! {
    /// `scale * weight_scale * (x - zero) weight^T + bias`, of which negative results become 0 if it is said so. The sums of
    /// products are exact.
    ///
    /// Inputs: bytes without sign `x`, `[.., in]`; their `scale` and `zero` point; weights of `out` channels that were
    /// [packed](kernels::pack_int8); a scale for each channel, `[out]`; and perhaps a bias for each, `[out]`.
    pub struct Int8Linear = "int8_linear" {
        /// Whether there is a bias.
        pub bias: bool,
        /// Whether negative results become 0.
        pub relu: bool,
    }
}

impl Op for Int8Linear {
    fn arity(&self) -> Arity {
        Arity::Exactly(5 + usize::from(self.bias))
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let x = inputs[0];
        if x.rank() == 0 {
            return Err(Error::shape("expected rows, found a number"));
        }
        let last = x.rank() - 1;
        let outs = known_channels(inputs[4])?;
        let products = known_size(x.dim(last))?;
        judge(inputs, [1, outs, products], last, x.rank())?;
        let mut dims: SmallVec<[Dim; 8]> = x.dims().into();
        dims[last] = Dim::size(outs);
        Ok(smallvec![Type::new(DType::F32, &dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (weight_scale, bias) = scales(inputs)?;
        let then = then(inputs, &weight_scale, bias.as_deref(), self.relu)?;
        let (x, packed) = (inputs[0].tensor()?, inputs[3].tensor()?);
        Ok(smallvec![kernels::int8_linear(x, packed, weight_scale.len(), &then)?.into()])
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn weight(&self, inputs: &[&Type]) -> Option<Weight> {
        let is_bare = !self.bias && !self.relu;
        is_bare.then(|| Weight { input: 4, axis: 0, channels: inputs[0].rank() - 1 })
    }

    fn absorb(&self, on: &Rewrite, inputs: &[ValueId], next: &Call) -> Option<Absorbed> {
        let (bias, relu) = finish(self, on, inputs, next, [self.bias, self.relu], |rank| rank - 1)?;
        absorbed(Int8Linear { bias: bias.is_some() || self.bias, relu }, inputs, bias)
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Int8Linear::NAME, Int8Linear::build, || {
    let plain = || Int8Linear { bias: false, relu: false };
    let x = || u8s(&[3, 5, 1, 2, 1, 1], &[2, 3]);
    let weight = i8s(&[1, 2, -3, 0, 1, 0], &[2, 3]);
    let packed = kernels::pack_int8(&weight, 1).expect("weights of 8 bits");
    let (scale, zero) = (|| f32s(&[0.5], &[]), || u8s(&[1], &[]));
    let scales = || f32s(&[2.0, 1.0], &[2]);
    let all = [x(), scale(), zero(), packed.clone(), scales()];
    let mut with_bias = all.to_vec();
    with_bias.push(f32s(&[-11.0, 0.5], &[2]));
    vec![
        Sample::new(plain(), all.clone()).gives([f32s(&[10.0, 2.0, 1.0, 0.0], &[2, 2])]),
        Sample::new(Int8Linear { bias: true, relu: true }, with_bias)
            .gives([f32s(&[0.0, 2.5, 0.0, 0.5], &[2, 2])]),
        Sample::new(plain(), [u8s(&[1, 2], &[2]), scale(), zero(), i8s(&[1; 64], &[64]), scales()])
            .refused("are not packed weights"),
        Sample::new(plain(), [ramp(&[2, 3]), scale(), zero(), packed.clone(), scales()])
            .refused("activations are u8"),
        Sample::new(plain(), [x(), scale(), zero(), packed, scale()])
            .refused("a scale for each channel"),
    ]
});
