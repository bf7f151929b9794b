//! Stops, looks into, steps through and edits running programs.
//!
//! - [`target`]: what can be asked of a program that is being debugged. Front ends know nothing else.

pub mod target;
