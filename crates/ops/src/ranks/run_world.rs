//! `world`: how many ranks the run has.

use crate::prelude::*;

/// How many ranks the run has, as an `i64`. In a program it is the number that the process or thread that runs it
/// sees.
#[track_caller]
pub fn run_world() -> Result<Var> {
    bind1(RunWorld {}, &[])
}

attributes! {
    /// The op behind [`run_world`].
    pub struct RunWorld = "world" {}
}

impl Op for RunWorld {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![Type::scalar(DType::I64)])
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        let comm = fluvial_dist::current();
        Ok(smallvec![Tensor::scalar(comm.world() as i64).into()])
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RunWorld::NAME, RunWorld::build, || {
    vec![Sample::new(RunWorld {}, []).gives([i64s(&[1], &[])])]
});
