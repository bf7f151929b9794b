//! How often which numbers occur, in text.

use std::fmt::Write;

use fluvial_core::{Element, Result, Tensor};
use fluvial_tensor::dispatch;

use super::blocks::each_block;
use super::{Stats, short};

/// Bars of at most `width` letters for the finite elements in so many equal parts of their range, then what is not
/// finite.
pub fn histogram(tensor: &Tensor, bins: usize, width: usize) -> Result<String> {
    let stats = Stats::of(&tensor.clone().into())?;
    let mut out = String::new();
    if stats.finite() > 0 {
        let bins = if stats.min == stats.max { 1 } else { bins.clamp(1, 200) };
        draw(&mut out, &counted(tensor, &stats, bins)?, &stats, width.clamp(1, 500));
    }
    if stats.count == 0 {
        let _ = writeln!(out, "{} has no elements", tensor.ty());
    }
    for (count, name) in [(stats.nan, "NaN"), (stats.inf, "infinite")] {
        if count > 0 {
            let _ = writeln!(out, "{count} of {} are {name}", stats.count);
        }
    }
    Ok(out)
}

fn counted(tensor: &Tensor, stats: &Stats, bins: usize) -> Result<Vec<usize>> {
    let mut counts = vec![0; bins];
    // Halves, since the distance of two numbers may be infinite.
    let (low, span) = (stats.min / 2.0, stats.max / 2.0 - stats.min / 2.0);
    each_block(tensor, &mut |block| {
        dispatch!(block.dtype(), T => {
            for x in block.as_slice::<T>().unwrap_or_default() {
                let x = x.to_f64();
                if x.is_finite() {
                    let part = if span > 0.0 { (x / 2.0 - low) / span } else { 0.0 };
                    counts[((part * bins as f64) as usize).min(bins - 1)] += 1;
                }
            }
        });
        true
    })?;
    Ok(counts)
}

fn draw(out: &mut String, counts: &[usize], stats: &Stats, width: usize) {
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let step = (stats.max / 2.0 - stats.min / 2.0) / counts.len() as f64 * 2.0;
    let ends: Vec<String> = (0..counts.len())
        .map(|i| short(stats.min + step * i as f64))
        .chain([short(stats.max)])
        .collect();
    let room = ends.iter().map(String::len).max().unwrap_or(0);
    for (i, &count) in counts.iter().enumerate() {
        let bar = bar(count as f64 / most as f64, width);
        let _ = writeln!(out, "{:>room$} .. {:>room$} {bar} {count}", ends[i], ends[i + 1]);
    }
}

/// A bar with a last letter of eight widths; what is not zero is seen.
fn bar(part: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part * width as f64 * 8.0).round() as usize;
    let eighths = if part > 0.0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use fluvial_core::DType;

    use super::*;

    fn check(elements: &[f64], bins: usize, expected: Expect) {
        let tensor = Tensor::from_f64s(DType::F64, elements, &[elements.len()]).unwrap();
        expected.assert_eq(&histogram(&tensor, bins, 8).unwrap());
    }

    #[test]
    fn bars() {
        check(
            &[0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0],
            4,
            expect![[r#"
            0 .. 1 ██▋ 1
            1 .. 2 ████████ 3
            2 .. 3 █████▍ 2
            3 .. 4 ██▋ 1
        "#]],
        );
        check(
            &[5.0, 5.0],
            4,
            expect![[r#"
            5 .. 5 ████████ 2
        "#]],
        );
        check(
            &[f64::NAN, 1.0, 2.0, f64::INFINITY, f64::NAN],
            2,
            expect![[r#"
              1 .. 1.5 ████████ 1
            1.5 ..   2 ████████ 1
            2 of 5 are NaN
            1 of 5 are infinite
        "#]],
        );
        check(
            &[f64::NAN],
            2,
            expect![[r#"
            1 of 1 are NaN
        "#]],
        );
        check(
            &[],
            2,
            expect![[r#"
            f64[0] has no elements
        "#]],
        );
        check(
            &[-1.7e308, 1.7e308],
            2,
            expect![[r#"
            -1.7e308 ..        0 ████████ 1
                   0 ..  1.7e308 ████████ 1
        "#]],
        );
    }
}
