//! `of_size`: a size from a number of the program.

use crate::prelude::*;

/// As many times `false` as `count`, an integer without axes, says. The size is known only when it is
/// computed: in a program, it is a symbol of its own, which other ops can use. No memory.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// assert_eq!(of_size(&Var::scalar(3i64))?.ty().to_string(), "bool[3]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn of_size(count: &Var) -> Result<Var> {
    bind1(OfSize {}, &[count])
}

attributes! {
    /// The op behind [`of_size`].
    pub struct OfSize = "of_size" {}
}

impl Op for OfSize {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let ty = inputs[0];
        match ty.rank() == 0 && !ty.is_list() && ty.dtype().is_int() {
            true => Ok(smallvec![Type::new(DType::Bool, &[Dim::fresh(0)])?]),
            false => Err(Error::shape(format!("a size is an integer without axes, not {ty}"))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let count = inputs[0].tensor()?.cast(DType::I64)?.item::<i64>()?;
        let Ok(size) = usize::try_from(count) else {
            return Err(Error::shape(format!("a size cannot be negative, but it is {count}")));
        };
        Ok(smallvec![Tensor::scalar(false).expand(&[size])?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Shape))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("sizes are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(OfSize::NAME, OfSize::build, || {
    vec![
        Sample::new(OfSize {}, [i64s(&[2], &[])]).gives([bools(&[false, false], &[2])]),
        Sample::new(OfSize {}, [i64s(&[0], &[])]).gives([bools(&[], &[0])]),
        Sample::new(OfSize {}, [i64s(&[-1], &[])]).refused("cannot be negative"),
        Sample::new(OfSize {}, [i64s(&[1], &[1])]).refused("without axes"),
        Sample::new(OfSize {}, [f64s(&[1.0], &[])]).refused("an integer without axes"),
    ]
});
