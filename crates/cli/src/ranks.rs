//! Runs of several ranks: what a command does when MPI has started it several times.

mod generation;
mod processes;
mod resumed;
mod spread;

use std::path::PathBuf;

pub use self::generation::Generation;
pub use self::processes::Ranks;
pub use self::resumed::{Programs, Saved, folder_of};
pub use self::spread::{SERVERS, Spread, SpreadArgs};

/// Where libraries of MPI may be besides where the system looks: beside this program, and in the environment of Python.
pub fn folders() -> Vec<PathBuf> {
    let environment = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let own = std::env::current_exe().ok();
    let own = own.and_then(|path| Some(path.parent()?.parent()?.to_path_buf()));
    environment.into_iter().chain(own).map(|prefix| prefix.join("lib")).collect()
}
