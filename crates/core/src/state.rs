//! The state scope: what persists between steps and is known by name. Both modes share it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use fluvial_tensor::{Error, Result, Tensor, Type};

use crate::cell::{Cell, WeakCell, check_type, update_cells};
use crate::program::{Role, StateDecl};
use crate::scope::{self, Mode};
use crate::tape::lock;
use crate::trace;
use crate::value::Value;
use crate::var::Var;

/// Cells by name: parameters, buffers, moments of optimizers, random streams, counters.
///
/// A handle; clones share. A scope owns what was declared by name. What objects such as layers own
/// is listed by its label as long as it lives, so that it can be looked at, saved and loaded.
#[derive(Clone, Default)]
pub struct State {
    scope: Arc<Scope>,
    /// The cells that a program is bound to, which come before those of the scope.
    bound: Option<Arc<Bound>>,
}

/// Cells by the names that a program has for them.
pub type Bound = BTreeMap<Arc<str>, Cell>;

#[derive(Default)]
struct Scope {
    number: Number,
    names: Mutex<Names>,
    /// In a fork: copies of the cells that were used here, by the number of the original, which is
    /// kept so that the number stays its own. A copy is its own.
    copies: Option<Mutex<HashMap<usize, (Cell, Cell)>>>,
    /// In a fork: the scope that it was made of.
    origin: Option<Arc<Scope>>,
}

#[derive(Default)]
struct Names {
    own: Bound,
    /// Cells of objects, in the order in which they were made.
    living: Vec<WeakCell>,
    /// How many entries of `living` there may be before those of dead objects are dropped.
    limit: usize,
    /// Which of `own` were loaded and wait for the object that they belong to.
    waiting: BTreeSet<Arc<str>>,
    /// Cells by the name of the random stream that their initial values came from.
    drawn: HashMap<Arc<str>, WeakCell>,
}

/// A number that no other scope has had.
struct Number(u64);

