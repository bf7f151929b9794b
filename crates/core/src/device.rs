//! Devices: what runs ops beside the processor, and values that are there.
//!
//! Nothing of this concerns an op: what one does as data ([`Op::kernel`](crate::Op::kernel)) is what a device is given.
//! An op that a device cannot run, or that says nothing of this kind, falls back: [`Value::tensor`](crate::Value::tensor)
//! downloads what it reads, and its results are uploaded again. [`report()`] tells the lines where that happens.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock};

use fluvial_kernels::Reduce;
use fluvial_tensor::{DType, Error, Result, Tensor, Type};
use smallvec::SmallVec;

use crate::bind::record;
use crate::kernel::{Elements, Shader};
use crate::limits;
use crate::scope;
use crate::structural::Expand;
use crate::tape::lock;
use crate::value::Value;
use crate::var::Var;

mod launch;
mod report;
mod work;

pub(crate) use launch::{evaluate, is_concerned};
pub use report::{Entry, clear_report, find_lines_by, report};

/// What holds elements on a device; only the device knows what it is.
pub type Memory = Arc<dyn Any + Send + Sync>;

/// What a device has made of a piece of work, for this one and for others of the same form.
pub type Pipeline = Arc<dyn Any + Send + Sync>;

/// What runs ops beside the processor, on memory of its own.
pub trait Device: Send + Sync {
    /// The name, with its number: `gpu:0`.
    fn name(&self) -> &str;

    /// What it is, for people.
    fn about(&self) -> &str;

    /// Whether its memory holds elements of this type.
    fn holds(&self, dtype: DType) -> bool;

    /// Memory for so many elements; what is in it is not said.
    fn allocate(&self, dtype: DType, count: usize) -> Result<Memory>;

    /// Puts the elements of a tensor, which are one behind the other, into memory that was allocated for them.
    fn upload(&self, x: &Tensor, to: &Memory) -> Result<()>;

    /// The first elements of memory, as a tensor of this type. Waits for what writes them.
    fn download(&self, from: &Memory, dtype: DType, dims: &[usize]) -> Result<Tensor>;

    /// What runs work of this form; nothing, if this device cannot.
    fn prepare(&self, work: &Work<'_>) -> Result<Option<Pipeline>>;

    /// Runs work after all that it was told before. It need not be done when this returns.
    fn run(&self, pipeline: &Pipeline, work: &Work<'_>) -> Result<()>;
}

/// What a device is asked to do once.
pub struct Work<'a> {
    /// What is done.
    pub task: Task<'a>,
    /// What is read.
    pub inputs: &'a [Span],
    /// What is written; it shares no memory with what is read.
    pub outs: &'a [Span],
}

/// What is done.
pub enum Task<'a> {
    /// Scalar expressions at each place of these sizes, one for each of what is written.
    Elementwise {
        /// The expressions.
        of: &'a Elements,
        /// The sizes.
        dims: &'a [usize],
    },
    /// A reduction of an expression over these sizes. What is written does not move along axes that are reduced.
    Reduce {
        /// The expression, and the type of its results; the only input itself, if there is none.
        of: Option<(&'a Elements, DType)>,
        /// How elements become one.
        kind: Reduce,
        /// The type in which they do.
        meeting: DType,
        /// The sizes.
        dims: &'a [usize],
        /// By axis: whether it is reduced.
        reduced: &'a [bool],
    },
    /// A function with a text for devices. What it reads and writes is one behind the other; its memory for work, if any,
    /// stands behind what is written.
    Call {
        /// The text.
        shader: &'static Shader,
        /// The element types that it is for.
        types: &'a [DType],
        /// What it is called with.
        args: &'a [Given],
        /// Whether the last of what is written is one number, which it sets to one where it fails.
        fails: bool,
    },
}

/// An argument of a function that a device runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// What is read, by number.
    In(usize),
    /// What is written, by number.
    Out(usize),
    /// A whole number.
    Int(i64),
    /// Whole numbers.
    Ints(SmallVec<[i64; 8]>),
    /// A number.
    Number(f64),
    /// Nothing, in the place of elements.
    Nothing,
}

impl Given {
    /// The whole number, or 0 if it is none.
    pub fn int(&self) -> i64 {
        if let Given::Int(number) = self { *number } else { 0 }
    }

    /// The whole numbers; none, if it is not a sequence of them.
    pub fn ints(&self) -> &[i64] {
        if let Given::Ints(numbers) = self { numbers } else { &[] }
    }
}

