//! One block under construction.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fluvial_tensor::{Error, Loc, Result, Type};
use smallvec::{SmallVec, smallvec};

use super::grads::Marks;
use super::history::Lost;
use super::left::Left;
use crate::bind::Outputs;
use crate::block::ValueId;
use crate::cell::Cell;
use crate::op::OpRef;
use crate::program::StateDecl;
use crate::scope::{self, Guard};
use crate::state;
use crate::structural::StopGradient;
use crate::tape::{Hook, Leaf};
use crate::var::Var;

pub(crate) struct Frame {
    pub id: u64,
    pub kind: FrameKind,
    pub types: Vec<Type>,
    pub params: Vec<ValueId>,
    pub calls: Vec<Pending>,
    /// By value: the call that defines it; nothing for parameters.
    pub producers: Vec<Option<u32>>,
    /// Values of the frame below, and the parameters that stand for them here.
    pub captures: Vec<(Var, ValueId)>,
    captured: HashMap<ValueId, ValueId>,
    /// Values, and the same ones without their history.
    cut: HashMap<ValueId, ValueId>,
    pub constants: HashMap<usize, (Var, ValueId)>,
    /// The value that each state has at this point of the block.
    pub states: BTreeMap<Arc<str>, ValueId>,
    /// In the main block: values of states that were assigned and not yet read again.
    pub pending_states: BTreeMap<Arc<str>, ValueId>,
    /// In a nested block: the parameter by which each state comes in.
    pub entries: BTreeMap<Arc<str>, ValueId>,
    pub assigned: BTreeSet<Arc<str>>,
    /// In a nested block: which values states were assigned, each before which call.
    pub notes: Vec<Noted>,
    pub names: BTreeMap<ValueId, Arc<str>>,
    pub hooks: HashMap<ValueId, Vec<Hook>>,
    pub leaves: Vec<ValueId>,
    /// The states that leaves are versions of.
    pub leaf_states: HashMap<ValueId, Arc<str>>,
    /// What is known of the gradients of parameters.
    pub marks: Marks,
    /// Gradients that may pass what earlier trips have done.
    pub lost: Vec<Lost>,
    /// The calls, by frame and number, that gradients have passed which free their way; and whether in any run.
    pub freed: HashMap<(u64, usize), bool>,
    pub grads: BTreeMap<ValueId, Var>,
    pub n_fresh: u32,
    /// The states that tasks started here assign and that have not been waited for, and the lines that started these.
    pub held: Vec<super::states::Hold>,
    /// The types of the outputs of the next call, where they are known.
    pub suggested: Option<SmallVec<[Type; 2]>>,
    /// Puts the thread's mode back when the frame is popped.
    guard: Option<Guard>,
}

pub(crate) enum FrameKind {
    /// The main block of a program.
    Program(Box<Root>),
    /// The initialisers of the program below.
    Startup,
    /// A block inside a block.
    Nested,
    /// A block of its own, outside any program.
    Free,
    /// A block that is thrown away: only the types of its results are asked for.
    Outline,
}

/// What belongs to the program as a whole.
#[derive(Default)]
pub(crate) struct Root {
    pub states: BTreeMap<Arc<str>, StateDecl>,
    /// The names of the states that are cells, by the numbers of the cells.
    pub names: HashMap<usize, Arc<str>>,
    pub startup: Option<Frame>,
    /// The parameters, by name, of which it was asked whether they have a gradient, and whether they had one.
    pub asked: BTreeMap<Arc<str>, bool>,
    pub inputs: Vec<(Arc<str>, ValueId)>,
    /// Inputs that are leaves outside, by the names under which their gradients are known: a cell for the gradient.
    pub leaf_cells: BTreeMap<Arc<str>, (Cell, Type)>,
    /// Inputs that were computed of leaves outside: no gradient can be left behind them.
    pub tracked: Vec<ValueId>,
    /// Those of them whose tape is freed.
    pub freed: Vec<ValueId>,
    /// Whether it is said of inputs if they are tracked outside.
    pub knows_inputs: bool,
    /// Whether gradients are left in leaves.
    pub goes_back: bool,
    /// What the versions of those inputs share outside.
    pub outer_leaves: HashMap<Arc<str>, Arc<Leaf>>,
    /// Leaves whose hooks are a part of ways back, with the numbers of these hooks.
    pub hooked: Vec<(Arc<Leaf>, SmallVec<[usize; 2]>)>,
    /// States that say whether a parameter has a gradient, where only the run knows.
    pub flags: BTreeMap<Arc<str>, Cell>,
    /// What there is of gradients where calls may fail, by the number that a note gives.
    pub left: Vec<Vec<Left>>,
}

