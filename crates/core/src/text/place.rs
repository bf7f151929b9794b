//! Places in the user's source, both ways:
//! `at file:line:column in function [backward, layer net.0] < caller < …`.

use std::fmt;

use fluvial_tensor::{Loc, Marks, Phase, Result};

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
        print_marks(out, loc.marks())?;
    }
    Ok(())
}

fn print_marks(out: &mut fmt::Formatter, marks: Marks) -> fmt::Result {
    let phase = (marks.phase != Phase::Forward).then(|| marks.phase.name());
    match (phase, marks.layer()) {
        (None, None) => Ok(()),
        (Some(phase), None) => write!(out, " [{phase}]"),
        (None, Some(layer)) => write!(out, " [layer {}]", Name(&layer)),
        (Some(phase), Some(layer)) => write!(out, " [{phase}, layer {}]", Name(&layer)),
    }
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
            let marks = self.marks()?;
            chain.push((file, line, column, function, marks));
            if !self.lexer.take('<')? {
                break;
            }
        }
        let outer_first = chain.into_iter().rev();
        Ok(outer_first.fold(Loc::Unknown, |caller, (file, line, column, function, marks)| {
            let place = Loc::intern(&file, line, column, function.as_deref(), Some(caller));
            place.with_marks(marks)
        }))
    }

    /// The phase and the layer in brackets, in any order, if they are given.
    fn marks(&mut self) -> Result<Marks> {
        let mut marks = Marks::default();
        if !self.lexer.take('[')? {
            return Ok(marks);
        }
        loop {
            marks = match self.lexer.take_word("layer")? {
                true => marks.with_layer(&self.name("the name of a layer")?),
                false => marks.with_phase(self.phase()?),
            };
            if !self.lexer.take(',')? {
                break;
            }
        }
        self.lexer.expect(']')?;
        Ok(marks)
    }

    fn phase(&mut self) -> Result<Phase> {
        for phase in Phase::ALL {
            if self.lexer.take_word(phase.name())? {
                return Ok(phase);
            }
        }
        Err(self.lexer.unexpected("`layer`, `forward`, `backward` or `optimizer`"))
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
