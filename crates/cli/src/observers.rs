//! Several observers of one run.

use fluvial::core::{Loc, Result, Value};
use fluvial::runtime::{Observer, Step};

/// Tells each of them, in order.
pub struct Several<'a>(pub Vec<&'a dyn Observer>);

impl Observer for Several<'_> {
    fn before(&self, step: &Step<'_>, inputs: &[&Value]) -> Result<()> {
        self.0.iter().try_for_each(|observer| observer.before(step, inputs))
    }

    fn after(&self, step: &Step<'_>, outputs: &[Value]) -> Result<()> {
        self.0.iter().try_for_each(|observer| observer.after(step, outputs))
    }

    fn enter(&self, step: &Step<'_>, block: usize, args: &[&Value]) -> Result<()> {
        self.0.iter().try_for_each(|observer| observer.enter(step, block, args))
    }

    fn leave(&self, step: &Step<'_>, block: usize, results: &[Value]) -> Result<()> {
        self.0.iter().try_for_each(|observer| observer.leave(step, block, results))
    }

    fn assign(&self, state: &str, value: &Value, loc: Loc) -> Result<()> {
        self.0.iter().try_for_each(|observer| observer.assign(state, value, loc))
    }
}
