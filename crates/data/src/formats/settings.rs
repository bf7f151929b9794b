//! Settings of a format: typed, and none that is not known.

use std::sync::Arc;

use super::{Setting, Settings};
use fluvial_tensor::{DType, Dim, Error, Result};

/// Settings that are checked against the names that a format knows.
pub(crate) struct Given<'a> {
    format: &'a str,
    settings: &'a Settings,
}

/// Names that every format knows: they declare the fields.
const COMMON: [&str; 3] = ["shape", "dtype", "names"];

impl<'a> Given<'a> {
    pub fn new(format: &'a str, settings: &'a Settings, known: &[&str]) -> Result<Given<'a>> {
        let is_known = |name: &str| known.contains(&name) || COMMON.contains(&name);
        match settings.keys().find(|name| !is_known(name)) {
            None => Ok(Given { format, settings }),
            Some(name) => {
                let mut all: Vec<&str> = known.iter().chain(&COMMON).copied().collect();
                all.sort_unstable();
                Err(Error::argument(format!("the format `{format}` has no setting `{name}`"))
                    .remedy(format!("it has: {}", all.join(", "))))
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<&'a Setting> {
        self.settings.get(name)
    }

    pub fn wrong(&self, name: &str, expected: &str) -> Error {
        Error::argument(format!("the setting `{name}` of `{}` must be {expected}", self.format))
    }

    pub fn bool(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(default),
            Some(Setting::Bool(value)) => Ok(*value),
            Some(_) => Err(self.wrong(name, "`true` or `false`")),
        }
    }

    /// A whole number from 0 on.
    pub fn count(&self, name: &str, default: usize) -> Result<usize> {
        match self.get(name) {
            None => Ok(default),
            Some(Setting::Int(value)) if *value >= 0 => Ok(*value as usize),
            Some(_) => Err(self.wrong(name, "a whole number, not below 0")),
        }
    }

    pub fn float(&self, name: &str) -> Result<Option<f64>> {
        match self.get(name) {
            None => Ok(None),
            Some(Setting::Int(value)) => Ok(Some(*value as f64)),
            Some(Setting::Float(value)) => Ok(Some(*value)),
            Some(_) => Err(self.wrong(name, "a number")),
        }
    }

    pub fn text(&self, name: &str) -> Result<Option<Arc<str>>> {
        match self.get(name) {
            None => Ok(None),
            Some(Setting::Text(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(name, "a text")),
        }
    }

    pub fn texts(&self, name: &str) -> Result<Option<Vec<Arc<str>>>> {
        let text = |setting: &Setting| match setting {
            Setting::Text(text) => Some(text.clone()),
            _ => None,
        };
        let found = match self.get(name) {
            None => return Ok(None),
            Some(Setting::List(list)) => list.iter().map(text).collect(),
            Some(one) => text(one).map(|one| vec![one]),
        };
        found.map(Some).ok_or_else(|| self.wrong(name, "a list of strings"))
    }

    /// The settings that declare fields.
    pub fn declared(&self) -> Result<Declared> {
        let dtypes = self.texts("dtype")?.map(|names| {
            names.iter().map(|name| parse_dtype(name)).collect::<Result<Vec<DType>>>()
        });
        let names = self.texts("names")?;
        Ok(Declared { shapes: self.shapes()?, dtypes: dtypes.transpose()?, names })
    }

    /// The sizes of each field.
    pub fn shapes(&self) -> Result<Option<Vec<Vec<Dim>>>> {
        let list = match self.get("shape") {
            None => return Ok(None),
            Some(Setting::List(list)) => list,
            Some(_) => return Err(self.wrong("shape", "a list of lists of sizes")),
        };
        // One list of numbers is the shape of an only field.
        let is_one = !list.is_empty() && list.iter().all(|size| as_dim(size, 0, 0).is_ok());
        let one = [Setting::List(list.clone())];
        let all = if is_one { &one[..] } else { &list[..] };
        all.iter()
            .enumerate()
            .map(|(i, shape)| self.shape(i, shape))
            .collect::<Result<_>>()
            .map(Some)
    }

    fn shape(&self, field: usize, shape: &Setting) -> Result<Vec<Dim>> {
        let Setting::List(sizes) = shape else {
            return Err(self.wrong("shape", "a list of lists of sizes, as in [[13], [1]]"));
        };
        sizes.iter().enumerate().map(|(axis, size)| as_dim(size, field, axis)).collect()
    }
}

/// What the caller says about the fields. What is missing is taken from the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Declared {
    /// Sizes of each field; -1 and names are sizes that vary.
    pub shapes: Option<Vec<Vec<Dim>>>,
    /// Element types.
    pub dtypes: Option<Vec<DType>>,
    /// Names.
    pub names: Option<Vec<Arc<str>>>,
}

fn as_dim(size: &Setting, field: usize, axis: usize) -> Result<Dim> {
    match size {
        Setting::Int(size) if *size >= 0 => Ok(Dim::size(*size as usize)),
        Setting::Int(-1) => Dim::symbol(&format!("size{field}_{axis}")),
        Setting::Text(name) => Dim::symbol(name),
        _ => Err(Error::argument("a size must be a whole number, -1 or the name of a size")),
    }
}

/// An element type by its short name or by numpy's.
pub(crate) fn parse_dtype(name: &str) -> Result<DType> {
    let short = match name {
        "uint8" => "u8",
        "int8" => "i8",
        "int32" => "i32",
        "int64" => "i64",
        "float16" => "f16",
        "bfloat16" => "bf16",
        "float32" => "f32",
        "float64" => "f64",
        other => other,
    };
    DType::parse(short).ok_or_else(|| {
        Error::dtype(format!("`{name}` is not an element type"))
            .remedy("use bool, u8, i8, i32, i64, f16, bf16, f32 or f64")
    })
}
