//! One step of recurrent networks.

use fluvial_core::{Dim, Error, Result, Var};
use fluvial_ops::{Nonlinearity, full, gru_cell, lstm_cell, rnn_cell};

use crate::init::Initializer;
use crate::nn::stated::{Call, Parts, Statement, Value, layer};

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
    pub RnnCell = "RNNCell";
    RnnCellSpec {
        /// The number of features of an input.
        inputs | input_size: usize,
        /// The number of features of the hidden state.
        hidden | hidden_size: usize,
        /// Whether there are biases.
        bias: bool = true,
        /// The function of a step.
        nonlinearity: Nonlinearity = Nonlinearity::Tanh,
    }
    new(at, inputs, hidden)
    attrs(weight_attr, bias_attr)
    parts(weight_ih, weight_hh, bias_ih: Option, bias_hh: Option)
    forward(x, h: Option) -> Tensor
}

layer! {
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
    pub GruCell = "GRUCell";
    GruCellSpec {
        /// The number of features of an input.
        inputs | input_size: usize,
        /// The number of features of the hidden state.
        hidden | hidden_size: usize,
        /// Whether there are biases.
        bias: bool = true,
    }
    new(at, inputs, hidden)
    attrs(weight_attr, bias_attr)
    parts(weight_ih, weight_hh, bias_ih: Option, bias_hh: Option)
    forward(x, h: Option) -> Tensor
}

layer! {
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
    pub LstmCell = "LSTMCell";
    LstmCellSpec {
        /// The number of features of an input.
        inputs | input_size: usize,
        /// The number of features of the hidden state.
        hidden | hidden_size: usize,
        /// Whether there are biases.
        bias: bool = true,
    }
    new(at, inputs, hidden)
    attrs(weight_attr, bias_attr)
    parts(weight_ih, weight_hh, bias_ih: Option, bias_hh: Option)
    forward(x, state: Pair) -> (Tensor, Tensor)
}

impl RnnCell {
    /// Takes a rectifier instead of the hyperbolic tangent.
    #[must_use]
    pub fn relu(self) -> RnnCell {
        self.nonlinearity(Nonlinearity::Relu)
    }

    /// The next state, from `h` (zeros without it).
    #[track_caller]
    pub fn step(&self, x: &Var, h: Option<&Var>) -> Result<Var> {
        self.call(&[x.into(), h.into()])?.into_tensor()
    }
}

impl GruCell {
    /// The next state, from `h` (zeros without it).
    #[track_caller]
    pub fn step(&self, x: &Var, h: Option<&Var>) -> Result<Var> {
        self.call(&[x.into(), h.into()])?.into_tensor()
    }
}

impl LstmCell {
    /// The next state and memory, from the given ones (zeros without them).
    #[track_caller]
    pub fn step(&self, x: &Var, given: Option<(&Var, &Var)>) -> Result<(Var, Var)> {
        self.call(&[x.into(), given.map_or(Value::None, Value::from)])?.into_pair()
    }
}

impl Statement for RnnCellSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        declare(parts, self.inputs, self.hidden, 1, self.bias);
        Ok(())
    }

    fn is_function_of_one(&self) -> bool {
        false
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (x, h) = (with.x()?, state(with.x()?, with.given(1), self.hidden)?);
        let Weights { ih, hh, bias_ih, bias_hh } = Weights::of(with)?;
        let kind = self.nonlinearity;
        Ok(rnn_cell(x, &h, &ih, &hh, bias_ih.as_ref(), bias_hh.as_ref(), kind)?.into())
    }
}

impl Statement for GruCellSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        declare(parts, self.inputs, self.hidden, 3, self.bias);
        Ok(())
    }

    fn is_function_of_one(&self) -> bool {
        false
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (x, h) = (with.x()?, state(with.x()?, with.given(1), self.hidden)?);
        let Weights { ih, hh, bias_ih, bias_hh } = Weights::of(with)?;
        Ok(gru_cell(x, &h, &ih, &hh, bias_ih.as_ref(), bias_hh.as_ref())?.into())
    }
}

impl Statement for LstmCellSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        declare(parts, self.inputs, self.hidden, 4, self.bias);
        Ok(())
    }

    fn is_function_of_one(&self) -> bool {
        false
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (x, (h, c)) = (with.x()?, with.pair(1));
        let (h, c) = (state(x, h, self.hidden)?, state(x, c, self.hidden)?);
        let Weights { ih, hh, bias_ih, bias_hh } = Weights::of(with)?;
        Ok(lstm_cell(x, &h, &c, &ih, &hh, bias_ih.as_ref(), bias_hh.as_ref())?.into())
    }
}

/// The values of the parameters of a step.
struct Weights {
    ih: Var,
    hh: Var,
    bias_ih: Option<Var>,
    bias_hh: Option<Var>,
}

impl Weights {
    fn of(with: &Call<'_>) -> Result<Weights> {
        Ok(Weights {
            ih: with.value("weight_ih")?,
            hh: with.value("weight_hh")?,
            bias_ih: with.optional("bias_ih")?,
            bias_hh: with.optional("bias_hh")?,
        })
    }
}

fn declare(parts: &mut Parts, inputs: usize, hidden: usize, gates: usize, bias: bool) {
    let (rows, init) = (gates * hidden, Initializer::bias_default(hidden));
    parts.parameter("weight_ih", "weight_attr", vec![rows, inputs], init.clone());
    parts.parameter("weight_hh", "weight_attr", vec![rows, hidden], init.clone());
    if bias {
        parts.parameter("bias_ih", "bias_attr", vec![rows], init.clone());
        parts.parameter("bias_hh", "bias_attr", vec![rows], init);
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
