//! What is done to a product while it is in the cache.

use std::ops::Range;

use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::lanes::Ahead;
use crate::scalar::compute::{Compute, VisitUnary};
use crate::scalar::inst::Unary;
use crate::simd::vectorized;

/// What follows a product: `activation(scale * a b + bias) + residual`, each part if it is there.
///
/// It is applied part by part, while the output is still in the cache, in the type of the product.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epilogue<'a> {
    /// A factor.
    pub scale: Option<f64>,
    /// One number for each column: a tensor of shape `[n]`.
    pub bias: Option<&'a Tensor>,
    /// A function of each element.
    pub activation: Option<Activation>,
    /// A tensor that broadcasts to the shape of the output.
    pub residual: Option<&'a Tensor>,
}

/// A function that may follow a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// The larger of `x` and 0.
    Relu,
    /// [`Unary::Gelu`].
    Gelu,
    /// [`Unary::GeluTanh`].
    GeluTanh,
    /// [`Unary::Tanh`].
    Tanh,
    /// [`Unary::Sigmoid`].
    Sigmoid,
    /// [`Unary::Silu`].
    Silu,
}

impl Activation {
    /// The function; `None` for [`Relu`](Activation::Relu).
    fn unary(self) -> Option<Unary> {
        Some(match self {
            Activation::Relu => return None,
            Activation::Gelu => Unary::Gelu,
            Activation::GeluTanh => Unary::GeluTanh,
            Activation::Tanh => Unary::Tanh,
            Activation::Sigmoid => Unary::Sigmoid,
            Activation::Silu => Unary::Silu,
        })
    }
}

impl Epilogue<'_> {
    /// The tensors in the dtype and the shape that [`Ready`] needs.
    pub(super) fn prepare(&self, compute: DType, out_dims: &[usize]) -> Result<Prepared> {
        let n = out_dims.last().copied().unwrap_or(1);
        if let Some(bias) = self.bias
            && bias.dims() != [n]
        {
            let dims = bias.dims();
            return Err(Error::shape(format!("a bias of shape {dims:?} does not fit {n} columns")));
        }
        if self.activation.is_some_and(|activation| activation != Activation::Relu)
            && !compute.is_float()
        {
            return Err(Error::dtype(format!("{compute} does not have this activation")));
        }
        let bias = self.bias.map(|bias| bias.cast(compute)?.contiguous()).transpose()?;
        let spread = |x: &Tensor| x.cast(compute)?.expand(out_dims)?.contiguous();
        let residual = self.residual.map(spread).transpose()?;
        Ok(Prepared { scale: self.scale, bias, activation: self.activation, residual })
    }
}

/// An epilogue whose tensors are contiguous and of the dtype of the product.
pub(super) struct Prepared {
    scale: Option<f64>,
    bias: Option<Tensor>,
    activation: Option<Activation>,
    residual: Option<Tensor>,
}

impl Prepared {
    /// Whether there is something to do.
    pub(super) fn is_some(&self) -> bool {
        self.scale.is_some()
            || self.bias.is_some()
            || self.activation.is_some()
            || self.residual.is_some()
    }

    /// The epilogue for elements of type `T`, that of the tensors, and an output of `n` columns.
    pub(super) fn ready<T: Compute>(&self, n: usize) -> Ready<'_, T> {
        Ready {
            n,
            scale: self.scale.map(T::from_f64),
            bias: self.bias.as_ref().and_then(Tensor::as_slice),
            activation: self.activation,
            residual: self.residual.as_ref().and_then(Tensor::as_slice),
        }
    }
}

/// An epilogue that can be applied to parts of the output.
pub(super) struct Ready<'a, T> {
    n: usize,
    scale: Option<T>,
    bias: Option<&'a [T]>,
    activation: Option<Activation>,
    residual: Option<&'a [T]>,
}

impl<T: Compute> Ready<'_, T> {
    /// Whether there is something to do.
    pub(super) fn is_some(&self) -> bool {
        self.scale.is_some()
            || self.bias.is_some()
            || self.activation.is_some()
            || self.residual.is_some()
    }

    /// Applies the epilogue to some rows and columns; rows are counted over the whole batch.
    ///
    /// # Safety
    ///
    /// `out` is the whole output, to whose part nothing else refers meanwhile.
    pub(super) unsafe fn apply(&self, rows: Range<usize>, columns: Range<usize>, out: *mut T) {
        if !self.is_some() {
            return;
        }
        vectorized(
            #[inline(always)]
            || {
                for row in rows.clone() {
                    let start = row * self.n + columns.start;
                    // SAFETY: the row is within the output and ours by the caller's promise.
                    let out = unsafe {
                        std::slice::from_raw_parts_mut(out.wrapping_add(start), columns.len())
                    };
                    self.apply_row(start, columns.clone(), out);
                }
            },
        );
    }

    #[inline(always)]
    fn apply_row(&self, start: usize, columns: Range<usize>, out: &mut [T]) {
        if let Some(scale) = self.scale {
            out.iter_mut().for_each(|x| *x = x.times(scale));
        }
        if let Some(bias) = self.bias {
            out.iter_mut().zip(&bias[columns]).for_each(|(x, &bias)| *x = x.plus(bias));
        }
        match self.activation.map(Activation::unary) {
            Some(Some(op)) => drop(T::unary(op, InPlace(out))),
            Some(None) => out.iter_mut().for_each(|x| *x = x.larger(T::default())),
            None => {}
        }
        if let Some(residual) = self.residual {
            let residual = &residual[start..start + out.len()];
            out.iter_mut().zip(residual).for_each(|(x, &residual)| *x = x.plus(residual));
        }
    }
}

/// Applies a function to each element.
struct InPlace<'a, T>(&'a mut [T]);

impl<T: Compute> VisitUnary<T> for InPlace<'_, T> {
    type Output = ();

    #[inline(always)]
    fn visit(self, f: impl Fn(T) -> T) {
        self.0.iter_mut().for_each(|x| *x = f(*x));
    }

    #[inline(always)]
    fn visit_many(self, _: impl Fn(T) -> T, many: impl Fn(&[T], &mut [T], Ahead<T>)) {
        let mut copy = [T::default(); 256];
        for values in self.0.chunks_mut(copy.len()) {
            let copy = &mut copy[..values.len()];
            copy.copy_from_slice(values);
            many(copy, values, Ahead::default());
        }
    }
}
