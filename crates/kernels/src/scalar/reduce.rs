//! Reductions of what a body computes, without storing it.

use fluvial_tensor::{DType, MAX_RANK, Result, Tensor, dispatch_compute};
use smallvec::SmallVec;

use super::body::Body;
use super::compute::Compute;
use super::run::{Source, output_of};
use crate::lanes::{Parts, run_tasks};
use crate::reduce::{Reduce, accumulator, reduce};

/// What happens to the result of a body in [`Body::run_reduce`].
#[derive(Clone, Copy, Debug)]
pub struct Reduction<'a> {
    /// The shape of the result, to which the inputs are broadcast.
    pub dims: &'a [usize],
    /// The dtype that the result is converted to before it is reduced.
    pub dtype: DType,
    /// How elements become one.
    pub kind: Reduce,
    /// The axes that are reduced, and dropped from the shape.
    pub axes: &'a [usize],
    /// The dtype of what is returned.
    pub out_dtype: DType,
}

/// Elements of whole rows that one task computes.
const ROWS: usize = 1 << 14;

/// Elements that enter the tree of results together. These three are as in [`reduce()`], whose order of
/// summation is kept.
const PIECE: usize = 1 << 16;
const COLUMNS: usize = 1024;
const BLOCK_ROWS: usize = 16;

/// A piece of more elements than this would not stay in the cache.
const LARGEST: usize = 1 << 18;

impl Body {
    /// Runs the body as [`Body::run`] and reduces the result as [`reduce()`], with the same bits as both
    /// in turn. Over the first axes or the last ones the result is never stored: it is computed in pieces
    /// that stay in the cache. Over others, and for [`Reduce::Any`] and [`Reduce::All`], it is.
    ///
    /// ```
    /// use fluvial_kernels::{Body, Reduce, Reduction};
    /// use fluvial_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// let square = Body::unary(|x| x * x);
    /// let (dims, dtype, out_dtype) = (&[2, 2], DType::F32, DType::F32);
    /// let rows = Reduction { dims, dtype, kind: Reduce::Sum, axes: &[1], out_dtype };
    /// let sums = square.run_reduce(&[&x], &[], DType::F32, &rows)?;
    /// assert_eq!(sums.to_vec::<f32>()?, [5.0, 25.0]);
    /// # Ok::<(), fluvial_tensor::Error>(())
    /// ```
    pub fn run_reduce(
        &self,
        inputs: &[&Tensor],
        params: &[f64],
        compute: DType,
        reduction: &Reduction<'_>,
    ) -> Result<Tensor> {
        let &Reduction { dims, dtype, kind, axes, out_dtype } = reduction;
        let Some(cut) = Cut::new(reduction) else {
            let mut whole = Tensor::empty(dtype, dims)?;
            self.run(inputs, params, compute, &mut whole)?;
            return reduce(kind, &whole, axes, out_dtype);
        };
        let source = Source::new(self, inputs, params, compute, dims)?;
        let mut parts = Tensor::empty(cut.meeting, &[cut.n_outer, cut.n_pieces, cut.width])?;
        dispatch_compute!(cut.meeting, A => {
            let parts = parts.as_mut_slice::<A>()?;
            compute_parts::<A>(&source, reduction, &cut, parts)?;
        });
        if kind == Reduce::Sum && cut.meeting == DType::F32 && cut.width == 1 {
            // As `reduce` does along rows.
            for parts in parts.as_mut_slice::<f32>()?.chunks_exact_mut(cut.n_pieces) {
                let mut wide: Vec<f64> = parts.iter().map(|&part| part as f64).collect();
                merge_pieces(&mut wide, 1, |a, b| a + b);
                parts[0] = wide[0] as f32;
            }
            return parts.index(1, 0)?.reshape(&cut.kept_dims)?.cast(out_dtype);
        }
        dispatch_compute!(cut.meeting, A => {
            let parts = parts.as_mut_slice::<A>()?;
            for parts in parts.chunks_exact_mut(cut.n_pieces * cut.width) {
                match kind {
                    Reduce::Sum => merge_pieces(parts, cut.width, A::plus),
                    Reduce::Prod => merge_pieces(parts, cut.width, A::times),
                    Reduce::Max | Reduce::Any => merge_pieces(parts, cut.width, A::larger),
                    Reduce::Min | Reduce::All => merge_pieces(parts, cut.width, A::smaller),
                }
            }
        });
        parts.index(1, 0)?.reshape(&cut.kept_dims)?.cast(out_dtype)
    }
}

