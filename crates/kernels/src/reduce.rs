//! Reductions over axes.
//!
//! The order in which elements are combined depends on the shape and the axes only, never on the layout
//! or the machine: blocks are folded in a fixed way, and their results meet pairwise, as in a tournament.
//! So float sums are reproducible, and their error grows with the logarithm of the number of elements, or,
//! along rows, not at all.

mod arg;
mod fold;
mod logsumexp;

pub use arg::arg_reduce;
pub use logsumexp::logsumexp;

use fluvial_tensor::{DType, Error, MAX_RANK, Result, Tensor, dispatch_compute};
use smallvec::SmallVec;

use crate::scalar::compute::Compute;
use fold::{WideSum, fold_columns, fold_rows};

/// How the elements along the reduced axes become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduce {
    /// The sum; 0 for no elements.
    Sum,
    /// The product; 1 for no elements.
    Prod,
    /// The largest element; NaN if there is one.
    Max,
    /// The smallest element; NaN if there is one.
    Min,
    /// Whether any element is not 0.
    Any,
    /// Whether all elements are not 0.
    All,
}

impl Reduce {
    const NAMES: [(&'static str, Reduce); 6] = [
        ("sum", Reduce::Sum),
        ("prod", Reduce::Prod),
        ("max", Reduce::Max),
        ("min", Reduce::Min),
        ("any", Reduce::Any),
        ("all", Reduce::All),
    ];

    /// The name in programs.
    pub fn name(self) -> &'static str {
        Reduce::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Reduce> {
        Reduce::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
    }
}

/// Reduces `x` over `axes`, which are dropped from the shape.
///
/// `Sum` and `Prod` are computed in the type where the dtype of `x` and `out_dtype` meet, half floats in
/// `f32`, integers wrapping; the others in the dtype of `x`. The result is converted to `out_dtype` at
/// the end. `Max` and `Min` of no elements are an error.
///
/// ```
/// use fluvial_kernels::{Reduce, reduce};
/// use fluvial_tensor::Tensor;
///
/// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// let sums = reduce(Reduce::Sum, &x, &[1], x.dtype())?;
/// assert_eq!(sums.to_vec::<f32>()?, [6.0, 15.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn reduce(kind: Reduce, x: &Tensor, axes: &[usize], out_dtype: DType) -> Result<Tensor> {
    let split = Split::new(x, axes)?;
    let compute = match kind {
        Reduce::Sum | Reduce::Prod => accumulator(x.dtype(), out_dtype),
        Reduce::Max | Reduce::Min => x.dtype().compute(),
        Reduce::Any | Reduce::All => DType::U8,
    };
    if split.n_reduced == 0 {
        return fill_empty(kind, &split.kept_dims, compute)?.cast(out_dtype);
    }
    let x = match kind {
        Reduce::Any | Reduce::All => x.cast(DType::Bool)?,
        _ => x.clone(),
    };
    let x = x.permute(&split.order)?;
    let mut out = Tensor::empty(compute, &split.kept_dims)?;
    if compute == DType::F32 && kind == Reduce::Sum && split.reduced_inner {
        fold_rows(&x, split.n_reduced, out.as_mut_slice::<f32>()?, WideSum)?;
        return out.cast(out_dtype);
    }
    dispatch_compute!(compute, C => {
        fold_all::<C>(kind, &x, &split, out.as_mut_slice::<C>()?)?;
    });
    out.cast(out_dtype)
}

/// Sums `x` over the axes along which `dims` was broadcast to the shape of `x`: the inverse of
/// broadcasting, and its adjoint.
pub fn sum_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let mismatch = || Error::shape(format!("shape {dims:?} does not broadcast to {:?}", x.dims()));
    let extra = x.rank().checked_sub(dims.len()).ok_or_else(mismatch)?;
    let mut axes: SmallVec<[usize; MAX_RANK]> = (0..extra).collect();
    for (axis, (&from, &to)) in x.dims()[extra..].iter().zip(dims).enumerate() {
        if from == to {
            continue;
        }
        if to != 1 {
            return Err(mismatch());
        }
        axes.push(extra + axis);
    }
    if axes.is_empty() {
        return Ok(x.clone());
    }
    reduce(Reduce::Sum, x, &axes, x.dtype())?.reshape(dims)
}

