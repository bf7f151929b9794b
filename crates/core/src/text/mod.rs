//! The text form of programs: files that end in `.fl`.
//!
//! ```text
//! fluvial 1
//!
//! state @fc.w : f32[4, 2] parameter
//!
//! startup {
//!   %0 = fill{value=0.5, ty=f32[4, 2]}() : f32[4, 2]  at src/model.rs:10:5
//!   assign{state="fc.w"}(%0)  at src/model.rs:10:5
//! }
//!
//! main(%x: f32[batch, 4]) {
//!   %1 = read{state="fc.w", ty=f32[4, 2]}() : f32[4, 2]  at src/model.rs:11:9 in forward < main.rs:3:1
//!   %2 = matmul(%x, %1) : f32[batch, 2]  at src/model.rs:12:9 [layer fc]
//!   return %2 as loss
//! }
//! ```
//!
//! The grammar, where `x*` is any number of `x`, with commas between them where it stands in
//! brackets. Line breaks are spaces. A comment goes from `#` or `//` to the end of the line.
//!
//! ```text
//! program   = "fluvial" version state* ("startup" "{" call* "}")? "main" block
//! state     = "state" "@"name ":" type role
//! block     = "(" param* ")" "{" call* ("return" result*)? "}"
//! param     = value ("as" name)? ":" type              as: inputs of main that differ in name
//! result    = value ("as" name)?                       as: outputs of main
//! call      = (value* "=")? name ("{" attribute* "}")? "(" value* ")" (":" type*)? place?
//! attribute = name "=" (none | true | false | integer | float | string | dtype | type
//!             | "<" size ">" | tensor | "[" item* "]" | block)
//! tensor    = type "(" (number* | "all" number | "base64" string) ")"
//! place     = "at" file ":" line (":" column)? ("in" name)? marks? ("<" place, without "at")?
//! marks     = "[" ("forward" | "backward" | "optimizer" | "layer" name)* "]"
//! value     = "%"name | "%"number
//! name      = letters, digits, "_" and "."  | string
//! ```
//!
//! Numbers of values are labels: a reader numbers values as they are defined, so a line may be
//! added or removed without touching the others. Floats are written with the fewest digits that
//! give them back, `inf` and `nan` by name, and another NaN by its bits: `nan(0x7ff8000000000001)`.
//! The reader checks the program with [`verify`](mod@crate::verify).

mod attr;
mod base64;
mod leaf;
mod lex;
mod number;
mod parse;
mod place;
mod print;
pub mod short;
mod tensor;

use std::fmt;

use fluvial_tensor::{Error, ErrorKind, Result};

pub(crate) use lex::is_value_name;
pub(crate) use parse::{parse_named, parse_placed};
pub(crate) use print::Printer;

use crate::block::Block;
use crate::program::Program;
use crate::registry::Registry;

/// The version of the format of program files, of both forms, that this crate writes. It reads
/// this one and all before it.
pub const FORMAT_VERSION: u32 = 1;

/// Refuses versions that do not exist yet, or never did.
pub(crate) fn check_version(version: u64) -> Result<()> {
    if version > u64::from(FORMAT_VERSION) {
        return Err(Error::new(
            ErrorKind::Version,
            format!(
                "the program is in format {version}, but this Fluvial reads formats up to \
                 {FORMAT_VERSION}"
            ),
        )
        .remedy("update Fluvial, or save the program again with an older one"));
    }
    match version {
        0 => Err(Error::new(ErrorKind::Version, "there is no format 0 of programs")),
        _ => Ok(()),
    }
}

impl Program {
    /// Reads the text form and verifies the program. `registry` has the ops that it may use.
    ///
    /// ```
    /// use fluvial_core::{Program, Registry};
    ///
    /// let text = "fluvial 1
    ///     main(%x: f32[n]) {
    ///       %1 = neg(%x) : f32[n]
    ///       return %1 as y
    ///     }";
    /// let program = Program::parse(text, &Registry::structural())?;
    /// assert_eq!(Program::parse(&program.to_string(), &Registry::structural())?, program);
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    pub fn parse(text: &str, registry: &Registry) -> Result<Program> {
        parse_named(text, None, registry)
    }
}

/// The text form; with `{:#}` without places in the source, for people.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer::new(f).program(self)
    }
}

/// The text form of a block as it stands in an attribute; with `{:#}` without places.
impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer::new(f).block(self)
    }
}
