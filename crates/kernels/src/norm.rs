//! Normalisation by mean and variance, forward and backward.
//!
//! Tensors are `f32` or `f64`, all of one dtype. Moments of pieces that fit into the first cache are
//! computed in two passes and merged in `f64`, so neither large means nor long rows lose digits.

mod moments;

use fluvial_tensor::{Error, Result, Tensor, memory};

use crate::lanes::{Parts, a_page_of, floats, prefetch_to_write, run_tasks};
use crate::scalar::float::Float;
use crate::simd::vectorized;
use crate::softmax::elements;
use moments::{LANES, Moments, PIECE, along_and_flat, place, sum};

/// About how many elements one task normalises.
const TASK: usize = 1 << 14;

/// A result with the mean and the inverse standard deviation that it was computed with; or the
/// gradients of the elements, the weight and the bias.
pub type Three = (Tensor, Tensor, Tensor);

/// Normalises rows of `n` elements: `(x - mean) / sqrt(var + eps) * weight + bias`, where weight and bias
/// have `n` elements. Mean and inverse deviation have one for each row.
///
/// ```
/// use fluvial_kernels::layer_norm;
/// use fluvial_tensor::Tensor;
///
/// let x = Tensor::from_slice(&[1.0f32, 3.0], &[1, 2])?;
/// assert_eq!(layer_norm(&x, 2, None, None, 0.0)?.0.to_vec::<f32>()?, [-1.0, 1.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn layer_norm(
    x: &Tensor,
    n: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Three> {
    floats!(x.dtype(), C => rows_forward::<C>(x, n, true, weight, bias, eps))
}

/// Divides rows of `n` elements by the root of their mean square: `x / sqrt(mean(x^2) + eps) * weight`.
/// Returns the result and the inverse root for each row.
pub fn rms_norm(
    x: &Tensor,
    n: usize,
    weight: Option<&Tensor>,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let (y, _, rstd) = floats!(x.dtype(), C => rows_forward::<C>(x, n, false, weight, None, eps))?;
    Ok((y, rstd))
}

/// The gradients of [`layer_norm`] with respect to the elements, the weight and the bias.
pub fn layer_norm_grad(
    grad: &Tensor,
    x: &Tensor,
    mean: &Tensor,
    rstd: &Tensor,
    weight: Option<&Tensor>,
    n: usize,
) -> Result<Three> {
    floats!(x.dtype(), C => rows_backward::<C>(grad, x, Some(mean), rstd, weight, n))
}

/// The gradients of [`rms_norm`] with respect to the elements and the weight.
pub fn rms_norm_grad(
    grad: &Tensor,
    x: &Tensor,
    rstd: &Tensor,
    weight: Option<&Tensor>,
    n: usize,
) -> Result<(Tensor, Tensor)> {
    let (dx, dweight, _) =
        floats!(x.dtype(), C => rows_backward::<C>(grad, x, None, rstd, weight, n))?;
    Ok((dx, dweight))
}

