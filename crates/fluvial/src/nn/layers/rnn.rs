//! Recurrent networks, with the weights of PyTorch's: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, …

use fluvial_core::{Error, Result, Var};
use fluvial_ops::{Nonlinearity, RnnOptions, gru, lstm, rnn};

use crate::init::Initializer;
use crate::nn::stated::{Call, Part, Parts, Statement, Value, layer, times};

layer! {
    /// A recurrent network, `h = tanh(W_ih x + b_ih + W_hh h + b_hh)` over the time axis; see [`rnn`].
    /// From `[time, batch, inputs]` to `[time, batch, hidden]` and the last state of each layer.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Rnn::new("rnn", 3, 4).layers(2);
    /// let (out, h) = layer.run(&Var::of(&[0.5f32; 30], &[5, 2, 3])?, None, None)?;
    /// assert_eq!(out.ty().to_string(), "f32[5, 2, 4]");
    /// assert_eq!(h.ty().to_string(), "f32[2, 2, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> y, h = fl.nn.RNN(3, 5)(fl.full((7, 2, 3), 0.5))
    /// >>> y.shape, h.shape
    /// ((7, 2, 5), (1, 2, 5))
    /// ```
    pub Rnn(0) = "RNN" extends Recurrent;
    /// Gated recurrent units; see [`gru`]. Gates stand in the order reset, update, new.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Gru::new("gru", 3, 4);
    /// let out = layer.forward(&Var::of(&[0.5f32; 30], &[5, 2, 3])?)?;
    /// assert_eq!(out.ty().to_string(), "f32[5, 2, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> y, h = fl.nn.GRU(3, 5, bidirectional=True)(fl.full((7, 2, 3), 0.5))
    /// >>> y.shape, h.shape
    /// ((7, 2, 10), (2, 2, 5))
    /// ```
    pub Gru(1) = "GRU" extends Recurrent;
    /// Long short-term memory; see [`lstm`]. Gates stand in the order input, forget, cell, output. Its
    /// state is a pair of hidden state and memory.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Lstm::new("lstm", 3, 4).bidirectional().batch_first();
    /// let (out, h, c) = layer.run(&Var::of(&[0.5f32; 30], &[2, 5, 3])?, None, None)?;
    /// assert_eq!(out.ty().to_string(), "f32[2, 5, 8]");
    /// assert_eq!((h.ty(), h.ty()), (c.ty(), Type::of(DType::F32, &[2, 2, 4])?));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> y, (h, c) = fl.nn.LSTM(3, 5, layers=2, batch_first=True)(fl.full((2, 7, 3), 0.5))
    /// >>> y.shape, h.shape, c.shape
    /// ((2, 7, 5), (2, 2, 5), (2, 2, 5))
    /// ```
    pub Lstm(2) = "LSTM" extends Recurrent;
    RnnSpec {
        /// The number of features of an input.
        inputs | input_size: usize,
        /// The number of features of the hidden state.
        hidden | hidden_size: usize,
        /// So many networks, each on the outputs of the last.
        layers | num_layers: usize = 1,
        /// The function of a step.
        nonlinearity(0): Nonlinearity = Nonlinearity::Tanh,
        /// Whether there are biases.
        bias: bool = true,
        /// Whether the batch is the first axis, and time the second.
        batch_first: bool = false,
        /// The probability of dropout between layers, in training.
        dropout: f64 = 0.0,
        /// Whether a second network reads the sequence from its end; the outputs stand side by side.
        bidirectional: bool = false,
        /// The number of features of outputs, made of the hidden state by a weight more; those of the hidden state
        /// if it is zero.
        projection(2) | proj_size: usize = 0,
    }
    new(at, inputs, hidden)
    attrs(weight_attr, bias_attr)
    forward(x, h0: Option, lengths: Option) -> (Tensor, Tensor),
        2 (x, first: Pair, lengths: Option) -> (Tensor, (Tensor, Tensor))
}

impl Rnn {
    /// Takes a rectifier instead of the hyperbolic tangent.
    #[must_use]
    pub fn relu(self) -> Rnn {
        self.nonlinearity(Nonlinearity::Relu)
    }
}

