//! Tasks that run at the same time, and the channels by which they talk; with the meaning that they have in Go.
//!
//! A [`World`] is the tasks that can wake one another: those of one run of a program, or those of the lines of a
//! process. One lock guards all of its channels, so that it is known at any time who waits for what: when every task
//! waits, that is a deadlock, and an error that names each of them.
//!
//! - `world`: who is there, who waits, and what ends all of it.
//! - `channel`: sending, receiving, closing, and waiting for one of several.
//! - `owners`: which task of the host has assigned a cell.
//! - `rest`: what has to be kept of a world so that a run can go on later.
//! - `run`: threads for tasks, and runs that have some.
//! - `schedule`: which task goes on, if one runs at a time: by a seed, or in all ways one after the other.
//! - [`trips`]: the trips of a loop that do not depend on one another.

mod channel;
mod inner;
mod owners;
mod rest;
mod run;
mod schedule;
pub mod trips;
mod world;

pub use channel::{Case, Chosen, channel, close, fits, recv, select, send, timer, wait, zero};
pub(crate) use owners::{before_assign, before_read};
pub use owners::{share, unshare};
pub use rest::{Contents, Standing, go_on_from, is_alone, standing};
pub(crate) use run::check;
pub use run::{
    Announced, Done, Leave, in_run, run, set_outsiders, settle, spawn, take_part, tell_left,
};
pub use schedule::{explore, with_schedule};
pub use world::{Channel, World};
