//! The debugger on real programs: trainings that are compiled, with loops, dropout and shuffling.

mod back;
mod breaks;
mod looks;
mod session;
mod twins;
