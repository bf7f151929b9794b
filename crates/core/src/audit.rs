//! Why no gradient reaches a value of a program being built.

use fluvial_tensor::{Loc, Type};

use crate::block::ValueId;
use crate::grad::Grad;
use crate::trace::{self, frame::Frame};
use crate::var::Var;

/// Why the gradient of `output` does not reach `from`, both values of the program being built: for error texts.
/// Nothing if both belong to other blocks, or if it does.
pub fn why_no_gradient(output: &Var, from: &Var) -> Option<String> {
    let (output, from) = (trace::symbol_of(output)?, trace::symbol_of(from)?);
    trace::with_frames(|frames| {
        let frame = frames.iter().find(|frame| frame.id == output.frame)?;
        (from.frame == frame.id).then(|| explain(frame, output.id, from.id)).flatten()
    })
}

fn explain(frame: &Frame, output: ValueId, from: ValueId) -> Option<String> {
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
        return Some("nothing uses it".to_string());
    }
    if !depends[output as usize] {
        return Some("the loss is computed without what is made of it".to_string());
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
            Grad::Rule(..) => None,
            Grad::Zero => Some("has derivative zero"),
            Grad::Stop => Some("stops gradients"),
            Grad::NonDifferentiable(reason) => Some(reason),
        };
        for &id in &call.inputs {
            let is_float = Type::is_float(&frame.types[id as usize]);
            let why = why.or((!is_float).then_some("takes numbers that are not floats"));
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
        true => format!("`{op}` at {loc} {why}"),
        false => format!("`{op}` {why}"),
    })
}
