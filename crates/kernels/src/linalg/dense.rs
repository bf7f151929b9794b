//! Decompositions, matrix by matrix.

use fluvial_linalg as one;
use fluvial_linalg::{Eigenvalues, Fault};
use fluvial_tensor::{Complex, Element, Error, Result, Tensor, memory};

use super::Triangle;

/// An element that decompositions are computed in.
trait Wide: Element + Eigenvalues {}

impl Wide for f64 {}
impl Wide for Complex<f64> {}

/// Calls a function of matrices of real or of complex elements, as those of the first tensor are.
macro_rules! by_element {
    ($function:ident($x:expr $(, $more:expr)*)) => {
        match $x.dtype().is_complex() {
            true => $function::<Complex<f64>>($x $(, $more)*),
            false => $function::<f64>($x $(, $more)*),
        }
    };
}

/// The lower triangular factors `L` with `L * L^H` equal to the symmetric part, or of complex numbers the Hermitian one, of the matrices.
///
/// ```
/// use fluvial_kernels::cholesky;
/// use fluvial_tensor::Tensor;
///
/// let x = Tensor::from_slice(&[4.0, 2.0, 2.0, 5.0], &[2, 2])?;
/// assert_eq!(cholesky(&x)?.to_vec::<f64>()?, [2.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn cholesky(x: &Tensor) -> Result<Tensor> {
    by_element!(cholesky_in(x))
}

fn cholesky_in<T: Wide>(x: &Tensor) -> Result<Tensor> {
    let (n, _) = sizes(x)?;
    let [lower] = each::<T, T, _, _>(&[x], [&[n, n]], |[a], [lower]| {
        one::cholesky(n, a, lower).map_err(|fault| match fault {
            Fault::Pivot(pivot) => {
                Text(format!("is not positive definite: pivot {pivot} is not positive"))
            }
            fault => text(fault),
        })
    })?;
    lower.cast(x.dtype())
}

/// The solutions of `a * x = b` for triangular matrices `a`; both have the same axes before the last two.
pub fn triangular_solve(a: &Tensor, b: &Tensor, kind: Triangle) -> Result<Tensor> {
    by_element!(triangular_solve_in(a, b, kind))
}

fn triangular_solve_in<T: Wide>(a: &Tensor, b: &Tensor, kind: Triangle) -> Result<Tensor> {
    let (n, k) = sizes(b)?;
    let Triangle { upper, transposed, unit, singular } = kind;
    let kind = one::Triangle { upper, transposed, unit, singular };
    let [x] = each::<T, T, _, _>(&[a, b], [&[n, k]], |[a, b], [x]| {
        x.copy_from_slice(b);
        one::triangular_solve(n, k, a, x, kind).map_err(text)
    })?;
    x.cast(b.dtype())
}

/// The solutions of `a * x = b`; both have the same axes before the last two.
pub fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    by_element!(solve_in(a, b))
}

fn solve_in<T: Wide>(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (n, k) = sizes(b)?;
    let [x] = each::<T, T, _, _>(&[a, b], [&[n, k]], |[a, b], [x]| {
        one::solve(n, k, a, b, x).map_err(text)
    })?;
    x.cast(b.dtype())
}

/// The inverses. Singular matrices are an error, or, if `singular`, have NaN everywhere.
pub fn inverse(x: &Tensor, singular: bool) -> Result<Tensor> {
    by_element!(inverse_in(x, singular))
}

fn inverse_in<T: Wide>(x: &Tensor, singular: bool) -> Result<Tensor> {
    let (n, _) = sizes(x)?;
    let [inverse] =
        each::<T, T, _, _>(&[x], [&[n, n]], |[a], [out]| match one::inverse(n, a, out) {
            Err(Fault::Pivot(_)) if singular => {
                out.fill(T::of(f64::NAN));
                Ok(())
            }
            outcome => outcome.map_err(text),
        })?;
    inverse.cast(x.dtype())
}

/// The determinants.
pub fn det(x: &Tensor) -> Result<Tensor> {
    by_element!(det_in(x))
}

fn det_in<T: Wide>(x: &Tensor) -> Result<Tensor> {
    let (n, _) = sizes(x)?;
    let [det] = each::<T, T, _, _>(&[x], [&[]], |[a], [out]| {
        let (sign, pivots) = if n == 0 { (1.0, vec![]) } else { one::determinant(n, a) };
        out[0] = pivots.iter().fold(T::of(sign), |product, &pivot| product * pivot);
        Ok(())
    })?;
    det.cast(x.dtype())
}

