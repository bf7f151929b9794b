//! `by_phase`: one value in training, another in use.

use crate::prelude::*;

/// The first value in training, and the second in a program made
/// [`for_inference`](fluvial_core::Program::for_inference). Both have one type.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let ty = Type::scalar(DType::F64);
/// let program = Program::build(&[("x", ty)], |x| Ok(vec![by_phase(&(&x[0] * 2.0), &x[0])?]))?;
/// let three = Var::scalar(3.0);
/// assert_eq!(program.apply(&[&three])?[0].item::<f64>()?, 6.0);
/// assert_eq!(program.for_inference()?.apply(&[&three])?[0].item::<f64>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn by_phase(in_training: &Var, in_use: &Var) -> Result<Var> {
    bind1(ByPhase { train: true }, &[in_training, in_use])
}

attributes! {
    /// The op behind [`by_phase`].
    pub struct ByPhase = "by_phase" {
        /// Whether the first value is taken.
        pub train: bool,
    }
}

impl Op for ByPhase {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        match inputs[0] == inputs[1] {
            true => Ok(smallvec![*inputs[0]]),
            false => Err(Error::shape("the values of both phases have one type")
                .remedy("cast, reshape or expand one of them")),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![inputs[usize::from(!self.train)].clone()])
    }

    fn simplify(&self, _: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        Ok(Some(smallvec![inputs[usize::from(!self.train)]]))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| match p.op::<ByPhase>()?.train {
            true => grads![p => p.dy(), None],
            false => grads![p => None, p.dy()],
        })
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }

    fn for_inference(&self) -> Option<OpRef> {
        Some(ByPhase { train: false }.into())
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::Same(usize::from(!self.train))))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ByPhase::NAME, ByPhase::build, || {
    let (a, b) = (ramp(&[2, 3]), f64s(&[0.5; 6], &[2, 3]));
    vec![
        Sample::new(ByPhase { train: true }, [a.clone(), b.clone()]).gives([a.clone()]),
        Sample::new(ByPhase { train: false }, [a.clone(), b.clone()]).gives([b]),
        Sample::new(ByPhase { train: true }, [a, ramp(&[3])]).refused("have one type"),
    ]
});
