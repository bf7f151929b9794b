//! The op: a plain struct whose fields are its attributes, with everything the system knows
//! about it in one file.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use fluvial_kernels::{Body, Reduce};
use fluvial_tensor::{DType, Dim, Error, ErrorKind, Result, Tensor, Type};
use smallvec::SmallVec;

use crate::attrs::Attrs;
use crate::batch::Batch;
use crate::bind::Outputs;
use crate::block::{Block, Call, ValueId};
use crate::grad::Grad;
use crate::kernel::{Elements, Kernel};
use crate::rewrite::{NewValues, Rewrite};
use crate::value::Value;
use crate::var::Var;

mod blocks;
mod traffic;

pub use blocks::{Blocks, CallByCall, RunBlock, Told, Work};
pub use traffic::{Traffic, bytes_of};

/// The types of an op's outputs.
pub type Types = SmallVec<[Type; 1]>;

/// The values of an op's outputs.
pub type Values = SmallVec<[Value; 1]>;

/// Name and attributes of an op. Written by [`attributes!`](crate::attributes).
pub trait Attributes: Any + Debug + Send + Sync {
    /// The name in programs. A user's op carries a prefix and a dot: `my.scale`.
    fn name(&self) -> &'static str;

    /// The attributes in untyped form.
    fn attrs(&self) -> Attrs;

    /// The same op with other attributes.
    fn rebuild(&self, attrs: &Attrs) -> Result<OpRef>;
}

/// An operation on values.
///
/// `infer`, `eval` and `grad` are the whole of most ops. A number of inputs that does not fit
/// `arity` never reaches them, so they may index their inputs freely.
pub trait Op: Attributes {
    /// How many inputs the op takes.
    fn arity(&self) -> Arity;

    /// The types of the outputs, or why the inputs do not fit.
    ///
    /// The only judge of shapes and element types, in both modes. A size that is known only when
    /// the op runs is [`Dim::fresh`](fluvial_tensor::Dim::fresh). The error states the fault; the
    /// caller adds the op, the types and the user's line.
    fn infer(&self, inputs: &[&Type]) -> Result<Types>;

    /// The values of the outputs. `outs` is what `infer` said.
    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values>;

    /// The only output, for inputs whose types obviously fit and that are so small that judging
    /// them would cost more than the arithmetic. It must be what `infer` and `eval` give.
    #[inline]
    fn quick(&self, inputs: &[&Value]) -> Option<Value> {
        let _ = inputs;
        None
    }

    /// How many inputs, counted from the first, the outputs can take the place of, one by one and with the same
    /// types: all outputs, or none. Of how many inputs there are.
    fn n_over(&self, n_inputs: usize) -> usize {
        let _ = n_inputs;
        0
    }

    /// Turns the inputs that the outputs take the place of into the outputs: written over where nobody else
    /// sees their memory, else replaced. `others` are the inputs behind them. It must give what `eval` gives;
    /// if it fails, nothing has changed.
    fn eval_over(&self, over: &mut [Tensor], others: &[&Tensor]) -> Result<()> {
        let _ = (over, others);
        Err(Error::internal(format!("`{}` writes over nothing", self.name())))
    }

    /// Which element types it takes and gives beyond the real ones. Others are refused before `infer` is asked.
    #[inline]
    fn takes(&self) -> Takes {
        Takes::Real
    }

    /// The gradient. There is no default: an op states a rule, or that it has none and why.
    fn grad(&self) -> Grad;

    /// What passes may know of the op.
    fn properties(&self) -> Properties {
        Properties::PURE
    }

    /// How the op may fail on inputs of these types that `infer` takes, by the numbers in them: then it is not
    /// removed, and keeps its place among effects and others that may fail. An op that owns blocks fails like them.
    fn fails(&self, inputs: &[&Type]) -> Option<Fault> {
        let _ = inputs;
        self.blocks().iter().find_map(|block| block.fails()).map(Fault::of)
    }

    /// The output, if there is one, whose numbers are positions among so many: no check of them can fail.
    fn positions(&self, inputs: &[&Type]) -> Option<(usize, Dim)> {
        let _ = inputs;
        None
    }

    /// Whether each element of an output depends only on the elements at its place, and on inputs without axes, so that
    /// a part of the elements can be computed by itself. An op on lists of tensors goes place by place in each of them.
    fn is_by_element(&self) -> bool {
        self.properties().elementwise
    }

    /// The scalar expression of an elementwise op.
    fn body(&self) -> Option<&Body> {
        None
    }

    /// The type in which `body` computes on inputs of these types.
    fn body_dtype(&self, inputs: &[&Type]) -> Option<DType> {
        let _ = inputs;
        None
    }

    /// The numbers that stand for the parameters of `body`, from the op's attributes.
    fn body_params(&self) -> SmallVec<[f64; 4]> {
        SmallVec::new()
    }

