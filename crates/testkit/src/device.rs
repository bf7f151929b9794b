//! A device on host memory: it runs what ops do as data with the kernels of the CPU, so that everything around devices can be
//! tested without one. Functions that have a text for devices it does not run; their ops fall back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fluvial_core::device::{Device, Driver, Memory, Pipeline, Span, Task, Work, open, register};
use fluvial_core::{DType, Error, Result, Tensor};
use fluvial_kernels::{Given, Reduction, reduce};

/// The device on host memory of this name (`fake:0`, `fake:1`).
pub fn fake(number: usize) -> Arc<dyn Device> {
    register(Fakes);
    let name = format!("fake:{number}");
    open(&name).ok().flatten().expect("a fake device can always be opened")
}

struct Fakes;

impl Driver for Fakes {
    fn kind(&self) -> &'static str {
        "fake"
    }

    fn list(&self) -> Vec<String> {
        vec!["host memory".into(); 2]
    }

    fn open(&self, number: usize) -> Result<Arc<dyn Device>> {
        match number {
            0 | 1 => Ok(Arc::new(Fake { name: format!("fake:{number}") })),
            _ => Err(Error::argument("there are two fake devices")),
        }
    }
}

struct Fake {
    name: String,
}

/// The bytes of elements one behind the other.
type Held = Mutex<Vec<u8>>;

/// A tensor of these bytes.
fn tensor(dtype: DType, dims: &[usize], bytes: &[u8]) -> Result<Tensor> {
    if dtype.is_bool() {
        return Tensor::from_vec(bytes.iter().map(|&byte| byte != 0).collect::<Vec<bool>>(), dims);
    }
    let mut made = Tensor::empty(dtype, dims)?;
    made.as_bytes_mut()?.copy_from_slice(bytes);
    Ok(made)
}

fn held(memory: &Memory) -> Result<MutexGuard<'_, Vec<u8>>> {
    let held: &Held = memory
        .downcast_ref()
        .ok_or_else(|| Error::internal("memory of another device was given to a fake one"))?;
    Ok(held.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Device for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        "host memory"
    }

    fn holds(&self, dtype: DType) -> bool {
        !dtype.is_complex() && !dtype.is_stored() && dtype != DType::I8
    }

    fn allocate(&self, dtype: DType, count: usize) -> Result<Memory> {
        // What was not written is seen in tests.
        Ok(Arc::new(Mutex::new(vec![1u8; count * dtype.size()])))
    }

    fn upload(&self, x: &Tensor, to: &Memory) -> Result<()> {
        let mut to = held(to)?;
        let from = x.as_bytes().ok_or_else(|| Error::internal("an upload of a view"))?;
        to[..from.len()].copy_from_slice(from);
        Ok(())
    }

    fn download(&self, from: &Memory, dtype: DType, dims: &[usize]) -> Result<Tensor> {
        let count = dims.iter().product::<usize>() * dtype.size();
        tensor(dtype, dims, &held(from)?[..count])
    }

    fn prepare(&self, work: &Work<'_>) -> Result<Option<Pipeline>> {
        Ok((!matches!(work.task, Task::Call { .. })).then(|| Arc::new(()) as Pipeline))
    }

    fn run(&self, _: &Pipeline, work: &Work<'_>) -> Result<()> {
        let shares = |out: &Span| work.inputs.iter().any(|x| Arc::ptr_eq(&x.memory, &out.memory));
        if work.outs.iter().any(shares) {
            return Err(Error::internal("what is written is read at the same time"));
        }
        match work.task {
            Task::Elementwise { of, dims } => {
                let inputs = gathered(work.inputs, dims)?;
                let given: Vec<Given<'_>> = inputs.iter().map(Given::Tensor).collect();
                let mut outs = work
                    .outs
                    .iter()
                    .map(|out| Tensor::empty(out.dtype, dims))
                    .collect::<Result<Vec<_>>>()?;
                of.body.run_many(&given, &of.params, of.compute, &mut outs)?;
                work.outs.iter().zip(&outs).try_for_each(|(to, from)| scatter(from, dims, to))
            }
            Task::Reduce { of, kind, dims, reduced, .. } => {
                let inputs = gathered(work.inputs, dims)?;
                let axes: Vec<usize> = (0..dims.len()).filter(|&axis| reduced[axis]).collect();
                let out = &work.outs[0];
                let found = match of {
                    None => reduce(kind, &inputs[0], &axes, out.dtype)?,
                    Some((of, dtype)) => {
                        let inputs: Vec<&Tensor> = inputs.iter().collect();
                        let reduction =
                            Reduction { dims, dtype, kind, axes: &axes, out_dtype: out.dtype };
                        of.body.run_reduce(&inputs, &of.params, of.compute, &reduction)?
                    }
                };
                let kept: Vec<usize> = (0..dims.len()).filter(|&axis| !reduced[axis]).collect();
                let kept_dims: Vec<usize> = kept.iter().map(|&axis| dims[axis]).collect();
                let steps = kept.iter().map(|&axis| out.steps[axis]).collect();
                scatter(&found.reshape(&kept_dims)?, &kept_dims, &Span { steps, ..out.clone() })
            }
            Task::Call { .. } => Err(Error::internal("a fake device has no texts to run")),
        }
    }
}

/// The places of the elements at these sizes, in order.
fn places(span: &Span, dims: &[usize]) -> Vec<usize> {
    let mut places = vec![span.first as isize];
    for (&size, &step) in dims.iter().zip(&span.steps) {
        let along = |place: isize| (0..size as isize).map(move |i| place + i * step);
        places = places.into_iter().flat_map(along).collect();
    }
    places.into_iter().map(|place| place as usize).collect()
}

fn gathered(spans: &[Span], dims: &[usize]) -> Result<Vec<Tensor>> {
    spans.iter().map(|span| gather(span, dims)).collect()
}

fn gather(span: &Span, dims: &[usize]) -> Result<Tensor> {
    let from = held(&span.memory)?;
    let size = span.dtype.size();
    let places = places(span, dims);
    let bytes: Vec<u8> =
        places.into_iter().flat_map(|at| from[at * size..][..size].to_vec()).collect();
    tensor(span.dtype, dims, &bytes)
}

fn scatter(from: &Tensor, dims: &[usize], to: &Span) -> Result<()> {
    let from = from.contiguous()?;
    let size = to.dtype.size();
    let bytes = from.as_bytes().unwrap_or(&[]);
    let mut target = held(&to.memory)?;
    for (i, at) in places(to, dims).into_iter().enumerate() {
        target[at * size..][..size].copy_from_slice(&bytes[i * size..][..size]);
    }
    Ok(())
}
