//! Rows of bytes by packed weights.

use std::ops::Range;

use fluvial_tensor::{DType, Error, Result, Tensor};
use smallvec::SmallVec;

use super::dot::{self, Dot, Set};
use super::pack::{PANEL, Packed, pack_int8};
use super::tile::{on_set, rows};
use super::{Int8Epilogue, Sink, bytes, check_products};
use crate::lanes::{Parts, run_tasks};
use crate::scalar::compute::Compute;
use crate::scratch::Scratch;

/// Products that are worth a task of their own, and the most rows of one.
const TASK: usize = 1 << 20;
const ROWS: usize = 192;

/// The products of the rows of `x`, bytes without sign of shape `[.., k]`, and packed weights of `outs` channels, as
/// numbers of shape `[.., outs]`.
///
/// ```
/// use fluvial_kernels::{Int8Epilogue, int8_linear, pack_int8};
/// use fluvial_tensor::Tensor;
///
/// let x = Tensor::from_slice(&[3u8, 5, 1], &[1, 3])?;
/// let packed = pack_int8(&Tensor::from_slice(&[1i8, 2, -3], &[1, 3])?, 1)?;
/// let then = Int8Epilogue { scale: 0.5, zero: 1, weight_scale: &[2.0], bias: None, relu: false };
/// assert_eq!(int8_linear(&x, &packed, 1, &then)?.to_vec::<f32>()?, [10.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn int8_linear(
    x: &Tensor,
    packed: &Tensor,
    outs: usize,
    then: &Int8Epilogue<'_>,
) -> Result<Tensor> {
    if then.weight_scale.len() != outs || then.bias.is_some_and(|bias| bias.len() != outs) {
        return Err(Error::shape(format!("not one scale and bias for each of {outs} channels")));
    }
    let mut out = Tensor::empty(DType::F32, &with_columns(x, outs)?)?;
    let parts = Parts::new(out.as_mut_slice::<f32>()?);
    products(x, packed, outs, Set::best(), Sink::Numbers(*then), &Out::Numbers(parts))?;
    Ok(out)
}

/// The products of rows of integers of 8 bits, of shape `[.., k]`, and a matrix of such, `[k, n]`, less their zero points:
/// one for each row or for all of them, and one for each column or for all of them. They are `i32`, and wrap.
pub fn matmul_integer(a: &Tensor, b: &Tensor, a_zero: &[i32], b_zero: &[i32]) -> Result<Tensor> {
    let (&[k, n], Some(&inner)) = (b.dims(), a.dims().last()) else {
        return Err(Error::shape("expected rows and a matrix"));
    };
    let m = a.dims()[..a.rank() - 1].iter().product::<usize>();
    let fits = |zero: &[i32], n: usize| zero.len() == 1 || zero.len() == n;
    if inner != k || !fits(a_zero, m) || !fits(b_zero, n) {
        return Err(Error::shape("the operands and their zero points do not fit"));
    }
    let (a, more_a) = unsigned(a)?;
    let (b, more_b) = signed(&b.transpose(0, 1)?)?;
    let mut out = Tensor::empty(DType::I32, &with_columns(&a, n)?)?;
    let packed = pack_int8(&b, 1)?;
    let parts = Parts::new(out.as_mut_slice::<i32>()?);
    products(&a, &packed, n, Set::best(), Sink::Sums { zero: 0 }, &Out::Sums(parts))?;
    let of_column: Vec<i32> = {
        let group = Packed::group(&packed, 0, n, k)?;
        (0..group.panels()).flat_map(|panel| group.sums(panel)).take(n).collect()
    };
    let a = bytes(&a)?;
    let zero = |zeros: &[i32], i: usize| zeros[if zeros.len() == 1 { 0 } else { i }];
    for (row, out) in out.as_mut_slice::<i32>()?.chunks_exact_mut(n.max(1)).enumerate() {
        let a_zero = zero(a_zero, row).wrapping_add(more_a);
        let of_row = a[row * k..][..k].iter().fold(0i32, |sum, &x| sum.wrapping_add(x.into()));
        for (column, out) in out.iter_mut().enumerate() {
            let b_zero = zero(b_zero, column).wrapping_add(more_b);
            // (a - za)(b - zb) = ab - za b - zb a + za zb, summed.
            let rest = of_row.wrapping_sub((k as i32).wrapping_mul(a_zero)).wrapping_mul(b_zero);
            let taken = a_zero.wrapping_mul(of_column[column]).wrapping_add(rest);
            *out = out.wrapping_sub(taken);
        }
    }
    Ok(out)
}

