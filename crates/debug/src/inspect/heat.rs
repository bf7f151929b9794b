//! A tensor as a picture.

use std::fmt::Write;

use fluvial_core::{Element, Result, Tensor};
use fluvial_tensor::dispatch;

use super::blocks::each_block;
use super::short;

/// How large a picture may be, and of what it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// How many letters a line may have.
    pub width: usize,
    /// How many lines there may be, the legend apart.
    pub height: usize,
    /// Whether to use colours, as terminals have them, two rows in a line.
    pub colours: bool,
}

const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
/// From dark blue over green to yellow, by their numbers in the palette of 256 colours.
const COLOURS: [u8; 11] = [17, 18, 24, 30, 36, 42, 78, 114, 150, 186, 228];
const NAN_COLOUR: u8 = 201;
const INF_COLOUR: u8 = 196;

/// A picture of a tensor, the last axis from left to right and all others from top to bottom, with a legend. What does
/// not fit is scaled down: a cell shows the mean of its elements, or that one is NaN or infinite.
pub fn heat_map(tensor: &Tensor, canvas: &Canvas) -> Result<String> {
    let cells = Cells::of(tensor, canvas)?;
    if cells.rows == 0 || cells.columns == 0 {
        return Ok(format!("{} has no elements\n", tensor.ty()));
    }
    let mut out = match canvas.colours {
        true => coloured(&cells),
        false => shaded(&cells),
    };
    legend(&mut out, &cells, canvas.colours);
    Ok(out)
}

#[derive(Clone, Copy, Default)]
struct Cell {
    sum: f64,
    finite: u64,
    nan: bool,
    inf: bool,
}

impl Cell {
    fn mean(&self) -> Option<f64> {
        (!self.nan && !self.inf && self.finite > 0).then(|| self.sum / self.finite as f64)
    }
}

/// The cells of the picture, and how many elements are in one.
struct Cells {
    rows: usize,
    columns: usize,
    cells: Vec<Cell>,
    scale: (usize, usize),
    low: f64,
    high: f64,
}

impl Cells {
    fn of(tensor: &Tensor, canvas: &Canvas) -> Result<Cells> {
        let width = tensor.dims().last().copied().unwrap_or(1);
        let height = tensor.numel().checked_div(width).unwrap_or(0);
        let lines = canvas.height.clamp(1, 1000) * if canvas.colours { 2 } else { 1 };
        let scale =
            (height.div_ceil(lines).max(1), width.div_ceil(canvas.width.clamp(1, 1000)).max(1));
        let (rows, columns) = (height.div_ceil(scale.0), width.div_ceil(scale.1));
        let mut cells = vec![Cell::default(); rows * columns];
        let mut number = 0;
        each_block(tensor, &mut |block| {
            dispatch!(block.dtype(), T => {
                for x in block.as_slice::<T>().unwrap_or_default() {
                    let (row, column) = (number / width / scale.0, number % width / scale.1);
                    let (cell, x) = (&mut cells[row * columns + column], x.to_f64());
                    cell.nan |= x.is_nan();
                    cell.inf |= x.is_infinite();
                    if x.is_finite() {
                        cell.sum += x;
                        cell.finite += 1;
                    }
                    number += 1;
                }
            });
            true
        })?;
        let means = || cells.iter().filter_map(Cell::mean).filter(|mean| mean.is_finite());
        let low = means().fold(f64::INFINITY, f64::min);
        let high = means().fold(f64::NEG_INFINITY, f64::max);
        Ok(Cells { rows, columns, cells, scale, low, high })
    }

    /// The part of the range that a number is at, as one of `n` levels.
    fn level(&self, mean: f64, n: usize) -> usize {
        let span = self.high / 2.0 - self.low / 2.0;
        let part = if span > 0.0 { (mean / 2.0 - self.low / 2.0) / span } else { 0.5 };
        ((part * n as f64) as usize).min(n - 1)
    }

    fn colour(&self, row: usize, column: usize) -> u8 {
        let cell = &self.cells[row * self.columns + column];
        match cell.mean() {
            Some(mean) => COLOURS[self.level(mean, COLOURS.len())],
            None if cell.nan => NAN_COLOUR,
            None => INF_COLOUR,
        }
    }
}

fn shaded(cells: &Cells) -> String {
    let mut out = String::new();
    for row in cells.cells.chunks(cells.columns) {
        out.extend(row.iter().map(|cell| match cell.mean() {
            Some(mean) => SHADES[cells.level(mean, SHADES.len())],
            None if cell.nan => 'N',
            None => 'I',
        }));
        out.push('\n');
    }
    out
}