/// Elements on a device, as one goes through them.
#[derive(Clone)]
pub struct Span {
    /// Where they are.
    pub memory: Memory,
    /// Their type.
    pub dtype: DType,
    /// The first element.
    pub first: usize,
    /// By axis: how far apart neighbours are.
    pub steps: SmallVec<[isize; 8]>,
}

/// A tensor on a device. It has a copy on the host once somebody has asked for it.
pub struct DeviceTensor {
    ty: Type,
    span: Span,
    device: Arc<dyn Device>,
    host: OnceLock<Tensor>,
}

impl DeviceTensor {
    /// The elements of a tensor, on a device.
    pub fn upload(x: &Tensor, device: &Arc<dyn Device>) -> Result<DeviceTensor> {
        if !device.holds(x.dtype()) {
            return Err(Error::dtype(format!("{} holds no {}", device.name(), x.dtype()))
                .remedy("cast it first, to f32 for instance, or leave it on the CPU"));
        }
        let plain = x.contiguous()?;
        let memory = device.allocate(x.dtype(), x.numel())?;
        if x.numel() > 0 {
            device.upload(&plain, &memory)?;
        }
        report::uploaded(x.numel() * x.dtype().size());
        let made = DeviceTensor::plain(x.ty(), memory, device.clone());
        Ok(DeviceTensor { host: OnceLock::from(plain), ..made })
    }

    /// Elements that are one behind the other from the first of this memory on.
    fn plain(ty: Type, memory: Memory, device: Arc<dyn Device>) -> DeviceTensor {
        let steps = plain_steps(&ty.sizes().unwrap_or_default());
        let span = Span { memory, dtype: ty.dtype(), first: 0, steps };
        DeviceTensor { ty, span, device, host: OnceLock::new() }
    }

    /// The type.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// The copy on the host, which is made when it is first asked for.
    pub fn host(&self) -> Result<&Tensor> {
        if let Some(known) = self.host.get() {
            return Ok(known);
        }
        let copy = self.download()?;
        // Another thread may have been faster; both are the same.
        Ok(self.host.get_or_init(|| copy))
    }

    fn dims(&self) -> SmallVec<[usize; 8]> {
        self.ty.sizes().unwrap_or_default()
    }

    /// Whether the elements are one behind the other from the first of the memory on.
    fn is_plain(&self) -> bool {
        let dims = self.dims();
        let plain = plain_steps(&dims);
        let fits = |axis: usize| dims[axis] == 1 || plain[axis] == self.span.steps[axis];
        self.span.first == 0 && (0..dims.len()).all(fits)
    }

    fn download(&self) -> Result<Tensor> {
        let dims = self.dims();
        if dims.contains(&0) {
            return Tensor::zeros(self.ty.dtype(), &dims);
        }
        report::downloaded(self.ty.numel().unwrap_or(0) * self.ty.dtype().size());
        if self.span.steps.iter().all(|&step| step == 0) && self.span.first == 0 {
            return self.device.download(&self.span.memory, self.ty.dtype(), &[])?.expand(&dims);
        }
        if self.is_plain() {
            return self.device.download(&self.span.memory, self.ty.dtype(), &dims);
        }
        let plain = work::copied(self, self.ty.dtype())?;
        self.device.download(&plain.span.memory, self.ty.dtype(), &dims)
    }
}

impl fmt::Debug for DeviceTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.ty, self.device.name())
    }
}

fn plain_steps(dims: &[usize]) -> SmallVec<[isize; 8]> {
    let count = |axis: usize| dims[axis + 1..].iter().product::<usize>() as isize;
    (0..dims.len()).map(count).collect()
}

/// Opens the devices of one kind.
pub trait Driver: Send + Sync {
    /// What they are called, without a number: `gpu`.
    fn kind(&self) -> &'static str;

    /// What there is, by number.
    fn list(&self) -> Vec<String>;

    /// The device of this number, or why there is none.
    fn open(&self, number: usize) -> Result<Arc<dyn Device>>;
}

static DRIVERS: Mutex<Vec<Box<dyn Driver>>> = Mutex::new(Vec::new());
static OPENED: Mutex<BTreeMap<String, Arc<dyn Device>>> = Mutex::new(BTreeMap::new());

/// Makes the devices of a kind known. The latest of those that have one name counts.
pub fn register(driver: impl Driver + 'static) {
    let mut drivers = lock(&DRIVERS);
    drivers.retain(|known| known.kind() != driver.kind());
    drivers.push(Box::new(driver));
}

/// Whether a device was opened in this process.
pub fn is_used() -> bool {
    limits::is_any() && !lock(&OPENED).is_empty()
}

