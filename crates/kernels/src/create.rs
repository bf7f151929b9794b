//! Numbers at equal distances.

use fluvial_tensor::{DType, Element, Result, Tensor, dispatch};

/// `start`, `start + step`, … in the shape `dims`, row by row; each computed by itself and rounded once.
pub fn arange(start: f64, step: f64, dims: &[usize], dtype: DType) -> Result<Tensor> {
    numbers(dims, dtype, |i| start + i as f64 * step)
}

/// `size` numbers from `start` to `stop`, both included; `start` alone, if there is one.
pub fn linspace(start: f64, stop: f64, size: usize, dtype: DType) -> Result<Tensor> {
    let last = size.saturating_sub(1);
    let step = (stop - start) / last.max(1) as f64;
    // From the nearer end, so that both ends are exact.
    numbers(&[size], dtype, |i| match i <= last / 2 {
        true => start + i as f64 * step,
        false => stop - (last - i) as f64 * step,
    })
}

fn numbers(dims: &[usize], dtype: DType, f: impl Fn(usize) -> f64) -> Result<Tensor> {
    let mut out = Tensor::empty(dtype, dims)?;
    dispatch!(dtype, T => {
        let slice = out.as_mut_slice::<T>()?;
        slice.iter_mut().enumerate().for_each(|(i, out)| *out = <T as Element>::from_f64(f(i)));
    });
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_exact() {
        for size in [2, 3, 7, 10, 100] {
            let x = linspace(0.1, 0.7, size, DType::F64).unwrap().to_f64s();
            assert_eq!((x[0], x[size - 1]), (0.1, 0.7));
            assert!(x.windows(2).all(|pair| pair[0] < pair[1]));
        }
        assert_eq!(linspace(2.0, 3.0, 1, DType::F32).unwrap().to_f64s(), [2.0]);
        assert_eq!(linspace(2.0, 3.0, 0, DType::F32).unwrap().numel(), 0);
        assert_eq!(arange(1.0, -2.0, &[3], DType::I8).unwrap().to_f64s(), [1.0, -1.0, -3.0]);
    }
}
