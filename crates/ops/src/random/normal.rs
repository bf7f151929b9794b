//! `normal`: normally distributed numbers.

use super::generator::draw;
use super::rng_next::{is_stream, seed_and_counter};
use super::uniform::is_float_tensor;
use crate::prelude::*;

/// Floats of a normal distribution.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let x = normal(&Type::of(DType::F32, &[3])?, 0.0, 1.0)?;
/// assert!(x.to_vec::<f32>()?.iter().all(|x| x.is_finite()));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn normal(ty: &Type, mean: f64, std: f64) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    bind1(Normal { ty: *ty, mean, std }, &[&draw()?])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "normal", text: include_str!("normal.c"), needs: &[&super::generator::PHILOX] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: concat!(include_str!("philox.wgsl"), include_str!("normal.wgsl")),
    args: &["stream", "y", "count", "mean", "std"],
    count: |n| n[2].int(),
};

attributes! {
    /// The op behind [`normal`].
    pub struct Normal = "normal" {
        /// The type of the result.
        pub ty: Type,
        /// The mean.
        pub mean: f64,
        /// The standard deviation.
        pub std: f64,
    }
}

impl Op for Normal {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[0])?;
        is_float_tensor(&self.ty)?;
        if self.std.is_nan() || self.std < 0.0 {
            return Err(Error::argument(format!("{} is not a standard deviation", self.std)));
        }
        Ok(smallvec![self.ty])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (seed, counter) = seed_and_counter(inputs[0])?;
        let dims = known_sizes(&outs[0])?;
        let numbers = kernels::normal(seed, counter, self.ty.dtype(), &dims, self.mean, self.std)?;
        Ok(smallvec![numbers.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        if batch.is_batched(0) {
            return Ok(None);
        }
        let ty = batched_type(&self.ty, batch.size())?;
        bind(Normal { ty, ..self.clone() }, &[batch.given(0)]).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("random numbers do not depend smoothly on their stream")
    }

    fn properties(&self) -> Properties {
        Properties::RANDOM
    }

    fn kernel(&self, _: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let count = Arg::Size(kernel::count(outs[0].dims())?);
        let args = [Arg::In(0), Arg::Out(0), count, Arg::Number(self.mean), Arg::Number(self.std)];
        Native::new(&SOURCE, [outs[0].dtype()], args).with_shader(&SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Normal::NAME, Normal::build, || {
    let of = |dims: &[usize]| Normal { ty: ramp(dims).ty(), mean: -1.0, std: 2.0 };
    let stream = i64s(&[5, 7], &[2]);
    vec![
        Sample::new(of(&[3, 5]), [stream.clone()]),
        Sample::new(of(&[]), [stream.clone()]),
        Sample::new(Normal { std: 0.0, ..of(&[2]) }, [stream.clone()])
            .gives([f64s(&[-1.0; 2], &[2])]),
        Sample::new(Normal { std: -1.0, ..of(&[]) }, [stream]).refused("not a standard deviation"),
    ]
});
