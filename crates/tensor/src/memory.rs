//! The caching allocator under every tensor.
//!
//! The first touch of fresh memory costs more than most kernels, so freed blocks are kept for
//! reuse. Sizes are rounded up to a class (a power of two, or one and a half times one) and each
//! class has a list of free blocks. Blocks are aligned to 64 bytes, from 4 MB on to 2 MB. Fresh
//! blocks are zeroed, so every byte is always initialised.

mod arena;
mod block;
mod class;
mod pool;

pub use arena::Arena;
pub(crate) use arena::{Placed, placed};
pub(crate) use block::Block;

use crate::error::{Error, Result};
use block::Base;
use class::{Class, N_CLASSES, Size};
use pool::Pool;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A snapshot of the allocator's counters. Bytes are counted in whole size classes, those of arenas as they are;
/// tensors of one element and memory that tensors borrow or adopt do not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Bytes that tensors hold now.
    pub live_bytes: u64,
    /// The most bytes that tensors held at once since the start or [`reset_peak`].
    pub peak_bytes: u64,
    /// Bytes of free blocks kept for reuse.
    pub cached_bytes: u64,
    /// Blocks handed out since the start.
    pub allocations: u64,
    /// Blocks handed out that were kept ones.
    pub reuses: u64,
}

const DEFAULT_CACHE_LIMIT: u64 = 1 << 30;

/// Bytes that tensors hold.
static LIVE: AtomicU64 = AtomicU64::new(0);
/// Bytes obtained from the system and not given back: those of tensors and those kept.
static HELD: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static CACHE_LIMIT: AtomicU64 = AtomicU64::new(DEFAULT_CACHE_LIMIT);
static POOLS: [Pool; N_CLASSES] = [const { Pool::new() }; N_CLASSES];

/// The counters now. Other threads may change them between one and the next.
pub fn stats() -> Stats {
    let (mut allocations, mut reuses) = (0, 0);
    for pool in &POOLS {
        let (pool_allocations, pool_reuses) = pool.counts();
        allocations += pool_allocations;
        reuses += pool_reuses;
    }
    Stats {
        live_bytes: LIVE.load(Relaxed),
        peak_bytes: PEAK.load(Relaxed),
        cached_bytes: cached(LIVE.load(Relaxed)),
        allocations,
        reuses,
    }
}

/// Starts a new measurement of the peak from the bytes live now.
pub fn reset_peak() {
    PEAK.store(LIVE.load(Relaxed), Relaxed);
}

/// Sets the most bytes that tensors may hold at once; none for no limit. Beyond it, making a tensor
/// is an error of kind [`Memory`](crate::ErrorKind::Memory), and tensors that exist are untouched.
pub fn set_limit(bytes: Option<u64>) {
    LIMIT.store(bytes.unwrap_or(u64::MAX), Relaxed);
}

/// Sets the limit of [`set_limit`] unless there is a lower one. Returns the former one, `u64::MAX` for none.
pub fn limit_further(bytes: u64) -> u64 {
    LIMIT.fetch_min(bytes, Relaxed)
}

/// How many bytes more the limit of [`set_limit`] leaves.
pub fn room() -> u64 {
    LIMIT.load(Relaxed).saturating_sub(LIVE.load(Relaxed))
}

/// An error if so many bytes more would exceed the limit of [`set_limit`]: for who takes memory to make tensors of it
/// later, such as readers of compressed files.
pub fn room_for(bytes: u64) -> Result<()> {
    let (live, limit) = (LIVE.load(Relaxed), LIMIT.load(Relaxed));
    match live.saturating_add(bytes) > limit {
        true => Err(over_limit(usize::try_from(bytes).unwrap_or(usize::MAX), limit, live)),
        false => Ok(()),
    }
}

/// Sets the most bytes of free blocks to keep (1 GiB at the start) and gives back what is above.
pub fn set_cache_limit(bytes: u64) {
    CACHE_LIMIT.store(bytes, Relaxed);
    release_down_to(bytes);
}

/// Gives all free blocks back to the system.
pub fn trim() {
    release_down_to(0);
}

/// Bytes of free blocks, given the live ones. While another thread is between two counters the
/// difference can be off by its block, and even negative.
#[inline]
fn cached(live: u64) -> u64 {
    HELD.load(Relaxed).saturating_sub(live)
}

/// Releases free blocks, largest first, until at most `bytes` are kept.
fn release_down_to(bytes: u64) {
    for class in Class::all().rev() {
        while cached(LIVE.load(Relaxed)) > bytes {
            let Some(base) = POOLS[class.index()].remove() else { break };
            release(base, Size::Class(class));
        }
    }
}

