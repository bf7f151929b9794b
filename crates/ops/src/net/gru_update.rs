//! `gru_update`: what a GRU does between the products with its weights.

use super::gru_update_grad::GruUpdateGrad;
use super::lstm_update::{as_rows, gates_fit, shaped};
use crate::prelude::*;
use crate::shape::narrow;
use crate::{sigmoid, tanh};

/// The next `h` from the shares of the input and of `h` in the gates, `[.., 3 hidden]` each, and `h`.
#[track_caller]
pub(super) fn gru_update(input: &Var, recurrent: &Var, h: &Var) -> Result<Var> {
    let dtype = h.dtype();
    let is_one = input.dtype() == dtype && recurrent.dtype() == dtype;
    match is_one && matches!(dtype, DType::F32 | DType::F64) {
        true => bind1(GruUpdate {}, &[input, recurrent, h]),
        false => defined(input, recurrent, h),
    }
}

/// The definition by other ops.
pub(super) fn defined(input: &Var, recurrent: &Var, h: &Var) -> Result<Var> {
    let size = h.ty().dim(h.rank() - 1);
    let gate = |x: &Var, i: usize| narrow(x, -1, Dim::size(i).mul(size)?, size);
    let sum = |i| add(&gate(input, i)?, &gate(recurrent, i)?);
    let (reset, keep) = (sigmoid(&sum(0)?)?, sigmoid(&sum(1)?)?);
    let new = tanh(&(gate(input, 2)? + reset * gate(recurrent, 2)?))?;
    (&new + keep * (h - &new)).check()
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "gru_update", text: include_str!("gru_update.c"), needs: &[] };

attributes! {
    /// The step behind [`gru`](super::gru()) and [`gru_cell`](super::gru_cell), for `f32` and `f64`.
    ///
    /// Inputs: the shares of the input and of `h` in the gates reset, update and new, `[.., 3 hidden]` each,
    /// and `h`, `[.., hidden]`. Output: the next `h`.
    pub struct GruUpdate = "gru_update" {}
}

impl Op for GruUpdate {
    fn arity(&self) -> Arity {
        Arity::Exactly(3)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        gates_fit(inputs[0], 3, inputs[2])?;
        gates_fit(inputs[1], 3, inputs[2])?;
        Ok(smallvec![*inputs[2]])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let rows = |i: usize| as_rows(inputs[i].tensor()?);
        shaped(outs, [kernels::gru_cell(&rows(0)?, &rows(1)?, &rows(2)?)?])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, |p| {
            let found = bind(GruUpdateGrad {}, &[&p.dy(), &p.x(0), &p.x(1), &p.x(2)])?;
            grads![p => found[0].clone(), found[1].clone(), found[2].clone()]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (rest, hidden) = inputs[2].dims().split_at(inputs[2].rank() - 1);
        let sizes = [kernel::count(rest)?, hidden[0]].map(Arg::Size);
        let operands = [Arg::In(0), Arg::In(1), Arg::In(2), Arg::Out(0)];
        Native::new(&SOURCE, [inputs[2].dtype()], operands.into_iter().chain(sizes)).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(GruUpdate::NAME, GruUpdate::build, || {
    let zeros = f64s(&[0.0; 3], &[1, 3]);
    let one = |x: f64| f64s(&[x], &[1, 1]);
    vec![
        Sample::new(GruUpdate {}, [zeros.clone(), zeros, one(2.0)]).gives([one(1.0)]),
        Sample::new(
            GruUpdate {},
            [ramp(&[3, 6]), ramp(&[6, 3]).reshape(&[3, 6]).expect("as many"), ramp(&[3, 2])],
        ),
        Sample::new(GruUpdate {}, [ramp(&[6]), ramp(&[6]), ramp(&[2])]),
        Sample::new(GruUpdate {}, [ramp(&[6]), ramp(&[4]), ramp(&[2])]).refused("do not fit"),
    ]
});
