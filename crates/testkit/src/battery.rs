//! The battery: every check of an op that follows from its samples.
//!
//! A sample says what comes of one call. From it follow: the refusal in both modes; or the outputs,
//! also of inputs in other layouts, element types and sizes; the same outputs by programs, with
//! known and with symbolic sizes, and from files; and gradients to second order.

mod forward;
mod gradients;
mod refused;
mod sizes;
mod variants;

use fluvial_core::{Expect, Loc, OpDef, OpRef, Outputs, Result, Sample, Value, Var, bind, no_grad};

use crate::check::{Check, Context, has_gradient};

/// Checks all samples of the op of that name, of `fluvial_ops` or structural; panics with the op,
/// the sample, what was compared, and both values.
#[track_caller]
pub fn check_op(name: &str) {
    let registry = fluvial_ops::registry();
    match registry.defs().find(|def| def.name == name) {
        Some(def) => check_def(def),
        None => panic!("no op is named `{name}`"),
    }
}

/// Checks all samples of an op, for crates with ops of their own.
#[track_caller]
pub fn check_def(def: &OpDef) {
    for (index, sample) in (def.samples)().iter().enumerate() {
        if let Err(failure) = check_sample(sample) {
            let inputs: Vec<String> = sample.inputs.iter().map(crate::check::show).collect();
            let inputs = inputs.join("\n         ");
            panic!(
                "op `{}`, sample {index}: {failure}\n\n  op     {:?}\n  inputs {inputs}",
                def.name, sample.op
            );
        }
    }
}

/// Checks one sample.
pub fn check_sample(sample: &Sample) -> Check {
    let call = Call { op: sample.op.clone(), inputs: sample.inputs.clone() };
    if let Expect::Refused(text) = sample.expect {
        return refused::check(&call, text);
    }
    let outputs = call.run()?;
    forward::expected(&call, &outputs, &sample.expect).context("forward")?;
    forward::layouts(&call, &outputs).context("other layouts")?;
    forward::dtypes(&call, &sample.expect).context("other element types")?;
    forward::complex(&call).context("complex numbers")?;
    refused::check_spoiled(&call)?;
    gradients::check(&call).context("gradients")?;
    sizes::symbolic(&call).context("symbolic sizes")?;
    sizes::empty(&call).context("no elements")?;
    sizes::scalars(&call, &sample.expect).context("0-d")
}

/// An op and its inputs.
struct Call {
    op: OpRef,
    inputs: Vec<Value>,
}

impl Call {
    /// Runs the op imperatively and checks that the outputs are what `infer` says.
    fn run(&self) -> Check<Vec<Value>> {
        let outputs = self.outputs()?;
        forward::inferred(self, &outputs)?;
        Ok(outputs)
    }

    fn outputs(&self) -> Result<Vec<Value>> {
        let _no_grad = no_grad();
        let inputs: Vec<Var> = self.inputs.iter().cloned().map(Var::new).collect();
        let (outputs, _) = bind_here(&self.op, &inputs);
        outputs?.iter().map(|var| var.value().cloned()).collect()
    }

    /// The inputs whose elements are floats.
    fn floats(&self) -> Vec<usize> {
        (0..self.inputs.len()).filter(|&i| has_gradient(&self.inputs[i].ty())).collect()
    }
}

/// Binds the op on behalf of the caller's line, and says which one that is.
#[track_caller]
fn bind_here(op: &OpRef, inputs: &[Var]) -> (Result<Outputs>, Loc) {
    (bind(op, &inputs.iter().collect::<Vec<_>>()), Loc::caller())
}
