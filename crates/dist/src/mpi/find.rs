//! Where a library of MPI is, and which launcher belongs to it.

use std::path::{Path, PathBuf};

use fluvial_tensor::{Error, ErrorKind, Result};

use super::abi::Abi;
use super::ffi::Library;
use crate::launcher::{Launcher, launched};

/// The variable that names a library.
pub(crate) const VARIABLE: &str = "FLUVIAL_MPI";

/// A library of MPI that can be loaded.
pub struct Found {
    /// Its path, or the name by which the system finds it.
    pub path: PathBuf,
    pub(crate) library: Library,
    pub(crate) abi: Abi,
}

impl Found {
    /// Whose binary interface it has.
    pub fn interface(&self) -> &'static str {
        match self.abi {
            Abi::OpenMpi => "Open MPI",
            Abi::Mpich => "MPICH",
            Abi::Standard => "MPI 5",
        }
    }

    /// The `mpiexec` that belongs to it: the one of its folder's neighbour `bin`, or of the search path if the library
    /// was found by the system.
    pub fn launcher(&self) -> Option<PathBuf> {
        let of_prefix = self.path.parent().and_then(Path::parent).map(|prefix| prefix.join("bin"));
        let beside = of_prefix.into_iter().filter(|_| self.path.is_absolute());
        let names: &[&str] = match self.abi {
            Abi::OpenMpi => &["mpiexec.openmpi", "mpiexec", "mpirun"],
            _ => &["mpiexec.hydra", "mpiexec", "mpirun"],
        };
        let searched = std::env::var_os("PATH").unwrap_or_default();
        let folders = beside.chain(std::env::split_paths(&searched));
        folders
            .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
            .find(|path| path.is_file())
    }
}

/// Finds a library of MPI: the one that `FLUVIAL_MPI` names, else one that belongs to what has started this process,
/// in `folders`, in those beside the launchers of the search path, or where the system looks.
pub fn find(folders: &[PathBuf]) -> Result<Found> {
    if let Some(given) = std::env::var_os(VARIABLE) {
        let path = PathBuf::from(given);
        let library = Library::open(&path).map_err(|error| {
            error
                .note(format!("{VARIABLE} is `{}`", path.display()))
                .remedy("name a library of MPI, such as libmpi.so.12")
        })?;
        let abi = library.abi(&path);
        return Ok(Found { path, library, abi });
    }
    let names: &[&str] = match launched().map(|(launcher, _)| launcher) {
        Some(Launcher::OpenMpi) => &["libmpi.so.40"],
        Some(Launcher::Hydra) => &["libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.12"],
        _ => &["libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.12", "libmpi.so.40"],
    };
    let mut why = Vec::new();
    for path in candidates(folders, names) {
        if path.is_absolute() && !path.exists() {
            continue;
        }
        match Library::open(&path) {
            Ok(library) => {
                let abi = library.abi(&path);
                return Ok(Found { path, library, abi });
            }
            Err(error) => why.push(error.message().to_string()),
        }
    }
    let error = Error::new(ErrorKind::File, "no library of MPI was found")
        .remedy(format!("`pip install fluvial[mpi]`, or name one in {VARIABLE}"));
    Err(why.into_iter().take(3).fold(error, Error::note))
}

fn candidates(folders: &[PathBuf], names: &[&str]) -> Vec<PathBuf> {
    let searched = std::env::var_os("PATH").unwrap_or_default();
    let has_launcher =
        |folder: &PathBuf| folder.join("mpiexec").is_file() || folder.join("mpirun").is_file();
    let beside = std::env::split_paths(&searched).filter(has_launcher);
    let beside = beside.filter_map(|bin| Some(bin.parent()?.join("lib")));
    let all = folders.iter().cloned().chain(beside).filter(|folder| folder.is_absolute());
    let mut paths: Vec<PathBuf> =
        all.flat_map(|folder| names.iter().map(move |name| folder.join(name))).collect();
    paths.extend(names.iter().map(PathBuf::from));
    paths
}