    /// The variant that has further outputs behind its own, which the gradient rule needs.
    ///
    /// It replaces the op where a gradient is asked for; users never see the further outputs.
    /// `wanted` says which inputs want a cotangent, `given` which outputs have one.
    fn with_residuals(&self, wanted: &[bool], given: &[bool]) -> Result<Option<OpRef>> {
        let _ = (wanted, given);
        Ok(None)
    }

    /// Whether a run may pass no cotangent on to an input on which outputs depend. Only the nodes of compiled
    /// programs do: a branch of theirs that uses it was perhaps not taken.
    fn leaves_out(&self) -> bool {
        false
    }

    /// Whether a cotangent of an output passes on to an input in any run, for ops that leave some out.
    fn passes_on(&self, _output: usize, _input: usize) -> bool {
        true
    }

    /// Whether output `output` may depend on input `input` by a path that gradients take.
    fn depends(&self, output: usize, input: usize) -> bool {
        let _ = (output, input);
        true
    }

    /// Which inputs some outputs may depend on by paths that gradients take; nothing stands for all of them.
    fn reaches(&self, outputs: &[bool]) -> Option<Vec<bool>> {
        let _ = outputs;
        None
    }

    /// For ops that own blocks: which outputs have a history in any run, if these inputs have one. Of others nothing is
    /// said.
    fn surely_tracked(&self, inputs: &[bool]) -> Vec<bool> {
        let _ = inputs;
        Vec::new()
    }

    /// For ops that own blocks: the outputs, computed with `bind` on the blocks' calls, so that a
    /// recording tape sees inside. Other ops return nothing.
    fn unroll(&self, inputs: &[&Var]) -> Result<Option<Outputs>> {
        let _ = inputs;
        Ok(None)
    }

    /// For ops that own blocks: those that `eval` runs.
    fn blocks(&self) -> SmallVec<[&Arc<Block>; 2]> {
        SmallVec::new()
    }

    /// `eval` of an op that owns blocks, which `blocks` runs: by their numbers in [`blocks`](Op::blocks).
    fn eval_blocks(
        &self,
        inputs: &[&Value],
        outs: &[Type],
        blocks: &mut dyn Blocks,
    ) -> Result<Values> {
        let _ = blocks;
        self.eval(inputs, outs)
    }

    /// For loops over a reader: its description. The first output is the position after the loop; the last
    /// value of the loop's state (see [`Blocks::trip`]) is the position of the trip.
    fn reader(&self) -> Option<&str> {
        None
    }

    /// Whether it runs its blocks several times at once, so that they need more memory than once.
    fn is_parallel(&self) -> bool {
        false
    }

    /// Whether it has to do with tasks or channels: a run with such an op ends when no task can go on. It may wait, and is
    /// told on which line.
    fn is_of_tasks(&self) -> bool {
        false
    }

    /// The number that all elements of the only output are, whatever the inputs.
    fn uniform(&self) -> Option<f64> {
        None
    }

    /// For loops: which values go from one trip to the next. What follows them among inputs and
    /// parameters is the same in every trip, and there may be more of it.
    fn carries(&self) -> Option<Carries> {
        None
    }

    /// What can stand in its place with the same bits, seen from what its inputs are computed by.
    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        let _ = (on, inputs);
        Ok(None)
    }

    /// For reductions of the only input: how elements become one, and along which axes, counted from the
    /// front and in order.
    fn reduces(&self, input: &Type) -> Option<(Reduce, SmallVec<[usize; 8]>)> {
        let _ = input;
        None
    }

    /// For ops whose only output is linear in one of these inputs, a weight, each of whose slices makes a
    /// channel of the output: where they are.
    fn weight(&self, inputs: &[&Type]) -> Option<Weight> {
        let _ = inputs;
        None
    }

    /// What does the work of this op and of `next`, an elementwise op that alone takes its only output,
    /// with the same bits. Among the inputs of `next`, [`ValueId::MAX`] stands for that output.
    fn absorb(&self, on: &Rewrite, inputs: &[ValueId], next: &Call) -> Option<Absorbed> {
        let _ = (on, inputs, next);
        None
    }

    /// The outputs for a whole batch at once, if the op has a rule for it; else it is run element by element. Ops
    /// that are elementwise have one.
    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        match self.properties() {
            Properties { elementwise: true, broadcasts: true, .. } => batch.broadcast(),
            Properties { elementwise: true, .. } => batch.as_is(),
            _ => Ok(None),
        }
    }

    /// What the op does to inputs of these types, as data, so that it can be written down as source; nothing, if it
    /// cannot. Elementwise ops, reductions and uniform values need not say it.
    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let _ = outs;
        if let (Some(body), Some(compute)) = (self.body(), self.body_dtype(inputs)) {
            let body = Arc::new(body.clone());
            let params = self.body_params();
            return Ok(Some(Kernel::Elementwise(Elements { body, compute, params })));
        }
        if let Some(number) = self.uniform() {
            return Ok(Some(Kernel::Fill(number)));
        }
        let [input] = inputs else { return Ok(None) };
        let of_input = |(kind, axes)| Kernel::Reduce { of: None, kind, axes };
        Ok(self.reduces(input).map(of_input))
    }

    /// About how many multiplications and additions the outputs take, where it is not a few for each of their elements.
    fn arithmetic(&self, inputs: &[&Type], outs: &[Type]) -> Option<f64> {
        let _ = (inputs, outs);
        None
    }

    /// What crosses the link of a rank, for ops that exchange something among so many ranks.
    fn traffic(&self, inputs: &[&Type], outs: &[Type], world: usize) -> Option<Traffic> {
        let _ = (inputs, outs, world);
        None
    }

    /// What the op has to do with the ranks of a run, if anything.
    fn ranks(&self) -> Option<Ranks> {
        None
    }

    /// The variant for inference, where it differs (dropout, batch norm).
    fn for_inference(&self) -> Option<OpRef> {
        None
    }
}

