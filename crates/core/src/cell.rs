//! A cell: a value that lives on from step to step, with an identity of its own.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use fluvial_tensor::{Error, Result, Tensor, Type, interrupt};

use crate::program::{Role, StateDecl};
use crate::scope::{self, Mode};
use crate::state;
use crate::step;
use crate::tape::{Hook, HookHandle, Leaf, lock};
use crate::tasks;
use crate::trace;
use crate::value::Value;
use crate::var::Var;

/// A parameter, a buffer, a moment of an optimizer, a counter: a value that changes, with identity.
///
/// Clones are the same cell, which lives as long as one of them. Layers and optimizers hold the
/// cells of what is theirs; a scope ([`State`](crate::State)) holds cells by name. The label is for
/// people and files. Reading a parameter gives one leaf per version, so a weight used twice gets one
/// gradient. Assigning never changes a tensor that somebody still holds.
///
/// ```
/// use fluvial_core::{Cell, Program, Role, Tensor, Type, DType, Var};
///
/// let count = Cell::of("count", Role::Counter, Tensor::scalar(1.0f32));
/// let add = |x: &Var| -> fluvial_core::Result<Var> {
///     let sum = count.read()? + x;
///     count.assign(&sum)?;
///     Ok(sum)
/// };
/// assert_eq!(add(&Var::scalar(2.0f32))?.item::<f32>()?, 3.0);
/// let program = Program::build(&[("x", Type::scalar(DType::F32))], |x| Ok(vec![add(&x[0])?]))?;
/// assert_eq!(program.apply(&[&Var::scalar(4.0f32)])?[0].item::<f32>()?, 7.0);
/// assert_eq!(count.read()?.item::<f32>()?, 7.0);
/// # Ok::<(), fluvial_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Cell(Arc<Inner>);

struct Inner {
    label: Mutex<Arc<str>>,
    held: Mutex<Held>,
    /// The number of the thread that has its turn with it; 0 for none.
    turn: AtomicU64,
    /// The number of the scope with whose values it goes; 0 for any.
    scope: AtomicU64,
}

/// A cell that may be gone.
#[derive(Clone)]
pub struct WeakCell(Weak<Inner>);

impl WeakCell {
    /// The cell, if somebody still holds it.
    pub fn upgrade(&self) -> Option<Cell> {
        self.0.upgrade().map(Cell)
    }
}

/// What a cell holds.
pub(crate) struct Held {
    var: Option<Var>,
    role: Role,
    version: u64,
    /// Outlives versions: gradients accumulate until they are zeroed.
    leaf: Arc<Leaf>,
}

impl Held {
    /// Takes a new value and returns the old one, which the caller drops after it has let go of
    /// the lock: foreign memory may run foreign code when it is freed.
    #[must_use = "drop it without the lock"]
    pub fn set(&mut self, value: Value) -> Option<Var> {
        self.version += 1;
        let var = match self.role == Role::Parameter && value.ty().is_inexact() {
            true => Var::leaf(value, self.leaf.clone()),
            false => Var::new(value),
        };
        self.var.replace(var)
    }

    /// Whether it is a tensor that nobody else holds and whose memory nobody else sees.
    pub fn is_unique(&self) -> bool {
        let is_unique = |tensor: &Tensor| tensor.numel() > 1 && tensor.is_unique();
        self.var
            .as_ref()
            .is_some_and(|var| var.is_only_handle() && var.tensor().is_ok_and(is_unique))
    }

    /// Moves the tensor out; the cell has no value until the next one is set.
    pub fn take_tensor(&mut self) -> Result<Tensor> {
        match self.var.take() {
            Some(var) => var.take_tensor(),
            None => Err(Error::internal("a cell without a value was to be updated")),
        }
    }
}

impl Cell {
    /// A cell without a value, which [`declare`](Cell::declare) gives it.
    pub fn new(label: impl Into<Arc<str>>) -> Cell {
        let held = Held { var: None, role: Role::Buffer, version: 0, leaf: Arc::default() };
        let (label, held) = (Mutex::new(label.into()), Mutex::new(held));
        let (turn, scope) = (AtomicU64::new(0), AtomicU64::new(0));
        Cell(Arc::new(Inner { label, held, turn, scope }))
    }

