//! Whole conversations with a small program of our own.

mod mock;
mod talks;
