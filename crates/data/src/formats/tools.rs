//! Datasets from the outside: to other files, and as tables of text.

use std::path::Path;

use super::{npz, records};
use crate::files::{self, io};
use crate::{Dataset, Field};
use crate::{npy, source::Sample};
use fluvial_tensor::{DType, Error, Result, Tensor};

/// Samples that are read at once.
const BATCH: u64 = 256;

/// Writes all samples to a file, whole or not at all, and says how many. The ending of the path chooses the
/// format: `.rec`, `.records` and `.recordio` are record files of our own, which take the options; `.npz` and `.npy`
/// need fields of fixed sizes, and `.npy` only one; `.csv` takes text and fixed sizes.
///
/// ```
/// use fluvial_data::formats::{Input, Settings, convert, head, open_inputs, records::Options};
/// # use fluvial_data::files;
/// # let root = std::env::temp_dir().join("fluvial-convert-doc");
/// # files::set_root(Some(&root));
/// let table = Input::memory("table", b"x,y\n1,2.5\n3,4\n".to_vec());
/// let data = open_inputs("csv", vec![table], &Settings::new())?;
/// assert_eq!(convert(&*data, "table.rec", Options::default())?, 2);
/// assert_eq!(head(&*data, 1)?, "sample  x: i64[]  y: f32[]\n0       1         2.5\n");
/// # std::fs::remove_dir_all(&root).ok();
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn convert(from: &dyn Dataset, to: &str, options: records::Options) -> Result<u64> {
    let ending = Path::new(to).extension().and_then(|ending| ending.to_str()).unwrap_or("");
    match ending {
        "rec" | "records" | "recordio" => {
            let mut writer = records::Writer::create_whole(to, from.fields().to_vec(), options)?;
            each(from, from.len(), |_, sample| writer.write(&sample.iter().collect::<Vec<_>>()))?;
            writer.finish()?;
        }
        "npz" | "npy" => {
            let numbers: Vec<u64> = (0..from.len()).collect();
            let stacked = from.gather(&numbers)?;
            let names = from.fields().iter().map(|field| &*field.name);
            let tensors: Vec<(&str, &Tensor)> = names.zip(&stacked).collect();
            match (ending, tensors.as_slice()) {
                ("npz", tensors) => npz::write(to, tensors)?,
                (_, [(_, only)]) => files::write(to, |file| npy::write(file, only, to))?,
                (_, all) => {
                    let what = format!("`{to}` takes one field, but there are {}", all.len());
                    return Err(Error::argument(what).remedy("write a `.npz` file"));
                }
            }
        }
        "csv" => csv(from, to)?,
        _ => {
            return Err(Error::argument(format!(
                "`{to}` does not end in a format that is written"
            ))
            .remedy("use .rec, .npz, .npy or .csv"));
        }
    }
    Ok(from.len())
}

/// The first samples as a table.
pub fn head(from: &dyn Dataset, n: u64) -> Result<String> {
    let mut rows = vec![vec!["sample".to_string()]];
    rows[0].extend(from.fields().iter().map(|field| format!("{}: {}", field.name, field.ty)));
    each(from, n.min(from.len()), |number, sample| {
        let cells = from.fields().iter().zip(&sample).map(|(field, x)| short(field, x));
        rows.push([Ok(number.to_string())].into_iter().chain(cells).collect::<Result<_>>()?);
        Ok(())
    })?;
    Ok(table(&rows))
}

/// What the fields hold: their types, extremes and means over all samples, without NaN, how many elements are
/// NaN, and how many bytes they take. Notes about the files follow.
pub fn stat(from: &dyn Dataset) -> Result<String> {
    let mut all = vec![Stat::default(); from.fields().len()];
    each(from, from.len(), |_, sample| {
        all.iter_mut().zip(&sample).for_each(|(stat, x)| stat.add(x));
        Ok(())
    })?;
    let titles = ["field", "type", "min", "max", "mean", "nan", "bytes"];
    let mut rows = vec![titles.map(String::from).to_vec()];
    for (field, stat) in from.fields().iter().zip(&all) {
        rows.push(stat.row(field));
    }
    let notes: String = from.notes().iter().map(|note| format!("note: {note}\n")).collect();
    Ok(format!("{} samples\n{}{notes}", from.len(), table(&rows)))
}

/// Calls a function for each of the first samples. Those of fixed sizes are read by batches.
fn each(from: &dyn Dataset, n: u64, mut call: impl FnMut(u64, Sample) -> Result<()>) -> Result<()> {
    if from.fields().iter().any(|field| field.ty.is_symbolic()) {
        return (0..n).try_for_each(|number| call(number, from.get(number)?));
    }
    for start in (0..n).step_by(BATCH as usize) {
        let numbers: Vec<u64> = (start..n.min(start + BATCH)).collect();
        let batch = from.gather(&numbers)?;
        for (row, number) in numbers.into_iter().enumerate() {
            let sample = batch.iter().map(|x| x.index(0, row)).collect::<Result<Sample>>()?;
            call(number, sample)?;
        }
    }
    Ok(())
}

