//! `matmul_integer`: exact products of matrices of bytes.

use super::quantize_linear::{NO_GRADIENT, i8s, integers, is_eight_bits, u8s};
use crate::prelude::*;

attributes! {
    /// The products of rows `a` of integers of 8 bits, `[.., k]`, and a matrix `b` of such, `[k, n]`, each less its zero points.
    /// They are `i32`, and wrap.
    ///
    /// Inputs: `a`, `b`; the zero point of `a`, or one for each of the rows of a matrix; that of `b`, or one for each column.
    pub struct MatmulInteger = "matmul_integer" {}
}

impl Op for MatmulInteger {
    fn arity(&self) -> Arity {
        Arity::Exactly(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (a, b) = (inputs[0], inputs[1]);
        if let Some(other) = inputs.iter().find(|ty| ty.is_list() || !is_eight_bits(ty.dtype())) {
            return Err(Error::dtype(format!("expected integers of 8 bits, found {other}")));
        }
        if a.rank() == 0 || b.rank() != 2 || a.dim(a.rank() - 1) != b.dim(0) {
            return Err(Error::shape(format!(
                "expected rows [.., k] and a matrix [k, n]; found {a} and {b}"
            )));
        }
        let rows = if a.rank() == 2 { Some(a.dim(0)) } else { None };
        for (zero, name, wanted) in
            [(inputs[2], "rows", rows), (inputs[3], "columns", Some(b.dim(1)))]
        {
            let fits = zero.rank() == 0 || wanted.is_some_and(|dim| zero.dims() == [dim]);
            if !fits {
                return Err(Error::shape(format!("zero points {zero} do not fit the {name}")));
            }
        }
        let mut dims: SmallVec<[Dim; 8]> = a.dims().into();
        dims[a.rank() - 1] = b.dim(1);
        Ok(smallvec![Type::new(DType::I32, &dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (a_zero, b_zero) = (integers(inputs[2].tensor()?), integers(inputs[3].tensor()?));
        let (a, b) = (inputs[0].tensor()?, inputs[1].tensor()?);
        Ok(smallvec![kernels::matmul_integer(a, b, &a_zero, &b_zero)?.into()])
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(MatmulInteger::NAME, MatmulInteger::build, || {
    let a = || u8s(&[1, 2, 3, 4, 5, 6], &[2, 3]);
    let b = || i8s(&[1, -1, 2, -2, 3, -3], &[3, 2]);
    let one = || u8s(&[1], &[]);
    let i32s = |x: &[i32], dims: &[usize]| Tensor::from_slice(x, dims).expect("sizes that fit");
    vec![
        Sample::new(MatmulInteger {}, [a(), b(), one(), i8s(&[0], &[])])
            .gives([i32s(&[8, -8, 26, -26], &[2, 2])]),
        Sample::new(MatmulInteger {}, [a(), b(), u8s(&[1, 4], &[2]), i8s(&[1, 0], &[2])])
            .gives([i32s(&[5, -8, 5, -8], &[2, 2])]),
        Sample::new(MatmulInteger {}, [a(), a(), one(), one()]).refused("expected rows"),
        Sample::new(MatmulInteger {}, [a(), b(), u8s(&[1, 2, 3], &[3]), one()])
            .refused("do not fit the rows"),
        Sample::new(MatmulInteger {}, [ramp(&[2, 3]), b(), one(), one()])
            .refused("expected integers of 8 bits"),
    ]
});
