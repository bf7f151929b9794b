//! Layers against those of PyTorch: names and sizes of their states, outputs, gradients, buffers
//! after the call; and both modes against each other.

use fluvial::prelude::*;
use fluvial_testkit::check::{Check, Context, Failure, Tolerance, close, ensure};
use fluvial_testkit::golden::{tensor, weights};
use serde_json::Value as Json;

use super::layers_made::{Call, made};

const F64: Tolerance = Tolerance { relative: 1e-10, absolute: 1e-11 };
const F32: Tolerance = Tolerance { relative: 2e-4, absolute: 2e-5 };
/// Loops of programs add gradients in another order.
const MODES: Tolerance = Tolerance { relative: 1e-11, absolute: 1e-12 };

#[test]
fn layers_are_those_of_pytorch() {
    let path = format!("{}/golden/layers.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("`make golden` writes the file");
    let mut failures = Vec::new();
    let mut n_cases = 0;
    for line in text.lines() {
        let case: Json = serde_json::from_str(line).expect("JSON");
        n_cases += 1;
        for (dtype, tolerance) in [(DType::F64, F64), (DType::F32, F32)] {
            if let Err(failure) = check(&case, dtype, tolerance) {
                let (layer, attributes) = (&case["layer"], &case["attributes"]);
                failures.push(format!("{layer} {attributes} in {dtype}: {failure}"));
            }
        }
    }
    assert!(n_cases >= 140, "{n_cases} cases");
    let shown = failures[..failures.len().min(12)].join("\n");
    assert!(failures.is_empty(), "{} failures\n{shown}", failures.len());
}

/// What a call gives: outputs, then gradients of inputs and of parameters.
struct Results {
    outputs: Vec<Var>,
    of_inputs: Vec<Option<Var>>,
    of_parameters: Vec<Option<Var>>,
}

fn check(case: &Json, dtype: DType, tolerance: Tolerance) -> Check {
    let at = Path::new("").with_dtype(dtype);
    let call = made(case["layer"].as_str().unwrap_or(""), &case["attributes"], &at);
    at.set_training(case["attributes"]["train"] == true);
    let dict = states(case, dtype)?;
    let inputs = inputs(case, dtype)?;

    let results = {
        let _scope = State::new().enter();
        at.load_state_dict(&dict, true)?;
        let names: Vec<String> = at.state_dict()?.names().map(str::to_string).collect();
        let expected: Vec<&str> = dict.names().collect();
        ensure(names == expected, || format!("states {names:?}, expected {expected:?}"))?;
        let inputs = tracked(inputs.iter().map(|x| x.as_ref().map(|x| Var::new(x.clone()))))?;
        run(case, &at, &call, &inputs)?
    };
    for (k, found) in results.outputs.iter().enumerate() {
        let expected = named(&case["outputs"][k], dtype)?;
        close(found.value()?, &expected.into(), tolerance).context(format!("output {k}"))?;
    }
    for (k, found) in results.of_inputs.iter().enumerate() {
        gradient(found, &case["input_gradients"][k], dtype, tolerance)
            .context(format!("gradient of input {k}"))?;
    }
    let parameters = at.parameters();
    for (parameter, found) in parameters.iter().zip(&results.of_parameters) {
        let name = parameter.key();
        gradient(found, &case["gradients"][&*name], dtype, tolerance)
            .context(format!("gradient of `{name}`"))?;
    }
    let after = at.state_dict()?;
    for (name, before) in dict.iter() {
        let expected = match case["changed"].get(name) {
            Some(changed) => named(changed, dtype)?,
            None => before.clone(),
        };
        let found = state(&after, name)?;
        close(&found.into(), &expected.into(), tolerance).context(format!("`{name}` after"))?;
    }
    if dtype == DType::F64 {
        as_program(case, &at, &call, &inputs, &dict, &results, &after).context("program")?;
    }
    Ok(())
}

fn state(dict: &StateDict, name: &str) -> Check<Tensor> {
    dict.get(name).cloned().ok_or_else(|| Failure::new(format!("`{name}` is gone")))
}

/// The same call as a program, from the same values on.
fn as_program(
    case: &Json,
    at: &Path,
    call: &Call,
    inputs: &[Option<Tensor>],
    dict: &StateDict,
    expected: &Results,
    after: &StateDict,
) -> Check {
    let scope = State::new();
    let _scope = scope.enter();
    at.load_state_dict(dict, true)?;
    // What a program finds is added to what is there, as line by line.
    at.parameters().iter().try_for_each(Parameter::zero_grad)?;
    let given: Vec<&Tensor> = inputs.iter().flatten().collect();
    let names: Vec<String> = (0..given.len()).map(|i| format!("x{i}")).collect();
    let types: Vec<(&str, Type)> =
        names.iter().map(String::as_str).zip(given.iter().map(|x| x.ty())).collect();
    let mut present = Vec::new();
    let program = Program::build(&types, |vars| {
        let mut vars = vars.iter().cloned();
        let vars = inputs.iter().map(|x| x.as_ref().and_then(|_| vars.next()));
        let vars = tracked(vars)?;
        let results = run(case, at, call, &vars)?;
        present = results.gradients().map(|gradient| gradient.is_some()).collect();
        let gradients: Vec<Var> = results.gradients().flatten().cloned().collect();
        Ok([results.outputs, gradients].concat())
    })?;
    let feeds: Vec<(&str, Tensor)> =
        names.iter().map(String::as_str).zip(given.into_iter().cloned()).collect();
    let found = Interpreter::new(program, scope.clone())?.run(&feeds)?;
    for (k, output) in expected.outputs.iter().enumerate() {
        let same = found[k].bitwise_eq(output.tensor()?);
        ensure(same, || format!("output {k}: {:?}, imperatively {output:?}", found[k]))?;
    }
    let mut gradients = found[expected.outputs.len()..].iter();
    for (gradient, present) in expected.gradients().zip(present) {
        match (present.then(|| gradients.next()).flatten(), gradient) {
            (Some(found), Some(gradient)) => {
                close(&found.clone().into(), gradient.value()?, MODES).context("gradient")?;
            }
            (Some(found), None) => {
                ensure(found.to_f64s().iter().all(|x| *x == 0.0), || "a gradient too many".into())?;
            }
            (None, Some(_)) => return Err(Failure::new("a gradient is missing")),
            (None, None) => {}
        }
    }
    let found = at.state_dict()?;
    for name in dict.names() {
        let (found, expected) = (state(&found, name)?, state(after, name)?);
        ensure(found.bitwise_eq(&expected), || format!("`{name}`: {found:?} and {expected:?}"))?;
    }
    Ok(())
}

impl Results {
    fn gradients(&self) -> impl Iterator<Item = Option<&Var>> {
        self.of_inputs.iter().chain(&self.of_parameters).map(Option::as_ref)
    }
}

/// Calls the layer as often as the case says, and takes the gradients of the last call. Both modes.
fn run(case: &Json, at: &Path, call: &Call, inputs: &[Option<Var>]) -> Result<Results> {
    let mut outputs = Vec::new();
    for _ in 0..case["attributes"]["steps"].as_u64().unwrap_or(1) {
        outputs = call(inputs)?;
    }
    let mut loss = Var::scalar(0.0f32);
    for (k, y) in outputs.iter().enumerate() {
        let seed = weights(k, y.dtype(), &y.ty().sizes().expect("known sizes"))?;
        loss = loss + sum(&(y * Var::new(seed)), &[], false)?;
    }
    loss.backward()?;
    let of_inputs = inputs.iter().map(|x| x.as_ref().and_then(Var::grad)).collect();
    let of_parameters = at.parameters().iter().map(Parameter::grad).collect::<Result<_>>()?;
    Ok(Results { outputs, of_inputs, of_parameters })
}

fn tracked(inputs: impl Iterator<Item = Option<Var>>) -> Result<Vec<Option<Var>>> {
    let track = |x: Option<Var>| match x {
        Some(x) if x.ty().is_float() => x.track().map(Some),
        other => Ok(other),
    };
    inputs.map(track).collect()
}

fn gradient(found: &Option<Var>, expected: &Json, dtype: DType, tolerance: Tolerance) -> Check {
    match (found, expected.is_null()) {
        (Some(found), false) => close(found.value()?, &named(expected, dtype)?.into(), tolerance),
        (None, false) => {
            let zeros = named(expected, dtype)?.to_f64s().iter().all(|x| *x == 0.0);
            ensure(zeros, || "there is none".into())
        }
        _ => Ok(()),
    }
}

fn states(case: &Json, dtype: DType) -> Check<StateDict> {
    let states = case["states"].as_array().into_iter().flatten();
    let name = |state: &Json| state[0].as_str().unwrap_or("").to_string();
    states.map(|state| Ok((name(state), named(&state[1], dtype)?))).collect()
}

fn inputs(case: &Json, dtype: DType) -> Check<Vec<Option<Tensor>>> {
    let inputs = case["inputs"].as_array().into_iter().flatten();
    inputs
        .map(|input| if input.is_null() { Ok(None) } else { named(input, dtype).map(Some) })
        .collect()
}

/// A tensor of the file, its floats in this element type.
fn named(json: &Json, dtype: DType) -> Check<Tensor> {
    let tensor = tensor(json)?.ok_or_else(|| Failure::new("a tensor is missing"))?;
    match tensor.dtype() {
        DType::F64 => Ok(tensor.cast(dtype)?),
        _ => Ok(tensor),
    }
}
