//! Blocks: straight lists of calls in SSA form, closed over their parameters.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};

use fluvial_tensor::{Dim, Error, ErrorKind, Loc, Result, Type};
use smallvec::SmallVec;

use crate::grad::Grad;
use crate::op::OpRef;
use crate::tape::Hook;

/// The number of a value within its block.
pub type ValueId = u32;

/// A block of calls.
///
/// Values are numbered as they are defined: first the parameters, then the outputs of each call
/// in order. A block sees its parameters only; what it uses from outside is passed to it.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The type of each value.
    pub types: Vec<Type>,
    /// How many of the values are parameters.
    pub n_params: usize,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// The values the block returns.
    pub results: Vec<ValueId>,
    /// Names that people gave to values, for listings and the debugger.
    pub names: BTreeMap<ValueId, Arc<str>>,
    /// What is called with gradients of values, in the program that was built; no part of its text.
    pub(crate) hooks: Hooks,
    pub(crate) facts: OnceLock<Facts>,
}

/// The hooks on values of a block, in the order in which they were put there.
#[derive(Clone, Default)]
pub(crate) struct Hooks(pub BTreeMap<ValueId, Vec<Hook>>);

impl Hooks {
    /// The hooks on values that have a new number.
    pub fn moved(&self, new_id: impl Fn(ValueId) -> Option<ValueId>) -> Hooks {
        Hooks(self.0.iter().filter_map(|(&id, on)| Some((new_id(id)?, on.clone()))).collect())
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "hooks on {:?}", self.0.keys())
    }
}

/// One application of an op.
#[derive(Clone, Debug)]
pub struct Call {
    /// The op.
    pub op: OpRef,
    /// Its inputs.
    pub inputs: SmallVec<[ValueId; 4]>,
    /// Its first output; the others follow.
    pub first_output: ValueId,
    /// How many outputs it has.
    pub n_outputs: usize,
    /// The user's line.
    pub loc: Loc,
    /// For what a pass has made of several calls: these calls, as a block from the same inputs to the same
    /// outputs, for those who want to see each of them. It is not part of the program's text.
    pub twin: Option<Arc<Block>>,
}

impl Call {
    /// The values the call defines.
    pub fn outputs(&self) -> std::ops::Range<ValueId> {
        self.first_output..self.first_output + self.n_outputs as ValueId
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Call) -> bool {
        self.inputs == other.inputs
            && self.first_output == other.first_output
            && self.n_outputs == other.n_outputs
            && self.loc == other.loc
            && self.op == other.op
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Block) -> bool {
        self.types == other.types
            && self.n_params == other.n_params
            && self.results == other.results
            && self.names == other.names
            && self.calls == other.calls
    }
}

/// What is found out about a block once, when it is first asked.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Every value that is used is defined before.
    pub well_formed: bool,
    /// A symbol occurs somewhere in the block.
    pub symbolic: bool,
    /// By call: a symbol occurs in its attributes.
    pub symbolic_calls: Vec<bool>,
    /// By call: the values that nothing reads after it.
    pub last_uses: Vec<SmallVec<[ValueId; 2]>>,
    /// A call, here or in a nested block, has an effect.
    pub effect: bool,
    /// By call: whether it may fail if none before it has.
    pub failing: Vec<bool>,
    /// The kind of the first error that the block may end with.
    pub fails: Option<ErrorKind>,
}

impl Block {
    /// Whether a call of the block, or of one inside, has to do with tasks.
    pub fn has_tasks(&self) -> bool {
        let inside = |call: &Call| call.op.blocks().iter().any(|block| block.has_tasks());
        self.calls.iter().any(|call| call.op.is_of_tasks() || inside(call))
    }

    /// The types of the parameters.
    pub fn param_types(&self) -> &[Type] {
        self.types.get(..self.n_params).unwrap_or(&self.types)
    }

    /// The types of the results.
    pub fn result_types(&self) -> impl Iterator<Item = &Type> {
        self.results.iter().filter_map(|&id| self.types.get(id as usize))
    }

