//! What a layer is.

use fluvial_core::scope::user_line;
use fluvial_core::{Error, Result, Var, at};

use super::parameter::Parameter;
use super::path::Path;
use super::state_dict::{Loaded, StateDict};

/// A layer: a function of one value with parameters of its own, and a place in a model.
///
/// A layer owns its parameters, in both modes and in every thread; names are labels for people and
/// files. A layer made of layers is a struct with a [`Path`] and fields: see there. All but
/// [`path`](Layer::path) and [`forward`](Layer::forward) is provided. A layer of several inputs
/// leaves `forward` out and has a function of its own.
pub trait Layer: Send + Sync {
    /// The place in the model.
    fn path(&self) -> &Path;

    /// The output for `x`, in both modes.
    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        let _ = x;
        let name = self.path().name();
        Err(Error::argument(format!("the layer `{name}` is not a function of one input"))
            .remedy("call the layer's own function, with all its inputs")
            .at(user_line()))
    }

    /// The parameters of the layer and its parts.
    fn parameters(&self) -> Vec<Parameter> {
        self.path().parameters()
    }

    /// The buffers of the layer and its parts.
    fn buffers(&self) -> Vec<Parameter> {
        self.path().buffers()
    }

    /// Gives all parameters and buffers their initial values; what has one keeps it. Calling the
    /// layer does it, too.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let layer = Linear::new("fc", 4, 2);
    /// layer.initialise()?;
    /// assert_eq!(state.tensor("fc.weight")?.dims(), [2, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    fn initialise(&self) -> Result<()> {
        self.path().initialise()
    }

    /// Copies of all parameters and buffers, by their names as seen from this layer.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let net = Sequential::new("net").add(|at| Linear::new(at, 4, 2)).add(|_| tanh);
    /// let names: Vec<_> = net.state_dict()?.names().map(str::to_string).collect();
    /// assert_eq!(names, ["0.weight", "0.bias"]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    fn state_dict(&self) -> Result<StateDict> {
        self.path().state_dict()
    }

    /// Takes parameters and buffers over from `dict`. If it is `strict`, names that are missing or
    /// unexpected are an error; sizes must agree in any case. On an error nothing is changed.
    #[track_caller]
    fn load_state_dict(&self, dict: &StateDict, strict: bool) -> Result<Loaded> {
        self.path().load_state_dict(dict, strict)
    }

    /// From here on the layer and its parts behave as in training. They do from the beginning.
    fn train(&self) {
        self.path().set_training(true);
    }

    /// From here on the layer and its parts behave as in use: dropout passes its input on, batch
    /// norm takes its running statistics. In a program this is settled when it is built.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Dropout::new("drop", 0.5);
    /// layer.eval();
    /// let x = Var::of(&[1.0, 2.0], &[2])?;
    /// assert_eq!(layer.forward(&x)?.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    fn eval(&self) {
        self.path().set_training(false);
    }

    /// Whether the layer behaves as in training.
    fn is_training(&self) -> bool {
        self.path().is_training()
    }

    /// Keeps the parameters of the layer and its parts as they are: they are read as constants.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Linear::new("backbone", 2, 1);
    /// layer.freeze();
    /// assert!(layer.parameters().iter().all(|p| !p.is_trainable()));
    /// assert!(!layer.forward(&Var::of(&[1.0f32, 2.0], &[1, 2])?)?.is_tracked());
    /// # Ok::<(), Error>(())
    /// ```
    fn freeze(&self) {
        self.path().set_trainable(false);
    }

    /// Trains the parameters of the layer and its parts again.
    fn unfreeze(&self) {
        self.path().set_trainable(true);
    }
}

/// A function is a layer without parameters.
///
/// ```
/// use fluvial::prelude::*;
///
/// let double = |x: &Var| Ok(x * 2.0);
/// assert_eq!(double.forward(&Var::scalar(3.0))?.item::<f64>()?, 6.0);
/// # Ok::<(), Error>(())
/// ```
impl<F: Fn(&Var) -> Result<Var> + Send + Sync> Layer for F {
    fn path(&self) -> &Path {
        Path::nowhere()
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        let _line = at(user_line());
        self(x)
    }
}