/// The elements of a reduction as `n_outer` times `n_pieces` parts, each of which leaves `width` numbers.
struct Cut {
    n_outer: usize,
    n_pieces: usize,
    width: usize,
    /// Elements that become one number.
    n_reduced: usize,
    /// Of these, how many are in one piece.
    piece: usize,
    /// The dtype in which numbers meet.
    meeting: DType,
    kept_dims: SmallVec<[usize; MAX_RANK]>,
}

impl Cut {
    /// `None` if the elements have to be stored, and for what is not a reduction at all.
    fn new(reduction: &Reduction<'_>) -> Option<Cut> {
        let &Reduction { dims, dtype, kind, axes, out_dtype } = reduction;
        let meeting = match kind {
            Reduce::Sum | Reduce::Prod => accumulator(dtype, out_dtype),
            Reduce::Max | Reduce::Min => dtype.compute(),
            Reduce::Any | Reduce::All => return None,
        };
        let mut is_reduced: SmallVec<[bool; MAX_RANK]> = SmallVec::from_elem(false, dims.len());
        for &axis in axes {
            if std::mem::replace(is_reduced.get_mut(axis)?, true) {
                return None;
            }
        }
        let product = |reduced: bool| -> usize {
            let sizes = dims.iter().zip(&is_reduced).filter(|&(_, &is)| is == reduced);
            sizes.map(|(&dim, _)| dim).product()
        };
        let (n_reduced, n_kept) = (product(true), product(false));
        if n_reduced <= 1 || n_kept == 0 {
            return None;
        }
        let mut order =
            dims.iter().zip(&is_reduced).filter(|&(&dim, _)| dim != 1).map(|(_, &is)| is);
        let first_reduced = order.next()?;
        let changes = order.fold((0, first_reduced), |(n, last), is| (n + (is != last) as u32, is));
        let kept_dims =
            dims.iter().zip(&is_reduced).filter(|&(_, &is)| !is).map(|(&dim, _)| dim).collect();
        let (n_outer, width, piece) = match changes {
            (0 | 1, true) => (n_kept, 1, PIECE),
            (1, false) => {
                let rows = PIECE / n_kept.min(COLUMNS).next_power_of_two();
                (1, n_kept, rows.max(BLOCK_ROWS))
            }
            _ => return None,
        };
        let piece = piece.min(n_reduced);
        let fits = piece.checked_mul(width).is_some_and(|len| len <= LARGEST);
        let n_pieces = n_reduced.div_ceil(piece);
        fits.then_some(Cut { n_outer, n_pieces, width, n_reduced, piece, meeting, kept_dims })
    }
}

/// Computes and reduces each piece by itself. `A` is the type in which the results meet.
fn compute_parts<A: Compute>(
    source: &Source<'_>,
    reduction: &Reduction<'_>,
    cut: &Cut,
    parts: &mut [A],
) -> Result<()> {
    // Several whole rows are one task.
    let rows = if cut.n_pieces == 1 { (ROWS / (cut.n_reduced * cut.width)).max(1) } else { 1 };
    let n_tasks = cut.n_outer.div_ceil(rows) * cut.n_pieces;
    let parts = Parts::new(parts);
    run_tasks(n_tasks, |task| {
        let (outer, piece) = (task / cut.n_pieces * rows, task % cut.n_pieces);
        let rows = rows.min(cut.n_outer - outer);
        let first = piece * cut.piece;
        let len = cut.piece.min(cut.n_reduced - first);
        let mut values = Tensor::empty(reduction.dtype, &[rows, len, cut.width])?;
        let start = outer * cut.n_reduced * cut.width + first * cut.width;
        let end = start + values.numel();
        source.run(start..end, &[output_of(&mut values, start)?])?;
        let reduced = reduce(reduction.kind, &values, &[1], cut.meeting)?;
        let reduced = reduced.to_vec::<A>()?;
        let at = (outer * cut.n_pieces + piece) * cut.width;
        // SAFETY: each task has rows or a piece of its own.
        unsafe { parts.get(at..at + reduced.len()) }.copy_from_slice(&reduced);
        Ok(())
    })
}

