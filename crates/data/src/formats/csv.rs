//! Tables of text: one record per line, cells between delimiters, quotes as in RFC 4180.
//!
//! Settings:
//! - `header`: whether the first line has names; if not given, it does if none of its cells is a number;
//! - `delimiter`: one character; if not given, a comma, or in `.tsv` files a tab;
//! - `columns`: the names or numbers of the columns that are read, in that order;
//! - `dtype`: an element type per field, or one for all; `"text"` is a field of bytes. If not given, the first
//!   hundred records show which columns have whole numbers (`i64`), numbers (`f32`) and text;
//! - `shape`: puts neighbouring columns together: `[[13], [1]]` reads 13 columns as one field and the next as
//!   another. If not given, each column is a field without axes;
//! - `missing`: the number for empty cells, and for `NA`, `N/A`, `null` and `?`. If not given, they are NaN
//!   in floats and an error in whole numbers.

mod cells;
mod scan;

use super::columns::{Columns, Wanted};
use super::settings::{Declared, Given, parse_dtype};
use super::{Input, Rows, Setting, idx};
use crate::Field;
use cells::Cell;
use fluvial_tensor::{DType, Dim, Error, Result, Type};

/// How many records are looked at where no element types are given.
const N_SHOWN: usize = 100;

/// An open file; `.gz` files are decompressed in memory.
pub(super) struct Csv {
    input: Input,
    delimiter: u8,
    fields: Vec<Field>,
    /// For each field: its element type, nothing for text, its sizes, and its columns.
    plan: Vec<(Option<DType>, Vec<usize>, Vec<usize>)>,
    /// The names of the columns, for errors.
    names: Vec<String>,
    missing: Option<f64>,
    /// Where each record starts, and the end of the last.
    starts: Vec<u64>,
}

/// The settings that are its own.
pub(super) const SETTINGS: [&str; 4] = ["header", "delimiter", "columns", "missing"];

/// Opens files. What `shape` and `dtype` declare has been seen to by then.
pub(super) fn open(
    inputs: Vec<Input>,
    given: &Given<'_>,
) -> Result<(Vec<Box<dyn Rows>>, Declared)> {
    let open = |input| Ok(Box::new(Csv::open(input, given)?) as Box<dyn Rows>);
    let parts = inputs.into_iter().map(open).collect::<Result<_>>()?;
    Ok((parts, Declared { names: given.texts("names")?, ..Declared::default() }))
}

impl Csv {
    fn open(input: Input, given: &Given<'_>) -> Result<Csv> {
        let input = idx::plain(input)?;
        let delimiter = match given.text("delimiter")?.as_deref() {
            None if input.name().ends_with(".tsv") => b'\t',
            None => b',',
            Some("\\t") => b'\t',
            Some(text) => match text.as_bytes() {
                &[one] if one.is_ascii() && !b"\"\r\n".contains(&one) => one,
                _ => return Err(given.wrong("delimiter", "one ASCII character")),
            },
        };
        let starts = scan::starts(&input)?;
        let mut csv = Csv {
            input,
            delimiter,
            fields: Vec::new(),
            plan: Vec::new(),
            names: Vec::new(),
            missing: given.float("missing")?,
            starts,
        };
        if csv.starts.len() < 2 {
            return Err(csv.input.fault("there is no record in it"));
        }
        let first = csv.record(0)?;
        let first: Vec<String> =
            csv.cells(0, &first)?.iter().map(|cell| cell.text().into()).collect();
        let shows_names = !first.iter().any(|cell| cells::is_number(cell));
        let has_header = given.bool("header", shows_names)?;
        csv.names = match has_header {
            true => first,
            false => (0..first.len()).map(|i| i.to_string()).collect(),
        };
        if has_header {
            csv.starts.remove(0);
        }
        let columns = csv.chosen(given)?;
        csv.plan(columns, given)?;
        Ok(csv)
    }

    /// The columns that are read.
    fn chosen(&self, given: &Given<'_>) -> Result<Vec<usize>> {
        let list = match given.get("columns") {
            None => return Ok((0..self.names.len()).collect()),
            Some(Setting::List(list)) if !list.is_empty() => list,
            Some(_) => return Err(given.wrong("columns", "a list of names or numbers")),
        };
        let find = |setting: &Setting| {
            let found = match setting {
                Setting::Text(name) => self.names.iter().position(|known| **known == **name),
                Setting::Int(i) => usize::try_from(*i).ok().filter(|&i| i < self.names.len()),
                _ => return Err(given.wrong("columns", "a list of names or numbers")),
            };
            let name = match setting {
                Setting::Text(name) => name.to_string(),
                other => format!("{other:?}"),
            };
            found.ok_or_else(|| {
                let known: Vec<&str> = self.names.iter().take(20).map(String::as_str).collect();
                self.input
                    .fault(format!("there is no column `{name}`"))
                    .remedy(format!("it has: {}", known.join(", ")))
            })
        };
        list.iter().map(find).collect()
    }