/// Signs and logarithms of the absolute values of the determinants; zero and minus infinity for a
/// singular matrix.
pub fn slogdet(x: &Tensor) -> Result<(Tensor, Tensor)> {
    by_element!(slogdet_in(x))
}

fn slogdet_in<T: Wide>(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let (n, _) = sizes(x)?;
    let [sign, log] = each::<T, T, _, _>(&[x], [&[], &[]], |[a], [out, log]| {
        let (sign, pivots) = if n == 0 { (1.0, vec![]) } else { one::determinant(n, a) };
        out[0] = pivots.iter().fold(T::of(sign), |sign, pivot| sign * pivot.direction());
        log[0] = T::of(match sign == 0.0 {
            true => f64::NEG_INFINITY,
            false => pivots.iter().map(|pivot| pivot.size().ln()).sum(),
        });
        Ok(())
    })?;
    Ok((sign.cast(x.dtype())?, log.cast(x.dtype().real())?))
}

/// Orthonormal columns `q` and upper triangles `r` with `q * r = x`, reduced: they meet in the lesser of
/// the two sizes. The diagonals of `r` are not negative.
pub fn qr(x: &Tensor) -> Result<(Tensor, Tensor)> {
    by_element!(qr_in(x))
}

fn qr_in<T: Wide>(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let (m, n) = sizes(x)?;
    let k = m.min(n);
    let [q, r] = each::<T, T, _, _>(&[x], [&[m, k], &[k, n]], |[a], [q, r]| {
        one::qr(m, n, a, q, r);
        Ok(())
    })?;
    Ok((q.cast(x.dtype())?, r.cast(x.dtype())?))
}

/// Singular vectors `u`, values `s` and vectors `vh` with `u * diag(s) * vh = x`, reduced. Values go from
/// the greatest to the least; the first large component of each column of `u` is positive.
pub fn svd(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    by_element!(svd_in(x))
}

fn svd_in<T: Wide>(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let (m, n) = sizes(x)?;
    let k = m.min(n);
    let [u, s, vh] = each::<T, T, _, _>(&[x], [&[m, k], &[k], &[k, n]], |[a], [u, s, vh]| {
        one::svd(m, n, a, u, s, vh).map_err(text)
    })?;
    Ok((u.cast(x.dtype())?, s.cast(x.dtype().real())?, vh.cast(x.dtype())?))
}

/// Eigenvalues of the symmetric part of the matrices, from the least to the greatest, and the vectors as
/// columns, of which the first large component is positive.
pub fn eigh(x: &Tensor) -> Result<(Tensor, Tensor)> {
    by_element!(eigh_in(x))
}

fn eigh_in<T: Wide>(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let (n, _) = sizes(x)?;
    let [w, v] = each::<T, T, _, _>(&[x], [&[n], &[n, n]], |[a], [w, v]| {
        one::eigh(n, a, w, v).map_err(text)
    })?;
    Ok((w.cast(x.dtype().real())?, v.cast(x.dtype())?))
}

/// Eigenvalues, in no order, and vectors of length one as columns, of which the first large component is real and
/// positive; both are complex.
pub fn eig(x: &Tensor) -> Result<(Tensor, Tensor)> {
    by_element!(eig_in(x))
}

fn eig_in<T: Wide>(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let (n, _) = sizes(x)?;
    let [w, v] = each::<T, Complex<f64>, _, _>(&[x], [&[n], &[n, n]], |[a], [w, v]| {
        one::eig(n, a, w, v).map_err(text)
    })?;
    let dtype = x.dtype().complex();
    Ok((w.cast(dtype)?, v.cast(dtype)?))
}

/// What is wrong with a matrix.
struct Text(String);

fn text(fault: Fault) -> Text {
    Text(match fault {
        Fault::Pivot(pivot) => format!("is singular: pivot {pivot} is zero"),
        Fault::NotFinite => "has an element that is infinite or not a number".to_string(),
        Fault::NoConvergence => "has no decomposition that the iteration could find".to_string(),
    })
}

