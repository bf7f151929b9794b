//! `Display` in full, `Debug` in one line.

use super::Tensor;
use crate::dispatch;
use crate::dtype::DType;
use crate::element::Element;
use std::fmt;

/// How many elements are shown before axes are cut, what remains of a cut axis at each end, and
/// whether rows go on lines of their own.
struct Style {
    max_elements: usize,
    first: usize,
    last: usize,
    lines: bool,
}

const FULL: Style = Style { max_elements: 1000, first: 3, last: 3, lines: true };
const SHORT: Style = Style { max_elements: 16, first: 2, last: 0, lines: false };

/// The values like NumPy's; above 1000 elements long axes are cut in the middle.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_elements(self, &FULL, f)
    }
}

/// The type, then the first values, in one line.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.ty())?;
        write_elements(self, &SHORT, f)
    }
}

fn write_elements(tensor: &Tensor, style: &Style, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if tensor.numel() == 0 {
        return f.write_str("[]");
    }
    write_axis(tensor, style, 0, 0, f)
}

/// Writes the elements along `axis` and all further axes, starting `distance` from the first.
fn write_axis(
    tensor: &Tensor,
    style: &Style,
    axis: usize,
    distance: isize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let Some(&n) = tensor.dims().get(axis) else {
        return write_element(tensor, distance, f);
    };
    let is_cut = tensor.numel() > style.max_elements && n > style.first + style.last;
    f.write_str("[")?;
    let mut i = 0;
    while i < n {
        if i > 0 {
            write_separator(tensor, style, axis, f)?;
        }
        if is_cut && i == style.first {
            f.write_str("..")?;
            i = n - style.last;
            continue;
        }
        write_axis(tensor, style, axis + 1, distance + i as isize * tensor.strides()[axis], f)?;
        i += 1;
    }
    f.write_str("]")
}

/// Between rows a line break, one more for each further axis, and an indent to the bracket.
fn write_separator(
    tensor: &Tensor,
    style: &Style,
    axis: usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let inner_axes = tensor.rank() - axis - 1;
    if !style.lines || inner_axes == 0 {
        return f.write_str(", ");
    }
    write!(f, ",{}{}", "\n".repeat(inner_axes), " ".repeat(axis + 1))
}

fn write_element(tensor: &Tensor, distance: isize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    dispatch!(tensor.dtype, T => {
        // SAFETY: the distance is that of an index within the tensor's sizes.
        let value = unsafe { tensor.data_ptr().cast::<T>().offset(distance).read() };
        if T::DTYPE.is_complex() {
            return write_complex(T::DTYPE, value.to_f64(), value.imaginary(), f);
        }
        match (T::DTYPE.is_float(), T::DTYPE.is_bool()) {
            (true, _) if T::DTYPE.size() < 8 => write!(f, "{:?}", value.to_f64() as f32),
            (true, _) => write!(f, "{:?}", value.to_f64()),
            (_, true) => write!(f, "{}", value.to_i64() != 0),
            _ if T::DTYPE == DType::U64 => write!(f, "{}", value.to_i64() as u64),
            _ => write!(f, "{}", value.to_i64()),
        }
    })
}

/// `1.0+2.0j`, as NumPy and Python write it.
fn write_complex(
    dtype: DType,
    real: f64,
    imaginary: f64,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match dtype {
        DType::C64 => write!(f, "{:?}{:+?}j", real as f32, imaginary as f32),
        _ => write!(f, "{real:?}{imaginary:+?}j"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arange(dtype: DType, dims: &[usize]) -> Tensor {
        let values: Vec<f64> = (0..dims.iter().product()).map(|i: usize| i as f64).collect();
        Tensor::from_f64s(dtype, &values, dims).unwrap()
    }

    #[test]
    fn display_breaks_lines_like_numpy() {
        assert_eq!(Tensor::scalar(1.5_f32).to_string(), "1.5");
        assert_eq!(arange(DType::I32, &[3]).to_string(), "[0, 1, 2]");
        assert_eq!(arange(DType::F16, &[2, 3]).to_string(), "[[0.0, 1.0, 2.0],\n [3.0, 4.0, 5.0]]");
        assert_eq!(
            arange(DType::U8, &[2, 2, 2]).to_string(),
            "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]"
        );
        assert_eq!(arange(DType::Bool, &[2]).to_string(), "[false, true]");
        assert_eq!(arange(DType::F32, &[0]).to_string(), "[]");
        assert_eq!(arange(DType::F32, &[1 << 40, 0]).to_string(), "[]");
    }

    #[test]
    fn values_read_back() {
        let x = Tensor::from_slice(&[0.1_f32, -0.0, 1e-7, f32::NAN, f32::INFINITY], &[5]).unwrap();
        assert_eq!(x.to_string(), "[0.1, -0.0, 1e-7, NaN, inf]");
        let y = Tensor::from_slice(&[0.1_f64, 1.0 / 3.0], &[2]).unwrap();
        assert_eq!(y.to_string(), "[0.1, 0.3333333333333333]");
        assert_eq!(Tensor::scalar(u64::MAX).to_string(), "18446744073709551615");
        assert_eq!(Tensor::scalar(i64::MIN).to_string(), "-9223372036854775808");
    }

    #[test]
    fn long_axes_are_cut() {
        assert_eq!(
            arange(DType::I64, &[2, 1000]).to_string(),
            "[[0, 1, 2, .., 997, 998, 999],\n [1000, 1001, 1002, .., 1997, 1998, 1999]]"
        );
        assert!(arange(DType::I64, &[1000]).to_string().contains("500"));
        let rows = arange(DType::U8, &[500, 3]).to_string();
        assert_eq!(rows.lines().count(), 7);
        assert!(rows.contains("\n ..,\n"), "{rows}");
    }

    #[test]
    fn debug_is_one_short_line() {
        let x = arange(DType::F32, &[2, 3]);
        assert_eq!(format!("{x:?}"), "f32[2, 3] [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]");
        let x = arange(DType::F32, &[4, 5]);
        assert_eq!(format!("{x:?}"), "f32[4, 5] [[0.0, 1.0, ..], [5.0, 6.0, ..], ..]");
        let back = x.slice(1, 4, 5, -1).unwrap();
        assert_eq!(format!("{back:?}"), "f32[4, 5] [[4.0, 3.0, ..], [9.0, 8.0, ..], ..]");
        assert_eq!(format!("{:?}", Tensor::scalar(2_i8)), "i8[] 2");
    }
}
