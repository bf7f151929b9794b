//! Stops, looks into, steps through and edits running programs.
//!
//! - [`target`]: what can be asked of a program that is being debugged. Front ends know nothing else.
//! - [`protocol`]: the messages of the Debug Adapter Protocol, which editors speak.
//! - [`server`]: lets an editor debug a target.

pub mod protocol;
pub mod server;
pub mod target;
