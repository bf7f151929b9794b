//! The small parts of the text form: values, names and types.

use std::fmt;
use std::sync::Arc;

use fluvial_tensor::{DType, Dim, Error, ErrorKind, Result, Type};

use super::lex::{Spanned, Token, is_value_name, unescape};
use super::parse::Parser;
use super::print::Name;

/// What a value is called in the text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Label {
    Number(Box<str>),
    Name(Arc<str>),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Number(text) => write!(f, "%{text}"),
            Label::Name(name) => write!(f, "%{}", Name(name)),
        }
    }
}

impl<'a> Parser<'a> {
    /// A value and where it stands.
    pub(super) fn value(&mut self) -> Result<(Label, usize)> {
        let start = self.lexer.peek()?.start;
        self.lexer.expect('%')?;
        let label = self.lexer.label()?;
        let label = match label.token {
            Token::Quoted(text) => Label::Name(self.unescaped(text, label.start)?.into()),
            Token::Word(text) if text.bytes().all(|c| c.is_ascii_digit()) => {
                Label::Number(text.into())
            }
            Token::Word(text) if is_value_name(text) => Label::Name(text.into()),
            _ => return Err(self.lexer.unfit(label, "a number or a name")),
        };
        Ok((label, start))
    }

    /// A type.
    pub(super) fn type_(&mut self) -> Result<Type> {
        match self.lexer.peek()?.token {
            Token::Word(_) => {
                let start = self.lexer.next()?;
                self.type_from(start)
            }
            _ => Err(self.lexer.unexpected("a type")),
        }
    }

    /// The type whose first word is taken already.
    pub(super) fn type_from(&mut self, mut word: Spanned<'a>) -> Result<Type> {
        let start = word.start;
        let mut n_lists = 0;
        let is_channel = word.token == Token::Word("chan");
        if is_channel {
            word = self.lexer.next()?;
        }
        while word.token == Token::Word("list") {
            n_lists += 1;
            word = self.lexer.next()?;
        }
        let dtype = match word.token {
            Token::Word(text) => DType::parse(text),
            _ => None,
        };
        let Some(dtype) = dtype else {
            let names = DType::ALL.map(DType::name).join(", ");
            return Err(self
                .lexer
                .unfit(word, &format!("a type, which starts with one of {names}")));
        };
        self.lexer.expect('[')?;
        let (text, text_start) = self.lexer.raw_until(']')?;
        let located = |at: usize, error: Error| self.lexer.located(at, error, ErrorKind::Parse);
        let mut dims: Vec<Dim> = Vec::new();
        let mut at = text_start;
        for piece in text.split(',').filter(|_| !text.trim().is_empty()) {
            let start = at + piece.len() - piece.trim_start().len();
            dims.push(Dim::parse(piece.trim()).map_err(|error| located(start, error))?);
            at += piece.len() + 1;
        }
        let tensor = Type::new(dtype, &dims);
        let list = (0..n_lists).fold(tensor, |ty, _| ty.and_then(Type::list_of));
        let ty = if is_channel { list.and_then(Type::channel_of) } else { list };
        ty.map_err(|error| located(start, error))
    }

    /// A plain or quoted name.
    pub(super) fn name(&mut self, expected: &str) -> Result<String> {
        match self.lexer.peek()?.token {
            Token::Word(word) => {
                self.lexer.next()?;
                Ok(word.to_string())
            }
            _ => self.quoted_or(expected),
        }
    }

    /// A string.
    pub(super) fn quoted(&mut self) -> Result<String> {
        self.quoted_or("a string")
    }

    /// A string, where something else would do too.
    pub(super) fn quoted_or(&mut self, expected: &str) -> Result<String> {
        let next = self.lexer.peek()?;
        let Token::Quoted(text) = next.token else { return Err(self.lexer.unexpected(expected)) };
        self.lexer.next()?;
        self.unescaped(text, next.start)
    }

    /// The string behind a quoted one that stands at `at`.
    pub(super) fn unescaped(&self, text: &str, at: usize) -> Result<String> {
        unescape(text).ok_or_else(|| {
            let message =
                "the string has an escape that is none of \\n \\r \\t \\0 \\\\ \\\" \\' \\u{…}";
            self.lexer.error(at, message)
        })
    }

    /// A comma; the list could also have come to its end.
    pub(super) fn comma_or(&mut self, end: &str) -> Result<()> {
        match self.lexer.take(',')? {
            true => Ok(()),
            false => Err(self.lexer.unexpected(&format!("`,` or {end}"))),
        }
    }
}
