//! The short form of the text, for people who write programs by hand: see [`Short`].
//!
//! ```text
//! program = "fluvial" version "short" state* "main" block
//! state   = "state" "@"name ":" type role "=" (tensor | name ("{" attribute* "}")?)
//! block   = "(" param* ")" "{" call* ("return" result*)? "}"
//! call    = (value* "=")? name ("{" attribute* "}")? "(" operand* ")" block? (":" type*)?
//! operand = value | "@"name | number
//! ```

use std::sync::Arc;

use fluvial_tensor::{Error, ErrorKind, Loc, Result, Type};

use super::leaf::Label;
use super::lex::Token;
use super::number::parse_float;
use super::parse::{Parser, RESERVED};
use crate::attrs::{Attr, Attrs};
use crate::program::{Program, Role};
use crate::registry::Registry;

/// A program in the short form, as it was read: statements that are yet to be carried out while a program is built. What
/// ops, layers, optimizers and initialisers are called is not known here; a [`ReadShort`] of the registry knows it.
#[derive(Clone, Debug)]
pub struct Short {
    /// The states, with their initial values.
    pub states: Vec<ShortState>,
    /// What is computed.
    pub main: ShortBlock,
}

/// Builds the program of a short form. An error goes with the place in the text at which it belongs.
pub type ReadShort = fn(&Short, &Registry) -> std::result::Result<Program, (usize, Error)>;

/// A state and how it begins.
#[derive(Clone, Debug)]
pub struct ShortState {
    /// Where it stands in the text.
    pub start: usize,
    /// Its line.
    pub loc: Loc,
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub ty: Type,
    /// What it is for.
    pub role: Role,
    /// The name of an initialiser and its options; for a given value an empty name and the value as `value`.
    pub init: (String, Attrs),
}

/// Statements with what they take and give.
#[derive(Clone, Debug, Default)]
pub struct ShortBlock {
    /// The parameters, with the place in the text, and the name by which they are known outside.
    pub params: Vec<ShortParam>,
    /// The statements.
    pub calls: Vec<ShortCall>,
    /// The results, and their names outside.
    pub results: Vec<(Operand, Option<Arc<str>>)>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct ShortParam {
    /// Where it stands in the text.
    pub start: usize,
    /// What the block calls it.
    pub name: Arc<str>,
    /// What it is called outside.
    pub public: Arc<str>,
    /// The type.
    pub ty: Type,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct ShortCall {
    /// Where it stands in the text.
    pub start: usize,
    /// Its line.
    pub loc: Loc,
    /// The names of its results.
    pub outputs: Vec<(usize, Arc<str>)>,
    /// The op, layer, optimizer or loop.
    pub op: String,
    /// Its attributes.
    pub attrs: Attrs,
    /// What it takes.
    pub operands: Vec<Operand>,
    /// The block behind it, of a loop.
    pub block: Option<ShortBlock>,
    /// The types of its results, if they are said.
    pub types: Vec<Type>,
}

/// What a statement takes, with its place in the text.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A value.
    Value(usize, Arc<str>),
    /// What a state holds.
    State(usize, Arc<str>),
    /// A number.
    Number(usize, f64),
}

impl Operand {
    /// Where it stands in the text.
    pub fn start(&self) -> usize {
        match self {
            Operand::Value(start, _) | Operand::State(start, _) | Operand::Number(start, _) => {
                *start
            }
        }
    }
}

impl Parser<'_> {
    /// The program of a text in the short form, behind its first line.
    pub(super) fn short(&mut self) -> Result<Program> {
        let Some(read) = self.registry.short() else {
            let start = self.lexer.peek()?.start;
            let error = self.lexer.error(start, "this program is in the short form");
            return Err(error.remedy("read it with the registry `fluvial::short::registry()`"));
        };
        let mut states = Vec::new();
        while self.lexer.take_word("state")? {
            states.push(self.short_state()?);
        }
        if !self.lexer.take_word("main")? {
            return Err(self.lexer.unexpected("`state` or `main`"));
        }
        let main = self.short_block(true)?;
        if self.lexer.peek()?.token != Token::End {
            return Err(self.lexer.unexpected("the end of the text"));
        }
        read(&Short { states, main }, self.registry).map_err(|(start, error)| {
            let kind = error.kind();
            self.lexer.located(start, error, kind)
        })
    }

