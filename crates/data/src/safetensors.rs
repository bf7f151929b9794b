//! `.safetensors` files: tensors by name. A header of JSON says where each lies.
//!
//! Files that are written here have checksums, which are verified when they are read; files of others are read as they
//! are.

mod checksum;

use std::io::{Read, Write};

use crate::elements::{self, Summing};
use crate::files::{fault, io};
use fluvial_tensor::{DType, Error, MAX_RANK, Result, Tensor};

/// A longer header is refused.
const MAX_HEADER: u64 = 100 << 20;

/// The word of the format for an element type, if it has one.
fn word(dtype: DType) -> Option<String> {
    match dtype {
        DType::F8E4M3 => Some("F8_E4M3".to_string()),
        DType::F8E5M2 => Some("F8_E5M2".to_string()),
        DType::C128 => None,
        dtype => Some(dtype.name().to_uppercase()),
    }
}

/// Writes a file.
pub fn write(to: &mut dyn Write, tensors: &[(&str, &Tensor)], path: &str) -> Result<()> {
    write_noted(to, tensors, &[], path)
}

/// Writes a file with notes: texts by name, in the header. Checksums are among them.
pub fn write_noted(
    to: &mut dyn Write,
    tensors: &[(&str, &Tensor)],
    notes: &[(&str, &str)],
    path: &str,
) -> Result<()> {
    let mut all_notes = vec![checksum::notes(tensors, path)?];
    let notes = notes.iter().filter(|(name, _)| !checksum::is_own(name));
    all_notes.extend(notes.map(|(name, text)| format!("{}:{}", quoted(name), quoted(text))));
    let mut entries = vec![format!("\"__metadata__\":{{{}}}", all_notes.join(","))];
    let mut end = 0;
    for (name, x) in tensors {
        let start = end;
        end += x.numel() * x.dtype().size();
        let word = word(x.dtype()).ok_or_else(|| {
            Error::dtype(format!("`.safetensors` files have no {} elements", x.dtype()))
                .remedy("save as `.npy`, cast to c64, or save `view_as_real(x)`")
        })?;
        let (name, sizes) = (quoted(name), x.dims());
        entries.push(format!(
            "{name}:{{\"dtype\":\"{word}\",\"shape\":{sizes:?},\"data_offsets\":[{start},{end}]}}"
        ));
    }
    let mut header = format!("{{{}}}", entries.join(","));
    header += &" ".repeat(header.len().next_multiple_of(8) - header.len());
    checksum::seal(&mut header);
    let len = (header.len() as u64).to_le_bytes();
    to.write_all(&[&len, header.as_bytes()].concat()).map_err(|error| io(path, error))?;
    tensors.iter().try_for_each(|(_, x)| elements::write(to, x, path))
}

/// A name as JSON writes it.
fn quoted(name: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if (c as u32) < 0x20 => format!("\\u{:04x}", c as u32),
        c => c.to_string(),
    };
    format!("\"{}\"", name.chars().map(escape).collect::<String>())
}

