//! `class_losses`: the cross entropy of rows of logits, in one pass.

use crate::binary::lt::LT;
use crate::binary::where_::WHERE;
use crate::index::{AlongIndex, Gather};
use crate::net::LogSoftmax;
use crate::prelude::*;
use crate::reading::{inputs_of, unshaped};
use crate::reduce::Sum;
use crate::shape::{DimSize, Reshape};
use crate::{cast, ne, one_hot, sum, unsqueeze, where_};

/// What [`cross_entropy`](crate::cross_entropy) gives for rows `[batch, classes]` of logits and numbers of
/// classes `[batch]`, before it is reduced. Zero where the label is `ignored`.
#[track_caller]
pub(super) fn class_losses(logits: &Var, labels: &Var, ignored: i64) -> Result<Var> {
    bind1(ClassLosses { ignored, slopes: false }, &[logits, labels])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "class_losses", text: include_str!("class_losses.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("class_losses.wgsl"),
    args: &["x", "labels", "losses", "slopes", "rows", "classes", "ignored"],
    count: |n| n[4].int(),
};

attributes! {
    /// The op behind `class_losses`, the implementation of [`cross_entropy`](crate::cross_entropy) for rows.
    ///
    /// Inputs: logits `[batch, classes]` and labels `[batch]`. Outputs: the loss of each row; and, once a
    /// gradient was asked for, the derivatives of each loss by its logits: softmax minus one at the label.
    pub struct ClassLosses = "class_losses" {
        /// The label that does not count.
        pub ignored: i64,
        /// Whether the derivatives are an output.
        pub slopes: bool,
    }
}

impl Op for ClassLosses {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (logits, labels) = (inputs[0], inputs[1]);
        if logits.is_list() || labels.is_list() || labels.dtype() != DType::I64 {
            return Err(Error::dtype("expected logits, and labels that are i64"));
        }
        if !matches!(logits.dtype(), DType::F32 | DType::F64) {
            return Err(Error::dtype(format!("expected f32 or f64, found {logits}")));
        }
        if logits.rank() != 2 || labels.dims() != &logits.dims()[..1] {
            return Err(Error::shape(format!(
                "labels {labels} do not fit rows of logits {logits}"
            )));
        }
        let losses = logits.with_dims(&logits.dims()[..1])?;
        Ok(if self.slopes { smallvec![losses, *logits] } else { smallvec![losses] })
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (logits, labels) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let (losses, slopes) = kernels::cross_entropy(logits, labels, 1.0, Some(self.ignored))?;
        let mut outputs: Values = smallvec![losses.into()];
        if self.slopes {
            outputs.push(slopes.into());
        }
        Ok(outputs)
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Index))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.folded()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b10).and_outputs(0b10), |p| {
            let (op, slopes) = (p.op::<ClassLosses>()?, p.y(1));
            let by_losses = match &p.dys()[0] {
                // What is ignored has no gradient, whatever the cotangent: it may be 1 / 0.
                Some(dy) => {
                    let counted = ne(&p.x(1), &Var::scalar(op.ignored))?;
                    let dy = where_(&counted, dy, &zeros_like(dy)?)?;
                    Some(mul(&slopes, &unsqueeze(&dy, 1)?)?)
                }
                None => None,
            };
            let by_slopes = match p.dys().get(1) {
                Some(Some(dy)) => Some(of_slopes(&slopes, &p.x(1), op.ignored, dy)?),
                _ => None,
            };
            grads![p => plus(by_losses, by_slopes)?, None]
        })
    }

    fn properties(&self) -> Properties {
        Properties { residuals: !self.slopes, ..Properties::PURE }
    }

    fn with_residuals(&self, wanted: &[bool], _: &[bool]) -> Result<Option<OpRef>> {
        Ok(wanted[0].then(|| ClassLosses { slopes: true, ..self.clone() }.into()))
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let slopes = if self.slopes { Arg::Out(1) } else { Arg::Nothing };
        let sizes = [inputs[0].dim(0), inputs[0].dim(1)].map(Arg::Size);
        let args = [Arg::In(0), Arg::In(1), Arg::Out(0), slopes].into_iter().chain(sizes);
        let args = args.chain([Arg::Int(self.ignored)]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().with_shader(&SHADER).alone()
    }
}

/// The cotangent of logits from that of their slopes: the derivative of softmax.
fn of_slopes(slopes: &Var, labels: &Var, ignored: i64, dy: &Var) -> Result<Var> {
    // A number that is not a class has a row of zeros.
    let labels = where_(&ne(labels, &Var::scalar(ignored))?, labels, &Var::scalar(-1i64))?;
    let hot = cast(&one_hot(&labels, slopes.ty().dim(1))?, slopes.dtype())?;
    let softmax = add(slopes, &hot)?;
    let mean = sum(&mul(&softmax, dy)?, &[1], true)?;
    mul(&softmax, &sub(dy, &mean)?)
}

