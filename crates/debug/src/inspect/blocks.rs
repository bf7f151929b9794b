//! The elements of a tensor in row-major order, by parts that lie so in memory.

use fluvial_core::{Result, Tensor};
use fluvial_tensor::dispatch;

/// As many elements are copied at once where they do not lie in order.
const MOST_COPIED: usize = 1 << 16;

/// Calls `f` with contiguous tensors that are, one after the other, the elements of `tensor` in row-major order.
/// It ends at the first answer that is false.
pub fn each_block(tensor: &Tensor, f: &mut dyn FnMut(&Tensor) -> bool) -> Result<bool> {
    if tensor.is_contiguous() {
        return Ok(tensor.numel() == 0 || f(tensor));
    }
    if tensor.numel() <= MOST_COPIED {
        return Ok(f(&copied(tensor)?));
    }
    let size = tensor.dims()[0];
    let row = tensor.numel() / size;
    let at_once = (MOST_COPIED / row).max(1);
    let mut start = 0;
    while start < size {
        let len = at_once.min(size - start);
        let part = match len {
            1 => tensor.index(0, start)?,
            _ => tensor.slice(0, start, len, 1)?,
        };
        if !each_block(&part, f)? {
            return Ok(false);
        }
        start += len;
    }
    Ok(true)
}

fn copied(tensor: &Tensor) -> Result<Tensor> {
    dispatch!(tensor.dtype(), T => Tensor::from_vec(tensor.to_vec::<T>()?, tensor.dims()))
}
