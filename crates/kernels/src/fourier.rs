//! Fourier transforms along an axis.

use fluvial_tensor::{Error, Result, Tensor};

/// The Fourier transforms of `x`, of complex numbers, along `axis`, or the inverse ones, times `scale`.
///
/// ```
/// use fluvial_kernels::fourier;
/// use fluvial_tensor::{Complex, DType, Tensor};
///
/// let x = Tensor::from_slice(&[1.0f64, 2.0], &[2])?.cast(DType::C128)?;
/// let y = fourier(&x, 0, false, 1.0)?;
/// assert_eq!(y.to_vec::<Complex<f64>>()?, [Complex::new(3.0, 0.0), Complex::new(-1.0, 0.0)]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn fourier(x: &Tensor, axis: usize, inverse: bool, scale: f64) -> Result<Tensor> {
    crate::copy::check_axis(x, axis)?;
    if !x.dtype().is_complex() {
        return Err(Error::dtype(format!("complex numbers are transformed, not {}", x.dtype())));
    }
    rows::transformed(x, axis, inverse, scale)
}

#[cfg(not(feature = "linalg"))]
mod rows {
    use super::{Error, Result, Tensor};

    pub(super) fn transformed(_: &Tensor, _: usize, _: bool, _: f64) -> Result<Tensor> {
        Err(Error::state("this build has no Fourier transforms")
            .remedy("build with the cargo feature `linalg`"))
    }
}

#[cfg(feature = "linalg")]
mod rows {
    use fluvial_linalg::{Part, transform};
    use fluvial_tensor::{Complex, DType, Element, Result, Tensor};

    use crate::lanes::fill_chunks;

    /// About how many numbers one task transforms.
    const TASK: usize = 1 << 14;

    pub(super) fn transformed(
        x: &Tensor,
        axis: usize,
        inverse: bool,
        scale: f64,
    ) -> Result<Tensor> {
        let mut out = x.transpose(axis, x.rank() - 1)?.copy()?;
        let n = x.dims()[axis];
        if out.numel() > 0 {
            match x.dtype() {
                DType::C64 => run::<f32>(&mut out, n, inverse, scale as f32)?,
                _ => run::<f64>(&mut out, n, inverse, scale)?,
            }
        }
        out.transpose(axis, x.rank() - 1)?.contiguous()
    }

    fn run<T: Part>(out: &mut Tensor, n: usize, inverse: bool, scale: T) -> Result<()>
    where
        Complex<T>: Element,
    {
        let rows = (TASK / n).max(1) * n;
        fill_chunks(out.as_mut_slice::<Complex<T>>()?, rows, |_, rows| {
            transform(n, inverse, rows);
            if scale != T::one() {
                rows.iter_mut().for_each(|z| *z = *z * scale);
            }
            Ok(())
        })
    }
}
