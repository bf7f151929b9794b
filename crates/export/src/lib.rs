//! Programs as source of other languages.
//!
//! [`export_rust`] writes a crate around the compiled program. [`export`] compiles a program and writes it down as plain C:
//! each step of the compiled program with the user's line as a comment, all values in one arena whose places are settled
//! here, states in one struct. What an op does it says itself, as data ([`fluvial_core::Kernel`]); this crate knows no op
//! by name. CUDA C++ is the same text in kernels: [`device`] says which lines are one, and how its threads share them.
//!
//! Reading order: [`block`] walks the calls and settles where values are, [`place`] and [`sizes`] say what a place and a
//! size are in C, [`step`] writes one call, with [`elements`], [`reduce`], [`lists`] and [`control`]; [`files`] and
//! [`cuda`] put the parts together.

mod block;
mod constants;
mod control;
mod cuda;
mod device;
mod elements;
mod files;
mod lists;
mod loops;
mod names;
mod place;
mod prelude;
mod reduce;
mod rust;
mod sizes;
mod step;
mod writer;

use std::path::Path;

use fluvial_core::{Error, ErrorKind, Program, Result, State};

pub use rust::{RustOptions, export_rust};
pub use sizes::Size;

/// How a program is exported.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the files, and the beginning of all names in them.
    pub name: String,
    /// What is known of the sizes that are symbols; all of them must be here.
    pub sizes: Vec<Size>,
    /// The outputs; all of them, if there are none.
    pub outputs: Vec<String>,
    /// Whether initial values of states are written into the source, and not into a file beside it.
    pub embed: bool,
    /// How many elements a list can take, at least.
    pub list_capacity: usize,
    /// Which library makes matrix products; in C only.
    pub blas: Blas,
    /// The language.
    pub language: Language,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            name: "model".into(),
            sizes: Vec::new(),
            outputs: Vec::new(),
            embed: false,
            list_capacity: 64,
            blas: Blas::None,
            language: Language::C,
        }
    }
}

/// What a program is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Plain C11.
    #[default]
    C,
    /// CUDA C++: steps are kernels, products of matrices are those of cuBLAS.
    Cuda,
}

/// A library of matrix products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blas {
    /// None: loops in the source.
    #[default]
    None,
    /// Any with the interface `cblas.h`.
    Cblas,
    /// OpenBLAS.
    OpenBlas,
    /// Intel's MKL.
    Mkl,
}

impl Blas {
    /// The library of this name.
    pub fn parse(name: &str) -> Result<Blas> {
        match name {
            "none" => Ok(Blas::None),
            "cblas" => Ok(Blas::Cblas),
            "openblas" => Ok(Blas::OpenBlas),
            "mkl" => Ok(Blas::Mkl),
            _ => Err(Error::argument(format!("`{name}` is not a library of matrix products"))
                .remedy("take `none`, `cblas`, `openblas` or `mkl`")),
        }
    }
}

/// A program as files.
#[derive(Clone, Debug, Default)]
pub struct Export {
    /// The files: their names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// The bytes of the arena; of C only.
    pub arena_bytes: usize,
}

impl Export {
    /// Writes the files into a folder, which is made if it is not there.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let fault = |path: &Path, error: std::io::Error| {
            Error::new(ErrorKind::File, format!("cannot write `{}`: {error}", path.display()))
        };
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(|error| fault(parent, error))?;
            }
            std::fs::write(&path, bytes).map_err(|error| fault(&path, error))?;
        }
        Ok(())
    }

    /// The text of a file, if there is one of this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        let (_, bytes) = self.files.iter().find(|(known, _)| known == name)?;
        std::str::from_utf8(bytes).ok()
    }
}

/// A program as C, or as CUDA C++. First values of states are those that `state` has, or those that the program computes.
///
/// ```
/// use fluvial_core::{DType, Program, State, Type};
/// use fluvial_export::{Options, export};
///
/// let ty = Type::of(DType::F32, &[2])?;
/// let program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * 2.0]))?;
/// let exported = export(&program, &State::new(), &Options::default())?;
/// assert!(exported.text("model.c").is_some_and(|text| text.contains("model_run")));
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn export(program: &Program, state: &State, options: &Options) -> Result<Export> {
    files::export(program, state, options)
}