/// The type in which sums and products of `x` are computed on their way to `out`.
pub(crate) fn accumulator(x: DType, out: DType) -> DType {
    match x.promote(out) {
        // As u8, a sum of 256 times true would be 0, hence false.
        DType::Bool => DType::I64,
        // `u64` and a signed one: both wrap alike.
        DType::F64 if x.is_int() && out.is_int() => DType::I64,
        meeting => meeting.compute(),
    }
}

/// Which axes go and which stay.
struct Split {
    /// Axes in the order in which they are read: those of the inner loop last.
    order: SmallVec<[usize; MAX_RANK]>,
    kept_dims: SmallVec<[usize; MAX_RANK]>,
    /// The number of elements that become one.
    n_reduced: usize,
    /// Whether the reduced axes are the inner ones.
    reduced_inner: bool,
}

impl Split {
    fn new(x: &Tensor, axes: &[usize]) -> Result<Split> {
        let mut is_reduced = [false; MAX_RANK];
        for &axis in axes {
            if axis >= x.rank() {
                let rank = x.rank();
                return Err(Error::index(format!("axis {axis} is out of range for {rank} axes")));
            }
            if std::mem::replace(&mut is_reduced[axis], true) {
                return Err(Error::argument(format!("axis {axis} is reduced twice")));
            }
        }
        let kept = (0..x.rank()).filter(|&axis| !is_reduced[axis]);
        let reduced = (0..x.rank()).filter(|&axis| is_reduced[axis]);
        let innermost = (0..x.rank()).rev().find(|&axis| x.dims()[axis] != 1);
        let reduced_inner = innermost.is_some_and(|axis| is_reduced[axis]);
        let order = if reduced_inner {
            kept.clone().chain(reduced.clone()).collect()
        } else {
            reduced.clone().chain(kept.clone()).collect()
        };
        Ok(Split {
            order,
            kept_dims: kept.map(|axis| x.dims()[axis]).collect(),
            n_reduced: reduced.map(|axis| x.dims()[axis]).product(),
            reduced_inner,
        })
    }
}

fn fill_empty(kind: Reduce, dims: &[usize], compute: DType) -> Result<Tensor> {
    let value = match kind {
        Reduce::Sum | Reduce::Any => 0u8,
        Reduce::Prod | Reduce::All => 1,
        Reduce::Max => return Err(Error::argument("the maximum of no elements")),
        Reduce::Min => return Err(Error::argument("the minimum of no elements")),
    };
    Tensor::full(dims, value)?.cast(compute)
}

fn fold_all<C: Compute>(kind: Reduce, x: &Tensor, split: &Split, out: &mut [C]) -> Result<()> {
    match kind {
        Reduce::Sum => fold(x, split, out, C::plus),
        Reduce::Prod => fold(x, split, out, C::times),
        Reduce::Max | Reduce::Any => fold(x, split, out, C::larger),
        Reduce::Min | Reduce::All => fold(x, split, out, C::smaller),
    }
}