    /// Which columns make up which field.
    fn plan(&mut self, columns: Vec<usize>, given: &Given<'_>) -> Result<()> {
        let shapes = match given.shapes()? {
            Some(shapes) => shapes,
            None => vec![Vec::new(); columns.len()],
        };
        let size = |dim: &Dim| dim.value().ok_or_else(|| given.wrong("shape", "numbers"));
        let sizes: Vec<Vec<usize>> =
            shapes.iter().map(|shape| shape.iter().map(size).collect()).collect::<Result<_>>()?;
        let count = |sizes: &Vec<usize>| sizes.iter().try_fold(1, |n: usize, &s| n.checked_mul(s));
        let counts: Option<Vec<usize>> = sizes.iter().map(count).collect();
        let counts = counts.filter(|counts| {
            let total = counts.iter().try_fold(0_usize, |a, &b| a.checked_add(b));
            total == Some(columns.len()) && !counts.contains(&0)
        });
        let Some(counts) = counts else {
            return Err(Error::argument(format!(
                "`{}`: {} columns are read, but the declared sizes {sizes:?} need another number",
                self.input.name(),
                columns.len()
            ))
            .remedy("choose them by `columns`, or change `shape`"));
        };
        let declared = self.declared(given, counts.len())?;
        let shown = if declared.is_none() { self.infer()? } else { Vec::new() };
        // Columns that are put together have the type that holds them all.
        let common = |columns: &[usize]| {
            let all = columns.iter().map(|&column| shown[column]);
            all.reduce(|a, b| Some(if a? == b? { a? } else { DType::F32 })).flatten()
        };
        let mut next = 0;
        let is_single = shapes.iter().all(Vec::is_empty);
        for (i, (sizes, count)) in sizes.into_iter().zip(counts).enumerate() {
            let own = columns[next..next + count].to_vec();
            next += count;
            let dtype = match &declared {
                Some(all) => all[i],
                None => common(&own),
            };
            let (name, ty) = match dtype {
                _ if dtype.is_none() && count > 1 => {
                    return Err(self.input.fault("columns of text cannot be put together"));
                }
                None => (
                    &*self.names[own[0]],
                    Type::new(DType::U8, &[Dim::symbol(&format!("length{i}"))?])?,
                ),
                Some(dtype) => (&*self.names[own[0]], Type::of(dtype, &sizes)?),
            };
            let name = if is_single { name.into() } else { i.to_string().into() };
            self.fields.push(Field { name, ty });
            self.plan.push((dtype, sizes, own));
        }
        Ok(())
    }

    /// The element types that were given; nothing stands for text.
    fn declared(&self, given: &Given<'_>, n_fields: usize) -> Result<Option<Vec<Option<DType>>>> {
        let Some(names) = given.texts("dtype")? else { return Ok(None) };
        let parse = |name: &std::sync::Arc<str>| match &**name {
            "text" => Ok(None),
            name => parse_dtype(name).map(Some),
        };
        let dtypes = names.iter().map(parse).collect::<Result<Vec<_>>>()?;
        match dtypes.len() {
            1 => Ok(Some(vec![dtypes[0]; n_fields])),
            n if n == n_fields => Ok(Some(dtypes)),
            n => Err(Error::argument(format!(
                "`{}` gives {n_fields} fields, but `dtype` has {n} entries",
                self.input.name()
            ))),
        }
    }

    /// The element type of each column from the first records; nothing for text.
    fn infer(&self) -> Result<Vec<Option<DType>>> {
        let mut dtypes = vec![Some(DType::I64); self.names.len()];
        for i in 0..(self.starts.len() - 1).min(N_SHOWN) {
            let record = self.record(i)?;
            for (dtype, cell) in dtypes.iter_mut().zip(self.cells(i, &record)?) {
                let text = cell.text();
                let is_missing = cells::is_missing(&text);
                *dtype = match dtype {
                    Some(DType::I64) if text.trim().parse::<i64>().is_ok() => Some(DType::I64),
                    Some(_) if is_missing || cells::is_number(&text) => Some(DType::F32),
                    _ => None,
                };
            }
        }
        Ok(dtypes)
    }

    fn record(&self, number: usize) -> Result<Vec<u8>> {
        self.input.take(self.starts[number], self.starts[number + 1] - self.starts[number])
    }

    /// The cells of a record, as many as there are columns.
    fn cells<'a>(&self, number: usize, record: &'a [u8]) -> Result<Vec<Cell<'a>>> {
        let cells = cells::split(record, self.delimiter)
            .map_err(|(cell, what)| self.wrong(number, Some(cell), &what))?;
        if !self.names.is_empty() && cells.len() != self.names.len() {
            let what =
                format!("{} cells are expected, but there are {}", self.names.len(), cells.len());
            return Err(self.wrong(number, None, &what));
        }
        Ok(cells)
    }

    /// An error with the line, and the column if it concerns one.
    fn wrong(&self, number: usize, column: Option<usize>, what: &str) -> Error {
        let line = scan::line_of(&self.input, self.starts[number]);
        let name = column.map(|i| match self.names.get(i) {
            Some(name) => format!(", column {} (`{name}`)", i + 1),
            None => format!(", column {}", i + 1),
        });
        self.input.fault(format!("line {line}{}: {what}", name.unwrap_or_default()))
    }
}

impl Rows for Csv {
    fn name(&self) -> &str {
        self.input.name()
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn len(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    fn fill(&self, wanted: &[Wanted], out: &mut Columns) -> Result<()> {
        for wanted in wanted {
            let number = wanted.number as usize;
            let record = self.record(number)?;
            let cells = self.cells(number, &record)?;
            for (field, (dtype, sizes, columns)) in self.plan.iter().enumerate() {
                let Some(dtype) = *dtype else {
                    let text = cells[columns[0]].bytes();
                    out.put(field, wanted.row, &[text.len()], &text)?;
                    continue;
                };
                out.fill(field, wanted.row, sizes, |to| {
                    for (&column, to) in columns.iter().zip(to.chunks_exact_mut(dtype.size())) {
                        cells::number(&cells[column].text(), dtype, self.missing, to)
                            .map_err(|what| self.wrong(number, Some(column), &what))?;
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}
