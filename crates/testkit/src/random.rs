//! Random programs, and random calls of ops: the same ones for the same seed.

pub mod calls;
mod case;
mod generate;
mod mutate;
mod rng;

pub use case::{Case, program};
pub use mutate::{mutated_bytes, mutated_op, random_type};
pub use rng::Rng;
