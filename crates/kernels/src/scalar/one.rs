//! Running a body on single values.

use fluvial_tensor::{DType, Element, Error, MAX_RANK, Result, Tensor, dispatch, dispatch_compute};

use super::body::Body;
use super::compute::{Compute, ToOne, ToPair};
use super::inst::Inst;
use crate::simd::with_mul_add;
use crate::strided::convert;

impl Body {
    /// Runs the body once, on inputs of one element each: they are converted to `compute`, and the
    /// result to `out_dtype`. The result has as many axes, all of size 1, as the input that has most.
    ///
    /// The bits are those of [`Body::run`], but there are no tiles and, up to 32 instructions, no
    /// allocation.
    pub fn run_one(
        &self,
        inputs: &[&Tensor],
        params: &[f64],
        compute: DType,
        out_dtype: DType,
    ) -> Result<Tensor> {
        self.check(inputs.len(), params.len(), compute)?;
        let mut rank = 0;
        for input in inputs {
            if input.numel() != 1 {
                return Err(not_one_error(input));
            }
            rank = rank.max(input.rank());
        }
        dispatch_compute!(compute, C => run_one_in::<C>(self, inputs, params, rank, out_dtype))
    }

    /// The result for plain numbers, computed in `f64`. NaN if there are fewer numbers than the body
    /// takes, or if it has an operation that floats do not have.
    pub fn eval_f64(&self, inputs: &[f64], params: &[f64]) -> f64 {
        if inputs.len() < self.n_inputs()
            || params.len() < self.n_params()
            || self.check(self.n_inputs(), self.n_params(), DType::F64).is_err()
        {
            return f64::NAN;
        }
        evaluate(self.insts(), |k| inputs[k], params)
    }
}

/// [`Body::run_one`] after its checks. One function for each type, never inlined: so each writes its
/// tensor right where the caller wants it, instead of moving it there.
#[inline(never)]
fn run_one_in<C: Compute>(
    body: &Body,
    inputs: &[&Tensor],
    params: &[f64],
    rank: usize,
    out_dtype: DType,
) -> Result<Tensor> {
    let value: C = with_mul_add(
        #[inline(always)]
        || evaluate(body.insts(), |k| value_of(inputs[k]), params),
    );
    if rank == 0 && out_dtype == C::DTYPE {
        Ok(Tensor::scalar(value))
    } else {
        one_element(value, rank, out_dtype)
    }
}

/// A tensor of one element with `rank` axes.
#[inline(never)]
fn one_element<C: Element>(value: C, rank: usize, dtype: DType) -> Result<Tensor> {
    dispatch!(dtype, T => Tensor::full::<T>(&[1; MAX_RANK][..rank], convert(value)))
}

/// Bodies up to this length keep their values on the stack.
const SMALL: usize = 32;

/// The value of the last instruction. The list is one that [`Body::check`] has accepted.
#[inline(always)]
fn evaluate<C: Compute>(insts: &[Inst], input: impl Fn(usize) -> C, params: &[f64]) -> C {
    let mut small = [C::default(); SMALL];
    let mut large;
    let values = if insts.len() <= SMALL {
        small.as_mut_slice()
    } else {
        large = vec![C::default(); insts.len()];
        large.as_mut_slice()
    };
    let mut value = C::default();
    for (index, &inst) in insts.iter().enumerate() {
        value = match inst {
            Inst::Input(k) => input(k as usize),
            Inst::Param(k) => C::from_f64(params[k as usize]),
            Inst::Const(value) => C::from_f64(value),
            Inst::Unary(op, a) => C::unary(op, ToOne(values[a as usize])).unwrap_or_default(),
            Inst::Binary(op, a, b) => {
                C::binary(op, ToPair(values[a as usize], values[b as usize])).unwrap_or_default()
            }
            Inst::Select(c, a, b) => {
                let condition = values[c as usize] != C::default();
                values[if condition { a } else { b } as usize]
            }
        };
        values[index] = value;
    }
    value
}

/// The element of a one-element tensor.
#[inline(always)]
fn value_of<C: Element>(tensor: &Tensor) -> C {
    let data = tensor.data_ptr();
    if tensor.dtype() == C::DTYPE {
        // SAFETY: the tensor has one element, of this type.
        return unsafe { *data.cast::<C>() };
    }
    // SAFETY: the tensor has one element, of this type.
    dispatch!(tensor.dtype(), T => convert(unsafe { *data.cast::<T>() }))
}

#[cold]
fn not_one_error(input: &Tensor) -> Error {
    Error::shape(format!("an input of one element was expected, not shape {:?}", input.dims()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_has_the_most_axes() {
        let a = Tensor::full(&[1, 1], 2.0f32).unwrap();
        let b = Tensor::scalar(3i32);
        let add = Body::binary(|a, b| a + b);
        let sum = add.run_one(&[&a, &b], &[], DType::F32, DType::F64).unwrap();
        assert_eq!((sum.dims(), sum.item::<f64>().unwrap()), (&[1, 1][..], 5.0));
        let sum = add.run_one(&[&b, &b], &[], DType::I32, DType::Bool).unwrap();
        assert_eq!((sum.rank(), sum.item::<bool>().unwrap()), (0, true));
    }

    #[test]
    fn inputs_of_other_sizes_are_errors() {
        let negate = Body::unary(|x| -x);
        for dims in [&[2][..], &[0]] {
            let x = Tensor::zeros(DType::I32, dims).unwrap();
            let error = negate.run_one(&[&x], &[], DType::I32, DType::I32).unwrap_err();
            let want = format!("an input of one element was expected, not shape {dims:?}");
            assert_eq!(error.message(), want);
        }
        assert!(negate.run_one(&[], &[], DType::I32, DType::I32).is_err());
    }

    #[test]
    fn plain_numbers() {
        let long = Body::unary(|x| (0..100).fold(x, |sum, k| sum + k as f64));
        assert_eq!(long.eval_f64(&[0.5], &[]), 4950.5);
        assert!(long.eval_f64(&[], &[]).is_nan());
        assert!(Body::unary(|x| x.bit_not()).eval_f64(&[1.0], &[]).is_nan());
        assert!(Body::build(0, 1, |_, p| p[0]).eval_f64(&[], &[]).is_nan());
    }
}
