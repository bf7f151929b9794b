//! What an optimizer or an average remembers from step to step.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use fluvial_core::scope::{self, Build};
use fluvial_core::structural::fill;
use fluvial_core::{
    Cell, DType, Error, Loc, Mode, Place, Result, Role, State, Type, Value, Var, WeakCell, mode,
    state,
};

use super::param::{Param, ParamId};

/// Moments, counters and rates: cells of its own or, under a name that was given, states of the thread's scope,
/// where one of the same name finds them again. Clones share.
#[derive(Clone)]
pub(super) struct Memory(Arc<Inner>);

struct Inner {
    name: String,
    is_named: bool,
    made_at: Loc,
    /// The build of a function inside of which it was made.
    made_in: Option<Build>,
    /// The scope in which it was made, which lists its cells.
    scope: State,
    /// Its own cells, by what they are and of which parameter.
    cells: Mutex<BTreeMap<(String, Option<ParamId>), Cell>>,
    /// What was loaded for cells that are not there yet, by label.
    loaded: Mutex<BTreeMap<String, Value>>,
    /// How many steps it has made line by line.
    n_steps: Arc<AtomicU32>,
    /// Whether what it trains are names of states: then each scope has a memory of its own.
    by_scope: AtomicBool,
    /// What the last step has trained, if it was given no list, how often that was new in a row, and the build it was in.
    last: Mutex<(Vec<(Arc<str>, WeakCell)>, u32, Option<Build>)>,
}

impl Memory {
    /// Of an object that was made at a line, whose labels begin with `kind`.
    pub fn new(kind: &str, made_at: Loc) -> Memory {
        Memory::with(kind.into(), false, made_at)
    }

    /// Under a name.
    pub fn named(name: String) -> Memory {
        Memory::with(name, true, Loc::Unknown)
    }

    fn with(name: String, is_named: bool, made_at: Loc) -> Memory {
        Memory(Arc::new(Inner {
            name,
            is_named,
            made_at,
            made_in: scope::build(),
            scope: state::current(),
            cells: Mutex::default(),
            loaded: Mutex::default(),
            n_steps: Arc::default(),
            by_scope: AtomicBool::new(false),
            last: Mutex::default(),
        }))
    }

    /// What labels begin with.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Where `what` is kept, of a parameter or as a whole.
    pub fn place(&self, what: &str, of: Option<&Param>) -> Place {
        let label = || match of {
            Some(param) => format!("{}.{what}.{}", self.0.name, param.name()),
            None => format!("{}.{what}", self.0.name),
        };
        if self.0.is_named {
            return Place::Name(label().into());
        }
        // A rate is a setting, and holds everywhere.
        let by_scope = self.0.by_scope.load(Ordering::Relaxed) && !what.starts_with("lr");
        let here = || ParamId::Name("".into(), state::current().number());
        let key = (what.to_string(), of.map(Param::id).or_else(|| by_scope.then(here)));
        let is_of_scope = matches!(key.1, Some(ParamId::Name(..)));
        let make = || {
            let label = label();
            let cell = Cell::new(label.as_str());
            if let Some(value) = lock(&self.0.loaded).remove(&label) {
                cell.put(role_of(what), value);
            }
            match is_of_scope {
                true => {
                    cell.belongs_to(&state::current());
                    state::current().list(&cell);
                }
                false => self.0.scope.list(&cell),
            }
            cell
        };
        Place::Cell(lock(&self.0.cells).entry(key).or_insert_with(make).clone())
    }

    /// What is remembered of a parameter: of its type, and `first` everywhere at the beginning.
    pub fn slot(&self, slot: &str, of: &Param, ty: &Type, first: f64) -> Result<(Place, Var)> {
        let place = self.place(slot, Some(of));
        let value = place.declare(*ty, Role::Optimizer, || fill(first, ty))?;
        Ok((place, value))
    }

    /// A number, an `f64` scalar.
    pub fn number(&self, what: &str, first: f64) -> Result<Var> {
        let (place, ty) = (self.place(what, None), Type::scalar(DType::F64));
        place.declare(ty, Role::Optimizer, || Ok(Var::scalar(first)))
    }

    /// A counter, an `i64` scalar that begins at zero.
    pub fn counter(&self, what: &str) -> Result<Var> {
        let (place, ty) = (self.place(what, None), Type::scalar(DType::I64));
        place.declare(ty, Role::Counter, || Ok(Var::scalar(0i64)))
    }

