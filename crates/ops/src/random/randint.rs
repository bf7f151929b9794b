//! `randint`: evenly distributed integers.

use super::generator::draw;
use super::rng_next::{is_stream, seed_and_counter};
use crate::prelude::*;

/// Integers evenly distributed from `low` to `high` (exclusive).
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let x = randint(&Type::of(DType::I64, &[9])?, -2, 3)?;
/// assert!(x.to_vec::<i64>()?.iter().all(|x| (-2..3).contains(x)));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn randint(ty: &Type, low: i64, high: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    bind1(Randint { ty: *ty, low, high }, &[&draw()?])
}

/// The function in C.
pub(crate) static SOURCE: Source = Source {
    name: "randint",
    text: include_str!("randint.c"),
    needs: &[&super::generator::PHILOX],
};

attributes! {
    /// The op behind [`randint`].
    pub struct Randint = "randint" {
        /// The type of the result.
        pub ty: Type,
        /// The least number.
        pub low: i64,
        /// The number after the greatest.
        pub high: i64,
    }
}

impl Op for Randint {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[0])?;
        if !self.ty.dtype().is_int() || self.ty.is_list() {
            return Err(Error::dtype(format!("expected a tensor of integers, found {}", self.ty)));
        }
        if self.low >= self.high {
            return Err(Error::argument(format!("{} to {} is not a range", self.low, self.high)));
        }
        Ok(smallvec![self.ty])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (seed, counter) = seed_and_counter(inputs[0])?;
        let dims = known_sizes(&outs[0])?;
        let numbers = kernels::randint(seed, counter, self.ty.dtype(), &dims, self.low, self.high)?;
        Ok(smallvec![numbers.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        if batch.is_batched(0) {
            return Ok(None);
        }
        let ty = batched_type(&self.ty, batch.size())?;
        bind(Randint { ty, ..self.clone() }, &[batch.given(0)]).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("random numbers do not depend smoothly on their stream")
    }

    fn properties(&self) -> Properties {
        Properties::RANDOM
    }

    fn kernel(&self, _: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let count = Arg::Size(kernel::count(outs[0].dims())?);
        let args = [Arg::In(0), Arg::Out(0), count, Arg::Int(self.low), Arg::Int(self.high)];
        Native::new(&SOURCE, [outs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Randint::NAME, Randint::build, || {
    let stream = i64s(&[5, 7], &[2]);
    let of = |dims: &[usize], low, high| {
        let count = dims.iter().product();
        Randint { ty: i64s(&vec![0; count], dims).ty(), low, high }
    };
    vec![
        Sample::new(of(&[3, 5], -2, 9), [stream.clone()]),
        Sample::new(of(&[], 0, 9), [stream.clone()]),
        Sample::new(of(&[4], 3, 4), [stream.clone()]).gives([i64s(&[3; 4], &[4])]),
        Sample::new(of(&[0], 0, 9), [stream.clone()]).gives([i64s(&[], &[0])]),
        Sample::new(of(&[2], 3, 3), [stream.clone()]).refused("is not a range"),
        Sample::new(Randint { ty: ramp(&[2]).ty(), low: 0, high: 1 }, [stream])
            .refused("a tensor of integers"),
    ]
});
