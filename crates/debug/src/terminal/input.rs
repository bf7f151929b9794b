//! Where commands come from.

use std::io::{self, BufRead, Write};

/// Gives commands, one line each.
pub trait Commands {
    /// Asks for the next line; nothing at the end.
    fn next(&mut self, prompt: &Prompt<'_>, out: &mut dyn Write) -> io::Result<Option<Vec<u8>>>;
}

/// What a person is asked with.
pub struct Prompt<'a> {
    /// What stands before the line.
    pub text: &'a str,
    /// Words that the line may have: commands, variables, functions.
    pub words: &'a dyn Fn() -> Vec<String>,
}

/// Lines of a stream, as they are.
pub struct Plain<'a>(pub &'a mut dyn BufRead);

impl Commands for Plain<'_> {
    fn next(&mut self, prompt: &Prompt<'_>, out: &mut dyn Write) -> io::Result<Option<Vec<u8>>> {
        out.write_all(prompt.text.as_bytes())?;
        out.flush()?;
        read_line(self.0)
    }
}

/// A line of a stream; nothing at its end.
pub fn read_line(from: &mut dyn BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        match from.read_until(b'\n', &mut line) {
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(_) => return Ok(Some(line)),
            // Ctrl-C at the prompt does nothing.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
