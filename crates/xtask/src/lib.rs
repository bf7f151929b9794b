//! The project's own tools: `cargo xtask codegen` and `cargo xtask tidy`.

pub mod codegen;
pub mod tidy;
pub mod tree;
