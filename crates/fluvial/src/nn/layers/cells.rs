//! One step of recurrent networks.

use fluvial_core::{Dim, Error, Result, Var};
use fluvial_ops::{Nonlinearity, full, gru_cell, lstm_cell, rnn_cell};

use super::rnn::n_gates;
use crate::init::Initializer;
use crate::nn::stated::{Call, Parts, Statement, Value, layer, times};

layer! {
    /// One step of [`Rnn`](crate::nn::Rnn), from a state, or from zeros.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let cell = RnnCell::new("cell", 3, 4);
    /// let h = cell.step(&Var::of(&[0.5f32; 6], &[2, 3])?, None)?;
    /// assert_eq!(h.ty().to_string(), "f32[2, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.RNNCell(3, 5)(fl.full((2, 3), 0.5)).shape
    /// (2, 5)
    /// ```
    pub RnnCell(0) = "RNNCell";
    /// One step of [`Gru`](crate::nn::Gru), from a state, or from zeros.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let cell = GruCell::new("cell", 3, 4);
    /// let h = cell.step(&Var::of(&[0.5f32; 6], &[2, 3])?, None)?;
    /// assert_eq!(h.ty().to_string(), "f32[2, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.GRUCell(3, 5)(fl.full((2, 3), 0.5)).shape
    /// (2, 5)
    /// ```
    pub GruCell(1) = "GRUCell";
    /// One step of [`Lstm`](crate::nn::Lstm), from a pair of hidden state and memory, or from zeros.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let cell = LstmCell::new("cell", 3, 4);
    /// let x = Var::of(&[0.5f32; 6], &[2, 3])?;
    /// let (h, c) = cell.step(&x, None)?;
    /// let (h, _) = cell.step(&x, Some((&h, &c)))?;
    /// assert_eq!(h.ty().to_string(), "f32[2, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> h, c = fl.nn.LSTMCell(3, 5)(fl.full((2, 3), 0.5))
    /// >>> h.shape, c.shape
    /// ((2, 5), (2, 5))
    /// ```
    pub LstmCell(2) = "LSTMCell";
    RnnCellSpec {
        /// The number of features of an input.
        inputs | input_size: usize,
        /// The number of features of the hidden state.
        hidden | hidden_size: usize,
        /// Whether there are biases.
        bias: bool = true,
        /// The function of a step.
        nonlinearity(0): Nonlinearity = Nonlinearity::Tanh,
    }
    new(at, inputs, hidden)
    attrs(weight_attr, bias_attr)
    parts(weight_ih, weight_hh, bias_ih: Option, bias_hh: Option)
    forward(x, h: Option) -> Tensor, 2 (x, state: Pair) -> (Tensor, Tensor)
}

impl RnnCell {
    /// Takes a rectifier instead of the hyperbolic tangent.
    #[must_use]
    pub fn relu(self) -> RnnCell {
        self.nonlinearity(Nonlinearity::Relu)
    }
}

macro_rules! step {
    ($($cell:ident)*) => {$(
        impl $cell {
            /// The next state, from `h` (zeros without it).
            #[track_caller]
            pub fn step(&self, x: &Var, h: Option<&Var>) -> Result<Var> {
                self.call(&[x.into(), h.into()])?.into_tensor()
            }
        }
    )*};
}
step!(RnnCell GruCell);

impl LstmCell {
    /// The next state and memory, from the given ones (zeros without them).
    #[track_caller]
    pub fn step(&self, x: &Var, given: Option<(&Var, &Var)>) -> Result<(Var, Var)> {
        self.call(&[x.into(), given.map_or(Value::None, Value::from)])?.into_pair()
    }
}

impl<const N: usize> Statement for RnnCellSpec<N> {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let rows = times(n_gates(N), self.hidden)?;
        let init = Initializer::bias_default(self.hidden);
        parts.parameter("weight_ih", "weight_attr", vec![rows, self.inputs], init.clone());
        parts.parameter("weight_hh", "weight_attr", vec![rows, self.hidden], init.clone());
        for name in ["bias_ih", "bias_hh"].into_iter().filter(|_| self.bias) {
            parts.parameter(name, "bias_attr", vec![rows], init.clone());
        }
        Ok(())
    }

    fn is_function_of_one(&self) -> bool {
        false
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let x = with.x()?;
        let state = |given| state(x, given, self.hidden);
        let (ih, hh) = (with.value("weight_ih")?, with.value("weight_hh")?);
        let (bias_ih, bias_hh) = (with.optional("bias_ih")?, with.optional("bias_hh")?);
        let (bias_ih, bias_hh) = (bias_ih.as_ref(), bias_hh.as_ref());
        Ok(match N {
            0 => {
                let h = state(with.given(1))?;
                rnn_cell(x, &h, &ih, &hh, bias_ih, bias_hh, self.nonlinearity)?.into()
            }
            1 => gru_cell(x, &state(with.given(1))?, &ih, &hh, bias_ih, bias_hh)?.into(),
            _ => {
                let (h, c) = with.pair(1);
                lstm_cell(x, &state(h)?, &state(c)?, &ih, &hh, bias_ih, bias_hh)?.into()
            }
        })
    }
}

/// The given state, or zeros.
fn state(x: &Var, given: Option<&Var>, hidden: usize) -> Result<Var> {
    if let Some(given) = given {
        return given.clone().check();
    }
    let ty = x.clone().check()?.ty();
    let Some((_, outer)) = ty.dims().split_last() else {
        return Err(Error::shape(format!("a cell needs an axis of features, found {ty}")));
    };
    full(&[outer, &[Dim::size(hidden)]].concat(), 0.0, ty.dtype())
}
