//! Where a layer stands in a model: its dotted name, and what the model knows of its states.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use fluvial_core::scope::{calling, user_line};
use fluvial_core::{DType, Guard, Result, at};

use super::parameter::{Parameter, Sizes, Slot};
use crate::init::Initializer;

/// The place of a layer in a model: a dotted name, `encoder.0`, of which the names of its
/// parameters are made, `encoder.0.weight`.
///
/// A path made from a text begins a model; [`join`](Path::join) leads to its parts. All paths of a
/// model share one list of parameters and buffers, in which each layer enters its own. So a layer
/// made of layers is a struct with fields, and nothing has to be said twice:
///
/// ```
/// use fluvial::prelude::*;
///
/// struct Net {
///     at: Path,
///     hidden: Linear,
///     out: Linear,
/// }
///
/// impl Net {
///     fn new(at: impl Into<Path>) -> Net {
///         let at = at.into();
///         Net {
///             hidden: Linear::new(at.join("hidden"), 4, 8),
///             out: Linear::new(at.join("out"), 8, 2),
///             at,
///         }
///     }
/// }
///
/// impl Layer for Net {
///     fn path(&self) -> &Path {
///         &self.at
///     }
///     fn forward(&self, x: &Var) -> Result<Var> {
///         self.out.forward(&tanh(&self.hidden.forward(x)?)?)
///     }
/// }
///
/// let net = Net::new("net");
/// let names: Vec<_> = net.parameters().iter().map(|p| p.name().to_string()).collect();
/// assert_eq!(names, ["net.hidden.weight", "net.hidden.bias", "net.out.weight", "net.out.bias"]);
/// let y = net.forward(&Var::of(&[0.5f32; 8], &[2, 4])?)?;
/// assert_eq!(y.ty().to_string(), "f32[2, 2]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Path {
    name: Arc<str>,
    dtype: DType,
    model: Arc<Model>,
}

/// What the paths of a model share.
#[derive(Default)]
struct Model {
    /// Entries of layers that are gone drop out.
    slots: Mutex<Vec<Weak<Slot>>>,
    /// Which parts train; the nearest entry above counts.
    training: Mutex<BTreeMap<Arc<str>, bool>>,
}

impl Path {
    /// The beginning of a model. With an empty name, the names of its parts have no prefix, as in
    /// a file of PyTorch.
    pub fn new(name: impl AsRef<str>) -> Path {
        Path { name: name.as_ref().into(), dtype: DType::F32, model: Arc::default() }
    }

