//! What ops need beside their outputs while they run.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use fluvial_core::{DType, Op, OpRef, Result, Tensor, Type, Value, family::known_sizes};
use fluvial_tensor::memory;
use smallvec::SmallVec;

/// Views one behind the other.
#[derive(Clone, Default)]
pub(super) struct Chain {
    /// The type of what the first one shows.
    pub of: Option<Type>,
    pub ops: Vec<OpRef>,
}

/// By type and views: whether the last one copies.
static COPIES: Mutex<Option<HashMap<String, bool>>> = Mutex::new(None);

impl Chain {
    /// Whether the last view makes memory of its own; found out with bools, and remembered.
    pub fn copies(&self) -> bool {
        let Some(of) = self.of.filter(|ty| !ty.is_symbolic() && !ty.is_list()) else {
            return false;
        };
        let key = format!("{:?} {:?}", of.dims(), self.ops);
        let mut known = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if let Some(&copies) = known.get(&key) {
            return copies;
        }
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        let copies = self.try_out(&of).unwrap_or(false);
        known.insert(key, copies);
        copies
    }

    fn try_out(&self, of: &Type) -> Result<bool> {
        let mut value = Value::Tensor(Tensor::zeros(DType::Bool, &known_sizes(of)?)?);
        let mut copies = false;
        for op in &self.ops {
            let outs = op.infer(&[&value.ty()])?;
            let next = op.eval(&[&value], &outs)?;
            // What shows its memory holds it, too.
            copies = value.tensor()?.is_unique() && value.tensor()?.numel() > 1;
            value = next.into_iter().next().unwrap_or(value);
        }
        Ok(copies)
    }
}

/// By op and types of inputs: the bytes.
static KNOWN: Mutex<Option<HashMap<String, usize>>> = Mutex::new(None);

/// More entries than this are found out again.
const MAX_KNOWN: usize = 4096;

/// The bytes of tensors that an op makes beside its outputs, at most at once. What kernels need depends on the
/// machine, the number of threads and the way that they choose by shape: it is found out by running the op once on zeros, and
/// remembered. That begins a new measurement of the allocator's peak.
pub(super) fn workspace(op: &OpRef, inputs: &[&Type], outs: &[Type]) -> usize {
    let properties = op.properties();
    let is_plain = properties.elementwise || properties.view || properties.effect;
    let is_known = |ty: &&Type| !ty.is_symbolic() && !ty.is_list();
    if is_plain || inputs.is_empty() || !inputs.iter().copied().chain(outs).all(|ty| is_known(&ty))
    {
        return 0;
    }
    let key = format!("{op:?} {inputs:?}");
    // While one is measured, no other is.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(&bytes) = known.get(&key) {
        return bytes;
    }
    if known.len() >= MAX_KNOWN {
        known.clear();
    }
    // What other threads hold meanwhile can only add to it.
    let bytes =
        measured(&**op, inputs, outs).unwrap_or(0).min(measured(&**op, inputs, outs).unwrap_or(0));
    known.insert(key, bytes);
    bytes
}

fn measured(op: &dyn Op, inputs: &[&Type], outs: &[Type]) -> Result<usize> {
    let zeros = |ty: &&Type| Tensor::zeros(ty.dtype(), &known_sizes(ty)?).map(Value::Tensor);
    let inputs: SmallVec<[Value; 8]> = inputs.iter().map(zeros).collect::<Result<_>>()?;
    memory::reset_peak();
    let before = memory::stats().live_bytes;
    let made = op.eval(&inputs.iter().collect::<SmallVec<[&Value; 8]>>(), outs);
    let most = memory::stats().peak_bytes.saturating_sub(before);
    let kept = memory::stats().live_bytes.saturating_sub(before);
    drop(made);
    Ok(most.saturating_sub(kept) as usize)
}