#[derive(Clone)]
struct Stat {
    min: f64,
    max: f64,
    sum: f64,
    count: u64,
    nan: u64,
    bytes: u64,
}

impl Default for Stat {
    fn default() -> Stat {
        Stat { min: f64::INFINITY, max: f64::NEG_INFINITY, sum: 0.0, count: 0, nan: 0, bytes: 0 }
    }
}

impl Stat {
    fn add(&mut self, x: &Tensor) {
        self.bytes += (x.numel() * x.dtype().size()) as u64;
        for value in x.to_f64s() {
            if value.is_nan() {
                self.nan += 1;
                continue;
            }
            (self.min, self.max) = (self.min.min(value), self.max.max(value));
            self.sum += value;
            self.count += 1;
        }
    }

    fn row(&self, field: &Field) -> Vec<String> {
        let shown = |value: f64| match self.count {
            0 => "-".to_string(),
            _ => format!("{}", (value * 1e6).round() / 1e6),
        };
        let mean = shown(self.sum / self.count as f64);
        let (name, ty) = (field.name.to_string(), field.ty.to_string());
        let (nan, bytes) = (self.nan.to_string(), self.bytes.to_string());
        vec![name, ty, shown(self.min), shown(self.max), mean, nan, bytes]
    }
}

/// Whether a field holds text or other bytes of any length.
fn is_bytes(field: &Field) -> bool {
    field.ty.dtype() == DType::U8 && field.ty.rank() == 1 && field.ty.is_symbolic()
}

/// A tensor in a few characters.
fn short(field: &Field, x: &Tensor) -> Result<String> {
    const MOST: usize = 40;
    if is_bytes(field) {
        let bytes = x.to_vec::<u8>()?;
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST)]).into_owned();
        let shown: String = text.chars().take(MOST).collect();
        let more = if shown.len() < bytes.len() { "…" } else { "" };
        return Ok(format!("{shown:?}{more}"));
    }
    if x.rank() == 0 {
        return Ok(cells(x)?.join(""));
    }
    let flat = x.reshape(&[x.numel()])?;
    let n_shown = flat.numel().min(6);
    let mut shown = cells(&flat.slice(0, 0, n_shown, 1)?)?;
    if n_shown < flat.numel() {
        shown.push("…".into());
    }
    let sizes = if field.ty.is_symbolic() { format!(" {:?}", x.dims()) } else { String::new() };
    Ok(format!("[{}]{sizes}", shown.join(", ")))
}

/// The elements as text that reads back the same.
fn cells(x: &Tensor) -> Result<Vec<String>> {
    fn all<T: ToString>(values: Vec<T>) -> Vec<String> {
        values.iter().map(T::to_string).collect()
    }
    Ok(match x.dtype() {
        DType::I64 => all(x.to_vec::<i64>()?),
        DType::F32 => all(x.to_vec::<f32>()?),
        _ => all(x.to_f64s()),
    })
}

fn table(rows: &[Vec<String>]) -> String {
    let n_columns = rows.first().map_or(0, Vec::len);
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn csv(from: &dyn Dataset, to: &str) -> Result<()> {
    let mut titles = Vec::new();
    for field in from.fields() {
        let name = quoted(&field.name);
        match field.ty.numel() {
            Some(_) if field.ty.rank() == 0 => titles.push(name),
            Some(n) => titles.extend((0..n).map(|i| quoted(&format!("{}.{i}", field.name)))),
            None if is_bytes(field) => titles.push(name),
            None => {
                let what = format!("`{}` is {}, which a table does not hold", field.name, field.ty);
                return Err(Error::shape(what).remedy("write a `.rec` file"));
            }
        }
    }
    files::write(to, |file| {
        let mut line =
            |cells: &[String]| writeln!(file, "{}", cells.join(",")).map_err(|error| io(to, error));
        line(&titles)?;
        each(from, from.len(), |number, sample| {
            let mut row = Vec::new();
            for (field, x) in from.fields().iter().zip(&sample) {
                if !is_bytes(field) {
                    row.extend(cells(x)?);
                    continue;
                }
                let text = String::from_utf8(x.to_vec::<u8>()?).map_err(|_| {
                    let what = format!("`{}` of sample {number} is not text", field.name);
                    Error::argument(what).remedy("write a `.rec` file")
                })?;
                row.push(quoted(&text));
            }
            line(&row)
        })
    })
}

/// Text as a cell.
fn quoted(text: &str) -> String {
    match text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}
