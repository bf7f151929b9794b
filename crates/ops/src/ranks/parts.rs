//! How a tensor is cut into parts, one for each of several ranks: flat, of one length, with zeros behind the last elements.

use std::sync::Arc;

use super::packed::check_world;
use crate::prelude::*;

/// The type of a part of a value.
pub(super) fn part_type(ty: &Type, parts: usize) -> Result<Type> {
    let Some(numel) = ty.numel().filter(|_| !ty.is_list()) else {
        return Err(Error::shape("only tensors of known sizes are cut into parts"));
    };
    if parts == 0 {
        return Err(Error::argument("nothing is cut into no parts"));
    }
    Type::of(ty.dtype(), &[numel.div_ceil(parts)])
}

/// This rank's place among those that have parts: the last `parts` ranks, of which the first is rank `first`.
pub(super) fn place(first: usize, parts: usize) -> Result<usize> {
    let comm = fluvial_dist::current();
    check_world(Some(first + parts), comm.world())?;
    comm.rank().checked_sub(first).ok_or_else(|| {
        Error::new(ErrorKind::State, format!("rank {} has no part", comm.rank()))
            .remedy("let the last ranks run this program")
    })
}

/// Part `place` of a tensor of `parts`.
pub(super) fn part(x: &Tensor, place: usize, parts: usize) -> Result<Tensor> {
    let mut out = Tensor::zeros(x.dtype(), &[x.numel().div_ceil(parts)])?;
    copy_part(&x.contiguous()?, place, parts, out.as_bytes_mut()?)?;
    Ok(out)
}

/// Writes part `place` of a contiguous tensor; what lies behind its elements stays as it is.
pub(super) fn copy_part(x: &Tensor, place: usize, parts: usize, to: &mut [u8]) -> Result<()> {
    let size = x.dtype().size();
    let from = x.as_bytes().ok_or_else(|| Error::internal("a tensor is not contiguous"))?;
    let length = x.numel().div_ceil(parts) * size;
    let from = from.get(place * length..).unwrap_or(&[]);
    let n = from.len().min(length).min(to.len());
    to[..n].copy_from_slice(&from[..n]);
    Ok(())
}

/// The tensors of these sizes whose parts, of all ranks one behind another, are `all`: those of each rank are packed.
pub(super) fn joined(all: &Tensor, dims: &[Vec<usize>], parts: usize) -> Result<Values> {
    let size = all.dtype().size();
    let bytes = all.as_bytes().ok_or_else(|| Error::internal("parts are not contiguous"))?;
    let numels: Vec<usize> = dims.iter().map(|dims| dims.iter().product()).collect();
    let row: usize = numels.iter().map(|n| n.div_ceil(parts) * size).sum();
    let mut offset = 0;
    let mut values = Values::new();
    for (dims, numel) in dims.iter().zip(numels) {
        let length = numel.div_ceil(parts) * size;
        let mut whole = Tensor::zeros(all.dtype(), dims)?;
        for (place, to) in whole.as_bytes_mut()?.chunks_mut(length.max(1)).enumerate() {
            let from = place * row + offset;
            to.copy_from_slice(&bytes[from..from + to.len()]);
        }
        offset += length;
        values.push(whole.into());
    }
    Ok(values)
}

/// Flat tensors behind one another.
pub(super) fn packed_flat(inputs: &[&Value]) -> Result<Tensor> {
    let tensors = inputs.iter().map(|value| value.tensor()).collect::<Result<Vec<_>>>()?;
    match &tensors[..] {
        [one] => one.contiguous(),
        several => kernels::concat(several, 0),
    }
}

/// A packed tensor taken apart into flat ones of these lengths.
pub(super) fn unpacked(all: &Tensor, lengths: impl Iterator<Item = usize>) -> Result<Values> {
    let mut first = 0;
    let one = |length: usize| {
        let part = all.slice(0, first, length, 1)?;
        first += length;
        Ok(part.into())
    };
    lengths.map(one).collect()
}

/// Why what is made of parts has no gradient.
pub(super) const NO_GRADIENT: Grad = Grad::NonDifferentiable(
    "programs are cut into parts behind their gradients; take the gradient before",
);

/// The tag by which trainers say whether they make another step.
pub(super) const HEAD: u32 = 31999;

/// Trainers and parameter servers of a run: the first ranks, and the last ones.
pub(super) struct Sides {
    pub comm: Arc<dyn fluvial_dist::Comm>,
    trainers: usize,
}

impl Sides {
    fn new(trainers: usize, servers: usize) -> Result<Sides> {
        let comm = fluvial_dist::current();
        check_world(Some(trainers + servers), comm.world())?;
        Ok(Sides { comm, trainers })
    }

    /// Of a trainer.
    pub fn trainer(trainers: usize, servers: usize) -> Result<Sides> {
        let sides = Sides::new(trainers, servers)?;
        match sides.comm.rank() < trainers {
            true => Ok(sides),
            false => Err(wrong_side("a trainer", sides.comm.rank())),
        }
    }

    /// Of a server.
    pub fn server(trainers: usize, servers: usize) -> Result<Sides> {
        let sides = Sides::new(trainers, servers)?;
        match sides.comm.rank() >= trainers {
            true => Ok(sides),
            false => Err(wrong_side("a parameter server", sides.comm.rank())),
        }
    }

    /// The ranks of the servers.
    pub fn servers(&self) -> std::ops::Range<usize> {
        self.trainers..self.comm.world()
    }
}

fn wrong_side(what: &str, rank: usize) -> Error {
    Error::new(ErrorKind::State, format!("rank {rank} runs the program of {what}, but is none"))
        .remedy("the first ranks are trainers, the last ones parameter servers")
}

/// The type of a part of a value; numbers stay as they are.
pub(super) fn part_or_number(ty: &Type, parts: usize) -> Result<Type> {
    if ty.rank() == 0 { Ok(*ty) } else { part_type(ty, parts) }
}

/// Part `place` of each of contiguous tensors of one type, and numbers, one behind another.
pub(super) fn packed_parts(tensors: &[Tensor], place: usize, parts: usize) -> Result<Tensor> {
    let of = |x: &Tensor| if x.rank() == 0 { (0, 1) } else { (place, parts) };
    let length = |x: &Tensor| x.numel().div_ceil(of(x).1);
    let dtype = tensors[0].dtype();
    let mut out = Tensor::zeros(dtype, &[tensors.iter().map(length).sum()])?;
    let mut rest = out.as_bytes_mut()?;
    for x in tensors {
        let (own, others) = rest.split_at_mut(length(x) * dtype.size());
        copy_part(x, of(x).0, of(x).1, own)?;
        rest = others;
    }
    Ok(out)
}

/// A packed tensor taken apart into values of these types.
pub(super) fn unpacked_as(all: &Tensor, types: &[Type]) -> Result<Values> {
    let lengths = types.iter().map(|ty| ty.numel().unwrap_or(0));
    let values = unpacked(all, lengths)?;
    let shaped = values.into_iter().zip(types).map(|(value, ty)| match ty.rank() {
        0 => Ok(value.tensor()?.reshape(&[])?.into()),
        _ => Ok(value),
    });
    shaped.collect()
}