    /// Remembers something of the whole.
    pub fn put(&self, what: &str, value: &Var) -> Result<()> {
        self.place(what, None).assign(value)
    }

    /// All that has a value now, by label.
    pub fn all(&self) -> Vec<(Arc<str>, Value)> {
        let scope = state::current();
        let value = |cell: Cell| cell.get().and_then(|var| var.value().ok().cloned());
        if self.0.is_named {
            let start = format!("{}.", self.0.name);
            let names = scope.names().into_iter().filter(|name| name.starts_with(&start));
            return names
                .filter_map(|name| Some((name.clone(), value(scope.cell(&name)?)?)))
                .collect();
        }
        let loaded: Vec<(Arc<str>, Value)> = lock(&self.0.loaded)
            .iter()
            .map(|(label, value)| (label.as_str().into(), value.clone()))
            .collect();
        let own = self.cells_here();
        let own = own.into_iter().filter_map(|cell| Some((cell.label(), value(cell)?)));
        own.chain(loaded).collect()
    }

    /// Its own cells, without those of parameters that other scopes have by name.
    fn cells_here(&self) -> Vec<Cell> {
        let here = state::current().number();
        let is_here = |of: &Option<ParamId>| !matches!(of, Some(ParamId::Name(_, n)) if *n != here);
        let cells = lock(&self.0.cells);
        let cells = cells.iter().filter(|((_, of), _)| is_here(of));
        cells.map(|(_, cell)| cell.clone()).collect()
    }

    /// Takes over what another one remembered, by label. What it has no cell for yet waits for it.
    pub fn load(&self, label: &str, value: Value) -> Result<()> {
        let start = format!("{}.", self.0.name);
        let Some(what) = label.strip_prefix(&start) else {
            return Err(Error::argument(format!(
                "`{label}` is not a state of the optimizer `{}`",
                self.0.name
            ))
            .remedy("give the optimizer the name that it had when it was saved"));
        };
        if self.0.is_named {
            return state::current().insert(label, role_of(what), value);
        }
        let cell = self.cells_here().into_iter().find(|cell| &*cell.label() == label);
        match cell.filter(Cell::has_value) {
            Some(cell) => cell.set(value),
            None => {
                lock(&self.0.loaded).insert(label.into(), value);
                Ok(())
            }
        }
    }

    /// Has to be called before a step with what it trains.
    pub fn trains(&self, params: &[Param]) {
        if !params.is_empty() && params.iter().all(|param| matches!(param.id(), ParamId::Name(..)))
        {
            self.0.by_scope.store(true, Ordering::Relaxed);
        }
    }

    /// Refuses parameters under the labels of the last step that were made anew, as those before: what was learned is
    /// lost. Only for an object that was given no list.
    pub fn go_on(&self, what: &str, params: &[Param]) -> Result<()> {
        let build = scope::build();
        if mode() == Mode::Building && build.is_none() {
            return Ok(());
        }
        let now = params.iter().filter_map(|param| Some((param.name(), param.weak_cell()?)));
        let now: Vec<(Arc<str>, WeakCell)> = now.collect();
        let mut last = lock(&self.0.last);
        if build.is_some() && last.2 == build {
            // The lines of one call are built once more.
            last.0 = now;
            return Ok(());
        }
        // After an error others may be held by its traceback.
        let was_refused = last.1 > 1;
        let is_gone = |known: &WeakCell, cell: &WeakCell| {
            let (known, cell) = (known.upgrade(), cell.upgrade());
            known.is_none_or(|known| was_refused && !cell.is_some_and(|cell| cell.same(&known)))
        };
        let is_new = |(label, cell): &&(Arc<str>, WeakCell)| {
            let mut known = last.0.iter().filter(|(known, _)| known == label).peekable();
            known.peek().is_some() && known.all(|(_, known)| is_gone(known, cell))
        };
        let label = now.iter().find(is_new).map(|(label, _)| label.clone());
        let n_new = label.as_ref().map_or(0, |_| last.1 + 1);
        *last = (now, n_new, build);
        match label.filter(|_| n_new > 1) {
            None => Ok(()),
            Some(label) => Err(Error::state(format!(
                "{what} trains `{label}`, which is made anew in each step: what was learned is lost"
            ))
            .remedy("make layers once, before the steps")),
        }
    }

