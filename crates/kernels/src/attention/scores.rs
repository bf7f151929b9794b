//! What happens to scores between the products: masks, powers, and their gradient.

use crate::matmul::blocks::{Blocks, Operand, PANEL};
use crate::scalar::float::Float;
use crate::simd::vectorized;

use super::problem::{Mask, matrix};

/// A number for each query of a panel.
pub(super) type Lanes<C> = [C; PANEL];

/// Scores of some keys and the queries of a panel; rows are `row` elements apart.
pub(super) struct Panel<C> {
    pub data: *mut C,
    pub row: usize,
    pub n_keys: usize,
}

impl<C: Float> Panel<C> {
    /// The scores of key `number` of the panel.
    ///
    /// # Safety
    ///
    /// The panel has such a key, and nothing else refers to its scores for `'a`.
    #[inline(always)]
    pub(super) unsafe fn key<'a>(&self, number: usize) -> &'a mut Lanes<C> {
        // SAFETY: by the caller's promise.
        unsafe { &mut *self.data.add(number * self.row).cast() }
    }
}

/// Which scores: those of a head, from a query and a key on.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub head: usize,
    pub query: usize,
    pub n_queries: usize,
    pub key: usize,
}

/// Applies the mask. `room` has room for `n_keys` rows of a panel.
///
/// # Safety
///
/// The panel is ours, the place is one of the problem's.
pub(super) unsafe fn apply_mask<C: Blocks>(
    panel: &Panel<C>,
    mask: &Mask,
    place: Place,
    room: *mut C,
) {
    let values: Operand<C> = matrix(&mask.values, place.head);
    let replaces = mask.replaces;
    let at = values.at_row(place.query).transposed().at_row(place.key);
    // SAFETY: the mask has these keys and queries; there is room for them.
    unsafe { C::pack(at, panel.n_keys, place.n_queries, room) };
    vectorized(
        #[inline(always)]
        || {
            for number in 0..panel.n_keys {
                // SAFETY: the panel and the room have this row, and nobody else uses them.
                let (scores, mask) =
                    unsafe { (panel.key(number), &*room.add(number * PANEL).cast::<Lanes<C>>()) };
                for i in 0..PANEL {
                    let hidden = replaces & (mask[i] == -C::INFINITY);
                    let sum = scores[i] + mask[i];
                    scores[i] = if hidden { -C::INFINITY } else { sum };
                }
            }
        },
    );
}

/// Hides the keys after each query.
///
/// # Safety
///
/// The panel is ours.
pub(super) unsafe fn hide_later<C: Float>(panel: &Panel<C>, place: Place) {
    let first = (place.query + 1).saturating_sub(place.key);
    for number in first..panel.n_keys {
        // SAFETY: the panel has this row.
        let scores = unsafe { panel.key(number) };
        let n_before = (place.key + number - place.query).min(PANEL);
        scores[..n_before].fill(-C::INFINITY);
    }
}

/// What is known of the queries of a panel after some keys: the largest score, and the sum of the powers
/// of the distances to it.
pub(super) struct Known<C> {
    pub largest: Lanes<C>,
    pub sum: Lanes<C>,
}

impl<C: Blocks> Known<C> {
    /// Before the first key.
    pub(super) fn nothing() -> Known<C> {
        Known { largest: [-C::INFINITY; PANEL], sum: [C::ZERO; PANEL] }
    }

    /// Takes in more keys, and replaces their scores by powers. What was computed with earlier powers has
    /// to be multiplied with the result.
    ///
    /// # Safety
    ///
    /// The panel is ours.
    pub(super) unsafe fn take(&mut self, panel: &Panel<C>) -> Lanes<C> {
        vectorized(
            #[inline(always)]
            || {
                let mut largest = self.largest;
                for number in 0..panel.n_keys {
                    // SAFETY: the panel has this row.
                    let scores = unsafe { panel.key(number) };
                    for i in 0..PANEL {
                        largest[i] = if scores[i] > largest[i] { scores[i] } else { largest[i] };
                    }
                }
                // Where every key is hidden, any number but infinity makes all powers 0.
                let base = largest.map(|x| if x == -C::INFINITY { C::ZERO } else { x });
                let mut sum = [C::ZERO; PANEL];
                for number in 0..panel.n_keys {
                    // SAFETY: the panel has this row.
                    let scores = unsafe { panel.key(number) };
                    for i in 0..PANEL {
                        let power = (scores[i] - base[i]).power();
                        scores[i] = power;
                        sum[i] = sum[i] + power;
                    }
                }
                let mut change = [C::ZERO; PANEL];
                for i in 0..PANEL {
                    change[i] = (self.largest[i] - base[i]).power();
                    self.sum[i] = self.sum[i] * change[i] + sum[i];
                }
                self.largest = largest;
                change
            },
        )
    }
}

/// Replaces scores by the weights, and the gradients of the weights by those of the scores: `logs` are
/// the logarithms of the sums, `means` the sums of weights times gradients.
///
/// # Safety
///
/// The panels are ours and have the same keys.
pub(super) unsafe fn grad_scores<C: Blocks>(
    scores: &Panel<C>,
    grads: &Panel<C>,
    logs: &Lanes<C>,
    means: &Lanes<C>,
) {
    vectorized(
        #[inline(always)]
        || {
            let (logs, means) = (*logs, *means);
            for number in 0..scores.n_keys {
                // SAFETY: the panels have this row.
                let (scores, grads) = unsafe { (scores.key(number), grads.key(number)) };
                for i in 0..PANEL {
                    let weight = (scores[i] - logs[i]).power();
                    scores[i] = weight;
                    grads[i] = weight * (grads[i] - means[i]);
                }
            }
        },
    );
}
