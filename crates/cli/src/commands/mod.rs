//! The commands, one file each.

mod attach;
mod bench;
mod build;
mod check;
mod completions;
mod convert;
mod data;
mod debug;
mod diff;
mod doctor;
mod export;
mod launch;
mod plan;
mod quantize;
mod run;
mod show;
mod transpile;
mod view;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use fluvial::core::Program;
use fluvial::kernels::threads;

use crate::fault::{Outcome, usage};
use crate::names;
use crate::out::Out;

/// What can be done.
#[derive(Subcommand)]
pub enum Command {
    Run(run::Run),
    Debug(debug::Debug),
    Attach(attach::Attach),
    Build(build::Build),
    Show(show::Show),
    Plan(plan::Plan),
    View(view::View),
    Check(check::Check),
    Diff(diff::Diff),
    Convert(convert::Convert),
    Export(export::Export),
    Quantize(quantize::Quantize),
    Transpile(transpile::Transpile),
    Launch(launch::Launch),
    Bench(bench::Bench),
    #[command(subcommand)]
    Data(data::Data),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

impl Command {
    /// Does it, and returns the exit code.
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        match self {
            Command::Run(run) => run.run(out),
            Command::Debug(debug) => debug.run(out),
            Command::Attach(attach) => attach.run(out),
            Command::Build(build) => build.run(out),
            Command::Show(show) => show.run(out),
            Command::Plan(plan) => plan.run(out),
            Command::View(view) => view.run(out),
            Command::Check(check) => check.run(out),
            Command::Diff(diff) => diff.run(out),
            Command::Convert(convert) => convert.run(out),
            Command::Export(export) => export.run(out),
            Command::Quantize(quantize) => quantize.run(out),
            Command::Transpile(transpile) => transpile.run(out),
            Command::Launch(launch) => launch.run(out),
            Command::Bench(bench) => bench.run(out),
            Command::Data(data) => data.run(out),
            Command::Doctor(doctor) => doctor.run(out),
            Command::Completions(completions) => completions.run(out),
        }
    }
}

/// How a program runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// By the executor, after the passes.
    Compiled,
    /// Call by call.
    Interpreted,
}

/// What commands that run programs have in common.
#[derive(Args)]
pub struct RunArgs {
    /// Number of threads; FLUVIAL_THREADS by default, else one per core.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The folder below which the program may read and write files.
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

impl RunArgs {
    /// Settles threads and root for the whole process.
    pub fn settle(&self) -> Outcome<()> {
        if let Some(n) = self.threads.map_or_else(threads_of_environment, |n| Ok(Some(n)))? {
            if n == 0 {
                return Err(usage("a program needs at least one thread", "--threads 1"));
            }
            threads::set_count(n);
        }
        if !self.root.is_dir() {
            let what = format!("the root `{}` is not a folder", self.root.display());
            return Err(usage(what, "make it, or name another one"));
        }
        let root = self.root.canonicalize();
        let root = root.map_err(|error| crate::fault::file(&self.root, error))?;
        fluvial::data::files::set_root(Some(&root));
        Ok(())
    }
}

/// The number of threads that FLUVIAL_THREADS says.
fn threads_of_environment() -> Outcome<Option<usize>> {
    match std::env::var("FLUVIAL_THREADS") {
        Ok(text) if !text.is_empty() => match text.parse() {
            Ok(n) => Ok(Some(n)),
            Err(_) => {
                let what = format!("FLUVIAL_THREADS is `{text}`");
                Err(usage(what, "set it to a number, or not at all"))
            }
        },
        _ => Ok(None),
    }
}

/// The outputs that are wanted: all, or those that are named.
pub fn wanted<'a>(program: &'a Program, named: &'a [String]) -> Outcome<Vec<&'a str>> {
    let known = || program.outputs.iter().map(|output| &**output);
    if named.is_empty() {
        return Ok(known().collect());
    }
    match named.iter().find(|name| !known().any(|output| output == **name)) {
        Some(name) => {
            let listed = names::listed(name, known());
            Err(usage(
                format!("the program has no output `{name}`"),
                format!("its outputs: {listed}"),
            ))
        }
        None => Ok(named.iter().map(String::as_str).collect()),
    }
}
