//! `topk`: the greatest elements along an axis.

use crate::prelude::*;
use crate::take_along_axis;

/// The `k` greatest elements along an axis (the least, unless `largest`), in order, and where they are
/// (`i64`). Of equal elements the first ones are taken. NaN is greater than all numbers.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (values, positions) = topk(&Var::of(&[3.0, 1.0, 5.0], &[3])?, 2, 0, true)?;
/// assert_eq!(values.to_vec::<f64>()?, [5.0, 3.0]);
/// assert_eq!(positions.to_vec::<i64>()?, [2, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn topk(x: &Var, k: usize, axis: i64, largest: bool) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let positions = bind1(TopPositions { k, axis, largest }, &[x])?;
    Ok((take_along_axis(x, &positions, axis)?, positions))
}

attributes! {
    /// The op behind [`topk`]: the positions.
    pub struct TopPositions = "top_positions" {
        /// How many.
        pub k: usize,
        /// The axis.
        pub axis: i64,
        /// Whether the greatest elements are meant; else the least.
        pub largest: bool,
    }
}

impl Op for TopPositions {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        let axis = axis(self.axis, inputs[0].rank())?;
        if let Some(n) = inputs[0].dim(axis).value()
            && self.k > n
        {
            return Err(Error::argument(format!("there are no {} of {n} elements", self.k))
                .remedy("ask for no more than the axis has"));
        }
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(inputs[0].dims());
        dims[axis] = Dim::size(self.k);
        Ok(smallvec![inputs[0].with_dtype(DType::I64).with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let axis = axis(self.axis, x.rank())?;
        Ok(smallvec![kernels::top_positions(x, self.k, axis, self.largest)?.into()])
    }

    fn fails(&self, inputs: &[&Type]) -> Option<Fault> {
        let axis = axis(self.axis, inputs[0].rank()).ok()?;
        inputs[0].dim(axis).is_symbolic().then_some(Fault::of(ErrorKind::Argument))
    }

    fn positions(&self, inputs: &[&Type]) -> Option<(usize, Dim)> {
        Some((0, inputs[0].dim(axis(self.axis, inputs[0].rank()).ok()?)))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(TopPositions { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a position does not change smoothly")
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let [outer, size, inner] = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?;
        let work = Arg::Work(size.mul(Dim::size(16))?);
        let sizes = [outer, size, inner, Dim::size(self.k)].map(Arg::Size);
        let args = [Arg::In(0), Arg::Out(0), work].into_iter().chain(sizes);
        let args = args.chain([Arg::Int(self.largest.into())]);
        Native::new(&super::argsort::SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(TopPositions::NAME, TopPositions::build, || {
    let of = |k, axis, largest| TopPositions { k, axis, largest };
    let x = f64s(&[2.0, f64::NAN, 1.0, 5.0, 5.0, -1.0], &[2, 3]);
    vec![
        Sample::new(of(2, 1, true), [x.clone()]).gives([i64s(&[1, 0, 0, 1], &[2, 2])]),
        Sample::new(of(1, -1, false), [x.clone()]).gives([i64s(&[2, 2], &[2, 1])]),
        Sample::new(of(2, 0, true), [x.clone()]).gives([i64s(&[1, 0, 0, 0, 1, 1], &[2, 3])]),
        Sample::new(of(0, 1, true), [x.clone()]).gives([i64s(&[], &[2, 0])]),
        Sample::new(of(4, 1, true), [x.clone()]).refused("no 4 of 3 elements"),
        Sample::new(of(1, 2, true), [x]).refused("out of range"),
    ]
});