/// The same integers without sign, and how much greater they are, without gaps.
pub(super) fn unsigned(x: &Tensor) -> Result<(Tensor, i32)> {
    match x.dtype() {
        DType::U8 => Ok((x.contiguous()?, 0)),
        _ => Ok((moved(x, DType::U8)?, 128)),
    }
}

/// The same integers with a sign, and how much greater they are, without gaps.
pub(super) fn signed(x: &Tensor) -> Result<(Tensor, i32)> {
    match x.dtype() {
        DType::I8 => Ok((x.contiguous()?, 0)),
        _ => Ok((moved(x, DType::I8)?, -128)),
    }
}

/// Half of the range further, as the other type of bytes.
fn moved(x: &Tensor, to: DType) -> Result<Tensor> {
    let x = x.contiguous()?;
    let mut out = Tensor::empty(to, x.dims())?;
    let from = bytes(&x)?;
    out.as_bytes_mut()?.iter_mut().zip(from).for_each(|(to, &x)| *to = x ^ 0x80);
    Ok(out)
}

fn with_columns(x: &Tensor, n: usize) -> Result<SmallVec<[usize; 8]>> {
    let Some((_, rows)) = x.dims().split_last() else {
        return Err(Error::shape("expected rows, found a number"));
    };
    Ok(rows.iter().copied().chain([n]).collect())
}

/// The output, in whose type sums are written.
pub(super) enum Out<'a> {
    Sums(Parts<'a, i32>),
    Numbers(Parts<'a, f32>),
}

/// Writes the products of the rows.
pub(super) fn products(
    x: &Tensor,
    packed: &Tensor,
    outs: usize,
    set: Set,
    sink: Sink<'_>,
    out: &Out<'_>,
) -> Result<()> {
    let (k, x) = (x.dims().last().copied().unwrap_or(0), x.contiguous()?);
    check_products(k)?;
    let packed = packed.contiguous()?;
    let weight = Packed::group(&packed, 0, outs, k)?;
    let m = x.numel().checked_div(k).unwrap_or_else(|| x.dims().iter().rev().skip(1).product());
    if m == 0 || outs == 0 {
        return Ok(());
    }
    let job = Job { x: bytes(&x)?, k, outs, weight, sink, out };
    let row_parts = m.div_ceil(ROWS);
    let of_panel = m.min(ROWS) * k.max(1) * PANEL;
    let n_panels = weight.panels();
    let wide = TASK.div_ceil(of_panel).next_multiple_of(2).min(n_panels);
    let column_parts = n_panels.div_ceil(wide);
    run_tasks(row_parts * column_parts, |task| {
        let (row, column) = (task / column_parts, task % column_parts);
        let rows = m * row / row_parts..m * (row + 1) / row_parts;
        job.task(set, rows, column * wide..n_panels.min((column + 1) * wide))
    })
}

struct Job<'a> {
    x: &'a [u8],
    k: usize,
    outs: usize,
    weight: Packed<'a>,
    sink: Sink<'a>,
    out: &'a Out<'a>,
}

/// Rows of activations, of which each has four bytes for each step of the weights.
#[derive(Clone, Copy)]
struct Rows {
    first: *const u8,
    row: usize,
}

impl Job<'_> {
    fn task(&self, set: Set, range: Range<usize>, panels: Range<usize>) -> Result<()> {
        let given = &self.x[range.start * self.k..range.end * self.k];
        let row = 4 * self.weight.steps();
        if row == self.k {
            return self.run(set, Rows { first: given.as_ptr(), row }, range, panels);
        }
        // The last step would take bytes behind the row; weights are 0 there.
        let mut scratch = Scratch::take::<u8>(range.len() * row)?;
        let memory = scratch.as_mut_ptr::<u8>();
        for (number, from) in given.chunks_exact(self.k.max(1)).enumerate() {
            // SAFETY: there is room for all rows.
            let to = unsafe { std::slice::from_raw_parts_mut(memory.add(number * row), row) };
            to[..self.k].copy_from_slice(from);
            to[self.k..].fill(0);
        }
        self.run(set, Rows { first: memory, row }, range, panels)
    }

    fn run(&self, set: Set, x: Rows, range: Range<usize>, panels: Range<usize>) -> Result<()> {
        // SAFETY: the set is one of the machine; the rows and panels are there.
        unsafe { on_set!(set, run(self, x, range, panels)) };
        Ok(())
    }
}

