//! Drops what loops carry for nobody.

use fluvial_core::{Block, Call, Carries, NewValues, OpRef, Result, Rewrite, ValueId};
use fluvial_ops::control::{ForEach, While};
use smallvec::SmallVec;

use super::dead::needed;
use crate::driver::Patches;

/// Values that people have named stay, as they may look at them.
pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    if !block.calls.iter().any(|call| call.op.carries().is_some()) {
        return Ok(block.clone());
    }
    let uses = block.use_counts();
    block.rewrite(|on, _, call| match call.op.carries() {
        Some(carries) if patches.allowed() => {
            let kept = kept(block, call, carries, &uses);
            narrowed(on, block, call, carries, &kept, patches)
        }
        _ => Ok(None),
    })
}

/// By carried value: whether it is used after the loop or decides about what is.
fn kept(block: &Block, call: &Call, carries: Carries, uses: &[usize]) -> Vec<bool> {
    let blocks = call.op.blocks();
    let [body] = blocks[..] else { return vec![true; carries.count] };
    let is_wanted = |k: usize| {
        let output = call.first_output + (carries.outputs + k) as ValueId;
        let param = (carries.params + k) as ValueId;
        uses[output as usize] > 0
            || block.names.contains_key(&output)
            || body.names.contains_key(&param)
            || body.types[param as usize].is_symbolic()
    };
    let mut kept: Vec<bool> = (0..carries.count).map(is_wanted).collect();
    while kept.contains(&false) {
        let is_kept = |place: usize| {
            place.checked_sub(carries.results).and_then(|k| kept.get(k)) != Some(&false)
        };
        let results = (0..body.results.len()).filter(|&i| is_kept(i)).map(|i| body.results[i]);
        let body = body.with_results(results.collect());
        let failing = body.failing_calls();
        let needed = needed(&body, &|index| failing[index]);
        let calls = body.calls.iter().zip(&needed).filter(|(_, needed)| **needed);
        let used = calls.flat_map(|(call, _)| call.inputs.iter()).chain(&body.results);
        let mut has_grown = false;
        for &id in used {
            let k = (id as usize).checked_sub(carries.params).filter(|&k| k < carries.count);
            has_grown |= k.is_some_and(|k| !std::mem::replace(&mut kept[k], true));
        }
        if !has_grown {
            break;
        }
    }
    kept
}

/// The loop that carries only what is kept.
fn narrowed(
    on: &mut Rewrite,
    block: &Block,
    call: &Call,
    carries: Carries,
    kept: &[bool],
    patches: &mut Patches,
) -> Result<Option<NewValues>> {
    if !kept.contains(&false) {
        return Ok(None);
    }
    let op = if let Some(op) = call.op.downcast::<While>() {
        op.carrying(kept)?.map(OpRef::new)
    } else if let Some(op) = call.op.downcast::<ForEach>() {
        Some(OpRef::new(op.carrying(kept)?))
    } else {
        None
    };
    let Some(op) = op else { return Ok(None) };
    let is_kept = |first: usize, place: usize| {
        place.checked_sub(first).and_then(|k| kept.get(k)) != Some(&false)
    };
    let inputs = call.inputs.iter().enumerate().filter(|(i, _)| is_kept(carries.inputs, *i));
    let inputs: SmallVec<[ValueId; 4]> = inputs.map(|(_, &id)| id).collect();
    let types = block.output_types(call).iter().enumerate();
    let types = types.filter(|(i, _)| is_kept(carries.outputs, *i));
    let types: SmallVec<[_; 4]> = types.map(|(_, &ty)| ty).collect();
    let mut made = on.push(op, &inputs, &types, call.loc).into_iter();
    let n_gone = kept.iter().filter(|kept| !**kept).count();
    patches.add(call.loc, || format!("`{}` carries {n_gone} values less", call.op.name()));
    // Nothing uses what stands for an output that is gone.
    let before = |i: usize| call.inputs[carries.inputs + i - carries.outputs];
    let output = |i| match is_kept(carries.outputs, i) {
        true => made.next(),
        false => Some(before(i)),
    };
    Ok((0..call.n_outputs).map(output).collect())
}

#[cfg(test)]
mod tests {
    use fluvial_core::{DType, Program, Type, Var};
    use fluvial_ops::{gt, sum, while_loop};

    use crate::{Options, compile};

    /// A loop that halves a value, and carries two others.
    fn halves(is_used: bool) -> Program {
        let ty = Type::of(DType::F32, &[3]).unwrap();
        let positive = |x: &Var| gt(&sum(x, &[], false)?, &Var::scalar(1.0f32));
        Program::build(&[("x", ty)], |x| {
            let (a, b) = (Var::scalar(1i64), Var::scalar(2i64));
            let out = while_loop(
                &[&x[0], &a, &b],
                |v| positive(&v[0]),
                |v| Ok(vec![&v[0] / 2.0, v[2].clone(), &v[1] + &v[2]]),
            )?;
            Ok(if is_used { vec![out[0].clone(), out[1].clone()] } else { vec![out[0].clone()] })
        })
        .unwrap()
    }

    fn carried(is_used: bool) -> usize {
        let program = halves(is_used);
        let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
        let compiled = compile(&program, &outputs, &Options::default()).unwrap();
        let count = |call: &fluvial_core::Call| Some(call.op.carries()?.count);
        compiled.program.main.calls.iter().find_map(count).unwrap()
    }

    #[test]
    fn what_feeds_only_itself_goes() {
        assert_eq!(carried(false), 1);
    }

    #[test]
    fn what_feeds_a_used_value_stays() {
        assert_eq!(carried(true), 3);
    }
}
