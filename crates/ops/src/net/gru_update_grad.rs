//! `gru_update_grad`: the gradient of `gru_update`.

use super::gru_update::defined;
use super::lstm_update::{as_rows, gates_fit, shaped};
use crate::prelude::*;

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "gru_update_grad", text: include_str!("gru_update_grad.c"), needs: &[] };

attributes! {
    /// The gradient of [`GruUpdate`](super::gru_update::GruUpdate).
    ///
    /// Inputs: the cotangent of the next `h`, both shares of the gates and the last `h`. Outputs: the
    /// cotangents of the shares and of the last `h`.
    pub struct GruUpdateGrad = "gru_update_grad" {}
}

impl Op for GruUpdateGrad {
    fn arity(&self) -> Arity {
        Arity::Exactly(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (input, recurrent, h) = (inputs[1], inputs[2], inputs[3]);
        gates_fit(input, 3, h)?;
        gates_fit(recurrent, 3, h)?;
        match inputs[0] == h {
            true => Ok(smallvec![*input, *recurrent, *h]),
            false => Err(Error::shape(format!("the cotangent is not {h}"))),
        }
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let rows = |i: usize| as_rows(inputs[i].tensor()?);
        let (dinput, drecurrent, dh) =
            kernels::gru_cell_grad(&rows(0)?, &rows(1)?, &rows(2)?, &rows(3)?)?;
        shaped(outs, [dinput, drecurrent, dh])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, |p| {
            let inputs: Vec<Var> = (0..4).map(|i| p.x(i)).collect();
            let wanted: Vec<bool> = (0..4).map(|i| p.wanted(i)).collect();
            let gradient = |x: &[Var]| {
                let step = |own: &[Var]| Ok(vec![defined(&own[0], &own[1], &own[2])?]);
                let found = vjp_through(step, &x[1..], &[true; 3], &[Some(x[0].clone())])?;
                Ok(found.into_iter().flatten().collect())
            };
            vjp_through(gradient, &inputs, &wanted, p.dys())
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (rest, hidden) = inputs[3].dims().split_at(inputs[3].rank() - 1);
        let sizes = [kernel::count(rest)?, hidden[0]].map(Arg::Size);
        let operands =
            [Arg::In(0), Arg::In(1), Arg::In(2), Arg::In(3), Arg::Out(0), Arg::Out(1), Arg::Out(2)];
        Native::new(&SOURCE, [inputs[3].dtype()], operands.into_iter().chain(sizes)).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(GruUpdateGrad::NAME, GruUpdateGrad::build, || {
    let zeros = f64s(&[0.0; 3], &[1, 3]);
    let one = |x: f64| f64s(&[x], &[1, 1]);
    vec![
        Sample::new(GruUpdateGrad {}, [one(1.0), zeros.clone(), zeros, one(2.0)]).gives([
            f64s(&[0.0, 0.5, 0.5], &[1, 3]),
            f64s(&[0.0, 0.5, 0.25], &[1, 3]),
            one(0.5),
        ]),
        Sample::new(
            GruUpdateGrad {},
            [
                ramp(&[3, 2]),
                ramp(&[3, 6]),
                ramp(&[6, 3]).reshape(&[3, 6]).expect("as many"),
                ramp(&[2, 3]).reshape(&[3, 2]).expect("as many"),
            ],
        ),
        Sample::new(GruUpdateGrad {}, [ramp(&[1]), ramp(&[6]), ramp(&[6]), ramp(&[2])])
            .refused("cotangent"),
    ]
});