    /// Says that it goes with the values that a scope has by name: a program that is bound to it runs there only.
    pub fn belongs_to(&self, scope: &state::State) {
        self.0.scope.store(scope.number(), std::sync::atomic::Ordering::Relaxed);
    }

    /// The number of the scope that it [belongs to](Cell::belongs_to).
    pub(crate) fn scope(&self) -> Option<u64> {
        let scope = self.0.scope.load(std::sync::atomic::Ordering::Relaxed);
        (scope != 0).then_some(scope)
    }

    /// A cell with this value.
    pub fn of(label: impl Into<Arc<str>>, role: Role, value: impl Into<Value>) -> Cell {
        let cell = Cell::new(label);
        cell.put(role, value);
        cell
    }

    /// What people and files call it.
    pub fn label(&self) -> Arc<str> {
        lock(&self.0.label).clone()
    }

    /// Gives it another label. Programs that were built keep the one they know.
    pub fn set_label(&self, label: impl Into<Arc<str>>) {
        *lock(&self.0.label) = label.into();
    }

    /// Whether both are one cell.
    pub fn same(&self, other: &Cell) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that no other living cell has.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The cell without holding it.
    pub fn downgrade(&self) -> WeakCell {
        WeakCell(Arc::downgrade(&self.0))
    }

    /// The cell that stands for this one in the scope of the thread: a copy where the scope is a
    /// [fork](crate::State::fork).
    pub fn here(&self) -> Cell {
        state::copy_in_current(self).unwrap_or_else(|| self.clone())
    }

    pub(crate) fn turn(&self) -> &AtomicU64 {
        &self.0.turn
    }

    /// Takes back what it held before.
    pub(crate) fn restore(&self, var: Option<Var>) {
        let mut held = self.hold();
        held.version += 1;
        let old = std::mem::replace(&mut held.var, var);
        drop(held);
        drop(old);
    }

