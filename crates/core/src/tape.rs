//! The tape: a graph of nodes, one for each recorded op, held alive by the values it made.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use fluvial_tensor::{Loc, Result, Type};
use smallvec::SmallVec;

use crate::checkpoint::Region;
use crate::op::{OpRef, Types};
use crate::value::Value;
use crate::var::Var;

/// A function called with a gradient.
pub(crate) type Hook = Arc<dyn Fn(&Var) -> Result<Option<Var>> + Send + Sync>;

/// Hooks, each with the output it is on.
type Hooks = Mutex<Vec<(u32, Hook)>>;

/// An output of a node.
#[derive(Clone)]
pub(crate) struct Edge {
    pub node: Arc<Node>,
    pub out: u32,
}

impl Edge {
    /// What tells it from others, as long as it lives.
    pub fn key(&self) -> (usize, u32) {
        (Arc::as_ptr(&self.node) as usize, self.out)
    }
}

/// A recorded op, or a leaf.
///
/// `seq` grows along every path, also across threads, and within a thread in the order of
/// recording: the reverse walk visits nodes by falling `seq`.
pub(crate) struct Node {
    pub seq: u64,
    pub types: Types,
    pub kind: Kind,
    hooks: OnceLock<Box<Hooks>>,
}

pub(crate) enum Kind {
    Leaf(Arc<Leaf>),
    Call { op: OpRef, loc: Loc, saved: Mutex<Option<Saved>> },
}

/// What a node holds for its gradient rule until the walk has passed.
#[derive(Clone)]
pub(crate) struct Saved {
    pub inputs: SmallVec<[Slot; 2]>,
    /// Kept outputs. Bare values: a `Var` here would hold its own node alive for ever.
    pub outputs: Vec<Option<Value>>,
    /// In a checkpoint: where the values come from that are missing here.
    pub again: Option<(Arc<Region>, usize)>,
}

/// An input of a recorded op.
#[derive(Clone)]
pub(crate) enum Slot {
    /// The rule reads it.
    Kept(Var),
    /// Only the path of the gradient is kept.
    Dropped(Edge),
    /// Only the type is kept.
    Typed(Box<Type>),
    /// Nothing is kept.
    Untracked,
}

impl Slot {
    /// The type of the input, where it is known.
    pub fn ty(&self) -> Option<Type> {
        match self {
            Slot::Kept(var) => Some(var.ty()),
            Slot::Dropped(edge) => Some(edge.node.types[edge.out as usize]),
            Slot::Typed(ty) => Some(**ty),
            Slot::Untracked => None,
        }
    }

    #[inline]
    pub fn edge(&self) -> Option<&Edge> {
        match self {
            Slot::Kept(var) => var.0.edge.as_ref(),
            Slot::Dropped(edge) => Some(edge),
            Slot::Typed(_) | Slot::Untracked => None,
        }
    }
}

/// What all versions of a leaf share: where it accumulates its gradient, a cell, once there is one; and its hooks.
#[derive(Default)]
pub(crate) struct Leaf {
    grad: OnceLock<crate::cell::Cell>,
    hooks: Mutex<Vec<Hook>>,
}

impl Leaf {
    pub fn get(&self) -> Option<Var> {
        self.grad.get()?.get()
    }

    pub fn set(&self, grad: Option<Var>) {
        match grad {
            Some(grad) => self.cell(|| "grad".into()).keep(grad),
            None => self.grad.get().into_iter().for_each(crate::cell::Cell::clear),
        }
    }

    pub fn cell(&self, label: impl FnOnce() -> Arc<str>) -> &crate::cell::Cell {
        self.grad.get_or_init(|| crate::cell::Cell::new(label()))
    }

    pub fn hooks(&self) -> Vec<Hook> {
        lock(&self.hooks).clone()
    }

    /// One with the same hooks, and no gradient.
    pub fn apart(&self) -> Leaf {
        Leaf { grad: OnceLock::new(), hooks: Mutex::new(self.hooks()) }
    }

    /// Which hooks it has, as numbers.
    pub fn hook_ids(&self) -> SmallVec<[usize; 2]> {
        lock(&self.hooks).iter().map(hook_id).collect()
    }

    pub fn add_hook(&self, hook: Hook) {
        lock(&self.hooks).push(hook);
    }

    fn remove_hook(&self, id: usize) {
        let mut hooks = lock(&self.hooks);
        let removed: Vec<Hook> = hooks.extract_if(.., |hook| hook_id(hook) == id).collect();
        drop(hooks);
        // What a hook owns is dropped without the lock: it may run code of its own.
        drop(removed);
    }
}

fn hook_id(hook: &Hook) -> usize {
    Arc::as_ptr(hook) as *const () as usize
}

/// Takes a hook away that was put on a leaf or a parameter. Those of other values go with the values.
#[derive(Debug)]
pub struct HookHandle(Option<(Weak<Leaf>, usize)>);

