//! The verifier: what must hold of a program before anything else may trust it.
//!
//! 1. *Nesting.* Blocks and lists stand at most [`MAX_NESTING`] deep inside one another.
//! 2. *Numbering.* The values of a block are its parameters, then the outputs of its calls in
//!    order, without gaps, and each has a type.
//! 3. *Order.* The inputs of a call and the results of a block are values defined before.
//! 4. *Arity.* A call has as many inputs as its op takes, and as many outputs as its op gives.
//! 5. *Types.* What `infer` says of the types of the inputs is what the outputs are declared to
//!    be. A size that `infer` leaves open ([`Dim::fresh`](fluvial_tensor::Dim::fresh)) is declared
//!    as a symbol that is not in use yet: one symbol for equal placeholders, another one for
//!    another placeholder.
//! 6. *Symbols.* A symbol is bound before it is used in a type or a size: by a parameter that has
//!    it as a size, by an open size, or by an output that brings it out of a list or out of a
//!    block of the op. The elements of lists are free: their sizes may differ from one another. A
//!    nested block sees what is bound around it; what it binds itself ends with it.
//! 7. *Placeholders.* None stands in a declared type or in an attribute.
//! 8. *States.* `read` and `assign` name a declared state and agree with its type. They stand in
//!    the startup and main blocks themselves, not in blocks nested in them.
//! 9. *Startup.* It takes no parameters and returns nothing.
//! 10. *Signature.* Each parameter of the main block has a name as an input and each result one as
//!     an output; no two inputs or outputs share one. A size of an input is not named with a
//!     leading underscore: such symbols are for open sizes.
//! 11. *Names.* A named value is defined. Its name is made of letters, digits, `_` and `.`, does
//!     not start with a digit and is unique in its block.
//!
//! What an op that owns blocks asks of their parameters and results, its own `infer` checks.

mod block;
mod fault;
mod symbols;

pub use fault::{BlockPath, Fault, Faults, Line, Place, Section, Step};

use std::sync::Arc;

use fluvial_tensor::{Error, Result};

use crate::block::Block;
use crate::program::Program;
use block::Checker;

/// How deep blocks and lists may stand inside one another.
pub const MAX_NESTING: usize = 32;

/// Refuses a program that breaks an invariant. The error tells the first faults; its source is
/// [`Faults`], which has all of them.
///
/// ```
/// use fluvial_core::{DType, Program, Type, verify};
///
/// let ty = Type::of(DType::F32, &[2])?;
/// let mut program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * 2.0]))?;
/// verify(&program)?;
/// program.main.types[2] = Type::of(DType::F32, &[3])?;
/// assert!(verify(&program).is_err());
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn verify(program: &Program) -> Result<()> {
    faults(program).into_result()
}

/// All faults of a program, up to a hundred.
pub fn faults(program: &Program) -> Faults {
    let mut checker = Checker::new(&program.states);
    for (name, decl) in &program.states {
        checker.state(name, decl);
    }
    checker.section(Section::Startup, &program.startup);
    startup(&mut checker, &program.startup);
    checker.section(Section::Main, &program.main);
    signature(&mut checker, program);
    checker.finish(program)
}

fn startup(checker: &mut Checker, block: &Block) {
    checker.enter(Section::Startup);
    if block.n_params > 0 {
        let params = count(block.n_params, "parameter");
        let message = format!("the startup block has {params}");
        checker.fault(Line::Head, Error::program(message).remedy("it takes none"));
    }
    if !block.results.is_empty() {
        let values = count(block.results.len(), "value");
        let message = format!("the startup block returns {values}");
        checker.fault(Line::Return, Error::program(message).remedy("it returns none"));
    }
}

fn signature(checker: &mut Checker, program: &Program) {
    checker.enter(Section::Main);
    let params = (Line::Head, "input", &program.inputs, "parameter", program.main.n_params);
    let results = (Line::Return, "output", &program.outputs, "result", program.main.results.len());
    for (line, kind, names, value, n_values) in [params, results] {
        if names.len() != n_values {
            let (names, values) = (count(names.len(), "name"), count(n_values, value));
            let message = format!("{names} of {kind}s for {values} of the main block");
            checker.fault(line, Error::program(message));
        }
        if let Some(name) = repeated(names) {
            checker.fault(line, Error::program(format!("two {kind}s are named `{name}`")));
        }
    }
    for ty in program.main.types.iter().take(program.main.n_params) {
        let reserved = |name: Option<Arc<str>>| name.is_some_and(|name| name.starts_with('_'));
        if let Some(dim) = ty.dims().iter().find(|dim| reserved(dim.symbol_name())) {
            let message = format!("the size `{dim}` of an input is reserved");
            let remedy = "name symbols without a leading underscore";
            checker.fault(Line::Head, Error::program(message).remedy(remedy));
        }
    }
}

/// A name that occurs twice.
fn repeated(names: &[Arc<str>]) -> Option<&Arc<str>> {
    let mut seen = std::collections::HashSet::new();
    names.iter().find(|name| !seen.insert(*name))
}

/// So many things of a kind.
pub(crate) fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}
