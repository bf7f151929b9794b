//! Products of complex matrices, by those of their parts.

use std::sync::LazyLock;

use fluvial_tensor::{DType, Result, Tensor};

use super::matmul;
use crate::scalar::Body;

static REAL: LazyLock<Body> = LazyLock::new(|| Body::unary(|x| x.real_part()));
static IMAGINARY: LazyLock<Body> = LazyLock::new(|| Body::unary(|x| x.imag_part()));
static MINUS: LazyLock<Body> = LazyLock::new(|| Body::binary(|a, b| a - b));
static PLUS: LazyLock<Body> = LazyLock::new(|| Body::binary(|a, b| a + b));
static JOINED: LazyLock<Body> = LazyLock::new(|| Body::binary(|a, b| a.complex(b)));

/// Whether the real kernels are so much faster that taking the numbers apart pays.
pub(super) fn is_worth_it(m: usize, k: usize, n: usize) -> bool {
    m.saturating_mul(k).saturating_mul(n) >= 16 * 16 * 16
}

/// Writes the products to `out`: four real ones each, so that infinities come out as in single products.
pub(super) fn by_parts(a: &Tensor, b: &Tensor, out: &mut Tensor) -> Result<()> {
    let (complex, real) = (out.dtype(), out.dtype().real());
    let run = |body: &Body, inputs: &[&Tensor], compute: DType, dims: &[usize]| {
        let mut result = Tensor::empty(real, dims)?;
        body.run(inputs, &[], compute, &mut result)?;
        Ok(result)
    };
    let parts = |x: &Tensor| -> Result<(Tensor, Tensor)> {
        Ok((run(&REAL, &[x], complex, x.dims())?, run(&IMAGINARY, &[x], complex, x.dims())?))
    };
    let ((a_re, a_im), (b_re, b_im)) = (parts(a)?, parts(b)?);
    let product = |a: &Tensor, b: &Tensor| matmul(a, b, real);
    let dims = out.dims().to_vec();
    let re = run(&MINUS, &[&product(&a_re, &b_re)?, &product(&a_im, &b_im)?], real, &dims)?;
    let im = run(&PLUS, &[&product(&a_re, &b_im)?, &product(&a_im, &b_re)?], real, &dims)?;
    JOINED.run(&[&re, &im], &[], complex, out)
}
