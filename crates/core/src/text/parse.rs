//! The reader of the text form: programs, blocks and calls.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fluvial_tensor::{Error, ErrorKind, Loc, Result, Type};
use smallvec::SmallVec;

use super::check_version;
use super::leaf::Label;
use super::lex::{Lexer, Token};
use crate::block::{Block, Call, ValueId};
use crate::program::{Program, Role, StateDecl};
use crate::registry::Registry;
use crate::verify::{self, BlockPath, Faults, Line, MAX_NESTING, Place, Section, Step};

/// Words that the name of an op could be mistaken for; an op of such a name stands in quotes.
pub(super) const RESERVED: [&str; 4] = ["return", "at", "in", "as"];

/// Reads the text form. The name of the file, if there is one, goes into errors.
pub(crate) fn parse_named(text: &str, name: Option<&str>, registry: &Registry) -> Result<Program> {
    parse_placed(text, name, None, registry)
}

/// Reads the text form; calls that do not say where they come from are placed at their lines of the file `own`.
pub(crate) fn parse_placed(
    text: &str,
    name: Option<&str>,
    own: Option<&str>,
    registry: &Registry,
) -> Result<Program> {
    let mut parser = Parser {
        lexer: Lexer::new(text, name),
        registry,
        depth: 0,
        path: BlockPath { section: Section::Startup, steps: Vec::new() },
        starts: BTreeMap::new(),
        own,
        counted: (0, 1),
    };
    parser.header()?;
    if parser.lexer.take_word("short")? {
        // What is written by hand stands at its own lines.
        parser.own = Some(own.or(name).unwrap_or("program.fl"));
        return parser.short();
    }
    let program = parser.program()?;
    let faults = verify::faults(&program);
    if faults.is_empty() { Ok(program) } else { Err(parser.faulty(faults)) }
}

pub(super) struct Parser<'a> {
    pub lexer: Lexer<'a>,
    pub registry: &'a Registry,
    /// Blocks and lists around the point that is read.
    pub depth: usize,
    path: BlockPath,
    /// Where in the text the lines of the program start.
    starts: BTreeMap<Place, usize>,
    /// The file in which calls are that do not say where they come from.
    own: Option<&'a str>,
    /// A point of the text, and on which line it is.
    counted: (usize, u32),
}

/// A block that is being read.
#[derive(Default)]
struct Open {
    block: Block,
    labels: HashMap<Label, ValueId>,
}

/// The names of inputs or outputs.
type PublicNames = Vec<Arc<str>>;

