//! Decompositions of one dense matrix, by `faer`, and Fourier transforms, by `rustfft`.
//!
//! Matrices are slices of real or complex [`Number`]s in row-major order, of the sizes that are given with them;
//! results are written to slices of the caller. Nothing here is empty. This is a crate of its own because the code
//! that these generate takes long to compile and rarely changes.
//!
//! Factors that are unique only up to signs, or of complex numbers up to directions, get these: the diagonal of `R` is
//! real and not negative, and in each singular vector on the left and each eigenvector the first large component is
//! real and positive.

mod eig;
mod fourier;
mod number;

pub use eig::{Eigenvalues, eig};
pub use fourier::{Part, transform};
pub use number::Number;

use faer::linalg::cholesky::llt::factor::LltError;
use faer::linalg::solvers::{PartialPivLu, Solve};
use faer::linalg::triangular_solve as triangular;
use faer::{Mat, MatMut, MatRef, Par, Side};

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The pivot of this number is zero, or, in [`cholesky`], not positive.
    Pivot(usize),
    /// There is an element that is infinite or not a number.
    NotFinite,
    /// The iteration did not settle.
    NoConvergence,
}

/// Which part of a triangular matrix is read, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    /// The part above the diagonal instead of the one below.
    pub upper: bool,
    /// The matrix stands for its transpose.
    pub transposed: bool,
    /// The diagonal is taken as ones.
    pub unit: bool,
    /// Zeros on the diagonal are not a fault; they give infinities and NaN.
    pub singular: bool,
}

/// The lower triangular `L` with `L * L^H` equal to `(a + a^H) / 2`.
pub fn cholesky<T: Number>(n: usize, a: &[T], lower: &mut [T]) -> Result<(), Fault> {
    let a = symmetric(n, a);
    let factors = a.llt(Side::Lower).map_err(|fault| {
        let LltError::NonPositivePivot { index } = fault;
        Fault::Pivot(index)
    })?;
    let factor = factors.L();
    if let Some(pivot) = (0..n).find(|&i| factor[(i, i)].size().is_nan()) {
        return Err(Fault::Pivot(pivot));
    }
    write(n, lower, |i, j| if j <= i { factor[(i, j)] } else { T::of(0.0) });
    Ok(())
}

/// The solution of `a * x = b` for a triangular `a`; `x` holds `b`, of `k` columns, at first.
pub fn triangular_solve<T: Number>(
    n: usize,
    k: usize,
    a: &[T],
    x: &mut [T],
    kind: Triangle,
) -> Result<(), Fault> {
    let checks = !kind.unit && !kind.singular;
    if checks && let Some(pivot) = (0..n).find(|&i| a[i * n + i] == T::of(0.0)) {
        return Err(Fault::Pivot(pivot));
    }
    let a = matrix(n, n, a);
    let a = if kind.transposed { a.transpose() } else { a };
    let x = MatMut::from_row_major_slice_mut(x, n, k);
    match (kind.upper != kind.transposed, kind.unit) {
        (false, false) => triangular::solve_lower_triangular_in_place(a, x, Par::Seq),
        (false, true) => triangular::solve_unit_lower_triangular_in_place(a, x, Par::Seq),
        (true, false) => triangular::solve_upper_triangular_in_place(a, x, Par::Seq),
        (true, true) => triangular::solve_unit_upper_triangular_in_place(a, x, Par::Seq),
    }
    Ok(())
}

/// The solution of `a * x = b`, where `b` has `k` columns.
pub fn solve<T: Number>(n: usize, k: usize, a: &[T], b: &[T], x: &mut [T]) -> Result<(), Fault> {
    let factors = invertible(n, a)?;
    let solution = factors.solve(matrix(n, k, b));
    write(k, x, |i, j| solution[(i, j)]);
    Ok(())
}

/// The inverse.
pub fn inverse<T: Number>(n: usize, a: &[T], out: &mut [T]) -> Result<(), Fault> {
    let factors = invertible(n, a)?;
    let solution = factors.solve(Mat::<T>::identity(n, n));
    write(n, out, |i, j| solution[(i, j)]);
    Ok(())
}

/// The determinant as the factors whose product it is: a sign and the pivots. A singular matrix has
/// the sign zero.
pub fn determinant<T: Number>(n: usize, a: &[T]) -> (f64, Vec<T>) {
    let factors = matrix(n, n, a).partial_piv_lu();
    let u = factors.U();
    let pivots: Vec<T> = (0..n).map(|i| u[(i, i)]).collect();
    if pivots.contains(&T::of(0.0)) {
        return (0.0, vec![]);
    }
    (permutation_sign(factors.P().arrays().0), pivots)
}

/// `q`, whose `k = min(m, n)` columns are orthonormal, and the upper triangular `r` with `q * r = a`.
pub fn qr<T: Number>(m: usize, n: usize, a: &[T], q: &mut [T], r: &mut [T]) {
    let k = m.min(n);
    let factors = matrix(m, n, a).qr();
    let (basis, upper) = (factors.compute_thin_Q(), factors.thin_R());
    let sign = |i: usize| upper[(i, i)].direction();
    write(k, q, |i, j| basis[(i, j)] * sign(j));
    write(n, r, |i, j| match () {
        () if j == i => T::of(upper[(i, i)].size()),
        () if j > i => upper[(i, j)] * sign(i).conjugate(),
        () => T::of(0.0),
    });
}