/// Each letter is an upper half in one colour on a ground of another.
fn coloured(cells: &Cells) -> String {
    let mut out = String::new();
    for row in (0..cells.rows).step_by(2) {
        for column in 0..cells.columns {
            let upper = cells.colour(row, column);
            let _ = match row + 1 < cells.rows {
                true => {
                    let lower = cells.colour(row + 1, column);
                    write!(out, "\x1b[38;5;{upper};48;5;{lower}m▀")
                }
                false => write!(out, "\x1b[0;38;5;{upper}m▀"),
            };
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

fn legend(out: &mut String, cells: &Cells, colours: bool) {
    let mut parts = Vec::new();
    if cells.low <= cells.high {
        let ramp: String = match colours {
            true => {
                let ramp = COLOURS.iter().map(|colour| format!("\x1b[38;5;{colour}m█"));
                ramp.chain(["\x1b[0m".to_string()]).collect()
            }
            false => SHADES.iter().collect(),
        };
        parts.push(format!("{} {ramp} {}", short(cells.low), short(cells.high)));
    }
    let mut mark = |letter: char, colour: u8, name: &str| match colours {
        true => parts.push(format!("\x1b[38;5;{colour}m█\x1b[0m {name}")),
        false => parts.push(format!("{letter} {name}")),
    };
    if cells.cells.iter().any(|cell| cell.nan) {
        mark('N', NAN_COLOUR, "NaN");
    }
    if cells.cells.iter().any(|cell| cell.inf && !cell.nan) {
        mark('I', INF_COLOUR, "infinite");
    }
    if cells.scale != (1, 1) {
        parts.push(format!("a cell is the mean of {}x{} elements", cells.scale.0, cells.scale.1));
    }
    let _ = writeln!(out, "{}", parts.join("  "));
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use fluvial_core::DType;

    use super::*;

    fn check(elements: &[f64], dims: &[usize], canvas: (usize, usize, bool), expected: Expect) {
        let tensor = Tensor::from_f64s(DType::F32, elements, dims).unwrap();
        let (width, height, colours) = canvas;
        let canvas = Canvas { width, height, colours };
        expected.assert_eq(&heat_map(&tensor, &canvas).unwrap().replace('\x1b', "^"));
    }

    #[test]
    fn pictures() {
        let ramp: Vec<f64> = (0..24).map(f64::from).collect();
        check(
            &ramp,
            &[4, 6],
            (20, 10, false),
            expect![[r#"
            ·····░
            ░░░░▒▒
            ▒▒▓▓▓▓
            ▓█████
            0 ·░▒▓█ 23
        "#]],
        );
        check(
            &ramp,
            &[4, 6],
            (3, 2, false),
            expect![[r#"
            ··░
            ▓██
            3.5 ·░▒▓█ 19.5  a cell is the mean of 2x2 elements
        "#]],
        );
        check(
            &ramp,
            &[2, 2, 6],
            (20, 10, false),
            expect![[r#"
            ·····░
            ░░░░▒▒
            ▒▒▓▓▓▓
            ▓█████
            0 ·░▒▓█ 23
        "#]],
        );
        check(
            &[1.0, f64::NAN, f64::INFINITY, 2.0],
            &[2, 2],
            (9, 9, false),
            expect![[r#"
            ·N
            I█
            1 ·░▒▓█ 2  N NaN  I infinite
        "#]],
        );
        check(
            &[f64::NAN; 4],
            &[4],
            (9, 9, false),
            expect![[r#"
            NNNN
            N NaN
        "#]],
        );
        check(
            &[3.0],
            &[],
            (9, 9, false),
            expect![[r#"
            ▒
            3 ·░▒▓█ 3
        "#]],
        );
        check(
            &[],
            &[0, 4],
            (9, 9, false),
            expect![[r#"
            f32[0, 4] has no elements
        "#]],
        );
        check(
            &[1.0, 2.0, f64::NAN],
            &[3, 1],
            (9, 9, true),
            expect![[r#"
            ^[38;5;17;48;5;228m▀^[0m
            ^[0;38;5;201m▀^[0m
            1 ^[38;5;17m█^[38;5;18m█^[38;5;24m█^[38;5;30m█^[38;5;36m█^[38;5;42m█^[38;5;78m█^[38;5;114m█^[38;5;150m█^[38;5;186m█^[38;5;228m█^[0m 2  ^[38;5;201m█^[0m NaN
        "#]],
        );
    }
}