/// Normalises the channels of `x` (`batch x channels x …`) by the moments of the batch; weight and bias
/// have an element for each channel, and so have mean and inverse deviation.
pub fn batch_norm(
    x: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Three> {
    let (y, mean, rstd, _) = batch_norm_moments(x, weight, bias, eps)?;
    Ok((y, mean, rstd))
}

/// [`batch_norm`] with the variances, which are those divided by the number of elements, as a fourth tensor.
pub fn batch_norm_moments(
    x: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
    let planes = Planes::new(x, None)?;
    floats!(x.dtype(), C => planes_forward::<C>(x, &planes, weight, bias, eps))
}

/// The gradients of [`batch_norm`] with respect to the elements, the weight and the bias.
pub fn batch_norm_grad(
    grad: &Tensor,
    x: &Tensor,
    mean: &Tensor,
    rstd: &Tensor,
    weight: Option<&Tensor>,
) -> Result<Three> {
    let planes = Planes::new(x, None)?;
    floats!(x.dtype(), C => planes_backward::<C>(grad, x, &planes, mean, rstd, weight))
}

/// Normalises groups of channels of `x` (`batch x channels x …`), each by its own moments; weight and
/// bias have an element for each channel, mean and inverse deviation one for each group of each sample.
pub fn group_norm(
    x: &Tensor,
    groups: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Three> {
    let planes = Planes::new(x, Some(groups))?;
    let (y, mean, rstd, _) =
        floats!(x.dtype(), C => planes_forward::<C>(x, &planes, weight, bias, eps))?;
    Ok((y, mean, rstd))
}

/// The gradients of [`group_norm`] with respect to the elements, the weight and the bias.
pub fn group_norm_grad(
    grad: &Tensor,
    x: &Tensor,
    groups: usize,
    mean: &Tensor,
    rstd: &Tensor,
    weight: Option<&Tensor>,
) -> Result<Three> {
    let planes = Planes::new(x, Some(groups))?;
    floats!(x.dtype(), C => planes_backward::<C>(grad, x, &planes, mean, rstd, weight))
}

/// The elements of a parameter, which must be so many.
fn parameter<C: Float>(x: Option<&Tensor>, n: usize, default: C) -> Result<Vec<C>> {
    let Some(x) = x else { return memory::filled(default, n) };
    if x.numel() != n {
        return Err(Error::shape(format!("a parameter {} for {n} elements", x.ty())));
    }
    x.to_vec()
}

fn same(a: &Tensor, b: &Tensor) -> Result<()> {
    if a.dtype() == b.dtype() && a.dims() == b.dims() {
        return Ok(());
    }
    Err(Error::shape(format!("a gradient {} of {}", a.ty(), b.ty())))
}

fn n_rows(x: &Tensor, n: usize) -> Result<usize> {
    if n == 0 || !x.numel().is_multiple_of(n) {
        return Err(Error::shape(format!("rows of {n} elements in {}", x.ty())));
    }
    Ok(x.numel() / n)
}

fn rows_forward<C: Float>(
    x: &Tensor,
    n: usize,
    centred: bool,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Three> {
    let rows = n_rows(x, n)?;
    let (weight, bias) = (parameter(weight, n, C::ONE)?, parameter(bias, n, C::ZERO)?);
    let x = x.contiguous()?;
    let mut y = Tensor::empty(C::DTYPE, x.dims())?;
    let (mut means, mut rstds) = (memory::filled(C::ZERO, rows)?, memory::filled(C::ZERO, rows)?);
    let at_once = (TASK / n).max(1);
    {
        let x = elements::<C>(&x)?;
        let y = Parts::new(y.as_mut_slice::<C>()?);
        let (means, rstds) = (Parts::new(&mut means), Parts::new(&mut rstds));
        run_tasks(rows.div_ceil(at_once), |task| {
            let range = task * at_once..rows.min((task + 1) * at_once);
            // SAFETY: each row belongs to one task.
            let (y, means, rstds) = unsafe {
                let all = range.start * n..range.end * n;
                (y.get(all), means.get(range.clone()), rstds.get(range.clone()))
            };
            let x = &x[range.start * n..range.end * n];
            vectorized(
                #[inline(always)]
                || {
                    for (i, (x, y)) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)).enumerate() {
                        let mut moments = Moments::default();
                        moments.add(x, centred);
                        if !centred {
                            moments.mean = 0.0;
                        }
                        let (mean, rstd) =
                            (C::from_f64(moments.mean), C::from_f64(moments.rstd(eps)));
                        (means[i], rstds[i]) = (mean, rstd);
                        let both = weight.chunks(LANES).zip(bias.chunks(LANES));
                        for ((y, x), (weight, bias)) in
                            y.chunks_mut(LANES).zip(x.chunks(LANES)).zip(both)
                        {
                            prefetch_to_write::<C, LANES>(y.as_ptr(), a_page_of::<C>());
                            place(y, x, mean, rstd, weight, bias);
                        }
                    }
                },
            );
            Ok(())
        })?;
    }
    Ok((y, Tensor::from_vec(means, &[rows])?, Tensor::from_vec(rstds, &[rows])?))
}

fn rows_backward<C: Float>(
    grad: &Tensor,
    x: &Tensor,
    mean: Option<&Tensor>,
    rstd: &Tensor,
    weight: Option<&Tensor>,
    n: usize,
) -> Result<Three> {
    same(grad, x)?;
    let rows = n_rows(x, n)?;
    let weight = parameter(weight, n, C::ONE)?;
    let centred = mean.is_some();
    let (means, rstds) = (parameter(mean, rows, C::ZERO)?, parameter(Some(rstd), rows, C::ZERO)?);
    let (grad, x) = (grad.contiguous()?, x.contiguous()?);
    let (grad, x) = (elements::<C>(&grad)?, elements::<C>(&x)?);
    // Each task adds the gradients of weight and bias up for its rows.
    let at_once = (TASK / n).max(rows.div_ceil(64)).max(1);
    let tasks = rows.div_ceil(at_once);
    let mut dx = Tensor::empty(C::DTYPE, &[rows, n])?;
    let mut partial = memory::filled(C::ZERO, tasks * 2 * n)?;
    {
        let dx = Parts::new(dx.as_mut_slice::<C>()?);
        let partial = Parts::new(&mut partial);
        run_tasks(tasks, |task| {
            // SAFETY: each task has sums of its own.
            let sums = unsafe { partial.get(task * 2 * n..(task + 1) * 2 * n) };
            let (dweight, dbias) = sums.split_at_mut(n);
            for row in task * at_once..rows.min((task + 1) * at_once) {
                let at = row * n..(row + 1) * n;
                // SAFETY: each row belongs to one task.
                let dx = unsafe { dx.get(at.clone()) };
                let (grad, x) = (&grad[at.clone()], &x[at]);
                let (mean, rstd) = (means[row], rstds[row]);
                vectorized(
                    #[inline(always)]
                    || {
                        let of_n = C::from_f64(1.0 / n as f64);
                        let [along, flat] = along_and_flat(grad, &weight, x, mean);
                        let flat = if centred { flat * of_n } else { C::ZERO };
                        let row = Row { mean, rstd, along: along * rstd * of_n, flat };
                        row.gradients([grad, &weight, x], [dx, dweight, dbias]);
                    },
                );
            }
            Ok(())
        })?;
    }
    let mut sums = memory::filled(C::ZERO, 2 * n)?;
    for part in partial.chunks_exact(2 * n) {
        sums.iter_mut().zip(part).for_each(|(sum, &part)| *sum = *sum + part);
    }
    let dims = [n];
    let (dweight, dbias) = sums.split_at(n);
    Ok((dx, Tensor::from_slice(dweight, &dims)?, Tensor::from_slice(dbias, &dims)?))
}

/// The moments of a row, and what of its gradient goes along with its elements and with all of them alike.
struct Row<C> {
    mean: C,
    rstd: C,
    along: C,
    flat: C,
}

impl<C: Float> Row<C> {
    /// Writes the gradient of the elements and adds to those of weight and bias. All have the same length.
    #[inline(always)]
    fn gradients(&self, [grad, weight, x]: [&[C]; 3], [dx, dweight, dbias]: [&mut [C]; 3]) {
        let sums = dweight.iter_mut().zip(dbias);
        let row = dx.iter_mut().zip(grad).zip(x.iter().zip(weight));
        for (((dx, &grad), (&x, &weight)), (dweight, dbias)) in row.zip(sums) {
            let place = (x - self.mean) * self.rstd;
            *dx = (grad * weight - self.flat - place * self.along) * self.rstd;
            *dweight = *dweight + grad * place;
            *dbias = *dbias + grad;
        }
    }
}

/// Which planes are normalised together.
struct Planes {
    batch: usize,
    channels: usize,
    /// Elements of a plane.
    size: usize,
    /// The number of groups of planes with moments of their own.
    n_sets: usize,
    groups: Option<usize>,
}

impl Planes {
    fn new(x: &Tensor, groups: Option<usize>) -> Result<Planes> {
        let [batch, channels, rest @ ..] = x.dims() else {
            return Err(Error::shape(format!("a batch of channels, not {}", x.ty())));
        };
        let (batch, channels) = (*batch, *channels);
        if groups.is_some_and(|groups| groups == 0 || channels % groups != 0) {
            return Err(Error::argument(format!("{groups:?} groups of {channels} channels")));
        }
        let n_sets = groups.map_or(channels, |groups| batch * groups);
        Ok(Planes { batch, channels, size: rest.iter().product(), n_sets, groups })
    }

    /// The numbers of the planes of a set.
    #[inline(always)]
    fn of_set(&self, set: usize) -> impl Iterator<Item = usize> + Clone {
        let (first, count, step) = match self.groups {
            Some(groups) => (set * (self.channels / groups), self.channels / groups, 1),
            None => (set, self.batch, self.channels),
        };
        (0..count).map(move |i| first + i * step)
    }
}

fn planes_forward<C: Float>(
    x: &Tensor,
    planes: &Planes,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
    let channels = planes.channels;
    let (weight, bias) =
        (parameter(weight, channels, C::ONE)?, parameter(bias, channels, C::ZERO)?);
    let x = x.contiguous()?;
    let mut y = Tensor::empty(C::DTYPE, x.dims())?;
    let sets = planes.n_sets;
    let (mut means, mut rstds) = (memory::filled(C::ZERO, sets)?, memory::filled(C::ZERO, sets)?);
    let mut variances = memory::filled(C::ZERO, sets)?;
    {
        let x = elements::<C>(&x)?;
        let y = Parts::new(y.as_mut_slice::<C>()?);
        let (means, rstds) = (Parts::new(&mut means), Parts::new(&mut rstds));
        let variances = Parts::new(&mut variances);
        run_tasks(sets, |set| {
            // SAFETY: each set belongs to one task.
            let (mean_out, rstd_out, variance_out) = unsafe {
                (means.get(set..set + 1), rstds.get(set..set + 1), variances.get(set..set + 1))
            };
            vectorized(
                #[inline(always)]
                || {
                    let mut moments = Moments::default();
                    for plane in planes.of_set(set) {
                        moments.add(&x[plane * planes.size..][..planes.size], true);
                    }
                    let (mean, rstd) = (C::from_f64(moments.mean), C::from_f64(moments.rstd(eps)));
                    (mean_out[0], rstd_out[0]) = (mean, rstd);
                    variance_out[0] = C::from_f64(moments.variance());
                    for plane in planes.of_set(set) {
                        let at = plane * planes.size..(plane + 1) * planes.size;
                        // SAFETY: each plane belongs to one set.
                        let y = unsafe { y.get(at.clone()) };
                        let scale = rstd * weight[plane % channels];
                        let bias = bias[plane % channels];
                        let x = &x[at];
                        for (y, &x) in y.iter_mut().zip(x) {
                            *y = (x - mean) * scale + bias;
                        }
                    }
                },
            );
            Ok(())
        })?;
    }
    let per_set = |values: Vec<C>| Tensor::from_vec(values, &[sets]);
    Ok((y, per_set(means)?, per_set(rstds)?, per_set(variances)?))
}

fn planes_backward<C: Float>(
    grad: &Tensor,
    x: &Tensor,
    planes: &Planes,
    mean: &Tensor,
    rstd: &Tensor,
    weight: Option<&Tensor>,
) -> Result<Three> {
    same(grad, x)?;
    let channels = planes.channels;
    let weight = parameter(weight, channels, C::ONE)?;
    let means = parameter(Some(mean), planes.n_sets, C::ZERO)?;
    let rstds = parameter(Some(rstd), planes.n_sets, C::ZERO)?;
    let mut dx = Tensor::empty(C::DTYPE, x.dims())?;
    let (grad, x) = (grad.contiguous()?, x.contiguous()?);
    let (grad, x) = (elements::<C>(&grad)?, elements::<C>(&x)?);
    let size = planes.size;
    let mut sums = memory::filled([0.0; 2], planes.batch * channels)?;
    {
        let (dx, sums) = (Parts::new(dx.as_mut_slice::<C>()?), Parts::new(&mut sums));
        run_tasks(planes.n_sets, |set| {
            let (mean, rstd) = (means[set], rstds[set]);
            vectorized(
                #[inline(always)]
                || {
                    let (mut flat, mut along, mut n) = (0.0, 0.0, 0);
                    for plane in planes.of_set(set) {
                        let (mut g_sum, mut gx_sum) = (0.0, 0.0);
                        let all = plane * size..(plane + 1) * size;
                        for (g, x) in grad[all.clone()].chunks(PIECE).zip(x[all].chunks(PIECE)) {
                            g_sum += sum(g, |_, g| g).to_f64();
                            gx_sum += (sum(g, |i, g| g * (x[i] - mean)) * rstd).to_f64();
                        }
                        // SAFETY: each plane belongs to one set.
                        let sums = unsafe { sums.get(plane..plane + 1) };
                        sums[0] = [gx_sum, g_sum];
                        let weight = weight[plane % channels].to_f64();
                        flat += g_sum * weight;
                        along += gx_sum * weight;
                        n += size;
                    }
                    let (flat, along) =
                        (C::from_f64(flat / n as f64), C::from_f64(along / n as f64) * rstd);
                    for plane in planes.of_set(set) {
                        let at = plane * size..(plane + 1) * size;
                        // SAFETY: each plane belongs to one set.
                        let dx = unsafe { dx.get(at.clone()) };
                        let weight = weight[plane % channels];
                        let both = grad[at.clone()].iter().zip(&x[at]);
                        for (dx, (&g, &x)) in dx.iter_mut().zip(both) {
                            *dx = (g * weight - flat - (x - mean) * along) * rstd;
                        }
                    }
                },
            );
            Ok(())
        })?;
    }
    let mut totals = memory::filled([0.0; 2], channels)?;
    for (plane, sums) in sums.iter().enumerate() {
        let total = &mut totals[plane % channels];
        *total = [total[0] + sums[0], total[1] + sums[1]];
    }
    let part =
        |which: usize| -> Vec<C> { totals.iter().map(|total| C::from_f64(total[which])).collect() };
    let dims = [channels];
    Ok((dx, Tensor::from_vec(part(0), &dims)?, Tensor::from_vec(part(1), &dims)?))
}

#[cfg(test)]
mod tests;
