//! Lines that a person types: with editing, history and completion.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use fluvial_debug::terminal::{Commands, Prompt};
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, History};
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

/// So many lines are remembered.
const MAX_HISTORY: usize = 1000;

/// A person at a terminal.
pub struct Typed {
    editor: Editor<Words, FileHistory>,
    /// Where lines are remembered from one time to the next.
    file: Option<PathBuf>,
}

impl Typed {
    /// Nothing unless a person sits at a terminal that can do it; then lines are read as they come.
    pub fn new() -> Option<Typed> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() || is_dumb {
            return None;
        }
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)
            .ok()?
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config).ok()?;
        editor.set_helper(Some(Words(Vec::new())));
        let file = history_file();
        if let Some(file) = &file {
            // There may be none yet.
            let _ = editor.load_history(file);
        }
        Some(Typed { editor, file })
    }

    /// Asks for a line; nothing at the end. `words` are offered as completions.
    pub fn line(&mut self, prompt: &str, words: Vec<String>) -> io::Result<Option<String>> {
        if let Some(helper) = self.editor.helper_mut() {
            helper.0 = words;
        }
        loop {
            return match self.editor.readline(prompt) {
                Ok(line) => {
                    if !line.trim().is_empty() {
                        // What cannot be remembered is done all the same.
                        let _ = self.editor.add_history_entry(line.as_str());
                    }
                    Ok(Some(line))
                }
                Err(ReadlineError::Eof) => Ok(None),
                // Ctrl-C at the prompt forgets the line.
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Io(error)) => Err(error),
                Err(error) => Err(io::Error::other(error.to_string())),
            };
        }
    }
}

impl Drop for Typed {
    fn drop(&mut self) {
        if let Some(file) = self.file.as_ref().filter(|_| !self.editor.history().is_empty()) {
            let _ = file.parent().map(std::fs::create_dir_all);
            let _ = self.editor.save_history(file);
        }
    }
}

impl Commands for Typed {
    fn next(&mut self, prompt: &Prompt<'_>, out: &mut dyn Write) -> io::Result<Option<Vec<u8>>> {
        out.flush()?;
        let line = self.line(prompt.text, (prompt.words)())?;
        Ok(line.map(String::into_bytes))
    }
}

/// A file of the user's own.
fn history_file() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty());
    let state = named("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(named("HOME")?).join(".local/state")))?;
    Some(state.join("fluvial").join("debug_history"))
}

/// Words that may be typed.
struct Words(Vec<String>);

impl Completer for Words {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..pos];
        let is_of_word = |c: char| c.is_alphanumeric() || "_.%@-".contains(c);
        let start = before.trim_end_matches(is_of_word).len();
        let word = &before[start..];
        let mut fitting: Vec<&String> = self.0.iter().filter(|one| one.starts_with(word)).collect();
        fitting.sort();
        fitting.dedup();
        let pair = |word: &String| Pair { display: word.clone(), replacement: word.clone() };
        Ok((start, fitting.into_iter().map(pair).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_begin_like_this() {
        let words = Words(["print", "params", "guess", "net.0.weight"].map(String::from).into());
        let history = FileHistory::new();
        let check = |line: &str, start: usize, expected: &[&str]| {
            let (at, found) = words.complete(line, line.len(), &Context::new(&history)).unwrap();
            let found: Vec<&str> = found.iter().map(|pair| pair.replacement.as_str()).collect();
            assert_eq!((at, &found[..]), (start, expected), "{line}");
        };
        check("p", 0, &["params", "print"]);
        check("print mean(gu", 11, &["guess"]);
        check("print net.0.w", 6, &["net.0.weight"]);
        check("print x", 6, &[]);
    }
}
