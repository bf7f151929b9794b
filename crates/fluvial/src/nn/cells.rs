//! One step of recurrent networks.

use fluvial_core::{Dim, Error, Result, Type, Var};
use fluvial_ops::{Nonlinearity, full, gru_cell, lstm_cell, rnn_cell};

use super::attr::ParamAttr;
use super::layer::Layer;
use super::parameter::Parameter;
use super::path::Path;
use crate::init::Initializer;

/// The parameters of a step.
#[derive(Clone, Debug)]
struct Cell {
    at: Path,
    hidden: usize,
    nonlinearity: Nonlinearity,
    weights: [Parameter; 2],
    biases: Option<[Parameter; 2]>,
}

/// The values of the parameters of a step.
struct Values {
    weights: [Var; 2],
    biases: Option<[Var; 2]>,
}

impl Cell {
    fn new(at: Path, inputs: usize, hidden: usize, gates: usize) -> Cell {
        let rows = gates * hidden;
        let parameter =
            |name, dims: &[usize]| at.parameter(name, dims, Initializer::bias_default(hidden));
        let weights =
            [parameter("weight_ih", &[rows, inputs]), parameter("weight_hh", &[rows, hidden])];
        let biases = Some([parameter("bias_ih", &[rows]), parameter("bias_hh", &[rows])]);
        Cell { at, hidden, nonlinearity: Nonlinearity::Tanh, weights, biases }
    }

    fn values(&self) -> Result<Values> {
        let pair = |[a, b]: &[Parameter; 2]| Ok([a.get()?, b.get()?]);
        let biases = self.biases.as_ref().map(pair).transpose()?;
        Ok(Values { weights: pair(&self.weights)?, biases })
    }

    /// The given state, or zeros.
    fn state(&self, x: &Var, given: Option<&Var>) -> Result<Var> {
        if let Some(given) = given {
            return given.clone().check();
        }
        let ty: Type = x.clone().check()?.ty();
        let Some((_, outer)) = ty.dims().split_last() else {
            return Err(Error::shape(format!("a cell needs an axis of features, found {ty}")));
        };
        full(&[outer, &[Dim::size(self.hidden)]].concat(), 0.0, ty.dtype())
    }
}

impl Values {
    fn bias(&self, i: usize) -> Option<&Var> {
        self.biases.as_ref().map(|biases| &biases[i])
    }
}

/// A kind of step.
macro_rules! cells {
    ($($(#[$doc:meta])* $layer:ident $gates:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $layer(Cell);

        impl $layer {
            /// A step from `inputs` to `hidden` features.
            pub fn new(at: impl Into<Path>, inputs: usize, hidden: usize) -> $layer {
                $layer(Cell::new(at.into(), inputs, hidden, $gates))
            }

            /// Leaves the biases out.
            #[must_use]
            pub fn no_bias(mut self) -> $layer {
                self.0.biases = None;
                self
            }

            /// Says something of both weights.
            #[must_use]
            pub fn weight_attr(self, attr: impl Into<ParamAttr>) -> $layer {
                let attr = attr.into();
                self.0.weights.iter().for_each(|weight| weight.set_attr(attr.clone()));
                self
            }

            /// Says something of both biases.
            #[must_use]
            pub fn bias_attr(self, attr: impl Into<ParamAttr>) -> $layer {
                let attr = attr.into();
                self.0.biases.iter().flatten().for_each(|bias| bias.set_attr(attr.clone()));
                self
            }
        }

        impl Layer for $layer {
            fn path(&self) -> &Path {
                &self.0.at
            }
        }
    )*};
}

cells! {
    /// One step of [`Rnn`](super::Rnn).
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let cell = RnnCell::new("cell", 3, 4);
    /// let h = cell.step(&Var::of(&[0.5f32; 6], &[2, 3])?, None)?;
    /// assert_eq!(h.ty().to_string(), "f32[2, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    RnnCell 1;

    /// One step of [`Lstm`](super::Lstm).
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
    LstmCell 4;

    /// One step of [`Gru`](super::Gru).
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let cell = GruCell::new("cell", 3, 4);
    /// let h = cell.step(&Var::of(&[0.5f32; 6], &[2, 3])?, None)?;
    /// assert_eq!(h.ty().to_string(), "f32[2, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    GruCell 3;
}

impl RnnCell {
    /// Takes a rectifier instead of the hyperbolic tangent.
    #[must_use]
    pub fn relu(mut self) -> RnnCell {
        self.0.nonlinearity = Nonlinearity::Relu;
        self
    }

    /// The next state, from `h` (zeros without it).
    #[track_caller]
    pub fn step(&self, x: &Var, h: Option<&Var>) -> Result<Var> {
        let _call = self.0.at.called();
        let (values, h) = (self.0.values()?, self.0.state(x, h)?);
        let [w_ih, w_hh] = &values.weights;
        rnn_cell(x, &h, w_ih, w_hh, values.bias(0), values.bias(1), self.0.nonlinearity)
    }
}

impl GruCell {
    /// The next state, from `h` (zeros without it).
    #[track_caller]
    pub fn step(&self, x: &Var, h: Option<&Var>) -> Result<Var> {
        let _call = self.0.at.called();
        let (values, h) = (self.0.values()?, self.0.state(x, h)?);
        let [w_ih, w_hh] = &values.weights;
        gru_cell(x, &h, w_ih, w_hh, values.bias(0), values.bias(1))
    }
}

impl LstmCell {
    /// The next state and cell, from the given ones (zeros without them).
    #[track_caller]
    pub fn step(&self, x: &Var, given: Option<(&Var, &Var)>) -> Result<(Var, Var)> {
        let _call = self.0.at.called();
        let (h, c) = given.unzip();
        let (values, h, c) = (self.0.values()?, self.0.state(x, h)?, self.0.state(x, c)?);
        let [w_ih, w_hh] = &values.weights;
        lstm_cell(x, &h, &c, w_ih, w_hh, values.bias(0), values.bias(1))
    }
}
