//! The backward pass: the weights are computed again from the logarithms of their sums.
//!
//! A task has some keys of all heads that share them, and passes over the queries. The gradients of its
//! keys and values are its own; those of the queries it shares with the tasks of other keys, so each of
//! these has a copy, and copies are added up in the end. How many there are depends on the shape only.

use std::ops::Range;

use fluvial_tensor::{Result, Tensor};

use super::forward::scale;
use super::problem::{Problem, matrix};
use super::scores::{Lanes, Panel, Place, apply_mask, grad_scores, hide_later};
use crate::lanes::{Parts, fill_chunks, run_tasks};
use crate::matmul::blocks::{Blocks, Operand, Output, PANEL, Panels};
use crate::reduce::{Reduce, reduce};
use crate::scratch::Scratch;
use crate::simd::vectorized;

/// Queries and keys of a block. With a causal mask smaller blocks waste less along the diagonal.
const QUERIES: usize = 128;
const KEYS: usize = 128;
const CAUSAL_KEYS: usize = 64;

/// The distance of rows of a block: a power of 2 would use few sets of the cache.
const ROW: usize = QUERIES + 16;

/// So many tasks are enough, if each has at least so many keys.
const TASKS: usize = 32;
const TASK_KEYS: usize = 256;

pub(super) fn backward<C: Blocks>(
    problem: &Problem,
    grad: &Tensor,
    y: &Tensor,
    logs: &Tensor,
) -> Result<(Tensor, Tensor, Tensor)> {
    let &Problem { len, keys, width, out, group, .. } = problem;
    let (grad, y) = (problem.like_y(grad)?, problem.like_y(y)?);
    let logs = logs.cast(C::DTYPE)?.contiguous()?;
    let logs: &[C] = crate::softmax::elements(&logs)?;
    let n_heads = problem.n_heads();
    let n_groups = n_heads / group.max(1);
    let n_parts = match n_groups {
        0 => 1,
        n => (TASKS.div_ceil(n)).min(keys / TASK_KEYS).max(1),
    };
    let means = means::<C>(&grad, &y, n_heads, len)?;
    let mut dq = Tensor::empty(C::DTYPE, &[n_parts, n_heads * len * width])?;
    let mut dk = Tensor::empty(C::DTYPE, &[n_groups * keys * width])?;
    let mut dv = Tensor::empty(C::DTYPE, &[n_groups * keys * out])?;
    let dq_parts = Parts::<C>::new(dq.as_mut_slice()?);
    let dk_parts = Parts::<C>::new(dk.as_mut_slice()?);
    let dv_parts = Parts::<C>::new(dv.as_mut_slice()?);
    run_tasks(n_groups * n_parts, |task| {
        let (shared, part) = (task / n_parts, task % n_parts);
        let own = keys * part / n_parts..keys * (part + 1) / n_parts;
        let rows = shared * keys + own.start..shared * keys + own.end;
        // SAFETY: these rows are of this task's keys.
        let (dk, dv) = unsafe {
            (
                dk_parts.get(rows.start * width..rows.end * width),
                dv_parts.get(rows.start * out..rows.end * out),
            )
        };
        dk.fill(C::ZERO);
        dv.fill(C::ZERO);
        let mut pass = Pass {
            problem,
            grad: &grad,
            logs,
            means: &means,
            keys: own,
            dk,
            dv,
            rooms: Rooms::new(problem)?,
        };
        for head in shared * group..(shared + 1) * group {
            for query in (0..len).step_by(QUERIES) {
                let n_queries = (len - query).min(QUERIES);
                let first = ((part * n_heads + head) * len + query) * width;
                // SAFETY: these are the rows of these queries in the copy of this task.
                let dq = unsafe { dq_parts.get(first..first + n_queries * width) };
                pass.queries(Place { head, query, n_queries, key: 0 }, dq);
            }
        }
        scale(pass.dk, problem.scale);
        Ok(())
    })?;
    let dq = match n_parts {
        1 => dq,
        _ => reduce(Reduce::Sum, &dq, &[0], C::DTYPE)?,
    };
    let (dk, dv) = problem.finish_kv(&dk, &dv)?;
    Ok((problem.finish_q(&dq)?, dk, dv))
}

