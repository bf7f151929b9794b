//! Initialisers: how parameters get their initial values.
//!
//! Random ones draw from a stream that belongs to the parameter's name, so the numbers depend on
//! the seed and the name, not on the order in which layers are made or called.

mod named;

use std::fmt;
use std::sync::Arc;

use fluvial_core::scope::user_line;
use fluvial_core::{DType, Error, Result, Tensor, Type, Var, at, choices, memory};
use fluvial_ops::{cast, eye, full, normal, qr, reshape, transpose, truncated_normal, uniform};

/// How a parameter gets its initial value.
///
/// ```
/// use fluvial::prelude::*;
///
/// let ty = Type::of(DType::F32, &[64, 100])?;
/// let weight = Initializer::xavier_uniform(1.0).draw(&ty)?;
/// let bound = (6.0f32 / 164.0).sqrt();
/// assert!(weight.to_vec::<f32>()?.iter().all(|w| w.abs() <= bound));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Initializer {
    /// One number everywhere.
    Constant(f64),
    /// Evenly distributed numbers.
    Uniform {
        /// The lower end.
        low: f64,
        /// The upper end, exclusive.
        high: f64,
    },
    /// Normally distributed numbers.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        std: f64,
    },
    /// Normally distributed numbers, drawn again where they fall outside.
    TruncatedNormal {
        /// The mean, before anything is cut off.
        mean: f64,
        /// The standard deviation, before anything is cut off.
        std: f64,
        /// The lowest number.
        low: f64,
        /// The highest number.
        high: f64,
    },
    /// Random numbers of a variance that keeps activations at one scale from layer to layer.
    Scaled {
        /// The factor on the standard deviation.
        gain: f64,
        /// Which connections are counted.
        fan: Fan,
        /// Whether the numbers are normally distributed, or evenly.
        normal: bool,
    },
    /// A matrix of orthonormal rows or columns, times a factor.
    Orthogonal {
        /// The factor.
        gain: f64,
    },
    /// A given value.
    Assign(Tensor),
    /// Ones on the diagonal of a matrix, zeros elsewhere.
    Eye,
    /// A convolution that passes its input on, as far as it has channels, in each of so many
    /// groups.
    Dirac(usize),
    /// A transposed convolution that enlarges images by bilinear interpolation.
    Bilinear,
    /// What another one gives, but for a row of zeros; a negative number counts from the back.
    ZeroRow(Box<Initializer>, i64),
    /// What a function gives for the type.
    Custom(Arc<Draw>),
}

/// A function that gives a value of a type.
pub type Draw = dyn Fn(&Type) -> Result<Var> + Send + Sync;

choices! {
    /// Which connections of a unit its weights are scaled by.
    pub enum Fan {
        /// Those that lead to it: keeps the scale of activations.
        In = "fan_in",
        /// Those that lead away: keeps the scale of gradients.
        Out = "fan_out",
        /// The mean of both.
        Mean = "mean",
    }
}

/// The factor on weights that makes up for the function that follows a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gain {
    /// None, or the sigmoid.
    Linear,
    /// The hyperbolic tangent.
    Tanh,
    /// The rectifier.
    Relu,
    /// The rectifier with this slope for negative numbers.
    LeakyRelu(f64),
    /// The self-normalising exponential unit.
    Selu,
}

impl Gain {
    /// The words of [`Gain::named`].
    const WORDS: &str = "linear, sigmoid, tanh, relu, leaky_relu, selu";

    /// That of the function of this name; `slope` is that of "leaky_relu".
    ///
    /// ```
    /// use fluvial::init::Gain;
    ///
    /// assert_eq!(Gain::named("leaky_relu", 0.2)?, Gain::LeakyRelu(0.2));
    /// # Ok::<(), fluvial::core::Error>(())
    /// ```
    pub fn named(function: &str, slope: f64) -> Result<Gain> {
        Ok(match function {
            "linear" | "sigmoid" => Gain::Linear,
            "tanh" => Gain::Tanh,
            "relu" => Gain::Relu,
            "leaky_relu" => Gain::LeakyRelu(slope),
            "selu" => Gain::Selu,
            _ => {
                return Err(Error::argument(format!("no gain is known for \"{function}\""))
                    .remedy(format!("use one of {}", Gain::WORDS)));
            }
        })
    }

