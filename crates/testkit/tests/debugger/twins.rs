//! Fused ops give the bits of the calls that they were made of.

use fluvial::compile::Options;
use fluvial::prelude::*;
use fluvial::runtime::{Observer, Step};
use fluvial_core::Value;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs all ops that were made of others call by call, too.
#[derive(Default)]
struct OpenAll {
    opened: AtomicUsize,
    compared: AtomicUsize,
}

impl Observer for OpenAll {
    fn opens(&self, step: &Step<'_>) -> bool {
        let call = step.block.calls.get(step.index);
        let opens = call.is_some_and(|call| call.twin.is_some());
        self.opened.fetch_add(usize::from(opens), Ordering::Relaxed);
        opens
    }

    fn compare(&self, step: &Step<'_>, parts: &[Value], whole: &[Value]) -> Result<bool> {
        self.compared.fetch_add(1, Ordering::Relaxed);
        match parts.iter().zip(whole).all(|(part, whole)| part.bitwise_eq(whole)) {
            true => Ok(false),
            false => Err(Error::internal(format!("`{}` differs from its calls", step.op.name()))
                .at(step.loc)),
        }
    }
}

#[test]
fn of_a_training() {
    let program = super::session::training(2, super::session::fine).unwrap();
    let (expected, _) = super::session::alone(&program);
    let state = State::new().bound_to(&program.bound());
    let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
    let options = Options::default();
    let executor = Executor::with(&program, &outputs, state.clone(), &options).unwrap();
    let observer = OpenAll::default();
    executor.call().observe(&observer).run().unwrap();
    assert!(observer.opened.load(Ordering::Relaxed) > 20);
    let (opened, compared) = (&observer.opened, &observer.compared);
    assert_eq!(opened.load(Ordering::Relaxed), compared.load(Ordering::Relaxed));
    super::session::assert_same_states(&state, &expected);
}
