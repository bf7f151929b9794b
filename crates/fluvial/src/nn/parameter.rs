//! A parameter or buffer of a layer: a cell, with what its layer says of it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use fluvial_core::scope::user_line;
use fluvial_core::{
    Cell, DType, Error, Mode, Result, Role, Tensor, Type, Var, assign_state, at, declare_state,
    enable_grad, imperative, mode, no_grad, state,
};
use fluvial_ops::{cast, with_stream};

use super::attr::ParamAttr;
use super::path::lock;
use super::step;
use crate::init::Initializer;

/// A parameter or buffer: [`get`](Parameter::get) reads it in both modes, and gives it its initial
/// value when there is none. It owns its value. Clones are the same parameter.
#[derive(Clone)]
pub struct Parameter(Arc<Slot>);

pub(super) struct Slot {
    cell: Cell,
    /// Whether the cell has a value of the right type and role, so that it can simply be read.
    is_settled: AtomicBool,
    is_buffer: bool,
    is_persistent: bool,
    said: Mutex<Said>,
    /// The step that knows of its use.
    noted_in: AtomicU64,
}

/// What builders, first calls and moves may change.
struct Said {
    key: Arc<str>,
    dtype: DType,
    sizes: Sizes,
    /// The initial value, unless the attribute says another one.
    init: Initializer,
    attr: ParamAttr,
}

/// The sizes of a parameter.
#[derive(Clone)]
pub(super) enum Sizes {
    Known(Vec<usize>),
    Later,
    Faulty(Error),
}

impl From<Result<Vec<usize>>> for Sizes {
    fn from(sizes: Result<Vec<usize>>) -> Sizes {
        sizes.map_or_else(Sizes::Faulty, Sizes::Known)
    }
}

impl Slot {
    pub fn parameter(key: String, dtype: DType, sizes: Sizes, init: Initializer) -> Slot {
        Slot::new(key, dtype, sizes, init, false, true)
    }

    pub fn buffer(key: String, dtype: DType, sizes: Sizes, init: Initializer) -> Slot {
        Slot::new(key, dtype, sizes, init, true, true)
    }

    fn new(
        key: String,
        dtype: DType,
        sizes: Sizes,
        init: Initializer,
        is_buffer: bool,
        is_persistent: bool,
    ) -> Slot {
        let attr = ParamAttr::new().trainable(!is_buffer);
        let key: Arc<str> = key.into();
        let cell = Cell::new(key.clone());
        state::current().list(&cell);
        Slot {
            cell,
            is_settled: AtomicBool::new(false),
            is_buffer,
            is_persistent,
            said: Mutex::new(Said { key, dtype, sizes, init, attr }),
            noted_in: AtomicU64::new(0),
        }
    }
}

impl From<Arc<Slot>> for Parameter {
    fn from(slot: Arc<Slot>) -> Parameter {
        Parameter(slot)
    }
}

/// A parameter that may be gone.
#[derive(Clone)]
pub(super) struct WeakParameter(Weak<Slot>);

impl WeakParameter {
    pub fn upgrade(&self) -> Option<Parameter> {
        self.0.upgrade().map(Parameter)
    }
}

impl Parameter {
    /// A parameter that belongs to no layer yet; without sizes, [`sized`](Parameter::sized) gives
    /// them.
    pub fn new(key: &str, dtype: DType, dims: Option<&[usize]>, init: Initializer) -> Parameter {
        let sizes = dims.map_or(Sizes::Later, |dims| Sizes::Known(dims.to_vec()));
        Parameter(Arc::new(Slot::parameter(key.into(), dtype, sizes, init)))
    }

    /// A buffer that belongs to no layer yet. One that is not persistent is not part of a
    /// `state_dict`.
    pub fn new_buffer(
        key: &str,
        dtype: DType,
        dims: Option<&[usize]>,
        init: Initializer,
        persistent: bool,
    ) -> Parameter {
        let sizes = dims.map_or(Sizes::Later, |dims| Sizes::Known(dims.to_vec()));
        Parameter(Arc::new(Slot::new(key.into(), dtype, sizes, init, true, persistent)))
    }

    /// Its cell: its own, or, if an attribute gave it a name, the one of that name in the thread's
    /// state scope, which may be that of another layer.
    pub fn cell(&self) -> Cell {
        let said = lock(&self.0.said);
        let Some(name) = &said.attr.name else { return self.0.cell.clone() };
        let scope = state::current();
        scope.listed(name).unwrap_or_else(|| scope.own_cell(name))
    }

