//! A debugger in a terminal, like `pdb`, for any [`Target`].
//!
//! It reads commands from one stream and writes to another, so that scripts and tests can drive it. `help` lists the
//! commands.

mod breaks;
mod commands;
mod going;
mod input;
mod looking;
mod paint;
mod session;
mod show;
mod source;
#[cfg(test)]
mod tests;

use std::io::{BufRead, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fluvial_core::Result;

use crate::target::Target;
pub use input::{Commands, Plain, Prompt, read_line};
pub use session::Session;

/// How the debugger looks, and how it begins.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether to use colours.
    pub colours: bool,
    /// How many letters a line has.
    pub width: usize,
    /// Whether to write the commands that were read: for input that is not typed.
    pub echo: bool,
    /// Whether to wait for the first stop before the first command, if the program runs.
    pub wait: bool,
    /// Whether `quit` ends the program, which was started for being debugged; else it goes on alone.
    pub quit_ends: bool,
    /// Whether the faults that stop a program by default do so from the start.
    pub faults: bool,
    /// Set from outside to pause the program, as Ctrl-C does; it is put back when that was done.
    pub interrupt: Arc<AtomicBool>,
    /// The connection over which a person types, if there is one: the program is let go when it is closed.
    pub connection: Option<Arc<TcpStream>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            colours: false,
            width: 100,
            echo: false,
            wait: true,
            quit_ends: true,
            faults: false,
            interrupt: Arc::default(),
            connection: None,
        }
    }
}

impl Options {
    /// For a person at a terminal: colours, unless `NO_COLOR` is set or the output is not a terminal; its width, if
    /// `COLUMNS` says so.
    pub fn for_terminal(is_terminal: bool) -> Options {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        Options {
            colours: is_terminal && !set("NO_COLOR") && !dumb,
            width: columns.unwrap_or(100).clamp(40, 1000),
            echo: !is_terminal,
            faults: true,
            ..Options::default()
        }
    }
}

/// How a debugger was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The program has ended.
    Ended,
    /// The program goes on without it.
    Detached,
    /// The program was told to end.
    Quit,
}

/// Debugs a program until it ends, or the user leaves. At the end of the input the program goes on alone.
///
/// What the program does before is not heard of: to start it only then, make a [`Session`] first.
pub fn run(
    target: &dyn Target,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    options: Options,
) -> Result<Left> {
    Session::new(target, output, options).run(&mut Plain(input))
}