impl Default for Number {
    fn default() -> Number {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Number(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Scope {
    fn list(&self, cell: &Cell) {
        let mut names = lock(&self.names);
        if names.living.len() >= names.limit {
            names.living.retain(|weak| weak.upgrade().is_some());
            names.limit = 2 * names.living.len().max(32);
        }
        names.living.push(cell.downgrade());
    }
}

impl Names {
    /// The cells of living objects, by label; a label that is taken gets a number. What waits under a
    /// name leaves it free for the cell that it waits for.
    fn living(&self) -> Bound {
        let mut found = Bound::new();
        for cell in self.living.iter().filter_map(WeakCell::upgrade) {
            let is_empty = !self.waiting.is_empty() && !cell.has_value();
            let is_other = |name: &str| match is_empty {
                true => self.own.contains_key(name) && !self.waiting.contains(name),
                false => self.own.contains_key(name),
            };
            let taken = |name: &str| is_other(name) || found.contains_key(name);
            let name = free_name(&cell.label(), taken);
            found.insert(name, cell);
        }
        found
    }
}

/// The dotted name, or the first of `net_1.weight`, `net_2.weight`, … that is not taken.
pub(crate) fn free_name(name: &Arc<str>, taken: impl Fn(&str) -> bool) -> Arc<str> {
    if !taken(name) {
        return name.clone();
    }
    let (first, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
    let numbered = (1..).map(|i| format!("{first}_{i}{rest}"));
    numbered.map(Arc::from).find(|name: &Arc<str>| !taken(name)).unwrap_or_else(|| name.clone())
}

impl State {
    /// An empty scope.
    pub fn new() -> State {
        State::default()
    }

    /// A number that no other scope has; a fork has that of the scope it was made of.
    pub fn number(&self) -> u64 {
        let mut scope = &self.scope;
        while let Some(origin) = &scope.origin {
            scope = origin;
        }
        scope.number.0
    }

    /// A scope of its own with the values that this one has now. Inside of it, cells of objects are
    /// copies, too: what happens there changes nothing here.
    pub fn fork(&self) -> Result<State> {
        let mut copies: HashMap<usize, (Cell, Cell)> = HashMap::new();
        let mut own = Bound::new();
        for (name, cell) in self.cells() {
            let (_, copy) =
                copies.entry(cell.id()).or_insert_with(|| (cell.clone(), copied(&cell)));
            own.insert(name, copy.clone());
        }
        let themselves = own.values().map(|copy| (copy.id(), (copy.clone(), copy.clone())));
        copies.extend(themselves.collect::<Vec<_>>());
        let waiting = lock(&self.scope.names).waiting.clone();
        let names = Mutex::new(Names { own, waiting, ..Names::default() });
        let origin = Some(self.scope.clone());
        let copies = Some(Mutex::new(copies));
        let scope = Scope { number: Number::default(), names, copies, origin };
        Ok(State { scope: Arc::new(scope), bound: None })
    }

    /// In a fork, the copy of a cell, which is listed there; nothing elsewhere.
    fn copy_of(&self, cell: &Cell) -> Option<Cell> {
        let mut copies = lock(self.scope.copies.as_ref()?);
        if let Some((_, copy)) = copies.get(&cell.id()) {
            return Some(copy.clone());
        }
        let copy = copied(cell);
        copy.take_hooks(cell);
        copies.insert(cell.id(), (cell.clone(), copy.clone()));
        copies.insert(copy.id(), (copy.clone(), copy.clone()));
        drop(copies);
        self.scope.list(&copy);
        Some(copy)
    }

    /// The same scope for a program with these states: those that are bound to cells are these
    /// cells, the others are looked up by name.
    pub fn bound_to(&self, bound: &Arc<Bound>) -> State {
        let bound = (!bound.is_empty()).then(|| bound.clone());
        State { scope: self.scope.clone(), bound }
    }

    /// Makes this the scope of the thread until the guard is dropped.
    pub fn enter(&self) -> StateGuard {
        StateGuard(CURRENT.replace(Some(self.clone())))
    }

    /// Lists a cell that an object owns, by its label, as long as it lives.
    pub fn list(&self, cell: &Cell) {
        if let Some(origin) = &self.scope.origin {
            // The cell outlives the fork, which has a copy of it.
            let origin = State { scope: origin.clone(), bound: None };
            origin.list(cell);
            let _ = self.copy_of(cell);
            return;
        }
        self.scope.list(cell);
    }

    /// Lists a cell no longer.
    pub fn unlist(&self, cell: &Cell) {
        let mut names = lock(&self.scope.names);
        names.living.retain(|weak| weak.upgrade().is_none_or(|known| !known.same(cell)));
    }

    /// The cell of that name: of the program, declared by name, or listed.
    pub fn cell(&self, name: &str) -> Option<Cell> {
        self.owned(name).or_else(|| self.listed(name))
    }

    /// The cell of a living object that is listed by that name.
    pub fn listed(&self, name: &str) -> Option<Cell> {
        let names = lock(&self.scope.names);
        match names.own.contains_key(name) {
            true => None,
            false => names.living().remove(name),
        }
    }

    /// How many living objects have a value with that label.
    pub(crate) fn n_called(&self, label: &str) -> usize {
        let names = lock(&self.scope.names);
        let living = names.living.iter().filter_map(WeakCell::upgrade);
        living.filter(|cell| cell.has_value() && &*cell.label() == label).count()
    }

    /// The cell of that name that the program or the scope itself holds.
    fn owned(&self, name: &str) -> Option<Cell> {
        self.bound_cell(name).or_else(|| self.own(name))
    }

    /// The cell that the program is bound to by that name.
    pub(crate) fn bound_cell(&self, name: &str) -> Option<Cell> {
        let cell = self.bound.as_ref()?.get(name)?;
        Some(self.copy_of(cell).unwrap_or_else(|| cell.clone()))
    }

    /// The cell of that name that the scope itself holds.
    pub(crate) fn own(&self, name: &str) -> Option<Cell> {
        lock(&self.scope.names).own.get(name).cloned()
    }

    /// The cell of that name that the scope holds, made without a value if there is none.
    pub fn own_cell(&self, name: &str) -> Cell {
        let mut names = lock(&self.scope.names);
        names.waiting.remove(name);
        names.own.entry(name.into()).or_insert_with(|| Cell::new(name)).clone()
    }

    /// The cells of these names, as far as they are there.
    pub fn all_of(&self, names: &[Arc<str>]) -> Vec<Cell> {
        names.iter().filter_map(|name| self.cell(name)).collect()
    }

    fn expect(&self, name: &str) -> Result<Cell> {
        self.cell(name).filter(Cell::has_value).ok_or_else(|| unknown(name))
    }

    /// All cells that have a value, by name.
    pub fn cells(&self) -> Bound {
        let mut all = {
            let names = lock(&self.scope.names);
            let mut all = names.living();
            all.extend(names.own.iter().map(|(name, cell)| (name.clone(), cell.clone())));
            all
        };
        for (name, cell) in self.bound.iter().flat_map(|bound| bound.iter()) {
            all.insert(name.clone(), self.copy_of(cell).unwrap_or_else(|| cell.clone()));
        }
        all.retain(|_, cell| cell.has_value());
        all
    }

    /// Whether there is a state of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.cell(name).is_some_and(|cell| cell.has_value())
    }

    /// Whether a program that runs here finds a value of that name.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.owned(name).is_some_and(|cell| cell.has_value())
    }

    /// All names, in order.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.cells().into_keys().collect()
    }

    /// Type and role of a state.
    pub fn declaration(&self, name: &str) -> Option<StateDecl> {
        self.cell(name)?.declaration()
    }

    /// The value of a state; a leaf if it is a parameter.
    pub fn read(&self, name: &str) -> Result<Var> {
        self.expect(name)?.get().ok_or_else(|| unknown(name))
    }

    /// The tensor of a state.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        self.read(name)?.tensor().cloned()
    }