impl Root {
    /// The cell, and its type, of a parameter or of an input that is a leaf.
    pub fn cell_of(&self, name: &str) -> Option<(Cell, Type)> {
        let of_state = || {
            let decl = self.states.get(name)?;
            Some((decl.cell.clone()?, decl.ty))
        };
        of_state().or_else(|| self.leaf_cells.get(name).cloned())
    }

    /// The name of a cell in this program: its label, made unique.
    pub fn name_of(&self, cell: &Cell) -> Arc<str> {
        match self.names.get(&cell.id()) {
            Some(name) => name.clone(),
            None => state::free_name(&cell.label(), |name| self.states.contains_key(name)),
        }
    }

    /// Adds a state.
    pub fn enter(&mut self, name: Arc<str>, decl: StateDecl) {
        if let Some(cell) = &decl.cell {
            self.names.insert(cell.id(), name.clone());
        }
        self.states.insert(name, decl);
    }
}

/// A call whose outputs may still grow (when a gradient asks for residuals).
pub(crate) struct Pending {
    pub op: OpRef,
    pub inputs: SmallVec<[ValueId; 4]>,
    pub outputs: SmallVec<[ValueId; 2]>,
    pub loc: Loc,
}

/// An assignment of a state in a nested block.
pub(crate) struct Noted {
    /// The number of the call before which it stands.
    pub at: usize,
    pub state: Arc<str>,
    pub value: ValueId,
    pub loc: Loc,
}

static NEXT_FRAME: AtomicU64 = AtomicU64::new(1);

impl Frame {
    pub fn new(kind: FrameKind, guard: Guard) -> Frame {
        Frame {
            id: NEXT_FRAME.fetch_add(1, Ordering::Relaxed),
            kind,
            types: Vec::new(),
            params: Vec::new(),
            calls: Vec::new(),
            producers: Vec::new(),
            captures: Vec::new(),
            captured: HashMap::new(),
            cut: HashMap::new(),
            constants: HashMap::new(),
            states: BTreeMap::new(),
            pending_states: BTreeMap::new(),
            entries: BTreeMap::new(),
            assigned: BTreeSet::new(),
            notes: Vec::new(),
            names: BTreeMap::new(),
            hooks: HashMap::new(),
            leaves: Vec::new(),
            leaf_states: HashMap::new(),
            marks: Marks::new(),
            lost: Vec::new(),
            freed: HashMap::new(),
            grads: BTreeMap::new(),
            n_fresh: 0,
            held: Vec::new(),
            suggested: None,
            guard: Some(guard),
        }
    }

    /// Puts the thread's mode back, for a frame that lives on as a closed block.
    pub fn leave(mut self) -> Frame {
        self.guard = None;
        self
    }

    /// Takes up a frame again that was left.
    pub fn enter(mut self, guard: Guard) -> Frame {
        self.guard = Some(guard);
        self
    }

    /// The gradients that may be lost, with parameters by their position among those that are not captures.
    pub fn lost_by_position(&self) -> Vec<Lost> {
        let is_capture = |id: ValueId| self.captures.iter().any(|(_, param)| *param == id);
        let own: Vec<ValueId> = self.params.iter().copied().filter(|&id| !is_capture(id)).collect();
        let position = |id: &ValueId| own.iter().position(|own| own == id).map(|i| i as ValueId);
        let moved = |lost: &Lost| Lost {
            passed: lost.passed.iter().filter_map(position).collect(),
            ..lost.clone()
        };
        self.lost.iter().map(moved).collect()
    }

    pub fn is_nested(&self) -> bool {
        matches!(self.kind, FrameKind::Nested)
    }

    pub fn var(&self, id: ValueId) -> Var {
        Var::symbol(self.id, id, self.types[id as usize])
    }

    fn define(&mut self, ty: Type, producer: Option<u32>) -> ValueId {
        self.types.push(ty);
        self.producers.push(producer);
        (self.types.len() - 1) as ValueId
    }

