//! The head of a record file: what its records consist of.

use std::sync::Arc;

use crate::Field;
use crate::formats::Input;
use crate::formats::input::u32_at;
use fluvial_tensor::{Dim, Error, Result, Type};

/// The first bytes of a record file. The line end shows files that were sent as text.
pub(crate) const MAGIC: [u8; 8] = *b"\x8fFLREC\r\n";
const VERSION: u32 = 1;
/// Bytes before the schema.
const FIXED: u64 = 20;
const MAX_SCHEMA: u64 = 1 << 20;
const MAX_FIELDS: usize = 1024;

/// The fields, and how the elements of a record are found.
#[derive(Debug)]
pub(super) struct Schema {
    pub fields: Vec<Field>,
    /// The sizes that vary, in the order in which they occur.
    pub symbols: Vec<Dim>,
    /// The sizes of each field.
    extents: Vec<Vec<Extent>>,
    /// The bytes and sizes of each field in a record, if no size varies.
    pub fixed: Option<Vec<(usize, Vec<usize>)>>,
}

#[derive(Clone, Copy, Debug)]
enum Extent {
    Size(usize),
    Symbol(usize),
}

impl Schema {
    pub fn new(fields: Vec<Field>) -> Result<Schema> {
        if fields.is_empty() || fields.len() > MAX_FIELDS {
            return Err(Error::argument(format!(
                "a record has 1 to {MAX_FIELDS} fields, not {}",
                fields.len()
            )));
        }
        let mut schema =
            Schema { fields: Vec::new(), symbols: Vec::new(), extents: Vec::new(), fixed: None };
        for field in fields {
            schema.add(field)?;
        }
        if schema.symbols.is_empty() {
            let bytes =
                |i| schema.bytes(i, &[]).ok_or_else(|| Error::shape("a record is too large"));
            let all: Vec<usize> = (0..schema.fields.len()).map(bytes).collect::<Result<_>>()?;
            let total = all.iter().try_fold(0_usize, |total, &bytes| total.checked_add(bytes));
            if total.is_none_or(|total| total == 0) {
                return Err(Error::shape("a record must have at least one element"));
            }
            let with_sizes = |(i, bytes)| (bytes, schema.sizes(i, &[]));
            schema.fixed = Some(all.into_iter().enumerate().map(with_sizes).collect());
        }
        Ok(schema)
    }

    fn add(&mut self, field: Field) -> Result<()> {
        let name = &field.name;
        if name.is_empty() || name.len() > 255 {
            return Err(Error::argument("the name of a field has 1 to 255 bytes"));
        }
        if self.fields.iter().any(|other| other.name == *name) {
            return Err(Error::argument(format!("two fields are called `{name}`"))
                .remedy("give each field a name of its own"));
        }
        if field.ty.is_list() {
            return Err(Error::argument(format!("the field `{name}` is a list, not a tensor")));
        }
        let mut extents = Vec::new();
        for &dim in field.ty.dims() {
            extents.push(match (dim.value(), dim.symbol_name()) {
                (Some(size), _) => Extent::Size(size),
                (None, Some(_)) => {
                    let known = self.symbols.iter().position(|&symbol| symbol == dim);
                    Extent::Symbol(known.unwrap_or_else(|| {
                        self.symbols.push(dim);
                        self.symbols.len() - 1
                    }))
                }
                (None, None) => {
                    return Err(Error::symbolic(format!(
                        "the size `{dim}` of the field `{name}` is neither a number nor a name"
                    )));
                }
            });
        }
        self.extents.push(extents);
        self.fields.push(field);
        Ok(())
    }

    /// The sizes of a field in a record with these sizes for the symbols.
    pub fn sizes(&self, field: usize, symbols: &[u32]) -> Vec<usize> {
        let size = |extent: &Extent| match *extent {
            Extent::Size(size) => size,
            Extent::Symbol(i) => symbols[i] as usize,
        };
        self.extents[field].iter().map(size).collect()
    }