    /// How often the state was assigned.
    pub fn version(&self, name: &str) -> Option<u64> {
        Some(self.cell(name)?.version())
    }

    /// Adds a state, or gives one of the same type a new value and this role.
    pub fn insert(&self, name: &str, role: Role, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        let cell = self.cell(name).unwrap_or_else(|| self.own_cell(name));
        if let Some(known) = cell.declaration() {
            check_type(name, &known.ty, &value.ty())?;
        }
        cell.put(role, value);
        Ok(())
    }

    /// Gives a state a new value of the same type.
    pub fn assign(&self, name: &str, value: impl Into<Value>) -> Result<()> {
        self.expect(name)?.set(value)
    }

    /// Changes the tensor of a state, in place if nobody else holds it. A tape that kept it goes
    /// on with the old numbers.
    pub fn update(&self, name: &str, f: impl FnOnce(&mut Tensor) -> Result<()>) -> Result<()> {
        self.expect(name)?.update(f)
    }

    /// Changes the tensors of several states: `f` may write in place what is unique, and must leave each of its
    /// type. Nobody sees the states meanwhile. Nothing is done and returned if two names are one cell.
    pub fn update_all<R>(
        &self,
        names: &[&str],
        f: impl FnOnce(&mut [Tensor]) -> Result<R>,
    ) -> Result<Option<R>> {
        let cells = names.iter().map(|name| self.expect(name)).collect::<Result<Vec<Cell>>>()?;
        update_cells(&cells, f)
    }

    /// Takes the named states over from `draft`, except those that have got a value meanwhile.
    pub(crate) fn insert_missing(&self, names: &BTreeSet<Arc<str>>, draft: &State) -> Result<()> {
        for name in names {
            let Some(decl) = draft.declaration(name) else { continue };
            let value = draft.read(name)?.value()?.clone();
            let cell = self.owned(name).unwrap_or_else(|| self.own_cell(name));
            cell.put_if_empty(decl.role, value);
        }
        Ok(())
    }

    /// [`insert`](State::insert) of a value that was loaded: where no object has a cell of that
    /// name yet, it waits for the one that will.
    pub fn load(&self, name: &str, role: Role, value: impl Into<Value>) -> Result<()> {
        let is_new = self.cell(name).is_none();
        self.insert(name, role, value)?;
        if is_new {
            lock(&self.scope.names).waiting.insert(name.into());
        }
        Ok(())
    }

