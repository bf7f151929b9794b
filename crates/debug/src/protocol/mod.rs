//! The messages of the Debug Adapter Protocol.
//!
//! A message is a header with its length and a JSON text. Requests are read leniently: what a client sends beyond
//! what is known is ignored, and what it leaves out has a default, so that a request that nobody knows can still be
//! answered.
//!
//! - [`codec`]: messages to bytes and back, with bounds on what is accepted.
//! - [`message`]: requests, responses, events.
//! - [`args`]: what is in the arguments of a request.
//! - [`base64`]: bytes as text.

pub mod args;
pub mod base64;
pub mod codec;
pub mod message;

pub use args::Args;
pub use codec::{Fault, read, write};
pub use message::{Request, event, failure, success};
