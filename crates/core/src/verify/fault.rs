//! Faults, where they lie, and the listing that shows them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fluvial_tensor::{Error, ErrorKind, Result};

use crate::program::Program;
use crate::text::Printer;

/// The two blocks of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The initialisers.
    Startup,
    /// The program proper.
    Main,
}

/// One step into a nested block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The call whose op owns the block.
    pub call: usize,
    /// Which of the op's blocks it is, in the order of its attributes.
    pub block: usize,
}

/// The way to a block from the top of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockPath {
    /// Where it starts.
    pub section: Section,
    /// How it goes on, outermost first.
    pub steps: Vec<Step>,
}

/// A line of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Line {
    /// The parameters.
    Head,
    /// The call of that index.
    Call(usize),
    /// The results.
    Return,
}

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The declaration of a state.
    State(Arc<str>),
    /// A line of a block.
    Line(BlockPath, Line),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, line) = match self {
            Place::State(name) => return write!(f, "state {name:?}"),
            Place::Line(path, line) => (path, line),
        };
        f.write_str(match path.section {
            Section::Startup => "startup",
            Section::Main => "main",
        })?;
        for step in &path.steps {
            write!(f, ", call {}, block {}", step.call, step.block)?;
        }
        match line {
            Line::Head => f.write_str(", parameters"),
            Line::Call(index) => write!(f, ", call {index}"),
            Line::Return => f.write_str(", results"),
        }
    }
}

/// One fault of a program.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Where it lies.
    pub place: Place,
    /// What is wrong.
    pub error: Error,
}

/// What the verifier found. Printed, it is the listing of the program with each fault below the
/// line it concerns, as comments.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The program as it was; nothing if it has no faults.
    program: Option<Program>,
    list: Vec<Fault>,
    n_found: usize,
}

impl Faults {
    pub(super) fn new(program: &Program, list: Vec<Fault>, n_found: usize) -> Faults {
        let program = (n_found > 0).then(|| program.clone());
        Faults { program, list, n_found }
    }

    /// The faults in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.list.iter()
    }

    /// Whether the program is in order.
    pub fn is_empty(&self) -> bool {
        self.n_found == 0
    }

    /// How many there are; [`Faults::iter`] has the first hundred.
    pub fn len(&self) -> usize {
        self.n_found
    }

    /// Nothing, or an error that tells the first faults and has all of them as its source.
    pub fn into_result(self) -> Result<()> {
        const TOLD: usize = 3;
        let Some(first) = self.list.first() else { return Ok(()) };
        let mut error = Error::new(ErrorKind::Program, told(first));
        if let Some(remedy) = first.error.remedy_text() {
            error = error.remedy(remedy);
        }
        for fault in self.list.iter().take(TOLD).skip(1) {
            error = error.note(told(fault));
        }
        if self.n_found > TOLD {
            error = error.note(format!("and {} faults more", self.n_found - TOLD));
        }
        Err(error.source_error(Box::new(self)))
    }
}

fn told(fault: &Fault) -> String {
    let mut text = format!("{}: ", fault.place);
    if let Some(loc) = fault.error.loc() {
        text.push_str(&format!("{loc}: "));
    }
    if let Some(op) = fault.error.op_text() {
        text.push_str(&format!("{op}: "));
    }
    text + fault.error.message()
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(program) = &self.program else { return Ok(()) };
        let mut notes: BTreeMap<&Place, Vec<&Error>> = BTreeMap::new();
        for fault in &self.list {
            notes.entry(&fault.place).or_default().push(&fault.error);
        }
        Printer::new(f).with_notes(&notes).program(program)?;
        match self.n_found - self.list.len() {
            0 => Ok(()),
            more => write!(f, "\n# and {more} faults more"),
        }
    }
}

impl std::error::Error for Faults {}