    /// Gives a cell without a value the one that was loaded under the name by which it is listed, or
    /// under its label, if there is one.
    pub(crate) fn claim(&self, cell: &Cell) -> Result<()> {
        let loaded = {
            let mut names = lock(&self.scope.names);
            if names.waiting.is_empty() || cell.has_value() {
                return Ok(());
            }
            let listed = names.living().into_iter().find(|(_, listed)| listed.same(cell));
            let name = listed.map_or_else(|| cell.label(), |(name, _)| name);
            if !names.waiting.remove(&name) {
                return Ok(());
            }
            names.own.remove(&name)
        };
        if let Some(loaded) = loaded
            && let (Some(decl), Some(var)) = (loaded.declaration(), loaded.get())
        {
            cell.put_if_empty(decl.role, var.value()?.clone());
        }
        Ok(())
    }

    /// What was loaded under these names belongs to a program that knows its states by name.
    pub(crate) fn settle<'a>(&self, mut names: impl Iterator<Item = &'a Arc<str>>) {
        let waiting = &mut lock(&self.scope.names).waiting;
        while !waiting.is_empty()
            && let Some(name) = names.next()
        {
            waiting.remove(name);
        }
    }

    /// The name of the random stream for the initial value of a cell: its label, with a number if
    /// another living cell has drawn from that stream since [`forget_streams`](State::forget_streams).
    pub fn stream_name(&self, cell: &Cell) -> Arc<str> {
        let mut names = lock(&self.scope.names);
        let is_other = |name: &str| {
            let drawn = names.drawn.get(name).and_then(WeakCell::upgrade);
            drawn.is_some_and(|drawn| !drawn.same(cell))
        };
        let name = free_name(&cell.label(), is_other);
        names.drawn.insert(name.clone(), cell.downgrade());
        name
    }

    /// Lets cells made from here on draw from the streams that others have drawn from.
    pub fn forget_streams(&self) {
        lock(&self.scope.names).drawn.clear();
    }

    /// Removes a state: its name, if the scope holds it, and the value.
    pub fn remove(&self, name: &str) -> bool {
        let removed = lock(&self.scope.names).own.remove(name);
        let removed = removed.or_else(|| self.cell(name));
        if let Some(cell) = &removed {
            cell.clear();
        }
        removed.is_some()
    }
}

/// A cell of its own with the same label, role and value.
fn copied(cell: &Cell) -> Cell {
    let copy = Cell::new(cell.label());
    if let (Some(var), Some(decl)) = (cell.get(), cell.declaration())
        && let Ok(value) = var.value()
    {
        copy.put(decl.role, value.clone());
    }
    copy
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

/// In a fork that the thread has entered, the copy of a cell.
pub(crate) fn copy_in_current(cell: &Cell) -> Option<Cell> {
    CURRENT.with_borrow(|state| state.as_ref()?.copy_of(cell))
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

/// Reads a state that the scope holds by name, after adding it with what `init` computes if it is
/// not there yet. In a program, `init` becomes part of the startup block, which runs once.
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
        Mode::Building => {
            trace::declare_symbolic(name, StateDecl::new(ty, role), init)?;
            trace::read_symbolic(name)
        }
        Mode::Imperative => {
            let state = current();
            let cell = state.bound_cell(name).unwrap_or_else(|| state.own_cell(name));
            if !cell.has_value() {
                let value = {
                    let _no_grad = scope::no_grad();
                    init()?.value()?.clone()
                };
                check_type(name, &ty, &value.ty()).map_err(|error| error.at(loc))?;
                cell.put_if_empty(role, value);
            }
            let var = state.read(name)?;
            check_type(name, &var.ty(), &ty).map_err(|error| error.at(loc))?;
            Ok(if scope::is_recording() { var } else { var.untracked() })
        }
    }
}

#[cold]
pub(crate) fn unknown(name: &str) -> Error {
    Error::state(format!("there is no state named `{name}`"))
        .remedy("declare it with an initialiser, load it from a file, or run the startup program")
}
