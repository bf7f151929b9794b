//! The state scope: everything that persists between steps, by name. Both modes share it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use fluvial_tensor::{Error, Result, Tensor, Type};

use crate::program::{Role, StateDecl};
use crate::scope::{self, Mode};
use crate::tape::{Leaf, lock};
use crate::trace;
use crate::value::Value;
use crate::var::Var;

/// Named state: parameters, buffers, moments of optimizers, random streams, counters.
///
/// A handle; clones share. Reading a parameter gives one leaf per version, so a weight used twice
/// gets one gradient. Assigning never changes a tensor that somebody still holds.
#[derive(Clone, Default)]
pub struct State(Arc<Mutex<BTreeMap<Arc<str>, Entry>>>);

struct Entry {
    var: Var,
    role: Role,
    version: u64,
    /// Outlives versions: gradients accumulate until they are zeroed.
    leaf: Arc<Leaf>,
}

impl Entry {
    /// Whether it is a tensor that nobody else holds and whose memory nobody else sees.
    fn is_unique(&self) -> bool {
        let is_unique = |tensor: &Tensor| tensor.numel() > 1 && tensor.is_unique();
        self.var.is_only_handle() && self.var.tensor().is_ok_and(is_unique)
    }

    fn new(role: Role, value: Value) -> Entry {
        let mut entry =
            Entry { var: Var::new(value.clone()), role, version: 0, leaf: Arc::default() };
        drop(entry.set(value));
        entry
    }

    /// Gives the state a new value and returns the old one, which the caller drops after it has
    /// let go of the lock: foreign memory may run foreign code when it is freed.
    #[must_use = "drop it without the lock"]
    fn set(&mut self, value: Value) -> Var {
        self.version += 1;
        let var = match self.role == Role::Parameter && value.ty().is_float() {
            true => Var::leaf(value, self.leaf.clone()),
            false => Var::new(value),
        };
        std::mem::replace(&mut self.var, var)
    }
}

impl State {
    /// An empty scope.
    pub fn new() -> State {
        State::default()
    }

    /// A scope of its own with the values that this one has now.
    pub fn fork(&self) -> Result<State> {
        let fork = State::new();
        for name in self.names() {
            if let Some(decl) = self.declaration(&name) {
                fork.insert(&name, decl.role, self.read(&name)?.value()?.clone())?;
            }
        }
        Ok(fork)
    }

    /// Makes this the scope of the thread until the guard is dropped.
    pub fn enter(&self) -> StateGuard {
        StateGuard(CURRENT.replace(Some(self.clone())))
    }

    /// Whether there is a state of that name.
    pub fn contains(&self, name: &str) -> bool {
        lock(&self.0).contains_key(name)
    }

    /// All names, in order.
    pub fn names(&self) -> Vec<Arc<str>> {
        lock(&self.0).keys().cloned().collect()
    }

    /// Type and role of a state.
    pub fn declaration(&self, name: &str) -> Option<StateDecl> {
        lock(&self.0).get(name).map(|entry| StateDecl { ty: entry.var.ty(), role: entry.role })
    }

    /// The value of a state; a leaf if it is a parameter.
    pub fn read(&self, name: &str) -> Result<Var> {
        lock(&self.0).get(name).map(|entry| entry.var.clone()).ok_or_else(|| unknown(name))
    }

