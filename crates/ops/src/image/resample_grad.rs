//! `resample_grad`: the gradient of `resample`.

use super::resample::{Resample, Resampling};
use crate::prelude::*;

attributes! {
    /// The gradient of [`Resample`]: adds each element to the old ones it was made of.
    pub struct ResampleGrad = "resample_grad" {
        /// The axis.
        pub axis: i64,
        /// The size it was given.
        pub size: Dim,
        /// How new elements were made.
        pub mode: Resampling,
        /// Whether the corners were aligned.
        pub align_corners: bool,
        /// The factor between old and new places, if it was not that of the sizes.
        pub scale: Option<f64>,
        /// The size that the axis had.
        pub old: Dim,
    }
}

impl ResampleGrad {
    pub(super) fn new(of: Resample, old: Dim) -> ResampleGrad {
        let Resample { axis, size, mode, align_corners, scale } = of;
        ResampleGrad { axis, size, mode, align_corners, scale, old }
    }

    fn resample(&self) -> Resample {
        let ResampleGrad { axis, size, mode, align_corners, scale, .. } = *self;
        Resample { axis, size, mode, align_corners, scale }
    }
}

impl Op for ResampleGrad {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let axis = axis(self.axis, inputs[0].rank())?;
        if inputs[0].dim(axis) != self.size {
            let (y, size) = (inputs[0], self.size);
            return Err(Error::shape(format!("axis {axis} of {y} was not resampled to {size}")));
        }
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(inputs[0].dims());
        dims[axis] = self.old;
        let x = inputs[0].with_dims(&dims)?;
        self.resample().shape(&x)?;
        Ok(smallvec![x])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let y = inputs[0].tensor()?;
        let (old, new) = (known_size(self.old)?, known_size(self.size)?);
        let axis = axis(self.axis, y.rank())?;
        let taps = self.resample().taps(old, new)?;
        Ok(smallvec![kernels::resample_adjoint(y, axis, &taps, old)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(ResampleGrad { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(
            Keeps::NOTHING,
            |p| grads![p => bind1(p.op::<ResampleGrad>()?.resample(), &[&p.dy()])],
        )
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        self.resample().native(inputs[0], self.old, true)
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ResampleGrad::NAME, ResampleGrad::build, || {
    let of = |axis, size, mode, old| ResampleGrad {
        axis,
        size: Dim::size(size),
        mode,
        align_corners: false,
        scale: None,
        old: Dim::size(old),
    };
    let y = f64s(&[1.0, 2.0, 4.0], &[3]);
    vec![
        Sample::new(of(0, 3, Resampling::Nearest, 2), [y.clone()]).gives([f64s(&[3.0, 4.0], &[2])]),
        Sample::new(of(0, 3, Resampling::Area, 5), [y.clone()])
            .gives([f64s(&[0.5, 0.5 + 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0 + 2.0, 2.0], &[5])]),
        Sample::new(of(1, 3, Resampling::Cubic, 2), [ramp(&[2, 3, 2])]),
        Sample::new(of(0, 4, Resampling::Linear, 2), [y]).refused("was not resampled to 4"),
    ]
});