    /// The bytes of a field in a record with these sizes for the symbols, if they can be counted.
    pub fn bytes(&self, field: usize, symbols: &[u32]) -> Option<usize> {
        let size = self.fields[field].ty.dtype().size();
        self.extents[field].iter().try_fold(size, |bytes, extent| {
            bytes.checked_mul(match *extent {
                Extent::Size(size) => size,
                Extent::Symbol(i) => symbols[i] as usize,
            })
        })
    }

    /// Finds the sizes of the symbols from the sizes of a record's tensors, and checks the others.
    pub fn bind(&self, field: usize, sizes: &[usize], symbols: &mut [Option<u32>]) -> Result<()> {
        let extents = &self.extents[field];
        let fits = |(extent, &size): (&Extent, &usize)| match *extent {
            Extent::Size(expected) => size == expected,
            Extent::Symbol(i) => match u32::try_from(size) {
                Ok(size) => *symbols[i].get_or_insert(size) == size,
                Err(_) => false,
            },
        };
        match extents.len() == sizes.len() && extents.iter().zip(sizes).all(fits) {
            true => Ok(()),
            false => Err(Error::shape(format!(
                "the field `{}` is {}, but the sizes {sizes:?} were given",
                self.fields[field].name, self.fields[field].ty
            ))),
        }
    }

    /// The head of a file.
    pub fn head(&self) -> Vec<u8> {
        let mut schema = (self.fields.len() as u32).to_le_bytes().to_vec();
        for field in &self.fields {
            for text in [&*field.name, &field.ty.to_string()] {
                schema.extend_from_slice(&(text.len() as u16).to_le_bytes());
                schema.extend_from_slice(text.as_bytes());
            }
        }
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&(schema.len() as u32).to_le_bytes());
        let crc = checksum(&head, &schema);
        head.extend_from_slice(&crc.to_le_bytes());
        head.extend_from_slice(&schema);
        head
    }

    /// Reads the head of a file; also says where it ends.
    pub fn read(input: &Input) -> Result<(Schema, u64)> {
        let broken = |at: u64, what: &str| input.fault(format!("byte {at}, in the head: {what}"));
        if input.len() < FIXED {
            return Err(broken(input.len(), "the file ends here; its head has 20 bytes at least")
                .remedy("write the file again"));
        }
        let fixed = input.take(0, FIXED)?;
        if fixed[..8] != MAGIC {
            return Err(broken(0, "these are not the first bytes of a record file"));
        }
        let version = u32_at(&fixed, 8).unwrap_or(0);
        let len = u64::from(u32_at(&fixed, 12).unwrap_or(0));
        if len > MAX_SCHEMA || FIXED + len > input.len() {
            return Err(broken(12, &format!("a schema of {len} bytes does not fit the file")));
        }
        let schema = input.take(FIXED, len)?;
        if u32_at(&fixed, 16) != Some(checksum(&fixed[..16], &schema)) {
            return Err(broken(16, "the checksum of the schema is wrong"));
        }
        if version != VERSION {
            return Err(Error::new(
                fluvial_tensor::ErrorKind::Version,
                format!("`{}`: version {version} of record files is not known", input.name()),
            )
            .remedy("read it with a newer Fluvial"));
        }
        let fields = parse(&schema).ok_or_else(|| broken(FIXED, "the schema is not understood"))?;
        let schema =
            Schema::new(fields).map_err(|error| error.note(format!("in `{}`", input.name())))?;
        Ok((schema, FIXED + len))
    }
}

fn checksum(head: &[u8], schema: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(schema);
    hasher.finalize()
}

fn parse(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    let count = u32::from_le_bytes(*count) as usize;
    bytes = rest;
    let mut text = || {
        let (len, rest) = bytes.split_first_chunk::<2>()?;
        let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        bytes = rest;
        std::str::from_utf8(text).ok()
    };
    let mut fields = Vec::new();
    for _ in 0..count.min(MAX_FIELDS + 1) {
        let name: Arc<str> = text()?.into();
        fields.push(Field { name, ty: Type::parse(text()?).ok()? });
    }
    bytes.is_empty().then_some(fields)
}
