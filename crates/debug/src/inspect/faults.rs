//! Whether there are NaNs or infinities.

use fluvial_core::{DType, Tensor};
use fluvial_tensor::{Complex, bf16, f16};

use super::blocks::each_block;

/// Whether an element is NaN.
pub fn contains_nan(tensor: &Tensor) -> bool {
    contains(
        tensor,
        |x| x.is_nan(),
        |x| x.is_nan(),
        |x| (x.to_bits() & 0x7fff) > 0x7c00,
        |x| (x.to_bits() & 0x7fff) > 0x7f80,
    )
}

/// Whether an element is infinite.
pub fn contains_inf(tensor: &Tensor) -> bool {
    contains(
        tensor,
        |x| x.abs() == f32::INFINITY,
        |x| x.abs() == f64::INFINITY,
        |x| (x.to_bits() & 0x7fff) == 0x7c00,
        |x| (x.to_bits() & 0x7fff) == 0x7f80,
    )
}

#[inline(always)]
fn contains(
    tensor: &Tensor,
    single: impl Fn(f32) -> bool,
    double: impl Fn(f64) -> bool,
    half: impl Fn(f16) -> bool,
    brain: impl Fn(bf16) -> bool,
) -> bool {
    let mut found = false;
    let ended = each_block(tensor, &mut |block| {
        found = match block.dtype() {
            DType::F32 => block.as_slice().is_some_and(|x| any(x, &single)),
            DType::F64 => block.as_slice().is_some_and(|x| any(x, &double)),
            DType::F16 => block.as_slice().is_some_and(|x| any(x, &half)),
            DType::BF16 => block.as_slice().is_some_and(|x| any(x, &brain)),
            DType::C64 => {
                let one = |z: Complex<f32>| single(z.re) | single(z.im);
                block.as_slice().is_some_and(|x| any(x, &one))
            }
            DType::C128 => {
                let one = |z: Complex<f64>| double(z.re) | double(z.im);
                block.as_slice().is_some_and(|x| any(x, &one))
            }
            dtype if dtype.is_stored() => block.to_f64s().into_iter().any(&double),
            _ => false,
        };
        !found && block.dtype().is_inexact()
    });
    found && ended.is_ok()
}

/// Looks at whole chunks without a branch inside, so that vector instructions can do it.
#[inline(always)]
fn any<T: Copy>(elements: &[T], is: &impl Fn(T) -> bool) -> bool {
    elements.chunks(512).any(|chunk| chunk.iter().fold(false, |found, &x| found | is(x)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_element_among_many_is_found_in_every_type_and_layout() {
        for dtype in DType::ALL {
            for (bad, nan, inf) in [
                (f64::NAN, true, false),
                (f64::INFINITY, false, true),
                (f64::NEG_INFINITY, false, true),
                (1.0, false, false),
            ] {
                let mut elements = vec![0.5; 700 * 3];
                elements[1999] = bad;
                let tensor = Tensor::from_f64s(dtype, &elements, &[700, 3]).unwrap();
                let turned = tensor.transpose(0, 1).unwrap();
                for tensor in [tensor, turned] {
                    // One type has no infinities.
                    let inf = inf && dtype != DType::F8E4M3;
                    assert_eq!(contains_nan(&tensor), nan && dtype.is_inexact(), "{dtype} {bad}");
                    assert_eq!(contains_inf(&tensor), inf && dtype.is_inexact(), "{dtype} {bad}");
                }
            }
        }
    }

    #[test]
    fn large_tensors_that_are_not_in_order() {
        let mut elements = vec![0.0f32; 300 * 400];
        elements[119_999] = f32::NAN;
        let tensor = Tensor::from_vec(elements, &[300, 400]).unwrap().transpose(0, 1).unwrap();
        assert!(contains_nan(&tensor) && !contains_inf(&tensor));
        assert!(!contains_nan(&tensor.slice(0, 0, 399, 1).unwrap()));
        assert!(!contains_nan(&Tensor::zeros(DType::F32, &[0, 3]).unwrap()));
    }
}
