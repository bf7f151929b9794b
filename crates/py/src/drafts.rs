//! Programs under construction that are left and entered again, as Fluid's default program is.
//!
//! They belong to the thread that made them, because the values of a block do.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fluvial::core::{self, Cache, Draft, Error, Program as CoreProgram, Result, Var};

/// A program under construction, by its number.
pub struct Open(u64);

/// What belongs to it.
struct Slot {
    /// Nothing while the program is entered.
    draft: Option<Draft>,
    /// The outputs that users have named.
    outputs: Vec<(String, Var)>,
    /// Programs made of it, by the version that it had and their outputs.
    made: Arc<Cache<(usize, Named), Arc<CoreProgram>>>,
}

/// Outputs of a program.
#[derive(Clone)]
struct Named(Vec<(String, Var)>);

impl PartialEq for Named {
    fn eq(&self, other: &Named) -> bool {
        let equal = |(a, b): (&(String, Var), &(String, Var))| a.0 == b.0 && a.1.same(&b.1);
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(equal)
    }
}

thread_local! {
    static SLOTS: RefCell<HashMap<u64, Slot>> = RefCell::new(HashMap::new());
    /// The programs that this thread has entered, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

static NEXT: AtomicU64 = AtomicU64::new(0);

/// How many programs of one draft are kept.
const MAX_MADE: usize = 8;

impl Open {
    /// An empty program.
    pub fn new() -> Result<Open> {
        core::begin_program();
        let draft = core::suspend_program()?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        SLOTS.with_borrow_mut(|slots| {
            let made = Arc::new(Cache::new(MAX_MADE));
            slots.insert(id, Slot { draft: Some(draft), outputs: Vec::new(), made })
        });
        Ok(Open(id))
    }

    fn with<R>(&self, f: impl FnOnce(&mut Slot) -> Result<R>) -> Result<R> {
        SLOTS.with_borrow_mut(|slots| match slots.get_mut(&self.0) {
            Some(slot) => f(slot),
            None => Err(Error::program("the program is being built by another thread")
                .remedy("build and run it in one thread, or save it and load it there")),
        })
    }

    /// From here on, ops of this thread are appended to it.
    pub fn enter(&self) -> Result<()> {
        let draft = self.with(|slot| Ok(slot.draft.take()))?;
        // One that is entered already takes the ops anyway, unless another stands in between.
        if let Some(draft) = draft {
            core::resume_program(draft);
        } else if ENTERED.with_borrow(|entered| entered.last() != Some(&self.0)) {
            return Err(Error::program("the program is entered already, further out")
                .remedy("leave the inner program first"));
        }
        ENTERED.with_borrow_mut(|entered| entered.push(self.0));
        Ok(())
    }

    /// Whether it is the innermost one that this thread has entered.
    pub fn is_entered(&self) -> bool {
        ENTERED.with_borrow(|entered| entered.last() == Some(&self.0))
    }

    /// Names an output.
    pub fn output(&self, name: &str, var: Var) -> Result<()> {
        self.with(|slot| {
            slot.outputs.retain(|(known, _)| known != name);
            slot.outputs.push((name.to_string(), var));
            Ok(())
        })
    }

    /// The program as it is now, with the outputs that were named.
    pub fn program(&self) -> Result<Arc<CoreProgram>> {
        let outputs = self.with(|slot| Ok(slot.outputs.clone()))?;
        self.program_of(&outputs)
    }

    /// The program as it is now, with these outputs.
    pub fn program_of(&self, outputs: &[(String, Var)]) -> Result<Arc<CoreProgram>> {
        let was_entered = self.is_entered();
        if !was_entered {
            self.enter()?;
        }
        let made = self.made(outputs);
        if !was_entered {
            leave()?;
        }
        made
    }

    fn made(&self, outputs: &[(String, Var)]) -> Result<Arc<CoreProgram>> {
        let draft = core::suspend_program()?;
        let version = draft.version();
        core::resume_program(draft);
        let made = self.with(|slot| Ok(slot.made.clone()))?;
        made.get_or(&(version, Named(outputs.to_vec())), || {
            let refs: Vec<(&str, &Var)> =
                outputs.iter().map(|(name, var)| (&**name, var)).collect();
            core::snapshot_program(&refs).map(Arc::new)
        })
    }
}

/// Leaves the program entered last, and gives up blocks that are open inside it.
pub fn leave() -> Result<()> {
    let Some(id) = ENTERED.with_borrow_mut(Vec::pop) else {
        return Err(Error::program("no program was entered").remedy("use `fl.program_guard`"));
    };
    if ENTERED.with_borrow(|entered| entered.last() == Some(&id)) {
        return Ok(());
    }
    let draft = loop {
        match core::suspend_program() {
            Ok(draft) => break draft,
            Err(_) if core::mode() == core::Mode::Building => core::abort_block(),
            Err(error) => return Err(error),
        }
    };
    SLOTS.with_borrow_mut(|slots| {
        if let Some(slot) = slots.get_mut(&id) {
            slot.draft = Some(draft);
        }
    });
    Ok(())
}

impl Drop for Open {
    fn drop(&mut self) {
        // At the end of a thread its slots may be gone already.
        let _ =
            SLOTS.try_with(|slots| slots.try_borrow_mut().map(|mut slots| slots.remove(&self.0)));
    }
}