/// The negative logarithms of softmax at labels, which were taken along axis 1, or the negative mean or sum
/// of these.
pub(crate) const FORM: Form = Form { name: ClassLosses::NAME, ends: &["neg"], find: spelled };

fn spelled(look: &mut Look<'_>, call: &Call) -> Option<Found> {
    let &[value] = inputs_of(call, NEG.name())? else { return None };
    if let Some(picked) = look.attempt(|look| Picked::read(look, value)) {
        return Some(Box::new(move |on: &mut Rewrite| picked.losses(on)));
    }
    let (total, count) = match look.attempt(|look| look.inputs(value, DIV.name())) {
        Some(inputs) => (inputs[0], Some(inputs[1])),
        None => (value, None),
    };
    let (sum, inputs) = look.op::<Sum>(total)?;
    let (sum, picked) = (sum.clone(), Picked::read(look, inputs[0])?);
    Some(Box::new(move |on: &mut Rewrite| {
        let losses = picked.losses(on)?;
        let total = on.call1(sum, &[losses])?;
        count.map_or(Ok(total), |count| on.call1(&DIV, &[total, count]))
    }))
}

/// Logarithms of softmax at labels.
struct Picked {
    logits: ValueId,
    labels: ValueId,
    n_classes: Dim,
    dims: Vec<Dim>,
}

impl Picked {
    fn read(look: &mut Look<'_>, value: ValueId) -> Option<Picked> {
        let dims = look.ty(value).dims().to_vec();
        let value = unshaped(look, value);
        let (_, inputs) = look.op::<Gather>(value)?;
        let (_, flat) = look.op::<Reshape>(inputs[0])?;
        let (log_softmax, logits) = look.op::<LogSoftmax>(flat[0])?;
        let ty = look.ty(logits[0]);
        let numbers = unshaped(look, inputs[1]);
        let (along, index) = look.op::<AlongIndex>(numbers)?;
        let (rows, of_index) = (ty.rank() == 2, look.ty(index[0]));
        let by_classes = axis(along.axis, of_index.rank()).ok()? == 1
            && axis(log_softmax.axis, ty.rank()).ok()? == 1
            && rows
            && along.size == ty.dim(1)
            && of_index.dims() == [ty.dim(0), Dim::size(1)];
        let labels = unshaped(look, index[0]);
        by_classes.then(|| Picked { logits: logits[0], labels, n_classes: ty.dim(1), dims })
    }

    /// Writes the losses in the shape that the logarithms had.
    fn losses(self, on: &mut Rewrite) -> Result<ValueId> {
        let rows = on.ty(self.logits).dim(0);
        let mut labels = self.labels;
        if on.ty(labels).dims() != [rows] {
            labels = on.call1(Reshape { dims: vec![rows] }, &[labels])?;
        }
        // What is picked by a negative number is counted from the back.
        let zero = on.call1(Constant { value: Tensor::scalar(0i64) }, &[])?;
        let n_classes = on.call1(DimSize { size: self.n_classes, dtype: DType::I64 }, &[])?;
        let from_back = on.call1(&LT, &[labels, zero])?;
        let wrapped = on.call1(&ADD, &[labels, n_classes])?;
        let labels = on.call1(&WHERE, &[from_back, wrapped, labels])?;
        let op = ClassLosses { ignored: i64::MIN, slopes: false };
        let losses = on.call1(op, &[self.logits, labels])?;
        match on.ty(losses).dims() == self.dims {
            true => Ok(losses),
            false => on.call1(Reshape { dims: self.dims }, &[losses]),
        }
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ClassLosses::NAME, ClassLosses::build, || {
    let plain = || ClassLosses { ignored: -100, slopes: false };
    let logits = f64s(&[0.0, 1.0, 2.0, 0.5, -1.0, 3.0, 0.0, 0.0, 0.25], &[3, 3]);
    let labels = i64s(&[2, -100, 0], &[3]);
    let loss =
        |row: &[f64], label: usize| row.iter().map(|x| x.exp()).sum::<f64>().ln() - row[label];
    let losses = [loss(&[0.0, 1.0, 2.0], 2), 0.0, loss(&[0.0, 0.0, 0.25], 0)];
    vec![
        Sample::new(plain(), [logits.clone(), labels.clone()]).gives([f64s(&losses, &[3])]),
        Sample::new(plain(), [f64s(&[], &[0, 3]), i64s(&[], &[0])]).gives([f64s(&[], &[0])]),
        Sample::new(plain(), [logits.clone(), i64s(&[0, 1], &[2])]).refused("do not fit"),
        Sample::new(plain(), [labels.clone(), labels]).refused("expected f32 or f64"),
    ]
});
