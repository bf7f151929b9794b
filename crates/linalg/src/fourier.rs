//! Discrete Fourier transforms of rows.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

/// Plans that are kept. Each holds about as much memory as a row.
const KEPT: usize = 32;

/// The plans that were used last, the latest one at the end.
type Plans<T> = Mutex<Vec<Arc<dyn Fft<T>>>>;

/// The type of a part of a complex number.
pub trait Part: FftNum {
    #[doc(hidden)]
    fn plans() -> &'static Plans<Self>;
}

impl Part for f32 {
    fn plans() -> &'static Plans<f32> {
        static PLANS: LazyLock<Plans<f32>> = LazyLock::new(Plans::default);
        &PLANS
    }
}

impl Part for f64 {
    fn plans() -> &'static Plans<f64> {
        static PLANS: LazyLock<Plans<f64>> = LazyLock::new(Plans::default);
        &PLANS
    }
}

/// Replaces each row of `n` numbers by its Fourier transform, or by the inverse one, without a factor.
pub fn transform<T: Part>(n: usize, inverse: bool, rows: &mut [Complex<T>]) {
    let plan = plan::<T>(n, if inverse { FftDirection::Inverse } else { FftDirection::Forward });
    let nothing = Complex::new(T::zero(), T::zero());
    let mut scratch = vec![nothing; plan.get_inplace_scratch_len()];
    plan.process_with_scratch(rows, &mut scratch);
}

fn plan<T: Part>(n: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    let mut plans = T::plans().lock().unwrap_or_else(PoisonError::into_inner);
    let found = plans.iter().position(|plan| plan.len() == n && plan.fft_direction() == direction);
    let plan = match found {
        Some(at) => plans.remove(at),
        None => FftPlanner::new().plan_fft(n, direction),
    };
    if plans.len() == KEPT {
        plans.remove(0);
    }
    plans.push(plan.clone());
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_are_sums_of_waves() {
        for n in [1, 2, 3, 5, 8, 12, 31, 97] {
            let x: Vec<Complex<f64>> = (0..2 * n)
                .map(|i| Complex::new((i * i % 7) as f64, (i % 5) as f64 - 2.0))
                .collect();
            for inverse in [false, true] {
                let mut y = x.clone();
                transform(n, inverse, &mut y);
                let sign = if inverse { 1.0 } else { -1.0 };
                for (row, k) in (0..2).flat_map(|row| (0..n).map(move |k| (row, k))) {
                    let wave =
                        |j: usize| sign * std::f64::consts::TAU * (j * k % n) as f64 / n as f64;
                    let want: Complex<f64> =
                        (0..n).map(|j| x[row * n + j] * Complex::cis(wave(j))).sum();
                    assert!((y[row * n + k] - want).norm() < 1e-10 * n as f64);
                }
            }
        }
    }
}
