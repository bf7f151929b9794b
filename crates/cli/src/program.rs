//! Programs from files, also from scripts that build them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use fluvial::core::{Error, ErrorKind, Program, Registry, Result};

use crate::{fault, signals};

/// Reads a program: text, binary, or what a Python script builds.
pub fn load(path: &Path) -> Result<Program> {
    match ending(path) {
        "fl" | "flb" => {
            // The file is looked at first, for an error that says what is the matter with it.
            std::fs::File::open(path).map_err(|error| fault::file(path, error))?;
            Program::load(path, registry())
        }
        "py" => {
            let draft = Draft::new()?;
            build(path, &draft.0, &[])?;
            Program::load(&draft.0, registry())
        }
        _ => Err(Error::argument(format!("`{}` does not name a program", path.display()))
            .remedy("a program ends in `.fl` (text), `.flb` (binary) or `.py` (a script)")),
    }
}

/// Whether the name is one of a program file.
pub fn is_named(path: &Path) -> bool {
    matches!(ending(path), "fl" | "flb")
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// The ops that programs may have.
pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(fluvial::ops::registry)
}

/// The interpreter that runs scripts.
pub fn python() -> String {
    std::env::var("FLUVIAL_PYTHON").unwrap_or_else(|_| "python3".to_string())
}

/// The module of the Python package that builds programs of scripts.
pub const BUILDER: &str = "fluvial._build";

/// Lets Python build the program of a script. `args` are the script's own.
pub fn build(script: &Path, to: &Path, args: &[String]) -> Result<()> {
    std::fs::File::open(script).map_err(|error| fault::file(script, error))?;
    let python = python();
    let mut command = Command::new(&python);
    command.args(["-m", BUILDER]).arg(script).arg("-o").arg(to);
    if !args.is_empty() {
        command.arg("--").args(args);
    }
    // What the script prints is not a result of ours.
    let child = command.stdin(Stdio::null()).stdout(std::io::stderr()).spawn();
    let child = child.map_err(|error| {
        Error::new(ErrorKind::File, format!("`{python}` cannot be started: {error}"))
            .remedy("install Python, or name it in FLUVIAL_PYTHON; `.fl` and `.flb` need none")
    })?;
    let status = wait(child, &python)?;
    if status.success() && to.exists() {
        return Ok(());
    }
    let shown = script.display();
    Err(match has_builder(&python) {
        false => Error::new(ErrorKind::File, format!("`{python}` has no package `fluvial`"))
            .remedy("install it there, or name another Python in FLUVIAL_PYTHON"),
        true if status.success() => Error::program(format!("`{shown}` did not build a program"))
            .remedy("build one in program mode, see `docs/programs.md`"),
        true => Error::program(format!("`{shown}` failed with {status}"))
            .remedy("what Python has written above says why"),
    })
}

/// Waits for a child, which a signal ends.
pub fn wait(mut child: Child, name: &str) -> Result<ExitStatus> {
    const PAUSE: Duration = Duration::from_millis(10);
    loop {
        if signals::has_arrived() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            let what = "the build was stopped before its end";
            return Err(Error::new(ErrorKind::Interrupted, what).remedy("start again"));
        }
        let ended = child.try_wait().map_err(|error| {
            Error::new(ErrorKind::File, format!("`{name}` cannot be waited for: {error}"))
        })?;
        match ended {
            Some(status) => return Ok(status),
            None => std::thread::sleep(PAUSE),
        }
    }
}

/// Whether this Python can build programs.
pub fn has_builder(python: &str) -> bool {
    let finds = format!(
        "import importlib.util as u, sys; \
         sys.exit(not (u.find_spec('fluvial') and u.find_spec('{BUILDER}')))"
    );
    let mut command = Command::new(python);
    command.args(["-c", &finds]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A file for a short time, in a folder of its own.
struct Draft(PathBuf);

impl Draft {
    fn new() -> Result<Draft> {
        let folder = fluvial::data::files::draft_in(&std::env::temp_dir());
        std::fs::create_dir(&folder).map_err(|error| fault::file(&folder, error))?;
        Ok(Draft(folder.join("program.flb")))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(folder) = self.0.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
