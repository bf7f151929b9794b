//! Bringing the tensors of an attention into shape.

use fluvial_tensor::{DType, Dim, Element, Error, Result, Tensor, broadcast};
use smallvec::SmallVec;

use super::Attention;
use crate::lazy::lazy;
use crate::matmul::blocks::Operand;
use crate::reduce::sum_to;

type Dims = SmallVec<[usize; 8]>;

/// An attention whose operands have one batch and contiguous rows, in the dtype of the computation.
pub(super) struct Problem {
    pub q: Tensor,
    pub k: Tensor,
    pub v: Tensor,
    pub mask: Option<Mask>,
    pub len: usize,
    pub keys: usize,
    pub width: usize,
    pub out: usize,
    /// The queries of so many neighbours in the batch share keys and values.
    pub group: usize,
    pub causal: bool,
    pub scale: f64,
    /// The batch; that of `k` and `v` as they were given, with the axis of the group.
    batch: Dims,
    kv_batch: Dims,
    /// Whether the last two axes of the batch are one of the caller's.
    split: bool,
    /// What the caller gave.
    given: DType,
    q_dims: Dims,
    k_dims: Dims,
    v_dims: Dims,
}

/// A mask, broadcast to all scores.
pub(super) struct Mask {
    pub values: Tensor,
    /// Whether a score is replaced, not added to, where the mask is negative infinity.
    pub replaces: bool,
}

impl Problem {
    pub(super) fn new(
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        options: &Attention<'_>,
    ) -> Result<Problem> {
        let given = q.dtype();
        if !given.is_float() || k.dtype() != given || v.dtype() != given {
            let (q, k, v) = (q.dtype(), k.dtype(), v.dtype());
            return Err(Error::dtype(format!("attention of {q} to {k} and {v}")));
        }
        let (&[ref own @ .., len, width], &[ref theirs @ .., keys, k_width]) = (q.dims(), k.dims())
        else {
            return Err(Error::shape("queries and keys have at least two axes"));
        };
        let &[ref values @ .., v_keys, out] = v.dims() else {
            return Err(Error::shape("values have at least two axes"));
        };
        if width != k_width || theirs != values || keys != v_keys {
            let (q, k, v) = (q.dims(), k.dims(), v.dims());
            return Err(Error::shape(format!(
                "queries {q:?}, keys {k:?} and values {v:?} do not fit"
            )));
        }
        let compute = given.compute();
        let mut own: Dims = own.into();
        let mut kv_batch: Dims = theirs.into();
        let split = heads(&own, &kv_batch)?;
        if let Some((shared, group)) = split {
            own.pop();
            own.extend([shared, group]);
            kv_batch.push(1);
        }
        let batch = meet(&own, &kv_batch)?;
        let mask = match options.mask {
            Some(mask) => Some(Mask::new(mask, compute, split, &with(&batch, [len, keys]))?),
            None => None,
        };
        let operand = |x: &Tensor, own: &[usize], rows: usize, columns: usize| {
            straight(&x.cast(compute)?)?
                .reshape(&with(own, [rows, columns]))?
                .expand(&with(&batch, [rows, columns]))
        };
        let aligned = batch.len() - kv_batch.len();
        let shares = |axis: usize| axis < aligned || kv_batch[axis - aligned] == 1;
        let group = (0..batch.len()).rev().take_while(|&axis| shares(axis));
        Ok(Problem {
            q: operand(q, &own, len, width)?,
            k: operand(k, &kv_batch, keys, width)?,
            v: operand(v, &kv_batch, keys, out)?,
            mask,
            len,
            keys,
            width,
            out,
            group: group.map(|axis| batch[axis]).product(),
            causal: options.causal,
            scale: options.scale.unwrap_or_else(|| 1.0 / (width as f64).sqrt()),
            kv_batch,
            split: split.is_some(),
            given,
            q_dims: q.dims().into(),
            k_dims: k.dims().into(),
            v_dims: v.dims().into(),
            batch,
        })
    }

    /// The dtype of the computation.
    pub(super) fn dtype(&self) -> DType {
        self.q.dtype()
    }

    /// The number of matrices of queries.
    pub(super) fn n_heads(&self) -> usize {
        self.batch.iter().product()
    }

    /// The batch as the caller sees it.
    fn given_batch(&self) -> Dims {
        let mut batch = self.batch.clone();
        if self.split {
            let group = batch.pop().unwrap_or(1);
            if let Some(shared) = batch.last_mut() {
                *shared *= group;
            }
        }
        batch
    }

    pub(super) fn y_dims(&self) -> Dims {
        with(&self.given_batch(), [self.len, self.out])
    }

