//! Recurrent networks, with the weights of PyTorch's: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, …

use fluvial_core::{Result, Var};
use fluvial_ops::{Nonlinearity, RnnOptions, gru, lstm, rnn};

use super::attr::ParamAttr;
use super::layer::Layer;
use super::parameter::Parameter;
use super::path::Path;
use crate::init::Initializer;

/// What the three kinds share.
#[derive(Clone, Debug)]
struct Recurrent {
    at: Path,
    inputs: usize,
    hidden: usize,
    gates: usize,
    options: RnnOptions,
    weights: Vec<Parameter>,
    attrs: [ParamAttr; 2],
}

impl Recurrent {
    fn new(at: Path, inputs: usize, hidden: usize, gates: usize) -> Recurrent {
        let (options, attrs) = (RnnOptions::default(), Default::default());
        Recurrent { at, inputs, hidden, gates, options, weights: Vec::new(), attrs }.declared()
    }

    /// Enters the parameters that the options ask for.
    fn declared(mut self) -> Recurrent {
        let n_directions = 1 + usize::from(self.options.bidirectional);
        let rows = self.gates * self.hidden;
        self.weights.clear();
        for layer in 0..self.options.layers {
            let inputs = if layer == 0 { self.inputs } else { n_directions * self.hidden };
            for suffix in ["", "_reverse"].into_iter().take(n_directions) {
                self.weight(&format!("weight_ih_l{layer}{suffix}"), &[rows, inputs]);
                self.weight(&format!("weight_hh_l{layer}{suffix}"), &[rows, self.hidden]);
                if self.options.bias {
                    self.weight(&format!("bias_ih_l{layer}{suffix}"), &[rows]);
                    self.weight(&format!("bias_hh_l{layer}{suffix}"), &[rows]);
                }
            }
        }
        self
    }

    fn weight(&mut self, name: &str, dims: &[usize]) {
        let parameter = self.at.parameter(name, dims, Initializer::bias_default(self.hidden));
        let [of_weights, of_biases] = &self.attrs;
        parameter.set_attr(if dims.len() == 2 { of_weights } else { of_biases }.clone());
        self.weights.push(parameter);
    }

    fn values(&self) -> Result<Vec<Var>> {
        self.weights.iter().map(Parameter::get).collect()
    }

    /// The options as of now: nothing is dropped but in training.
    fn now(&self) -> RnnOptions {
        let dropout = if self.at.is_training() { self.options.dropout } else { 0.0 };
        RnnOptions { dropout, ..self.options.clone() }
    }
}

/// A kind of recurrent network.
macro_rules! recurrent {
    ($(#[$doc:meta])* $layer:ident, $gates:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $layer(Recurrent);

        impl $layer {
            /// A network from `inputs` to `hidden` features.
            pub fn new(at: impl Into<Path>, inputs: usize, hidden: usize) -> $layer {
                $layer(Recurrent::new(at.into(), inputs, hidden, $gates))
            }

            /// So many networks, each on the outputs of the last.
            #[must_use]
            pub fn layers(mut self, layers: usize) -> $layer {
                self.0.options.layers = layers;
                $layer(self.0.declared())
            }

            /// Runs in both directions; the outputs stand side by side.
            #[must_use]
            pub fn bidirectional(mut self) -> $layer {
                self.0.options.bidirectional = true;
                $layer(self.0.declared())
            }

            /// Leaves the biases out.
            #[must_use]
            pub fn no_bias(mut self) -> $layer {
                self.0.options.bias = false;
                $layer(self.0.declared())
            }

            /// Inputs and outputs are `[batch, time, features]` instead of
            /// `[time, batch, features]`.
            #[must_use]
            pub fn batch_first(mut self) -> $layer {
                self.0.options.batch_first = true;
                self
            }

            /// Drops outputs between layers in training, with this probability.
            #[must_use]
            pub fn dropout(mut self, p: f64) -> $layer {
                self.0.options.dropout = p;
                self
            }

            /// Says something of all weights. A name would make them one.
            #[must_use]
            pub fn weight_attr(mut self, attr: impl Into<ParamAttr>) -> $layer {
                self.0.attrs[0] = attr.into();
                $layer(self.0.declared())
            }

            /// Says something of all biases.
            #[must_use]
            pub fn bias_attr(mut self, attr: impl Into<ParamAttr>) -> $layer {
                self.0.attrs[1] = attr.into();
                $layer(self.0.declared())
            }
        }

        impl Layer for $layer {
            fn path(&self) -> &Path {
                &self.0.at
            }

            #[track_caller]
            fn forward(&self, x: &Var) -> Result<Var> {
                Ok(self.run(x, None, None)?.0)
            }
        }
    };
}

recurrent! {
    /// `h = tanh(W_ih x + b_ih + W_hh h + b_hh)` over the time axis; see [`rnn`].
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
    Rnn, 1
}

recurrent! {
    /// Long short-term memory; see [`lstm`]. Gates stand in the order input, forget, cell, output.
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
    Lstm, 4
}

recurrent! {
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
    Gru, 3
}

impl Rnn {
    /// Takes a rectifier instead of the hyperbolic tangent.
    #[must_use]
    pub fn relu(mut self) -> Rnn {
        self.0.options.nonlinearity = Nonlinearity::Relu;
        self
    }

    /// The outputs and the last states, from the first states `h0` (zeros without them). `lengths`
    /// says how much of each sequence counts.
    #[track_caller]
    pub fn run(&self, x: &Var, h0: Option<&Var>, lengths: Option<&Var>) -> Result<(Var, Var)> {
        let _call = self.0.at.called();
        let weights = self.0.values()?;
        rnn(x, h0, &weights.iter().collect::<Vec<_>>(), lengths, self.0.now())
    }
}

impl Gru {
    /// The outputs and the last states, from the first states `h0` (zeros without them). `lengths`
    /// says how much of each sequence counts.
    #[track_caller]
    pub fn run(&self, x: &Var, h0: Option<&Var>, lengths: Option<&Var>) -> Result<(Var, Var)> {
        let _call = self.0.at.called();
        let weights = self.0.values()?;
        gru(x, h0, &weights.iter().collect::<Vec<_>>(), lengths, self.0.now())
    }
}

impl Lstm {
    /// The outputs and the last states and cells, from the first ones (zeros without them).
    /// `lengths` says how much of each sequence counts.
    #[track_caller]
    pub fn run(
        &self,
        x: &Var,
        first: Option<(&Var, &Var)>,
        lengths: Option<&Var>,
    ) -> Result<(Var, Var, Var)> {
        let _call = self.0.at.called();
        let weights = self.0.values()?;
        let (h0, c0) = first.unzip();
        lstm(x, h0, c0, &weights.iter().collect::<Vec<_>>(), lengths, self.0.now())
    }
}
