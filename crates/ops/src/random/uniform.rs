//! `uniform`: evenly distributed numbers.

use super::generator::draw;
use super::rng_next::{is_stream, seed_and_counter};
use crate::prelude::*;

/// Floats evenly distributed from `low` to `high` (exclusive).
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let x = uniform(&Type::of(DType::F32, &[3])?, 0.0, 1.0)?;
/// assert!(x.to_vec::<f32>()?.iter().all(|&x| (0.0..1.0).contains(&x)));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn uniform(ty: &Type, low: f64, high: f64) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    bind1(Uniform { ty: *ty, low, high }, &[&draw()?])
}

/// The function in C.
pub(crate) static SOURCE: Source = Source {
    name: "uniform",
    text: include_str!("uniform.c"),
    needs: &[&super::generator::PHILOX],
};

/// The function for devices.
static SHADER: Shader = Shader {
    text: concat!(include_str!("philox.wgsl"), include_str!("uniform.wgsl")),
    args: &["stream", "y", "count", "low", "high"],
    count: |n| n[2].int(),
};

attributes! {
    /// The op behind [`uniform`].
    pub struct Uniform = "uniform" {
        /// The type of the result.
        pub ty: Type,
        /// The lower end.
        pub low: f64,
        /// The upper end.
        pub high: f64,
    }
}

impl Op for Uniform {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[0])?;
        is_float_tensor(&self.ty)?;
        if !(self.low <= self.high && (self.high - self.low).is_finite()) {
            return Err(Error::argument(format!("{} to {} is not a range", self.low, self.high)));
        }
        Ok(smallvec![self.ty])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (seed, counter) = seed_and_counter(inputs[0])?;
        let dims = known_sizes(&outs[0])?;
        let numbers = kernels::uniform(seed, counter, self.ty.dtype(), &dims, self.low, self.high)?;
        Ok(smallvec![numbers.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        if batch.is_batched(0) {
            return Ok(None);
        }
        let ty = batched_type(&self.ty, batch.size())?;
        bind(Uniform { ty, ..self.clone() }, &[batch.given(0)]).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("random numbers do not depend smoothly on their stream")
    }

    fn properties(&self) -> Properties {
        Properties::RANDOM
    }

    fn kernel(&self, _: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let count = Arg::Size(kernel::count(outs[0].dims())?);
        let args = [Arg::In(0), Arg::Out(0), count, Arg::Number(self.low), Arg::Number(self.high)];
        Native::new(&SOURCE, [outs[0].dtype()], args).with_shader(&SHADER).alone()
    }
}

/// Refuses what is not a tensor of floats.
pub(super) fn is_float_tensor(ty: &Type) -> Result<()> {
    match ty.is_float() && !ty.is_list() {
        true => Ok(()),
        false => Err(Error::dtype(format!("expected a tensor of floats, found {ty}"))),
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Uniform::NAME, Uniform::build, || {
    let of = |dims: &[usize]| Uniform { ty: ramp(dims).ty(), low: -1.0, high: 2.0 };
    let stream = i64s(&[5, 7], &[2]);
    let ints = Uniform { ty: stream.ty(), low: 0.0, high: 1.0 };
    vec![
        Sample::new(of(&[3, 5]), [stream.clone()]),
        Sample::new(of(&[]), [stream.clone()]),
        Sample::new(of(&[0, 2]), [stream.clone()]).gives([f64s(&[], &[0, 2])]),
        Sample::new(ints, [stream.clone()]).refused("a tensor of floats"),
        Sample::new(Uniform { low: 2.0, high: 1.0, ..of(&[]) }, [stream]).refused("is not a range"),
        Sample::new(of(&[2]), [ramp(&[2])]).refused("a random stream is i64[2]"),
    ]
});
