//! Where a tensor's elements live: one of them inside the tensor, more in a shared buffer.

use crate::error::Result;
use crate::memory::{self, Block, Placed};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

/// The elements of a tensor. A clone is a copy or one atomic increment.
#[derive(Clone)]
pub(crate) enum Storage {
    /// Exactly one element; also a tensor without elements, and views that repeat one element.
    Inline(Inline),
    /// Memory shared with other tensors, not written while shared.
    Shared(Arc<Buffer>),
}

/// Room for one element of any dtype; unused bytes are 0.
#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
pub(crate) struct Inline(pub(crate) [u8; 16]);

/// A range of memory with what keeps it alive.
pub(crate) struct Buffer {
    data: NonNull<u8>,
    keeper: Keeper,
}

/// The owner is never looked at: it is dropped with the buffer.
enum Keeper {
    Block(#[expect(dead_code, reason = "kept for its drop")] Block),
    Placed(#[expect(dead_code, reason = "kept for its drop")] Placed),
    Adopted(#[expect(dead_code, reason = "kept for its drop")] Box<dyn Any + Send + Sync>),
    Borrowed(#[expect(dead_code, reason = "kept for its drop")] Box<dyn Any + Send + Sync>),
}

// SAFETY: the memory is owned through the keeper, which is Send, and is written only through a
// unique reference to the buffer.
unsafe impl Send for Buffer {}

// SAFETY: through a shared reference the memory is only read, and the keeper is Sync.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Memory from the allocator, and whether it is all zeros.
    #[inline]
    pub(crate) fn allocate(bytes: usize) -> Result<(Arc<Buffer>, bool)> {
        if let Some(placed) = memory::placed(bytes) {
            let buffer = Buffer { data: placed.data(), keeper: Keeper::Placed(placed) };
            return Ok((Arc::new(buffer), false));
        }
        let (block, is_zeroed) = memory::allocate(bytes)?;
        let buffer = Buffer { data: block.data(), keeper: Keeper::Block(block) };
        Ok((Arc::new(buffer), is_zeroed))
    }

    /// The memory of a vector, without a copy.
    pub(crate) fn adopt<T: Send + Sync + 'static>(mut values: Vec<T>) -> Arc<Buffer> {
        // SAFETY: a vector's pointer is never null.
        let data = unsafe { NonNull::new_unchecked(values.as_mut_ptr().cast()) };
        Arc::new(Buffer { data, keeper: Keeper::Adopted(Box::new(values)) })
    }

    /// Foreign memory, which is never written.
    pub(crate) fn borrow(data: NonNull<u8>, owner: Box<dyn Any + Send + Sync>) -> Arc<Buffer> {
        Arc::new(Buffer { data, keeper: Keeper::Borrowed(owner) })
    }

    /// The first byte.
    #[inline]
    pub(crate) fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// Whether the memory is that of an arena.
    #[inline]
    pub(crate) fn is_placed(&self) -> bool {
        matches!(self.keeper, Keeper::Placed(_))
    }

    /// Whether the memory may be written by a unique holder.
    #[inline]
    pub(crate) fn is_writable(&self) -> bool {
        !matches!(self.keeper, Keeper::Borrowed(_))
    }
}
