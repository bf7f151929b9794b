//! `searchsorted`: where values belong among sorted elements.

use crate::prelude::*;

/// How many elements of `sorted` come before each of the values (`i64`): those that are less, and the
/// equal ones, too, if `right`. Put in there, a value leaves them sorted. `sorted` has one axis, which
/// must be in order; or several, of which the last is searched, and which but for the last are those of
/// `values`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let sorted = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let values = Var::of(&[2.0, 9.0], &[2])?;
/// assert_eq!(searchsorted(&sorted, &values, false)?.to_vec::<i64>()?, [1, 3]);
/// assert_eq!(searchsorted(&sorted, &values, true)?.to_vec::<i64>()?, [2, 3]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn searchsorted(sorted: &Var, values: &Var, right: bool) -> Result<Var> {
    bind1(Searchsorted { right }, &[sorted, values])
}

/// The function in C.
pub(crate) static SOURCE: Source = Source {
    name: "searchsorted",
    text: include_str!("searchsorted.c"),
    needs: &[&super::argsort::SOURCE],
};

attributes! {
    /// The op behind [`searchsorted`].
    pub struct Searchsorted = "searchsorted" {
        /// Whether equal elements come before a value.
        pub right: bool,
    }
}

impl Op for Searchsorted {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (sorted, values) = (inputs[0], inputs[1]);
        let Some(lanes) = sorted.rank().checked_sub(1) else {
            return Err(Error::shape("a single element is not a sorted axis"));
        };
        let alike = lanes == 0
            || (values.rank() == sorted.rank() && values.dims()[..lanes] == sorted.dims()[..lanes]);
        if sorted.is_list() || values.is_list() || !alike {
            return Err(Error::shape(format!(
                "the axes of the values {values} are not those of the sorted elements {sorted}"
            ))
            .remedy("all axes but the last must be the same, or search a single axis"));
        }
        Ok(smallvec![values.with_dtype(DType::I64)])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (sorted, values) = (inputs[0].tensor()?, inputs[1].tensor()?);
        if sorted.rank() > 1 {
            return Ok(smallvec![kernels::searchsorted(sorted, values, self.right)?.into()]);
        }
        let flat = values.reshape(&[values.numel()])?;
        let found = kernels::searchsorted(sorted, &flat, self.right)?;
        Ok(smallvec![found.reshape(values.dims())?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a position does not change smoothly")
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (sorted, values) = (inputs[0], inputs[1]);
        let (leading, size) = sorted.dims().split_at(sorted.rank() - 1);
        let count = match leading.is_empty() {
            true => kernel::count(values.dims())?,
            false => values.dim(values.rank() - 1),
        };
        let dtype = sorted.dtype().promote(values.dtype());
        let sizes = [kernel::count(leading)?, size[0], count].map(Arg::Size);
        let args = [Arg::As(0, dtype), Arg::As(1, dtype), Arg::Out(0)].into_iter().chain(sizes);
        Native::new(&SOURCE, [dtype], args.chain([Arg::Int(self.right.into())])).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Searchsorted::NAME, Searchsorted::build, || {
    let of = |right| Searchsorted { right };
    let sorted = f64s(&[-1.0, 0.5, 0.5, 2.0], &[4]);
    let values = f64s(&[0.5, -2.0, 3.0, 1.0, -1.0, 2.0], &[2, 3]);
    let rows = f64s(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &[2, 3]);
    vec![
        Sample::new(of(false), [sorted.clone(), values.clone()])
            .gives([i64s(&[1, 0, 4, 3, 0, 3], &[2, 3])]),
        Sample::new(of(true), [sorted.clone(), values.clone()])
            .gives([i64s(&[3, 0, 4, 3, 1, 4], &[2, 3])]),
        Sample::new(of(false), [rows.clone(), f64s(&[1.0, 4.5], &[2, 1])])
            .gives([i64s(&[1, 2], &[2, 1])]),
        Sample::new(of(false), [sorted.clone(), f64s(&[1.0], &[])]).gives([i64s(&[3], &[])]),
        Sample::new(of(false), [f64s(&[], &[0]), values.clone()]).gives([i64s(&[0; 6], &[2, 3])]),
        Sample::new(of(false), [rows, sorted.clone()]).refused("are not those"),
        Sample::new(of(false), [ramp(&[]), sorted]).refused("not a sorted axis"),
    ]
});