#[inline(always)]
unsafe fn run<D: Dot>(job: &Job<'_>, x: Rows, range: Range<usize>, panels: Range<usize>) {
    let mut panel = panels.start;
    while panel < panels.end {
        let left = panels.end - panel;
        // Few rows take more panels, so that there are sums enough under way.
        let (four, two) = (range.len() <= 4 && D::SUMS >= 16, D::SUMS >= 12);
        // SAFETY: by the caller's promise.
        panel += unsafe {
            match left {
                4.. if four => column::<D, 4>(job, x, range.clone(), panel),
                2.. if two => column::<D, 2>(job, x, range.clone(), panel),
                _ => column::<D, 1>(job, x, range.clone(), panel),
            }
        };
    }
}

/// All rows by some panels; gives how many.
#[inline(always)]
unsafe fn column<D: Dot, const P: usize>(
    job: &Job<'_>,
    x: Rows,
    range: Range<usize>,
    panel: usize,
) -> usize {
    let lanes: [Lanes; P] = std::array::from_fn(|p| Lanes::of(job, panel + p));
    let (mut row, most) = (range.start, D::SUMS / P);
    while row < range.end {
        let from = Rows { first: x.first.wrapping_add((row - range.start) * x.row), ..x };
        // SAFETY: by the caller's promise.
        row += unsafe {
            match (range.end - row).min(most) {
                12.. => tile::<D, 12, P>(job, from, row, panel, &lanes),
                8.. => tile::<D, 8, P>(job, from, row, panel, &lanes),
                6.. => tile::<D, 6, P>(job, from, row, panel, &lanes),
                4.. => tile::<D, 4, P>(job, from, row, panel, &lanes),
                3 => tile::<D, 3, P>(job, from, row, panel, &lanes),
                2 => tile::<D, 2, P>(job, from, row, panel, &lanes),
                _ => tile::<D, 1, P>(job, from, row, panel, &lanes),
            }
        };
    }
    P
}

/// Some rows by some panels; gives how many rows.
#[inline(always)]
unsafe fn tile<D: Dot, const R: usize, const P: usize>(
    job: &Job<'_>,
    x: Rows,
    row: usize,
    panel: usize,
    lanes: &[Lanes; P],
) -> usize {
    let weight = job.weight;
    // SAFETY: by the caller's promise.
    let sums = unsafe {
        rows::<D, R, P>(weight.steps(), x.first, x.row, weight.panel(panel), weight.panel_bytes())
    };
    for (r, sums) in sums.iter().enumerate() {
        for (p, (sums, lanes)) in sums.iter().zip(lanes).enumerate() {
            let first = (row + r) * job.outs + (panel + p) * PANEL;
            // SAFETY: these elements are this task's.
            unsafe {
                match job.out {
                    Out::Sums(out) => lanes.sums(sums, out.get(first..first + lanes.width)),
                    Out::Numbers(out) => lanes.numbers(sums, out.get(first..first + lanes.width)),
                }
            }
        }
    }
    R
}

/// How the sums of a panel are written.
struct Lanes {
    width: usize,
    offset: [i32; PANEL],
    scale: [f32; PANEL],
    bias: Option<[f32; PANEL]>,
    relu: bool,
}

impl Lanes {
    fn of(job: &Job<'_>, panel: usize) -> Lanes {
        let (first, sums) = (panel * PANEL, job.weight.sums(panel));
        let width = (job.outs - first).min(PANEL);
        let mut lanes =
            Lanes { width, offset: [0; PANEL], scale: [0.0; PANEL], bias: None, relu: false };
        for (lane, &sum) in sums.iter().enumerate().take(width) {
            let channel = job.sink.channel(first + lane, sum);
            (lanes.offset[lane], lanes.scale[lane]) = (channel.offset, channel.scale);
            lanes.relu = channel.relu;
            if let Some(bias) = channel.bias {
                lanes.bias.get_or_insert([0.0; PANEL])[lane] = bias;
            }
        }
        lanes
    }

    #[inline(always)]
    fn sums(&self, sums: &[i32; PANEL], out: &mut [i32]) {
        let sums: [i32; PANEL] = std::array::from_fn(|i| sums[i].wrapping_add(self.offset[i]));
        out.copy_from_slice(&sums[..out.len()]);
    }

    #[inline(always)]
    fn numbers(&self, sums: &[i32; PANEL], out: &mut [f32]) {
        let mut numbers: [f32; PANEL] =
            std::array::from_fn(|i| sums[i].wrapping_add(self.offset[i]) as f32 * self.scale[i]);
        if let Some(bias) = &self.bias {
            numbers.iter_mut().zip(bias).for_each(|(x, bias)| *x += bias);
        }
        if self.relu {
            numbers.iter_mut().for_each(|x| *x = x.larger(0.0));
        }
        match out.len() {
            PANEL => out.copy_from_slice(&numbers),
            width => out.copy_from_slice(&numbers[..width]),
        }
    }
}