    /// Refuses to share what is remembered under a name with another object, for other parameters.
    pub fn alone(&self, params: &[Param]) -> Result<()> {
        let cells: Option<Vec<WeakCell>> = params.iter().map(Param::weak_cell).collect();
        let (true, Some(cells)) = (self.0.is_named, cells) else { return Ok(()) };
        let step = state::current().own_cell(&format!("{}.step", self.0.name));
        let mut all = lock(&NAMED);
        all.retain(|(step, _)| step.upgrade().is_some());
        let is_it = |known: &&mut (WeakCell, Vec<WeakCell>)| {
            known.0.upgrade().is_some_and(|known| known.same(&step))
        };
        let Some((_, others)) = all.iter_mut().find(is_it) else {
            all.push((step.downgrade(), cells));
            return Ok(());
        };
        others.retain(|cell| cell.upgrade().is_some());
        let is_shared = |cell: &WeakCell| {
            others
                .iter()
                .any(|other| same_cells(std::slice::from_ref(other), std::slice::from_ref(cell)))
        };
        if !others.is_empty() && !cells.iter().any(is_shared) {
            return Err(Error::argument(format!(
                "two optimizers named `{}` train different parameters, but would share their rate and their \
                 number of steps",
                self.0.name
            ))
            .remedy("give one of them another name"));
        }
        *others = cells;
        Ok(())
    }

    /// Has to be called before a step. Refuses an object that is made anew in each step, or in each build of a
    /// function, and forgets what it has to remember.
    pub fn before_step(&self, what: &str, params: &[Param]) -> Result<()> {
        let is_building = mode() == Mode::Building;
        let is_inside = is_building && self.0.made_in.is_none();
        if self.0.is_named || is_inside || self.0.n_steps.load(Ordering::Relaxed) > 0 {
            return Ok(());
        }
        let cells: Option<Vec<WeakCell>> = params.iter().map(Param::weak_cell).collect();
        let Some(cells) = cells.filter(|_| self.0.made_at.is_known()) else { return Ok(()) };
        let mut made = lock(&MADE);
        let function = self.0.made_in.filter(|_| is_building).map(|(function, _)| function);
        let made = made.entry((self.0.made_at.to_string(), function)).or_default();
        made.retain(|other| other.params.iter().all(|cell| cell.upgrade().is_some()));
        let before = made.iter().position(|other| same_cells(&other.params, &cells));
        let before = before.map(|i| made.swap_remove(i));
        let (n_steps, made_in) = (self.0.n_steps.clone(), self.0.made_in);
        made.push(Made { params: cells, n_steps, made_in });
        let each = match before {
            Some(other) if is_building && other.made_in != made_in => "build of the function",
            Some(other) if !is_building && other.n_steps.load(Ordering::Relaxed) == 1 => "step",
            _ => return Ok(()),
        };
        Err(Error::argument(format!(
            "{what} is made anew in each {each}: what it remembers of the one before would be lost"
        ))
        .remedy(format!(
            "make it once, before the steps, or give it a name (\"{}\") under which the state scope keeps \
             what it remembers",
            self.0.name
        )))
    }

    /// Has to be called after a step.
    pub fn after_step(&self) {
        if mode() == Mode::Imperative {
            self.0.n_steps.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

/// An object that made its first step, and for which parameters.
struct Made {
    params: Vec<WeakCell>,
    n_steps: Arc<AtomicU32>,
    made_in: Option<Build>,
}

/// The parameters of the last step of each name, by the cell of its number of steps.
static NAMED: LazyLock<Mutex<Vec<(WeakCell, Vec<WeakCell>)>>> = LazyLock::new(Mutex::default);

/// By the line where they were made, and the function that was built meanwhile.
type MadeAt = HashMap<(String, Option<u64>), Vec<Made>>;

static MADE: LazyLock<Mutex<MadeAt>> = LazyLock::new(Mutex::default);

fn same_cells(a: &[WeakCell], b: &[WeakCell]) -> bool {
    let same = |(a, b): (&WeakCell, &WeakCell)| match (a.upgrade(), b.upgrade()) {
        (Some(a), Some(b)) => a.same(&b),
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn role_of(what: &str) -> Role {
    match what {
        "step" | "calls" => Role::Counter,
        _ => Role::Optimizer,
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