    /// The recommended factor on the standard deviation of weights.
    ///
    /// ```
    /// use fluvial::init::Gain;
    ///
    /// assert_eq!(Gain::Relu.factor(), 2.0f64.sqrt());
    /// ```
    pub fn factor(self) -> f64 {
        match self {
            Gain::Linear => 1.0,
            Gain::Tanh => 5.0 / 3.0,
            Gain::Relu => 2f64.sqrt(),
            Gain::LeakyRelu(slope) => (2.0 / (1.0 + slope * slope)).sqrt(),
            Gain::Selu => 0.75,
        }
    }
}

impl Initializer {
    /// Whether it may draw random numbers.
    pub fn is_random(&self) -> bool {
        use Initializer::{Assign, Bilinear, Constant, Dirac, Eye, ZeroRow};
        match self {
            ZeroRow(rest, _) => rest.is_random(),
            _ => !matches!(self, Constant(_) | Assign(_) | Eye | Dirac(_) | Bilinear),
        }
    }

    /// One number everywhere.
    pub fn constant(value: f64) -> Initializer {
        Initializer::Constant(value)
    }

    /// Zeros.
    pub fn zeros() -> Initializer {
        Initializer::Constant(0.0)
    }

    /// Ones.
    pub fn ones() -> Initializer {
        Initializer::Constant(1.0)
    }

    /// Numbers evenly distributed from `low` to `high`.
    pub fn uniform(low: f64, high: f64) -> Initializer {
        Initializer::Uniform { low, high }
    }

    /// Normally distributed numbers.
    pub fn normal(mean: f64, std: f64) -> Initializer {
        Initializer::Normal { mean, std }
    }

    /// Normally distributed numbers from `low` to `high`.
    pub fn truncated_normal(mean: f64, std: f64, low: f64, high: f64) -> Initializer {
        Initializer::TruncatedNormal { mean, std, low, high }
    }

    /// Even numbers of variance `gain² · 2 / (fan_in + fan_out)`: Glorot and Bengio's.
    pub fn xavier_uniform(gain: f64) -> Initializer {
        Initializer::Scaled { gain, fan: Fan::Mean, normal: false }
    }

    /// Normal numbers of variance `gain² · 2 / (fan_in + fan_out)`.
    pub fn xavier_normal(gain: f64) -> Initializer {
        Initializer::Scaled { gain, fan: Fan::Mean, normal: true }
    }

    /// Even numbers of variance `gain² / fan`, with the gain of the function that follows: He's.
    pub fn kaiming_uniform(fan: Fan, gain: Gain) -> Initializer {
        Initializer::Scaled { gain: gain.factor(), fan, normal: false }
    }

    /// Normal numbers of variance `gain² / fan`.
    pub fn kaiming_normal(fan: Fan, gain: Gain) -> Initializer {
        Initializer::Scaled { gain: gain.factor(), fan, normal: true }
    }

    /// The weight of linear layers and convolutions unless said otherwise, as in PyTorch: even
    /// numbers up to `1 / sqrt(fan_in)`.
    pub fn weight_default() -> Initializer {
        Initializer::kaiming_uniform(Fan::In, Gain::LeakyRelu(5f64.sqrt()))
    }

    /// The bias that goes with a weight of so many connections: even numbers up to
    /// `1 / sqrt(fan_in)`.
    pub fn bias_default(fan_in: usize) -> Initializer {
        let bound = if fan_in == 0 { 0.0 } else { 1.0 / (fan_in as f64).sqrt() };
        Initializer::uniform(-bound, bound)
    }

