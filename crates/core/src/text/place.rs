//! Places in the user's source, both ways: `at file:line:column in function < caller < …`.

use std::fmt;

use fluvial_tensor::{Loc, Result};

use super::lex::{Token, is_plain_path};
use super::parse::Parser;
use super::print::Name;

/// Prints the place of a call, if it is known.
pub(super) fn print(out: &mut fmt::Formatter, loc: Loc) -> fmt::Result {
    let known = loc.is_known().then_some(loc);
    for (i, loc) in std::iter::successors(known, |loc| loc.parent()).enumerate() {
        out.write_str(if i == 0 { "  at " } else { " < " })?;
        let file = loc.file();
        match is_plain_path(&file) {
            true => out.write_str(&file)?,
            false => write!(out, "{file:?}")?,
        }
        write!(out, ":{}", loc.line())?;
        if loc.column() > 0 {
            write!(out, ":{}", loc.column())?;
        }
        if let Some(function) = loc.function() {
            write!(out, " in {}", Name(&function))?;
        }
    }
    Ok(())
}

impl Parser<'_> {
    /// The place of a call, if one is given.
    pub(super) fn place(&mut self) -> Result<Loc> {
        if !self.lexer.take_word("at")? {
            return Ok(Loc::Unknown);
        }
        let mut chain = Vec::new();
        loop {
            let file = match self.lexer.raw_path() {
                Some(path) => path.to_string(),
                None => self.quoted_or("a file name")?,
            };
            self.lexer.expect(':')?;
            let line = self.line_number()?;
            let column = if self.lexer.take(':')? { self.line_number()? } else { 0 };
            let function = match self.lexer.take_word("in")? {
                true => Some(self.name("the name of a function")?),
                false => None,
            };
            chain.push((file, line, column, function));
            if !self.lexer.take('<')? {
                break;
            }
        }
        let outer_first = chain.into_iter().rev();
        Ok(outer_first.fold(Loc::Unknown, |caller, (file, line, column, function)| {
            Loc::intern(&file, line, column, function.as_deref(), Some(caller))
        }))
    }

    fn line_number(&mut self) -> Result<u32> {
        match self.lexer.peek()?.token {
            Token::Number(text) if let Ok(number) = text.parse() => {
                self.lexer.next()?;
                Ok(number)
            }
            _ => Err(self.lexer.unexpected("a line or column number")),
        }
    }
}
