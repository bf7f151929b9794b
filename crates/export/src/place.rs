//! Where a value is.

use fluvial_core::kernel::distances;
use fluvial_core::{DType, Dim, Result, Type, View, Whole};

use crate::sizes::in_c;

/// What holds elements, by its number among its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// A range of the arena.
    Buffer(usize),
    /// A state.
    State(usize),
    /// An input.
    Input(usize),
    /// Elements that stand in the source.
    Constant(usize),
}

/// Where the elements of a value are.
#[derive(Clone, Debug)]
pub struct Place {
    pub root: Root,
    pub ty: Type,
    /// The first element.
    pub first: Whole,
    /// By axis: how far apart neighbours are.
    pub steps: Vec<Whole>,
}

impl Place {
    /// Elements one behind the other, from the first on.
    pub fn plain(root: Root, ty: Type) -> Result<Place> {
        let steps = match ty.is_list() {
            true => Vec::new(),
            false => plain_steps(ty.dims())?,
        };
        Ok(Place { root, ty, first: Whole::Number(0), steps })
    }

    /// The same element everywhere.
    pub fn uniform(root: Root, ty: Type) -> Place {
        let steps = vec![Whole::Number(0); ty.rank()];
        Place { root, ty, first: Whole::Number(0), steps }
    }

    /// Whether the elements are one behind the other.
    pub fn is_plain(&self) -> Result<bool> {
        if self.ty.is_list() {
            return Ok(true);
        }
        let plain = plain_steps(self.ty.dims())?;
        let is_one = |axis: usize| self.ty.dim(axis) == Dim::size(1);
        Ok((0..plain.len()).all(|axis| is_one(axis) || plain[axis] == self.steps[axis]))
    }

    /// Whether these are all elements of what holds them, one behind the other.
    pub fn is_whole(&self) -> Result<bool> {
        Ok(self.first == Whole::Number(0) && self.is_plain()?)
    }

    /// What a view shows.
    pub fn view(&self, view: &View, ty: Type) -> Result<Place> {
        let mut first = self.first;
        for (axis, &start) in view.start.iter().enumerate() {
            first = first.add(Whole::from(start).mul(self.steps[axis])?)?;
        }
        let step = |walk: &[(usize, i64)]| {
            walk.iter().try_fold(Whole::Number(0), |sum, &(axis, count)| {
                sum.add(self.steps[axis].mul(Whole::Number(count))?)
            })
        };
        let steps = view.axes.iter().map(|walk| step(walk)).collect::<Result<_>>()?;
        Ok(Place { root: self.root, ty, first, steps })
    }

    /// The steps of each axis of what it is broadcast to.
    pub fn steps_to(&self, dims: &[Dim]) -> Vec<Whole> {
        let extra = dims.len().saturating_sub(self.ty.rank());
        let step = |axis: usize| match axis.checked_sub(extra) {
            Some(own) if self.ty.dim(own) == dims[axis] => self.steps[own],
            _ => Whole::Number(0),
        };
        (0..dims.len()).map(step).collect()
    }
}

/// The steps of elements one behind the other.
pub fn plain_steps(dims: &[Dim]) -> Result<Vec<Whole>> {
    Ok(distances(dims)?.into_iter().map(Whole::from).collect())
}

/// Whether what C computes with elements of this type is written down.
pub fn is_written(dtype: DType) -> bool {
    !matches!(dtype, DType::I16 | DType::U16 | DType::U32 | DType::U64)
        && !dtype.is_complex()
        && !dtype.is_stored()
}

/// The type of elements in C.
pub fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 => "uint8_t",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::U16 => "uint16_t",
        DType::U32 => "uint32_t",
        DType::U64 => "uint64_t",
        DType::I32 => "int32_t",
        DType::I64 => "int64_t",
        DType::F16 | DType::BF16 => "uint16_t",
        DType::F32 => "float",
        DType::F64 => "double",
        DType::F8E4M3 | DType::F8E5M2 => "uint8_t",
        DType::C64 => "float _Complex",
        DType::C128 => "double _Complex",
    }
}

/// The number of elements in C.
pub fn count_in_c(dims: &[Dim]) -> Result<String> {
    Ok(in_c(fluvial_core::kernel::count(dims)?))
}
