//! Runs of several ranks: what a command does when MPI has started it several times.

mod processes;

use std::path::PathBuf;

use fluvial::compile::{Distribution, Strategy, distribute};
use fluvial::core::Program;

pub use self::processes::Ranks;
use crate::fault::Outcome;

/// The program that each rank runs.
pub fn spread(program: &Program, strategy: &str) -> Outcome<Program> {
    Ok(distribute(program, &Distribution::new(Strategy::parse(strategy)?))?)
}

/// Where libraries of MPI may be besides where the system looks: beside this program, and in the environment of Python.
pub fn folders() -> Vec<PathBuf> {
    let environment = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let own = std::env::current_exe().ok();
    let own = own.and_then(|path| Some(path.parent()?.parent()?.to_path_buf()));
    environment.into_iter().chain(own).map(|prefix| prefix.join("lib")).collect()
}
