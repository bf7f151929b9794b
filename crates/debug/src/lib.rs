//! Stops, looks into, steps through and edits running programs.
//!
//! - [`target`]: what can be asked of a program that is being debugged. Front ends know nothing else.
//! - [`inspect`]: what a person sees of a value.
//! - [`expr`]: the language of conditions, watches, log points and edits.
//! - [`terminal`]: a debugger in a terminal.

pub mod expr;
pub mod inspect;
pub mod target;
pub mod terminal;