fn sizes(x: &Tensor) -> Result<(usize, usize)> {
    match *x.dims() {
        [.., rows, columns] => Ok((rows, columns)),
        _ => Err(Error::shape(format!("shape {:?} is not that of matrices", x.dims()))),
    }
}

/// Calls `f` with each matrix of the inputs, which have the same number of them, and with the places for
/// its results, of these shapes.
fn each<T: Element, U: Element, const I: usize, const O: usize>(
    inputs: &[&Tensor; I],
    shapes: [&[usize]; O],
    f: impl Fn([&[T]; I], [&mut [U]; O]) -> std::result::Result<(), Text>,
) -> Result<[Tensor; O]> {
    let batch = &inputs[0].dims()[..inputs[0].rank() - 2];
    let count: usize = batch.iter().product();
    let wide = inputs.iter().map(|x| x.cast(T::DTYPE)?.contiguous()).collect::<Result<Vec<_>>>()?;
    let mut outs = Vec::new();
    for shape in shapes {
        outs.push(memory::filled(U::default(), count * shape.iter().product::<usize>())?);
    }
    for number in 0..count {
        let mut ins: [&[T]; I] = [&[]; I];
        for (slot, x) in ins.iter_mut().zip(&wide) {
            let size = x.numel() / count;
            *slot = x.as_slice::<T>().map_or(&[], |all| &all[number * size..][..size]);
        }
        let mut places = outs.iter_mut().map(|out| {
            let size = out.len() / count;
            &mut out[number * size..][..size]
        });
        let places: [&mut [U]; O] = std::array::from_fn(|_| places.next().unwrap_or_default());
        if places.iter().all(|place| place.is_empty()) {
            continue;
        }
        f(ins, places).map_err(|Text(fault)| {
            let which =
                if batch.is_empty() { "the matrix".to_string() } else { place(number, batch) };
            Error::argument(format!("{which} {fault}"))
        })?;
    }
    let mut tensors = Vec::new();
    for (out, shape) in outs.into_iter().zip(shapes) {
        tensors.push(Tensor::from_vec(out, &[batch, shape].concat())?);
    }
    tensors.try_into().map_err(|_| Error::internal("as many results as shapes"))
}

/// The position of a matrix in its batch, in words.
fn place(mut number: usize, batch: &[usize]) -> String {
    let mut position = vec![0; batch.len()];
    for (at, &size) in position.iter_mut().zip(batch).rev() {
        *at = number % size;
        number /= size;
    }
    format!("matrix {position:?} of the batch")
}

#[cfg(test)]
mod tests {
    use fluvial_tensor::DType;

    use super::*;
    use crate::matmul;
    use crate::testing::Rng;

    fn product(a: &Tensor, b: &Tensor) -> Tensor {
        matmul(a, b, DType::F64).unwrap()
    }

    fn worst(a: &Tensor, b: &Tensor) -> f64 {
        assert_eq!(a.dims(), b.dims());
        a.to_f64s().iter().zip(b.to_f64s()).fold(0.0, |worst, (a, b)| worst.max((a - b).abs()))
    }

    fn eye(n: usize) -> Tensor {
        let elements: Vec<f64> = (0..n * n).map(|i| f64::from(i / n == i % n)).collect();
        Tensor::from_vec(elements, &[n, n]).unwrap()
    }

    /// Matrices on which decompositions have failed before: deficient, graded, tiny, huge, zero.
    fn hard(m: usize, n: usize) -> Vec<Tensor> {
        let mut rng = Rng::new((m * 31 + n) as u64);
        let plain = rng.tensor(DType::F64, &[m, n]).to_f64s();
        let column = rng.tensor(DType::F64, &[m]).to_f64s();
        let of = |f: &dyn Fn(usize, usize) -> f64| {
            let elements = (0..m * n).map(|i| f(i / n, i % n)).collect();
            Tensor::from_vec(elements, &[m, n]).unwrap()
        };
        vec![
            of(&|i, j| plain[i * n + j]),
            of(&|i, j| column[i] * (j + 1) as f64),
            of(&|_, _| 1.0),
            of(&|_, _| 0.0),
            of(&|i, j| f64::from(i == j)),
            of(&|i, j| f64::from((i + 1) % m.max(n) == j)),
            of(&|i, j| plain[i * n + j] * 10f64.powi(-3 * j as i32)),
        ]
    }

