//! Calls that must be refused: with the reason, the op and the user's line, in both modes.

use fluvial_core::{Error, ErrorKind, Loc, OpRef, Program, Tensor, Type, Value, Var, inferred};

use super::{Call, bind_here};
use crate::check::{Check, Context, Failure, ensure};

pub(super) fn check(call: &Call, text: &str) -> Check {
    let inputs: Vec<Var> = call.inputs.iter().cloned().map(Var::new).collect();
    let (outcome, here) = bind_here(&call.op, &inputs);
    let error = refusal(outcome.map(drop), "imperatively")?;
    explains(&error, call, text, here).context("imperatively")?;

    let types: Vec<Type> = call.inputs.iter().map(|input| input.ty()).collect();
    let names: Vec<String> = (0..types.len()).map(|i| format!("x{i}")).collect();
    let named: Vec<(&str, Type)> =
        names.iter().map(String::as_str).zip(types.iter().copied()).collect();
    let mut here = Loc::Unknown;
    let built = Program::build(&named, |x| {
        let (outputs, line) = bind_here(&call.op, x);
        here = line;
        outputs.map(|outputs| outputs.into_vec())
    });
    let refs: Vec<&Type> = types.iter().collect();
    let judged =
        call.op.arity().check(call.op.name(), refs.len()).and_then(|()| inferred(&*call.op, &refs));
    match (judged, built) {
        (Err(_), built) => {
            let in_program = refusal(built.map(drop), "while building")?;
            explains(&in_program, call, text, here).context("while building")?;
            ensure(in_program.message() == error.message(), || {
                format!(
                    "imperatively: {}\nwhile building: {}",
                    error.message(),
                    in_program.message()
                )
            })
        }
        (Ok(_), Err(error)) => {
            Err(Failure::new(format!("`infer` accepts what building refuses: {error}")))
        }
        (Ok(_), Ok(program)) => {
            let outcome = program.apply(&inputs.iter().collect::<Vec<_>>());
            let in_program = refusal(outcome.map(drop), "as a program")?;
            explains(&in_program, call, text, here).context("as a program")?;
            announced(&call.op, &refs, &in_program)
        }
    }
}

/// What an op refuses when it runs, it says beforehand: also of inputs that are spoiled.
pub(super) fn check_spoiled(call: &Call) -> Check {
    let types: Vec<Type> = call.inputs.iter().map(|input| input.ty()).collect();
    let refs: Vec<&Type> = types.iter().collect();
    let outs = inferred(&*call.op, &refs).ok().filter(|_| !call.op.properties().effect);
    let Some(outs) = outs else { return Ok(()) };
    for number in [0.0, -1.0, 10_000.0, -10_000.0, f64::NAN] {
        let spoiled = call.inputs.iter().map(|input| spoil(input, number));
        let spoiled = spoiled.collect::<fluvial_core::Result<Vec<Value>>>();
        let spoiled = spoiled.map_err(|error| Failure::new(error.to_string()))?;
        if let Err(error) = call.op.eval(&spoiled.iter().collect::<Vec<_>>(), &outs) {
            announced(&call.op, &refs, &error).context("on spoiled inputs")?;
        }
    }
    Ok(())
}

/// The value with this number everywhere; lists and bools stay.
fn spoil(value: &Value, number: f64) -> fluvial_core::Result<Value> {
    match value {
        Value::Tensor(tensor) if !tensor.dtype().is_bool() => {
            let spoiled = Tensor::full(tensor.dims(), number)?.cast(tensor.dtype())?;
            Ok(Value::Tensor(spoiled))
        }
        other => Ok(other.clone()),
    }
}

fn announced(op: &OpRef, types: &[&Type], error: &Error) -> Check {
    let said = op.fails(types).map(|fault| fault.kind);
    // What calls a function of the host's may fail in any way.
    let is_free = matches!(error.kind(), ErrorKind::Memory | ErrorKind::Internal)
        || said == Some(ErrorKind::Callback);
    ensure(is_free || said == Some(error.kind()), || {
        format!("`fails` says {said:?} where a run ends with: {error}")
    })
}

fn refusal(outcome: fluvial_core::Result<()>, how: &str) -> Check<Error> {
    outcome.err().ok_or_else(|| Failure::new(format!("accepted {how}, but must be refused")))
}

fn explains(error: &Error, call: &Call, text: &str, here: Loc) -> Check {
    ensure(error.to_string().contains(text), || format!("expected {text:?}, found: {error}"))?;
    let op = error.op_text().unwrap_or_default();
    let named = op.strip_prefix(call.op.name()).is_some_and(|rest| rest.starts_with('('));
    ensure(named, || format!("the error does not name the op: {error}"))?;
    let at = error.loc().unwrap_or(Loc::Unknown);
    ensure(at == here, || format!("the error is at {at}, the call at {here}: {error}"))
}