/// For each query the sum of its result times the gradient, which is that of weights times gradients.
fn means<C: Blocks>(grad: &Tensor, y: &Tensor, n_heads: usize, len: usize) -> Result<Vec<C>> {
    let mut means = crate::lanes::room::<C>(n_heads * len)?;
    let width = grad.dims()[grad.rank() - 1];
    let per_task = (1usize << 14).div_ceil(width.max(1));
    fill_chunks(&mut means, per_task, |first, means| {
        vectorized(
            #[inline(always)]
            || {
                for (i, mean) in means.iter_mut().enumerate() {
                    let (head, query) = ((first + i) / len, (first + i) % len);
                    let row = |x: &Tensor| matrix::<C>(x, head).at_row(query).data;
                    // SAFETY: rows are contiguous and have so many elements.
                    let (grad, y) = unsafe {
                        (
                            std::slice::from_raw_parts(row(grad), width),
                            std::slice::from_raw_parts(row(y), width),
                        )
                    };
                    *mean = dot(grad, y);
                }
            },
        );
        Ok(())
    })?;
    Ok(means)
}

#[inline(always)]
fn dot<C: Blocks>(a: &[C], b: &[C]) -> C {
    let mut lanes = [C::ZERO; 32];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<32>(), b.as_chunks::<32>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..32 {
            lanes[i] = lanes[i] + a[i] * b[i];
        }
    }
    for ((lane, &a), &b) in lanes.iter_mut().zip(a_rest).zip(b_rest) {
        *lane = *lane + a * b;
    }
    crate::softmax::total(lanes)
}

/// The memory of a task.
struct Rooms<C> {
    _scratch: Scratch,
    /// The queries, and the gradients of their results, one in each column.
    queries: *mut C,
    grads: *mut C,
    /// Scores, then weights; gradients of the weights, then of the scores.
    scores: *mut C,
    dscores: *mut C,
    mask: *mut C,
}

impl<C: Blocks> Rooms<C> {
    fn new(problem: &Problem) -> Result<Rooms<C>> {
        let sizes =
            [problem.width * QUERIES, problem.out * QUERIES, KEYS * ROW, KEYS * ROW, KEYS * PANEL];
        let mut scratch = Scratch::take::<C>(sizes.iter().sum())?;
        let first = scratch.as_mut_ptr::<C>();
        let at = |n: usize| first.wrapping_add(sizes[..n].iter().sum());
        Ok(Rooms {
            _scratch: scratch,
            queries: at(0),
            grads: at(1),
            scores: at(2),
            dscores: at(3),
            mask: at(4),
        })
    }
}

/// The keys of a task and their gradients.
struct Pass<'a, C> {
    problem: &'a Problem,
    grad: &'a Tensor,
    logs: &'a [C],
    means: &'a [C],
    keys: Range<usize>,
    dk: &'a mut [C],
    dv: &'a mut [C],
    rooms: Rooms<C>,
}

