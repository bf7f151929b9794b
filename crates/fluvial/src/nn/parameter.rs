//! A parameter or buffer of a layer: the name and type of a state, never the tensor.

use std::fmt;
use std::sync::{Arc, Mutex};

use fluvial_core::scope::user_line;
use fluvial_core::{
    DType, Error, Mode, Result, Role, Type, Var, assign_state, at, declare_state, enable_grad,
    is_recording, mode, read_state, state,
};
use fluvial_ops::with_stream;

use super::attr::ParamAttr;
use super::path::lock;
use crate::init::Initializer;

/// A handle to a parameter or buffer: [`get`](Parameter::get) reads it in both modes, and gives it
/// its first value when there is none. Clones are the same parameter.
#[derive(Clone)]
pub struct Parameter(Arc<Slot>);

/// What a model knows of one of its states.
pub(super) struct Slot {
    key: Arc<str>,
    dtype: DType,
    is_buffer: bool,
    default_init: Initializer,
    said: Mutex<Said>,
}

/// What builders and first calls may change.
struct Said {
    sizes: Sizes,
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
        Slot::new(key, dtype, sizes, init, false)
    }

    pub fn buffer(key: String, dtype: DType, sizes: Sizes, init: Initializer) -> Slot {
        Slot::new(key, dtype, sizes, init, true)
    }

    fn new(
        key: String,
        dtype: DType,
        sizes: Sizes,
        default_init: Initializer,
        is_buffer: bool,
    ) -> Slot {
        let attr = ParamAttr::new().trainable(!is_buffer);
        Slot {
            key: key.into(),
            dtype,
            is_buffer,
            default_init,
            said: Mutex::new(Said { sizes, attr }),
        }
    }
}

impl From<Arc<Slot>> for Parameter {
    fn from(slot: Arc<Slot>) -> Parameter {
        Parameter(slot)
    }
}

impl Parameter {
    /// The name of the state: that of the place, unless an attribute gave another.
    pub fn name(&self) -> Arc<str> {
        match &lock(&self.0.said).attr.name {
            Some(name) => name.as_str().into(),
            None => self.0.key.clone(),
        }
    }

    /// The place in the model, which is the key in files.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// Whether it is a buffer, which is never trained.
    pub fn is_buffer(&self) -> bool {
        self.0.is_buffer
    }

    /// Whether it is trained.
    pub fn is_trainable(&self) -> bool {
        lock(&self.0.said).attr.trainable
    }

    /// What was said of it.
    pub fn attr(&self) -> ParamAttr {
        lock(&self.0.said).attr.clone()
    }

    /// Says something of it. This is for builders of layers; once the parameter has a value, name
    /// and initialiser come too late.
    pub fn set_attr(&self, attr: impl Into<ParamAttr>) {
        let attr = attr.into();
        let trainable = attr.trainable && !self.0.is_buffer;
        lock(&self.0.said).attr = attr.trainable(trainable);
    }

    /// The type; an error if the sizes are not known yet, or make no sense.
    pub fn ty(&self) -> Result<Type> {
        match &lock(&self.0.said).sizes {
            Sizes::Known(dims) => Type::of(self.0.dtype, dims),
            Sizes::Faulty(error) => Err(error.clone()),
            Sizes::Later => Err(Error::state(format!(
                "the sizes of `{}` are not known before its layer is called",
                self.0.key
            ))
            .remedy("call the layer on an input first, or load its parameters from a file")),
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype
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

    pub(super) fn resize(&self, sizes: impl Into<Sizes>) {
        lock(&self.0.said).sizes = sizes.into();
    }

    /// Its value, in both modes; a leaf if it is trained. If there is none yet, the initialiser
    /// computes it, with random numbers that depend on the seed and the name only. In a program,
    /// the initialiser becomes part of the startup block.
    #[track_caller]
    pub fn get(&self) -> Result<Var> {
        let loc = user_line();
        let _line = at(loc);
        let (name, ty, role) = (self.name(), self.ty().map_err(|e| e.at(loc))?, self.role());
        let init = || {
            let init = lock(&self.0.said).attr.init.clone();
            with_stream(&name, || init.as_ref().unwrap_or(&self.0.default_init).draw(&ty))
        };
        let value = declare_state(&name, ty, role, init).map_err(|error| self.explain(error))?;
        if mode() == Mode::Building || value.is_tracked() == (role == Role::Parameter) {
            return Ok(value);
        }
        match value.is_tracked() {
            true => Ok(value.detach()),
            false if is_recording() && ty.is_float() => {
                // The state was made while the parameter was frozen, or came from a file.
                state::current().insert(&name, role, value.value()?.clone())?;
                read_state(&name)
            }
            false => Ok(value),
        }
    }

    /// Assigns it, in both modes.
    #[track_caller]
    pub fn set(&self, value: &Var) -> Result<()> {
        assign_state(&self.name(), value)
    }

    /// The gradient that `backward` has accumulated for it, if any, in both modes.
    #[track_caller]
    pub fn grad(&self) -> Result<Option<Var>> {
        let _recording = enable_grad();
        Ok(self.get()?.grad())
    }

    /// Forgets its gradient.
    #[track_caller]
    pub fn zero_grad(&self) -> Result<()> {
        let _recording = enable_grad();
        self.get()?.zero_grad();
        Ok(())
    }

    /// Says whether it is trained from here on. A frozen parameter is read as a constant.
    pub fn set_trainable(&self, flag: bool) -> Result<()> {
        lock(&self.0.said).attr.trainable = flag && !self.0.is_buffer;
        let (name, scope) = (self.name(), state::current());
        match scope.declaration(&name) {
            Some(known) if known.role != self.role() => {
                scope.insert(&name, self.role(), scope.read(&name)?.value()?.clone())
            }
            _ => Ok(()),
        }
    }

    /// The role of the state: a frozen parameter is kept as a buffer is.
    pub(super) fn role(&self) -> Role {
        match self.is_trainable() {
            true => Role::Parameter,
            false => Role::Buffer,
        }
    }

    fn explain(&self, error: Error) -> Error {
        let known = state::current().declaration(&self.name());
        match (known, self.ty()) {
            (Some(known), Ok(ty)) if known.ty != ty => error
                .note(format!("`{}` needs {ty}", self.0.key))
                .remedy("layers share a parameter by its name: give one of them another name"),
            _ => error,
        }
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty() {
            Ok(ty) => write!(f, "@{} : {ty}", self.name()),
            Err(_) => write!(f, "@{} : {}[?]", self.name(), self.0.dtype),
        }
    }
}
