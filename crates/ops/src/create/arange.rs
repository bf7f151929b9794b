//! `arange`: numbers at equal distances.

use crate::prelude::*;

/// The numbers `start`, `start + step`, … before `stop`, as in numpy. An integer type needs whole
/// numbers. See [`iota`] for a symbolic number of them.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// assert_eq!(arange(1.0, 2.0, 0.25, DType::F64)?.to_vec::<f64>()?, [1.0, 1.25, 1.5, 1.75]);
/// assert_eq!(arange(3.0, 0.0, -2.0, DType::I64)?.to_vec::<i64>()?, [3, 1]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn arange(start: f64, stop: f64, step: f64, dtype: DType) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let count = ((stop - start) / step).ceil();
    if !(start.is_finite() && count.is_finite() && step != 0.0) || count >= 2f64.powi(53) {
        return Err(Error::argument(format!(
            "no numbers from {start} to {stop} in steps of {step}"
        ))
        .remedy("give finite ends, and a step that is not zero")
        .in_op(Arange::NAME, &[])
        .at(loc));
    }
    if dtype.is_int() && [start, stop, step].iter().any(|number| number.abs() > EXACT) {
        return Err(Error::argument(format!(
            "integers from {start} to {stop} in steps of {step} are not exact here"
        ))
        .remedy("numbers beyond 2^53 can be had by adding: `arange(n) + first`")
        .in_op(Arange::NAME, &[])
        .at(loc));
    }
    bind1(Arange { start, step, size: Dim::size(count.max(0.0) as usize), dtype }, &[])
}

/// Up to here, each whole number is one of 64 bits with a fraction.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The numbers 0, 1, 2, …: so many, which may be a symbol.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// assert_eq!(iota(Dim::size(3), DType::I64)?.to_vec::<i64>()?, [0, 1, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn iota(size: Dim, dtype: DType) -> Result<Var> {
    bind1(Arange { start: 0.0, step: 1.0, size, dtype }, &[])
}

attributes! {
    /// The op behind [`arange`] and [`iota`].
    pub struct Arange = "arange" {
        /// The first number.
        pub start: f64,
        /// The distance between neighbours.
        pub step: f64,
        /// How many numbers.
        pub size: Dim,
        /// The element type.
        pub dtype: DType,
    }
}

impl Op for Arange {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        let whole = self.start.fract() == 0.0 && self.step.fract() == 0.0;
        if self.dtype.is_bool() || (!self.dtype.is_float() && !whole) {
            let Arange { start, step, .. } = *self;
            return Err(Error::dtype(format!(
                "{} cannot hold numbers from {start} in steps of {step}",
                self.dtype
            ))
            .remedy("use a float type"));
        }
        if let Some(count) = self.size.value().filter(|count| *count > 0) {
            let last = self.start + (count - 1) as f64 * self.step;
            [self.start, last].iter().try_for_each(|&end| Number::Float(end).check(self.dtype))?;
        }
        Ok(smallvec![Type::new(self.dtype, &[self.size])?])
    }

    fn eval(&self, _: &[&Value], outs: &[Type]) -> Result<Values> {
        Ok(smallvec![
            kernels::arange(self.start, self.step, &known_sizes(&outs[0])?, self.dtype)?.into()
        ])
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Arange::NAME, Arange::build, || {
    let of = |start, step, size, dtype| Arange { start, step, size: Dim::size(size), dtype };
    vec![
        Sample::new(of(0.0, 1.0, 3, DType::I64), []).gives([i64s(&[0, 1, 2], &[3])]),
        Sample::new(of(1.0, -0.5, 3, DType::F64), []).gives([f64s(&[1.0, 0.5, 0.0], &[3])]),
        Sample::new(of(1.0, 1.0, 0, DType::F64), []).gives([f64s(&[], &[0])]),
        Sample::new(of(0.0, 0.5, 3, DType::I64), []).refused("cannot hold"),
        Sample::new(of(0.0, 1.0, 3, DType::Bool), []).refused("cannot hold"),
        Sample::new(of(0.0, 1.0, 300, DType::U8), []).refused("299 does not fit uint8"),
        Sample::new(of(-3.0, 1.0, 6, DType::U8), []).refused("-3 does not fit uint8"),
    ]
});
