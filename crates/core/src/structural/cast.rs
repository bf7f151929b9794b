//! `cast`: another element type.

use std::sync::Arc;

use fluvial_kernels::Body;
use fluvial_tensor::{DType, Error, Result, Tensor, Type};
use smallvec::{SmallVec, smallvec};

use super::arithmetic::f64s;
use crate::bind::bind1;
use crate::block::ValueId;
use crate::grad::{Grad, Keeps};
use crate::kernel::{Elements, Kernel};
use crate::op::{Arity, Op, Properties, Takes, Types, Values};
use crate::registry::OpDef;
use crate::rewrite::{NewValues, Rewrite};
use crate::sample::Sample;
use crate::value::Value;
use crate::var::Var;
use crate::{attributes, grads};

/// The value with another element type. Floats to integers saturate, NaN becomes zero. A complex number becomes
/// a real one by saying which part: `real`, `imag` or `abs`.
#[track_caller]
pub fn cast(x: &Var, dtype: DType) -> Result<Var> {
    bind1(Cast { dtype }, &[x])
}

attributes! {
    /// The op behind [`cast`].
    pub struct Cast = "cast" {
        /// The element type of the result.
        pub dtype: DType,
    }
}

impl Op for Cast {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let from = inputs[0].dtype();
        if inputs[0].is_list() {
            return Err(Error::dtype("a list cannot be cast"));
        }
        if from.is_complex() && !self.dtype.is_complex() && !self.dtype.is_bool() {
            return Err(Error::dtype(format!(
                "a cast from {from} to {} would lose the imaginary part",
                self.dtype
            ))
            .remedy("say which part: `real(x)`, `imag(x)` or `abs(x)`"));
        }
        Ok(smallvec![inputs[0].with_dtype(self.dtype)])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![inputs[0].tensor()?.cast(self.dtype)?.into()])
    }

    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        let same = on.ty(inputs[0]).dtype() == self.dtype;
        Ok(same.then(|| smallvec![inputs[0]]))
    }

    fn grad(&self) -> Grad {
        if self.dtype.is_stored() {
            return Grad::NonDifferentiable(
                "a cast to a float of 8 bits has no gradient; pass it on by hand, as \
                 `x + stop_gradient(cast(cast(x, f8), f32) - x)`",
            );
        }
        // The reverse walk brings the cotangent to the input's element type.
        Grad::Rule(Keeps::NOTHING, |p| grads![p => p.dy()])
    }

    fn properties(&self) -> Properties {
        Properties { elementwise: true, ..Properties::PURE }
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let body = Arc::new(Body::unary(|x| x));
        let compute = inputs[0].dtype().compute();
        Ok(Some(Kernel::Elementwise(Elements { body, compute, params: SmallVec::new() })))
    }
}

pub(super) const DEF: OpDef = OpDef::new(Cast::NAME, Cast::build, || {
    let x = f64s(&[1.5, -2.25, 300.0], &[3]);
    let i32s = Tensor::from_slice(&[1i32, -2, 300], &[3]).expect("three elements");
    vec![
        Sample::new(Cast { dtype: DType::F64 }, [x.clone()]).gives([x.clone()]),
        Sample::new(Cast { dtype: DType::I32 }, [x.clone()]).gives([i32s.clone()]),
        Sample::new(Cast { dtype: DType::F64 }, [i32s]).gives([f64s(&[1.0, -2.0, 300.0], &[3])]),
    ]
});