    /// A new parameter.
    pub fn param(&mut self, ty: Type) -> Var {
        let id = self.define(ty, None);
        self.params.push(id);
        self.var(id)
    }

    /// A new call.
    pub fn call(
        &mut self,
        op: OpRef,
        inputs: SmallVec<[ValueId; 4]>,
        outs: &[Type],
        loc: Loc,
    ) -> Outputs {
        let index = self.calls.len() as u32;
        let outputs: SmallVec<[ValueId; 2]> =
            outs.iter().map(|&ty| self.define(ty, Some(index))).collect();
        let vars = outputs.iter().map(|&id| self.var(id)).collect();
        self.calls.push(Pending { op, inputs, outputs, loc: scope::marked(loc) });
        vars
    }

    /// Gives a call the variant of its op that has residuals; they become new values.
    pub fn swap_in_residuals(&mut self, call: usize, variant: OpRef, outs: &[Type]) {
        let n_visible = self.calls[call].outputs.len();
        for &ty in &outs[n_visible..] {
            let id = self.define(ty, Some(call as u32));
            self.calls[call].outputs.push(id);
        }
        self.calls[call].op = variant;
    }

    /// Brings value `id` of `outer`, the frame below, into this one.
    pub fn capture(&mut self, outer: &Frame, id: ValueId) -> Result<ValueId> {
        if let Some(&param) = self.captured.get(&id) {
            return Ok(param);
        }
        let ty = outer.types[id as usize];
        if !self.is_nested() && !matches!(self.kind, FrameKind::Outline) {
            return Err(Error::symbolic(format!(
                "a value of type {ty} of the main program was used in an initialiser or a free block"
            ))
            .remedy("an initialiser sees states and constants only"));
        }
        let local = match outer.recipe(id) {
            Some(call) => {
                let outputs = self.call(call.op.clone(), SmallVec::new(), &[ty], call.loc);
                outputs[0].symbol_id()
            }
            None => {
                let param = self.param(ty).symbol_id();
                self.captures.push((outer.var(id), param));
                param
            }
        };
        self.captured.insert(id, local);
        Ok(local)
    }

    /// Value `id` as one through which no gradient passes.
    pub fn without_history(&mut self, id: ValueId, loc: Loc) -> ValueId {
        if let Some(&cut) = self.cut.get(&id) {
            return cut;
        }
        let (op, ty) = (OpRef::new(StopGradient {}), self.types[id as usize]);
        let cut = self.call(op, smallvec![id], &[ty], loc)[0].symbol_id();
        self.cut.insert(id, cut);
        cut
    }

    /// The call that makes value `id` from nothing (a constant): it is repeated in an inner
    /// block rather than passed in.
    fn recipe(&self, id: ValueId) -> Option<&Pending> {
        let call = &self.calls[self.producers[id as usize]? as usize];
        let alone = call.inputs.is_empty() && call.outputs.len() == 1;
        let small = self.types[id as usize].numel().is_some_and(|numel| numel <= 1);
        let constant = call.op.downcast::<crate::structural::Constant>().is_some();
        let pure = !call.op.properties().effect;
        let has_open_size = |ty: &Type| ty.dims().iter().any(|dim| dim.fresh_index().is_some());
        let same = || call.op.infer(&[]).is_ok_and(|outs| !outs.iter().any(has_open_size));
        (alone && pure && (small || !constant) && same()).then_some(call)
    }

    /// Names a value; a name taken already gets a number.
    pub fn set_name(&mut self, id: ValueId, name: &str) {
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' })
            .collect();
        let name = match name.chars().next() {
            Some(first) if first.is_ascii_digit() => format!("_{name}"),
            Some(_) => name,
            None => return,
        };
        let taken = |candidate: &str, names: &BTreeMap<ValueId, Arc<str>>| {
            names.iter().any(|(&other, taken)| other != id && &**taken == candidate)
        };
        let mut unique = name.clone();
        let mut number = 1;
        while taken(&unique, &self.names) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        self.names.insert(id, unique.into());
    }
}

impl Var {
    /// The number of a value of a frame; only for values a frame has just made.
    pub(crate) fn symbol_id(&self) -> ValueId {
        match &self.0.repr {
            crate::var::Repr::Symbol(symbol) => symbol.id,
            _ => unreachable!("a frame makes symbols"),
        }
    }
}
