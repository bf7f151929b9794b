//! Saving and loading: states by name, and models, which are a program with its states.
//!
//! The files are those of the Python package, byte for byte. A folder has `program.flb` and
//! `model.safetensors`; or both are in one `.safetensors` file, with the program's text as a note in its header.
//! Nothing in them is ever executed but the ops that the program names.
//!
//! ```
//! use fluvial::io;
//! use fluvial::prelude::*;
//!
//! let folder = std::env::temp_dir().join(format!("fluvial-io-{}", std::process::id()));
//! let ty = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(2)])?;
//! let state = State::new();
//! let _scope = state.enter();
//! let net = Linear::new("fc", 2, 1);
//! let program = Program::build(&[("x", ty)], |x| Ok(vec![net.forward(&x[0])?]))?;
//! let x = Tensor::full(&[3, 2], 0.5f32)?;
//! let y = Executor::new(&program, state.clone())?.run(&[("x", x.clone())])?;
//!
//! io::save_model(&folder, &program, &state)?;
//! let elsewhere = State::new();
//! let again = io::load_model(&folder, &elsewhere)?;
//! assert!(Executor::new(&again, elsewhere)?.run(&[("x", x)])?[0].bitwise_eq(&y[0]));
//! # std::fs::remove_dir_all(&folder).ok();
//! # Ok::<(), Error>(())
//! ```

mod carried;
mod inference;
mod states;

use std::path::Path;

use fluvial_core::{Error, Program, Result, Role, State};
use fluvial_data::files;

pub use carried::{bring_arrays, carry_arrays};
pub use inference::{inference_program, save_inference_model};
pub use states::{Load, Loaded, load_states, save_states};
use states::{read, write};

/// What belongs to a model, as opposed to its training.
const MODEL: [Role; 2] = [Role::Parameter, Role::Buffer];
/// The note that has the program in a file of both.
const PROGRAM: &str = "fluvial.program";
/// The files in the folder of a model.
const FILES: (&str, &str) = ("program.flb", "model.safetensors");

/// Saves a program, with its inputs and outputs, and its parameters and buffers: those of the cells that it is bound
/// to, and else those of `state`. What has no value gets its initial one. `path` is a folder, which is made if there is none, or a file that ends in
/// `.safetensors`. Each file is written whole or not at all.
pub fn save_model(path: impl AsRef<Path>, program: &Program, state: &State) -> Result<()> {
    let path = path.as_ref();
    let state = &state.bound_to(&program.bound());
    program.initialise(state)?;
    let mut cells = state.cells();
    cells.retain(|name, _| program.states.contains_key(name));
    if is_single(path) {
        return write(path, &cells, &MODEL, &[(PROGRAM, &program.to_string())]);
    }
    let (program_file, states_file) = (path.join(FILES.0), path.join(FILES.1));
    let bytes = program.to_bytes();
    let shown = program_file.display().to_string();
    files::write_at(&program_file, |to| {
        to.write_all(&bytes).map_err(|error| files::io(&shown, error))
    })?;
    write(&states_file, &cells, &MODEL, &[])
}

/// Loads what [`save_model`] saved: gives the program, bound to the cells of `state`, and `state` the values. Nothing
/// is changed if a parameter or buffer of the program is missing or of another type; the error tells of all of them.
pub fn load_model(path: impl AsRef<Path>, state: &State) -> Result<Program> {
    load_model_with(path, state, Load::default())
}

/// [`load_model`] of weights that are called otherwise or have other element types. With `names`, no
/// further states are loaded than these and those of the model. `registry` has the ops that the program may use, if
/// there are own ones among them.
pub fn load_model_with(path: impl AsRef<Path>, state: &State, load: Load<'_>) -> Result<Program> {
    let path = path.as_ref();
    let own;
    let registry = match load.registry {
        Some(registry) => registry,
        None => {
            own = crate::short::registry();
            &own
        }
    };
    let (program, file, states_file) = if path.is_file() {
        let file = read(path)?;
        let Some((_, text)) = file.notes.iter().find(|(name, _)| name == PROGRAM) else {
            let what = format!("`{}` has tensors, but no program", path.display());
            return Err(files::fault(what).remedy("load its tensors by `load_states`"));
        };
        let program = Program::parse(text, registry)
            .map_err(|error| error.note(format!("in the file {}", path.display())))?;
        (program, file, path.to_path_buf())
    } else {
        let (program_file, states_file) = (path.join(FILES.0), path.join(FILES.1));
        if !program_file.is_file() {
            return Err(no_model(path));
        }
        (Program::load(program_file, registry)?, read(&states_file)?, states_file)
    };
    states::take_over(file, &states_file, state, load, &program.states)?;
    Ok(program.bound_to_all(state))
}

fn no_model(path: &Path) -> Error {
    files::fault(format!("there is no model in `{}`", path.display())).remedy(format!(
        "give a folder with `{}` and `{}`, or one file that ends in `.safetensors`",
        FILES.0, FILES.1
    ))
}

fn is_single(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(".safetensors")
}