/// `u`, `s` and `vh` with `u * diag(s) * vh = a`: `k = min(m, n)` singular values, from the greatest to
/// the least, and their vectors, as columns of `u` and rows of `vh`.
pub fn svd<T: Number>(
    m: usize,
    n: usize,
    a: &[T],
    u: &mut [T],
    s: &mut [T],
    vh: &mut [T],
) -> Result<(), Fault> {
    let k = m.min(n);
    let scale = scale(a)?;
    let scaled: Vec<T> = a.iter().map(|&x| x * T::of(1.0 / scale)).collect();
    let found = matrix(m, n, &scaled).thin_svd().map_err(|_| Fault::NoConvergence)?;
    let (left, right, values) = (found.U(), found.V(), found.S().column_vector());
    let leads: Vec<Lead<T>> = (0..k).map(|j| Lead::of((0..m).map(|i| left[(i, j)]))).collect();
    write(k, u, |i, j| leads[j].turned(i, left[(i, j)]));
    write(n, vh, |i, j| right[(j, i)].conjugate() * leads[i].direction.conjugate());
    s.iter_mut().enumerate().for_each(|(i, s)| *s = values[i] * T::of(scale));
    Ok(())
}

/// The eigenvalues of `(a + a^H) / 2`, from the least to the greatest, and their vectors, as columns of `v`.
pub fn eigh<T: Number>(n: usize, a: &[T], w: &mut [T], v: &mut [T]) -> Result<(), Fault> {
    let scale = scale(a)?;
    let scaled: Vec<T> = a.iter().map(|&x| x * T::of(1.0 / scale)).collect();
    let found =
        symmetric(n, &scaled).self_adjoint_eigen(Side::Lower).map_err(|_| Fault::NoConvergence)?;
    let (vectors, values) = (found.U(), found.S().column_vector());
    let leads: Vec<Lead<T>> = (0..n).map(|j| Lead::of((0..n).map(|i| vectors[(i, j)]))).collect();
    write(n, v, |i, j| leads[j].turned(i, vectors[(i, j)]));
    w.iter_mut().enumerate().for_each(|(i, w)| *w = values[i] * T::of(scale));
    Ok(())
}

fn matrix<T>(rows: usize, columns: usize, elements: &[T]) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(elements, rows, columns)
}

fn symmetric<T: Number>(n: usize, a: &[T]) -> Mat<T> {
    let half = T::of(0.5);
    Mat::from_fn(n, n, |i, j| half * a[i * n + j] + half * a[j * n + i].conjugate())
}

fn write<T>(columns: usize, out: &mut [T], element: impl Fn(usize, usize) -> T) {
    for (i, row) in out.chunks_exact_mut(columns).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, out)| *out = element(i, j));
    }
}

fn invertible<T: Number>(n: usize, a: &[T]) -> Result<PartialPivLu<T>, Fault> {
    let factors = matrix(n, n, a).partial_piv_lu();
    let u = factors.U();
    match (0..n).find(|&i| u[(i, i)] == T::of(0.0)) {
        Some(pivot) => Err(Fault::Pivot(pivot)),
        None => Ok(factors),
    }
}

/// A power of two of the size of the greatest element, so that squares neither overflow nor vanish.
fn scale<T: Number>(a: &[T]) -> Result<f64, Fault> {
    if a.iter().any(|x| !x.finite()) {
        return Err(Fault::NotFinite);
    }
    let greatest = a.iter().fold(0.0f64, |greatest, x| greatest.max(x.part()));
    let exponent =
        if greatest > 0.0 { greatest.log2().floor().clamp(-1000.0, 1000.0) } else { 0.0 };
    Ok(2f64.powi(exponent as i32))
}

/// The component of a vector that is made real and positive: the first one that is nearly the greatest. Components that
/// are equal but for rounding must not compete.
struct Lead<T> {
    /// Which one.
    at: usize,
    /// What the vector is multiplied by.
    direction: T,
}

impl<T: Number> Lead<T> {
    fn of(vector: impl Iterator<Item = T> + Clone) -> Self {
        let greatest = vector.clone().fold(0.0f64, |greatest, x| greatest.max(x.size()));
        let lead = vector.enumerate().find(|(_, x)| x.size() >= 0.9 * greatest);
        let (at, x) = lead.unwrap_or((0, T::of(1.0)));
        Lead { at, direction: x.direction().conjugate() }
    }

    /// Component `i` of the turned vector, if it is `x` before.
    fn turned(&self, i: usize, x: T) -> T {
        if i == self.at { T::of(x.size()) } else { x * self.direction }
    }
}

fn permutation_sign(order: &[usize]) -> f64 {
    let mut seen = vec![false; order.len()];
    let mut sign = 1.0;
    for start in 0..order.len() {
        let mut at = start;
        let mut length = 0;
        while !seen[at] {
            seen[at] = true;
            at = order[at];
            length += 1;
        }
        if length > 0 && length % 2 == 0 {
            sign = -sign;
        }
    }
    sign
}
