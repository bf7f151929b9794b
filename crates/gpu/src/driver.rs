//! Graphics processors by wgpu.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use fluvial_core::device::{Device, Driver, Memory, Pipeline, Work};
use fluvial_core::{DType, Error, Result, Tensor};
use wgpu::util::DeviceExt as _;

use crate::pool::{Held, Pool};
use crate::shader::{Form, MOST_GROUPS, form, in_memory};

/// Work is handed over after so many pieces, also if nobody waits for it.
const MOST_PENDING: usize = 256;

/// All graphics processors that a driver of this machine shows.
pub struct Gpus;

impl Driver for Gpus {
    fn kind(&self) -> &'static str {
        "gpu"
    }

    fn list(&self) -> Vec<String> {
        adapters().iter().map(|adapter| about(&adapter.get_info())).collect()
    }

    fn open(&self, number: usize) -> Result<Arc<dyn Device>> {
        let found = adapters();
        let Some(adapter) = found.get(number) else {
            let fault = match found.len() {
                0 => "no driver for a graphics processor was found".to_string(),
                count => format!("there is no gpu:{number}, the last one is gpu:{}", count - 1),
            };
            return Err(Error::argument(fault).remedy(
                "install a driver for Vulkan; on Debian, mesa-vulkan-drivers also brings one that computes on the CPU",
            ));
        };
        Gpu::open(adapter, number).map(|gpu| Arc::new(gpu) as Arc<dyn Device>)
    }
}

/// The processors, real ones first.
fn adapters() -> &'static [wgpu::Adapter] {
    static FOUND: OnceLock<Vec<wgpu::Adapter>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let mut found = now(instance.enumerate_adapters(wgpu::Backends::all()));
        let order = |adapter: &wgpu::Adapter| match adapter.get_info().device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu | wgpu::DeviceType::Other => 2,
            wgpu::DeviceType::Cpu => 3,
        };
        found.sort_by_key(order);
        found
    })
}

fn about(info: &wgpu::AdapterInfo) -> String {
    format!("{} ({:?}, {})", info.name, info.backend, info.driver_info)
}

/// The result of what does not wait.
fn now<R>(work: impl Future<Output = R>) -> R {
    let mut work = pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return done;
        }
        std::thread::yield_now();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Gpu {
    name: String,
    about: String,
    device: wgpu::Device,
    queue: wgpu::Queue,
    limits: wgpu::Limits,
    /// Whether it computes with whole numbers of 64 bits.
    wide: bool,
    pool: Arc<Pool>,
    pipelines: Mutex<HashMap<String, Option<wgpu::ComputePipeline>>>,
    pending: Mutex<Pending>,
    fault: Arc<Mutex<Option<String>>>,
}

/// What was asked for and is not handed over yet.
struct Pending {
    steps: Vec<Step>,
    /// The sizes, steps and numbers of all of them.
    params: Vec<u8>,
    buffer: wgpu::Buffer,
}

struct Step {
    pipeline: wgpu::ComputePipeline,
    bound: wgpu::BindGroup,
    groups: u32,
}

/// A compiled shader with what it is run with.
struct Prepared {
    form: Form,
    pipeline: wgpu::ComputePipeline,
}

/// How many bytes of sizes, steps and numbers are handed over at once.
const PARAMS: u64 = 1 << 18;

fn params_buffer(device: &wgpu::Device) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: PARAMS,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

