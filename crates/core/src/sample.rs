//! Samples: what the test battery needs to know of an op, stated in the op's own file.

use fluvial_tensor::Tensor;

use crate::op::OpRef;
use crate::value::Value;

/// An op applied to inputs, and what should come of it.
///
/// From each sample the battery makes the runs in both modes, strided, empty and 0-d variants,
/// gradients to second order, text and binary round trips.
pub struct Sample {
    /// The op.
    pub op: OpRef,
    /// Its inputs.
    pub inputs: Vec<Value>,
    /// What comes of it.
    pub expect: Expect,
}

/// What should come of a sample.
pub enum Expect {
    /// These outputs, up to rounding.
    Outputs(Vec<Value>),
    /// For elementwise ops: this function of the broadcast elements.
    Scalar(fn(&[f64]) -> f64),
    /// An error whose text contains this.
    Refused(&'static str),
    /// Outputs that only the modes' agreement and the gradients judge (random numbers).
    Agreement,
}

impl Sample {
    /// An op on tensors; what it should give is said by the next call.
    pub fn new(op: impl Into<OpRef>, inputs: impl IntoIterator<Item = Tensor>) -> Sample {
        Sample::of_values(op, inputs.into_iter().map(Value::from))
    }

    /// An op on values that may be lists.
    pub fn of_values(op: impl Into<OpRef>, inputs: impl IntoIterator<Item = Value>) -> Sample {
        Sample { op: op.into(), inputs: inputs.into_iter().collect(), expect: Expect::Agreement }
    }

    /// Expects these outputs.
    pub fn gives(self, outputs: impl IntoIterator<Item = Tensor>) -> Sample {
        self.gives_values(outputs.into_iter().map(Value::from))
    }

    /// Expects these outputs, some of which are lists.
    pub fn gives_values(self, outputs: impl IntoIterator<Item = Value>) -> Sample {
        Sample { expect: Expect::Outputs(outputs.into_iter().collect()), ..self }
    }

    /// Expects this function of the elements.
    pub fn gives_scalar(self, reference: fn(&[f64]) -> f64) -> Sample {
        Sample { expect: Expect::Scalar(reference), ..self }
    }

    /// Expects an error whose text contains `text`.
    pub fn refused(self, text: &'static str) -> Sample {
        Sample { expect: Expect::Refused(text), ..self }
    }
}
