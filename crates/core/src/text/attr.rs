//! Attributes, both ways.

use std::fmt;
use std::sync::Arc;

use fluvial_tensor::{DType, Dim, ErrorKind, Result};

use super::lex::Token;
use super::number::{f64_text, nan_bytes, parse_float};
use super::parse::Parser;
use super::print::Printer;
use super::tensor;
use crate::attrs::{Attr, Attrs};

/// Prints an attribute of call `call`; `n_blocks` counts the blocks printed for it.
pub(super) fn print(
    printer: &mut Printer,
    attr: &Attr,
    call: usize,
    n_blocks: &mut usize,
) -> fmt::Result {
    match attr {
        Attr::None => printer.out.write_str("none"),
        Attr::Bool(value) => write!(printer.out, "{value}"),
        Attr::Int(value) => write!(printer.out, "{value}"),
        Attr::Float(value) => printer.out.write_str(&f64_text(*value)),
        Attr::Str(value) => write!(printer.out, "{value:?}"),
        Attr::Dim(dim) => write!(printer.out, "<{dim}>"),
        Attr::DType(dtype) => write!(printer.out, "{dtype}"),
        Attr::Type(ty) => write!(printer.out, "{ty}"),
        Attr::Tensor(value) => tensor::print(printer.out, value),
        Attr::List(items) => {
            printer.out.write_str("[")?;
            for (i, item) in items.iter().enumerate() {
                printer.comma(i)?;
                print(printer, item, call, n_blocks)?;
            }
            printer.out.write_str("]")
        }
        Attr::Block(block) => {
            printer.nested(block, call, *n_blocks)?;
            *n_blocks += 1;
            Ok(())
        }
    }
}

impl Parser<'_> {
    /// The attributes of call `call`, if it has any.
    pub(super) fn attributes(&mut self, call: usize) -> Result<Attrs> {
        let mut attrs = Attrs::new();
        let mut n_blocks = 0;
        if !self.lexer.take('{')? {
            return Ok(attrs);
        }
        while !self.lexer.take('}')? {
            if !attrs.is_empty() {
                self.comma_or("`}`")?;
            }
            let name = self.name("the name of an attribute")?;
            self.lexer.expect('=')?;
            let attr = self.attribute(call, &mut n_blocks)?;
            attrs.push(name, attr);
        }
        Ok(attrs)
    }

    pub(super) fn attribute(&mut self, call: usize, n_blocks: &mut usize) -> Result<Attr> {
        let next = self.lexer.peek()?;
        match next.token {
            Token::Number(text) => {
                self.lexer.next()?;
                let is_integer = text.bytes().all(|c| c.is_ascii_digit() || c == b'-');
                let number = match is_integer {
                    true => text.parse().ok().map(Attr::Int),
                    false => parse_float(text).map(Attr::Float),
                };
                number.ok_or_else(|| self.lexer.unfit(next, "a number of 64 bits"))
            }
            Token::Quoted(_) => Ok(Attr::Str(self.quoted()?.into())),
            Token::Sign('<') => self.size().map(Attr::Dim),
            Token::Sign('[') => self.list(call, n_blocks),
            Token::Sign('(') => {
                let nth = *n_blocks;
                *n_blocks += 1;
                self.nested(call, nth).map(|block| Attr::Block(Arc::new(block)))
            }
            Token::Word(word) => self.word_attribute(word),
            _ => Err(self.lexer.unexpected("an attribute")),
        }
    }

    fn word_attribute(&mut self, word: &str) -> Result<Attr> {
        let plain = match word {
            "none" => Attr::None,
            "true" => Attr::Bool(true),
            "false" => Attr::Bool(false),
            "inf" => Attr::Float(f64::INFINITY),
            "nan" => {
                let bytes = self.nan(DType::F64)?;
                return Ok(Attr::Float(f64::from_bits(u64::from_le_bytes(bytes))));
            }
            _ if !Parser::begins_type(word) => {
                return Err(self.lexer.unexpected("an attribute"));
            }
            _ => return self.typed(),
        };
        self.lexer.next()?;
        Ok(plain)
    }

    /// Whether a type, or a tensor, may begin with this word.
    pub(super) fn begins_type(word: &str) -> bool {
        matches!(word, "list" | "chan") || DType::parse(word).is_some()
    }

    /// A dtype, a type, or a tensor, which starts with its type.
    fn typed(&mut self) -> Result<Attr> {
        let start = self.lexer.next()?;
        if let Token::Word(word) = start.token
            && let Some(dtype) = DType::parse(word)
            && self.lexer.peek()?.token != Token::Sign('[')
        {
            return Ok(Attr::DType(dtype));
        }
        let ty = self.type_from(start)?;
        match self.lexer.take('(')? {
            true => self.tensor(&ty, start.start).map(Attr::Tensor),
            false => Ok(Attr::Type(ty)),
        }
    }

    /// `nan` or `nan(bits)`, as the bytes of a dtype.
    pub(super) fn nan(&mut self, dtype: DType) -> Result<[u8; 8]> {
        let start = self.lexer.next()?.start;
        let mut bits = None;
        if self.lexer.take('(')? {
            bits = match self.lexer.next()?.token {
                Token::Number(text) => Some(text),
                _ => return Err(self.lexer.error(start, "expected the bits of a NaN in brackets")),
            };
            self.lexer.expect(')')?;
        }
        let message = format!("these are not the bits of a NaN of {dtype}");
        nan_bytes(dtype, bits).ok_or_else(|| self.lexer.error(start, &message))
    }

    fn size(&mut self) -> Result<Dim> {
        self.lexer.expect('<')?;
        let (text, start) = self.lexer.raw_until('>')?;
        Dim::parse(text).map_err(|error| self.lexer.located(start, error, ErrorKind::Parse))
    }

    fn list(&mut self, call: usize, n_blocks: &mut usize) -> Result<Attr> {
        self.deeper()?;
        self.lexer.expect('[')?;
        let mut items = Vec::new();
        while !self.lexer.take(']')? {
            if !items.is_empty() {
                self.comma_or("`]`")?;
            }
            items.push(self.attribute(call, n_blocks)?);
        }
        self.depth -= 1;
        Ok(Attr::List(items))
    }
}
