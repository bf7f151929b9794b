//! `conv_weight_grad`: the gradient of a convolution with respect to its weight.

use super::geometry::{COLUMNS, Geometry, native_args, with_spatial};
use super::{Conv, ConvTranspose};
use crate::batch::{batch_of, channels_first};
use crate::prelude::*;

/// The function in C.
pub(crate) static SOURCE: Source = Source {
    name: "conv_weight_grad",
    text: include_str!("conv_weight_grad.c"),
    needs: &[&COLUMNS],
};

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("conv_weight_grad.wgsl"),
    args: &["x", "dy", "dweight", "columns", "numbers", "batch", "groups", "ins", "outs"],
    count: |n| {
        let kernel: i64 = n[4].ints().iter().skip(3).take(3).product();
        [6, 7, 8].iter().fold(kernel, |all, &i| all.saturating_mul(n[i].int()))
    },
};

attributes! {
    /// The gradient of [`Conv`] with respect to its weight: of the input `[batch, in, ..]` and the
    /// cotangent `[batch, out, ..]`, it makes `[out, in / groups, ..]`.
    pub struct ConvWeightGrad = "conv_weight_grad" {
        /// The distance between windows, per spatial axis.
        pub stride: Vec<usize>,
        /// Zeros in front of each axis.
        pub before: Vec<usize>,
        /// Zeros behind each axis.
        pub after: Vec<usize>,
        /// The distance between the elements of a kernel.
        pub dilation: Vec<usize>,
        /// The number of groups of channels.
        pub groups: usize,
        /// The spatial sizes of the weight.
        pub kernel: Vec<Dim>,
    }
}

impl ConvWeightGrad {
    pub(super) fn new(geometry: Geometry, kernel: Vec<Dim>) -> ConvWeightGrad {
        let Geometry { stride, before, after, dilation, groups } = geometry;
        ConvWeightGrad { stride, before, after, dilation, groups, kernel }
    }

    fn geometry(&self) -> Geometry {
        let ConvWeightGrad { stride, before, after, dilation, groups, .. } = self.clone();
        Geometry { stride, before, after, dilation, groups }
    }
}

impl Op for ConvWeightGrad {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (geometry, x, dy) = (self.geometry(), inputs[0], inputs[1]);
        let dtype = geometry.judge(&[("input", x), ("cotangent", dy)])?;
        if self.kernel.len() != geometry.n_axes() {
            return Err(Error::argument("the kernel has another number of axes than the strides"));
        }
        let counts = geometry.counts(&x.dims()[2..], &self.kernel)?;
        if dy.dims()[2..] != counts[..] || dy.dim(0) != x.dim(0) {
            return Err(Error::shape(format!(
                "the cotangent {dy} is not that of a convolution of {x}"
            )));
        }
        geometry.divides("output", dy.dim(1))?;
        let channels = geometry.divides("input", x.dim(1))?;
        Ok(smallvec![Type::new(dtype, &with_spatial(dy.dim(1), channels, &self.kernel))?])
    }

    fn arithmetic(&self, inputs: &[&Type], outs: &[Type]) -> Option<f64> {
        let of_each: usize = outs[0].dims()[1..].iter().try_fold(1, |n, d| Some(n * d.value()?))?;
        Some(2.0 * of_each as f64 * inputs[1].numel()? as f64)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (x, dy) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let geometry = self.geometry();
        let kernel =
            self.kernel.iter().map(|&size| known_size(size)).collect::<Result<Vec<_>>>()?;
        let windows = geometry.windows(&kernel);
        let weight = kernels::conv_weight_grad(x, dy, &windows, self.groups, outs[0].dtype())?;
        Ok(smallvec![weight.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let Some(groups) = batch.size().value().map(|size| size * self.groups) else {
            return Ok(None);
        };
        let (x, dy) = (channels_first(&batch.full(0)?)?, channels_first(&batch.full(1)?)?);
        let weight = bind1(ConvWeightGrad { groups, ..self.clone() }, &[&x, &dy])?;
        batch_of(batch.shaped(&weight, batch.outputs()?[0].dims())?)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OTHERS, |p| {
            let geometry = p.op::<ConvWeightGrad>()?.geometry();
            let of_x = || {
                let sizes = p.in_type(0)?.dims()[2..].to_vec();
                bind1(ConvTranspose::new(geometry.clone(), sizes), &[&p.x(1), &p.dy()])
            };
            let of_cotangent = || bind1(Conv::new(geometry.clone()), &[&p.x(0), &p.dy()]);
            grads![p => of_x(), of_cotangent()]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let (x, dy, dtype) = (inputs[0], inputs[1], outs[0].dtype());
        let sizes = [x.dim(0), x.dim(1), dy.dim(1), outs[0].dim(1)];
        let args = native_args(&self.geometry(), &x.dims()[2..], &self.kernel, dtype, sizes)?;
        let operands = [Arg::As(0, dtype), Arg::As(1, dtype), Arg::Out(0)];
        let args = operands.into_iter().chain(args);
        Native::new(&SOURCE, [dtype], args).with_shader(&SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ConvWeightGrad::NAME, ConvWeightGrad::build, || {
    let of = |stride: &[usize], groups, kernel: &[usize]| ConvWeightGrad {
        stride: stride.to_vec(),
        before: vec![1; stride.len()],
        after: vec![0; stride.len()],
        dilation: vec![1; stride.len()],
        groups,
        kernel: dims_of(kernel),
    };
    let x = f64s(&[1.0, 2.0, 3.0], &[1, 1, 3]);
    vec![
        Sample::new(of(&[1], 1, &[2]), [x.clone(), f64s(&[1.0, 10.0, 100.0], &[1, 1, 3])])
            .gives([f64s(&[210.0, 321.0], &[1, 1, 2])]),
        Sample::new(of(&[2, 1], 2, &[2, 3]), [ramp(&[2, 2, 3, 4]), ramp(&[2, 4, 2, 3])]),
        Sample::new(
            of(&[2, 1, 1], 1, &[1, 2, 2]),
            [ramp(&[1, 2, 3, 2, 2]), ramp(&[1, 2, 2, 2, 2])],
        ),
        Sample::new(of(&[1], 1, &[2]), [ramp(&[0, 1, 3]), ramp(&[0, 1, 3])])
            .gives([f64s(&[0.0, 0.0], &[1, 1, 2])]),
        Sample::new(of(&[1], 1, &[2]), [x.clone(), ramp(&[1, 1, 2])])
            .refused("not that of a convolution"),
        Sample::new(of(&[1], 2, &[2]), [x, ramp(&[1, 2, 3])])
            .refused("1 input channels are not divisible by 2 groups"),
    ]
});
