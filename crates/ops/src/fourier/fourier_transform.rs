//! `fourier_transform`: what all of `fft` is made of.

use crate::prelude::*;

/// The Fourier transforms of complex numbers along an axis, or the inverse ones, times `scale`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = cast(&Var::of(&[1.0f64, 2.0], &[2])?, DType::C128)?;
/// let y = fourier_transform(&x, 0, 1.0, false)?;
/// assert_eq!(real(&y)?.to_vec::<f64>()?, [3.0, -1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn fourier_transform(x: &Var, axis: i64, scale: f64, inverse: bool) -> Result<Var> {
    bind1(FourierTransform { axis, inverse, scale }, &[x])
}

attributes! {
    /// The op behind [`fourier_transform`].
    pub struct FourierTransform = "fourier_transform" {
        /// The axis.
        pub axis: i64,
        /// Whether it is the inverse one.
        pub inverse: bool,
        /// What the result is multiplied by.
        pub scale: f64,
    }
}

impl Op for FourierTransform {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let ty = inputs[0];
        if ty.is_list() || !ty.dtype().is_complex() {
            return Err(Error::dtype(format!("expected complex numbers, found {ty}"))
                .remedy("cast to c64 or c128 first"));
        }
        axis(self.axis, ty.rank())?;
        Ok(smallvec![*ty])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let axis = axis(self.axis, x.rank())?;
        Ok(smallvec![kernels::fourier(x, axis, self.inverse, self.scale)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(FourierTransform { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        // The adjoint of the transform is the one the other way, with the same factor.
        Grad::Rule(Keeps::NOTHING, |p| {
            let op = p.op::<FourierTransform>()?;
            let back = FourierTransform { inverse: !op.inverse, ..op.clone() };
            grads![p => bind1(back, &[&p.dy()])]
        })
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(FourierTransform::NAME, FourierTransform::build, || {
    let op = |axis: i64| FourierTransform { axis, inverse: false, scale: 1.0 };
    let complex = |numbers: &[f64], dims: &[usize]| {
        let numbers: Vec<Complex<f64>> =
            numbers.chunks(2).map(|z| Complex::new(z[0], z[1])).collect();
        Tensor::from_vec(numbers, dims).expect("a sample's sizes fit its elements")
    };
    let x = complex(&[1.0, 0.0, 2.0, 1.0, 0.5, -1.0, 0.0, 3.0], &[2, 2]);
    vec![
        Sample::new(op(0), [x.clone()])
            .gives([complex(&[1.5, -1.0, 2.0, 4.0, 0.5, 1.0, 2.0, -2.0], &[2, 2])]),
        Sample::new(op(-1), [x])
            .gives([complex(&[3.0, 1.0, -1.0, -1.0, 0.5, 2.0, 0.5, -4.0], &[2, 2])]),
        Sample::new(op(0), [ramp(&[3])]).refused("expected complex numbers"),
        Sample::new(op(1), [ramp(&[3])]).refused("expected complex numbers"),
    ]
});
