//! Cotangents that are being added up, of which perhaps only a run knows whether there are any.

use fluvial_tensor::Result;

use crate::structural;
use crate::trace::{Traced, trace_block};
use crate::var::Var;

/// A cotangent that is being added up, use by use, the last use first.
#[derive(Clone)]
pub struct Sum {
    /// Its value so far. Where nothing was added it is minus zero, which changes no number it is added to.
    pub var: Var,
    /// Whether anything was added, where only a run knows.
    pub present: Option<Present>,
}

/// Whether there is a cotangent, which only a run knows.
#[derive(Clone)]
pub struct Present {
    /// A bool scalar.
    pub flag: Var,
    /// How a program chooses by it.
    pub choose: Choose,
}

/// A choice in a program: by a bool scalar, between two blocks that were traced without parameters.
pub type Choose = fn(&Var, Traced, Traced) -> Result<Vec<Var>>;

impl Sum {
    /// A cotangent that is there in any run.
    pub fn certain(var: Var) -> Sum {
        Sum { var, present: None }
    }

    /// The sum with one more cotangent.
    pub fn plus(self, other: Sum) -> Result<Sum> {
        let var = structural::accumulate(&self.var, &other.var)?;
        let present = match (self.present, other.present) {
            (Some(a), Some(b)) => Some(a.or(&b)?),
            _ => None,
        };
        Ok(Sum { var, present })
    }

    /// The value, and zero where there is none.
    pub fn or_zero(self) -> Result<Var> {
        let Some(present) = &self.present else { return Ok(self.var) };
        let zeros = || match self.var.ty().is_list() {
            true => structural::zeros_like(&self.var),
            false => structural::fill(0.0, &self.var.ty()),
        };
        let found = present.choose(|| Ok(vec![self.var.clone()]), || Ok(vec![zeros()?]))?;
        Ok(found.into_iter().next().unwrap_or(self.var))
    }
}

impl Present {
    /// What `then` gives if there is a cotangent, else what `otherwise` gives.
    pub fn choose(
        &self,
        then: impl FnOnce() -> Result<Vec<Var>>,
        otherwise: impl FnOnce() -> Result<Vec<Var>>,
    ) -> Result<Vec<Var>> {
        let then = trace_block(&[], |_| then())?;
        let otherwise = trace_block(&[], |_| otherwise())?;
        (self.choose)(&self.flag, then, otherwise)
    }

    /// Whether both are one flag.
    pub fn same(&self, other: &Present) -> bool {
        self.flag.same(&other.flag)
    }

    /// Whether there is either.
    pub fn or(&self, other: &Present) -> Result<Present> {
        if self.same(other) {
            return Ok(self.clone());
        }
        let yes = || Ok(vec![Var::scalar(true)]);
        let flag = self.choose(yes, || Ok(vec![other.flag.clone()]))?;
        let flag = flag.into_iter().next().unwrap_or_else(|| self.flag.clone());
        Ok(Present { flag, choose: self.choose })
    }
}

/// The sum of no cotangents of a value: minus zero. Lists have zeros.
pub fn nothing(of: &Var) -> Result<Var> {
    match of.ty().is_list() {
        true => structural::zeros_like(of),
        false => structural::fill(-0.0, &of.ty()),
    }
}
