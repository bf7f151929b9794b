//! `adam_update`: a step of Adam for many parameters.

use super::lists::{NO_GRADIENT, fitting, n_params};
use crate::prelude::*;

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "adam_update", text: include_str!("adam_update.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("adam_update.wgsl"),
    args: &[
        "w",
        "m",
        "v",
        "top",
        "g",
        "to_w",
        "to_m",
        "to_v",
        "to_top",
        "lr",
        "c1",
        "c2",
        "count",
        "beta1",
        "beta2",
        "eps",
        "decay",
        "decoupled",
    ],
    count: |n| n[12].int(),
};

attributes! {
    /// A step of Adam, AdamW and AMSGrad for any number of parameters of one float type.
    ///
    /// Inputs: the parameters `w`, their means `m`, their means of squares `v`, with `amsgrad` the largest of
    /// these so far, and the gradients `g`; then three numbers: the rate `lr`, the correction `c1` of the means and
    /// the root `c2` of that of the squares. Outputs: all that stands before the gradients, after the step:
    /// `m * beta1 + g * (1 - beta1)`, `v * beta2 + g * g * (1 - beta2)` and
    /// `w - lr / c1 * (m / (sqrt(v) / c2 + eps))`, each operation rounded.
    pub struct AdamUpdate = "adam_update" {
        /// How much of the means stays.
        pub beta1: f64,
        /// How much of the means of squares stays.
        pub beta2: f64,
        /// Keeps the divisor from zero.
        pub eps: f64,
        /// Whether the largest mean of squares so far is taken.
        pub amsgrad: bool,
        /// The weight decay.
        pub decay: f64,
        /// Whether `w` is first multiplied by `1 - lr * decay`; else `w * decay` is added to the gradient.
        pub decoupled: bool,
    }
}

impl AdamUpdate {
    fn n_lists(&self) -> usize {
        if self.amsgrad { 5 } else { 4 }
    }
}

impl Op for AdamUpdate {
    fn arity(&self) -> Arity {
        Arity::AtLeast(self.n_lists() + 3)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        fitting(inputs, self.n_lists(), 3)
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        eval_by_over(self, inputs)
    }

    fn is_by_element(&self) -> bool {
        true
    }

    fn n_over(&self, n_inputs: usize) -> usize {
        (self.n_lists() - 1) * n_params(n_inputs, self.n_lists(), 3)
    }

    fn eval_over(&self, over: &mut [Tensor], others: &[&Tensor]) -> Result<()> {
        let settings = kernels::Adam {
            betas: (self.beta1, self.beta2),
            eps: self.eps,
            amsgrad: self.amsgrad,
            decay: kernels::WeightDecay { factor: self.decay, decoupled: self.decoupled },
        };
        kernels::adam(&settings, over, others)
    }

    fn grad(&self) -> Grad {
        NO_GRADIENT
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let n = n_params(inputs.len(), self.n_lists(), 3);
        let of = |i: usize| -> Result<Native> {
            let count = Arg::Size(kernel::count(inputs[i].dims())?);
            let number = |k: usize| Arg::In(inputs.len() - 3 + k);
            let lists = self.n_lists();
            let kept = |present: bool, arg: Arg| if present { arg } else { Arg::Nothing };
            let operands = [
                Arg::In(i),
                Arg::In(n + i),
                Arg::In(2 * n + i),
                kept(self.amsgrad, Arg::In(3 * n + i)),
                Arg::In((lists - 1) * n + i),
                Arg::Out(i),
                Arg::Out(n + i),
                Arg::Out(2 * n + i),
                kept(self.amsgrad, Arg::Out(3 * n + i)),
            ];
            let numbers = [number(0), number(1), number(2), count];
            let settings = [self.beta1, self.beta2, self.eps, self.decay].map(Arg::Number);
            let args = operands.into_iter().chain(numbers).chain(settings);
            let args = args.chain([Arg::Int(self.decoupled.into())]);
            Ok(Native::new(&SOURCE, [inputs[i].dtype()], args).with_shader(&SHADER))
        };
        Ok(Some(Kernel::Calls((0..n).map(of).collect::<Result<_>>()?)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AdamUpdate::NAME, AdamUpdate::build, || {
    let plain = || AdamUpdate {
        beta1: 0.5,
        beta2: 0.75,
        eps: 0.0,
        amsgrad: false,
        decay: 0.0,
        decoupled: false,
    };
    let all = |x: f64| f64s(&[x; 3], &[3]);
    let one = |x: f64| f64s(&[x], &[]);
    let squares = || f64s(&[0.5, 2.0, 1.0, 0.25, 3.0, 0.125], &[2, 3]);
    let numbers = || [one(0.5), one(0.5), one(0.5)];
    let small = |squares: f64| [all(1.0), all(0.0), all(squares), all(4.0)];
    let large = || [ramp(&[2, 3]), ramp(&[2, 3]), squares(), squares(), ramp(&[2, 3])];
    let mixed = [all(1.0), ramp(&[2, 3]), all(0.0), ramp(&[2, 3]), all(0.0), squares()];
    let mixed = mixed.into_iter().chain([all(4.0), ramp(&[2, 3])]);
    let wrong = [all(1.0), all(0.0), all(0.0), f64s(&[1.0, 1.0], &[2])];
    vec![
        Sample::new(plain(), small(0.0).into_iter().chain(numbers())).gives([
            all(0.5),
            all(2.0),
            all(4.0),
        ]),
        Sample::new(AdamUpdate { decay: 0.5, decoupled: true, ..plain() }, {
            small(0.0).into_iter().chain(numbers())
        })
        .gives([all(0.25), all(2.0), all(4.0)]),
        Sample::new(AdamUpdate { decay: 4.0, ..plain() }, {
            small(0.0).into_iter().chain(numbers())
        })
        .gives([all(0.5), all(4.0), all(16.0)]),
        Sample::new(AdamUpdate { amsgrad: true, ..plain() }, large().into_iter().chain(numbers())),
        Sample::new(plain(), mixed.chain(numbers())),
        Sample::new(plain(), wrong.into_iter().chain(numbers())).refused("stands for parameter 0"),
        Sample::new(plain(), small(0.0).into_iter().chain([one(0.5), one(0.5), all(0.5)]))
            .refused("scalars of f64"),
    ]
});