    fn short_state(&mut self) -> Result<ShortState> {
        let (start, name) = self.state_name()?;
        let loc = self.own_place(start);
        self.lexer.expect(':')?;
        let ty = self.type_()?;
        let role = self.role()?;
        if !self.lexer.take('=')? {
            let error = self.lexer.unexpected("`=` and the initial value");
            return Err(error.remedy("such as `= zeros`, `= xavier_uniform` or `= f32[](0.5)`"));
        }
        let init = match self.lexer.peek()?.token {
            Token::Word(word) if !Parser::begins_type(word) => {
                let name = self.name("an initialiser")?;
                (name, self.attributes(0)?)
            }
            _ => {
                let mut attrs = Attrs::new();
                attrs.push("value", self.attribute(0, &mut 0)?);
                (String::new(), attrs)
            }
        };
        Ok(ShortState { start, loc, name, ty, role, init })
    }

    fn short_block(&mut self, is_main: bool) -> Result<ShortBlock> {
        self.deeper()?;
        let mut block = ShortBlock::default();
        self.lexer.expect('(')?;
        while !self.lexer.take(')')? {
            if !block.params.is_empty() {
                self.comma_or("`)`")?;
            }
            let (label, start) = self.value()?;
            let name = text_of(label);
            let public = match is_main && self.lexer.take_word("as")? {
                true => self.name("a name")?.into(),
                false => name.clone(),
            };
            self.lexer.expect(':')?;
            block.params.push(ShortParam { start, name, public, ty: self.type_()? });
        }
        self.lexer.expect('{')?;
        while !matches!(self.lexer.peek()?.token, Token::Sign('}') | Token::Word("return")) {
            block.calls.push(self.short_call()?);
        }
        if self.lexer.take_word("return")? {
            loop {
                let result = self.operand()?;
                let public = match is_main && self.lexer.take_word("as")? {
                    true => Some(self.name("a name")?.into()),
                    false => None,
                };
                block.results.push((result, public));
                if self.lexer.peek()?.token == Token::Sign('}') {
                    break;
                }
                self.comma_or("`}`")?;
            }
        }
        self.lexer.expect('}')?;
        self.depth -= 1;
        Ok(block)
    }

    fn short_call(&mut self) -> Result<ShortCall> {
        let start = self.lexer.peek()?.start;
        let loc = self.own_place(start);
        let mut outputs = Vec::new();
        if self.lexer.peek()?.token == Token::Sign('%') {
            loop {
                let (label, at) = self.value()?;
                outputs.push((at, text_of(label)));
                if self.lexer.take('=')? {
                    break;
                }
                self.comma_or("`=`")?;
            }
        }
        if let Token::Word(word) = self.lexer.peek()?.token
            && RESERVED.contains(&word)
        {
            return Err(self.lexer.unexpected("an op"));
        }
        let op = self.name("an op, a layer, an optimizer, `return` or `}`")?;
        let attrs = self.attributes(0)?;
        let mut operands = Vec::new();
        self.lexer.expect('(')?;
        while !self.lexer.take(')')? {
            if !operands.is_empty() {
                self.comma_or("`)`")?;
            }
            operands.push(self.operand()?);
        }
        let block = match self.lexer.peek()?.token {
            Token::Sign('(') => Some(self.short_block(false)?),
            _ => None,
        };
        let types = self.output_types()?;
        Ok(ShortCall { start, loc, outputs, op, attrs, operands, block, types })
    }

    fn operand(&mut self) -> Result<Operand> {
        let next = self.lexer.peek()?;
        match next.token {
            Token::Sign('%') => self.value().map(|(label, at)| Operand::Value(at, text_of(label))),
            Token::Sign('@') => self.state_name().map(|(at, name)| Operand::State(at, name)),
            Token::Number(text) => {
                self.lexer.next()?;
                let number = parse_float(text).or_else(|| text.parse().ok());
                let number = number.ok_or_else(|| self.lexer.unfit(next, "a number"))?;
                Ok(Operand::Number(next.start, number))
            }
            _ => Err(self.lexer.unexpected("a value (`%x`), a state (`@w`) or a number")),
        }
    }
}

fn text_of(label: Label) -> Arc<str> {
    match label {
        Label::Name(name) => name,
        Label::Number(text) => Arc::from(&*text),
    }
}

impl ShortCall {
    /// An attribute that is a whole number.
    pub fn whole(&self, name: &str) -> Result<Option<i64>> {
        match self.attrs.get(name) {
            None => Ok(None),
            Some(Attr::Int(value)) => Ok(Some(*value)),
            Some(_) => Err(Error::new(
                ErrorKind::Argument,
                format!("`{name}` of `{}` is a whole number", self.op),
            )),
        }
    }
}
