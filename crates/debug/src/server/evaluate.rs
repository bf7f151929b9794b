//! Expressions, the commands of the console, and what may be typed there.

use serde_json::{Value, json};

use super::handles::Part;
use super::requests::text;
use super::session::{Answer, Session};
use super::show;
use super::stack::cut;
use super::variables::style;
use crate::protocol::{Args, event};
use crate::target::{Evaluated, Go};

/// How many bytes a text has at most.
const MAX_TEXT: usize = 60_000;
/// How many completions are offered.
const MAX_COMPLETIONS: usize = 200;

const HELP: &str = "\
expression      its value, such as: mean(h), w[0, 1], loss > 2
name = value    edits a variable; name[i, j] = value, one element
step N, goto N  goes to step N of the loop, forwards or backwards
iteration       goes on to the next trip of the innermost loop
back            goes back to the line before
edits           what was edited so far
programs        the programs that have run
help            this text";

/// A command of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Help,
    Edits,
    Programs,
    Back,
    Iteration,
    ToStep(u64),
}

impl Session {
    pub(super) fn evaluate(&mut self, args: Args) -> Answer {
        let expression = args.words("expression").ok_or("evaluate: the expression is missing")?;
        let context = args.text("context").unwrap_or("repl");
        if context == "repl"
            && let Some(command) = command(expression)
            && !self.is_variable(expression)
        {
            return self.run(command);
        }
        if context != "repl" && is_assignment(expression) {
            return Err(format!("`{expression}` is an edit; type it into the console"));
        }
        let frame = self.frame_in(args)?;
        let given = self.watch_edits(|own| own.target().evaluate(frame, expression));
        match given.map_err(text)? {
            Evaluated::Text(text) => Ok(text_out(text)),
            Evaluated::Value(value) if context == "clipboard" => {
                Ok(text_out(show::text(&value, style(args), MAX_TEXT)))
            }
            Evaluated::Value(root) => {
                let edits = self.target().edits().len();
                let part = Part {
                    thread: self.stop()?.thread,
                    frame,
                    scope: None,
                    name: expression.to_string(),
                    root,
                    index: Vec::new(),
                    range: None,
                    edits,
                };
                Ok(self.value_out("result", part, style(args)))
            }
        }
    }

    /// Whether a word is a variable here rather than a command.
    fn is_variable(&self, word: &str) -> bool {
        self.target().stopped().is_some() && self.target().names(0).iter().any(|name| name == word)
    }

    fn run(&mut self, command: Command) -> Answer {
        let how = match command {
            Command::Help => return Ok(text_out(HELP.to_string())),
            Command::Edits => return Ok(lines_out(self.target().edits(), "Nothing was edited.")),
            Command::Programs => {
                let programs = self.target().programs();
                let lines = programs.iter().map(|found| format!("{} {}", found.number, found.name));
                return Ok(lines_out(lines.collect(), "No program has run yet."));
            }
            Command::Back => Go::BackLine,
            Command::Iteration => Go::NextIteration,
            Command::ToStep(step) => Go::ToStep(step),
        };
        let thread = self.stop()?.thread;
        self.resume(how)?;
        // The client did not ask for this by a request that tells it that the program goes on.
        let body = json!({"threadId": thread, "allThreadsContinued": self.is_one_thread()});
        self.after.push(event("continued", body));
        Ok(text_out(String::new()))
    }

    pub(super) fn completions(&mut self, args: Args) -> Answer {
        let typed = args.text("text").unwrap_or("");
        let column = args.int("column").unwrap_or(i64::MAX);
        let column = column.saturating_sub(self.client.first_column).max(0) as usize;
        let before = &typed[..byte_at(typed, column)];
        let is_of_name = |c: char| c.is_alphanumeric() || "_.%".contains(c);
        let word_at = before.trim_end_matches(is_of_name).len();
        let word = &before[word_at..];
        let frame = self.frame_in(args).unwrap_or(0);
        let names = self.target().names(frame);
        let commands = ["help", "goto ", "iteration", "back", "edits", "programs"];
        let commands = commands.iter().filter(|_| before[..word_at].trim().is_empty());
        let start = before[..word_at].encode_utf16().count() as i64 + self.client.first_column;
        let length = word.encode_utf16().count();
        let item = |label: &str, kind: &str| json!({"label": label.trim(), "text": label, "type": kind, "start": start, "length": length});
        let names = names.iter().filter(|name| name.starts_with(word));
        let commands = commands.filter(|name| name.starts_with(word));
        let targets = names
            .map(|name| item(name, "variable"))
            .chain(commands.map(|name| item(name, "keyword")))
            .take(MAX_COMPLETIONS);
        Ok(json!({"targets": targets.collect::<Vec<_>>()}))
    }
}

/// The command that a line of the console is.
fn command(line: &str) -> Option<Command> {
    let mut words = line.split_whitespace();
    let command = match (words.next()?, words.next()) {
        ("help" | "?", None) => Command::Help,
        ("edits", None) => Command::Edits,
        ("programs", None) => Command::Programs,
        ("back", None) => Command::Back,
        ("iteration", None) => Command::Iteration,
        ("step" | "goto" | "iteration", Some(step)) => Command::ToStep(step.parse().ok()?),
        _ => return None,
    };
    words.next().is_none().then_some(command)
}

/// Whether a text gives something another value: `=` outside of brackets, and not of a comparison.
pub(super) fn is_assignment(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut depth = 0i64;
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'=' if depth <= 0 => {
                let is_behind = i > 0 && b"=<>!".contains(&bytes[i - 1]);
                if !is_behind && bytes.get(i + 1) != Some(&b'=') {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Where the character is that has this many units of UTF-16 before it.
fn byte_at(text: &str, n_units: usize) -> usize {
    let mut n_seen = 0;
    for (at, c) in text.char_indices() {
        if n_seen >= n_units {
            return at;
        }
        n_seen += c.len_utf16();
    }
    text.len()
}

fn lines_out(lines: Vec<String>, if_none: &str) -> Value {
    text_out(if lines.is_empty() { if_none.to_string() } else { lines.join("\n") })
}

fn text_out(mut text: String) -> Value {
    cut(&mut text, MAX_TEXT);
    json!({"result": text, "variablesReference": 0})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_told_from_comparisons() {
        for text in ["a = 1", "a[0, 1]=2", "a == b = c"] {
            assert!(is_assignment(text), "{text}");
        }
        for text in ["a", "a == 1", "a <= b", "a >= 1", "a != b", "sum(a, axis=0)", "", ")))"] {
            assert!(!is_assignment(text), "{text}");
        }
    }

    #[test]
    fn lines_that_are_commands() {
        assert_eq!(command("goto 12"), Some(Command::ToStep(12)));
        assert_eq!(command(" step  3 "), Some(Command::ToStep(3)));
        assert_eq!(command("help"), Some(Command::Help));
        for line in ["step", "goto", "goto x", "goto 1 2", "back 2", "step + 1", "", "mean(h)"] {
            assert_eq!(command(line), None, "{line}");
        }
    }

    #[test]
    fn columns_count_units() {
        assert_eq!([0, 1, 2, 3, 9].map(|n| byte_at("ä😀b", n)), [0, 2, 6, 6, 7]);
    }
}
