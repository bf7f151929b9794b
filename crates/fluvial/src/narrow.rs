//! Mixed precision for a program that is there already.

use std::sync::Arc;

use fluvial_core::block::Block;
use fluvial_core::structural::Cast;
use fluvial_core::{DType, Error, NewValues, OpRef, Program, Result, map_blocks};

/// The program in which calls of these ops take `f32` in a narrow type, and give it back as `f32`, also in the blocks of
/// loops and branches. All else stays as it is, parameters too. What [`autocast`](fluvial_core::autocast) does while
/// lines run, this does afterwards.
///
/// ```
/// use fluvial::prelude::*;
///
/// let ty = Type::of(DType::F32, &[2, 3])?;
/// let program = Program::build(&[("x", ty)], |x| {
///     Ok(vec![matmul(&x[0], &transpose(&x[0], 0, 1)?)?])
/// })?;
/// let narrow = fluvial::narrowed(&program, DType::BF16, &["matmul"])?;
/// let text = narrow.to_string();
/// assert!(text.contains("cast{dtype=bf16}") && text.contains("bf16[2, 2]"));
/// # Ok::<(), Error>(())
/// ```
pub fn narrowed(program: &Program, dtype: DType, ops: &[&str]) -> Result<Program> {
    if !matches!(dtype, DType::BF16 | DType::F16) {
        return Err(Error::dtype(format!("{} is not narrower than f32", dtype.name()))
            .remedy("use bf16 or f16"));
    }
    Ok(Program { main: block(&program.main, dtype, ops)?, ..program.clone() })
}

fn block(whole: &Block, dtype: DType, ops: &[&str]) -> Result<Block> {
    whole.rewrite(|on, _, call| {
        if !call.op.blocks().is_empty() {
            let op = map_blocks(&call.op, &mut |inner| block(inner, dtype, ops).map(Arc::new))?;
            return Ok(Some(on.push(op, &call.inputs, whole.output_types(call), call.loc)));
        }
        let is_wide = |&id: &_| on.ty(id).dtype() == DType::F32;
        if !ops.contains(&call.op.name()) || !call.inputs.iter().any(is_wide) {
            return Ok(None);
        }
        let mut inputs = NewValues::new();
        for &input in &call.inputs {
            inputs.push(match on.ty(input).dtype() {
                DType::F32 => on.call1(OpRef::new(Cast { dtype }), &[input])?,
                _ => input,
            });
        }
        let mut outputs = NewValues::new();
        for output in on.call(call.op.clone(), &inputs)? {
            outputs.push(match on.ty(output).dtype() == dtype {
                true => on.call1(OpRef::new(Cast { dtype: DType::F32 }), &[output])?,
                false => output,
            });
        }
        Ok(Some(outputs))
    })
}