    pub(crate) fn hold(&self) -> MutexGuard<'_, Held> {
        lock(&self.0.held)
    }

    /// Type and role, if it has a value.
    pub fn declaration(&self) -> Option<StateDecl> {
        let held = self.hold();
        held.var.as_ref().map(|var| StateDecl::new(var.ty(), held.role))
    }

    /// Whether it has a value.
    pub fn has_value(&self) -> bool {
        self.hold().var.is_some()
    }

    /// The value that it has now; a leaf if it is a parameter.
    pub fn get(&self) -> Option<Var> {
        self.hold().var.clone()
    }

    /// How often it was given a value.
    pub fn version(&self) -> u64 {
        self.hold().version
    }

    /// Gives it a value of any type, and a role.
    pub fn put(&self, role: Role, value: impl Into<Value>) {
        let mut held = self.hold();
        step::changing(self, || held.var.clone());
        held.role = role;
        let old = held.set(value.into());
        drop(held);
        drop(old);
    }

    /// Gives it a value of the type that it has.
    pub fn set(&self, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        let mut held = self.hold();
        let value = match &held.var {
            Some(var) => {
                check_type(&self.label(), &var.ty(), &value.ty())?;
                // A state stays on the device on which it is.
                match var.value().ok().and_then(Value::device) {
                    Some(device) => value.to_device(Some(device))?,
                    None => value,
                }
            }
            None => value,
        };
        tasks::before_assign(self)?;
        step::changing(self, || held.var.clone());
        let old = held.set(value);
        drop(held);
        drop(old);
        Ok(())
    }

    /// Changes what it is for. A parameter that becomes a buffer is read as a constant.
    pub fn set_role(&self, role: Role) {
        let mut held = self.hold();
        if held.role == role {
            return;
        }
        held.role = role;
        let value = held.var.as_ref().and_then(|var| var.value().ok().cloned());
        let old = value.and_then(|value| held.set(value));
        drop(held);
        drop(old);
    }

    /// Takes its value away.
    pub fn clear(&self) {
        let old = self.hold().var.take();
        drop(old);
    }

    /// The gradient that `backward` has accumulated in it, outside of programs.
    pub fn grad(&self) -> Option<Var> {
        let leaf = self.here().hold().leaf.clone();
        leaf.get()
    }

    /// Replaces the accumulated gradient, outside of programs.
    pub fn set_grad(&self, grad: Option<Var>) {
        let leaf = self.here().hold().leaf.clone();
        leaf.set(grad);
    }

    /// Calls `hook` with each gradient of this parameter that is complete, before it is added to what has accumulated; what the
    /// hook returns, if anything, takes its place. It stays while values come and go. While a program is built, it becomes a
    /// part of each way back that leads to the parameter.
    pub fn register_hook(
        &self,
        hook: impl Fn(&Var) -> Result<Option<Var>> + Send + Sync + 'static,
    ) -> HookHandle {
        let (leaf, hook): (_, Hook) = (self.leaf(), Arc::new(hook));
        leaf.add_hook(hook.clone());
        HookHandle::of_leaf(&leaf, &hook)
    }

    /// What its versions share.
    pub(crate) fn leaf(&self) -> Arc<Leaf> {
        self.here().hold().leaf.clone()
    }

    /// Has its versions have the hooks of another one's.
    pub(crate) fn take_hooks(&self, other: &Cell) {
        let leaf = other.hold().leaf.clone();
        self.hold().leaf = Arc::new(leaf.apart());
    }

    /// The cell of the accumulated gradient.
    pub(crate) fn grad_cell(&self) -> Cell {
        let leaf = self.hold().leaf.clone();
        leaf.cell(|| format!("{}.grad", self.label()).into()).clone()
    }

    /// Takes a value with its place on the tape.
    pub(crate) fn keep(&self, var: Var) {
        let mut held = self.hold();
        step::changing(self, || held.var.clone());
        held.version += 1;
        let old = held.var.replace(var);
        drop(held);
        drop(old);
    }

    /// Changes the tensor, in place if nobody else holds it. A tape that kept it goes on with the
    /// old numbers.
    pub fn update(&self, f: impl FnOnce(&mut Tensor) -> Result<()>) -> Result<()> {
        let label = self.label();
        let mut held = self.hold();
        let Some(ty) = held.var.as_ref().map(Var::ty) else { return Err(state::unknown(&label)) };
        if ty.is_list() {
            return Err(Error::state(format!("state `{label}` is a list, not a tensor")));
        }
        tasks::before_assign(self)?;
        step::changing(self, || held.var.clone());
        let device = held.var.as_ref().and_then(|var| var.value().ok()?.device().cloned());
        let mut tensor = held.take_tensor()?;
        let _whole = interrupt::hear(false);
        let done = f(&mut tensor).and_then(|()| check_type(&label, &ty, &tensor.ty()));
        // A value of another type never gets in; the state is then gone rather than wrong.
        if tensor.ty() != ty {
            return done;
        }
        let value = Value::from(tensor);
        match device.map(|device| value.to_device(Some(&device))) {
            Some(Err(fault)) => {
                drop(held.set(value));
                done.and(Err(fault))
            }
            Some(Ok(there)) => {
                drop(held.set(there));
                done
            }
            None => {
                drop(held.set(value));
                done
            }
        }
    }

    /// Its value, in both modes, after giving it the one that `init` computes if it has none. While
    /// a program is built the cell becomes a state of the program, and `init` a part of the startup
    /// block, which runs once where the program is loaded without values.
    #[track_caller]
    pub fn declare(&self, ty: Type, role: Role, init: impl FnOnce() -> Result<Var>) -> Result<Var> {
        let loc = scope::user_line();
        let _line = scope::at(loc);
        match scope::mode() {
            Mode::Building => {
                trace::declare_cell(self, StateDecl::new(ty, role), init)?;
                trace::read_cell(self)
            }
            Mode::Imperative => {
                let here = self.here();
                if !here.has_value() {
                    state::current().claim(&here)?;
                }
                match here.declaration() {
                    Some(known) => {
                        check_type(&self.label(), &known.ty, &ty).map_err(|e| e.at(loc))?;
                        here.set_role(role);
                    }
                    None => {
                        let value = {
                            let _no_grad = scope::no_grad();
                            init()?.value()?.clone()
                        };
                        check_type(&self.label(), &ty, &value.ty()).map_err(|e| e.at(loc))?;
                        here.put_if_empty(role, value);
                    }
                }
                here.read_now()
            }
        }
    }

    /// Gives it an initial value, unless another thread was faster.
    pub(crate) fn put_if_empty(&self, role: Role, value: Value) {
        let mut held = self.hold();
        if held.var.is_none() {
            held.role = role;
            drop(held.set(value));
        }
    }

    /// Its value, in both modes.
    #[track_caller]
    pub fn read(&self) -> Result<Var> {
        let loc = scope::user_line();
        match scope::mode() {
            Mode::Imperative => self.here().read_now().map_err(|error| error.at(loc)),
            Mode::Building => {
                let _line = scope::at(loc);
                trace::read_cell(self)
            }
        }
    }

    fn read_now(&self) -> Result<Var> {
        tasks::before_read(self)?;
        let var = self.get().ok_or_else(|| state::unknown(&self.label()))?;
        Ok(if scope::is_recording() { var } else { var.untracked() })
    }

    /// Assigns it, in both modes. No gradient passes through: what is assigned is a new leaf.
    #[track_caller]
    pub fn assign(&self, value: &Var) -> Result<()> {
        let loc = scope::user_line();
        let _line = scope::at(loc);
        match scope::mode() {
            Mode::Imperative => {
                self.here().set(value.value()?.clone()).map_err(|error| error.at(loc))
            }
            Mode::Building => trace::assign_cell(self, value),
        }
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.declaration() {
            Some(decl) => write!(f, "@{} : {}", self.label(), decl.ty),
            None => write!(f, "@{}", self.label()),
        }
    }
}

