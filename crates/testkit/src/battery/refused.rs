//! Calls that must be refused: with the reason, the op and the user's line, in both modes.

use fluvial_core::{Error, Loc, Program, Type, Var};

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
        call.op.arity().check(call.op.name(), refs.len()).and_then(|()| call.op.infer(&refs));
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
            explains(&in_program, call, text, here).context("as a program")
        }
    }
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
