//! What the user's source calls values.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Lines of the user's files, read when they are first asked for.
#[derive(Default)]
pub struct Sources {
    files: HashMap<Arc<str>, Vec<Line>>,
}

/// What a line says of variables.
#[derive(Default)]
struct Line {
    /// The one that it assigns.
    assigned: Option<Arc<str>>,
    /// Those that each trip of its loop gets from a reader.
    given: Vec<Arc<str>>,
}

/// Longer files are none of a person.
const MAX_BYTES: u64 = 16 << 20;

impl Sources {
    /// The variable that a line assigns: `h` for `h = relu(x)`, `let h = …`, `h += x`; `self.h` for `self.h = …`.
    pub fn assigned(&mut self, file: &Arc<str>, line: u32) -> Option<Arc<str>> {
        self.line(file, line)?.assigned.clone()
    }

    /// The variables of a loop: `x` and `y` for `for x, y in batches:`, `with batches.iterate() as (x, y):`.
    pub fn given(&mut self, file: &Arc<str>, line: u32) -> Vec<Arc<str>> {
        self.line(file, line).map_or(Vec::new(), |line| line.given.clone())
    }

    fn line(&mut self, file: &Arc<str>, line: u32) -> Option<&Line> {
        let lines = self.files.entry(file.clone()).or_insert_with(|| {
            let text = recorded(file).or_else(|| read(file).map(Arc::from)).unwrap_or_default();
            text.lines().map(Line::read).collect()
        });
        lines.get((line as usize).checked_sub(1)?)
    }
}

/// The text of a file, if it is one that a person may have written.
pub fn read(file: &str) -> Option<String> {
    let is_small =
        |path: &PathBuf| std::fs::metadata(path).is_ok_and(|meta| meta.len() <= MAX_BYTES);
    std::fs::read_to_string(locate(file).filter(is_small)?).ok()
}

/// The files of the recording that is played, as they were when it was made.
static RECORDED: Mutex<Option<HashMap<Arc<str>, Arc<str>>>> = Mutex::new(None);

/// From now on, these files are what their names stand for: those of a recording that is played.
pub fn set_recorded(files: HashMap<Arc<str>, Arc<str>>) {
    *RECORDED.lock().unwrap_or_else(PoisonError::into_inner) = Some(files);
}

/// The text of a file in the recording that is played.
pub fn recorded(file: &str) -> Option<Arc<str>> {
    let files = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    files.as_ref()?.get(file).cloned()
}

impl Line {
    fn read(line: &str) -> Line {
        let given = of_loop(line).unwrap_or_default();
        Line { assigned: target(line).map(Arc::from), given }
    }
}

/// The variables that a line of Python gives to each trip of a loop.
fn of_loop(line: &str) -> Option<Vec<Arc<str>>> {
    let line = line.trim();
    let names = match line.strip_prefix("for ") {
        Some(rest) => rest.split_once(" in ")?.0,
        None => line.strip_prefix("with ")?.strip_suffix(':')?.rsplit_once(" as ")?.1,
    };
    let is_around = |c: char| "()[] ".contains(c);
    let names: Vec<&str> =
        names.trim_matches(is_around).trim_end_matches(',').split(',').map(str::trim).collect();
    let is_name =
        |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    names.iter().all(is_name).then(|| names.into_iter().map(Arc::from).collect())
}

/// Where a file is: under its own name, or below a folder around, since Rust names files from the top of a workspace.
pub fn locate(file: &str) -> Option<PathBuf> {
    let path = Path::new(file);
    if path.is_absolute() {
        return path.is_file().then(|| path.to_path_buf());
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(path)).find(|path| path.is_file())
}

/// The variable that a line of Python or Rust assigns.
fn target(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("let ").unwrap_or(line).trim_start();
    let line = line.strip_prefix("mut ").unwrap_or(line).trim_start();
    let end = line.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')?;
    let (name, rest) = line.split_at(end);
    let rest = match rest.strip_prefix(':') {
        // A type stands between.
        Some(typed) if !typed.starts_with(':') => &typed[typed.find('=')?..],
        _ => rest.trim_start(),
    };
    // `h += x` binds `h` anew.
    let signs = ["**", "//", "<<", ">>", "+", "-", "*", "/", "%", "@", "&", "|", "^"];
    let rest = signs.iter().find_map(|sign| rest.strip_prefix(sign)).unwrap_or(rest);
    let is_assignment = rest.strip_prefix('=').is_some_and(|rest| !rest.starts_with(['=', '>']));
    let is_name = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    (is_assignment && is_name && !name.ends_with('.')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{of_loop, target};

    #[test]
    fn the_variables_of_a_loop() {
        let check = |line: &str, names: &[&str]| {
            let found = of_loop(line).unwrap_or_default();
            assert_eq!(found.iter().map(|name| &**name).collect::<Vec<_>>(), names, "{line}");
        };
        check("    for x, y in batches.iterate(epochs=3):", &["x", "y"]);
        check("for (x, y) in batches:", &["x", "y"]);
        check("for x, in batches:", &["x"]);
        check("with batches.iterate() as (x, y):", &["x", "y"]);
        check("for step, (x, y) in enumerate(batches):", &[]);
        check("for x.y in batches:", &[]);
        check("with fl.no_grad():", &[]);
        check("x = 3", &[]);
    }

    #[test]
    fn the_assigned_variable() {
        let check = |line: &str, name: Option<&str>| assert_eq!(target(line), name, "{line}");
        check("    h = fl.relu(x)", Some("h"));
        check("let mut h = relu(&x)?;", Some("h"));
        check("let h: Var = relu(&x)?;", Some("h"));
        check("loss: fl.Tensor = f(x)", Some("loss"));
        check("self.h = x + 1", Some("self.h"));
        check("if h == 3:", None);
        check("return relu(x)", None);
        check("f(x, y=3)", None);
        check("x += 1", Some("x"));
        check("x **= 2", Some("x"));
        check("x @= w", Some("x"));
        check("x <= 1", None);
        check("x * y == 2", None);
        check("x - 1", None);
        check("h => 3,", None);
        check("a, b = f(x)", None);
        check("", None);
        check("3 = x", None);
    }
}
