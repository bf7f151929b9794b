//! Programs as text, and the lines of their calls.

use std::collections::HashMap;

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
        let mut next = || lines.find(|(line, _)| is_call(line)).map_or(0, |(_, number)| number);
        let mut of_block = HashMap::new();
        walk(&program.main, &mut Vec::new(), &mut next, &mut of_block);
        Lines { text, of_block }
    }
}

/// Calls are written in the order in which a reader meets them: those of a block behind the call that owns it.
fn walk(
    block: &Block,
    path: &mut Path,
    next: &mut dyn FnMut() -> u32,
    of_block: &mut HashMap<Path, Vec<u32>>,
) {
    let mut lines = Vec::with_capacity(block.calls.len());
    for (index, call) in block.calls.iter().enumerate() {
        lines.push(next());
        for (number, inner) in call.op.blocks().iter().enumerate() {
            path.push((index, number));
            walk(inner, path, next, of_block);
            path.pop();
        }
    }
    of_block.insert(path.clone(), lines);
}

/// Whether a call begins on a line of the text of a program.
fn is_call(line: &str) -> bool {
    let line = line.trim_start();
    let first = line.split(['(', '{', ' ']).next().unwrap_or_default();
    let is_word =
        !first.is_empty() && first.chars().all(|c| c.is_alphanumeric() || "._%".contains(c));
    is_word && first != "return" && first != "main"
}
