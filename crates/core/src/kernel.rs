//! What an op does, as data: for those who write programs down as source of another language.

use std::sync::Arc;

use fluvial_kernels::{Body, Reduce};
use fluvial_tensor::{DType, Dim, Result, Type, Whole};
use smallvec::SmallVec;

use crate::device::Given;

/// What an op does to inputs of known types.
#[derive(Clone, Debug)]
pub enum Kernel {
    /// Scalar expressions of all inputs, which are broadcast together: one for each output.
    Elementwise(Elements),
    /// The elements of the only input, or of an expression of all inputs, reduced over axes that are counted from
    /// the front. The output has the elements that are left, in order, whatever its sizes.
    Reduce {
        /// The expression, and the element type of its result; the input itself, if there is none.
        of: Option<(Elements, DType)>,
        /// How elements become one.
        kind: Reduce,
        /// The axes.
        axes: SmallVec<[usize; 8]>,
    },
    /// Elements of the first input in other places.
    View(View),
    /// The elements of an input, in order, in other sizes.
    Same(usize),
    /// The same number everywhere.
    Fill(f64),
    /// A size as a number.
    Size(Dim),
    /// Inputs that are put into the output.
    Placed {
        /// Whether the output is zero elsewhere; else the inputs fill it.
        zero: bool,
        /// Whether elements that come to one place are added up.
        add: bool,
        /// Where the elements of each input go.
        parts: Vec<Placed>,
    },
    /// Functions that are called one after the other.
    Calls(Vec<Native>),
    /// A loop of the op's only block; see [`Op::carries`](crate::Op::carries).
    While {
        /// How many values are carried.
        carried: usize,
        /// Whether the number of trips and lists of the block's further results follow the carried values.
        keeps: bool,
    },
    /// One of the op's two blocks, by the first input.
    Cond {
        /// How many results both have.
        n_results: usize,
        /// By further output: the block, and its result that is put on the list.
        lists: Vec<(usize, usize)>,
    },
    /// An operation on lists.
    List(ListKernel),
}

/// Scalar expressions with what they are computed in.
#[derive(Clone, Debug)]
pub struct Elements {
    /// The expressions.
    pub body: Arc<Body>,
    /// The type in which they are computed.
    pub compute: DType,
    /// The numbers that stand for the parameters.
    pub params: SmallVec<[f64; 4]>,
}

/// Where the elements of a view are in what it shows.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// By axis of the input: the position of the first element.
    pub start: SmallVec<[Dim; 8]>,
    /// By axis of the output: along which axes of the input one goes, and how far. Nowhere is repetition.
    pub axes: SmallVec<[SmallVec<[(usize, i64); 2]>; 8]>,
}

impl View {
    /// All elements of an input of so many axes, in their places.
    pub fn whole(rank: usize) -> View {
        View {
            start: (0..rank).map(|_| Dim::size(0)).collect(),
            axes: (0..rank).map(|axis| [(axis, 1)].into_iter().collect()).collect(),
        }
    }
}

/// Where the elements of an input go in the output.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The place of the first element.
    pub first: Dim,
    /// By axis of the input: the distance of two neighbours in the output.
    pub steps: SmallVec<[Whole; 8]>,
}

/// Operations on lists. Outputs and inputs are those of the op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKernel {
    /// An empty list.
    New,
    /// The number of elements.
    Len,
    /// A list with a value on top.
    Push,
    /// A list without its top, and the top.
    Pop,
    /// The element at a place, counted from the bottom.
    Get,
    /// The list with another element at a place.
    Set,
    /// All elements as one tensor, from the bottom or from the top; there must be so many.
    Stack(Dim, bool),
    /// The slices of a tensor, the first at the bottom or on top.
    Unstack(bool),
    /// Zeros in the place of the elements.
    Zeros,
    /// The sums of the elements of two lists.
    Add,
}

/// A call of a function that is written in C.
#[derive(Clone, Debug)]
pub struct Native {
    /// The function.
    pub source: &'static Source,
    /// The element types that it is for.
    pub types: SmallVec<[DType; 2]>,
    /// What it is called with.
    pub args: SmallVec<[Arg; 8]>,
    /// Whether it gives a text where it fails, and a null pointer else.
    pub fails: bool,
    /// The same for devices, with the same arguments.
    pub shader: Option<&'static Shader>,
}

