//! Programs on graphics processors.
//!
//! What ops do as data ([`Work`](fluvial_core::device::Work)) is written as a shader in WGSL, with sizes and numbers apart, so
//! that one shader serves all sizes. With the feature `wgpu` a driver compiles and runs it (Vulkan).
//!
//! - [`elements`]: scalar expressions; `scalars.wgsl` has the functions that WGSL lacks.
//! - [`shader`]: whole shaders for the kinds of work.
//! - [`driver`]: the device.

pub mod elements;
pub mod shader;

#[cfg(feature = "wgpu")]
pub mod driver;

#[cfg(feature = "wgpu")]
mod pool;

/// Makes the devices `gpu:0`, `gpu:1` … known; without the feature `wgpu` there are none, and opening one says so.
pub fn register() {
    #[cfg(feature = "wgpu")]
    fluvial_core::device::register(driver::Gpus);
    #[cfg(not(feature = "wgpu"))]
    fluvial_core::device::register(absent::Absent);
}

#[cfg(not(feature = "wgpu"))]
mod absent {
    use std::sync::Arc;

    use fluvial_core::device::{Device, Driver};
    use fluvial_core::{Error, Result};

    pub struct Absent;

    impl Driver for Absent {
        fn kind(&self) -> &'static str {
            "gpu"
        }

        fn list(&self) -> Vec<String> {
            Vec::new()
        }

        fn open(&self, _: usize) -> Result<Arc<dyn Device>> {
            Err(Error::argument("this build of Fluvial knows no graphics processors")
                .remedy("build the crate `fluvial-gpu` with the feature `wgpu`"))
        }
    }
}
