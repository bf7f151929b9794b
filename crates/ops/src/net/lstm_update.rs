//! `lstm_update`: what an LSTM does between the products with its weights.

use super::lstm_update_grad::LstmUpdateGrad;
use crate::prelude::*;
use crate::shape::narrow;
use crate::{sigmoid, tanh};

/// The next `h` and `c` from the sums of the gates `[.., 4 hidden]` and the last `c`.
#[track_caller]
pub(super) fn lstm_update(gates: &Var, c: &Var) -> Result<(Var, Var)> {
    if !matches!(c.dtype(), DType::F32 | DType::F64) || gates.dtype() != c.dtype() {
        return defined(gates, c);
    }
    let mut outputs = bind(LstmUpdate {}, &[gates, c])?;
    let next = outputs.remove(1);
    Ok((outputs.remove(0), next))
}

/// The definition by other ops.
pub(super) fn defined(gates: &Var, c: &Var) -> Result<(Var, Var)> {
    let size = c.ty().dim(c.rank() - 1);
    let gate = |i: usize| narrow(gates, -1, Dim::size(i).mul(size)?, size);
    let (enter, forget) = (sigmoid(&gate(0)?)?, sigmoid(&gate(1)?)?);
    let (new, leave) = (tanh(&gate(2)?)?, sigmoid(&gate(3)?)?);
    let next = (forget * c + enter * new).check()?;
    Ok((mul(&leave, &tanh(&next)?)?, next))
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "lstm_update", text: include_str!("lstm_update.c"), needs: &[] };

attributes! {
    /// The step behind [`lstm`](super::lstm()) and [`lstm_cell`](super::lstm_cell), for `f32` and `f64`.
    ///
    /// Inputs: the sums of the gates input, forget, cell and output, `[.., 4 hidden]`, and `c`,
    /// `[.., hidden]`. Outputs: the next `h` and `c`.
    pub struct LstmUpdate = "lstm_update" {}
}

/// Refuses gates, so many in a row, that do not fit a state; and what there is no kernel for.
pub(super) fn gates_fit(gates: &Type, n_gates: usize, state: &Type) -> Result<()> {
    if gates.is_list() || state.is_list() || state.rank() == 0 {
        return Err(Error::shape("expected gates [.., n hidden] and a state [.., hidden]"));
    }
    if !matches!(state.dtype(), DType::F32 | DType::F64) || gates.dtype() != state.dtype() {
        return Err(Error::dtype("expected gates and states all of f32 or all of f64"));
    }
    let mut dims = SmallVec::<[Dim; 8]>::from_slice(state.dims());
    let last = state.rank() - 1;
    dims[last] = state.dim(last).mul(Dim::size(n_gates))?;
    match gates.dims() == &dims[..] {
        true => Ok(()),
        false => Err(Error::shape(format!("gates {gates} do not fit a state {state}"))),
    }
}

/// The tensor as rows of its last axis.
pub(super) fn as_rows(x: &Tensor) -> Result<Tensor> {
    let width = x.dims().last().copied().unwrap_or(1);
    x.reshape(&[x.dims()[..x.rank() - 1].iter().product(), width])
}

/// Results of a cell in the shapes of its outputs.
pub(super) fn shaped(outs: &[Type], found: impl IntoIterator<Item = Tensor>) -> Result<Values> {
    let shaped = |(ty, found): (&Type, Tensor)| Ok(found.reshape(&known_sizes(ty)?)?.into());
    outs.iter().zip(found).map(shaped).collect()
}

impl Op for LstmUpdate {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        gates_fit(inputs[0], 4, inputs[1])?;
        Ok(smallvec![*inputs[1]; 2])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (gates, c) = (as_rows(inputs[0].tensor()?)?, as_rows(inputs[1].tensor()?)?);
        let (h, next) = kernels::lstm_cell(&gates, &c)?;
        shaped(outs, [h, next])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, |p| {
            let c = p.x(1);
            let given = |i: usize| p.dys()[i].clone().map_or_else(|| zeros_like(&c), Ok);
            let found = bind(LstmUpdateGrad {}, &[&given(0)?, &given(1)?, &p.x(0), &c])?;
            grads![p => found[0].clone(), found[1].clone()]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (rest, hidden) = inputs[1].dims().split_at(inputs[1].rank() - 1);
        let sizes = [kernel::count(rest)?, hidden[0]].map(Arg::Size);
        let operands = [Arg::In(0), Arg::In(1), Arg::Out(0), Arg::Out(1)];
        Native::new(&SOURCE, [inputs[1].dtype()], operands.into_iter().chain(sizes)).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(LstmUpdate::NAME, LstmUpdate::build, || {
    let zeros = f64s(&[0.0; 4], &[1, 4]);
    vec![
        Sample::new(LstmUpdate {}, [zeros, f64s(&[2.0], &[1, 1])])
            .gives([f64s(&[0.5 * 1f64.tanh()], &[1, 1]), f64s(&[1.0], &[1, 1])]),
        Sample::new(LstmUpdate {}, [ramp(&[3, 8]), ramp(&[3, 2])]),
        Sample::new(LstmUpdate {}, [ramp(&[8]), ramp(&[2])]),
        Sample::new(LstmUpdate {}, [ramp(&[3, 6]), ramp(&[3, 2])]).refused("do not fit"),
    ]
});
