//! Stops, looks into, steps through and edits running programs.
//!
//! - [`target`]: what can be asked of a program that is being debugged. Front ends know nothing else.
//! - [`Engine`]: the program's side of it.
//! - [`listen`], [`stop`]: the debugger of this process, for clients.
//! - [`inspect`]: what a person sees of a value.
//! - [`expr`]: the language of conditions, watches, log points and edits.
//! - [`protocol`]: the messages of the Debug Adapter Protocol, which editors speak.
//! - [`server`]: lets an editor debug a target.
//! - [`terminal`]: a debugger in a terminal.

#[cfg(unix)]
mod ask;
mod engine;
pub mod expr;
pub mod inspect;
mod process;
pub mod protocol;
pub mod server;
pub mod target;
pub mod terminal;

#[cfg(unix)]
pub use ask::{allow, ask};
pub use engine::Engine;
pub use engine::recording::Recording;
pub use engine::source::Sources;
pub use process::{
    Address, address, break_at, listen, listen_as_asked, play, stop, wait_for_client,
};
