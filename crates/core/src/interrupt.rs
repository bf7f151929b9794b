//! Stopping what runs: front ends ask (Ctrl-C), or a limit is reached; loops and interpreters look.

pub use fluvial_tensor::interrupt::{Hearing, Watch, caught, clear, hear, is_requested, request};
use fluvial_tensor::{Result, interrupt};

use crate::limits;

/// An error if a stop was asked for, or a [limit](crate::Limits) is reached; a request is then spent.
#[inline]
pub fn check() -> Result<()> {
    check_trips(0)
}

/// [`check`] before a trip of a loop, which is counted.
#[inline]
pub fn before_trip() -> Result<()> {
    check_trips(1)
}

#[inline]
fn check_trips(trips: u64) -> Result<()> {
    interrupt::check()?;
    match limits::is_any() {
        false => Ok(()),
        true => limits::check(trips),
    }
}