    /// A random matrix of orthonormal rows or columns, whichever are fewer, times `gain`; axes
    /// after the first count as columns. Saxe, McClelland and Ganguli's.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let q = Initializer::orthogonal(1.0).draw(&Type::of(DType::F64, &[2, 3])?)?;
    /// let identity = matmul(&q, &transpose(&q, 0, 1)?)?.to_vec::<f64>()?;
    /// assert!((identity[0] - 1.0).abs() < 1e-12 && identity[1].abs() < 1e-12);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn orthogonal(gain: f64) -> Initializer {
        Initializer::Orthogonal { gain }
    }

    /// A given value, in the element type of the parameter.
    pub fn assign(value: impl Into<Tensor>) -> Initializer {
        Initializer::Assign(value.into())
    }

    /// Ones on the diagonal of a matrix.
    pub fn eye() -> Initializer {
        Initializer::Eye
    }

    /// A convolution that passes its input on, in each of so many groups.
    pub fn dirac(groups: usize) -> Initializer {
        Initializer::Dirac(groups)
    }

    /// What this one gives, but for a row of zeros.
    #[must_use]
    pub fn zero_row(self, row: i64) -> Initializer {
        Initializer::ZeroRow(Box::new(self), row)
    }

    /// What `f` gives for the type.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let init = Initializer::custom(|ty| Ok(uniform(ty, 0.0, 1.0)? * 0.01));
    /// let layer = Linear::new("small", 3, 3).weight_attr(init);
    /// assert!(layer.state_dict()?.get("weight").unwrap().to_f64s().iter().all(|w| *w < 0.01));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn custom(f: impl Fn(&Type) -> Result<Var> + Send + Sync + 'static) -> Initializer {
        Initializer::Custom(Arc::new(f))
    }

    /// A value of this type, in both modes. Random numbers come from the stream in use.
    #[track_caller]
    pub fn draw(&self, ty: &Type) -> Result<Var> {
        let loc = user_line();
        let _line = at(loc);
        self.draw_here(ty).map_err(|error| error.at(loc))
    }

    fn draw_here(&self, ty: &Type) -> Result<Var> {
        match self {
            Initializer::Constant(value) => full(ty.dims(), *value, ty.dtype()),
            Initializer::Uniform { low, high } => uniform(ty, *low, *high),
            Initializer::Normal { mean, std } => normal(ty, *mean, *std),
            Initializer::TruncatedNormal { mean, std, low, high } => {
                truncated_normal(ty, *mean, *std, *low, *high)
            }
            Initializer::Scaled { gain, fan, normal: is_normal } => {
                let (inwards, outwards) = fans(ty)?;
                let count = match fan {
                    Fan::In => inwards,
                    Fan::Out => outwards,
                    Fan::Mean => (inwards + outwards) / 2.0,
                };
                let std = gain / count.max(1.0).sqrt();
                match is_normal {
                    true => normal(ty, 0.0, std),
                    false => uniform(ty, -(3f64.sqrt()) * std, 3f64.sqrt() * std),
                }
            }
            Initializer::Orthogonal { gain } => orthogonal(ty, *gain),
            Initializer::Assign(value) => {
                let value = Var::new(value.clone());
                if value.ty().dims() != ty.dims() {
                    return Err(Error::shape(format!(
                        "a value of type {} was given for a parameter of type {ty}",
                        value.ty()
                    )));
                }
                if value.dtype() == ty.dtype() { Ok(value) } else { cast(&value, ty.dtype()) }
            }
            Initializer::Eye => match *ty.dims() {
                [rows, columns] => eye(rows, columns, 0, ty.dtype()),
                _ => Err(Error::shape(format!("eye needs a matrix, found {ty}"))),
            },
            Initializer::Dirac(groups) => dirac(ty, *groups),
            Initializer::Bilinear => bilinear(ty),
            Initializer::ZeroRow(rest, row) => zero_row(ty, rest, *row),
            Initializer::Custom(f) => f(ty),
        }
    }
}

/// The number of connections that lead to a unit, and away from it.
fn fans(ty: &Type) -> Result<(f64, f64)> {
    let sizes = sizes(ty)?;
    let [outputs, inputs, field @ ..] = sizes.as_slice() else {
        return Err(needs_axes(ty));
    };
    let field: f64 = field.iter().map(|&size| size as f64).product();
    Ok((*inputs as f64 * field, *outputs as f64 * field))
}

#[cold]
fn needs_axes(ty: &Type) -> Error {
    Error::shape(format!("an initialiser by connections needs two axes, found {ty}"))
        .remedy("use `uniform`, `normal` or `constant` for it")
}

/// The number of elements of these sizes, if it is one.
fn product(sizes: &[usize]) -> Result<usize> {
    let all = sizes.iter().try_fold(1, |all: usize, &size| all.checked_mul(size));
    all.ok_or_else(|| Error::memory(format!("there is no memory for sizes of {sizes:?}")))
}

fn sizes(ty: &Type) -> Result<Vec<usize>> {
    ty.sizes().map(|sizes| sizes.to_vec()).ok_or_else(|| {
        Error::symbolic(format!("an initialiser needs known sizes, found {ty}"))
            .remedy("give parameters sizes that are numbers")
    })
}

