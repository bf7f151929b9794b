//! Questions about gradients: why none reaches a value of a program being built, what is recorded behind a value.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use fluvial_tensor::{Loc, Type};

use crate::block::ValueId;
use crate::grad::Grad;
use crate::tape::{Kind, Node, Slot, lock};
use crate::trace::{self, frame::Frame};
use crate::var::Var;

/// What keeps a gradient from a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// No op takes the value.
    Unused,
    /// The output is computed without what is made of the value.
    Apart,
    /// An op on the way from the output to the value passes nothing on; what it is and where.
    Op(String),
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Unused => f.write_str("nothing uses it"),
            Cut::Apart => f.write_str("the loss is computed without what is made of it"),
            Cut::Op(op) => f.write_str(op),
        }
    }
}

/// Why the gradient of `output` does not reach `from`, both values of the program being built: for error texts.
/// Nothing if both belong to other blocks, or if it does.
pub fn why_no_gradient(output: &Var, from: &Var) -> Option<Cut> {
    let (output, from) = (trace::symbol_of(output)?, trace::symbol_of(from)?);
    trace::with_frames(|frames| {
        let frame = frames.iter().find(|frame| frame.id == output.frame)?;
        (from.frame == frame.id).then(|| explain(frame, output.id, from.id)).flatten()
    })
}

fn explain(frame: &Frame, output: ValueId, from: ValueId) -> Option<Cut> {
    if output == from {
        return None;
    }
    let mut depends = vec![false; frame.types.len()];
    depends[from as usize] = true;
    let mut users = 0;
    for call in &frame.calls {
        if call.inputs.iter().any(|&id| depends[id as usize]) {
            users += 1;
            call.outputs.iter().for_each(|&id| depends[id as usize] = true);
        }
    }
    if users == 0 {
        return Some(Cut::Unused);
    }
    if !depends[output as usize] {
        return Some(Cut::Apart);
    }
    // From the loss back along gradients; the calls just beyond cut the way.
    let mut reached = vec![false; frame.types.len()];
    reached[output as usize] = true;
    let mut cut: Option<(&'static str, Loc, &'static str)> = None;
    for call in frame.calls.iter().rev() {
        let asked = call.outputs.iter().any(|&id| reached[id as usize]);
        if !asked {
            continue;
        }
        let why = match call.op.grad() {
            Grad::Rule(..) | Grad::Totals(..) => None,
            Grad::Zero => Some("has derivative zero"),
            Grad::Stop => Some("stops gradients"),
            Grad::NonDifferentiable(reason) => Some(reason),
        };
        for &id in &call.inputs {
            let is_inexact = Type::is_inexact(&frame.types[id as usize]);
            let why = why.or((!is_inexact).then_some("takes numbers that are not floats"));
            match why {
                None => reached[id as usize] = true,
                Some(why) if depends[id as usize] => {
                    cut = cut.or(Some((call.op.name(), call.loc, why)));
                }
                Some(_) => {}
            }
        }
    }
    if reached[from as usize] {
        return None;
    }
    cut.map(|(op, loc, why)| match loc.is_known() {
        true => Cut::Op(format!("`{op}` at {loc} {why}")),
        false => Cut::Op(format!("`{op}` {why}")),
    })
}

/// The names of the ops that are recorded behind a value, each once for each time that it ran, the latest first;
/// leaves have none. A part that an earlier walk has freed ends there.
///
/// ```
/// use fluvial_core::{Var, history};
///
/// let x = Var::scalar(3.0).track()?;
/// let y = &x * &x;
/// assert_eq!((history(&y), history(&x)), (vec!["mul"], vec![]));
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn history(var: &Var) -> Vec<&'static str> {
    let mut next: Vec<Arc<Node>> = var.0.edge.iter().map(|edge| edge.node.clone()).collect();
    let mut found: BTreeMap<(Reverse<u64>, usize), &'static str> = BTreeMap::new();
    while let Some(node) = next.pop() {
        let Kind::Call { op, saved, .. } = &node.kind else { continue };
        let is_new = found.insert((Reverse(node.seq), Arc::as_ptr(&node) as usize), op.name());
        if is_new.is_some() {
            continue;
        }
        let saved = lock(saved);
        let edges = saved.iter().flat_map(|saved| &saved.inputs).filter_map(Slot::edge);
        next.extend(edges.map(|edge| edge.node.clone()));
    }
    found.into_values().collect()
}

/// Whether a value depends on a leaf that is none of these, by ops that are recorded.
///
/// ```
/// use fluvial_core::{Var, leads_beyond};
///
/// let (x, w) = (Var::scalar(3.0).track()?, Var::scalar(2.0).track()?);
/// let y = &x * &w;
/// assert!(leads_beyond(&[&y], &[&x]) && !leads_beyond(&[&y], &[&x, &w]));
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn leads_beyond(values: &[&Var], leaves: &[&Var]) -> bool {
    let node_of = |var: &&Var| var.0.edge.as_ref().map(|edge| edge.node.clone());
    let own: Vec<Arc<Node>> = leaves.iter().filter_map(node_of).collect();
    let mut next: Vec<Arc<Node>> = values.iter().filter_map(node_of).collect();
    let mut seen: HashSet<usize> = HashSet::new();
    while let Some(node) = next.pop() {
        if own.iter().any(|leaf| Arc::ptr_eq(leaf, &node)) && node.leaf_slot().is_some()
            || !seen.insert(Arc::as_ptr(&node) as usize)
        {
            continue;
        }
        let Kind::Call { saved, .. } = &node.kind else { return true };
        let saved = lock(saved);
        let edges = saved.iter().flat_map(|saved| &saved.inputs).filter_map(Slot::edge);
        next.extend(edges.map(|edge| edge.node.clone()));
    }
    false
}
