//! Lists as sequences.

use fluvial_core::{DType, Result, Type};

use super::table::Export;
use super::{Writer, int};
use crate::onnx::types;

pub const OPS: &[(&str, Export)] = &[
    ("list_len", |w, n| Ok(vec![w.op("SequenceLength", &[n.x(0)])])),
    ("list_new", |w, n| {
        let element: Type = n.attr("element")?;
        let dtype = int("dtype", types::number(element.dtype()).into());
        Ok(vec![w.with("SequenceEmpty", &[], vec![dtype])])
    }),
    ("list_pop", |w, n| {
        let last = w.number(-1.0, DType::I64)?;
        let element = w.op("SequenceAt", &[n.x(0), &last]);
        Ok(vec![w.op("SequenceErase", &[n.x(0), &last]), element])
    }),
    ("list_push", |w, n| Ok(vec![w.op("SequenceInsert", &[n.x(0), n.x(1)])])),
    ("list_stack", |w, n| {
        let from_bottom: bool = n.attr("from_bottom")?;
        let attrs = vec![int("axis", 0), int("new_axis", 1)];
        let all = w.with("ConcatFromSequence", &[n.x(0)], attrs);
        Ok(vec![if from_bottom { all } else { flipped(w, &all)? }])
    }),
    ("list_unstack", |w, n| {
        let from_bottom: bool = n.attr("from_bottom")?;
        let x = if from_bottom { n.inputs[0].clone() } else { flipped(w, n.x(0))? };
        Ok(vec![w.with("SplitToSequence", &[&x], vec![int("axis", 0), int("keepdims", 0)])])
    }),
];

/// The first axis from its end.
fn flipped(w: &mut Writer, x: &str) -> Result<String> {
    let (start, stop) = (w.ints(&[-1])?, w.ints(&[i64::MIN + 1])?);
    let (axes, steps) = (w.ints(&[0])?, w.ints(&[-1])?);
    Ok(w.op("Slice", &[x, &start, &stop, &axes, &steps]))
}