    /// Whether both are one parameter, or share one cell by its name.
    pub fn same(&self, other: &Parameter) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.cell().same(&other.cell())
    }

    pub(super) fn downgrade(&self) -> WeakParameter {
        WeakParameter(Arc::downgrade(&self.0))
    }

    /// What people and files call it: its place in the model, unless an attribute gave a name.
    pub fn name(&self) -> Arc<str> {
        let said = lock(&self.0.said);
        match &said.attr.name {
            Some(name) => name.as_str().into(),
            None => self.0.cell.label(),
        }
    }

    /// The place in the model, which is the key in files.
    pub fn key(&self) -> Arc<str> {
        lock(&self.0.said).key.clone()
    }

    /// Gives it another place in a model.
    pub fn set_key(&self, key: &str) {
        lock(&self.0.said).key = key.into();
        self.0.cell.set_label(key);
    }

    /// Whether it is a buffer, which is never trained.
    pub fn is_buffer(&self) -> bool {
        self.0.is_buffer
    }

    /// Whether it is part of a `state_dict`.
    pub fn is_persistent(&self) -> bool {
        self.0.is_persistent
    }

    /// Whether it is trained.
    pub fn is_trainable(&self) -> bool {
        lock(&self.0.said).attr.trainable
    }

    /// What was said of it.
    pub fn attr(&self) -> ParamAttr {
        lock(&self.0.said).attr.clone()
    }

    /// Says something of it. A name makes it the parameter of that name in the state scope of the
    /// thread that reads it. Once the parameter has a value, an initialiser comes too late.
    pub fn set_attr(&self, attr: impl Into<ParamAttr>) {
        let attr: ParamAttr = attr.into();
        let trainable = attr.trainable && !self.0.is_buffer;
        if attr.name.is_some() {
            // What it holds itself is nothing that anybody could mean by a name.
            state::current().unlist(&self.0.cell);
        }
        lock(&self.0.said).attr = attr.trainable(trainable);
        self.0.is_settled.store(false, Ordering::Release);
    }

    /// The type; an error if the sizes are not known yet, or make no sense.
    pub fn ty(&self) -> Result<Type> {
        let said = lock(&self.0.said);
        match &said.sizes {
            Sizes::Known(dims) => Type::of(said.dtype, dims),
            Sizes::Faulty(error) => Err(error.clone()),
            Sizes::Later => Err(Error::state(format!(
                "the sizes of `{}` are not known before its layer is called",
                said.key
            ))
            .remedy("call the layer on an input first, or load its parameters from a file")),
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        lock(&self.0.said).dtype
    }

    /// Whether the sizes are known.
    pub fn is_sized(&self) -> bool {
        !matches!(lock(&self.0.said).sizes, Sizes::Later)
    }

    /// Gives a lazy parameter its sizes, at the first call; later ones change nothing.
    pub fn sized(&self, dims: &[usize]) {
        let mut said = lock(&self.0.said);
        if matches!(said.sizes, Sizes::Later) {
            said.sizes = Sizes::Known(dims.to_vec());
        }
    }

    /// Gives a parameter that has no value yet what the first call of its layer has found out: its
    /// sizes, if they were left open, and its initial value.
    pub fn settle(&self, dims: &[usize], init: Initializer) {
        self.sized(dims);
        lock(&self.0.said).init = init;
    }

    fn said_of_value(&self) -> (ParamAttr, Initializer) {
        let said = lock(&self.0.said);
        (said.attr.clone(), said.init.clone())
    }

    /// Its value, in both modes; a leaf if it is trained. If there is none yet, the initialiser
    /// computes it, with random numbers that depend on the seed and the name only. In a program,
    /// the initialiser becomes part of the startup block.
    #[track_caller]
    pub fn get(&self) -> Result<Var> {
        let loc = user_line();
        if mode() == Mode::Imperative && self.0.is_settled.load(Ordering::Acquire) {
            step::note(self, &self.0.noted_in);
            if let Ok(value) = self.0.cell.read() {
                return Ok(value);
            }
        }
        let _line = at(loc);
        let (ty, role) = (self.ty().map_err(|e| e.at(loc))?, self.role());
        step::note(self, &self.0.noted_in);
        let (ParamAttr { name, init, .. }, default) = self.said_of_value();
        let init = init.unwrap_or(default);
        let draw = |stream: &str| match self.0.is_buffer && !init.is_random() {
            true => init.draw(&ty),
            false => with_stream(stream, || init.draw(&ty)),
        };
        let cell = self.cell();
        // A name of the scope is looked up where a program runs; a cell of a layer is bound.
        let name = name.filter(|name| state::current().listed(name).is_none());
        let value = match &name {
            None => {
                let value = cell.declare(ty, role, || draw(&state::current().stream_name(&cell)));
                let is_own = cell.same(&self.0.cell);
                let is_settled = is_own && value.is_ok() && mode() == Mode::Imperative;
                self.0.is_settled.fetch_or(is_settled, Ordering::Release);
                value
            }
            Some(name) => {
                if mode() == Mode::Imperative && cell.has_value() {
                    cell.set_role(role);
                }
                declare_state(name, ty, role, || draw(name))
            }
        };
        value.map_err(|error| self.explain(error))
    }

    /// Assigns it, in both modes.
    #[track_caller]
    pub fn set(&self, value: &Var) -> Result<()> {
        let _line = at(user_line());
        let cell = self.cell();
        if mode() == Mode::Building || !cell.here().has_value() {
            let _ = self.get()?;
        }
        match self.attr().name {
            Some(name) if state::current().listed(&name).is_none() => assign_state(&name, value),
            _ => cell.assign(value),
        }
    }

    /// The gradient that `backward` has accumulated for it, if any, in both modes.
    #[track_caller]
    pub fn grad(&self) -> Result<Option<Var>> {
        if mode() == Mode::Imperative {
            return Ok(self.cell().grad());
        }
        let _recording = enable_grad();
        Ok(self.get()?.grad())
    }

    /// Forgets its gradient.
    #[track_caller]
    pub fn zero_grad(&self) -> Result<()> {
        if mode() == Mode::Imperative {
            self.cell().set_grad(None);
            return Ok(());
        }
        let _recording = enable_grad();
        self.get()?.zero_grad();
        Ok(())
    }

    /// Says whether it is trained from here on. A frozen parameter is read as a constant.
    pub fn set_trainable(&self, flag: bool) {
        lock(&self.0.said).attr.trainable = flag && !self.0.is_buffer;
        let cell = self.cell();
        if cell.has_value() {
            cell.set_role(self.role());
        }
        self.0.is_settled.store(false, Ordering::Release);
    }

    /// Takes a value over, in its own element type, at any time; a lazy one gets its sizes from it.
    pub fn load(&self, value: &Tensor) -> Result<()> {
        self.sized(value.dims());
        let ty = self.ty()?;
        if ty.sizes().as_deref() != Some(value.dims()) {
            return Err(Error::shape(format!("`{}` is {ty}, not {}", self.name(), value.ty()))
                .remedy("give a value of the same sizes"));
        }
        let value = match value.dtype() == ty.dtype() {
            true => value.clone(),
            false => value.cast(ty.dtype())?,
        };
        self.cell().here().put(self.role(), value);
        Ok(())
    }

    /// Changes its element type, and its value if it has one.
    pub fn convert(&self, dtype: DType) -> Result<()> {
        let cell = self.cell().here();
        if let Some(value) = cell.get() {
            let _scope = (imperative(), no_grad());
            let value = cast(&value.detach(), dtype)?;
            cell.put(self.role(), value.value()?.clone());
        }
        lock(&self.0.said).dtype = dtype;
        self.0.is_settled.store(false, Ordering::Release);
        Ok(())
    }

    /// A parameter of its own with the same value, which is made if there is none yet, under another
    /// place.
    pub fn copied(&self, key: &str) -> Result<Parameter> {
        if self.is_sized() && mode() == Mode::Imperative {
            let _ = self.get()?;
        }
        let sizes = lock(&self.0.said).sizes.clone();
        let (init, dtype) = (self.said_of_value().1, self.dtype());
        let (is_buffer, is_persistent) = (self.0.is_buffer, self.0.is_persistent);
        let slot = Slot::new(key.into(), dtype, sizes, init, is_buffer, is_persistent);
        lock(&slot.said).attr = ParamAttr { name: None, ..self.attr() };
        let copy = Parameter(Arc::new(slot));
        if let Some(value) = self.cell().here().get() {
            copy.cell().here().put(copy.role(), value.value()?.clone());
        }
        Ok(copy)
    }

    /// The role of the state: a frozen parameter is kept as a buffer is.
    pub fn role(&self) -> Role {
        match self.is_trainable() {
            true => Role::Parameter,
            false => Role::Buffer,
        }
    }

    fn explain(&self, error: Error) -> Error {
        match (self.cell().declaration(), self.ty()) {
            (Some(known), Ok(ty)) if known.ty != ty => error
                .note(format!("`{}` needs {ty}", self.key()))
                .remedy("layers share a parameter by its name: give one of them another name"),
            _ => error,
        }
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty() {
            Ok(ty) => write!(f, "@{} : {ty}", self.name()),
            Err(_) => write!(f, "@{} : {}[?]", self.name(), self.dtype()),
        }
    }
}