/// All devices by name, with what they are.
pub fn devices() -> Vec<(String, String)> {
    let of = |driver: &Box<dyn Driver>| {
        let kind = driver.kind();
        driver.list().into_iter().enumerate().map(move |(i, about)| (format!("{kind}:{i}"), about))
    };
    lock(&DRIVERS).iter().flat_map(|driver| of(driver).collect::<Vec<_>>()).collect()
}

/// The device of this name: `gpu` is the same as `gpu:0`. Nothing is the CPU.
pub fn open(name: &str) -> Result<Option<Arc<dyn Device>>> {
    let (kind, number) = name.split_once(':').unwrap_or((name, "0"));
    let number: usize = number.parse().map_err(|_| unknown(name))?;
    if kind == "cpu" && number == 0 {
        return Ok(None);
    }
    let full = format!("{kind}:{number}");
    let mut opened = lock(&OPENED);
    if let Some(known) = opened.get(&full) {
        return Ok(Some(known.clone()));
    }
    let drivers = lock(&DRIVERS);
    let driver = drivers.iter().find(|driver| driver.kind() == kind);
    let device = driver.ok_or_else(|| unknown(name))?.open(number)?;
    // From now on ops have to look where their inputs are.
    limits::alert(true);
    opened.insert(full, device.clone());
    Ok(Some(device))
}

fn unknown(name: &str) -> Error {
    let fault = Error::argument(format!("there is no device \"{name}\""));
    match name.starts_with("cuda") || name.starts_with("mps") || name.starts_with("xpu") {
        true => fault.remedy(
            "graphics processors of all makers are \"gpu\" here: \"gpu:0\" is the first one",
        ),
        false => fault.remedy("use \"cpu\", or \"gpu\" and a number: \"gpu:0\""),
    }
}

thread_local! {
    static CHOSEN: RefCell<Option<Arc<dyn Device>>> = const { RefCell::new(None) };
}

/// The device on which ops of this thread run, if one was chosen.
pub fn chosen() -> Option<Arc<dyn Device>> {
    CHOSEN.with_borrow(Clone::clone)
}

/// Lets ops of this thread run on a device, wherever their inputs are, until the guard is dropped; or again where their
/// inputs are.
pub fn choose(device: Option<Arc<dyn Device>>) -> Choice {
    Choice(CHOSEN.replace(device), PhantomData)
}

/// Puts the former choice back when dropped.
#[must_use = "the former device is chosen again when the guard is dropped"]
pub struct Choice(Option<Arc<dyn Device>>, PhantomData<*const ()>);

impl Drop for Choice {
    fn drop(&mut self) {
        CHOSEN.set(self.0.take());
    }
}

/// A value on a device, or on the CPU. A gradient passes through.
pub fn moved(var: &Var, device: Option<&Arc<dyn Device>>) -> Result<Var> {
    let value = var.value()?.to_device(device)?;
    if !var.is_tracked() || !scope::is_recording() || var.ty().is_list() {
        return Ok(Var::new(value));
    }
    // To repeat something once.
    let same = Expand { dims: var.dims().to_vec() };
    let mut outputs =
        record(same.into(), &[var], [value].into_iter().collect(), &[true], scope::user_line());
    outputs.pop().ok_or_else(|| Error::internal("a value was lost on its way to a device"))
}

impl Value {
    /// The device that it is on; nothing for the CPU, and for lists.
    pub fn device(&self) -> Option<&Arc<dyn Device>> {
        match self {
            Value::Device(here) => Some(here.device()),
            _ => None,
        }
    }

    /// The value on a device, or on the CPU: itself, if it is there. Lists are brought element by element.
    pub fn to_device(&self, device: Option<&Arc<dyn Device>>) -> Result<Value> {
        match (self, device) {
            (Value::Device(here), Some(device)) if Arc::ptr_eq(here.device(), device) => {
                Ok(self.clone())
            }
            (Value::Device(_) | Value::Tensor(_), Some(device)) => {
                Ok(Value::Device(Arc::new(DeviceTensor::upload(self.tensor()?, device)?)))
            }
            (Value::Device(here), None) => Ok(Value::Tensor(here.host()?.clone())),
            (Value::List(list), _) => {
                let mut elements =
                    list.iter().map(|value| value.to_device(device)).collect::<Result<Vec<_>>>()?;
                elements.reverse();
                crate::value::List::from_bottom(list.element(), elements).map(Value::List)
            }
            (Value::Tensor(_) | Value::Channel(_), _) => Ok(self.clone()),
        }
    }
}
