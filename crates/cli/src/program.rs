//! Programs from files, also from scripts that build them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use clap::Args;
use fluvial::core::{Error, ErrorKind, Program, Registry, Result, State};
use fluvial::data::Reader;
use fluvial::io::{self, Load};

use crate::fault::{Outcome, usage};
use crate::{fault, signals};

/// Which program, for commands that take one.
#[derive(Args)]
pub struct ProgramArgs {
    /// The program: `.fl`, `.flb`, a script `.py` that builds one, a saved model (its folder, or its `.safetensors`
    /// file), or `-` for standard input.
    pub program: PathBuf,
    /// For scripts: their arguments.
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub args: Vec<String>,
}

impl ProgramArgs {
    /// Reads the program. The states of a saved model go to `state`.
    pub fn load(&self, state: &State) -> Outcome<Program> {
        self.load_by(state, |path, registry| Program::load(path, registry))
    }

    /// [`Self::load`], for a program that is to be run: what a text says of no other source is placed at its own lines.
    pub fn load_placed(&self, state: &State) -> Outcome<Program> {
        self.load_by(state, |path, registry| Program::load_placed(path, registry))
    }

    fn load_by(
        &self,
        state: &State,
        read: fn(&Path, &Registry) -> Result<Program>,
    ) -> Outcome<Program> {
        if !self.args.is_empty() && ending(&self.program) != "py" {
            let what = format!("`{}` takes no arguments", self.program.display());
            return Err(usage(what, "only scripts do; feed inputs by --set or --feed"));
        }
        Ok(load_into(&self.program, &self.args, state, read)?)
    }
}

/// Reads a program: text, binary, what a Python script builds, or that of a saved model.
pub fn load(path: &Path) -> Result<Program> {
    load_into(path, &[], &State::new(), |path, registry| Program::load(path, registry))
}

/// [`load`], with arguments for a script, a scope for the states of a model, and how a file is read.
fn load_into(
    path: &Path,
    args: &[String],
    state: &State,
    read: fn(&Path, &Registry) -> Result<Program>,
) -> Result<Program> {
    if is_standard(path) {
        return from_standard_input();
    }
    match ending(path) {
        "fl" | "flb" => {
            // The file is looked at first, for an error that says what is the matter with it.
            std::fs::File::open(path).map_err(|error| fault::file(path, error))?;
            read(path, registry())
        }
        "py" => built(path, args),
        "safetensors" => model(path, state),
        _ if path.is_dir() => model(path, state),
        _ => Err(Error::argument(format!("`{}` does not name a program", path.display()))
            .remedy("a program ends in `.fl` (text), `.flb` (binary) or `.py` (a script), or is a saved model: a folder or a `.safetensors` file")),
    }
}

/// The program that a script builds, to be run by this process, which gets the arrays that it reads.
pub fn built(script: &Path, args: &[String]) -> Result<Program> {
    static BROUGHT: Mutex<Vec<Reader>> = Mutex::new(Vec::new());
    let draft = Draft::new()?;
    let folder = draft.0.parent();
    build(script, &draft.0, folder, args)?;
    if let Some(folder) = folder {
        let brought = io::bring_arrays(folder)?;
        BROUGHT.lock().unwrap_or_else(PoisonError::into_inner).extend(brought);
    }
    Program::load(&draft.0, registry())
}

/// The text of the program that a script builds, which cannot bring arrays along.
pub fn text_of(script: &Path, args: &[String]) -> Result<String> {
    let draft = Draft::new()?;
    build(script, &draft.0, None, args)?;
    Ok(Program::load(&draft.0, registry())?.to_string())
}

/// The program of a saved model, on the states that are given to `state`.
fn model(path: &Path, state: &State) -> Result<Program> {
    std::fs::File::open(path).map_err(|error| fault::file(path, error))?;
    let load = Load { registry: Some(registry()), ..Load::default() };
    Ok(io::load_model_with(path, state, load)?.unbound())
}

/// The name of standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Programs that are longer are not read from standard input.
const LONGEST: u64 = 1 << 32;

/// The program on standard input, in text or in binary form.
fn from_standard_input() -> Result<Program> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes);
    read.map_err(|error| fault::file(Path::new("standard input"), error))?;
    let parsed = match str::from_utf8(&bytes) {
        // It may begin with comments. The binary form has bytes that no text has.
        Ok(text) if !text.is_empty() && !text.chars().any(is_no_text) => {
            Program::parse(text, registry())
        }
        _ => Program::from_bytes(&bytes, registry()),
    };
    parsed.map_err(|error| error.note("on standard input"))
}

fn is_no_text(c: char) -> bool {
    c.is_control() && !c.is_whitespace()
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
    REGISTRY.get_or_init(fluvial::short::registry)
}

/// The interpreter that runs scripts.
pub fn python() -> String {
    std::env::var("FLUVIAL_PYTHON").unwrap_or_else(|_| "python3".to_string())
}

/// The module of the Python package that builds programs of scripts.
pub const BUILDER: &str = "fluvial._build";

/// Lets Python build the program of a script. Arrays in memory that it reads go to the folder `data`, and without one they
/// are refused. `args` are the script's own.
pub fn build(script: &Path, to: &Path, data: Option<&Path>, args: &[String]) -> Result<()> {
    std::fs::File::open(script).map_err(|error| fault::file(script, error))?;
    let python = python();
    let mut command = Command::new(&python);
    command.args(["-m", BUILDER]).arg(script).arg("-o").arg(to);
    if let Some(data) = data {
        command.arg("--data").arg(data);
    }
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
            .remedy("build one in program mode, see `docs/compiled_programs.md`"),
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
        let temporary = std::env::temp_dir();
        fluvial::data::files::remove_left_behind(&temporary);
        let folder = fluvial::data::files::draft_in(&temporary);
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
