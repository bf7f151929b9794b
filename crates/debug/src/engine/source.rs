//! What the user's source calls values.

use std::collections::HashMap;
use std::sync::Arc;

/// Lines of the user's files, read when they are first asked for.
#[derive(Default)]
pub struct Sources {
    files: HashMap<Arc<str>, Vec<Option<Arc<str>>>>,
}

/// Longer files are none of a person.
const MAX_BYTES: u64 = 16 << 20;

impl Sources {
    /// The variable that a line assigns: `h` for `h = relu(x)`, `let h = …`, `self.h = …`.
    pub fn assigned(&mut self, file: &Arc<str>, line: u32) -> Option<Arc<str>> {
        let lines = self.files.entry(file.clone()).or_insert_with(|| {
            let is_small = std::fs::metadata(&**file).is_ok_and(|meta| meta.len() <= MAX_BYTES);
            let text = is_small.then(|| std::fs::read_to_string(&**file).ok()).flatten();
            text.unwrap_or_default().lines().map(|line| target(line).map(Arc::from)).collect()
        });
        lines.get((line as usize).checked_sub(1)?)?.clone()
    }
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
    let is_assignment = rest.strip_prefix('=').is_some_and(|rest| !rest.starts_with(['=', '>']));
    let is_name = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    (is_assignment && is_name && !name.ends_with('.')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::target;

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
        check("x += 1", None);
        check("h => 3,", None);
        check("a, b = f(x)", None);
        check("", None);
        check("3 = x", None);
    }
}