/// A block of at least `bytes` bytes, and whether it is all zeros.
pub(crate) fn allocate(bytes: usize) -> Result<(Block, bool)> {
    let class = Class::of(bytes).ok_or_else(|| out_of_memory(bytes))?;
    reserve(Size::Class(class), bytes)?;
    if let Some(base) = POOLS[class.index()].take() {
        return Ok((Block::new(base, Size::Class(class)), false));
    }
    fresh(Size::Class(class), bytes).map(|block| (block, true))
}

/// A block of `bytes` bytes and hardly more, all zeros, which is not kept for reuse.
pub(crate) fn allocate_exact(bytes: usize) -> Result<Block> {
    let size = Size::exact(bytes).ok_or_else(|| out_of_memory(bytes))?;
    reserve(size, bytes)?;
    fresh(size, bytes)
}

/// An empty vector with room for so many elements; an error where `Vec::with_capacity` ends the process.
pub fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(len).map_err(|_| {
        Error::memory(format!("there is no memory for {len} elements of {} bytes", size_of::<T>()))
            .remedy("use smaller sizes, or drop tensors that are no longer needed")
    })?;
    Ok(all)
}

/// A vector of so many equal elements; an error where `vec!` ends the process.
pub fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut all = reserved(len)?;
    all.resize(len, value);
    Ok(all)
}

/// Makes a vector so long, with equal elements behind the ones it has; an error where `resize` ends the process.
pub fn resize<T: Clone>(all: &mut Vec<T>, len: usize, value: T) -> Result<()> {
    if len > all.capacity() {
        let mut longer = reserved(len)?;
        longer.append(all);
        *all = longer;
    }
    all.resize(len, value);
    Ok(())
}

/// Puts an element at the end; an error where `push` ends the process.
#[inline]
pub fn push<T>(all: &mut Vec<T>, element: T) -> Result<()> {
    if all.len() == all.capacity() {
        grow(all)?;
    }
    all.push(element);
    Ok(())
}

#[cold]
fn grow<T>(all: &mut Vec<T>) -> Result<()> {
    let len = all.len();
    all.try_reserve(len.max(4)).map_err(|_| {
        Error::memory(format!(
            "there is no memory for more than {len} elements of {} bytes",
            size_of::<T>()
        ))
    })
}

/// The elements in a vector; an error where `collect` ends the process. How many there are has to be known.
pub fn collected<T>(elements: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = reserved(elements.len())?;
    all.extend(elements);
    Ok(all)
}

/// The bytes that count as held for a tensor of so many bytes.
pub fn held_bytes(bytes: usize) -> usize {
    Class::of(bytes).map_or(bytes, Class::bytes)
}

/// A block from the system that has been counted as live.
fn fresh(size: Size, bytes: usize) -> Result<Block> {
    match obtain(size) {
        Some(base) => Ok(Block::new(base, size)),
        None => {
            LIVE.fetch_sub(size.bytes() as u64, Relaxed);
            Err(out_of_memory(bytes))
        }
    }
}

/// Counts a block as live, unless that exceeds the limit.
#[inline]
fn reserve(size: Size, bytes: usize) -> Result<()> {
    let size = size.bytes() as u64;
    let live = LIVE.fetch_add(size, Relaxed).saturating_add(size);
    let limit = LIMIT.load(Relaxed);
    if live > limit {
        LIVE.fetch_sub(size, Relaxed);
        return Err(over_limit(bytes, limit, live - size));
    }
    if live > PEAK.load(Relaxed) {
        PEAK.fetch_max(live, Relaxed);
    }
    Ok(())
}

/// Takes back the memory of a block: keeps it, or releases it if enough is kept or it has no class.
fn give_back(base: Base, size: Size) {
    let bytes = size.bytes() as u64;
    let live = LIVE.fetch_sub(bytes, Relaxed).saturating_sub(bytes);
    match size {
        Size::Class(class) if cached(live) <= CACHE_LIMIT.load(Relaxed) => {
            POOLS[class.index()].keep(base);
        }
        _ => release(base, size),
    }
}

/// Fresh memory from the system, if need be after giving back what is kept.
fn obtain(size: Size) -> Option<Base> {
    let base = Base::fresh(size).or_else(|| {
        trim();
        Base::fresh(size)
    })?;
    HELD.fetch_add(size.bytes() as u64, Relaxed);
    Some(base)
}

fn release(base: Base, size: Size) {
    HELD.fetch_sub(size.bytes() as u64, Relaxed);
    base.release(size);
}

#[cold]
fn out_of_memory(bytes: usize) -> Error {
    Error::memory(format!("there is no memory for a tensor of {bytes} bytes"))
}

#[cold]
fn over_limit(bytes: usize, limit: u64, live: u64) -> Error {
    let fault = format!("a tensor of {bytes} bytes exceeds the memory limit of {limit} bytes");
    Error::memory(fault)
        .remedy("raise the limit, or drop tensors that are no longer needed")
        .note(format!("tensors hold {live} bytes now"))
}
