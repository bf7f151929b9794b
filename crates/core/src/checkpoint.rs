//! Checkpoints on the tape: what a function keeps for its gradient is dropped, and computed again when the walk gets there.
//!
//! The nodes stay as they are, so a gradient finds the same way, to parameters and values from outside as well. Only what they
//! save goes: it is taken from nodes of the same numbers that the function leaves when it is run again.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use fluvial_tensor::{Error, Result, Type};
use smallvec::SmallVec;

use crate::scope;
use crate::tape::{Saved, Slot, lock};
use crate::var::Var;

/// What runs a function again, recorded, exactly as before.
pub type Again = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// A function that is run again for its gradient.
pub(crate) struct Region {
    again: Again,
    /// By node: its op.
    ops: Mutex<Vec<&'static str>>,
    /// By node: what it would have saved, once the function has been run again.
    found: Mutex<Vec<Option<Saved>>>,
}

/// What the innermost region does with nodes.
enum Phase {
    /// Their values are dropped.
    First(Arc<Region>),
    /// Their values are collected.
    Again(Vec<(&'static str, Saved)>),
}

thread_local! {
    static ENTERED: RefCell<Vec<Phase>> = const { RefCell::new(Vec::new()) };
}

/// Ends a phase also if the function fails.
struct Entered;

impl Entered {
    fn enter(phase: Phase) -> Entered {
        ENTERED.with_borrow_mut(|entered| entered.push(phase));
        Entered
    }

    fn leave(self) -> Option<Phase> {
        std::mem::forget(self);
        ENTERED.with_borrow_mut(Vec::pop)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        drop(ENTERED.with_borrow_mut(Vec::pop));
    }
}

/// Runs `f` line by line without keeping what its gradient needs; `again` runs it once more when that is asked for.
///
/// ```
/// use std::sync::Arc;
/// use fluvial_core::{Result, Var, checkpoint};
///
/// let x = Var::scalar(3.0).track()?;
/// let cube = move |x: &Var| (x * x) * x;
/// let y = checkpoint(Arc::new({ let x = x.clone(); move || cube(&x).check().map(drop) }), || cube(&x).check())?;
/// assert_eq!(fluvial_core::grad(&[&y], &[&x])?[0].item::<f64>()?, 27.0);
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn checkpoint<R>(again: Again, f: impl FnOnce() -> Result<R>) -> Result<R> {
    let region = Region { again, ops: Mutex::default(), found: Mutex::default() };
    let _entered = Entered::enter(Phase::First(Arc::new(region)));
    f()
}

/// What a node saves, as the region that it is recorded in has it.
#[inline]
pub(crate) fn kept(op: &'static str, saved: Saved) -> Saved {
    ENTERED.with_borrow_mut(|entered| match entered.last_mut() {
        None => saved,
        Some(Phase::First(region)) => {
            let mut ops = lock(&region.ops);
            ops.push(op);
            saved.without_values(region.clone(), ops.len() - 1)
        }
        Some(Phase::Again(found)) => {
            found.push((op, saved.clone()));
            saved
        }
    })
}

impl Region {
    /// What the node of this number would have saved. It is given away, unless the tape stays.
    pub fn restored(&self, number: usize, stays: bool) -> Result<Saved> {
        let missing = lock(&self.found).get(number).is_none_or(Option::is_none);
        if missing {
            self.run_again()?;
        }
        let mut found = lock(&self.found);
        let saved = found.get_mut(number).and_then(|saved| match stays {
            true => saved.clone(),
            false => saved.take(),
        });
        saved.ok_or_else(|| Error::internal("a checkpoint lost what it computed again"))
    }

    fn run_again(&self) -> Result<()> {
        let entered = Entered::enter(Phase::Again(Vec::new()));
        let done = {
            let _scope = (scope::imperative(), scope::enable_grad());
            (self.again)()
        };
        let found = match entered.leave() {
            Some(Phase::Again(found)) => found,
            _ => Vec::new(),
        };
        done?;
        let ops = lock(&self.ops);
        if !found.iter().map(|(op, _)| op).eq(ops.iter()) {
            return Err(Error::gradient(
                "a checkpointed function did something else when it ran again for its gradient",
            )
            .remedy("let it depend on its arguments, parameters and random numbers only"));
        }
        *lock(&self.found) = found.into_iter().map(|(_, saved)| Some(saved)).collect();
        Ok(())
    }
}

impl Saved {
    /// The same without values, which the region computes again.
    fn without_values(self, region: Arc<Region>, number: usize) -> Saved {
        let bare = |slot: Slot| match slot {
            Slot::Kept(var) => match var.0.edge.clone() {
                Some(edge) => Slot::Dropped(edge),
                None => Slot::Typed(Box::new(var.ty())),
            },
            other => other,
        };
        let inputs = self.inputs.into_iter().map(bare).collect();
        Saved { inputs, outputs: Vec::new(), again: Some((region, number)) }
    }

    /// With its values again, and the edges that it has.
    pub(crate) fn with_values(self, stays: bool) -> Result<Saved> {
        let Some((region, number)) = &self.again else { return Ok(self) };
        let found = region.restored(*number, stays)?;
        let types = |slots: &[Slot]| -> SmallVec<[Option<Type>; 4]> {
            slots.iter().map(Slot::ty).collect()
        };
        let (own, new) = (types(&self.inputs), types(&found.inputs));
        let differ = own.iter().zip(&new).any(|pair| matches!(pair, (Some(a), Some(b)) if a != b));
        if differ || own.len() != new.len() {
            return Err(Error::gradient(
                "a checkpointed function had values of other types when it ran again",
            ));
        }
        let joined = |(own, new): (Slot, Slot)| match new {
            Slot::Kept(var) => match var.value() {
                Ok(value) => Slot::Kept(Var::with_edge(value.clone(), own.edge().cloned())),
                Err(_) => own,
            },
            _ => own,
        };
        let inputs = self.inputs.into_iter().zip(found.inputs).map(joined).collect();
        Ok(Saved { inputs, outputs: found.outputs, again: None })
    }
}