    /// The tensor of a state.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        self.read(name)?.tensor().cloned()
    }

    /// How often the state was assigned.
    pub fn version(&self, name: &str) -> Option<u64> {
        lock(&self.0).get(name).map(|entry| entry.version)
    }

    /// Adds a state, or gives one of the same type and role a new value.
    pub fn insert(&self, name: &str, role: Role, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        let mut entries = lock(&self.0);
        if let Some(entry) = entries.get_mut(name) {
            check_type(name, &entry.var.ty(), &value.ty())?;
            entry.role = role;
            let old = entry.set(value);
            drop(entries);
            drop(old);
            return Ok(());
        }
        entries.insert(name.into(), Entry::new(role, value));
        Ok(())
    }

    /// Gives a state a new value of the same type.
    pub fn assign(&self, name: &str, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        let mut entries = lock(&self.0);
        let entry = entries.get_mut(name).ok_or_else(|| unknown(name))?;
        check_type(name, &entry.var.ty(), &value.ty())?;
        let old = entry.set(value);
        drop(entries);
        drop(old);
        Ok(())
    }

    /// Changes the tensor of a state, in place if nobody else holds it. A tape that kept it goes
    /// on with the old numbers.
    pub fn update(&self, name: &str, f: impl FnOnce(&mut Tensor) -> Result<()>) -> Result<()> {
        let mut entries = lock(&self.0);
        let entry = entries.get_mut(name).ok_or_else(|| unknown(name))?;
        let held = std::mem::replace(&mut entry.var, Var::scalar(0.0f32));
        let ty = held.ty();
        let mut tensor = match held.take_value()? {
            Value::Tensor(tensor) => tensor,
            list @ Value::List(_) => {
                drop(entry.set(list));
                return Err(Error::state(format!("state `{name}` is a list, not a tensor")));
            }
        };
        let done = f(&mut tensor).and_then(|()| check_type(name, &ty, &tensor.ty()));
        // A value of another type never gets in; the state is then gone rather than wrong.
        match tensor.ty() == ty {
            true => drop(entry.set(tensor.into())),
            false => drop(entries.remove(name)),
        }
        done
    }

    /// Changes the tensors of several states, given by different names: `f` may write in place what is unique,
    /// and must leave each of its type. Nobody sees the states meanwhile.
    pub fn update_all<R>(
        &self,
        names: &[&str],
        f: impl FnOnce(&mut [Tensor]) -> Result<R>,
    ) -> Result<R> {
        // What somebody else holds is dropped after the lock: foreign memory may run foreign code then.
        let mut held: Vec<Var> = Vec::new();
        let mut entries = lock(&self.0);
        let mut tensors: Vec<Tensor> = Vec::with_capacity(names.len());
        for &name in names {
            let entry = entries.get(name).ok_or_else(|| unknown(name))?;
            entry.var.tensor()?;
            if !entry.is_unique() {
                held.push(entry.var.clone());
            }
        }
        for &name in names {
            let entry = entries.get_mut(name).ok_or_else(|| unknown(name))?;
            tensors.push(std::mem::replace(&mut entry.var, Var::scalar(0.0f32)).take_tensor()?);
        }
        let types: Vec<Type> = tensors.iter().map(Tensor::ty).collect();
        let mut done = f(&mut tensors);
        for ((&name, tensor), ty) in names.iter().zip(tensors).zip(types) {
            // A value of another type never gets in; the state is then gone rather than wrong.
            if let Err(fault) = check_type(name, &ty, &tensor.ty()) {
                entries.remove(name);
                done = done.and(Err(fault));
            } else if let Some(entry) = entries.get_mut(name) {
                drop(entry.set(tensor.into()));
            }
        }
        drop(entries);
        drop(held);
        done
    }

    /// Takes the named states over from `draft`, except those that have got a value meanwhile.
    pub(crate) fn insert_missing(&self, names: &BTreeSet<Arc<str>>, draft: &State) -> Result<()> {
        for name in names {
            let Some(decl) = draft.declaration(name) else { continue };
            let value = draft.read(name)?.value()?.clone();
            let mut entries = lock(&self.0);
            if !entries.contains_key(name) {
                entries.insert(name.clone(), Entry::new(decl.role, value));
            }
        }
        Ok(())
    }

    /// Removes a state.
    pub fn remove(&self, name: &str) -> bool {
        let removed = lock(&self.0).remove(name);
        removed.is_some()
    }
}

/// Puts the thread's former state scope back when dropped.
#[must_use = "the former scope is put back when the guard is dropped"]
pub struct StateGuard(Option<State>);

impl Drop for StateGuard {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

thread_local! {
    static CURRENT: RefCell<Option<State>> = const { RefCell::new(None) };
}

/// The state scope of the thread: the one entered last, or the one of the process.
pub fn current() -> State {
    static GLOBAL: OnceLock<State> = OnceLock::new();
    let entered = CURRENT.with_borrow(Option::clone);
    entered.unwrap_or_else(|| GLOBAL.get_or_init(State::new).clone())
}

/// Reads a state, in both modes.
#[track_caller]
pub fn read_state(name: &str) -> Result<Var> {
    match scope::mode() {
        Mode::Imperative => {
            let loc = scope::user_line();
            let var = current().read(name).map_err(|error| error.at(loc))?;
            Ok(if scope::is_recording() { var } else { var.untracked() })
        }
        Mode::Building => trace::read_symbolic(name),
    }
}

/// Assigns a state, in both modes. No gradient passes through: what is assigned is a new leaf.
#[track_caller]
pub fn assign_state(name: &str, value: &Var) -> Result<()> {
    match scope::mode() {
        Mode::Imperative => {
            let loc = scope::user_line();
            current().assign(name, value.value()?.clone()).map_err(|error| error.at(loc))
        }
        Mode::Building => trace::assign_symbolic(name, value),
    }
}

/// Reads a state, after adding it with what `init` computes if it is not there yet. In a program,
/// `init` becomes part of the startup block, which runs once.
#[track_caller]
pub fn declare_state(
    name: &str,
    ty: Type,
    role: Role,
    init: impl FnOnce() -> Result<Var>,
) -> Result<Var> {
    let loc = scope::user_line();
    let _line = scope::at(loc);
    match scope::mode() {
        Mode::Building => trace::declare_symbolic(name, StateDecl { ty, role }, init)?,
        Mode::Imperative => {
            let state = current();
            match state.declaration(name) {
                Some(known) => {
                    check_type(name, &known.ty, &ty).map_err(|error| error.at(loc))?;
                }
                None => {
                    let _no_grad = scope::no_grad();
                    let value = init()?.value()?.clone();
                    check_type(name, &ty, &value.ty()).map_err(|error| error.at(loc))?;
                    state.insert(name, role, value)?;
                }
            }
        }
    }
    read_state(name)
}

pub(crate) fn check_type(name: &str, declared: &Type, found: &Type) -> Result<()> {
    if declared == found {
        return Ok(());
    }
    Err(Error::state(format!("state `{name}` is {declared}, but the value is {found}"))
        .remedy("cast or reshape the value, or give the state another name"))
}

#[cold]
pub(crate) fn unknown(name: &str) -> Error {
    Error::state(format!("there is no state named `{name}`"))
        .remedy("declare it with an initialiser, load it from a file, or run the startup program")
}
