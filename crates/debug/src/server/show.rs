//! Values in words: a line that sums a tensor up, its statistics, its elements.

use fluvial_core::{DType, Element, Result, Tensor, Value};
use fluvial_tensor::dispatch;

/// Tensors with more elements than this are not looked through unless somebody asks for it.
const MAX_SUMMED: usize = 1 << 24;
/// Tensors with at most this many elements are shown whole.
const MAX_WHOLE: usize = 8;

/// How elements are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whole numbers in base 16.
    pub hex: bool,
}

/// What is to be known of the elements of a tensor. NaN and infinities are counted, and left out of the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stats {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// How many are NaN.
    pub n_nan: usize,
    /// How many are infinite.
    pub n_inf: usize,
    /// A number that is the same for the same bits.
    pub hash: u64,
}

/// The statistics of a tensor.
pub fn stats(tensor: &Tensor) -> Result<Stats> {
    let tensor = tensor.contiguous()?;
    let mut hash = Fnv::new();
    for &size in tensor.dims() {
        hash.add(&size.to_le_bytes());
    }
    hash.add(tensor.as_bytes().unwrap_or(&[]));
    let (mut n, mut n_nan, mut n_inf, mut mean, mut squares) = (0usize, 0, 0, 0.0f64, 0.0f64);
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    dispatch!(tensor.dtype(), T => for &element in tensor.as_slice::<T>().unwrap_or(&[]) {
        let x = <T as Element>::to_f64(element);
        if x.is_nan() {
            n_nan += 1;
        } else if x.is_infinite() {
            n_inf += 1;
        } else {
            n += 1;
            let off = x - mean;
            mean += off / n as f64;
            squares += off * (x - mean);
            min = min.min(x);
            max = max.max(x);
        }
    });
    if n == 0 {
        (mean, squares, min, max) = (f64::NAN, f64::NAN, f64::NAN, f64::NAN);
    }
    let sd = (squares / n.max(1) as f64).sqrt();
    Ok(Stats { mean, sd, min, max, n_nan, n_inf, hash: hash.0 })
}

/// A value in one line: `f32[64, 128] mean=0.01 sd=0.98 min=-3.1 max=3.2 nan=0 inf=0 #a91c`.
pub fn summary(value: &Value, style: Style) -> String {
    let tensor = match value {
        Value::Tensor(tensor) => tensor,
        Value::List(list) => return format!("{list:?}"),
    };
    if tensor.rank() == 0 {
        return element(tensor, &[], style);
    }
    if tensor.numel() <= MAX_WHOLE {
        return format!("{} {}", tensor.ty(), elements(tensor, style, MAX_WHOLE));
    }
    if tensor.numel() > MAX_SUMMED {
        return format!("{} (expand it for statistics)", tensor.ty());
    }
    match stats(tensor) {
        Ok(stats) => format!(
            "{} mean={} sd={} min={} max={} nan={} inf={} #{:04x}",
            tensor.ty(),
            number(stats.mean),
            number(stats.sd),
            number(stats.min),
            number(stats.max),
            stats.n_nan,
            stats.n_inf,
            stats.hash & 0xffff
        ),
        Err(error) => format!("{} ({error})", tensor.ty()),
    }
}

/// A part of a tensor in one line, without looking at all of it.
pub fn row(tensor: &Tensor, style: Style) -> String {
    match tensor.rank() {
        0 => element(tensor, &[], style),
        _ => elements(tensor, style, MAX_WHOLE),
    }
}

/// A value with its elements, cut off after about `limit` bytes.
pub fn text(value: &Value, style: Style, limit: usize) -> String {
    match value {
        Value::Tensor(tensor) => elements(tensor, style, limit / 8),
        Value::List(_) => summary(value, style),
    }
}