impl<C: Blocks> Pass<'_, C> {
    /// Lets a block of queries meet all keys of the task, and writes the gradient of the queries.
    fn queries(&mut self, place: Place, dq: &mut [C]) {
        let &Problem { len, width, out, causal, .. } = self.problem;
        let Place { head, query, n_queries, .. } = place;
        let end = match causal {
            true => self.keys.end.min(query + n_queries),
            false => self.keys.end,
        };
        if self.keys.start >= end {
            return dq.fill(C::ZERO);
        }
        let (mut logs, mut means) = ([C::INFINITY; QUERIES], [C::ZERO; QUERIES]);
        let row = head * len + query;
        for i in 0..n_queries {
            // Where every key is hidden, the weights become 0.
            let log = self.logs[row + i];
            logs[i] = if log == -C::INFINITY { C::INFINITY } else { log };
            means[i] = self.means[row + i];
        }
        let q: Operand<C> = matrix::<C>(&self.problem.q, head).at_row(query);
        let grad: Operand<C> = matrix::<C>(self.grad, head).at_row(query);
        let n_columns = n_queries.next_multiple_of(PANEL);
        // SAFETY: the head has these queries, and there is room for all panels.
        unsafe {
            C::pack(q.transposed(), width, n_queries, self.rooms.queries);
            C::pack(grad.transposed(), out, n_queries, self.rooms.grads);
            let packed = std::slice::from_raw_parts_mut(self.rooms.queries, n_columns * width);
            scale(packed, self.problem.scale);
        }
        let step = if causal { CAUSAL_KEYS } else { KEYS };
        let start = self.keys.start;
        let n_blocks = (end - start).div_ceil(step);
        let edge = |block: usize| start + (end - start) * block / n_blocks;
        for block in 0..n_blocks {
            let keys = edge(block)..edge(block + 1);
            // Panels of queries before the first key are left out, but not of the first block, which
            // writes all of the gradient.
            let skipped = match causal && block > 0 {
                true => keys.start.saturating_sub(query) / PANEL * PANEL,
                false => 0,
            };
            let place = Place {
                query: query + skipped,
                n_queries: n_queries - skipped,
                key: keys.start,
                head,
            };
            let (logs, means) = (&logs[skipped..], &means[skipped..]);
            self.block(place, keys, skipped, [logs, means], &mut dq[skipped * width..], block > 0);
        }
        scale(dq, self.problem.scale);
    }

    /// Lets queries meet a block of keys; the first `skipped` of the packed queries are left out.
    fn block(
        &mut self,
        place: Place,
        keys: Range<usize>,
        skipped: usize,
        [logs, means]: [&[C]; 2],
        dq: &mut [C],
        add: bool,
    ) {
        let &Problem { width, out, causal, .. } = self.problem;
        let Place { head, n_queries, .. } = place;
        let n_keys = keys.len();
        let n_columns = n_queries.next_multiple_of(PANEL);
        let rooms = &self.rooms;
        let packed = |data: *mut C, width: usize| {
            Panels::packed(data.wrapping_add(skipped * width).cast_const(), width)
        };
        let k = matrix::<C>(&self.problem.k, head).at_row(keys.start);
        let v = matrix::<C>(&self.problem.v, head).at_row(keys.start);
        let scores = Output { data: rooms.scores, row: ROW };
        let dscores = Output { data: rooms.dscores, row: ROW };
        // SAFETY: the head has these queries, keys and values; all the rest is this task's.
        unsafe {
            C::multiply([n_keys, width, n_columns], k, packed(rooms.queries, width), scores, false);
            C::multiply([n_keys, out, n_columns], v, packed(rooms.grads, out), dscores, false);
            for first in (0..n_queries).step_by(PANEL) {
                let panel =
                    |data: *mut C| Panel { data: data.wrapping_add(first), row: ROW, n_keys };
                let (scores, dscores) = (panel(rooms.scores), panel(rooms.dscores));
                let place = Place {
                    query: place.query + first,
                    n_queries: (n_queries - first).min(PANEL),
                    ..place
                };
                if let Some(mask) = &self.problem.mask {
                    apply_mask(&scores, mask, place, rooms.mask);
                }
                if causal {
                    hide_later(&scores, place);
                }
                let (logs, means) = (lanes(&logs[first..]), lanes(&means[first..]));
                grad_scores(&scores, &dscores, &logs, &means);
            }
            let row = keys.start - self.keys.start;
            let row_of =
                |data: *mut C| Operand { data: data.cast_const(), row: ROW as isize, column: 1 };
            let grad = matrix::<C>(self.grad, head).at_row(place.query);
            let q = matrix::<C>(&self.problem.q, head).at_row(place.query);
            let dv = Output { data: self.dv.as_mut_ptr(), row: out }.at_row(row);
            let dk = Output { data: self.dk.as_mut_ptr(), row: width }.at_row(row);
            let dq = Output { data: dq.as_mut_ptr(), row: width };
            let sizes = |columns| [n_keys, n_queries, columns];
            C::multiply(sizes(out), row_of(rooms.scores), Panels::in_place(grad), dv, true);
            C::multiply(sizes(width), row_of(rooms.dscores), Panels::in_place(q), dk, true);
            let columns = row_of(rooms.dscores).transposed();
            C::multiply([n_queries, n_keys, width], columns, Panels::in_place(k), dq, add);
        }
    }
}

/// The numbers of a panel; those past the end do not matter.
fn lanes<C: Blocks>(numbers: &[C]) -> Lanes<C> {
    let mut lanes = [C::ZERO; PANEL];
    lanes.iter_mut().zip(numbers).for_each(|(to, &from)| *to = from);
    lanes
}
