//! What an op does as data, in pieces of work for a device.

use std::sync::{Arc, OnceLock};

use fluvial_kernels::{Body, Inst, Reduce};
use fluvial_tensor::{DType, Dim, Error, Result, Tensor, Type, broadcast};
use smallvec::{SmallVec, smallvec};

use super::{Device, DeviceTensor, Given, Span, Task, Work, plain_steps};
use crate::kernel::{Arg, Elements, Native, Placed, View, meeting};

/// Where outputs are, one by one.
pub(super) type Spans = SmallVec<[Span; 1]>;

/// An op that runs on a device.
pub(super) struct Job<'a> {
    pub device: &'a Arc<dyn Device>,
    pub inputs: &'a [Arc<DeviceTensor>],
    pub outs: &'a [Type],
}

/// A tensor whose elements are there.
pub(super) fn place(ty: Type, span: Span, device: &Arc<dyn Device>) -> DeviceTensor {
    DeviceTensor { ty, span, device: device.clone(), host: OnceLock::new() }
}

/// The same elements one behind the other, in this type.
pub(super) fn copied(x: &DeviceTensor, dtype: DType) -> Result<DeviceTensor> {
    let ty = x.ty.with_dtype(dtype);
    let out = empty(&x.device, &ty)?;
    if !copy(&x.device, &x.dims(), &x.span, &out)? {
        return Err(Error::internal(format!(
            "{} cannot copy {} as {dtype}",
            x.device.name(),
            x.ty.dtype()
        )));
    }
    Ok(place(ty, out, &x.device))
}

/// Copies elements at these sizes, and converts them. Says whether the device can.
fn copy(device: &Arc<dyn Device>, dims: &[usize], from: &Span, to: &Span) -> Result<bool> {
    let same = Elements {
        body: Arc::new(Body::unary(|x| x)),
        compute: from.dtype.compute(),
        params: SmallVec::new(),
    };
    let task = Task::Elementwise { of: &same, dims };
    run(device, task, std::slice::from_ref(from), std::slice::from_ref(to))
}

/// Runs work that has elements. Says whether the device can.
fn run(device: &Arc<dyn Device>, task: Task<'_>, inputs: &[Span], outs: &[Span]) -> Result<bool> {
    let work = Work { task, inputs, outs };
    match device.prepare(&work)? {
        Some(pipeline) => device.run(&pipeline, &work).map(|()| true),
        None => Ok(false),
    }
}

/// New memory for elements that are one behind the other.
fn empty(device: &Arc<dyn Device>, ty: &Type) -> Result<Span> {
    let dims = ty.sizes().ok_or_else(|| Error::internal("a size is not known where an op runs"))?;
    let memory = device.allocate(ty.dtype(), dims.iter().product::<usize>().max(1))?;
    Ok(Span { memory, dtype: ty.dtype(), first: 0, steps: plain_steps(&dims) })
}

fn number(dim: Dim) -> Result<i64> {
    let size = dim.value().and_then(|size| i64::try_from(size).ok());
    size.ok_or_else(|| Error::internal("a size is not known where an op runs"))
}

fn all(dims: &[Dim]) -> Result<SmallVec<[i64; 8]>> {
    dims.iter().map(|&dim| number(dim)).collect()
}

/// The steps of an input that is broadcast to these sizes.
fn steps_to(x: &DeviceTensor, dims: &[usize]) -> Span {
    let own = x.dims();
    let extra = dims.len().saturating_sub(own.len());
    let step = |axis: usize| match axis.checked_sub(extra) {
        Some(at) if own[at] == dims[axis] => x.span.steps[at],
        _ => 0,
    };
    Span { steps: (0..dims.len()).map(step).collect(), ..x.span.clone() }
}

