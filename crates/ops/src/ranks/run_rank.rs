//! `rank`: the number of this rank among those of the run, from 0.

use crate::prelude::*;

/// The number of this rank among those of the run, from 0, as an `i64`. In a program it is that of the process or
/// thread that runs it.
#[track_caller]
pub fn run_rank() -> Result<Var> {
    bind1(RunRank {}, &[])
}

attributes! {
    /// The op behind [`run_rank`].
    pub struct RunRank = "rank" {}
}

impl Op for RunRank {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![Type::scalar(DType::I64)])
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        let comm = fluvial_dist::current();
        Ok(smallvec![Tensor::scalar(comm.rank() as i64).into()])
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Differ)
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RunRank::NAME, RunRank::build, || {
    vec![Sample::new(RunRank {}, []).gives([i64s(&[0], &[])])]
});