    /// The types of what a call of this block defines.
    pub fn output_types(&self, call: &Call) -> &[Type] {
        &self.types[call.first_output as usize..][..call.n_outputs]
    }

    /// The types of a call's inputs.
    pub fn input_types(&self, call: &Call) -> SmallVec<[&Type; 4]> {
        call.inputs.iter().map(|&id| &self.types[id as usize]).collect()
    }

    /// An error if a value is used that the block does not define. The fields are open, so this is
    /// asked before anything relies on them; [`verify`](crate::verify()) says what is wrong where.
    pub(crate) fn check_form(&self) -> Result<()> {
        match self.facts().well_formed {
            true => Ok(()),
            false => Err(Error::program("a block is malformed").remedy("`verify` the program")),
        }
    }

    /// Which parameters can influence these results through differentiable values.
    pub fn influences(&self, results: &[usize]) -> Vec<bool> {
        let mut reached = vec![false; self.types.len()];
        for id in results.iter().filter_map(|&i| self.results.get(i)) {
            if let Some(reached) = reached.get_mut(*id as usize) {
                *reached = true;
            }
        }
        for call in self.calls.iter().rev() {
            let is_reached = |id: ValueId| reached.get(id as usize) == Some(&true);
            let outputs: SmallVec<[bool; 4]> = call.outputs().map(is_reached).collect();
            if matches!(call.op.grad(), Grad::Stop) || !outputs.contains(&true) {
                continue;
            }
            let inputs = call.op.reaches(&outputs);
            for (i, &id) in call.inputs.iter().enumerate() {
                if inputs.as_ref().is_some_and(|inputs| inputs.get(i) == Some(&false)) {
                    continue;
                }
                let is_inexact = self.types.get(id as usize).is_some_and(Type::is_inexact);
                if let Some(reached) = reached.get_mut(id as usize) {
                    *reached |= is_inexact;
                }
            }
        }
        reached.truncate(self.n_params);
        reached
    }

    /// By result: whether a gradient reaches, in any run, one of the parameters that are `sure` to have a history.
    pub fn surely(&self, sure: &[bool]) -> Vec<bool> {
        let mut known = vec![false; self.types.len()];
        known[..sure.len()].copy_from_slice(sure);
        for call in &self.calls {
            let inputs: SmallVec<[bool; 4]> =
                call.inputs.iter().map(|&id| known[id as usize]).collect();
            let is_sure = call.op.surely(&inputs);
            for (i, id) in call.outputs().enumerate() {
                known[id as usize] = is_sure(i) && self.types[id as usize].is_inexact();
            }
        }
        self.results.iter().map(|&id| known[id as usize]).collect()
    }

    /// The block with other results.
    pub fn with_results(&self, results: Vec<ValueId>) -> Block {
        Block { results, facts: OnceLock::new(), ..self.clone() }
    }

    /// Whether a symbol occurs anywhere in the block.
    pub fn is_symbolic(&self) -> bool {
        self.facts().symbolic
    }

    /// Whether a call in the block has an effect.
    pub fn has_effect(&self) -> bool {
        self.facts().effect
    }

    /// Whether somebody wants to be told of gradients of its values.
    pub fn has_hooks(&self) -> bool {
        !self.hooks.0.is_empty()
    }

    /// By call: whether it may fail if none before it has.
    pub fn failing_calls(&self) -> &[bool] {
        &self.facts().failing
    }

    /// The kind of the first error with which a run of the block may end, by the numbers that it meets.
    pub fn fails(&self) -> Option<ErrorKind> {
        self.facts().fails
    }