    pub(super) fn logs_dims(&self) -> Dims {
        with(&self.given_batch(), [self.len])
    }

    /// A result as the caller wants it.
    pub(super) fn finish(&self, y: Tensor) -> Result<Tensor> {
        y.cast(self.given)
    }

    /// A tensor of the shape of the result, with contiguous rows, in the dtype of the computation.
    pub(super) fn like_y(&self, x: &Tensor) -> Result<Tensor> {
        straight(&x.cast(self.dtype())?)?.reshape(&with(&self.batch, [self.len, self.out]))
    }

    /// The gradient of the queries, of one matrix for each of the batch.
    pub(super) fn finish_q(&self, dq: &Tensor) -> Result<Tensor> {
        let dq = dq.reshape(&with(&self.given_batch(), [self.len, self.width]))?;
        self.finish(sum_to(&dq, &self.q_dims)?)
    }

    /// The gradients of keys and values, of one matrix for each group.
    pub(super) fn finish_kv(&self, dk: &Tensor, dv: &Tensor) -> Result<(Tensor, Tensor)> {
        let shared = |dx: &Tensor, columns: usize, dims: &[usize]| {
            let mut batch = self.batch.clone();
            let mut group = self.group;
            for size in batch.iter_mut().rev() {
                if group == 1 {
                    break;
                }
                group /= *size;
                *size = 1;
            }
            let dx = dx.reshape(&with(&batch, [self.keys, columns]))?;
            let dx = sum_to(&dx, &with(&self.kv_batch, [self.keys, columns]))?;
            self.finish(dx.reshape(dims)?)
        };
        Ok((shared(dk, self.width, &self.k_dims)?, shared(dv, self.out, &self.v_dims)?))
    }
}

impl Mask {
    fn new(
        mask: &Tensor,
        compute: DType,
        split: Option<(usize, usize)>,
        dims: &[usize],
    ) -> Result<Mask> {
        let replaces = mask.dtype() == DType::Bool;
        if !replaces && !mask.dtype().is_float() {
            return Err(Error::dtype(format!(
                "a mask is of bools or floats, not {}",
                mask.dtype()
            )));
        }
        let mut values = match replaces {
            true => lazy(mask).select(0.0, f64::NEG_INFINITY).eval_in(compute)?,
            false => mask.cast(compute)?,
        };
        if let (Some((shared, group)), &[ref batch @ .., heads, len, keys]) = (split, mask.dims()) {
            let axes = if heads == 1 { [1, 1] } else { [shared, group] };
            let dims: Dims = batch.iter().copied().chain(axes).chain([len, keys]).collect();
            values = values.reshape(&dims)?;
        }
        Ok(Mask { values: values.expand(dims)?, replaces })
    }
}

/// The heads of keys and how many of queries share one, if that is not one.
fn heads(own: &[usize], theirs: &[usize]) -> Result<Option<(usize, usize)>> {
    let (Some(&own), Some(&shared)) = (own.last(), theirs.last()) else { return Ok(None) };
    if own == shared || shared == 1 {
        return Ok(None);
    }
    if shared == 0 || own % shared != 0 {
        return Err(Error::shape(format!(
            "{own} heads of queries cannot share {shared} heads of keys"
        )));
    }
    Ok(Some((shared, own / shared)))
}

/// The shape in which two batches meet.
fn meet(a: &[usize], b: &[usize]) -> Result<Dims> {
    let symbols = |dims: &[usize]| dims.iter().map(|&size| Dim::size(size)).collect::<Vec<_>>();
    let both = broadcast(&symbols(a), &symbols(b))?;
    Ok(both.iter().filter_map(|dim| dim.value()).collect())
}

fn with<const N: usize>(batch: &[usize], rest: [usize; N]) -> Dims {
    batch.iter().copied().chain(rest).collect()
}

/// The tensor, or a copy of it, with contiguous rows.
fn straight(x: &Tensor) -> Result<Tensor> {
    match (x.dims(), x.strides()) {
        (&[.., size], &[.., stride]) if size > 1 && stride != 1 => x.contiguous(),
        _ => Ok(x.clone()),
    }
}

/// Matrix `number` of a tensor of at least two axes.
pub(super) fn matrix<C: Element>(x: &Tensor, mut number: usize) -> Operand<C> {
    let (batch, strides) = (x.rank() - 2, x.strides());
    let mut offset = 0;
    for (&size, &stride) in x.dims()[..batch].iter().zip(strides).rev() {
        offset += (number % size) as isize * stride;
        number /= size;
    }
    Operand {
        data: x.data_ptr().cast::<C>().wrapping_offset(offset),
        row: strides[batch],
        column: strides[batch + 1],
    }
}
