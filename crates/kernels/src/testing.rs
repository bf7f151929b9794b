//! Random data for the tests of this crate.

use fluvial_tensor::{DType, Tensor};

/// A small deterministic generator (SplitMix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    pub(crate) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// A contiguous tensor of numbers between -8 and 8 (0 and 8 if unsigned) that every dtype can hold,
    /// whole ones if the dtype is an integer.
    pub(crate) fn tensor(&mut self, dtype: DType, dims: &[usize]) -> Tensor {
        let low = if dtype.is_signed() || dtype.is_float() { -8.0 } else { 0.0 };
        let count = dims.iter().product();
        let values: Vec<f64> = (0..count)
            .map(|_| {
                let value = (self.uniform(low, 8.0) * 8.0).round() / 8.0;
                if dtype.is_float() { value } else { value.trunc() }
            })
            .collect();
        Tensor::from_f64s(dtype, &values, dims).unwrap()
    }

    /// The same values behind a random layout: permuted axes, steps and negative strides.
    pub(crate) fn scramble(&mut self, x: &Tensor) -> Tensor {
        let rank = x.rank();
        let mut order: Vec<usize> = (0..rank).collect();
        (1..rank).for_each(|i| order.swap(i, self.below(i + 1)));
        let mut inverse = vec![0; rank];
        order.iter().enumerate().for_each(|(at, &axis)| inverse[axis] = at);
        let mut layout =
            x.permute(&order).unwrap().contiguous().unwrap().permute(&inverse).unwrap();
        for axis in 0..rank {
            let size = layout.dims()[axis];
            if size > 1 && self.below(2) == 0 {
                let flipped = layout.slice(axis, size - 1, size, -1).unwrap().contiguous().unwrap();
                layout = flipped.slice(axis, size - 1, size, -1).unwrap();
            }
        }
        layout
    }
}