/// A function for devices, in WGSL, for the arguments of the one in C.
///
/// It is `fn each(i: u32)`, which runs for each number below a count, or `fn group(i: u32, lane: u32)`, which 64 lanes run
/// together; these have `lanes_sum(lane, x)` and `lanes_max(lane, x)`. In the text `$name` stands for an argument: elements
/// (`$x[i]`; whole numbers of 64 bits are pairs, see `whole`, `fits` and `pair`), a number, or, for several numbers, a
/// function of the position. `$has_name` is whether there are elements, `$name_rest` what rounding takes from a number, `$T`
/// and `$U` are the element types, and `fail()` says that it fails.
#[derive(Debug)]
pub struct Shader {
    /// The text.
    pub text: &'static str,
    /// The names of the arguments, in order.
    pub args: &'static [&'static str],
    /// How many times it runs.
    pub count: fn(&[Given]) -> i64,
}

impl Shader {
    /// Whether the text uses an argument.
    pub fn uses(&self, name: &str) -> bool {
        self.text.match_indices('$').any(|(at, _)| {
            let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            self.text[at + 1..].split(end).next() == Some(name)
        })
    }
}

/// Functions in C, for element types that are filled in.
///
/// In the text, `$T` and `$U` stand for the first and the second element type in C, `$t` and `$u` for their short
/// names, such as `f32`, by which names of functions end.
#[derive(Debug)]
pub struct Source {
    /// The name of the function that is called, without the short names.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
    /// What it calls, of the same element types.
    pub needs: &'static [&'static Source],
}

/// An argument of a function.
#[derive(Clone, Debug)]
pub enum Arg {
    /// An input: a pointer to its elements, one behind the other.
    In(usize),
    /// An input, in another element type.
    As(usize, DType),
    /// An output, likewise.
    Out(usize),
    /// A size, as a whole number.
    Size(Dim),
    /// Sizes, as a pointer to whole numbers.
    Sizes(SmallVec<[Dim; 8]>),
    /// A whole number.
    Int(i64),
    /// Whole numbers, as a pointer.
    Ints(SmallVec<[i64; 8]>),
    /// A number, as a double.
    Number(f64),
    /// Memory for so many bytes, that nobody else needs meanwhile.
    Work(Dim),
    /// A text.
    Text(Arc<str>),
    /// A null pointer.
    Nothing,
}

impl Native {
    /// A call that cannot fail.
    pub fn new(
        source: &'static Source,
        types: impl IntoIterator<Item = DType>,
        args: impl IntoIterator<Item = Arg>,
    ) -> Native {
        let (types, args) = (types.into_iter().collect(), args.into_iter().collect());
        Native { source, types, args, fails: false, shader: None }
    }

    /// The same call with a text for devices.
    pub fn with_shader(self, shader: &'static Shader) -> Native {
        Native { shader: Some(shader), ..self }
    }

    /// The same call of a function that may fail.
    pub fn failing(self) -> Native {
        Native { fails: true, ..self }
    }

    /// A kernel of this call alone.
    pub fn alone(self) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::Calls(vec![self])))
    }
}

/// The type in which elements of a reduction meet.
pub fn meeting(kind: Reduce, element: DType, out: DType) -> DType {
    match kind {
        Reduce::Any | Reduce::All => DType::U8,
        Reduce::Max | Reduce::Min => element.compute(),
        Reduce::Sum | Reduce::Prod => element.promote(out).compute(),
    }
}

/// The number of elements of these sizes.
pub fn count(dims: &[Dim]) -> Result<Dim> {
    dims.iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim))
}

/// Memory for so many numbers of eight bytes.
pub fn eights(counts: &[Dim]) -> Result<Arg> {
    let all = counts.iter().try_fold(Dim::size(0), |all, &count| all.add(count))?;
    Ok(Arg::Work(all.mul(Dim::size(8))?))
}

/// The sizes around an axis: the product of those before it, its own, and the product of those behind it.
pub fn around(ty: &Type, axis: usize) -> Result<[Dim; 3]> {
    Ok([count(&ty.dims()[..axis])?, ty.dim(axis), count(&ty.dims()[axis + 1..])?])
}

/// The distances of neighbours along each axis of a tensor whose elements are one behind the other.
pub fn distances(dims: &[Dim]) -> Result<SmallVec<[Dim; 8]>> {
    (0..dims.len()).map(|axis| count(&dims[axis + 1..])).collect()
}
