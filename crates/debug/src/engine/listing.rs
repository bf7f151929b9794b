//! Programs as text, and the lines of their calls.

use std::collections::HashMap;

use fluvial_core::structural::Note;
use fluvial_core::{Block, Program};

/// The way to a block: the position of each call on it, and the number of its block.
pub type Path = Vec<(usize, usize)>;

/// A program as text.
pub struct Lines {
    /// The text.
    pub text: String,
    /// By block: the line of each of its calls, counted from 1.
    pub of_block: HashMap<Path, Vec<u32>>,
}

impl Lines {
    /// The text of a program.
    pub fn of(program: &Program) -> Lines {
        let text = program.to_string();
        let mut lines = text.lines().zip(1u32..).skip_while(|(line, _)| !line.starts_with("main"));
        let mut next = |op: &str| {
            let is_of = |(line, _): &(&str, u32)| is_call(line) && names(line, op);
            lines.find(is_of).map_or(0, |(_, number)| number)
        };
        let mut of_block = HashMap::new();
        walk(&program.main, &mut Vec::new(), &mut next, &mut of_block);
        Lines { text, of_block }
    }
}

/// Calls are written in the order in which a reader meets them: those of a block behind the call that owns it.
fn walk(
    block: &Block,
    path: &mut Path,
    next: &mut dyn FnMut(&str) -> u32,
    of_block: &mut HashMap<Path, Vec<u32>>,
) {
    let mut lines = Vec::with_capacity(block.calls.len());
    for call in &block.calls {
        let line = next(call.op.name());
        // A plan has no steps for these.
        if call.op.downcast::<Note>().is_some() {
            continue;
        }
        let index = lines.len();
        lines.push(line);
        for (number, inner) in call.op.blocks().iter().enumerate() {
            path.push((index, number));
            walk(inner, path, next, of_block);
            path.pop();
        }
    }
    of_block.insert(path.clone(), lines);
}

/// Whether a line has the name of an op, on its own.
fn names(line: &str, op: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || "._".contains(c);
    line.match_indices(op).any(|(at, _)| {
        let (before, behind) = (&line[..at], &line[at + op.len()..]);
        !before.ends_with(is_of_word) && !behind.starts_with(is_of_word)
    })
}

/// Whether a call begins on a line of the text of a program.
fn is_call(line: &str) -> bool {
    let line = line.trim_start();
    let first = line.split(['(', '{', ' ']).next().unwrap_or_default();
    let is_word =
        !first.is_empty() && first.chars().all(|c| c.is_alphanumeric() || "._%".contains(c));
    // A call may have several outputs.
    line.starts_with('%') || is_word && first != "return" && first != "main"
}