/// Reads the tensor of that name from a file of `len` bytes, or its only one. Its checksum is verified, if there is one.
pub fn read(from: &mut dyn Read, len: u64, name: Option<&str>, path: &str) -> Result<Tensor> {
    let (Contents { entries, .. }, left) = header(from, len, path)?;
    let entry = match (name, entries.as_slice()) {
        (Some(name), all) => all.iter().find(|entry| entry.name == name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let Some(entry) = entry else {
        let names: Vec<&str> = entries.iter().take(8).map(|entry| entry.name.as_str()).collect();
        return Err(fault(format!("`{path}` does not have the tensor that was asked for"))
            .remedy(format!("it has: {}", names.join(", "))));
    };
    skip(from, entry.start, path)?;
    entry.read(from, left, path)
}

/// The tensors and the notes of a file, by name.
pub struct File {
    /// The tensors, in the order of the file.
    pub tensors: Vec<(String, Tensor)>,
    /// The notes, without checksums.
    pub notes: Vec<(String, String)>,
}

/// Reads all of a file of `len` bytes. Its checksums are verified, if it has any.
pub fn read_all(from: &mut dyn Read, len: u64, path: &str) -> Result<File> {
    let (Contents { mut entries, notes, is_checked }, left) = header(from, len, path)?;
    entries.sort_by_key(|entry| (entry.start, entry.end));
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    let mut at = 0;
    for entry in entries {
        // Tensors that share bytes could take more memory than the file has.
        if entry.start < at {
            return Err(broken(path, &format!("`{}` overlaps another tensor", entry.name)));
        }
        skip(from, entry.start - at, path)?;
        let tensor = entry.read(from, left, path)?;
        at = entry.end;
        tensors.push((entry.name, tensor));
    }
    if is_checked {
        checksum::whole(at, left, path)?;
    }
    Ok(File { tensors, notes })
}

/// Reads all of a file of `len` bytes without keeping it: an error if it is damaged, as far as it has checksums.
pub fn verify(from: &mut dyn Read, len: u64, path: &str) -> Result<()> {
    let (Contents { mut entries, is_checked, .. }, left) = header(from, len, path)?;
    entries.sort_by_key(|entry| (entry.start, entry.end));
    let mut at = 0;
    for entry in &entries {
        entry.check(left, path)?;
        if !is_checked {
            continue;
        }
        checksum::whole(at, entry.start, path)?;
        let mut sum = Summing::default();
        let mut bytes = (&mut *from).take(entry.end - entry.start);
        std::io::copy(&mut bytes, &mut sum).map_err(|error| io(path, error))?;
        checksum::verify(sum.0.finalize(), entry.sum, &entry.name, path)?;
        at = entry.end;
    }
    if is_checked { checksum::whole(at, left, path) } else { Ok(()) }
}

/// The notes of a file of `len` bytes; its tensors are not read.
pub fn notes(from: &mut dyn Read, len: u64, path: &str) -> Result<Vec<(String, String)>> {
    Ok(header(from, len, path)?.0.notes)
}

fn broken(path: &str, what: &str) -> Error {
    fault(format!("`{path}` is not a `.safetensors` file: {what}"))
}

fn skip(from: &mut dyn Read, count: u64, path: &str) -> Result<()> {
    std::io::copy(&mut from.take(count), &mut std::io::sink())
        .map(drop)
        .map_err(|error| io(path, error))
}

/// What the header says, and how many bytes follow it.
fn header(from: &mut dyn Read, len: u64, path: &str) -> Result<(Contents, u64)> {
    let mut size = [0; 8];
    from.read_exact(&mut size).map_err(|_| broken(path, "it is too short"))?;
    let size = u64::from_le_bytes(size);
    if size > MAX_HEADER || size > len.saturating_sub(8) {
        return Err(broken(path, "its header is too long"));
    }
    let mut header = vec![0; size as usize];
    from.read_exact(&mut header).map_err(|_| broken(path, "it is too short"))?;
    let header =
        std::str::from_utf8(&header).map_err(|_| broken(path, "its header is not text"))?;
    let mut contents =
        Reader(header).file().ok_or_else(|| broken(path, "its header is not understood"))?;
    checksum::open(header, &mut contents, path)?;
    Ok((contents, len - 8 - size))
}

struct Contents {
    entries: Vec<Entry>,
    notes: Vec<(String, String)>,
    /// Whether there are checksums.
    is_checked: bool,
}

impl Entry {
    /// Refuses a place that does not fit the sizes or the file.
    fn check(&self, left: u64, path: &str) -> Result<()> {
        let each = self.dtype.size() as u64;
        let count = self.sizes.iter().try_fold(each, |all, &n| all.checked_mul(n as u64));
        match self.end.checked_sub(self.start) == count && self.end <= left {
            true => Ok(()),
            false => Err(broken(path, "the place of a tensor does not fit its sizes")),
        }
    }

    /// Reads it, from where it begins.
    fn read(&self, from: &mut dyn Read, left: u64, path: &str) -> Result<Tensor> {
        self.check(left, path)?;
        let mut summed = Summed { from, sum: self.sum.map(|_| Summing::default()) };
        let left = left - self.start;
        let tensor = elements::read(&mut summed, left, self.dtype, &self.sizes, path)?;
        if let Some(found) = summed.sum {
            checksum::verify(found.0.finalize(), self.sum, &self.name, path)?;
        }
        Ok(tensor)
    }
}

/// Computes the checksum of what is read, if it is wanted.
struct Summed<'a> {
    from: &'a mut dyn Read,
    sum: Option<Summing>,
}

impl Read for Summed<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let n = self.from.read(to)?;
        if let Some(sum) = &mut self.sum {
            sum.0.update(&to[..n]);
        }
        Ok(n)
    }
}

