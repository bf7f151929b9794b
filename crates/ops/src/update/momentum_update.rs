//! `momentum_update`: a step with momentum for many parameters.

use super::lists::{NO_GRADIENT, fitting, n_params};
use crate::prelude::*;

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "momentum_update", text: include_str!("momentum_update.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("momentum_update.wgsl"),
    args: &[
        "w",
        "v",
        "g",
        "to_w",
        "to_v",
        "lr",
        "part",
        "count",
        "momentum",
        "nesterov",
        "decay",
        "decoupled",
    ],
    count: |n| n[7].int(),
};

attributes! {
    /// A step of gradient descent with momentum for any number of parameters of one float type.
    ///
    /// Inputs: the parameters `w`, their velocities `v` and their gradients `g`; then two numbers: the rate `lr`
    /// and the part of the gradient that enters the velocity. Outputs: parameters and velocities after the step:
    /// `v * momentum + g * part`, and `w - lr * v` or, with Nesterov, `w - lr * (g + v * momentum)`, each
    /// operation rounded.
    pub struct MomentumUpdate = "momentum_update" {
        /// How much of the velocity stays.
        pub momentum: f64,
        /// Whether the gradient is looked at one step ahead.
        pub nesterov: bool,
        /// The weight decay.
        pub decay: f64,
        /// Whether `w` is first multiplied by `1 - lr * decay`; else `w * decay` is added to the gradient.
        pub decoupled: bool,
    }
}

impl Op for MomentumUpdate {
    fn arity(&self) -> Arity {
        Arity::AtLeast(5)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        fitting(inputs, 3, 2)
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        eval_by_over(self, inputs)
    }

    fn is_by_element(&self) -> bool {
        true
    }

    fn n_over(&self, n_inputs: usize) -> usize {
        2 * n_params(n_inputs, 3, 2)
    }

    fn eval_over(&self, over: &mut [Tensor], others: &[&Tensor]) -> Result<()> {
        let decay = kernels::WeightDecay { factor: self.decay, decoupled: self.decoupled };
        let settings =
            kernels::Momentum { momentum: self.momentum, nesterov: self.nesterov, decay };
        kernels::momentum(&settings, over, others)
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let n = n_params(inputs.len(), 3, 2);
        let of = |i: usize| -> Result<Native> {
            let count = Arg::Size(kernel::count(inputs[i].dims())?);
            let number = |k: usize| Arg::In(inputs.len() - 2 + k);
            let operands =
                [Arg::In(i), Arg::In(n + i), Arg::In(2 * n + i), Arg::Out(i), Arg::Out(n + i)];
            let settings = [
                Arg::Number(self.momentum),
                Arg::Int(self.nesterov.into()),
                Arg::Number(self.decay),
                Arg::Int(self.decoupled.into()),
            ];
            let args = operands.into_iter().chain([number(0), number(1), count]).chain(settings);
            Ok(Native::new(&SOURCE, [inputs[i].dtype()], args).with_shader(&SHADER))
        };
        Ok(Some(Kernel::Calls((0..n).map(of).collect::<Result<_>>()?)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(MomentumUpdate::NAME, MomentumUpdate::build, || {
    let with =
        |nesterov, decay, decoupled| MomentumUpdate { momentum: 0.5, nesterov, decay, decoupled };
    let all = |x: f64| f64s(&[x; 3], &[3]);
    let given = || [all(1.0), all(4.0), all(2.0), f64s(&[0.25], &[]), f64s(&[0.5], &[])];
    let two = [all(1.0), ramp(&[2, 2]), all(4.0), ramp(&[2, 2]), all(2.0), ramp(&[2, 2])];
    vec![
        Sample::new(with(false, 0.0, false), given()).gives([all(0.25), all(3.0)]),
        Sample::new(with(true, 0.0, false), given()).gives([all(0.125), all(3.0)]),
        Sample::new(with(false, 2.0, true), given()).gives([all(-0.25), all(3.0)]),
        Sample::new(with(false, 2.0, false), given()).gives([all(0.0), all(4.0)]),
        Sample::new(with(true, 0.5, false), {
            two.into_iter().chain([f64s(&[0.25], &[]), f64s(&[1.0], &[])])
        }),
        Sample::new(with(false, 0.0, false), given().into_iter().chain([all(1.0)]))
            .refused("not 3 lists of one length"),
    ]
});
