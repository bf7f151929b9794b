//! `print`: shows a value when the program passes it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::prelude::*;

options! {
    /// When and how much is printed.
    pub struct PrintOptions {
        /// Only the first so many times that this line of the user's is passed with this message.
        pub first_n: Option<usize> = None,
        /// At most so many elements, in one row.
        pub summarize: Option<usize> = None,
        /// Only the elements, without their type.
        pub plain: bool = false,
    }
}

/// Takes what `print` writes, a line without its end.
pub type Printer = Arc<dyn Fn(&str) + Send + Sync>;

static PRINTER: RwLock<Option<Printer>> = RwLock::new(None);

/// The times that a line was passed with a message.
type Counts = BTreeMap<(Arc<str>, Arc<str>), usize>;

static COUNTS: Mutex<Counts> = Mutex::new(BTreeMap::new());

/// Sends what is printed to a function instead of standard output; `None` puts that back.
pub fn set_printer(printer: Option<Printer>) {
    let former = {
        let mut current = PRINTER.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, printer)
    };
    // What the former one owned is freed without the lock: it may run code of its own.
    drop(former);
}

thread_local! {
    static IS_MUTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread prints nothing: a debugger runs a part of a program again.
pub fn mute_prints(is_muted: bool) {
    IS_MUTED.set(is_muted);
}

/// Writes the value to standard output (or to [`set_printer`]'s function) with a message whenever the op
/// runs, and passes it on. See [`print_grad`](super::print_grad) for gradients.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = print(&Var::scalar(3.0f64), "x")?;
/// assert_eq!(x.item::<f64>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn print(x: &Var, message: &str) -> Result<Var> {
    print_with(x, message, PrintOptions::default())
}

/// [`print`](super::print()) with options.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0; 100], &[100])?;
/// for _ in 0..10 {
///     // Prints `x: f64[100] [1.0, 1.0, 1.0, ..]`, twice.
///     let _ = print_with(&x, "x", PrintOptions::default().first_n(2).summarize(3))?;
/// }
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn print_with(x: &Var, message: &str, options: PrintOptions) -> Result<Var> {
    bind1(Print::new(message, &options), &[x])
}

static SOURCE: Source = Source { name: "print", text: include_str!("print.c"), needs: &[] };
static COPY: Source = Source { name: "copy", text: include_str!("copy.c"), needs: &[] };

attributes! {
    /// The op behind [`print`].
    pub struct Print = "print" {
        /// What stands before the value.
        pub message: Arc<str>,
        /// How often it prints at most.
        pub first_n: Option<usize>,
        /// How many elements it shows at most.
        pub summarize: Option<usize>,
        /// Whether it leaves the type out.
        pub plain: Option<bool>,
        /// The line whose prints are counted.
        pub site: Option<Arc<str>>,
    }
}

impl Print {
    /// The op of a call on the user's line.
    #[track_caller]
    pub(super) fn new(message: &str, options: &PrintOptions) -> Print {
        let site = options.first_n.map(|_| scope::user_line().to_string().into());
        Print {
            message: message.into(),
            first_n: options.first_n,
            summarize: options.summarize,
            plain: options.plain.then_some(true),
            site,
        }
    }

    /// Counts this time, and says whether it is one of the first.
    fn is_due(&self) -> bool {
        let Some(first_n) = self.first_n else { return true };
        let site = self.site.clone().unwrap_or_else(|| Arc::from(""));
        let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((site, self.message.clone())).or_default();
        *count = count.saturating_add(1);
        *count <= first_n
    }

    fn text(&self, value: &Value) -> String {
        let shown = match (value, self.summarize) {
            (Value::Tensor(tensor), Some(most)) => first(tensor, most),
            (Value::Tensor(tensor), None) => format!("{tensor:?}"),
            (Value::List(list), _) => format!("{list:?}"),
            (Value::Device(here), _) => match here.host() {
                Ok(tensor) => return self.text(&tensor.clone().into()),
                Err(_) => format!("{here:?}"),
            },
            (Value::Channel(channel), _) => format!("{channel:?}"),
        };
        let ty = value.ty().to_string();
        let shown = match (self.plain, shown.strip_prefix(&ty)) {
            (Some(true), Some(elements)) => elements.trim_start(),
            _ => &shown,
        };
        match self.message.is_empty() {
            true => shown.to_string(),
            false => format!("{}: {shown}", self.message),
        }
    }
}

/// The type and at most so many elements.
pub(super) fn first(tensor: &Tensor, most: usize) -> String {
    let shown = most.min(tensor.numel());
    let flat = tensor.reshape(&[tensor.numel()]).and_then(|flat| flat.slice(0, 0, shown, 1));
    let flat = flat.map_or_else(|_| Vec::new(), |flat| flat.to_f64s());
    let number = |x: &f64| match tensor.dtype() {
        DType::Bool => (*x != 0.0).to_string(),
        dtype if dtype.is_float() => format!("{x:?}"),
        _ => x.to_string(),
    };
    let mut numbers: Vec<String> = flat.iter().map(number).collect();
    if shown < tensor.numel() {
        numbers.push("..".to_string());
    }
    format!("{} [{}]", tensor.ty(), numbers.join(", "))
}

impl Op for Print {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        if !IS_MUTED.get() && self.is_due() {
            let text = self.text(inputs[0]);
            let printer = PRINTER.read().unwrap_or_else(PoisonError::into_inner).clone();
            match printer {
                Some(printer) => printer(&text),
                None => println!("{text}"),
            }
        }
        Ok(smallvec![inputs[0].clone()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| grads![p => p.dy()])
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let ty = inputs[0];
        let is_other =
            ty.dtype().is_complex() || ty.dtype().is_stored() || ty.dtype() == DType::U64;
        if self.first_n.is_some() || ty.is_list() || is_other {
            return Ok(None);
        }
        let (own, kind) = match ty.dtype() {
            DType::F64 => (DType::F64, 1),
            dtype if dtype.is_float() => (DType::F64, 0),
            DType::Bool => (DType::I64, 3),
            _ => (DType::I64, 2),
        };
        let name = match self.plain {
            Some(true) => Arg::Nothing,
            _ => Arg::Text(ty.dtype().name().into()),
        };
        let most = self.summarize.map_or(-1, |most| i64::try_from(most).unwrap_or(i64::MAX));
        let args = [
            Arg::As(0, own),
            Arg::Text(self.message.clone()),
            name,
            Arg::Int(ty.rank() as i64),
            Arg::Sizes(SmallVec::from_slice(ty.dims())),
            Arg::Int(kind),
            Arg::Int(most),
        ];
        let shown = Native::new(&SOURCE, [own], args);
        // What is printed is passed on.
        let passed = Native::new(
            &COPY,
            [ty.dtype()],
            [Arg::In(0), Arg::Out(0), Arg::Size(kernel::count(ty.dims())?)],
        );
        Ok(Some(Kernel::Calls(vec![shown, passed])))
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Print::NAME, Print::build, || {
    let x = ramp(&[2]);
    let of = |options| Print::new("x", &options);
    vec![
        Sample::new(of(PrintOptions::default()), [x.clone()]).gives([x.clone()]),
        Sample::new(of(PrintOptions::default().first_n(1).summarize(1)), [x.clone()])
            .gives([x.clone()]),
        Sample::new(of(PrintOptions::default().plain(true)), [x.clone()]).gives([x]),
    ]
});
