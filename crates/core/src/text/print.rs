//! The printer: a program, a block or a faulty program as text. It prints whatever is there; only
//! what the verifier accepts can be read back.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter, Write};
use std::sync::Arc;

use fluvial_tensor::Error;

use super::lex::{is_value_name, is_word};
use super::parse::RESERVED;
use super::{FORMAT_VERSION, attr, place};
use crate::block::{Block, Call, ValueId};
use crate::program::Program;
use crate::verify::{BlockPath, Line, Place, Section, Step};

pub(crate) struct Printer<'a, 'f> {
    pub(super) out: &'a mut Formatter<'f>,
    places: bool,
    /// Printed below the lines they concern.
    notes: Option<&'a BTreeMap<&'a Place, Vec<&'a Error>>>,
    path: BlockPath,
    indent: usize,
}

/// A name as it is written: with quotes if it is not a plain one.
pub(super) struct Name<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match is_value_name(self.0) {
            true => f.write_str(self.0),
            false => write!(f, "{:?}", self.0),
        }
    }
}

impl<'a, 'f> Printer<'a, 'f> {
    pub fn new(out: &'a mut Formatter<'f>) -> Printer<'a, 'f> {
        let places = !out.alternate();
        let path = BlockPath { section: Section::Main, steps: Vec::new() };
        Printer { out, places, notes: None, path, indent: 0 }
    }

    pub fn with_notes(mut self, notes: &'a BTreeMap<&'a Place, Vec<&'a Error>>) -> Self {
        self.notes = Some(notes);
        self
    }

    pub fn program(&mut self, program: &Program) -> fmt::Result {
        writeln!(self.out, "fluvial {FORMAT_VERSION}")?;
        for (i, (name, decl)) in program.states.iter().enumerate() {
            self.out.write_str(if i == 0 { "\nstate @" } else { "state @" })?;
            match is_word(name) {
                true => self.out.write_str(name)?,
                false => write!(self.out, "{name:?}")?,
            }
            writeln!(self.out, " : {} {}", decl.ty, decl.role.name())?;
            self.notes_at(&Place::State(name.clone()))?;
        }
        if program.startup != Block::default() {
            self.path.section = Section::Startup;
            self.out.write_str("\nstartup")?;
            match program.startup.n_params {
                0 => self.out.write_str(" ")?,
                _ => self.params(&program.startup, None)?,
            }
            self.body(&program.startup, None)?;
            self.out.write_str("\n")?;
        }
        self.path.section = Section::Main;
        self.out.write_str("\nmain")?;
        self.params(&program.main, Some(&program.inputs))?;
        self.body(&program.main, Some(&program.outputs))
    }

    pub fn block(&mut self, block: &Block) -> fmt::Result {
        self.params(block, None)?;
        self.body(block, None)
    }

    /// A block of the op of call `call`.
    pub(super) fn nested(&mut self, block: &Block, call: usize, nth: usize) -> fmt::Result {
        self.path.steps.push(Step { call, block: nth });
        self.block(block)?;
        self.path.steps.pop();
        Ok(())
    }

    fn params(&mut self, block: &Block, inputs: Option<&[Arc<str>]>) -> fmt::Result {
        self.out.write_str("(")?;
        for i in 0..block.n_params.min(block.types.len()) {
            self.comma(i)?;
            let id = i as ValueId;
            self.value(block, id)?;
            self.public_name(block, id, inputs.and_then(|names| names.get(i)))?;
            write!(self.out, ": {}", block.types[i])?;
        }
        self.out.write_str(") ")
    }

    /// The name by which an input or output is known outside, where it is another than the value's.
    fn public_name(&mut self, block: &Block, id: ValueId, name: Option<&Arc<str>>) -> fmt::Result {
        match name {
            Some(name) if block.names.get(&id) != Some(name) => {
                write!(self.out, " as {}", Name(name))
            }
            _ => Ok(()),
        }
    }

