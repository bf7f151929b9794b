//! ONNX: models as programs, and programs as models.
//!
//! [`load`] reads a file and gives a program that owns its parameters; [`save`] writes a program. `import` has one
//! entry for each op of ONNX, by family, and `export` one for each op of ours; `tensors` and `types` read what both directions need; `generated`
//! has the messages of the format, made from `proto/onnx.proto`.

mod export;
#[rustfmt::skip]
mod generated;
mod import;
mod tensors;
mod types;

use std::path::Path;

use fluvial_core::{Error, ErrorKind, Program, Result, Tensor, Type};
use fluvial_data::files;
use prost::Message;

pub use export::exported;
pub use import::{Supported, supported};
pub(crate) use import::{concatenated, truncated_quotient};

/// The messages of ONNX files.
pub mod proto {
    pub use super::generated::*;
}

/// How a model is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether initialisers of floats are trained: they are parameters then, and buffers otherwise.
    pub trainable: bool,
    /// Types of inputs where the file says nothing or too little, by name.
    pub types: Vec<(String, Type)>,
    /// Inputs that always have the same value, by name; they are not inputs of the program then.
    pub known: Vec<(String, Tensor)>,
}

/// Reads the model of a file, and what it keeps in files beside it.
#[track_caller]
pub fn load(path: impl AsRef<Path>, options: &Options) -> Result<Program> {
    let path = path.as_ref();
    files::allow(path)?;
    let shown = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| files::io(&shown, error))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    read(&bytes, Some(folder), options)
        .map_err(|error| error.note(format!("in the file {}", path.display())))
}

/// Reads a model that is in memory. Elements in other files are refused.
#[track_caller]
pub fn load_bytes(bytes: &[u8], options: &Options) -> Result<Program> {
    read(bytes, None, options)
}

#[track_caller]
fn read(bytes: &[u8], folder: Option<&Path>, options: &Options) -> Result<Program> {
    let model = generated::ModelProto::decode(bytes).map_err(|error| {
        Error::new(ErrorKind::File, format!("this is not an ONNX model: {error}"))
            .remedy("give a file that ends in .onnx, whole as it was written")
    })?;
    import::program(&model, folder, options)
}

/// How a program is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveOptions {
    /// The op set.
    pub opset: i64,
    /// Whether states are inputs of the model, and those that the program assigns outputs, too, called `next.NAME`;
    /// otherwise they are initialisers, and must not be assigned.
    pub states: bool,
}

impl Default for SaveOptions {
    fn default() -> SaveOptions {
        SaveOptions { opset: 20, states: false }
    }
}

/// The bytes of a program as an ONNX model, with the values that its states have: those of the cells that it is bound
/// to, else those of the scope, else their first ones.
pub fn to_bytes(program: &Program, options: SaveOptions) -> Result<Vec<u8>> {
    let model = export::model(program, options.opset, options.states)?;
    match model.encoded_len() <= i32::MAX as usize {
        true => Ok(model.encode_to_vec()),
        false => Err(Error::new(ErrorKind::File, "an ONNX file cannot have more than 2 GB")),
    }
}

/// Writes a program as an ONNX model, whole or not at all.
pub fn save(path: impl AsRef<Path>, program: &Program, options: SaveOptions) -> Result<()> {
    let (path, bytes) = (path.as_ref(), to_bytes(program, options)?);
    let shown = path.display().to_string();
    files::write_at(path, |to| to.write_all(&bytes).map_err(|error| files::io(&shown, error)))
}