/// The element types that an op takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Bools, integers and floats.
    Real,
    /// Complex numbers, too.
    Complex,
    /// Complex numbers, too, of which it is an analytic function that gives conjugates for conjugates. Its rule is
    /// that of real numbers: it multiplies by the derivative, and is given the conjugates of what it reads.
    Analytic,
    /// All, also those that only store numbers: it computes nothing with them.
    Any,
}

impl Takes {
    /// An error if one of the types is not among these.
    #[inline]
    pub fn check<'a>(self, types: impl IntoIterator<Item = &'a Type>) -> Result<()> {
        for ty in types {
            let dtype = ty.dtype();
            let fits = match self {
                Takes::Any => true,
                Takes::Complex | Takes::Analytic => !dtype.is_stored(),
                Takes::Real => !dtype.is_stored() && !dtype.is_complex(),
            };
            if !fits {
                return Err(not_taken(dtype));
            }
        }
        Ok(())
    }
}

#[cold]
fn not_taken(dtype: DType) -> Error {
    match dtype.is_complex() {
        true => Error::dtype("this is not defined for complex numbers").remedy(
            "take `real(x)`, `imag(x)` or `abs(x)` first, or `view_as_real(x)` for both parts",
        ),
        false => Error::dtype(format!("{dtype} only stores numbers"))
            .remedy("cast to f16, bf16 or f32 first, and back afterwards"),
    }
}

/// The types of an op's outputs on these inputs, judged as [`Op::infer`] and [`Op::takes`] say.
#[inline]
pub fn inferred(op: &dyn Op, inputs: &[&Type]) -> Result<Types> {
    let takes = op.takes();
    takes.check(inputs.iter().copied())?;
    let outs = op.infer(inputs)?;
    takes.check(&outs)?;
    Ok(outs)
}

/// How an op may fail when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// If it fails for one reason only, that a number of an input is not a position among so many: which input, and
    /// how many. Where such a check has passed, a further one cannot fail.
    pub range: Option<(usize, Dim)>,
}

impl Fault {
    /// A fault of this kind.
    pub const fn of(kind: ErrorKind) -> Fault {
        Fault { kind, range: None }
    }

    /// A number of input `input` is not a position among `size`.
    pub const fn position(input: usize, size: Dim) -> Fault {
        Fault { kind: ErrorKind::Index, range: Some((input, size)) }
    }
}

/// What an op has to do with the ranks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// It waits for the other ranks, and gives the same to all, whatever they bring.
    Agree,
    /// It waits for the other ranks, and gives each something of its own.
    Exchange,
    /// It gives each rank something of its own, though their inputs are the same.
    Differ,
    /// It does something that one rank has to do, and not all of them.
    Once,
}

/// Where the values that a loop carries stand: how many there are, and the first of them among the inputs and
/// outputs of the op, and among the parameters and results of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carries {
    /// Among the inputs.
    pub inputs: usize,
    /// Among the outputs.
    pub outputs: usize,
    /// Among the parameters of the block.
    pub params: usize,
    /// Among the results of the block.
    pub results: usize,
    /// How many.
    pub count: usize,
}

/// A weight and its channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// Which input it is.
    pub input: usize,
    /// The axis of its slices.
    pub axis: usize,
    /// The axis of the output along which they make channels.
    pub channels: usize,
}

/// An op that does the work of two.
pub struct Absorbed {
    /// The op.
    pub op: OpRef,
    /// What it takes.
    pub inputs: SmallVec<[ValueId; 4]>,
}