impl Gpu {
    fn open(adapter: &wgpu::Adapter, number: usize) -> Result<Gpu> {
        let limits = adapter.limits();
        let wide = adapter.features().contains(wgpu::Features::SHADER_INT64);
        let features = if wide { wgpu::Features::SHADER_INT64 } else { wgpu::Features::empty() };
        let asked = wgpu::DeviceDescriptor {
            required_features: features,
            required_limits: limits.clone(),
            ..Default::default()
        };
        let (device, queue) = now(adapter.request_device(&asked))
            .map_err(|error| Error::argument(format!("gpu:{number} cannot be opened: {error}")))?;
        let fault: Arc<Mutex<Option<String>>> = Arc::default();
        let heard = fault.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lock(&heard).get_or_insert_with(|| error.to_string());
        }));
        let pending =
            Pending { steps: Vec::new(), params: Vec::new(), buffer: params_buffer(&device) };
        Ok(Gpu {
            name: format!("gpu:{number}"),
            about: about(&adapter.get_info()),
            device,
            queue,
            limits,
            wide,
            pool: Arc::default(),
            pipelines: Mutex::default(),
            pending: Mutex::new(pending),
            fault,
        })
    }

    fn held<'a>(&self, memory: &'a Memory) -> Result<&'a Held> {
        memory.downcast_ref().ok_or_else(|| {
            Error::internal(format!("memory of another device was given to {}", self.name))
        })
    }

    /// The compiled shader; nothing, if the device refuses it.
    fn compiled(&self, form: &Form) -> Result<Option<wgpu::ComputePipeline>> {
        if let Some(known) = lock(&self.pipelines).get(&form.text) {
            return Ok(known.clone());
        }
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(form.text.as_str().into()),
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let pipeline = match now(scope.pop()) {
            None => Some(pipeline),
            // The op falls back, which the report tells; a test lists those that do.
            Some(error) => {
                if cfg!(debug_assertions) {
                    eprintln!("{} refuses a shader: {error}\n{}", self.name, form.text);
                }
                None
            }
        };
        lock(&self.pipelines).insert(form.text.clone(), pipeline.clone());
        Ok(pipeline)
    }

    /// Hands over what was asked for.
    fn flush(&self, pending: &mut Pending) {
        if pending.steps.is_empty() {
            return;
        }
        self.queue.write_buffer(&pending.buffer, 0, &pending.params);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for step in &pending.steps {
                pass.set_pipeline(&step.pipeline);
                pass.set_bind_group(0, &step.bound, &[]);
                let across = step.groups.min(MOST_GROUPS);
                pass.dispatch_workgroups(across, step.groups.div_ceil(across), 1);
            }
        }
        self.queue.submit([encoder.finish()]);
        pending.steps.clear();
        pending.params.clear();
    }

    fn check(&self) -> Result<()> {
        match lock(&self.fault).take() {
            Some(text) => Err(Error::internal(format!("{} failed: {text}", self.name))),
            None => Ok(()),
        }
    }
}

/// The bytes of an element in the memory of a device.
fn size_of(dtype: DType) -> usize {
    match dtype {
        DType::Bool | DType::U8 => 4,
        _ => dtype.size(),
    }
}

impl Device for Gpu {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn holds(&self, dtype: DType) -> bool {
        in_memory(dtype).is_some()
    }

