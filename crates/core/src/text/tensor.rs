//! Constants, both ways: `f32[2](0.5, 1.0)`, `f32[64](all 0.0)`, `f32[64](base64 "…")`; of complex
//! numbers both parts, `c64[2](0.5 -1.0, 1.0 0.0)`.

use std::fmt;

use fluvial_tensor::{DType, Error, ErrorKind, Result, Tensor, Type};

use super::base64;
use super::lex::Token;
use super::number::{element_bytes, element_text};
use super::parse::Parser;
use crate::proto::{Elements, SHORT};

pub(super) fn print(out: &mut fmt::Formatter, tensor: &Tensor) -> fmt::Result {
    let Elements { bytes, everywhere } = Elements::of(tensor);
    let dtype = tensor.dtype();
    write!(out, "{}(", tensor.ty())?;
    if everywhere {
        write!(out, "all {}", element_text(dtype, &bytes))?;
    } else if tensor.numel() <= SHORT {
        for (i, element) in bytes.chunks_exact(dtype.size()).enumerate() {
            write!(out, "{}{}", if i == 0 { "" } else { ", " }, element_text(dtype, element))?;
        }
    } else {
        write!(out, "base64 {:?}", base64::encode(&bytes))?;
    }
    out.write_str(")")
}

impl Parser<'_> {
    /// What stands in the brackets after the type `ty`, which starts at `start`.
    pub(super) fn tensor(&mut self, ty: &Type, start: usize) -> Result<Tensor> {
        let mut elements = Elements { bytes: Vec::new(), everywhere: false };
        if self.lexer.take_word("base64")? {
            elements.bytes = self.base64()?;
            self.lexer.expect(')')?;
        } else if self.lexer.take_word("all")? {
            elements.everywhere = true;
            self.element(ty, &mut elements.bytes)?;
            self.lexer.expect(')')?;
        } else {
            while !self.lexer.take(')')? {
                if !elements.bytes.is_empty() {
                    self.comma_or("`)`")?;
                }
                self.element(ty, &mut elements.bytes)?;
            }
        }
        let located = |error: Error| self.lexer.located(start, error, ErrorKind::Parse);
        elements.into_tensor(ty).map_err(located)
    }

    fn base64(&mut self) -> Result<Vec<u8>> {
        let next = self.lexer.peek()?;
        let Token::Quoted(text) = next.token else {
            return Err(self.lexer.unexpected("a string of base64"));
        };
        self.lexer.next()?;
        base64::decode(text).ok_or_else(|| self.lexer.unfit(next, "a string of base64"))
    }

    fn element(&mut self, ty: &Type, bytes: &mut Vec<u8>) -> Result<()> {
        let dtype = ty.dtype();
        if dtype.is_complex() {
            self.number(dtype.real(), bytes)?;
        }
        self.number(dtype.real(), bytes)
    }

    fn number(&mut self, dtype: DType, bytes: &mut Vec<u8>) -> Result<()> {
        let next = self.lexer.peek()?;
        let element = match next.token {
            Token::Word("nan") => Some(self.nan(dtype)?),
            Token::Word(text) | Token::Number(text) => {
                self.lexer.next()?;
                element_bytes(dtype, text)
            }
            _ => return Err(self.lexer.unexpected("an element")),
        };
        let Some(element) = element else {
            return Err(self.lexer.unfit(next, &format!("an element of {dtype}")));
        };
        bytes.extend_from_slice(&element[..dtype.size()]);
        Ok(())
    }
}