    #[test]
    fn svd_of_hard_matrices() {
        for (m, n) in [(1, 1), (2, 2), (3, 3), (5, 3), (3, 5), (1, 4), (4, 1), (20, 12)] {
            for a in hard(m, n) {
                let (u, s, vh) = svd(&a).unwrap();
                let k = m.min(n);
                let scale = 1.0 + a.to_f64s().iter().fold(0.0f64, |all, x| all.max(x.abs()));
                let scaled: Vec<f64> =
                    u.to_f64s().iter().enumerate().map(|(i, u)| u * s.to_f64s()[i % k]).collect();
                let scaled = Tensor::from_vec(scaled, &[m, k]).unwrap();
                assert!(worst(&product(&scaled, &vh), &a) < 1e-12 * scale * 20.0, "{m}x{n} {a:?}");
                assert!(worst(&product(&u.transpose(0, 1).unwrap(), &u), &eye(k)) < 1e-12);
                assert!(worst(&product(&vh, &vh.transpose(0, 1).unwrap()), &eye(k)) < 1e-12);
                assert!(s.to_f64s().is_sorted_by(|a, b| a >= b));
            }
        }
    }

    #[test]
    fn eigh_of_hard_matrices() {
        for n in [1, 2, 3, 12] {
            for a in hard(n, n) {
                let at = a.transpose(0, 1).unwrap().to_f64s();
                let sym: Vec<f64> =
                    a.to_f64s().iter().zip(at).map(|(a, b)| 0.5 * a + 0.5 * b).collect();
                let sym = Tensor::from_vec(sym, &[n, n]).unwrap();
                let (w, v) = eigh(&a).unwrap();
                let scale = 1.0 + sym.to_f64s().iter().fold(0.0f64, |all, x| all.max(x.abs()));
                let scaled: Vec<f64> =
                    v.to_f64s().iter().enumerate().map(|(i, v)| v * w.to_f64s()[i % n]).collect();
                let scaled = Tensor::from_vec(scaled, &[n, n]).unwrap();
                let again = product(&scaled, &v.transpose(0, 1).unwrap());
                assert!(worst(&again, &sym) < 1e-11 * scale, "{n} {a:?}");
            }
        }
    }

    #[test]
    fn scales() {
        for scale in [1e-160, 1e150] {
            let a = [3.0, 1.0, -2.0, 4.0, 0.5, 2.0].map(|x| x * scale);
            let (_, s, _) = svd(&Tensor::from_slice(&a, &[3, 2]).unwrap()).unwrap();
            let (_, plain, _) =
                svd(&Tensor::from_slice(&a.map(|x| x / scale), &[3, 2]).unwrap()).unwrap();
            for (s, plain) in s.to_f64s().iter().zip(plain.to_f64s()) {
                assert!((s / scale - plain).abs() < 1e-12, "{s} {plain}");
            }
        }
    }

    #[test]
    fn faults_name_the_matrix_and_the_pivot() {
        let mut both = eye(2).to_f64s();
        both.extend([1.0, 2.0, 2.0, 4.0]);
        let both = Tensor::from_vec(both, &[2, 2, 2]).unwrap();
        let fault = |error: Error| error.message().to_string();
        let singular = "matrix [1] of the batch is singular: pivot 1 is zero";
        assert_eq!(fault(inverse(&both, false).unwrap_err()), singular);
        assert_eq!(
            fault(cholesky(&both).unwrap_err()),
            "matrix [1] of the batch is not positive definite: pivot 1 is not positive"
        );
        let bad = Tensor::from_slice(&[f64::NAN], &[1, 1]).unwrap();
        assert!(fault(svd(&bad).unwrap_err()).contains("not a number"));
        assert!(cholesky(&bad).is_err());
    }

    #[test]
    fn determinants_of_none() {
        let none = Tensor::zeros(DType::F64, &[3, 0, 0]).unwrap();
        assert_eq!(det(&none).unwrap().to_f64s(), [1.0; 3]);
        assert_eq!(slogdet(&none).unwrap().1.to_f64s(), [0.0; 3]);
        let odd = Tensor::from_slice(&[0.0, 1.0, 1.0, 0.0], &[2, 2]).unwrap();
        assert_eq!(det(&odd).unwrap().to_f64s(), [-1.0]);
    }
}
