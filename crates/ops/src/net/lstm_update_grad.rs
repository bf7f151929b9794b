//! `lstm_update_grad`: the gradient of `lstm_update`.

use super::lstm_update::{as_rows, defined, gates_fit, shaped};
use crate::prelude::*;

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "lstm_update_grad", text: include_str!("lstm_update_grad.c"), needs: &[] };

attributes! {
    /// The gradient of [`LstmUpdate`](super::lstm_update::LstmUpdate).
    ///
    /// Inputs: the cotangents of the next `h` and `c`, the sums of the gates and the last `c`. Outputs: the
    /// cotangents of the sums and of the last `c`.
    pub struct LstmUpdateGrad = "lstm_update_grad" {}
}

impl Op for LstmUpdateGrad {
    fn arity(&self) -> Arity {
        Arity::Exactly(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (gates, c) = (inputs[2], inputs[3]);
        gates_fit(gates, 4, c)?;
        match inputs[0] == c && inputs[1] == c {
            true => Ok(smallvec![*gates, *c]),
            false => Err(Error::shape(format!("the cotangents are not {c} both"))),
        }
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let rows = |i: usize| as_rows(inputs[i].tensor()?);
        let (dgates, dc) = kernels::lstm_cell_grad(&rows(0)?, &rows(1)?, &rows(2)?, &rows(3)?)?;
        shaped(outs, [dgates, dc])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, |p| {
            let inputs: Vec<Var> = (0..4).map(|i| p.x(i)).collect();
            let wanted: Vec<bool> = (0..4).map(|i| p.wanted(i)).collect();
            let gradient = |x: &[Var]| {
                let dys = [Some(x[0].clone()), Some(x[1].clone())];
                let step = |own: &[Var]| defined(&own[0], &own[1]).map(|(h, c)| vec![h, c]);
                let found = vjp_through(step, &x[2..], &[true, true], &dys)?;
                Ok(found.into_iter().flatten().collect())
            };
            vjp_through(gradient, &inputs, &wanted, p.dys())
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (rest, hidden) = inputs[3].dims().split_at(inputs[3].rank() - 1);
        let sizes = [kernel::count(rest)?, hidden[0]].map(Arg::Size);
        let operands = [Arg::In(0), Arg::In(1), Arg::In(2), Arg::In(3), Arg::Out(0), Arg::Out(1)];
        Native::new(&SOURCE, [inputs[3].dtype()], operands.into_iter().chain(sizes)).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(LstmUpdateGrad::NAME, LstmUpdateGrad::build, || {
    let zeros = f64s(&[0.0; 4], &[1, 4]);
    let one = |x: f64| f64s(&[x], &[1, 1]);
    vec![
        // With gates at a half, `c` is halved, and a quarter of it is what its gate's slope passes.
        Sample::new(LstmUpdateGrad {}, [one(0.0), one(1.0), zeros, one(2.0)])
            .gives([f64s(&[0.0, 0.5, 0.5, 0.0], &[1, 4]), one(0.5)]),
        Sample::new(
            LstmUpdateGrad {},
            [
                ramp(&[2, 3]),
                ramp(&[3, 2]).reshape(&[2, 3]).expect("six"),
                ramp(&[2, 12]),
                ramp(&[2, 3]),
            ],
        ),
        Sample::new(LstmUpdateGrad {}, [one(0.0), ramp(&[1, 2]), ramp(&[1, 4]), one(1.0)])
            .refused("cotangents"),
    ]
});
