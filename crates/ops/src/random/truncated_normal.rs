//! `truncated_normal`: normally distributed numbers within a range.

use super::generator::draw;
use super::rng_next::{is_stream, seed_and_counter};
use super::uniform::is_float_tensor;
use crate::prelude::*;

/// Floats of a normal distribution of which only those from `low` to `high` are kept. An end may be
/// infinite.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let x = truncated_normal(&Type::of(DType::F64, &[9])?, 0.0, 1.0, -0.5, 2.0)?;
/// assert!(x.to_vec::<f64>()?.iter().all(|x| (-0.5..=2.0).contains(x)));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn truncated_normal(ty: &Type, mean: f64, std: f64, low: f64, high: f64) -> Result<Var> {
    let _line = at(scope::user_line());
    bind1(TruncatedNormal { ty: *ty, mean, std, low, high }, &[&draw()?])
}

/// The function in C.
pub(crate) static SOURCE: Source = Source {
    name: "truncated_normal",
    text: include_str!("truncated_normal.c"),
    needs: &[&super::generator::PHILOX],
};

attributes! {
    /// The op behind [`truncated_normal`].
    pub struct TruncatedNormal = "truncated_normal" {
        /// The type of the result.
        pub ty: Type,
        /// The mean of the whole distribution.
        pub mean: f64,
        /// The standard deviation of the whole distribution.
        pub std: f64,
        /// The lower end.
        pub low: f64,
        /// The upper end.
        pub high: f64,
    }
}

impl Op for TruncatedNormal {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[0])?;
        is_float_tensor(&self.ty)?;
        let TruncatedNormal { mean, std, low, high, .. } = *self;
        if !(mean.is_finite() && std.is_finite() && std > 0.0 && low < high) {
            return Err(Error::argument(format!(
                "no normal distribution has mean {mean}, standard deviation {std} and ends {low}, \
                 {high}"
            )));
        }
        Ok(smallvec![self.ty])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (seed, counter) = seed_and_counter(inputs[0])?;
        let numbers = kernels::truncated_normal(
            seed,
            counter,
            self.ty.dtype(),
            &known_sizes(&outs[0])?,
            [self.mean, self.std],
            [self.low, self.high],
        )?;
        Ok(smallvec![numbers.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        if batch.is_batched(0) {
            return Ok(None);
        }
        let ty = batched_type(&self.ty, batch.size())?;
        bind(TruncatedNormal { ty, ..self.clone() }, &[batch.given(0)]).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("random numbers do not depend smoothly on their stream")
    }

    fn properties(&self) -> Properties {
        Properties::RANDOM
    }

    fn kernel(&self, _: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let count = Arg::Size(kernel::count(outs[0].dims())?);
        let numbers = [self.mean, self.std, self.low, self.high].map(Arg::Number);
        let args = [Arg::In(0), Arg::Out(0), count].into_iter().chain(numbers);
        Native::new(&SOURCE, [outs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(TruncatedNormal::NAME, TruncatedNormal::build, || {
    let of = |dims: &[usize]| TruncatedNormal {
        ty: ramp(dims).ty(),
        mean: 1.0,
        std: 2.0,
        low: 0.0,
        high: 3.0,
    };
    let stream = i64s(&[5, 7], &[2]);
    let infinite = TruncatedNormal { high: f64::INFINITY, ..of(&[4]) };
    vec![
        Sample::new(of(&[3, 5]), [stream.clone()]),
        Sample::new(of(&[]), [stream.clone()]),
        Sample::new(infinite, [stream.clone()]),
        Sample::new(of(&[0, 2]), [stream.clone()]).gives([f64s(&[], &[0, 2])]),
        Sample::new(TruncatedNormal { std: 0.0, ..of(&[]) }, [stream.clone()])
            .refused("no normal distribution"),
        Sample::new(TruncatedNormal { high: 0.0, ..of(&[]) }, [stream.clone()])
            .refused("no normal distribution"),
        Sample::new(TruncatedNormal { ty: stream.ty(), ..of(&[]) }, [stream])
            .refused("a tensor of floats"),
    ]
});
