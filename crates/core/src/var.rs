//! `Var`: the one currency of users, layers and gradient rules.

use std::fmt;
use std::sync::Arc;

use fluvial_tensor::{Complex, DType, Dim, Element, Error, Number, Result, Tensor, Type};
use smallvec::SmallVec;

use crate::block::ValueId;
use crate::scope::{self, Mode};
use crate::tape::{Edge, Hook, HookHandle, Leaf, Node};
use crate::trace;
use crate::value::Value;

/// A value: a concrete tensor (with its place on the tape, if a gradient may be asked for), or a
/// symbolic value of the program being built.
///
/// It is a handle: clones are cheap and share. A `Var` never changes.
///
/// Operators (`&a + &b`, `a * 2.0`) cannot return a `Result`. A failed one gives a failed `Var`,
/// which carries its error, with the line, to the next fallible call. [`Var::check`] asks for it.
#[derive(Clone)]
#[must_use = "a value may carry an error: use it or `check` it"]
pub struct Var(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub repr: Repr,
    pub edge: Option<Edge>,
}

pub(crate) enum Repr {
    Value(Value),
    Symbol(Symbol),
    Failed(Error),
}

/// A value of a block under construction.
#[derive(Clone, Copy)]
pub(crate) struct Symbol {
    pub frame: u64,
    pub id: ValueId,
    pub ty: Type,
    /// It was made or read where nothing is recorded: no gradient passes from what uses it.
    pub constant: bool,
}

impl Var {
    /// A constant: no gradient is kept for it.
    #[inline]
    pub fn new(value: impl Into<Value>) -> Var {
        Var::with_edge(value.into(), None)
    }

    /// A 0-d constant.
    pub fn scalar<T: Element>(value: T) -> Var {
        Var::new(Tensor::scalar(value))
    }

    /// A constant with these elements and sizes.
    pub fn of<T: Element>(elements: &[T], dims: &[usize]) -> Result<Var> {
        Tensor::from_slice(elements, dims).map(Var::new)
    }

    #[inline]
    pub(crate) fn with_edge(value: Value, edge: Option<Edge>) -> Var {
        Var(Arc::new(Inner { repr: Repr::Value(value), edge }))
    }

    pub(crate) fn symbol(frame: u64, id: ValueId, ty: Type) -> Var {
        let repr = Repr::Symbol(Symbol { frame, id, ty, constant: false });
        Var(Arc::new(Inner { repr, edge: None }))
    }

    /// The value as one that was made in this scope of the thread: off the tape where nothing is recorded.
    pub(crate) fn into_recorded(self) -> Var {
        match self.0.repr {
            Repr::Symbol(symbol) if !scope::is_recording() && symbol.ty.is_inexact() => {
                let repr = Repr::Symbol(Symbol { constant: true, ..symbol });
                Var(Arc::new(Inner { repr, edge: None }))
            }
            _ => self,
        }
    }

    /// A value that could not be computed.
    pub fn failed(error: Error) -> Var {
        Var(Arc::new(Inner { repr: Repr::Failed(error), edge: None }))
    }

    /// The value itself, or the error it carries.
    #[inline]
    pub fn check(self) -> Result<Var> {
        match &self.0.repr {
            Repr::Failed(error) => Err(error.clone()),
            _ => Ok(self),
        }
    }

    /// The type. Sizes may be symbols while a program is built. A failed value has none of its
    /// own and shows as `f32[]`.
    #[inline]
    pub fn ty(&self) -> Type {
        match &self.0.repr {
            Repr::Value(value) => value.ty(),
            Repr::Symbol(symbol) => symbol.ty,
            Repr::Failed(_) => Type::scalar(DType::F32),
        }
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        match &self.0.repr {
            Repr::Value(Value::Tensor(tensor)) => tensor.dtype(),
            _ => self.ty().dtype(),
        }
    }

    /// The dims.
    pub fn dims(&self) -> SmallVec<[Dim; 8]> {
        SmallVec::from_slice(self.ty().dims())
    }

    /// The number of dims.
    pub fn rank(&self) -> usize {
        self.ty().rank()
    }

    /// Whether this is a value of a program being built.
    pub fn is_symbolic(&self) -> bool {
        matches!(self.0.repr, Repr::Symbol(_))
    }

    /// The concrete value; an error while a program is built.
    pub fn value(&self) -> Result<&Value> {
        match &self.0.repr {
            Repr::Value(value) => Ok(value),
            Repr::Failed(error) => Err(error.clone()),
            Repr::Symbol(symbol) => Err(Error::symbolic(format!(
                "the value {} of a program being built has no elements yet",
                symbol.ty
            ))
            .remedy(
                "make it an output of the program and run it, or look at it in imperative mode",
            )),
        }
    }

