//! Sorting numbers of 32 bits by their digits.
//!
//! An element becomes a word: above, a key whose order as an unsigned number is that of the elements;
//! below, the position. All words differ, and their order is that of a stable sort.

use fluvial_tensor::{Element, Result, memory};

use crate::lanes::{Parts, fill_chunks, run_tasks};
use crate::simd::vectorized;

/// From so many elements on, digits are sorted by.
const MANY: usize = 4096;

/// Bits of a digit, and how many values it has.
const DIGIT: u32 = 11;
const VALUES: usize = 1 << DIGIT;

/// Parts that are counted and moved by themselves.
const CHUNK: usize = 1 << 17;

/// Elements that are compared at once.
const BLOCK: usize = 512;

/// A number that has a key.
pub(super) trait Keyed: Element {
    /// An unsigned number, ordered as the elements are.
    fn key(self) -> u32;
}

impl Keyed for f32 {
    #[inline(always)]
    fn key(self) -> u32 {
        // Both zeros are equal, and all NaN are the greatest.
        let bits = (self + 0.0).to_bits();
        let flip = ((bits as i32) >> 31) as u32 | 1 << 31;
        if self.is_nan() { u32::MAX } else { bits ^ flip }
    }
}

impl Keyed for i32 {
    #[inline(always)]
    fn key(self) -> u32 {
        self as u32 ^ 1 << 31
    }
}

/// Sorts lanes; it keeps its memory from one to the next.
#[derive(Default)]
pub(super) struct Sorter {
    words: Vec<u64>,
    other: Vec<u64>,
    counts: Vec<usize>,
}

impl Sorter {
    /// The positions of the sorted elements.
    pub(super) fn sort<T: Keyed>(
        &mut self,
        lane: &[T],
        descending: bool,
        out: &mut [i64],
    ) -> Result<()> {
        let flip = if descending { u32::MAX } else { 0 };
        memory::resize(&mut self.words, lane.len(), 0)?;
        fill_chunks(&mut self.words, CHUNK, |first, words| {
            vectorized(
                #[inline(always)]
                || {
                    let lane = &lane[first..first + words.len()];
                    for (i, (word, &x)) in words.iter_mut().zip(lane).enumerate() {
                        *word = u64::from(x.key() ^ flip) << 32 | (first + i) as u64;
                    }
                },
            );
            Ok(())
        })?;
        match lane.len() < MANY {
            true => self.words.sort_unstable(),
            false => [32, 32 + DIGIT, 32 + 2 * DIGIT]
                .into_iter()
                .try_for_each(|shift| self.sort_by_digit(shift))?,
        }
        let words = &self.words;
        fill_chunks(out, CHUNK, |first, out| {
            let words = &words[first..first + out.len()];
            out.iter_mut().zip(words).for_each(|(out, &word)| *out = i64::from(word as u32));
            Ok(())
        })
    }

    /// Sorts by one digit, equal ones in their order: counts the digits of each chunk, and moves its
    /// words to where those of smaller digits and of earlier chunks end.
    fn sort_by_digit(&mut self, shift: u32) -> Result<()> {
        let n_chunks = self.words.len().div_ceil(CHUNK);
        self.counts.clear();
        memory::resize(&mut self.counts, n_chunks * VALUES, 0)?;
        memory::resize(&mut self.other, self.words.len(), 0)?;
        let words = &self.words;
        let chunk = |i: usize| &words[i * CHUNK..words.len().min((i + 1) * CHUNK)];
        let digit = |word: u64| (word >> shift) as usize % VALUES;
        fill_chunks(&mut self.counts, VALUES, |first, counts| {
            chunk(first / VALUES).iter().for_each(|&word| counts[digit(word)] += 1);
            Ok(())
        })?;
        let mut place = 0;
        for value in 0..VALUES {
            for chunk in 0..n_chunks {
                let count = &mut self.counts[chunk * VALUES + value];
                place += std::mem::replace(count, place);
            }
        }
        let (counts, other) = (Parts::new(&mut self.counts), Parts::new(&mut self.other));
        run_tasks(n_chunks, |i| {
            // SAFETY: each chunk has counts of its own.
            let places = unsafe { counts.get(i * VALUES..(i + 1) * VALUES) };
            for &word in chunk(i) {
                let place = &mut places[digit(word)];
                // SAFETY: each word of each chunk has a place of its own.
                let to = unsafe { other.get(*place..*place + 1) };
                to[0] = word;
                *place += 1;
            }
            Ok(())
        })?;
        std::mem::swap(&mut self.words, &mut self.other);
        Ok(())
    }

    /// The positions of the `out.len()` greatest or smallest elements in order: of those found so far
    /// the best are kept, and blocks without a better one are passed over.
    pub(super) fn select<T: Keyed>(
        &mut self,
        lane: &[T],
        largest: bool,
        out: &mut [i64],
    ) -> Result<()> {
        let k = out.len();
        if k == 0 {
            return Ok(());
        }
        let flip = if largest { u32::MAX } else { 0 };
        self.words.clear();
        let mut worst = u32::MAX;
        let mut keys = [0u32; BLOCK];
        for (block, values) in lane.chunks(BLOCK).enumerate() {
            let best = vectorized(
                #[inline(always)]
                || {
                    let mut best = u32::MAX;
                    for (key, &x) in keys.iter_mut().zip(values) {
                        *key = x.key() ^ flip;
                        best = best.min(*key);
                    }
                    best
                },
            );
            // Of equal elements the first ones are wanted, and they have been seen.
            if best >= worst && self.words.len() >= k {
                continue;
            }
            let full = self.words.len() >= k;
            for (i, &key) in keys[..values.len()].iter().enumerate() {
                if key < worst || !full {
                    let word = u64::from(key) << 32 | (block * BLOCK + i) as u64;
                    memory::push(&mut self.words, word)?;
                }
            }
            if self.words.len() >= 2 * k + BLOCK {
                self.words.select_nth_unstable(k - 1);
                self.words.truncate(k);
                worst = (self.words[k - 1] >> 32) as u32;
            }
        }
        if k < self.words.len() {
            self.words.select_nth_unstable(k);
            self.words.truncate(k);
        }
        self.words.sort_unstable();
        out.iter_mut().zip(&self.words).for_each(|(out, &word)| *out = i64::from(word as u32));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn words_are_sorted_and_selected_as_by_comparison() {
        let mut rng = Rng::new(77);
        for n in [1, 2, 511, 4095, 4096, 5000, 300_000] {
            let distinct = [3, 1 << 20][rng.below(2)];
            let lane: Vec<f32> =
                (0..n).map(|_| rng.below(distinct) as f32 - (distinct / 2) as f32).collect();
            for flag in [false, true] {
                let mut want: Vec<i64> = (0..n as i64).collect();
                let value = |&i: &i64| lane[i as usize] as i64 * if flag { -1 } else { 1 };
                want.sort_by_key(value);
                let mut found = vec![0; n];
                Sorter::default().sort(&lane, flag, &mut found).unwrap();
                assert!(found == want, "{n}");
                for k in [0, 1, n / 3, n.min(100), n] {
                    let mut found = vec![0; k];
                    Sorter::default().select(&lane, flag, &mut found).unwrap();
                    assert!(found == want[..k], "{k} of {n}");
                }
            }
        }
        assert_eq!((-0.0f32).key(), 0.0f32.key());
        assert!((-1.0f32).key() < 0.0f32.key() && f32::INFINITY.key() < f32::NAN.key());
        assert!((-f32::NAN).key() == u32::MAX && i32::MIN.key() == 0);
    }
}