impl HookHandle {
    pub(crate) fn of_leaf(leaf: &Arc<Leaf>, hook: &Hook) -> HookHandle {
        HookHandle(Some((Arc::downgrade(leaf), hook_id(hook))))
    }

    pub(crate) fn of_value() -> HookHandle {
        HookHandle(None)
    }

    /// Whether it is on a leaf or a parameter.
    pub fn is_on_leaf(&self) -> bool {
        self.0.is_some()
    }

    /// From here on the hook is no longer called, if it is on a leaf or a parameter.
    pub fn remove(&self) {
        if let Some((leaf, id)) = &self.0
            && let Some(leaf) = leaf.upgrade()
        {
            leaf.remove_hook(*id);
        }
    }
}

thread_local! {
    static LAST_SEQ: Cell<u64> = const { Cell::new(0) };
}

impl Node {
    /// Whether a backward pass has taken what it saved.
    pub(crate) fn is_freed(&self) -> bool {
        matches!(&self.kind, Kind::Call { saved, .. } if lock(saved).is_none())
    }

    pub fn leaf(ty: Type, leaf: Arc<Leaf>) -> Node {
        let types = SmallVec::from_buf([ty]);
        Node { seq: next_seq(0), types, kind: Kind::Leaf(leaf), hooks: OnceLock::new() }
    }

    #[inline]
    pub fn call(op: OpRef, loc: Loc, types: Types, saved: Saved) -> Node {
        let inputs = saved.inputs.iter();
        let latest = inputs.filter_map(|slot| Some(slot.edge()?.node.seq)).max().unwrap_or(0);
        let kind = Kind::Call { op, loc, saved: Mutex::new(Some(saved)) };
        Node { seq: next_seq(latest), types, kind, hooks: OnceLock::new() }
    }

    /// A node whose saved values an earlier walk has taken.
    pub fn freed(op: OpRef, loc: Loc, ty: Type, latest: u64) -> Node {
        let kind = Kind::Call { op, loc, saved: Mutex::new(None) };
        let types = SmallVec::from_buf([ty]);
        Node { seq: next_seq(latest), types, kind, hooks: OnceLock::new() }
    }

    pub fn leaf_slot(&self) -> Option<&Arc<Leaf>> {
        match &self.kind {
            Kind::Leaf(leaf) => Some(leaf),
            Kind::Call { .. } => None,
        }
    }

    pub fn add_hook(&self, out: u32, hook: Hook) {
        match &self.kind {
            Kind::Leaf(leaf) => leaf.add_hook(hook),
            Kind::Call { .. } => self.add_own_hook(out, hook),
        }
    }

    /// A hook that other versions of a leaf do not have.
    pub fn add_own_hook(&self, out: u32, hook: Hook) {
        lock(self.hooks.get_or_init(Box::default)).push((out, hook));
    }

    /// The hooks of output `out`, in the order in which they were added.
    pub fn hooks(&self, out: u32) -> Vec<Hook> {
        let mut found = match &self.kind {
            Kind::Leaf(leaf) => leaf.hooks(),
            Kind::Call { .. } => Vec::new(),
        };
        if let Some(hooks) = self.hooks.get() {
            let of_output = |(o, hook): &(u32, Hook)| (*o == out).then(|| hook.clone());
            found.extend(lock(hooks).iter().filter_map(of_output));
        }
        found
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A tape of a million ops is one chain: dropping it must not recurse.
        let mut slots = take_inputs(self);
        while let Some(slot) = slots.pop() {
            let edge = match slot {
                Slot::Kept(mut var) => Arc::get_mut(&mut var.0).and_then(|inner| inner.edge.take()),
                Slot::Dropped(edge) => Some(edge),
                Slot::Typed(_) | Slot::Untracked => None,
            };
            let Some(mut edge) = edge else { continue };
            // Asking for the count first spares the common case, a node that lives on, two atomic
            // operations.
            if Arc::strong_count(&edge.node) == 1
                && let Some(node) = Arc::get_mut(&mut edge.node)
            {
                slots.extend(take_inputs(node));
            }
        }
    }
}

fn take_inputs(node: &mut Node) -> SmallVec<[Slot; 2]> {
    match &mut node.kind {
        Kind::Leaf(_) => SmallVec::new(),
        Kind::Call { saved, .. } => {
            let saved = saved.get_mut().unwrap_or_else(PoisonError::into_inner);
            saved.take().map(|saved| saved.inputs).unwrap_or_default()
        }
    }
}

#[inline]
fn next_seq(latest_input: u64) -> u64 {
    let seq = LAST_SEQ.get().max(latest_input) + 1;
    LAST_SEQ.set(seq);
    seq
}

/// Locks; what a panicking thread left behind is still whole, since nothing is half-written.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