    /// The block with symbols replaced by what `f` says of them.
    pub fn substitute(&self, f: &dyn Fn(Dim) -> Option<Dim>) -> Result<Block> {
        self.check_form()?;
        let calls = self.calls.iter().zip(&self.facts().symbolic_calls).map(|(call, &symbolic)| {
            let op = if symbolic { substitute_op(&call.op, f)? } else { call.op.clone() };
            let twin = match &call.twin {
                Some(twin) if twin.is_symbolic() => Some(Arc::new(twin.substitute(f)?)),
                known => known.clone(),
            };
            Ok(Call { op, twin, ..call.clone() })
        });
        Ok(Block {
            calls: calls.collect::<Result<_>>()?,
            types: self.types.iter().map(|ty| ty.substitute(f)).collect::<Result<_>>()?,
            n_params: self.n_params,
            results: self.results.clone(),
            names: self.names.clone(),
            hooks: self.hooks.clone(),
            facts: OnceLock::new(),
        })
    }

    /// By value: how often it is used as an input or a result.
    pub fn use_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.types.len()];
        let used = self.calls.iter().flat_map(|call| &call.inputs).chain(&self.results);
        used.for_each(|&id| counts[id as usize] += 1);
        counts
    }

    /// By call: the values that nothing reads after it.
    pub fn last_uses_by_call(&self) -> &[SmallVec<[ValueId; 2]>] {
        &self.facts().last_uses
    }

    pub(crate) fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| {
            let symbolic_calls: Vec<bool> =
                self.calls.iter().map(|call| call.op.attrs().is_symbolic()).collect();
            let well_formed = self.is_well_formed();
            let (failing, fails) =
                if well_formed { self.find_failing() } else { (Vec::new(), None) };
            Facts {
                failing,
                fails,
                well_formed,
                symbolic: symbolic_calls.contains(&true)
                    || self.types.iter().any(Type::is_symbolic),
                symbolic_calls,
                last_uses: if well_formed { self.last_uses() } else { Vec::new() },
                effect: self.calls.iter().any(|call| call.op.properties().effect),
            }
        })
    }

    fn find_failing(&self) -> (Vec<bool>, Option<ErrorKind>) {
        let mut passed: HashSet<(ValueId, Dim)> = HashSet::new();
        let mut first = None;
        let may_fail = |call: &Call| {
            let types = self.input_types(call);
            if let Some((output, size)) = call.op.positions(&types) {
                passed.insert((call.first_output + output as ValueId, size));
            }
            let Some(fault) = call.op.fails(&types) else { return false };
            let known =
                fault.range.and_then(|(input, size)| Some((*call.inputs.get(input)?, size)));
            let is_new = known.is_none_or(|known| passed.insert(known));
            first = first.or(is_new.then_some(fault.kind));
            is_new
        };
        let failing = self.calls.iter().map(may_fail).collect();
        (failing, first)
    }

    fn is_well_formed(&self) -> bool {
        let mut n_defined = self.n_params;
        for call in &self.calls {
            let inputs_defined = call.inputs.iter().all(|&id| (id as usize) < n_defined);
            if !inputs_defined || call.first_output as usize != n_defined {
                return false;
            }
            n_defined = n_defined.saturating_add(call.n_outputs);
        }
        let results_defined = self.results.iter().all(|&id| (id as usize) < n_defined);
        results_defined && n_defined == self.types.len()
    }

    fn last_uses(&self) -> Vec<SmallVec<[ValueId; 2]>> {
        let mut dies_at = vec![None; self.types.len()];
        for (index, call) in self.calls.iter().enumerate() {
            for id in call.outputs().chain(call.inputs.iter().copied()) {
                dies_at[id as usize] = Some(index);
            }
        }
        for &id in &self.results {
            dies_at[id as usize] = None;
        }
        let mut last_uses = vec![SmallVec::new(); self.calls.len()];
        for (id, index) in dies_at.iter().enumerate() {
            if let Some(index) = index {
                last_uses[*index].push(id as ValueId);
            }
        }
        last_uses
    }
}

/// The op with symbols in its attributes replaced by what `f` says of them.
pub fn substitute_op(op: &OpRef, f: &dyn Fn(Dim) -> Option<Dim>) -> Result<OpRef> {
    op.rebuild(&op.attrs().substitute(f)?)
}
