//! Programs of Fluid, as Paddle wrote them up to its version 2.6.
//!
//! [`load_program`] reads a training or inference program with its startup program, [`load_inference_model`] a model with
//! its parameters. Ops are run over values while a program is built: `import` has one entry for each op of Fluid, by family;
//! gradient ops are the reverse rules of the ops that they belong to. `tensors` reads files of parameters, `types` what
//! variables are; `generated` has the messages of the format, made from `proto/fluid.proto`.

#[rustfmt::skip]
mod generated;
mod import;
mod tensors;
mod types;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fluvial_core::{Error, ErrorKind, Program, Result, Tensor, Type};
use fluvial_data::files;
use prost::Message;

pub use import::supported;
pub use tensors::{Record, read_tensors};

/// The messages of Fluid's files.
pub mod proto {
    pub use super::generated::*;
}

/// How a program is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The variables that are outputs. If none are named, they are those of `fetch` ops, or the losses, or what nothing
    /// else uses.
    pub fetch: Vec<String>,
    /// Whether parameters of a model for inference are trained: they are parameters then, and buffers otherwise.
    pub trainable: bool,
    /// First values of states, by name; they win over those of a startup program.
    pub values: Vec<(String, Tensor)>,
    /// Types of inputs where the file says too little or something else, by name.
    pub types: Vec<(String, Type)>,
}

/// Reads a main program, and the startup program that makes the first values of its states.
#[track_caller]
pub fn load_program(
    main: impl AsRef<Path>,
    startup: Option<&Path>,
    options: &Options,
) -> Result<Program> {
    let main = main.as_ref();
    let bytes = bytes_of(main)?;
    let started = startup.map(bytes_of).transpose()?;
    program_from_bytes(&bytes, started.as_deref(), options).map_err(|error| in_file(error, main))
}

/// Reads a program that is in memory.
#[track_caller]
pub fn program_from_bytes(
    main: &[u8],
    startup: Option<&[u8]>,
    options: &Options,
) -> Result<Program> {
    let main = decoded(main)?;
    let startup = startup.map(decoded).transpose()?;
    import::program(&main, startup.as_ref(), HashMap::new(), options)
}

/// Reads a model for inference: a folder with `__model__`, or a `.pdmodel` file with a `.pdiparams` file beside it.
/// Parameters may be in one file, whose name may be given, or in one for each.
#[track_caller]
pub fn load_inference_model(
    path: impl AsRef<Path>,
    params: Option<&Path>,
    options: &Options,
) -> Result<Program> {
    let path = path.as_ref();
    let (model, folder) = model_of(path)?;
    let main = decoded(&bytes_of(&model)?).map_err(|error| in_file(error, &model))?;
    let names = import::parameters(&main);
    let together = match params {
        Some(params) => Some(params.to_path_buf()),
        None => together_with(&model, &folder),
    };
    let mut values = HashMap::new();
    match together {
        Some(file) if !names.is_empty() => {
            let records = read_tensors(&bytes_of(&file)?).map_err(|error| in_file(error, &file))?;
            if records.len() != names.len() {
                return Err(in_file(
                    Error::new(
                        ErrorKind::File,
                        format!(
                            "there are {} tensors for {} variables",
                            records.len(),
                            names.len()
                        ),
                    )
                    .remedy("give the file of parameters that was written with this program"),
                    &file,
                ));
            }
            values.extend(names.into_iter().zip(records.into_iter().map(|record| record.tensor)));
        }
        _ => {
            for name in names {
                let file = inside(&folder, &name)?;
                let records =
                    read_tensors(&bytes_of(&file)?).map_err(|error| in_file(error, &file))?;
                let Ok([record]) = <[Record; 1]>::try_from(records) else {
                    let fault = Error::new(ErrorKind::File, "there is not one tensor in it");
                    return Err(in_file(fault, &file));
                };
                values.insert(name, record.tensor);
            }
        }
    }
    import::program(&main, None, values, options).map_err(|error| in_file(error, &model))
}

/// The model of bytes, with its parameters in the order of their names.
#[track_caller]
pub fn model_from_bytes(model: &[u8], params: &[u8], options: &Options) -> Result<Program> {
    let main = decoded(model)?;
    let (names, records) = (import::parameters(&main), read_tensors(params)?);
    if names.len() != records.len() {
        let what = format!("there are {} tensors for {} variables", records.len(), names.len());
        return Err(Error::new(ErrorKind::File, what));
    }
    let values: HashMap<String, Tensor> =
        names.into_iter().zip(records.into_iter().map(|record| record.tensor)).collect();
    import::program(&main, None, values, options)
}

/// Whether these bytes may be a program of Fluid's: its first block begins them.
pub fn is_program(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x0a)
        && generated::ProgramDesc::decode(bytes).is_ok_and(|program| {
            program.blocks.first().is_some_and(|block| block.idx == 0 && !block.ops.is_empty())
        })
}

fn decoded(bytes: &[u8]) -> Result<generated::ProgramDesc> {
    let fault = |what: String| {
        Error::new(ErrorKind::File, what).remedy(
            "give a file as Fluid wrote it: `__model__`, `.pdmodel` or a serialized program",
        )
    };
    if bytes.starts_with(b"{\"base_code\"") {
        return Err(fault("this is a program of Paddle 3, not of Fluid".to_string())
            .remedy("save it with FLAGS_enable_pir_api=0, which writes a `.pdmodel`"));
    }
    let program = generated::ProgramDesc::decode(bytes)
        .map_err(|error| fault(format!("this is not a program of Fluid: {error}")))?;
    match program.blocks.is_empty() {
        true => Err(fault("this program of Fluid has no blocks".to_string())),
        false => Ok(program),
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    files::allow(path)?;
    std::fs::read(path).map_err(|error| files::io(&path.display().to_string(), error))
}

fn in_file(error: Error, path: &Path) -> Error {
    error.note(format!("in the file {}", path.display()))
}

/// The file of the program, and the folder of its parameters.
fn model_of(path: &Path) -> Result<(PathBuf, PathBuf)> {
    if path.is_dir() {
        return Ok((path.join("__model__"), path.to_path_buf()));
    }
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let beside = with_ending(path, "pdmodel");
    match path.exists() || !beside.exists() {
        true => Ok((path.to_path_buf(), folder)),
        false => Ok((beside, folder)),
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// The file of all parameters, if there is one.
fn together_with(model: &Path, folder: &Path) -> Option<PathBuf> {
    let candidates = [model.with_extension("pdiparams"), folder.join("__params__")];
    candidates.into_iter().find(|file| file != model && file.is_file())
}

/// The file of one parameter, which is called as it is.
fn inside(folder: &Path, name: &str) -> Result<PathBuf> {
    let is_plain = |part| matches!(part, std::path::Component::Normal(_));
    match !name.contains('\0') && Path::new(name).components().all(is_plain) {
        true => Ok(folder.join(name)),
        false => Err(Error::new(
            ErrorKind::File,
            format!("the parameter `{name}` leads out of the model's folder"),
        )),
    }
}
