//! `fluvial data`.

use clap::Subcommand;

use crate::fault::Outcome;
use crate::out::Out;

/// Look at files of samples, and convert them.
#[derive(Subcommand)]
pub enum Data {}

impl Data {
    pub fn run(&self, _: &Out) -> Outcome<u8> {
        match *self {}
    }
}