    /// The place of layers that have neither parameters nor a behaviour in training.
    pub fn nowhere() -> &'static Path {
        static NOWHERE: LazyLock<Path> = LazyLock::new(|| Path::new(""));
        &NOWHERE
    }

    /// The place of a part.
    #[must_use]
    pub fn join(&self, part: impl fmt::Display) -> Path {
        Path { name: self.name_of(part).into(), ..self.clone() }
    }

    /// The same place, where parameters are made with this element type. `f32` without it.
    #[must_use]
    pub fn with_dtype(&self, dtype: DType) -> Path {
        Path { dtype, ..self.clone() }
    }

    /// The dotted name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The element type of parameters made here.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// A parameter of the layer at this place; `init` gives its initial value.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let at = Path::new("gate");
    /// let scale = at.parameter("scale", &[3], Initializer::ones());
    /// let y = scale.get()? * Var::of(&[1.0f32, 2.0, 3.0], &[3])?;
    /// sum(&y, &[], false)?.backward()?;
    /// assert_eq!(scale.grad()?.unwrap().to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn parameter(&self, name: &str, dims: &[usize], init: Initializer) -> Parameter {
        self.sized_parameter(name, Sizes::Known(dims.to_vec()), init)
    }

    /// A parameter whose sizes the first call of the layer gives, by [`Parameter::sized`].
    pub fn lazy_parameter(&self, name: &str, init: Initializer) -> Parameter {
        self.sized_parameter(name, Sizes::Later, init)
    }

    /// A parameter whose sizes may be faulty, which is told when it is used.
    pub(in crate::nn) fn sized_parameter(
        &self,
        name: &str,
        sizes: impl Into<Sizes>,
        init: Initializer,
    ) -> Parameter {
        self.enter(Slot::parameter(self.name_of(name), self.dtype, sizes.into(), init))
    }

    /// A buffer: a state that belongs to the layer but is not trained, such as a running mean.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let at = Path::new("counter");
    /// let calls = at.buffer("calls", &[], DType::I64, Initializer::zeros());
    /// calls.set(&(calls.get()? + 1.0))?;
    /// assert_eq!(calls.get()?.item::<i64>()?, 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn buffer(&self, name: &str, dims: &[usize], dtype: DType, init: Initializer) -> Parameter {
        self.enter(Slot::buffer(self.name_of(name), dtype, Sizes::Known(dims.to_vec()), init))
    }

    /// The parameters here and below, in the order in which they were made. One that several
    /// layers share is there once.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.distinct(|parameter| !parameter.is_buffer())
    }

    /// The buffers here and below.
    pub fn buffers(&self) -> Vec<Parameter> {
        self.distinct(Parameter::is_buffer)
    }

    /// All parameters and buffers here and below, also each use of a shared one.
    pub(super) fn entries(&self) -> Vec<Parameter> {
        let mut slots = lock(&self.model.slots);
        slots.retain(|slot| slot.strong_count() > 0);
        let here = slots.iter().filter_map(Weak::upgrade).map(Parameter::from);
        here.filter(|parameter| self.leads_to(&parameter.key())).collect()
    }

    /// Gives everything here and below its initial value; what has one keeps it. In a program, the
    /// initialisers go to the startup block.
    #[track_caller]
    pub fn initialise(&self) -> Result<()> {
        let _line = at(user_line());
        self.entries().iter().try_for_each(|parameter| parameter.get().map(drop))
    }

    /// The layer here is called: until the guard is dropped, ops get the line of the caller and, in
    /// a program, the name of the layer. The layers of this module do it; one made of layers may.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let at = Path::new("net.scale");
    /// let scaled = |x: &Var| {
    ///     let _call = at.called();
    ///     exp(x)
    /// };
    /// let program = Program::build(&[("x", Type::of(DType::F32, &[2])?)], |x| Ok(vec![scaled(&x[0])?]))?;
    /// assert_eq!(program.main.calls[0].loc.layer().as_deref(), Some("net.scale"));
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn called(&self) -> Guard {
        calling(&self.name, user_line())
    }

    /// Whether both are places of one model.
    pub(super) fn is_with(&self, other: &Path) -> bool {
        Arc::ptr_eq(&self.model, &other.model)
    }

    /// Whether layers here behave as in training: dropout drops, statistics are those of the
    /// batch. They do until told otherwise.
    pub fn is_training(&self) -> bool {
        let training = lock(&self.model.training);
        let mut name = &*self.name;
        loop {
            if let Some(&flag) = training.get(name) {
                return flag;
            }
            match (name.rfind('.'), name.is_empty()) {
                (Some(dot), _) => name = &name[..dot],
                (None, false) => name = "",
                (None, true) => return true,
            }
        }
    }

    /// Says whether layers here and below train, instead of what was said before.
    pub fn set_training(&self, flag: bool) {
        let mut training = lock(&self.model.training);
        training.retain(|name, _| !self.leads_to(name));
        training.insert(self.name.clone(), flag);
    }

    /// Says whether the parameters here and below are trained; see [`Parameter::set_trainable`].
    pub fn set_trainable(&self, flag: bool) {
        self.parameters().iter().for_each(|parameter| parameter.set_trainable(flag));
    }

    /// What `key` is called as seen from here.
    pub(super) fn relative<'a>(&self, key: &'a str) -> &'a str {
        let rest = key.strip_prefix(&*self.name).unwrap_or(key);
        rest.strip_prefix('.').unwrap_or(rest)
    }

    fn distinct(&self, wanted: impl Fn(&Parameter) -> bool) -> Vec<Parameter> {
        let mut found: Vec<Parameter> = Vec::new();
        for parameter in self.entries().into_iter().filter(wanted) {
            if !found.iter().any(|known| known.same(&parameter)) {
                found.push(parameter);
            }
        }
        found
    }

    fn enter(&self, slot: Slot) -> Parameter {
        let slot = Arc::new(slot);
        lock(&self.model.slots).push(Arc::downgrade(&slot));
        slot.into()
    }

    fn name_of(&self, part: impl fmt::Display) -> String {
        match self.name.is_empty() {
            true => part.to_string(),
            false => format!("{}.{part}", self.name),
        }
    }

    fn leads_to(&self, key: &str) -> bool {
        let below = key.strip_prefix(&*self.name);
        self.name.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

impl From<&str> for Path {
    fn from(name: &str) -> Path {
        Path::new(name)
    }
}

impl From<String> for Path {
    fn from(name: String) -> Path {
        Path::new(name)
    }
}

impl From<&Path> for Path {
    fn from(path: &Path) -> Path {
        path.clone()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