/// `eval` of an op that has [`eval_over`](Op::eval_over): over copies of handles, so that nothing is changed.
pub fn eval_by_over(op: &dyn Op, inputs: &[&Value]) -> Result<Values> {
    let tensors: Vec<&Tensor> = inputs.iter().map(|input| input.tensor()).collect::<Result<_>>()?;
    let (over, others) = tensors.split_at(op.n_over(tensors.len()));
    let mut over: Vec<Tensor> = over.iter().map(|&tensor| tensor.clone()).collect();
    op.eval_over(&mut over, others)?;
    Ok(over.into_iter().map(Value::Tensor).collect())
}

/// How many inputs an op takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Exactly so many.
    Exactly(usize),
    /// So many or more.
    AtLeast(usize),
}

impl Arity {
    /// Refuses a number of inputs that does not fit.
    #[inline]
    pub fn check(self, op: &str, n_inputs: usize) -> Result<()> {
        let fits = match self {
            Arity::Exactly(n) => n_inputs == n,
            Arity::AtLeast(n) => n_inputs >= n,
        };
        if fits { Ok(()) } else { Err(self.fault(op, n_inputs)) }
    }

    #[cold]
    fn fault(self, op: &str, n_inputs: usize) -> Error {
        let wanted = match self {
            Arity::Exactly(1) => "one input".to_string(),
            Arity::Exactly(n) => format!("{n} inputs"),
            Arity::AtLeast(1) => "at least one input".to_string(),
            Arity::AtLeast(n) => format!("at least {n} inputs"),
        };
        Error::new(ErrorKind::Arity, format!("`{op}` takes {wanted}, got {n_inputs}"))
    }
}

/// What passes, the tape and the interpreter may know of an op. They ask for these, never for
/// its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Properties {
    /// Does something besides computing its outputs: it is not removed, repeated or reordered.
    pub effect: bool,
    /// Applies one scalar expression to each element.
    pub elementwise: bool,
    /// Its inputs are broadcast together; the reverse walk sums cotangents back to their shapes.
    pub broadcasts: bool,
    /// Combines elements along axes.
    pub reduction: bool,
    /// The output shows the input's elements in another order or shape.
    pub view: bool,
    /// Its numbers come from a random stream given as an operand.
    pub random: bool,
    /// It has a variant with residuals, or blocks that a tape must see into.
    pub residuals: bool,
}

impl Properties {
    /// Nothing but outputs from inputs.
    pub const PURE: Properties = Properties {
        effect: false,
        elementwise: false,
        broadcasts: false,
        reduction: false,
        view: false,
        random: false,
        residuals: false,
    };
    /// An op with an effect.
    pub const EFFECT: Properties = Properties { effect: true, ..Properties::PURE };
    /// An elementwise op.
    pub const ELEMENTWISE: Properties =
        Properties { elementwise: true, broadcasts: true, ..Properties::PURE };
    /// A reduction.
    pub const REDUCTION: Properties = Properties { reduction: true, ..Properties::PURE };
    /// A view.
    pub const VIEW: Properties = Properties { view: true, ..Properties::PURE };
    /// A random op.
    pub const RANDOM: Properties = Properties { random: true, ..Properties::PURE };
}

/// A shared op.
#[derive(Clone, Debug)]
pub enum OpRef {
    /// An op without attributes, made at compile time.
    Static(&'static dyn Op),
    /// An op with attributes.
    Shared(Arc<dyn Op>),
}

impl OpRef {
    /// Shares an op.
    pub fn new(op: impl Op) -> OpRef {
        OpRef::Shared(Arc::new(op))
    }

    /// By number: whether an output has a history in any run, if these inputs have one.
    pub(crate) fn surely(&self, inputs: &[bool]) -> impl Fn(usize) -> bool + use<> {
        let passes = !matches!(self.grad(), Grad::Stop);
        let by_blocks = (!self.blocks().is_empty()).then(|| self.surely_tracked(inputs));
        let any = inputs.contains(&true);
        move |i| passes && by_blocks.as_ref().map_or(any, |outputs| outputs.get(i) == Some(&true))
    }

    /// The op as its own type.
    pub fn downcast<T: Op>(&self) -> Option<&T> {
        let op: &dyn Any = &**self;
        op.downcast_ref()
    }
}

impl Deref for OpRef {
    type Target = dyn Op;

    #[inline]
    fn deref(&self) -> &dyn Op {
        match self {
            OpRef::Static(op) => *op,
            OpRef::Shared(op) => &**op,
        }
    }
}

impl PartialEq for OpRef {
    fn eq(&self, other: &OpRef) -> bool {
        self.name() == other.name() && self.attrs() == other.attrs()
    }
}

impl<T: Op> From<T> for OpRef {
    fn from(op: T) -> OpRef {
        OpRef::new(op)
    }
}

impl From<&OpRef> for OpRef {
    fn from(op: &OpRef) -> OpRef {
        op.clone()
    }
}
