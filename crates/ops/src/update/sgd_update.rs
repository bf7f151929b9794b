//! `sgd_update`: a step of gradient descent for many parameters.

use super::lists::{NO_GRADIENT, fitting, n_params};
use crate::prelude::*;

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "sgd_update", text: include_str!("sgd_update.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("sgd_update.wgsl"),
    args: &["w", "g", "to", "lr", "count", "decay", "decoupled"],
    count: |n| n[4].int(),
};

attributes! {
    /// A step of gradient descent for any number of parameters of one float type.
    ///
    /// Inputs: the parameters `w`, their gradients `g`, and the rate `lr`. Outputs: `w - lr * g`, each operation
    /// rounded.
    pub struct SgdUpdate = "sgd_update" {
        /// The weight decay.
        pub decay: f64,
        /// Whether `w` is first multiplied by `1 - lr * decay`; else `w * decay` is added to the gradient.
        pub decoupled: bool,
    }
}

impl Op for SgdUpdate {
    fn arity(&self) -> Arity {
        Arity::AtLeast(3)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        fitting(inputs, 2, 1)
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        eval_by_over(self, inputs)
    }

    fn is_by_element(&self) -> bool {
        true
    }

    fn n_over(&self, n_inputs: usize) -> usize {
        n_params(n_inputs, 2, 1)
    }

    fn eval_over(&self, over: &mut [Tensor], others: &[&Tensor]) -> Result<()> {
        let decay = kernels::WeightDecay { factor: self.decay, decoupled: self.decoupled };
        kernels::sgd(decay, over, others)
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let n = n_params(inputs.len(), 2, 1);
        let of = |i: usize| -> Result<Native> {
            let count = Arg::Size(kernel::count(inputs[i].dims())?);
            let number = |k: usize| Arg::In(inputs.len() - 1 + k);
            let settings = [Arg::Number(self.decay), Arg::Int(self.decoupled.into())];
            let args = [Arg::In(i), Arg::In(n + i), Arg::Out(i), number(0), count];
            let args = args.into_iter().chain(settings);
            Ok(Native::new(&SOURCE, [inputs[i].dtype()], args).with_shader(&SHADER))
        };
        Ok(Some(Kernel::Calls((0..n).map(of).collect::<Result<_>>()?)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(SgdUpdate::NAME, SgdUpdate::build, || {
    let with = |decay, decoupled| SgdUpdate { decay, decoupled };
    let all = |x: f64| f64s(&[x; 3], &[3]);
    let given = || [all(1.0), all(2.0), f64s(&[0.25], &[])];
    let two = [all(1.0), ramp(&[2, 2]), all(2.0), ramp(&[2, 2]), f64s(&[0.5], &[])];
    vec![
        Sample::new(with(0.0, false), given()).gives([all(0.5)]),
        Sample::new(with(2.0, true), given()).gives([all(0.0)]),
        Sample::new(with(2.0, false), given()).gives([all(0.0)]),
        Sample::new(with(0.0, false), two),
        Sample::new(with(0.0, false), [all(1.0), i64s(&[1, 2, 3], &[3]), f64s(&[0.25], &[])])
            .refused("floats of one element type"),
    ]
});
