//! Values in words: a line that sums one up, its elements.

use fluvial_core::{DType, Element, Tensor, Value};
use fluvial_tensor::dispatch;

use crate::inspect;

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

/// A value in one line: `f32[64, 128] mean=0.01 sd=0.98 min=-3.1 max=3.2 nan=0 inf=0 #a91c`.
pub fn summary(value: &Value, style: Style) -> String {
    let tensor = match value {
        Value::Tensor(tensor) => tensor,
        Value::Device(here) => match here.host() {
            Ok(tensor) => tensor,
            Err(_) => return format!("{here:?}"),
        },
        Value::List(list) => return format!("{list:?}"),
        Value::Channel(channel) => return format!("{channel:?}"),
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
    inspect::line(value)
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
        Value::Device(here) if let Ok(tensor) = here.host() => elements(tensor, style, limit / 8),
        Value::Device(_) | Value::List(_) | Value::Channel(_) => summary(value, style),
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
            expect!["f32[4, 4] mean=8 sd=4.706 min=0 max=15 nan=1 inf=1 #cecd"],
        );
        check(Tensor::zeros(DType::F32, &[0, 3]).unwrap(), expect!["f32[0, 3] []"]);
        let nan = Tensor::full(&[10], f64::NAN).unwrap();
        check(nan, expect!["f64[10] nan=10 inf=0 #d725"]);
    }

    #[test]
    fn elements_are_cut_off() {
        let value = Value::from(Tensor::zeros(DType::I32, &[2, 3]).unwrap());
        assert_eq!(text(&value, Style::default(), 32), "[[0, 0, 0], [0, …]]");
        assert_eq!(text(&value, Style::default(), 1 << 16), "[[0, 0, 0], [0, 0, 0]]");
        let row = row(&Tensor::full(&[3], 255i64).unwrap(), Style { hex: true });
        assert_eq!(row, "[0xff, 0xff, 0xff]");
    }
}
