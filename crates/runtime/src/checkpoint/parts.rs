//! Checkpoints that others make and take apart: recordings of a debugger.

use std::sync::Arc;

use fluvial_core::{Role, Value};

use super::Checkpoint;
use crate::plan::Suspension;

impl Checkpoint {
    /// Of a program, given by its [fingerprint](fluvial_core::Program::fingerprint): its states, and where it is.
    pub fn of(
        program: u64,
        states: Vec<(Arc<str>, Role, Value)>,
        suspension: Suspension,
    ) -> Checkpoint {
        Checkpoint { step: 0, run: 0, program, begun: None, states, suspension }
    }

    /// The fingerprint of its program, the states, and where it is.
    pub fn into_parts(self) -> (u64, Vec<(Arc<str>, Role, Value)>, Suspension) {
        (self.program, self.states, self.suspension)
    }
}
