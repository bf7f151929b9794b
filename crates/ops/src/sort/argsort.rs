//! `argsort` and `sort`: elements in order, and where they come from.

use crate::prelude::*;
use crate::take_along_axis;

/// The positions that put the elements along an axis in order, as `i64`; the greatest first, if
/// `descending`. Equal elements keep their order. NaN is greater than all numbers, so it comes last
/// (first, if descending).
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[3.0, 1.0, 2.0], &[3])?;
/// assert_eq!(argsort(&x, 0, false)?.to_vec::<i64>()?, [1, 2, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn argsort(x: &Var, axis: i64, descending: bool) -> Result<Var> {
    bind1(Argsort { axis, descending }, &[x])
}

/// The elements along an axis in order, and the positions they come from, as [`argsort`] finds them.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (values, positions) = sort(&Var::of(&[3.0, 1.0, 2.0], &[3])?, 0, true)?;
/// assert_eq!(values.to_vec::<f64>()?, [3.0, 2.0, 1.0]);
/// assert_eq!(positions.to_vec::<i64>()?, [0, 2, 1]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sort(x: &Var, axis: i64, descending: bool) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let positions = argsort(x, axis, descending)?;
    Ok((take_along_axis(x, &positions, axis)?, positions))
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "argsort", text: include_str!("argsort.c"), needs: &[] };

attributes! {
    /// The op behind [`argsort`] and [`sort`].
    pub struct Argsort = "argsort" {
        /// The axis.
        pub axis: i64,
        /// Whether the greatest element comes first.
        pub descending: bool,
    }
}

impl Op for Argsort {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        axis(self.axis, inputs[0].rank())?;
        Ok(smallvec![inputs[0].with_dtype(DType::I64)])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Ok(smallvec![kernels::argsort(x, axis(self.axis, x.rank())?, self.descending)?.into()])
    }

    fn positions(&self, inputs: &[&Type]) -> Option<(usize, Dim)> {
        Some((0, inputs[0].dim(axis(self.axis, inputs[0].rank()).ok()?)))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(Argsort { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a position does not change smoothly")
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let [outer, size, inner] = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?;
        let work = Arg::Work(size.mul(Dim::size(16))?);
        let sizes = [outer, size, inner, size].map(Arg::Size);
        let args = [Arg::In(0), Arg::Out(0), work].into_iter().chain(sizes);
        let args = args.chain([Arg::Int(self.descending.into())]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Argsort::NAME, Argsort::build, || {
    let of = |axis, descending| Argsort { axis, descending };
    let x = f64s(&[2.0, f64::NAN, 1.0, 5.0, 5.0, -1.0], &[2, 3]);
    vec![
        Sample::new(of(1, false), [x.clone()]).gives([i64s(&[2, 0, 1, 2, 0, 1], &[2, 3])]),
        Sample::new(of(-1, true), [x.clone()]).gives([i64s(&[1, 0, 2, 0, 1, 2], &[2, 3])]),
        Sample::new(of(0, false), [x.clone()]).gives([i64s(&[0, 1, 1, 1, 0, 0], &[2, 3])]),
        Sample::new(of(0, false), [bools(&[true, false, true], &[3])])
            .gives([i64s(&[1, 0, 2], &[3])]),
        Sample::new(of(0, false), [f64s(&[], &[0])]).gives([i64s(&[], &[0])]),
        Sample::new(of(2, false), [x]).refused("out of range"),
        Sample::new(of(0, false), [ramp(&[])]).refused("out of range"),
    ]
});