    fn body(&mut self, block: &Block, outputs: Option<&[Arc<str>]>) -> fmt::Result {
        self.out.write_str("{\n")?;
        self.indent += 1;
        self.notes(Line::Head)?;
        for (index, call) in block.calls.iter().enumerate() {
            self.call(block, index, call)?;
            self.notes(Line::Call(index))?;
        }
        if !block.results.is_empty() {
            self.margin()?;
            self.out.write_str("return ")?;
            for (i, &id) in block.results.iter().enumerate() {
                self.comma(i)?;
                self.value(block, id)?;
                self.public_name(block, id, outputs.and_then(|names| names.get(i)))?;
            }
            self.out.write_str("\n")?;
        }
        self.notes(Line::Return)?;
        self.indent -= 1;
        self.margin()?;
        self.out.write_str("}")
    }

    fn call(&mut self, block: &Block, index: usize, call: &Call) -> fmt::Result {
        self.margin()?;
        // A call of a faulty program may claim more outputs than there are values.
        let n_outputs = call.n_outputs.min(block.types.len());
        let outputs = (0..n_outputs).map(|i| call.first_output.wrapping_add(i as ValueId));
        for (i, id) in outputs.clone().enumerate() {
            self.comma(i)?;
            self.value(block, id)?;
        }
        if n_outputs > 0 {
            self.out.write_str(" = ")?;
        }
        match RESERVED.contains(&call.op.name()) {
            true => write!(self.out, "{:?}", call.op.name())?,
            false => write!(self.out, "{}", Name(call.op.name()))?,
        }
        self.attributes(index, call)?;
        self.out.write_str("(")?;
        for (i, &id) in call.inputs.iter().enumerate() {
            self.comma(i)?;
            self.value(block, id)?;
        }
        self.out.write_str(")")?;
        for (i, id) in outputs.enumerate() {
            self.out.write_str(if i == 0 { " : " } else { ", " })?;
            match block.types.get(id as usize) {
                Some(ty) => write!(self.out, "{ty}")?,
                None => self.out.write_str("?")?,
            }
        }
        if self.places {
            place::print(self.out, call.loc)?;
        }
        self.out.write_str("\n")
    }

    fn attributes(&mut self, index: usize, call: &Call) -> fmt::Result {
        let attrs = call.op.attrs();
        if attrs.is_empty() {
            return Ok(());
        }
        let mut n_blocks = 0;
        self.out.write_str("{")?;
        for (i, (name, attr)) in attrs.iter().enumerate() {
            self.comma(i)?;
            write!(self.out, "{}=", Name(name))?;
            attr::print(self, attr, index, &mut n_blocks)?;
        }
        self.out.write_str("}")
    }

    fn value(&mut self, block: &Block, id: ValueId) -> fmt::Result {
        match block.names.get(&id) {
            Some(name) => write!(self.out, "%{}", Name(name)),
            None => write!(self.out, "%{id}"),
        }
    }

    pub(super) fn comma(&mut self, i: usize) -> fmt::Result {
        self.out.write_str(if i == 0 { "" } else { ", " })
    }

    fn margin(&mut self) -> fmt::Result {
        (0..self.indent).try_for_each(|_| self.out.write_str("  "))
    }

    fn notes(&mut self, line: Line) -> fmt::Result {
        match self.notes {
            Some(_) => self.notes_at(&Place::Line(self.path.clone(), line)),
            None => Ok(()),
        }
    }

    fn notes_at(&mut self, place: &Place) -> fmt::Result {
        let Some(errors) = self.notes.and_then(|notes| notes.get(place)) else { return Ok(()) };
        for error in errors {
            let mut text = String::new();
            if let Some(op) = error.op_text() {
                write!(text, "{op}: ")?;
            }
            text.push_str(error.message());
            if let Some(remedy) = error.remedy_text() {
                write!(text, "\nremedy: {remedy}")?;
            }
            for note in error.notes() {
                write!(text, "\nnote: {note}")?;
            }
            for (i, line) in text.lines().enumerate() {
                self.margin()?;
                writeln!(self.out, "# {} {line}", if i == 0 { "^" } else { " " })?;
            }
        }
        Ok(())
    }
}