    fn allocate(&self, dtype: DType, count: usize) -> Result<Memory> {
        let bytes = (count as u64).saturating_mul(size_of(dtype) as u64).max(4);
        let most = self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size);
        let too_much = |text: String| {
            Err(Error::memory(text).remedy("take smaller batches, or leave this tensor on the CPU"))
        };
        if bytes > most {
            return too_much(format!(
                "{} takes {most} bytes at once, and a tensor has {bytes}",
                self.name
            ));
        }
        if let Some(held) = Pool::take(&self.pool, bytes) {
            return Ok(Arc::new(held));
        }
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: Pool::rounded(bytes),
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_DST
                | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        match now(scope.pop()) {
            Some(_) => too_much(format!("{} has no memory for further {bytes} bytes", self.name)),
            None => Ok(Arc::new(Pool::held(&self.pool, buffer))),
        }
    }

    fn upload(&self, x: &Tensor, to: &Memory) -> Result<()> {
        let held = self.held(to)?;
        if held.is_used_again() {
            // What is still pending may read what was there before.
            self.flush(&mut lock(&self.pending));
        }
        let bytes = x.as_bytes().ok_or_else(|| Error::internal("an upload of a view"))?;
        match x.dtype() {
            DType::Bool | DType::U8 => {
                let wide: Vec<u8> =
                    bytes.iter().flat_map(|&byte| u32::from(byte).to_ne_bytes()).collect();
                self.queue.write_buffer(held.buffer(), 0, &wide);
            }
            _ => self.queue.write_buffer(held.buffer(), 0, bytes),
        }
        Ok(())
    }

    fn download(&self, from: &Memory, dtype: DType, dims: &[usize]) -> Result<Tensor> {
        let held = self.held(from)?;
        let count: usize = dims.iter().product();
        let bytes = (count * size_of(dtype)) as u64;
        self.flush(&mut lock(&self.pending));
        let copy = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(held.buffer(), 0, &copy, 0, bytes);
        self.queue.submit([encoder.finish()]);
        let done: Arc<Mutex<Option<bool>>> = Arc::default();
        let told = done.clone();
        copy.map_async(wgpu::MapMode::Read, .., move |result| {
            *lock(&told) = Some(result.is_ok());
        });
        let failed = |text: &str| Error::internal(format!("{}: {text}", self.name));
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| failed(&error.to_string()))?;
        self.check()?;
        if *lock(&done) != Some(true) {
            return Err(failed("a result could not be read"));
        }
        let found = {
            let seen = copy.get_mapped_range(..).map_err(|error| failed(&error.to_string()))?;
            if dtype == DType::Bool {
                let bools = seen.chunks_exact(4).map(|word| word[0] != 0);
                Tensor::from_vec(bools.collect::<Vec<bool>>(), dims)
            } else {
                let mut found = Tensor::zeros(dtype, dims)?;
                let to = found.as_bytes_mut()?;
                match dtype {
                    DType::U8 => {
                        let words = seen.chunks_exact(4);
                        to.iter_mut().zip(words).for_each(|(to, word)| *to = word[0]);
                    }
                    _ => to.copy_from_slice(&seen),
                }
                Ok(found)
            }
        };
        copy.unmap();
        found
    }

    fn prepare(&self, work: &Work<'_>) -> Result<Option<Pipeline>> {
        let n_bound = work.inputs.len() + work.outs.len() + 1;
        if n_bound > self.limits.max_storage_buffers_per_shader_stage as usize {
            return Ok(None);
        }
        let Some(form) = form(work, self.wide) else { return Ok(None) };
        let Some(pipeline) = self.compiled(&form)? else { return Ok(None) };
        Ok(Some(Arc::new(Prepared { form, pipeline })))
    }

    fn run(&self, pipeline: &Pipeline, work: &Work<'_>) -> Result<()> {
        let prepared: &Prepared = pipeline
            .downcast_ref()
            .ok_or_else(|| Error::internal("a pipeline of another device"))?;
        if prepared.form.groups == 0 {
            return Ok(());
        }
        let mut pending = lock(&self.pending);
        let align = self.limits.min_storage_buffer_offset_alignment as usize;
        let size = prepared.form.params.len() * 4;
        let mut at = pending.params.len().next_multiple_of(align);
        if (at + size) as u64 > PARAMS || pending.steps.len() >= MOST_PENDING {
            self.flush(&mut pending);
            at = 0;
        }
        let own;
        let params = match size as u64 > PARAMS {
            true => {
                let bytes: Vec<u8> =
                    prepared.form.params.iter().flat_map(|word| word.to_ne_bytes()).collect();
                own = self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                    label: None,
                    contents: &bytes,
                    usage: wgpu::BufferUsages::STORAGE,
                });
                own.as_entire_binding()
            }
            false => {
                pending.params.resize(at, 0);
                let words = prepared.form.params.iter().flat_map(|word| word.to_ne_bytes());
                pending.params.extend(words);
                wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &pending.buffer,
                    offset: at as u64,
                    size: std::num::NonZeroU64::new(size as u64),
                })
            }
        };
        let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: params }];
        for (i, span) in work.inputs.iter().chain(work.outs).enumerate() {
            let resource = self.held(&span.memory)?.buffer().as_entire_binding();
            entries.push(wgpu::BindGroupEntry { binding: i as u32 + 1, resource });
        }
        // What a shader does not use is not in its layout.
        let used = |entry: &wgpu::BindGroupEntry<'_>| {
            entry.binding == 0 || uses(&prepared.form.text, entry.binding)
        };
        entries.retain(used);
        let bound = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &prepared.pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let (pipeline, groups) = (prepared.pipeline.clone(), prepared.form.groups);
        pending.steps.push(Step { pipeline, bound, groups });
        Ok(())
    }
}

/// Whether the elements that are bound at this number are used behind their declaration.
fn uses(text: &str, binding: u32) -> bool {
    let head = format!("@binding({binding}) var<storage, ");
    let Some((_, rest)) = text.split_once(&head) else { return false };
    let Some((line, behind)) = rest.split_once('\n') else { return false };
    let name = line.split("> ").nth(1).and_then(|rest| rest.split(':').next()).unwrap_or("");
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    behind.split(word).any(|part| part == name)
}
