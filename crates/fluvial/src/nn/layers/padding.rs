//! Layers that add elements around their input, or cut some off.

use fluvial_core::{Error, Result, Var};
use fluvial_ops::{PadMode, PadOptions, pad};

use crate::nn::stated::layer;

layer! {
    /// Zeros on both sides of the last axis. Numbers are those before and behind each axis, the last axis first, or
    /// one for all; negative ones cut elements off.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = ZeroPad1d::new(vec![1, 2]).forward(&Var::of(&[1.0, 2.0], &[1, 1, 2])?)?;
    /// assert_eq!(y.to_vec::<f64>()?, [0.0, 1.0, 2.0, 0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.ZeroPad1d((1, 2))(fl.tensor([[1.0, 2.0]])).tolist()
    /// [[0.0, 1.0, 2.0, 0.0, 0.0]]
    /// ```
    pub ZeroPad1d(1) = "ZeroPad1d";
    /// Zeros around images; see [`ZeroPad1d`].
    pub ZeroPad2d(2) = "ZeroPad2d";
    /// Zeros around volumes; see [`ZeroPad1d`].
    pub ZeroPad3d(3) = "ZeroPad3d";
    /// The elements inside of the edges, mirrored there, on the last axis; see [`ZeroPad1d`].
    ///
    /// ```python
    /// >>> fl.nn.ReflectionPad1d(2)(fl.tensor([[1.0, 2.0, 3.0]])).tolist()
    /// [[3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]]
    /// ```
    pub ReflectionPad1d(11) = "ReflectionPad1d";
    /// Images, mirrored at their edges; see [`ReflectionPad1d`].
    pub ReflectionPad2d(12) = "ReflectionPad2d";
    /// Volumes, mirrored at their edges; see [`ReflectionPad1d`].
    pub ReflectionPad3d(13) = "ReflectionPad3d";
    /// The elements at the edges, over and over, on the last axis; see [`ZeroPad1d`].
    ///
    /// ```python
    /// >>> fl.nn.ReplicationPad1d((1, 2))(fl.tensor([[1.0, 2.0]])).tolist()
    /// [[1.0, 1.0, 2.0, 2.0, 2.0]]
    /// ```
    pub ReplicationPad1d(21) = "ReplicationPad1d";
    /// The pixels at the edges, over and over; see [`ReplicationPad1d`].
    pub ReplicationPad2d(22) = "ReplicationPad2d";
    /// The elements at the edges of volumes, over and over; see [`ReplicationPad1d`].
    pub ReplicationPad3d(23) = "ReplicationPad3d";
    /// The elements of the other end, on the last axis; see [`ZeroPad1d`].
    ///
    /// ```python
    /// >>> fl.nn.CircularPad1d(1)(fl.tensor([[1.0, 2.0, 3.0]])).tolist()
    /// [[3.0, 1.0, 2.0, 3.0, 1.0]]
    /// ```
    pub CircularPad1d(31) = "CircularPad1d";
    /// Images as if they went on with their other end; see [`CircularPad1d`].
    pub CircularPad2d(32) = "CircularPad2d";
    /// Volumes as if they went on with their other end; see [`CircularPad1d`].
    pub CircularPad3d(33) = "CircularPad3d";
    PadSpec {
        /// How many elements, one number for all sides or one for each.
        padding: Vec<i64>,
    }
    new(padding)
    forward(x) -> Tensor = |spec, with| {
        let modes = [PadMode::Constant, PadMode::Reflect, PadMode::Replicate, PadMode::Circular];
        around(x, &spec.padding, N % 10, PadOptions::default().mode(modes[(N / 10).min(3)]))
    }
}

layer! {
    /// A number on both sides of the last axis; see [`ZeroPad1d`].
    ///
    /// ```python
    /// >>> fl.nn.ConstantPad1d(1, 9.0)(fl.tensor([[1.0, 2.0]])).tolist()
    /// [[9.0, 1.0, 2.0, 9.0]]
    /// ```
    pub ConstantPad1d(1) = "ConstantPad1d";
    /// A number around images; see [`ZeroPad1d`].
    pub ConstantPad2d(2) = "ConstantPad2d";
    /// A number around volumes; see [`ZeroPad1d`].
    pub ConstantPad3d(3) = "ConstantPad3d";
    ConstantPadSpec {
        /// How many elements, one number for all sides or one for each.
        padding: Vec<i64>,
        /// The number.
        value: f64,
    }
    new(padding, value)
    forward(x) -> Tensor = |spec, with| {
        around(x, &spec.padding, N, PadOptions::default().value(spec.value))
    }
}

/// Padding of the last `n` axes by one number, or by two for each, the last axis first.
fn around(x: &Var, padding: &[i64], n: usize, options: PadOptions) -> Result<Var> {
    let (mut before, mut after) = (vec![0; n], vec![0; n]);
    for i in 0..n {
        (before[n - 1 - i], after[n - 1 - i]) = match padding {
            [all] => (*all, *all),
            _ if padding.len() == 2 * n => (padding[2 * i], padding[2 * i + 1]),
            _ => {
                let what = format!("{padding:?} is not a padding of {n} axes");
                return Err(Error::argument(what)
                    .remedy(format!("give one number, or {} of them, the last axis first", 2 * n)));
            }
        };
    }
    pad(x, &before, &after, options)
}