fn orthogonal(ty: &Type, gain: f64) -> Result<Var> {
    let sizes = sizes(ty)?;
    let [rows, others @ ..] = sizes.as_slice() else { return Err(needs_axes(ty)) };
    let columns = product(others)?;
    if others.is_empty() {
        return Err(needs_axes(ty));
    }
    // The decomposition wants a tall matrix, in a type that it knows.
    let dtype = if ty.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let (long, short) = (*rows.max(&columns), *rows.min(&columns));
    let (q, _) = qr(&normal(&Type::of(dtype, &[long, short])?, 0.0, 1.0)?)?;
    let q = if *rows < columns { transpose(&q, 0, 1)? } else { q };
    let q = reshape(&(q * gain), ty.dims())?;
    if dtype == ty.dtype() { Ok(q) } else { cast(&q, ty.dtype()) }
}

fn dirac(ty: &Type, groups: usize) -> Result<Var> {
    let sizes = sizes(ty)?;
    let needed = || Error::shape(format!("dirac needs the weight of a convolution, found {ty}"));
    let [outputs, inputs, field @ ..] = sizes.as_slice() else { return Err(needed()) };
    if field.is_empty() {
        return Err(needed());
    }
    if groups == 0 || outputs % groups != 0 {
        return Err(Error::argument(format!("{groups} groups do not divide {outputs} channels")));
    }
    let per_group = outputs / groups;
    let (count, field_size) = (product(&sizes)?, product(field)?);
    let centre = field.iter().fold(0, |at, size| at * size + size / 2);
    let cell = |i: usize| {
        let (pair, at) = (i / field_size, i % field_size);
        let (out, input) = (pair / inputs, pair % inputs);
        if out % per_group == input && at == centre { 1.0 } else { 0.0 }
    };
    host_value(ty, (0..count).map(cell))
}

fn bilinear(ty: &Type) -> Result<Var> {
    let sizes = sizes(ty)?;
    let &[_, _, height, width] = sizes.as_slice() else { return Err(needs_square(ty)) };
    if height != width {
        return Err(needs_square(ty));
    }
    let factor = width.div_ceil(2) as f64;
    let centre = (2.0 * factor - 1.0 - factor % 2.0) / (2.0 * factor);
    let ramp = |at: usize| 1.0 - (at as f64 / factor - centre).abs();
    let cell = |i: usize| ramp(i / width % height) * ramp(i % width);
    host_value(ty, (0..product(&sizes)?).map(cell))
}

#[cold]
fn needs_square(ty: &Type) -> Error {
    Error::shape(format!("bilinear needs a square window, found {ty}"))
        .remedy("use it for the weight of a transposed convolution, with one size for both axes")
}

fn zero_row(ty: &Type, rest: &Initializer, row: i64) -> Result<Var> {
    let sizes = sizes(ty)?;
    let count = sizes.first().copied().unwrap_or_default() as i64;
    let at = if row < 0 { row + count } else { row };
    if !(0..count).contains(&at) {
        return Err(Error::index(format!("the padding's number {row} is none of {count} rows")));
    }
    let mut dims = vec![1; sizes.len()];
    dims[0] = sizes[0];
    let keep: Vec<f64> = (0..count).map(|i| f64::from(i != at)).collect();
    let keep = Tensor::from_f64s(ty.dtype(), &keep, &dims)?;
    (rest.draw_here(ty)? * Var::new(keep)).check()
}

fn host_value(ty: &Type, cells: impl ExactSizeIterator<Item = f64>) -> Result<Var> {
    let cells = memory::collected(cells)?;
    Ok(Var::new(Tensor::from_f64s(ty.dtype(), &cells, &sizes(ty)?)?))
}

impl fmt::Debug for Initializer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Initializer::Constant(value) => write!(f, "constant({value})"),
            Initializer::Uniform { low, high } => write!(f, "uniform({low}, {high})"),
            Initializer::Normal { mean, std } => write!(f, "normal({mean}, {std})"),
            Initializer::TruncatedNormal { mean, std, low, high } => {
                write!(f, "truncated_normal({mean}, {std}, {low}, {high})")
            }
            Initializer::Scaled { gain, fan, normal } => {
                let kind = if *normal { "normal" } else { "uniform" };
                write!(f, "scaled_{kind}({fan}, gain {gain})")
            }
            Initializer::Orthogonal { gain } => write!(f, "orthogonal({gain})"),
            Initializer::Assign(value) => write!(f, "assign({})", value.ty()),
            Initializer::Eye => write!(f, "eye"),
            Initializer::Dirac(groups) => write!(f, "dirac({groups})"),
            Initializer::Bilinear => write!(f, "bilinear"),
            Initializer::ZeroRow(rest, row) => write!(f, "zero_row({rest:?}, {row})"),
            Initializer::Custom(_) => write!(f, "custom"),
        }
    }
}
