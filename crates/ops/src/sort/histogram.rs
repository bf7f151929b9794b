//! `histogram`: how many elements lie in each part of a range.

use crate::create::linspace;
use crate::prelude::*;

/// How many elements lie in each of `bins` equal parts of the range from `low` to `high` (`i64`), and
/// the ends of these parts (`f64`), as in numpy. A part takes its lower end, the last one its upper end,
/// too. Elements outside, and NaN, are not counted.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (counts, ends) = histogram(&Var::of(&[0.0, 0.1, 0.9, 5.0], &[4])?, 2, 0.0, 1.0)?;
/// assert_eq!(counts.to_vec::<i64>()?, [2, 1]);
/// assert_eq!(ends.to_vec::<f64>()?, [0.0, 0.5, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn histogram(x: &Var, bins: usize, low: f64, high: f64) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let counts = bind1(Histogram { bins, low, high }, &[x])?;
    Ok((counts, linspace(low, high, Dim::size(bins.saturating_add(1)), DType::F64)?))
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "histogram", text: include_str!("histogram.c"), needs: &[] };

attributes! {
    /// The op behind [`histogram`].
    pub struct Histogram = "histogram" {
        /// The number of parts.
        pub bins: usize,
        /// The lower end of the range.
        pub low: f64,
        /// The upper end of the range.
        pub high: f64,
    }
}

impl Op for Histogram {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let Histogram { bins, low, high } = *self;
        if bins == 0 || !(low < high && (high - low).is_finite()) {
            return Err(Error::argument(format!(
                "{bins} parts from {low} to {high} are not a range"
            )));
        }
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no elements to count"));
        }
        Ok(smallvec![Type::of(DType::I64, &[bins])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Ok(smallvec![kernels::histogram(x, self.bins, self.low, self.high)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("counts do not change smoothly")
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let sizes = [kernel::count(inputs[0].dims())?, Dim::size(self.bins)].map(Arg::Size);
        let numbers = [self.low, self.high].map(Arg::Number);
        let args = [Arg::In(0), Arg::Out(0)].into_iter().chain(sizes).chain(numbers);
        Native::new(&SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Histogram::NAME, Histogram::build, || {
    let of = |bins, low, high| Histogram { bins, low, high };
    let x = f64s(&[0.0, 0.3, 1.0, -0.5, f64::NAN, 0.5], &[2, 3]);
    vec![
        Sample::new(of(2, 0.0, 1.0), [x.clone()]).gives([i64s(&[2, 2], &[2])]),
        Sample::new(of(3, -1.0, 2.0), [x.clone()]).gives([i64s(&[1, 3, 1], &[3])]),
        Sample::new(of(2, 0.0, 4.0), [i64s(&[4], &[])]).gives([i64s(&[0, 1], &[2])]),
        Sample::new(of(0, 0.0, 1.0), [x.clone()]).refused("not a range"),
        Sample::new(of(2, 1.0, 1.0), [x]).refused("not a range"),
    ]
});
