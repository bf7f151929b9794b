//! The command line, run as a user runs it.

mod data;
mod debugging;
mod documents;
mod faults;
mod files;
mod looking;
mod running;
mod sandbox;
mod stopping;
mod training;
