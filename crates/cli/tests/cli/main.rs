//! The command line, run as a user runs it.

mod data;
mod debugging;
mod documents;
mod faults;
mod files;
mod limits;
mod looking;
mod ranks;
mod running;
mod runs;
mod sandbox;
mod stopping;
mod training;
mod view;
