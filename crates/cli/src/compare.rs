//! How two tensors differ.

use fluvial::core::{DType, Tensor};

/// What counts as equal: a difference of at most `absolute + relative * |b|`.
#[derive(Clone, Copy)]
pub struct Tolerance {
    /// Allowed whatever the size of the numbers.
    pub absolute: f64,
    /// Allowed for each unit of the second number.
    pub relative: f64,
}

impl Tolerance {
    /// No difference is allowed.
    pub const EXACT: Tolerance = Tolerance { absolute: 0.0, relative: 0.0 };
}

/// The differences of two tensors of the same type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Elements that differ by more than is allowed.
    pub n_different: usize,
    /// The largest difference.
    pub largest: f64,
    /// The largest difference by the size of the second number.
    pub largest_relative: f64,
}

/// Compares elements. NaN equals NaN, and differs infinitely from numbers.
pub fn compare(a: &Tensor, b: &Tensor, allowed: Tolerance) -> Difference {
    let mut found = Difference::default();
    if a.bitwise_eq(b) {
        return found;
    }
    let mut note = |gap: f64, size: f64| {
        if gap == 0.0 {
            return;
        }
        found.largest = found.largest.max(gap);
        found.largest_relative = found.largest_relative.max(gap / size.max(f64::MIN_POSITIVE));
        if gap > allowed.absolute + allowed.relative * size || gap.is_infinite() {
            found.n_different += 1;
        }
    };
    let whole = |x: &Tensor| x.cast(DType::I64).and_then(|x| x.to_vec::<i64>());
    if !a.dtype().is_float()
        && let (Ok(a), Ok(b)) = (whole(a), whole(b))
    {
        a.iter().zip(&b).for_each(|(x, y)| note(x.abs_diff(*y) as f64, y.unsigned_abs() as f64));
        return found;
    }
    for (x, y) in a.to_f64s().into_iter().zip(b.to_f64s()) {
        let gap = match (x == y || x.is_nan() && y.is_nan(), (x - y).abs()) {
            (true, _) => 0.0,
            (_, gap) if gap.is_nan() => f64::INFINITY,
            (_, gap) => gap,
        };
        note(gap, y.abs());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f32]) -> Tensor {
        Tensor::from_slice(values, &[values.len()]).unwrap()
    }

    #[test]
    fn tolerances() {
        let (a, b) = (of(&[1.0, 2.0, f32::NAN, 0.0]), of(&[1.5, 2.0, f32::NAN, -0.0]));
        let found = compare(&a, &b, Tolerance::EXACT);
        assert_eq!((found.n_different, found.largest), (1, 0.5));
        assert!((found.largest_relative - 1.0 / 3.0).abs() < 1e-12);
        for (absolute, relative, n) in [(0.5, 0.0, 0), (0.4, 0.0, 1), (0.0, 0.34, 0)] {
            assert_eq!(compare(&a, &b, Tolerance { absolute, relative }).n_different, n);
        }
    }

    #[test]
    fn what_is_no_number_differs() {
        let allowed = Tolerance { absolute: 1e30, relative: 1.0 };
        for (a, b) in
            [(f32::NAN, 1.0), (1.0, f32::NAN), (f32::INFINITY, 1.0), (1.0, f32::NEG_INFINITY)]
        {
            assert_eq!(compare(&of(&[a]), &of(&[b]), allowed).n_different, 1, "{a} {b}");
        }
        let same = compare(&of(&[f32::INFINITY]), &of(&[f32::INFINITY]), Tolerance::EXACT);
        assert_eq!(same, Difference::default());
    }

    #[test]
    fn whole_numbers_are_not_rounded() {
        let of = |n: i64| Tensor::from_slice(&[n], &[1]).unwrap();
        let found = compare(&of(i64::MAX), &of(i64::MAX - 1), Tolerance::EXACT);
        assert_eq!((found.n_different, found.largest), (1, 1.0));
        assert_eq!(compare(&of(i64::MIN), &of(i64::MAX), Tolerance::EXACT).n_different, 1);
    }
}