fn fold<C: Compute>(
    x: &Tensor,
    split: &Split,
    out: &mut [C],
    f: impl Fn(C, C) -> C + Copy + Sync,
) -> Result<()> {
    match split.reduced_inner {
        true => fold_rows(x, split.n_reduced, out, f),
        false => fold_columns(x, split.n_reduced, out, f),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    const KINDS: [Reduce; 6] =
        [Reduce::Sum, Reduce::Prod, Reduce::Max, Reduce::Min, Reduce::Any, Reduce::All];

    /// A plain reduction in f64.
    fn naive(kind: Reduce, x: &Tensor, axes: &[usize]) -> Vec<f64> {
        let kept: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
        let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
        let values = x.permute(&order).unwrap().to_f64s();
        let n: usize = axes.iter().map(|&axis| x.dims()[axis]).product();
        let rows = kept.iter().map(|&axis| x.dims()[axis]).product::<usize>();
        let fold = |row: &[f64]| match kind {
            Reduce::Sum => row.iter().sum(),
            Reduce::Prod => row.iter().product(),
            Reduce::Max => {
                row.iter().copied().reduce(|a, b| if a > b || a.is_nan() { a } else { b }).unwrap()
            }
            Reduce::Min => {
                row.iter().copied().reduce(|a, b| if a < b || a.is_nan() { a } else { b }).unwrap()
            }
            Reduce::Any => f64::from(row.iter().any(|&value| value != 0.0)),
            Reduce::All => f64::from(row.iter().all(|&value| value != 0.0)),
        };
        (0..rows).map(|row| fold(&values[row * n..(row + 1) * n])).collect()
    }

    #[test]
    fn every_kind_dtype_and_layout() {
        let mut rng = Rng::new(8);
        for kind in KINDS {
            for dtype in DType::ALL {
                // The order of complex numbers is nobody's.
                if dtype.is_complex() && matches!(kind, Reduce::Max | Reduce::Min) {
                    continue;
                }
                for (dims, axes) in [
                    (&[][..], &[][..]),
                    (&[5], &[0]),
                    (&[2, 3, 4], &[1]),
                    (&[2, 3, 4], &[2, 0]),
                    (&[2, 3, 4], &[]),
                    (&[3, 1, 5, 1], &[1, 3]),
                    (&[2, 70, 3], &[1, 2]),
                    (&[0, 3], &[1]),
                ] {
                    let x = rng.tensor(dtype, dims);
                    let x = rng.scramble(&x);
                    let got = reduce(kind, &x, axes, DType::F64).unwrap();
                    let want = naive(kind, &x, axes);
                    assert_eq!(got.numel(), want.len());
                    for (got, want) in got.to_f64s().into_iter().zip(want) {
                        let tolerance = 1e-12 * want.abs();
                        assert!(
                            (got - want).abs() <= tolerance,
                            "{kind:?} {dtype} {dims:?} {axes:?}: {got} for {want}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_layout() {
        let mut rng = Rng::new(9);
        for (dims, axes) in [
            (&[3000][..], &[0][..]),
            (&[7, 1300], &[1]),
            (&[1300, 7], &[0]),
            (&[40, 3, 50], &[0, 2]),
            (&[3, 40, 50], &[0, 1]),
        ] {
            let values: Vec<f32> =
                (0..dims.iter().product()).map(|_| rng.uniform(-1.0, 1.0) as f32).collect();
            let x = Tensor::from_vec(values, dims).unwrap();
            let want = reduce(Reduce::Sum, &x, axes, DType::F32).unwrap();
            for _ in 0..6 {
                let got = reduce(Reduce::Sum, &rng.scramble(&x), axes, DType::F32).unwrap();
                assert!(got.bitwise_eq(&want), "{dims:?} {axes:?}");
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads_or_instructions() {
        let mut rng = Rng::new(10);
        let values: Vec<f32> = (0..300_007).map(|_| rng.uniform(-1.0, 1.0) as f32).collect();
        let x = Tensor::from_vec(values, &[300_007]).unwrap();
        let matrix = x.slice(0, 7, 300_000, 1).unwrap();
        let (wide, tall) =
            (matrix.reshape(&[100, 3000]).unwrap(), matrix.reshape(&[60_000, 5]).unwrap());
        let all = || {
            [&x, &wide, &tall].map(|x| {
                let axes: Vec<usize> = (0..x.rank()).collect();
                [&axes[..], &axes[..1], &axes[x.rank() - 1..]].map(|axes| {
                    let sums = reduce(Reduce::Sum, x, axes, DType::F32).unwrap();
                    (sums, arg_reduce(true, x, axes[0]).unwrap())
                })
            })
        };
        let want = all();
        for level in crate::simd::Level::ALL {
            let _forced = crate::simd::force(level);
            for threads in [1, 2, 3, 8] {
                crate::threads::set_count(threads);
                for (found, want) in all().iter().flatten().zip(want.iter().flatten()) {
                    assert!(found.0.bitwise_eq(&want.0) && found.1.bitwise_eq(&want.1));
                }
            }
        }
    }

    #[test]
    fn long_sums_are_accurate() {
        let ones = Tensor::full(&[1 << 22], 0.1f32).unwrap();
        for x in [
            ones.clone(),
            ones.reshape(&[1 << 22, 1]).unwrap(),
            ones.reshape(&[1 << 20, 4]).unwrap(),
        ] {
            let axes: &[usize] = &[0, 1][..x.rank()];
            let sum = reduce(Reduce::Sum, &x, axes, DType::F32).unwrap().item::<f64>().unwrap();
            let want = 0.1f32 as f64 * (1 << 22) as f64;
            assert!((sum - want).abs() < 1e-6 * want, "{sum} for {want}");
        }
        let columns =
            reduce(Reduce::Sum, &ones.reshape(&[1 << 20, 4]).unwrap(), &[0], DType::F32).unwrap();
        for sum in columns.to_f64s() {
            let want = 0.1f32 as f64 * (1 << 20) as f64;
            assert!((sum - want).abs() < 1e-6 * want, "{sum} for {want}");
        }
    }

    #[test]
    fn accumulation_is_wide_enough() {
        let half = Tensor::full(&[5000], half::f16::ONE).unwrap();
        let sum = reduce(Reduce::Sum, &half, &[0], DType::F16).unwrap();
        assert_eq!(sum.item::<f64>().unwrap(), 5000.0);
        let bytes = Tensor::full(&[1000], 200u8).unwrap();
        let sum = |out| reduce(Reduce::Sum, &bytes, &[0], out).unwrap().item::<i64>().unwrap();
        assert_eq!(sum(DType::I64), 200_000);
        assert_eq!(sum(DType::U8), 200_000 % 256);
        let truths = Tensor::full(&[256], true).unwrap();
        assert_eq!(
            reduce(Reduce::Sum, &truths, &[0], DType::I64).unwrap().item::<i64>().unwrap(),
            256
        );
        assert!(reduce(Reduce::Sum, &truths, &[0], DType::Bool).unwrap().item::<bool>().unwrap());
    }

    #[test]
    fn nan_and_fractions() {
        let mut values = vec![1.0f32; 1000];
        values[700] = f32::NAN;
        let x = Tensor::from_vec(values, &[1000]).unwrap();
        for x in [x.clone(), x.reshape(&[1000, 1]).unwrap(), x.reshape(&[100, 10]).unwrap()] {
            for kind in [Reduce::Max, Reduce::Min] {
                let axes: &[usize] = &[0, 1][..x.rank()];
                assert!(
                    reduce(kind, &x, axes, DType::F32).unwrap().item::<f32>().unwrap().is_nan()
                );
            }
        }
        let small = Tensor::from_slice(&[0.0f32, 0.25, f32::NAN], &[3]).unwrap();
        assert!(reduce(Reduce::Any, &small, &[0], DType::Bool).unwrap().item::<bool>().unwrap());
        assert!(!reduce(Reduce::All, &small, &[0], DType::Bool).unwrap().item::<bool>().unwrap());
    }

    #[test]
    fn nothing_to_reduce() {
        let x = Tensor::zeros(DType::F32, &[2, 0]).unwrap();
        for (kind, want) in
            [(Reduce::Sum, 0.0), (Reduce::Prod, 1.0), (Reduce::Any, 0.0), (Reduce::All, 1.0)]
        {
            assert_eq!(reduce(kind, &x, &[1], DType::F32).unwrap().to_f64s(), [want, want]);
        }
        let error = reduce(Reduce::Max, &x, &[1], DType::F32).unwrap_err();
        assert_eq!(error.message(), "the maximum of no elements");
        assert!(reduce(Reduce::Min, &x, &[0, 1], DType::F32).is_err());
        assert!(reduce(Reduce::Sum, &x, &[2], DType::F32).is_err());
        assert!(reduce(Reduce::Sum, &x, &[1, 1], DType::F32).is_err());
    }

    #[test]
    fn sum_to_undoes_broadcasting() {
        let mut rng = Rng::new(10);
        let x = rng.tensor(DType::F64, &[2, 3, 4]);
        for dims in [&[][..], &[4], &[1], &[3, 1], &[2, 3, 4], &[1, 3, 1], &[2, 1, 4], &[1, 1, 1]] {
            let got = sum_to(&rng.scramble(&x), dims).unwrap();
            assert_eq!(got.dims(), dims);
            let mut want = vec![0.0; dims.iter().product()];
            let numbers: Vec<i64> = (0..want.len() as i64).collect();
            let numbers = Tensor::from_vec(numbers, dims).unwrap().expand(x.dims()).unwrap();
            for (number, value) in numbers.to_vec::<i64>().unwrap().into_iter().zip(x.to_f64s()) {
                want[number as usize] += value;
            }
            assert_eq!(got.to_f64s(), want, "{dims:?}");
        }
        for dims in [&[2][..], &[5, 2, 3, 4], &[3, 3, 4]] {
            assert!(sum_to(&x, dims).is_err(), "{dims:?}");
        }
    }
}