macro_rules! run {
    ($($layer:ident)*) => {$(
        impl $layer {
            /// The outputs and the last states, from the first states `h0` (zeros without them).
            /// `lengths` says how much of each sequence counts.
            #[track_caller]
            pub fn run(
                &self,
                x: &Var,
                h0: Option<&Var>,
                lengths: Option<&Var>,
            ) -> Result<(Var, Var)> {
                self.call(&[x.into(), h0.into(), lengths.into()])?.into_pair()
            }
        }
    )*};
}
run!(Rnn Gru);

impl Lstm {
    /// The outputs and the last states and memories, from the first ones (zeros without them).
    /// `lengths` says how much of each sequence counts.
    #[track_caller]
    pub fn run(
        &self,
        x: &Var,
        first: Option<(&Var, &Var)>,
        lengths: Option<&Var>,
    ) -> Result<(Var, Var, Var)> {
        let first = first.map_or(Value::None, Value::from);
        let (y, last) = self.call(&[x.into(), first, lengths.into()])?.into_two()?;
        let (h, c) = last.into_pair()?;
        Ok((y.into_tensor()?, h, c))
    }
}

impl<const N: usize> Statement for RnnSpec<N> {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let n_directions = 1 + usize::from(self.bidirectional);
        let init = Initializer::bias_default(self.hidden);
        if self.layers > MAX_LAYERS {
            let fault = format!("{} layers above one another are too many", self.layers);
            return Err(Error::argument(fault).remedy(format!("at most {MAX_LAYERS} can be made")));
        }
        let rows = times(n_gates(N), self.hidden)?;
        if self.projection >= self.hidden.max(1) {
            let fault = format!("a projection of {} features to {}", self.hidden, self.projection);
            return Err(Error::argument(fault).remedy("give a smaller number, or 0 for none"));
        }
        let out = if self.projection == 0 { self.hidden } else { self.projection };
        let outputs = times(n_directions, out)?;
        for layer in 0..self.layers {
            let width = if layer == 0 { self.inputs } else { outputs };
            for suffix in ["", "_reverse"].into_iter().take(n_directions) {
                for (kind, width) in [("weight_ih", width), ("weight_hh", out)] {
                    let name = format!("{kind}_l{layer}{suffix}");
                    parts.parameter(name, "weight_attr", vec![rows, width], init.clone());
                }
                for kind in ["bias_ih", "bias_hh"].into_iter().filter(|_| self.bias) {
                    let name = format!("{kind}_l{layer}{suffix}");
                    parts.parameter(name, "bias_attr", vec![rows], init.clone());
                }
                if self.projection != 0 {
                    let (name, dims) = (format!("weight_hr_l{layer}{suffix}"), vec![out, self.hidden]);
                    parts.parameter(name, "weight_attr", dims, init.clone());
                }
            }
        }
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let weights = with.parts.iter().map(|(name, _)| with.needed(name).and_then(Part::get));
        let weights: Vec<Var> = weights.collect::<Result<_>>()?;
        let weights: Vec<&Var> = weights.iter().collect();
        let dropout = if with.training { self.dropout } else { 0.0 };
        let options = RnnOptions::default().nonlinearity(self.nonlinearity).bias(self.bias);
        let options = options.layers(self.layers).batch_first(self.batch_first);
        let options = options.dropout(dropout).bidirectional(self.bidirectional);
        let options = options.projection(self.projection != 0);
        let (x, lengths) = (with.x()?, with.given(2));
        Ok(match N {
            0 => rnn(x, with.given(1), &weights, lengths, options)?.into(),
            1 => gru(x, with.given(1), &weights, lengths, options)?.into(),
            _ => {
                let (h, c) = with.pair(1);
                let (y, h, c) = lstm(x, h, c, &weights, lengths, options)?;
                (y, (h, c)).into()
            }
        })
    }
}

/// The most layers above one another; each has parameters of its own.
const MAX_LAYERS: usize = 1 << 12;

/// How many rows of weights a feature has: plain, gated, with memory.
pub(super) fn n_gates(number: usize) -> usize {
    [1, 3, 4][number.min(2)]
}
