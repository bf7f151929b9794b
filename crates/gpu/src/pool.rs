//! Memory of a device that is used again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What is not in use is kept up to so many bytes.
const MOST_KEPT: u64 = 512 << 20;

/// Buffers that nobody uses at the moment, by size.
#[derive(Default)]
pub struct Pool(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    buffers: HashMap<u64, Vec<wgpu::Buffer>>,
    bytes: u64,
}

/// A buffer in use, which goes back to its pool.
pub struct Held {
    buffer: wgpu::Buffer,
    again: bool,
    pool: Arc<Pool>,
}

impl Held {
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// Whether somebody has used it before.
    pub fn is_used_again(&self) -> bool {
        self.again
    }
}

impl Pool {
    /// The bytes of a buffer for so many: one of four sizes between powers of two.
    pub fn rounded(bytes: u64) -> u64 {
        let step = (bytes.next_power_of_two() / 8).max(64);
        bytes.next_multiple_of(step)
    }

    /// A buffer for so many bytes, if one is kept.
    pub fn take(pool: &Arc<Pool>, bytes: u64) -> Option<Held> {
        let size = Pool::rounded(bytes);
        let mut kept = pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        let buffer = kept.buffers.get_mut(&size)?.pop()?;
        kept.bytes -= size;
        Some(Held { buffer, again: true, pool: pool.clone() })
    }

    /// A new buffer that will come back.
    pub fn held(pool: &Arc<Pool>, buffer: wgpu::Buffer) -> Held {
        Held { buffer, again: false, pool: pool.clone() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut kept = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        let size = self.buffer.size();
        if kept.bytes + size <= MOST_KEPT {
            kept.bytes += size;
            kept.buffers.entry(size).or_default().push(self.buffer.clone());
        }
    }
}