struct Entry {
    name: String,
    dtype: DType,
    sizes: Vec<usize>,
    start: u64,
    end: u64,
    /// The checksum of its bytes, if the file has it.
    sum: Option<u32>,
}

/// What is left of the header. It reads the forms that the format allows, and no other JSON.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn file(mut self) -> Option<Contents> {
        let (mut entries, mut notes) = (Vec::new(), Vec::new());
        self.object(|reader, name| {
            if name == "__metadata__" {
                return reader.object(|reader, name| {
                    notes.push((name, reader.string()?));
                    Some(())
                });
            }
            let (mut dtype, mut sizes, mut place) = (None, None, None);
            reader.object(|reader, key| {
                match key.as_str() {
                    "dtype" => {
                        let word = reader.string()?;
                        dtype = Some(
                            DType::ALL
                                .into_iter()
                                .find(|&known| self::word(known).as_deref() == Some(&*word))?,
                        );
                    }
                    "shape" => sizes = Some(reader.numbers()?),
                    "data_offsets" => place = Some(reader.numbers()?),
                    _ => return None,
                }
                Some(())
            })?;
            let sizes: Vec<usize> =
                sizes?.into_iter().map(|size| size.try_into().ok()).collect::<Option<_>>()?;
            let &[start, end] = place?.as_slice() else { return None };
            if sizes.len() > MAX_RANK {
                return None;
            }
            entries.push(Entry { name, dtype: dtype?, sizes, start, end, sum: None });
            Some(())
        })?;
        self.0.trim().is_empty().then_some(Contents { entries, notes, is_checked: false })
    }

    /// Takes a mark, after spaces.
    fn mark(&mut self, mark: char) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(mark)?;
        Some(())
    }

    /// Items between marks, separated by commas.
    fn items(
        &mut self,
        (open, close): (char, char),
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.mark(open)?;
        if self.mark(close).is_some() {
            return Some(());
        }
        loop {
            item(self)?;
            if self.mark(',').is_none() {
                return self.mark(close);
            }
        }
    }

    fn object(&mut self, mut field: impl FnMut(&mut Self, String) -> Option<()>) -> Option<()> {
        self.items(('{', '}'), |reader| {
            let key = reader.string()?;
            reader.mark(':')?;
            field(reader, key)
        })
    }

    fn numbers(&mut self) -> Option<Vec<u64>> {
        let mut numbers = Vec::new();
        self.items(('[', ']'), |reader| {
            let text = reader.0.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            numbers.push(text[..end].parse().ok()?);
            reader.0 = &text[end..];
            Some(())
        })?;
        Some(numbers)
    }

    fn string(&mut self) -> Option<String> {
        self.mark('"')?;
        let mut found = String::new();
        let mut chars = self.0.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => found.push(match chars.next()? {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'u' => {
                        let digits: String = chars.by_ref().take(4).collect();
                        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
                    }
                    c @ ('"' | '\\' | '/') => c,
                    _ => return None,
                }),
                // JSON has no bare control characters in strings; a page of zeros would be such ones.
                c if (c as u32) < 0x20 => return None,
                c => found.push(c),
            }
        }
        self.0 = chars.as_str();
        Some(found)
    }
}
