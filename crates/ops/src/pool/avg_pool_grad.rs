//! `avg_pool_grad`: the gradient of `avg_pool`.

use super::avg_pool::AvgPool;
use super::geometry::{has_axes, native_args};
use crate::prelude::*;

attributes! {
    /// The gradient of [`AvgPool`]: spreads each element over its window.
    pub struct AvgPoolGrad = "avg_pool_grad" {
        /// The elements of a window, per pooled axis.
        pub kernel: Vec<usize>,
        /// The distance between windows.
        pub stride: Vec<usize>,
        /// Zeros on both sides of each axis.
        pub padding: Vec<usize>,
        /// Whether a last window that is cut off counts.
        pub ceil_mode: bool,
        /// Whether the zeros of the padding count as elements of the mean.
        pub count_include_pad: bool,
        /// What sums are divided by, instead of the number of elements.
        pub divisor: Option<usize>,
        /// The sizes of what was pooled.
        pub sizes: Vec<Dim>,
    }
}

impl AvgPoolGrad {
    pub(super) fn new(of: AvgPool, sizes: Vec<Dim>) -> AvgPoolGrad {
        let AvgPool { kernel, stride, padding, ceil_mode, count_include_pad, divisor } = of;
        AvgPoolGrad { kernel, stride, padding, ceil_mode, count_include_pad, divisor, sizes }
    }

    fn pool(&self) -> AvgPool {
        let AvgPoolGrad { kernel, stride, padding, ceil_mode, count_include_pad, divisor, .. } =
            self.clone();
        AvgPool { kernel, stride, padding, ceil_mode, count_include_pad, divisor }
    }
}

impl Op for AvgPoolGrad {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        has_axes(inputs[0], self.sizes.len())?;
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(inputs[0].dims());
        let leading = dims.len() - self.sizes.len();
        dims[leading..].copy_from_slice(&self.sizes);
        let x = inputs[0].with_dims(&dims)?;
        if self.pool().dims(&x)?.as_slice() != inputs[0].dims() {
            return Err(Error::shape(format!("{} is not what {x} is pooled to", inputs[0])));
        }
        Ok(smallvec![x])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let sizes = known_sizes(&outs[0])?;
        let windows = self.pool().windows(&sizes)?;
        let spatial = &sizes[sizes.len() - self.sizes.len()..];
        let x = kernels::avg_pool_spread(inputs[0].tensor()?, &windows, spatial)?;
        Ok(smallvec![x.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(
            Keeps::NOTHING,
            |p| grads![p => bind1(p.op::<AvgPoolGrad>()?.pool(), &[&p.dy()])],
        )
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let pool = self.pool();
        let args = native_args(&pool.geometry(), &outs[0], inputs[0])?;
        let operands = [Arg::In(0), Arg::Out(0)];
        let args =
            operands.into_iter().chain(args).chain(pool.native_divisor()).chain([Arg::Int(1)]);
        Native::new(&super::avg_pool::SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AvgPoolGrad::NAME, AvgPoolGrad::build, || {
    let of = |kernel: &[usize], padding: &[usize], ceil_mode, sizes: &[usize]| AvgPoolGrad {
        kernel: kernel.to_vec(),
        stride: vec![2; kernel.len()],
        padding: padding.to_vec(),
        ceil_mode,
        count_include_pad: false,
        divisor: None,
        sizes: dims_of(sizes),
    };
    let y = f64s(&[1.0, 2.0, 3.0], &[1, 3]);
    vec![
        Sample::new(of(&[2], &[1], false, &[5]), [y.clone()])
            .gives([f64s(&[1.0, 1.0, 1.0, 1.5, 1.5], &[1, 5])]),
        Sample::new(of(&[2], &[0], true, &[5]), [y.clone()])
            .gives([f64s(&[0.5, 0.5, 1.0, 1.0, 3.0], &[1, 5])]),
        Sample::new(of(&[3, 2], &[1, 0], false, &[3, 5]), [ramp(&[2, 2, 2, 2])]),
        Sample::new(of(&[2], &[0], false, &[5]), [y]).refused("is pooled to"),
    ]
});
