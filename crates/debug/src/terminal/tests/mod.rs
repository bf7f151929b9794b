//! Whole conversations with a small program of our own.

mod looks;
mod mock;
mod talks;
