//! Layers one after the other, and lists of layers.

use std::ops::Index;

use fluvial_core::scope::{in_layer, user_line};
use fluvial_core::{Error, Loc, Mode, Result, Var, at, mode};

use super::layer::Layer;
use super::path::Path;

/// Layers one after the other. They are named by their number: `net.0.weight`.
///
/// ```
/// use fluvial::prelude::*;
///
/// let net = Sequential::new("net")
///     .add(|at| Linear::new(at, 4, 8))
///     .then(relu)
///     .add(|at| Linear::new(at, 8, 2));
/// let y = net.forward(&Var::of(&[1.0f32; 4], &[1, 4])?)?;
/// assert_eq!(y.ty().to_string(), "f32[1, 2]");
/// assert_eq!(&*net.parameters()[2].name(), "net.2.weight");
/// # Ok::<(), Error>(())
/// ```
pub struct Sequential {
    at: Path,
    layers: Vec<(Box<dyn Layer>, Loc)>,
}

impl Sequential {
    /// No layers yet: passes its input on.
    pub fn new(at: impl Into<Path>) -> Sequential {
        Sequential { at: at.into(), layers: Vec::new() }
    }

    /// Adds the layer that `make` makes at the given place. Its ops stand at this line in errors
    /// and listings.
    #[must_use]
    #[track_caller]
    #[allow(clippy::should_implement_trait)]
    pub fn add<L: Layer + 'static>(self, make: impl FnOnce(Path) -> L) -> Sequential {
        let place = self.at.join(self.layers.len());
        self.then(make(place))
    }

    /// Adds a function, or a layer that has no parameters.
    #[must_use]
    #[track_caller]
    pub fn then(mut self, layer: impl Layer + 'static) -> Sequential {
        self.layers.push((Box::new(layer), user_line()));
        self
    }

    /// The number of layers.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The layer of that number.
    pub fn get(&self, index: usize) -> Option<&dyn Layer> {
        self.layers.get(index).map(|(layer, _)| &**layer)
    }
}

impl Sequential {
    /// Refuses a layer whose parameters this model would not know of.
    fn knows(&self, layer: &dyn Layer) -> Result<()> {
        let path = layer.path();
        if self.at.is_with(path) || path.entries().is_empty() {
            return Ok(());
        }
        Err(Error::argument(format!(
            "the layer `{}` was not made at a place of `{}`, which would not train it",
            path.name(),
            self.at.name()
        ))
        .remedy("make it with the path that `add` gives, or one joined to that of the model"))
    }
}

impl Layer for Sequential {
    fn path(&self) -> &Path {
        &self.at
    }

    fn forward(&self, x: &Var) -> Result<Var> {
        let building = mode() == Mode::Building;
        let mut x = x.clone();
        for (i, (layer, loc)) in self.layers.iter().enumerate() {
            let _layer = building.then(|| in_layer(self.at.join(i).name()));
            let _line = at(*loc);
            self.knows(&**layer).map_err(|error| error.at(*loc))?;
            x = layer.forward(&x)?;
        }
        Ok(x)
    }
}

/// A list of layers, named by their number, which the user calls as it pleases.
///
/// ```
/// use fluvial::prelude::*;
///
/// let blocks = LayerList::new("blocks", 3, |at, _| Linear::new(at, 4, 4));
/// let mut x = Var::of(&[1.0f32; 4], &[1, 4])?;
/// for block in &blocks {
///     x = tanh(&(&x + block.forward(&x)?))?;
/// }
/// assert_eq!(&*blocks.parameters()[5].name(), "blocks.2.bias");
/// # Ok::<(), Error>(())
/// ```
pub struct LayerList<L> {
    at: Path,
    layers: Vec<L>,
}

impl<L> LayerList<L> {
    /// So many layers, each made at its place and by its number.
    pub fn new(at: impl Into<Path>, count: usize, make: impl Fn(Path, usize) -> L) -> LayerList<L> {
        let at = at.into();
        let layers = (0..count).map(|i| make(at.join(i), i)).collect();
        LayerList { at, layers }
    }

    /// Adds a layer.
    pub fn push(&mut self, make: impl FnOnce(Path) -> L) {
        self.layers.push(make(self.at.join(self.layers.len())));
    }

    /// The layers.
    pub fn iter(&self) -> std::slice::Iter<'_, L> {
        self.layers.iter()
    }

    /// The number of layers.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

impl<L> Index<usize> for LayerList<L> {
    type Output = L;

    fn index(&self, index: usize) -> &L {
        &self.layers[index]
    }
}

impl<'a, L> IntoIterator for &'a LayerList<L> {
    type Item = &'a L;
    type IntoIter = std::slice::Iter<'a, L>;

    fn into_iter(self) -> Self::IntoIter {
        self.layers.iter()
    }
}

impl<L: Send + Sync> Layer for LayerList<L> {
    fn path(&self) -> &Path {
        &self.at
    }
}
