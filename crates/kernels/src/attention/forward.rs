//! The forward pass: each panel of queries meets one block of keys after the other.

use fluvial_tensor::{Result, Tensor};

use super::problem::{Problem, matrix};
use super::scores::{Known, Lanes, Panel, Place, apply_mask, hide_later};
use crate::lanes::{Parts, run_tasks};
use crate::matmul::blocks::{Blocks, Operand, Output, PANEL, Panels};
use crate::scratch::Scratch;
use crate::simd::vectorized;

/// Keys of a block: its scores for a panel of queries stay in the first cache.
const KEYS: usize = 256;

/// Multiplications that are worth a task.
const TASK: usize = 1 << 20;

pub(super) fn forward<C: Blocks>(problem: &Problem) -> Result<(Tensor, Tensor)> {
    let &Problem { len, keys, width, out, .. } = problem;
    let mut y = Tensor::empty(C::DTYPE, &problem.y_dims())?;
    let mut logs = Tensor::empty(C::DTYPE, &problem.logs_dims())?;
    let n_panels = len.div_ceil(PANEL);
    let work = PANEL * (keys * (width + out)).max(1);
    // Neighbouring panels belong to one task: they read the same keys.
    let per_task = (TASK / work).clamp(1, 64);
    let (y_parts, logs_parts) =
        (Parts::<C>::new(y.as_mut_slice()?), Parts::<C>::new(logs.as_mut_slice()?));
    let n_all = problem.n_heads() * n_panels;
    run_tasks(n_all.div_ceil(per_task), |task| {
        let mut rooms = Rooms::new(problem)?;
        for number in task * per_task..n_all.min((task + 1) * per_task) {
            let (head, query) = (number / n_panels, number % n_panels * PANEL);
            let row = head * len + query;
            let n_queries = (len - query).min(PANEL);
            let place = Place { head, query, n_queries, key: 0 };
            // SAFETY: each panel of queries is one task's.
            let (y, logs) = unsafe {
                (
                    y_parts.get(row * out..(row + n_queries) * out),
                    logs_parts.get(row..row + n_queries),
                )
            };
            attend(problem, place, &mut rooms, y, logs);
        }
        Ok(())
    })?;
    Ok((problem.finish(y)?, logs))
}

/// The memory of a task.
struct Rooms<C> {
    _scratch: Scratch,
    /// The queries, one in each column.
    queries: *mut C,
    scores: *mut C,
    mask: *mut C,
}

impl<C: Blocks> Rooms<C> {
    fn new(problem: &Problem) -> Result<Rooms<C>> {
        let block = KEYS.min(problem.keys) * PANEL;
        let mut scratch = Scratch::take::<C>(problem.width * PANEL + 2 * block)?;
        let queries = scratch.as_mut_ptr::<C>();
        let scores = queries.wrapping_add(problem.width * PANEL);
        Ok(Rooms { _scratch: scratch, queries, scores, mask: scores.wrapping_add(block) })
    }
}

/// Computes the rows of `y` and `logs` of a panel of queries.
fn attend<C: Blocks>(
    problem: &Problem,
    mut place: Place,
    rooms: &mut Rooms<C>,
    y: &mut [C],
    logs: &mut [C],
) {
    let &Problem { width, out, causal, .. } = problem;
    let Place { head, query, n_queries, .. } = place;
    let q: Operand<C> = matrix(&problem.q, head);
    // SAFETY: the head has these queries, and there is room for a panel of them.
    unsafe {
        C::pack(q.at_row(query).transposed(), width, n_queries, rooms.queries);
        scale(std::slice::from_raw_parts_mut(rooms.queries, width * PANEL), problem.scale);
    }
    let (k, v): (Operand<C>, Operand<C>) = (matrix(&problem.k, head), matrix(&problem.v, head));
    let end = if causal { problem.keys.min(query + n_queries) } else { problem.keys };
    let n_blocks = end.div_ceil(KEYS);
    let mut known = Known::nothing();
    if n_blocks == 0 {
        y.fill(C::ZERO);
    }
    for block in 0..n_blocks {
        let (from, to) = (end * block / n_blocks, end * (block + 1) / n_blocks);
        place.key = from;
        let panel = Panel { data: rooms.scores, row: PANEL, n_keys: to - from };
        let queries = Panels::packed(rooms.queries.cast_const(), width);
        let scores = Output { data: rooms.scores, row: PANEL };
        let weights = Operand { data: rooms.scores.cast_const(), row: 1, column: PANEL as isize };
        let values = Panels::in_place(v.at_row(from));
        // SAFETY: the head has these keys and values; all the rest is this task's.
        unsafe {
            C::multiply([to - from, width, PANEL], k.at_row(from), queries, scores, false);
            if let Some(mask) = &problem.mask {
                apply_mask(&panel, mask, place, rooms.mask);
            }
            if causal {
                hide_later(&panel, place);
            }
            let change = known.take(&panel);
            if block > 0 {
                scale_rows(y, out, &change);
            }
            let y = Output { data: y.as_mut_ptr(), row: out };
            C::multiply([n_queries, to - from, out], weights, values, y, block > 0);
        }
    }
    let masked = problem.mask.is_some() || n_blocks == 0;
    let inverse =
        known.sum.map(|sum| if masked && sum == C::ZERO { C::ZERO } else { C::ONE / sum });
    scale_rows(y, out, &inverse);
    for (i, log) in logs.iter_mut().enumerate() {
        *log = known.largest[i] + known.sum[i].ln();
    }
}

/// Multiplies each row with its number.
fn scale_rows<C: Blocks>(rows: &mut [C], len: usize, factors: &Lanes<C>) {
    if len == 0 {
        return;
    }
    vectorized(
        #[inline(always)]
        || {
            for (row, &factor) in rows.chunks_exact_mut(len).zip(factors) {
                for x in row {
                    *x = *x * factor;
                }
            }
        },
    );
}

/// Multiplies all with one number.
pub(super) fn scale<C: Blocks>(values: &mut [C], factor: f64) {
    let factor = C::from_f64(factor);
    vectorized(
        #[inline(always)]
        || {
            for x in values {
                *x = *x * factor;
            }
        },
    );
}