/// Merges the results of pieces, `width` numbers each, into the first: neighbours, then pairs of them, and
/// so on.
fn merge_pieces<A: Copy>(parts: &mut [A], width: usize, f: impl Fn(A, A) -> A) {
    let mut distance = width;
    while distance < parts.len() {
        for pair in parts.chunks_mut(2 * distance).filter(|pair| pair.len() > distance) {
            let (left, right) = pair.split_at_mut(distance);
            for (left, &right) in left.iter_mut().zip(&right[..width]) {
                *left = f(*left, right);
            }
        }
        distance *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{self, Level};
    use crate::testing::Rng;
    use crate::threads;

    #[test]
    fn the_bits_are_those_of_both_in_turn() {
        let mut rng = Rng::new(31);
        let _forced = simd::force(Level::Avx512);
        let body = Body::binary(|x, y| (x - y) * (x * 0.125 + y));
        let cases: [(&[usize], &[usize]); 14] = [
            (&[7], &[0]),
            (&[1000], &[0]),
            (&[65_536], &[0]),
            (&[200_001], &[0]),
            (&[3, 70_000], &[1]),
            (&[70_000, 3], &[0]),
            (&[40, 33, 31], &[1, 2]),
            (&[40, 33, 31], &[0, 1]),
            (&[40, 33, 31], &[1]),
            (&[300, 1500], &[0]),
            (&[300, 1500], &[1]),
            (&[5, 1, 9], &[1]),
            (&[1, 8, 1], &[0, 1]),
            (&[4, 0], &[0]),
        ];
        for (dims, axes) in cases {
            for (dtype, out_dtype) in
                [(DType::F32, DType::F32), (DType::F16, DType::F16), (DType::I32, DType::I64)]
            {
                let x = rng.tensor(dtype, dims);
                let x = rng.scramble(&x);
                let y = rng.tensor(dtype, &dims[dims.len() - 1..]);
                let compute = dtype.compute();
                let mut whole = Tensor::empty(dtype, dims).unwrap();
                body.run(&[&x, &y], &[], compute, &mut whole).unwrap();
                for kind in [Reduce::Sum, Reduce::Prod, Reduce::Max, Reduce::Min, Reduce::Any] {
                    let reduction = Reduction { dims, dtype, kind, axes, out_dtype };
                    let Ok(want) = reduce(kind, &whole, axes, out_dtype) else {
                        assert!(body.run_reduce(&[&x, &y], &[], compute, &reduction).is_err());
                        continue;
                    };
                    for count in [1, 2, 3, 8] {
                        threads::set_count(count);
                        let got = body.run_reduce(&[&x, &y], &[], compute, &reduction).unwrap();
                        let same = got.dims() == want.dims() && got.bitwise_eq(&want);
                        assert!(same, "{kind:?} of {dims:?} over {axes:?} in {dtype:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn faults_are_errors() {
        let x = Tensor::zeros(DType::F32, &[4, 5]).unwrap();
        let (dtype, kind, out_dtype) = (DType::F32, Reduce::Sum, DType::F32);
        let body = Body::unary(|x| x + 1.0);
        for (dims, axes) in [(&[4, 5], &[2][..]), (&[4, 5], &[1, 1]), (&[4, 6], &[1])] {
            let reduction = Reduction { dims, dtype, kind, axes, out_dtype };
            assert!(body.run_reduce(&[&x], &[], dtype, &reduction).is_err(), "{dims:?} {axes:?}");
        }
    }
}