impl Job<'_> {
    fn outputs(&self) -> Result<Spans> {
        self.outs.iter().map(|ty| empty(self.device, ty)).collect()
    }

    fn is_empty(&self) -> bool {
        self.outs.iter().all(|ty| ty.numel() == Some(0))
    }

    /// Elements of the first input in other places: no work at all.
    pub fn view(&self, view: &View) -> Result<Span> {
        let of = &self.inputs[0].span;
        let mut first = of.first as isize;
        for (&start, step) in view.start.iter().zip(&of.steps) {
            first += number(start)? as isize * step;
        }
        let step = |walk: &SmallVec<[(usize, i64); 2]>| {
            walk.iter().map(|&(axis, count)| of.steps[axis] * count as isize).sum()
        };
        let first = match self.is_empty() {
            true => 0,
            false => usize::try_from(first)
                .map_err(|_| Error::internal("a view begins before its elements"))?,
        };
        Ok(Span { first, steps: view.axes.iter().map(step).collect(), ..of.clone() })
    }

    /// The elements of an input in other sizes: copied, if they are not one behind the other.
    pub fn same(&self, input: usize) -> Result<Option<Span>> {
        let x = &self.inputs[input];
        if x.ty.dims() == self.outs[0].dims() {
            return Ok(Some(x.span.clone()));
        }
        let dims = self.outs[0].sizes().unwrap_or_default();
        if x.is_plain() {
            return Ok(Some(Span { steps: plain_steps(&dims), ..x.span.clone() }));
        }
        let out = empty(self.device, &self.outs[0])?;
        let plain = Span { steps: plain_steps(&x.dims()), ..out.clone() };
        if !self.is_empty() && !copy(self.device, &x.dims(), &x.span, &plain)? {
            return Ok(None);
        }
        Ok(Some(out))
    }

    /// One number, seen everywhere.
    pub fn fill(&self, number: f64) -> Result<Span> {
        let one = Tensor::from_f64s(self.outs[0].dtype(), &[number], &[])?;
        let memory = self.device.allocate(one.dtype(), 1)?;
        self.device.upload(&one, &memory)?;
        let steps = smallvec![0; self.outs[0].rank()];
        Ok(Span { memory, dtype: one.dtype(), first: 0, steps })
    }

    /// Scalar expressions.
    pub fn elementwise(&self, of: &Elements) -> Result<Option<Spans>> {
        let dims = self.outs[0].sizes().unwrap_or_default();
        let outs = self.outputs()?;
        let inputs: Spans = self.inputs.iter().map(|x| steps_to(x, &dims)).collect();
        let task = Task::Elementwise { of, dims: &dims };
        Ok((self.is_empty() || run(self.device, task, &inputs, &outs)?).then_some(outs))
    }

    /// A reduction.
    pub fn reduce(
        &self,
        of: Option<&(Elements, DType)>,
        kind: Reduce,
        axes: &[usize],
    ) -> Result<Option<Spans>> {
        let mut dims: Vec<Dim> = Vec::new();
        for input in self.inputs {
            dims = broadcast(&dims, input.ty.dims())?.to_vec();
        }
        let dims: SmallVec<[usize; 8]> =
            all(&dims)?.into_iter().map(|size| size as usize).collect();
        let reduced: Vec<bool> = (0..dims.len()).map(|axis| axes.contains(&axis)).collect();
        let outs = self.outputs()?;
        let kept: Vec<usize> = (0..dims.len()).filter(|&axis| !reduced[axis]).collect();
        let kept_dims: Vec<usize> = kept.iter().map(|&axis| dims[axis]).collect();
        let mut steps: SmallVec<[isize; 8]> = smallvec![0; dims.len()];
        for (&axis, step) in kept.iter().zip(plain_steps(&kept_dims)) {
            steps[axis] = step;
        }
        let out = Span { steps, ..outs[0].clone() };
        let inputs: Spans = self.inputs.iter().map(|x| steps_to(x, &dims)).collect();
        let element = of.map_or(self.inputs[0].ty.dtype(), |(_, dtype)| *dtype);
        let task = Task::Reduce {
            of: of.map(|(of, dtype)| (of, *dtype)),
            kind,
            meeting: meeting(kind, element, self.outs[0].dtype()),
            dims: &dims,
            reduced: &reduced,
        };
        Ok((self.is_empty() || run(self.device, task, &inputs, &[out])?).then_some(outs))
    }

    /// Inputs that are put into the output.
    pub fn placed(&self, zero: bool, add: bool, parts: &[Placed]) -> Result<Option<Spans>> {
        // What comes to one place would have to be added up in order.
        if add {
            return Ok(None);
        }
        let outs = self.outputs()?;
        if self.is_empty() {
            return Ok(Some(outs));
        }
        if zero {
            let nothing = Elements {
                body: Arc::new(Body::from_insts(0, 0, &[Inst::Const(0.0)])?),
                compute: self.outs[0].dtype().compute(),
                params: SmallVec::new(),
            };
            let dims = self.outs[0].sizes().unwrap_or_default();
            let task = Task::Elementwise { of: &nothing, dims: &dims };
            if !run(self.device, task, &[], &outs)? {
                return Ok(None);
            }
        }
        for (input, part) in self.inputs.iter().zip(parts) {
            let steps = part.steps.iter().map(|step| step.number().map(|step| step as isize));
            let Some(steps) = steps.collect() else { return Ok(None) };
            let to = Span { first: number(part.first)? as usize, steps, ..outs[0].clone() };
            if input.ty.numel() != Some(0) && !copy(self.device, &input.dims(), &input.span, &to)? {
                return Ok(None);
            }
        }
        Ok(Some(outs))
    }

    /// Functions that have a text for devices; nothing if one fails, or has none for this device.
    pub fn calls(&self, calls: &[Native]) -> Result<Option<Spans>> {
        let outs = self.outputs()?;
        for call in calls {
            if !self.call(call, &outs)? {
                return Ok(None);
            }
        }
        Ok(Some(outs))
    }

    fn call(&self, call: &Native, outs: &Spans) -> Result<bool> {
        let Some(shader) = call.shader else { return Ok(false) };
        let (mut inputs, mut written): (Vec<Span>, Vec<Span>) = (Vec::new(), Vec::new());
        let mut args: Vec<Given> = Vec::new();
        for (arg, name) in call.args.iter().zip(shader.args) {
            args.push(match arg {
                Arg::In(i) | Arg::As(i, _) => {
                    let x = &self.inputs[*i];
                    let dtype = if let Arg::As(_, dtype) = arg { *dtype } else { x.ty.dtype() };
                    if !self.device.holds(dtype) {
                        return Ok(false);
                    }
                    inputs.push(match x.is_plain() && x.ty.dtype() == dtype {
                        true => x.span.clone(),
                        false if x.ty.numel() == Some(0) => {
                            empty(self.device, &x.ty.with_dtype(dtype))?
                        }
                        false => copied(x, dtype)?.span,
                    });
                    Given::In(inputs.len() - 1)
                }
                Arg::Out(i) => {
                    written.push(outs[*i].clone());
                    Given::Out(written.len() - 1)
                }
                Arg::Size(dim) => Given::Int(number(*dim)?),
                Arg::Sizes(dims) => Given::Ints(all(dims)?),
                Arg::Int(number) => Given::Int(*number),
                Arg::Ints(numbers) => Given::Ints(numbers.clone()),
                Arg::Number(number) => Given::Number(*number),
                // A device needs such memory only where its text says so.
                Arg::Work(bytes) if shader.uses(name) => {
                    let count = (number(*bytes)? as usize).div_ceil(4).max(1);
                    let memory = self.device.allocate(DType::F32, count)?;
                    written.push(Span { memory, dtype: DType::F32, first: 0, steps: smallvec![1] });
                    Given::Out(written.len() - 1)
                }
                Arg::Work(_) | Arg::Nothing => Given::Nothing,
                Arg::Text(_) => return Ok(false),
            });
        }
        let fault = match call.fails {
            true => {
                let memory = self.device.allocate(DType::I32, 1)?;
                self.device.upload(&Tensor::scalar(0i32), &memory)?;
                written.push(Span {
                    memory: memory.clone(),
                    dtype: DType::I32,
                    first: 0,
                    steps: smallvec![],
                });
                Some(memory)
            }
            false => None,
        };
        let task = Task::Call { shader, types: &call.types, args: &args, fails: call.fails };
        if !run(self.device, task, &inputs, &written)? {
            return Ok(false);
        }
        match fault {
            // Where it fails, the host says why.
            Some(fault) => Ok(self.device.download(&fault, DType::I32, &[])?.item::<i32>()? == 0),
            None => Ok(true),
        }
    }
}