impl Parser<'_> {
    fn program(&mut self) -> Result<Program> {
        let mut program = Program::default();
        while self.lexer.take_word("state")? {
            self.state(&mut program)?;
        }
        if self.lexer.take_word("startup")? {
            self.path.section = Section::Startup;
            program.startup = self.body(Open::default(), None)?;
        }
        if !self.lexer.take_word("main")? {
            let expected = match program.startup == Block::default() {
                true => "`state`, `startup` or `main`",
                false => "`main`",
            };
            return Err(self.lexer.unexpected(expected));
        }
        self.path.section = Section::Main;
        let open = self.params(Some(&mut program.inputs))?;
        program.main = self.body(open, Some(&mut program.outputs))?;
        match self.lexer.peek()?.token {
            Token::End => Ok(program),
            _ => Err(self.lexer.unexpected("the end of the text")),
        }
    }

    fn header(&mut self) -> Result<()> {
        if !self.lexer.take_word("fluvial")? {
            return Err(self.lexer.unexpected("`fluvial 1`, with which a program starts"));
        }
        let next = self.lexer.peek()?;
        let version = match next.token {
            Token::Number(text) => text.parse().ok(),
            _ => None,
        };
        let version = version.ok_or_else(|| self.lexer.unexpected("the version of the format"))?;
        self.lexer.next()?;
        check_version(version)
            .map_err(|error| self.lexer.located(next.start, error, ErrorKind::Version))
    }

    fn state(&mut self, program: &mut Program) -> Result<()> {
        let (start, name) = self.state_name()?;
        self.lexer.expect(':')?;
        let ty = self.type_()?;
        let role = self.role()?;
        self.starts.insert(Place::State(name.clone()), start);
        match program.states.insert(name, StateDecl::new(ty, role)) {
            None => Ok(()),
            Some(_) => Err(self.lexer.error(start, "a state of this name is declared above")),
        }
    }

    /// `@name`, and where the name stands.
    pub(super) fn state_name(&mut self) -> Result<(usize, Arc<str>)> {
        self.lexer.expect('@')?;
        let label = self.lexer.label()?;
        let name = match label.token {
            Token::Quoted(text) => self.unescaped(text, label.start)?.into(),
            Token::Word(text) => text.into(),
            _ => return Err(self.lexer.error(label.start, "expected the name of a state")),
        };
        Ok((label.start, name))
    }

    pub(super) fn role(&mut self) -> Result<Role> {
        let role = match self.lexer.peek()?.token {
            Token::Word(word) => Role::parse(word),
            _ => None,
        };
        let roles = Role::ALL.map(Role::name).join(", ");
        let role = role.ok_or_else(|| self.lexer.unexpected(&format!("a role ({roles})")))?;
        self.lexer.next()?;
        Ok(role)
    }

    /// A block of the op of call `call`.
    pub(super) fn nested(&mut self, call: usize, nth: usize) -> Result<Block> {
        self.deeper()?;
        self.path.steps.push(Step { call, block: nth });
        let open = self.params(None)?;
        let block = self.body(open, None)?;
        self.path.steps.pop();
        self.depth -= 1;
        Ok(block)
    }

    fn params(&mut self, mut inputs: Option<&mut PublicNames>) -> Result<Open> {
        let mut open = Open::default();
        self.start(Line::Head)?;
        self.lexer.expect('(')?;
        while !self.lexer.take(')')? {
            if open.block.n_params > 0 {
                self.comma_or("`)`")?;
            }
            let (label, at) = self.value()?;
            self.public_name(&label, inputs.as_deref_mut())?;
            self.lexer.expect(':')?;
            let ty = self.type_()?;
            self.define(&mut open, label, at, ty)?;
            open.block.n_params += 1;
        }
        Ok(open)
    }

    /// Adds the name by which an input or output is known outside.
    fn public_name(&mut self, label: &Label, names: Option<&mut PublicNames>) -> Result<()> {
        let Some(names) = names else { return Ok(()) };
        let name = match (self.lexer.take_word("as")?, label) {
            (true, _) => self.name("a name")?.into(),
            (false, Label::Name(name)) => name.clone(),
            (false, Label::Number(_)) => {
                return Err(self.lexer.unexpected("`as` and a name, since the value has none"));
            }
        };
        names.push(name);
        Ok(())
    }

    fn body(&mut self, mut open: Open, mut outputs: Option<&mut PublicNames>) -> Result<Block> {
        self.lexer.expect('{')?;
        while !matches!(self.lexer.peek()?.token, Token::Sign('}') | Token::Word("return")) {
            self.call(&mut open)?;
        }
        self.start(Line::Return)?;
        if self.lexer.take('}')? {
            return Ok(open.block);
        }
        self.lexer.next()?;
        loop {
            let (label, at) = self.value()?;
            self.public_name(&label, outputs.as_deref_mut())?;
            open.block.results.push(self.resolve(&open, &label, at)?);
            if self.lexer.take('}')? {
                return Ok(open.block);
            }
            self.comma_or("`}`")?;
        }
    }

    fn call(&mut self, open: &mut Open) -> Result<()> {
        let index = open.block.calls.len();
        let start = self.start(Line::Call(index))?;
        let mut outputs = Vec::new();
        if self.lexer.peek()?.token == Token::Sign('%') {
            loop {
                outputs.push(self.value()?);
                if self.lexer.take('=')? {
                    break;
                }
                self.comma_or("`=`")?;
            }
        }
        let op_start = self.lexer.peek()?;
        let is_reserved = |token| matches!(token, Token::Word(word) if RESERVED.contains(&word));
        if is_reserved(op_start.token) {
            return Err(self.lexer.unexpected("an op"));
        }
        let name = self.name("an op, `return` or `}`")?;
        let attrs = self.attributes(index)?;
        let op = self
            .registry
            .make(&name, &attrs)
            .map_err(|error| self.lexer.located(op_start.start, error, ErrorKind::Parse))?;
        let inputs = self.inputs(open)?;
        let types = self.output_types()?;
        if types.len() != outputs.len() {
            let (n, m) = (outputs.len(), types.len());
            let message = format!("expected a type for each output ({n}), found {m}");
            return Err(self.lexer.error(start, &message));
        }
        let loc = match self.place()? {
            Loc::Unknown => self.own_place(start),
            loc => loc,
        };
        let first_output = open.block.types.len() as ValueId;
        let n_outputs = outputs.len();
        for ((label, at), ty) in outputs.into_iter().zip(types) {
            self.define(open, label, at, ty)?;
        }
        open.block.calls.push(Call { op, inputs, first_output, n_outputs, loc, twin: None });
        Ok(())
    }

    /// The place in the text itself, if it is one of a file that counts as source.
    pub(super) fn own_place(&mut self, start: usize) -> Loc {
        let Some(file) = self.own else { return Loc::Unknown };
        let (at, line) = self.counted;
        // What a call has inside was counted before the call itself.
        let (at, line) = if at <= start { (at, line) } else { (0, 1) };
        let n_lines = self.lexer.text[at..start].matches('\n').count() as u32;
        self.counted = (start, line + n_lines);
        Loc::intern(file, line + n_lines, 0, None, None)
    }

    fn inputs(&mut self, open: &Open) -> Result<SmallVec<[ValueId; 4]>> {
        let mut inputs = SmallVec::new();
        self.lexer.expect('(')?;
        while !self.lexer.take(')')? {
            if !inputs.is_empty() {
                self.comma_or("`)`")?;
            }
            let (label, at) = self.value()?;
            inputs.push(self.resolve(open, &label, at)?);
        }
        Ok(inputs)
    }

    pub(super) fn output_types(&mut self) -> Result<Vec<Type>> {
        let mut types = Vec::new();
        if self.lexer.take(':')? {
            types.push(self.type_()?);
            while self.lexer.take(',')? {
                types.push(self.type_()?);
            }
        }
        Ok(types)
    }

    fn define(&self, open: &mut Open, label: Label, at: usize, ty: Type) -> Result<()> {
        let id = ValueId::try_from(open.block.types.len())
            .map_err(|_| self.lexer.error(at, "a block cannot have more than 2^32 values"))?;
        if let Label::Name(name) = &label {
            open.block.names.insert(id, name.clone());
        }
        if open.labels.contains_key(&label) {
            return Err(self.lexer.error(at, &format!("{label} is defined above already")));
        }
        open.labels.insert(label, id);
        open.block.types.push(ty);
        Ok(())
    }

    fn resolve(&self, open: &Open, label: &Label, at: usize) -> Result<ValueId> {
        let found = open.labels.get(label).copied();
        found.ok_or_else(|| {
            let message = format!("{label} is not defined above, in this block");
            self.lexer.error(at, &message)
        })
    }

    /// Enters a block or a list.
    pub(super) fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let start = self.lexer.peek()?.start;
            let message = format!("blocks and lists are nested more than {MAX_NESTING} deep");
            return Err(self.lexer.error(start, &message));
        }
        Ok(())
    }

    /// Notes that a line of the program starts here.
    fn start(&mut self, line: Line) -> Result<usize> {
        let start = self.lexer.peek()?.start;
        self.starts.insert(Place::Line(self.path.clone(), line), start);
        Ok(start)
    }

    /// The error for a program that was read but is not in order.
    fn faulty(&self, faults: Faults) -> Error {
        const TOLD: usize = 3;
        let told = |place: &Place, inner: &Error| {
            let start = self.starts.get(place).copied().unwrap_or(0);
            self.lexer.located(start, inner.clone(), ErrorKind::Program)
        };
        let mut list = faults.iter();
        let Some(first) = list.next() else { return Error::internal("no fault was found") };
        let mut error = told(&first.place, &first.error);
        for fault in list.take(TOLD - 1) {
            let text = told(&fault.place, &fault.error);
            error = error.note(text.message().lines().next().unwrap_or_default());
        }
        if faults.len() > TOLD {
            error = error.note(format!("and {} faults more", faults.len() - TOLD));
        }
        error.source_error(Box::new(faults))
    }
}
