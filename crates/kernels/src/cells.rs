//! What LSTM and GRU cells do between the products with their weights, in one pass, and the gradients.
//!
//! Tensors are `f32` or `f64`, all of one dtype; states are `[batch, hidden]`, and the gates lie one after
//! the other in rows of their own, as PyTorch has them.

mod step;

#[cfg(test)]
mod tests;

use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::scalar::float::Float;
use step::{Functions, Step, run};

/// One step of a long short-term memory: the next `h` and `c`, from the sums of the gates
/// `[batch, 4 hidden]`, which are input, forget, cell and output, and the last `c`.
///
/// ```
/// use fluvial_kernels::lstm_cell;
/// use fluvial_tensor::{DType, Tensor};
///
/// let c = Tensor::from_slice(&[2.0f32], &[1, 1])?;
/// let (_, next) = lstm_cell(&Tensor::zeros(DType::F32, &[1, 4])?, &c)?;
/// assert_eq!(next.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn lstm_cell(gates: &Tensor, c: &Tensor) -> Result<(Tensor, Tensor)> {
    let [h, next] = run_cell(&Lstm, [(gates, 4), (c, 1)], [1, 1])?;
    Ok((h, next))
}

/// The gradients of [`lstm_cell`] with respect to the gates and `c`, from those of both results.
pub fn lstm_cell_grad(
    dh: &Tensor,
    dnext: &Tensor,
    gates: &Tensor,
    c: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let inputs = [(gates, 4), (c, 1), (dh, 1), (dnext, 1)];
    let [dgates, dc] = run_cell(&LstmGrad, inputs, [4, 1])?;
    Ok((dgates, dc))
}

/// One step of a gated recurrent unit: the next `h`, from the shares of the input and of `h` in the
/// gates, `[batch, 3 hidden]` each, which are reset, update and new, and the last `h`.
///
/// ```
/// use fluvial_kernels::gru_cell;
/// use fluvial_tensor::{DType, Tensor};
///
/// let zero = Tensor::zeros(DType::F32, &[1, 3])?;
/// let h = Tensor::from_slice(&[2.0f32], &[1, 1])?;
/// assert_eq!(gru_cell(&zero, &zero, &h)?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn gru_cell(input: &Tensor, recurrent: &Tensor, h: &Tensor) -> Result<Tensor> {
    let [next] = run_cell(&Gru, [(input, 3), (recurrent, 3), (h, 1)], [1])?;
    Ok(next)
}

/// The gradients of [`gru_cell`] with respect to both shares and `h`.
pub fn gru_cell_grad(
    dnext: &Tensor,
    input: &Tensor,
    recurrent: &Tensor,
    h: &Tensor,
) -> Result<(Tensor, Tensor, Tensor)> {
    let inputs = [(input, 3), (recurrent, 3), (h, 1), (dnext, 1)];
    let [dinput, drecurrent, dh] = run_cell(&GruGrad, inputs, [3, 3, 1])?;
    Ok((dinput, drecurrent, dh))
}

/// Runs a cell over tensors, each with so many gates in a row.
fn run_cell<S, const I: usize, const O: usize, const N: usize, const M: usize>(
    cell: &S,
    inputs: [(&Tensor, usize); I],
    outputs: [usize; O],
) -> Result<[Tensor; O]>
where
    S: Step<N, M>,
{
    let (first, gates) = inputs[0];
    let fault = || {
        let found: Vec<String> = inputs.iter().map(|(x, _)| x.ty().to_string()).collect();
        Error::shape(format!("tensors {} do not fit a cell", found.join(", ")))
    };
    let &[rows, width] = first.dims() else { return Err(fault()) };
    let hidden = width / gates;
    let fits = |x: &Tensor, n: usize| x.dims() == [rows, n * hidden] && x.dtype() == first.dtype();
    if !inputs.iter().all(|&(x, n)| fits(x, n)) {
        return Err(fault());
    }
    match first.dtype() {
        DType::F32 => run::<f32, S, I, O, N, M>(cell, inputs, outputs, rows, hidden),
        DType::F64 => run::<f64, S, I, O, N, M>(cell, inputs, outputs, rows, hidden),
        dtype => Err(Error::dtype(format!("a recurrent cell in {dtype}"))),
    }
}

struct Lstm;

impl Step<5, 2> for Lstm {
    #[inline(always)]
    fn step<C: Float, F: Functions<C>>(&self, [i, f, n, o, c]: [C; 5], by: &mut F) -> [C; 2] {
        let (enter, forget) = (by.sigmoid(i), by.sigmoid(f));
        let (new, leave) = (by.tanh(n), by.sigmoid(o));
        let next = forget * c + enter * new;
        [leave * by.tanh(next), next]
    }
}

struct LstmGrad;

impl Step<7, 5> for LstmGrad {
    #[inline(always)]
    fn step<C: Float, F: Functions<C>>(
        &self,
        [i, f, n, o, c, dh, dnext]: [C; 7],
        by: &mut F,
    ) -> [C; 5] {
        let (enter, forget) = (by.sigmoid(i), by.sigmoid(f));
        let (new, leave) = (by.tanh(n), by.sigmoid(o));
        let next = by.tanh(forget * c + enter * new);
        let dnext = dnext + dh * leave * (C::ONE - next * next);
        [
            dnext * new * (enter * (C::ONE - enter)),
            dnext * c * (forget * (C::ONE - forget)),
            dnext * enter * (C::ONE - new * new),
            dh * next * (leave * (C::ONE - leave)),
            dnext * forget,
        ]
    }
}

struct Gru;

impl Step<7, 1> for Gru {
    #[inline(always)]
    fn step<C: Float, F: Functions<C>>(
        &self,
        [r, z, n, hr, hz, hn, h]: [C; 7],
        by: &mut F,
    ) -> [C; 1] {
        let (reset, keep) = (by.sigmoid(r + hr), by.sigmoid(z + hz));
        let new = by.tanh(n + reset * hn);
        [new + keep * (h - new)]
    }
}

struct GruGrad;

impl Step<8, 7> for GruGrad {
    #[inline(always)]
    fn step<C: Float, F: Functions<C>>(
        &self,
        [r, z, n, hr, hz, hn, h, dnext]: [C; 8],
        by: &mut F,
    ) -> [C; 7] {
        let (reset, keep) = (by.sigmoid(r + hr), by.sigmoid(z + hz));
        let new = by.tanh(n + reset * hn);
        let dkeep = dnext * (h - new) * (keep * (C::ONE - keep));
        let dnew = dnext * (C::ONE - keep) * (C::ONE - new * new);
        let dreset = dnew * hn * (reset * (C::ONE - reset));
        [dreset, dkeep, dnew, dreset, dkeep, dnew * reset, dnext * keep]
    }
}