/// Changes the tensors of several cells: `f` may write in place what is unique, and must leave each of its type.
/// Nobody sees the cells meanwhile. Nothing is done and returned if a cell is given twice.
pub(crate) fn update_cells<R>(
    cells: &[Cell],
    f: impl FnOnce(&mut [Tensor]) -> Result<R>,
) -> Result<Option<R>> {
    // Locks are taken in one order by all threads.
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_unstable_by_key(|&i| cells[i].id());
    if order.windows(2).any(|pair| cells[pair[0]].same(&cells[pair[1]])) {
        return Ok(None);
    }
    // What somebody else holds is dropped after the locks.
    let mut shared: Vec<Var> = Vec::new();
    let mut all: Vec<_> = order.iter().map(|&i| (i, cells[i].hold())).collect();
    all.sort_unstable_by_key(|(i, _)| *i);
    cells.iter().try_for_each(tasks::before_assign)?;
    for (i, held) in &all {
        step::changing(&cells[*i], || held.var.clone());
        match &held.var {
            Some(var) => {
                let _ = var.tensor()?;
                shared.extend((!held.is_unique()).then(|| var.clone()));
            }
            None => return Err(state::unknown(&cells[*i].label())),
        }
    }
    let mut tensors: Vec<Tensor> = Vec::with_capacity(all.len());
    for (_, held) in &mut all {
        tensors.push(held.take_tensor()?);
    }
    let types: Vec<Type> = tensors.iter().map(Tensor::ty).collect();
    let _whole = interrupt::hear(false);
    let mut done = f(&mut tensors);
    for (((i, held), tensor), ty) in all.iter_mut().zip(tensors).zip(types) {
        // A value of another type never gets in; the state is then gone rather than wrong.
        match check_type(&cells[*i].label(), &ty, &tensor.ty()) {
            Ok(()) => drop(held.set(tensor.into())),
            Err(fault) => done = done.and(Err(fault)),
        }
    }
    drop(all);
    drop(shared);
    done.map(Some)
}

pub(crate) fn check_type(name: &str, declared: &Type, found: &Type) -> Result<()> {
    if declared == found {
        return Ok(());
    }
    Err(Error::state(format!("state `{name}` is {declared}, but the value is {found}"))
        .remedy("cast or reshape the value, or give the state another name"))
}