/// One element.
pub fn element(tensor: &Tensor, index: &[usize], style: Style) -> String {
    let Ok(x) = tensor.get_f64(index) else { return "?".to_string() };
    match tensor.dtype() {
        DType::Bool => (x != 0.0).to_string(),
        dtype if dtype.is_int() => {
            let whole = exact(tensor, index).unwrap_or(x as i64);
            if style.hex { format!("{whole:#x}") } else { whole.to_string() }
        }
        DType::F64 => format!("{x}"),
        _ => format!("{}", x as f32),
    }
}

/// A number with at most six digits.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || !x.is_finite() {
        format!("{x}")
    } else if (1e-4..1e6).contains(&size) {
        let digits = (5 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{x:.digits$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        }
    } else {
        format!("{x:.4e}")
    }
}

/// The whole number at an index, which `f64` may not hold.
fn exact(tensor: &Tensor, index: &[usize]) -> Option<i64> {
    let mut part = tensor.clone();
    for &i in index {
        part = part.index(0, i).ok()?;
    }
    dispatch!(part.dtype(), T => part.item::<T>().ok().map(<T as Element>::to_i64))
}

/// The elements, in brackets, the first `limit` of them.
fn elements(tensor: &Tensor, style: Style, limit: usize) -> String {
    let mut left = limit.max(1);
    let mut text = String::new();
    write_elements(tensor, style, &mut left, &mut text);
    text
}

fn write_elements(tensor: &Tensor, style: Style, left: &mut usize, text: &mut String) {
    if tensor.rank() == 0 {
        *left = left.saturating_sub(1);
        *text += &element(tensor, &[], style);
        return;
    }
    text.push('[');
    for i in 0..tensor.dims()[0] {
        if i > 0 {
            *text += ", ";
        }
        if *left == 0 {
            text.push('…');
            break;
        }
        match tensor.index(0, i) {
            // Rows without elements would never use up what is left.
            Ok(part) if part.numel() == 0 => {
                *left -= 1;
                *text += "[]";
            }
            Ok(part) => write_elements(&part, style, left, text),
            Err(_) => break,
        }
    }
    text.push(']');
}

/// A short hash of bytes.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(tensor: Tensor, expected: Expect) {
        expected.assert_eq(&summary(&tensor.into(), Style::default()));
    }

    #[test]
    fn a_line_for_a_tensor() {
        check(Tensor::scalar(0.1f32), expect!["0.1"]);
        check(Tensor::scalar(i64::MAX), expect!["9223372036854775807"]);
        check(Tensor::from_slice(&[true, false], &[2]).unwrap(), expect!["bool[2] [true, false]"]);
        let mut values: Vec<f32> = (0..16).map(|i| i as f32).collect();
        values[3] = f32::NAN;
        values[5] = f32::INFINITY;
        check(
            Tensor::from_vec(values, &[4, 4]).unwrap(),
            expect!["f32[4, 4] mean=8 sd=4.70562 min=0 max=15 nan=1 inf=1 #b088"],
        );
        check(Tensor::zeros(DType::F32, &[0, 3]).unwrap(), expect!["f32[0, 3] []"]);
        let nan = Tensor::full(&[10], f64::NAN).unwrap();
        check(nan, expect!["f64[10] mean=NaN sd=NaN min=NaN max=NaN nan=10 inf=0 #512f"]);
    }

    #[test]
    fn elements_are_cut_off() {
        let value = Value::from(Tensor::zeros(DType::I32, &[2, 3]).unwrap());
        assert_eq!(text(&value, Style::default(), 32), "[[0, 0, 0], [0, …]]");
        assert_eq!(text(&value, Style::default(), 1 << 16), "[[0, 0, 0], [0, 0, 0]]");
        let row = row(&Tensor::full(&[3], 255i64).unwrap(), Style { hex: true });
        assert_eq!(row, "[0xff, 0xff, 0xff]");
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 1.0, -3.1, 1.0 / 3.0, 123456.7, 1e7, 1e-7, f64::NAN, 100000.0];
        let texts: Vec<String> = numbers.into_iter().map(number).collect();
        let expected =
            ["0", "1", "-3.1", "0.333333", "123457", "1.0000e7", "1.0000e-7", "NaN", "100000"];
        assert_eq!(texts, expected);
    }
}