    /// The concrete tensor; an error while a program is built, and for lists.
    pub fn tensor(&self) -> Result<&Tensor> {
        self.value()?.tensor()
    }

    /// The only element of a tensor that has one.
    pub fn item<T: Element>(&self) -> Result<T> {
        self.tensor()?.item()
    }

    /// All elements, in row-major order; `T` must be the element type.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.tensor()?.to_vec()
    }

    /// The value as a leaf: [`backward`](Var::backward) accumulates its gradient, which
    /// [`grad`](Var::grad) returns. It starts a tape of its own.
    pub fn track(&self) -> Result<Var> {
        if !self.ty().is_inexact() {
            return Err(Error::gradient(format!("a value of type {} has no gradient", self.ty()))
                .remedy("cast it to a float type first"));
        }
        match &self.0.repr {
            Repr::Failed(error) => Err(error.clone()),
            Repr::Value(value) => Ok(Var::leaf(value.clone(), Arc::default())),
            Repr::Symbol(_) => trace::leaf_of(self),
        }
    }

    /// The value as another version of a leaf, in both modes: gradients of all versions accumulate in one place, and hooks on
    /// one are hooks on all.
    pub fn track_as(&self, leaf: &Var) -> Result<Var> {
        let slot = leaf.0.edge.as_ref().and_then(|edge| edge.node.leaf_slot());
        match (&self.0.repr, slot) {
            (Repr::Failed(error), _) => Err(error.clone()),
            (Repr::Value(value), Some(slot)) => Ok(Var::leaf(value.clone(), slot.clone())),
            _ if leaf.is_symbolic() => trace::leaf_again(self, leaf),
            _ => Err(Error::internal("a version of what is not a leaf")),
        }
    }

    pub(crate) fn leaf(value: Value, leaf: Arc<Leaf>) -> Var {
        let node = Node::leaf(value.ty(), leaf);
        Var::with_edge(value, Some(Edge { node: Arc::new(node), out: 0 }))
    }

    /// The same value off the tape.
    pub(crate) fn untracked(self) -> Var {
        match (&self.0.repr, &self.0.edge) {
            (Repr::Value(value), Some(_)) => Var::new(value.clone()),
            _ => self,
        }
    }

    /// Whether nobody else holds the handle.
    pub(crate) fn is_only_handle(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// The value itself, moved out if nobody else holds the handle. Not for symbols.
    pub fn take_value(self) -> Result<Value> {
        match Arc::try_unwrap(self.0) {
            Ok(Inner { repr: Repr::Value(value), .. }) => Ok(value),
            Ok(inner) => Var(Arc::new(inner)).value().cloned(),
            Err(shared) => Var(shared).value().cloned(),
        }
    }

    /// [`take_value`](Var::take_value) of a tensor.
    pub(crate) fn take_tensor(self) -> Result<Tensor> {
        match self.take_value()? {
            Value::Tensor(tensor) => Ok(tensor),
            list => list.tensor().cloned(),
        }
    }

    /// Whether ops on this value are recorded for gradients.
    #[inline]
    pub fn is_tracked(&self) -> bool {
        self.0.edge.is_some()
    }

    /// Whether a backward pass has freed the tape behind this value.
    pub fn is_freed(&self) -> bool {
        self.0.edge.as_ref().is_some_and(|edge| edge.node.is_freed())
    }

    /// Whether this is a leaf, in which `backward` accumulates the gradient: in a program, too.
    pub fn is_leaf(&self) -> bool {
        match &self.0.repr {
            Repr::Symbol(symbol) => trace::is_leaf(symbol),
            _ => self.0.edge.as_ref().is_some_and(|edge| edge.node.leaf_slot().is_some()),
        }
    }

    /// The value without its history: gradients stop here, in both modes.
    #[track_caller]
    pub fn detach(&self) -> Var {
        crate::structural::stop_gradient(self).unwrap_or_else(Var::failed)
    }

    /// The gradient that `backward` has accumulated in this leaf, if any.
    pub fn grad(&self) -> Option<Var> {
        match &self.0.repr {
            Repr::Symbol(symbol) => trace::leaf_grad(symbol),
            _ => self.0.edge.as_ref()?.node.leaf_slot()?.get(),
        }
    }

    /// Forgets the gradient accumulated in this leaf.
    pub fn zero_grad(&self) {
        self.set_grad(None);
    }

    /// Replaces the gradient accumulated in this leaf, in both modes.
    pub fn set_grad(&self, grad: Option<Var>) {
        match &self.0.repr {
            Repr::Symbol(symbol) => trace::set_leaf_grad(symbol, grad),
            _ => {
                if let Some(leaf) = self.0.edge.as_ref().and_then(|edge| edge.node.leaf_slot()) {
                    leaf.set(grad);
                }
            }
        }
    }

    /// Calls `hook` with the gradient of this value whenever it is complete; what the hook
    /// returns, if anything, takes its place. Both modes. On a leaf it stays for all versions of it.
    #[track_caller]
    pub fn register_hook(
        &self,
        hook: impl Fn(&Var) -> Result<Option<Var>> + Send + Sync + 'static,
    ) -> Result<HookHandle> {
        let loc = scope::user_line();
        match (&self.0.repr, &self.0.edge) {
            (Repr::Failed(error), _) => Err(error.clone()),
            (Repr::Symbol(symbol), _) => {
                trace::add_hook(symbol, Arc::new(hook)).map_err(|error| error.at(loc))?;
                Ok(HookHandle::of_value())
            }
            (_, Some(edge)) => {
                let hook: Hook = Arc::new(hook);
                edge.node.add_hook(edge.out, hook.clone());
                let leaf = edge.node.leaf_slot();
                Ok(leaf.map_or_else(HookHandle::of_value, |leaf| HookHandle::of_leaf(leaf, &hook)))
            }
            _ => Err(trace::unreached_hook().at(loc)),
        }
    }

    /// A hook on this value alone, also if it is a version of a leaf.
    pub(crate) fn hook_here(&self, hook: Hook) -> Result<()> {
        match (&self.0.repr, &self.0.edge) {
            (Repr::Symbol(symbol), _) => trace::add_hook(symbol, hook),
            (_, Some(edge)) => {
                edge.node.add_own_hook(edge.out, hook);
                Ok(())
            }
            _ => Err(trace::unreached_hook()),
        }
    }

    /// Gives the value a name in the listing of the program being built.
    pub fn named(self, name: &str) -> Var {
        if let Repr::Symbol(symbol) = &self.0.repr {
            trace::set_name(symbol, name);
        }
        self
    }

    /// Whether both are the same handle.
    pub fn same(&self, other: &Var) -> bool {
        match (&self.0.repr, &other.0.repr) {
            (Repr::Symbol(a), Repr::Symbol(b)) => (a.frame, a.id) == (b.frame, b.id),
            _ => Arc::ptr_eq(&self.0, &other.0),
        }
    }

    /// A constant of the element type that `self` and the literal give: the own one, except that a
    /// literal with a fraction turns integers and bools into `f32`. A failed value if integers cannot hold it.
    #[track_caller]
    pub fn literal(&self, number: f64) -> Var {
        let own = self.dtype();
        let dtype = match own {
            DType::Bool if number.fract() == 0.0 => DType::I64,
            _ if own.is_inexact() || number.fract() == 0.0 => own,
            _ => DType::F32,
        };
        match Number::Float(number).element(dtype) {
            Ok(one) => Var::new(one),
            Err(error) => Var::failed(error.at(scope::user_line())),
        }
    }

    /// The imaginary unit, of the complex type whose parts are of the own type.
    pub fn imaginary_unit(&self) -> Var {
        match self.dtype().complex() {
            DType::C128 => Var::scalar(Complex::<f64>::I),
            _ => Var::scalar(Complex::<f32>::I),
        }
    }
}

impl From<Tensor> for Var {
    fn from(tensor: Tensor) -> Var {
        Var::new(tensor)
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.repr {
            Repr::Value(value) => match value {
                Value::Tensor(_) | Value::Device(_) => match value.tensor() {
                    Ok(tensor) => write!(f, "{tensor:?}"),
                    Err(error) => write!(f, "failed: {error}"),
                },
                Value::List(list) => write!(f, "{list:?}"),
                Value::Channel(channel) => write!(f, "{channel:?}"),
            },
            Repr::Symbol(symbol) => write!(f, "%{} : {}", symbol.id, symbol.ty),
            Repr::Failed(error) => write!(f, "failed: {error}"),
        }
    }
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.repr {
            Repr::Value(value) => match value.tensor() {
                Ok(tensor) => write!(f, "{tensor}"),
                Err(_) => write!(f, "{self:?}"),
            },
            _ => write!(f, "{self:?}"),
        }
    }
}

/// The mode in which an op on these values would run here; for functions such as `cond` that do
/// different things in the two modes.
pub fn mode_of(inputs: &[&Var]) -> Mode {
    match inputs.iter().any(|var| var.is_symbolic()) {
        true => Mode::Building,
        false => scope::mode(),
    }
}
