//! Exchanges among some of the ranks.

use fluvial_tensor::{Result, Tensor};

use crate::{current, with_rows};

/// The tag of what they send to one another.
const TAG: u32 = 32000;

/// The rows of the ranks from `first` to the last one, in their order; only these call it. All of them together gather by
/// [`all_gather`](crate::Comm::all_gather); of some, the first one collects.
pub fn gathered_from(first: usize, x: Tensor) -> Result<Tensor> {
    let comm = current();
    let (rank, world) = (comm.rank(), comm.world());
    if first == 0 {
        return comm.all_gather(x);
    }
    if first + 1 == world {
        return Ok(x);
    }
    let rows = x.dims().first().copied().unwrap_or(0);
    let mut all = Tensor::zeros(x.dtype(), &with_rows(&x, rows * (world - first)))?;
    if rank != first {
        comm.send(x, first, TAG)?;
        return comm.recv(all, first, TAG);
    }
    let length = x.numel() * x.dtype().size();
    for (place, other) in (first..world).enumerate() {
        let part = match other == rank {
            true => x.contiguous()?,
            false => comm.recv(x.clone(), other, TAG)?.contiguous()?,
        };
        let bytes = part.as_bytes().unwrap_or(&[]);
        all.as_bytes_mut()?[place * length..place * length + bytes.len()].copy_from_slice(bytes);
    }
    for other in first + 1..world {
        comm.send(all.clone(), other, TAG)?;
    }
    Ok(all)
}
