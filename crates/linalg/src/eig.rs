//! Eigenvalues of matrices that need not be symmetric.

use faer::linalg::evd::EvdError;
use faer::linalg::solvers::Eigen;
use num_complex::Complex;

use crate::{Fault, Lead, Number, matrix, scale, write};

/// A number whose matrices have eigenvalues.
pub trait Eigenvalues: Number {
    #[doc(hidden)]
    fn found(n: usize, a: &[Self]) -> Result<Eigen<f64>, EvdError>;
}

impl Eigenvalues for f64 {
    fn found(n: usize, a: &[f64]) -> Result<Eigen<f64>, EvdError> {
        Eigen::new_from_real(matrix(n, n, a))
    }
}

impl Eigenvalues for Complex<f64> {
    fn found(n: usize, a: &[Self]) -> Result<Eigen<f64>, EvdError> {
        Eigen::new(matrix(n, n, a))
    }
}

/// The eigenvalues, in no order, and their vectors of length one, as columns of `v`. Those of a real matrix are real or
/// come in pairs of conjugates.
pub fn eig<T: Eigenvalues>(
    n: usize,
    a: &[T],
    w: &mut [Complex<f64>],
    v: &mut [Complex<f64>],
) -> Result<(), Fault> {
    let scale = scale(a)?;
    let scaled: Vec<T> = a.iter().map(|&x| x * T::of(1.0 / scale)).collect();
    let found = T::found(n, &scaled).map_err(|_| Fault::NoConvergence)?;
    let (vectors, values) = (found.U(), found.S().column_vector());
    let column = |j: usize| (0..n).map(move |i| vectors[(i, j)]);
    let length = |j: usize| {
        let greatest = column(j).fold(0.0f64, |greatest, x| greatest.max(x.part()));
        greatest * column(j).map(|x| (x / greatest).norm_sqr()).sum::<f64>().sqrt()
    };
    let lengths: Vec<f64> = (0..n).map(length).collect();
    let leads: Vec<Lead<Complex<f64>>> = (0..n).map(|j| Lead::of(column(j))).collect();
    write(n, v, |i, j| leads[j].turned(i, vectors[(i, j)]) / lengths[j]);
    w.iter_mut().enumerate().for_each(|(i, w)| *w = values[i] * scale);
    match w.iter().chain(v.iter()).all(|z| z.finite()) {
        true => Ok(()),
        false => Err(Fault::NoConvergence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greatest element of `a v - v diag(w)`, and that lengths are one.
    fn off(n: usize, a: &[Complex<f64>], w: &[Complex<f64>], v: &[Complex<f64>]) -> f64 {
        let mut worst = 0.0f64;
        for j in 0..n {
            let length: f64 = (0..n).map(|i| v[i * n + j].norm_sqr()).sum();
            worst = worst.max((length - 1.0).abs());
            for i in 0..n {
                let product: Complex<f64> = (0..n).map(|k| a[i * n + k] * v[k * n + j]).sum();
                worst = worst.max((product - v[i * n + j] * w[j]).norm());
            }
        }
        worst
    }

    #[test]
    fn values_and_vectors_of_hard_matrices() {
        let turn = vec![0.0, -1.0, 1.0, 0.0];
        let defective = vec![1.0, 1.0, 0.0, 1.0];
        let nilpotent = vec![0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        let cycle: Vec<f64> = (0..25).map(|i| f64::from((i / 5 + 1) % 5 == i % 5)).collect();
        let odd: Vec<f64> = (0..144).map(|i| ((i * i * 7 + i) % 23) as f64 - 11.0).collect();
        for a in [vec![3.0], vec![0.0; 4], turn, defective, nilpotent, cycle, odd] {
            let n = a.len().isqrt();
            let complex: Vec<Complex<f64>> = a.iter().map(|&x| Complex::new(x, 0.0)).collect();
            let (mut w, mut v) = (complex[..n].to_vec(), complex.clone());
            eig(n, &a, &mut w, &mut v).unwrap();
            assert!(off(n, &complex, &w, &v) < 1e-9, "{a:?} {w:?} {v:?}");
            let turned: Vec<Complex<f64>> =
                complex.iter().enumerate().map(|(i, z)| z + Complex::new(0.0, i as f64)).collect();
            eig(n, &turned, &mut w, &mut v).unwrap();
            assert!(off(n, &turned, &w, &v) < 1e-9, "{a:?} {w:?} {v:?}");
        }
    }

    #[test]
    fn what_is_not_finite_is_a_fault() {
        let (mut w, mut v) = ([Complex::default()], [Complex::default()]);
        assert_eq!(eig(1, &[f64::NAN], &mut w, &mut v), Err(Fault::NotFinite));
    }
}
