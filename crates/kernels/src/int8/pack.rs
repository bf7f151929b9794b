//! The layout of weights.

use fluvial_tensor::{DType, Error, Result, Tensor};

use super::bytes;

/// The output channels of a panel.
pub const PANEL: usize = 16;

/// The bytes of one step of a panel: four of each channel.
const STEP: usize = 4 * PANEL;

/// The sizes of packed weights: groups, panels, steps and the sums behind them, bytes of a step.
pub fn packed_dims(groups: usize, outs: usize, products: usize) -> [usize; 4] {
    [groups, outs.div_ceil(PANEL), products.div_ceil(4) + 1, STEP]
}

/// Packs weights with a sign, of shape `[groups * out, ..]`, where the axes behind the first one are those that are summed over.
///
/// ```
/// use fluvial_kernels::{pack_int8, unpack_int8};
/// use fluvial_tensor::Tensor;
///
/// let weight = Tensor::from_slice(&[1i8, 2, 3, -4, -5, -6], &[2, 3])?;
/// let packed = pack_int8(&weight, 1)?;
/// assert_eq!(packed.dims(), [1, 1, 2, 64]);
/// assert!(unpack_int8(&packed, &[2, 3])?.bitwise_eq(&weight));
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn pack_int8(weight: &Tensor, groups: usize) -> Result<Tensor> {
    let outs = weight.dims().first().copied().unwrap_or(0);
    if weight.dtype() != DType::I8 || groups == 0 || !outs.is_multiple_of(groups) {
        return Err(Error::argument(format!(
            "{} cannot be packed in {groups} groups",
            weight.ty()
        )));
    }
    let products = weight.dims()[1..].iter().product::<usize>();
    let (outs, weight) = (outs / groups, weight.contiguous()?);
    let from = bytes(&weight)?;
    let dims = packed_dims(groups, outs, products);
    let panel = dims[2] * STEP;
    let mut packed = Tensor::zeros(DType::I8, &dims)?;
    let to = packed.as_mut_slice::<i8>()?;
    for (number, row) in from.chunks_exact(products.max(1)).enumerate() {
        let (group, out) = (number / outs, number % outs);
        let (at, lane) = ((group * dims[1] + out / PANEL) * panel, out % PANEL);
        let mut sum = 0i32;
        for (i, &x) in row.iter().enumerate() {
            to[at + i / 4 * STEP + 4 * lane + i % 4] = x as i8;
            sum += i32::from(x as i8);
        }
        let sums = &mut to[at + panel - STEP + 4 * lane..][..4];
        sums.iter_mut().zip(sum.to_le_bytes()).for_each(|(to, x)| *to = x as i8);
    }
    Ok(packed)
}

/// The weights of these sizes that [`pack_int8`] has packed.
pub fn unpack_int8(packed: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let (outs, products) =
        (dims.first().copied().unwrap_or(0), dims.iter().skip(1).product::<usize>());
    let groups = packed.dims().first().copied().unwrap_or(0);
    let fits = groups > 0
        && outs.is_multiple_of(groups)
        && packed.dims() == packed_dims(groups, outs / groups, products);
    if packed.dtype() != DType::I8 || !fits {
        return Err(Error::shape(format!("{} are not packed weights of {dims:?}", packed.ty())));
    }
    let (packed, outs) = (packed.contiguous()?, outs / groups);
    let (from, panel) = (bytes(&packed)?, packed.dims()[2] * STEP);
    let mut weight = Tensor::empty(DType::I8, dims)?;
    let to = weight.as_mut_slice::<i8>()?;
    for (number, row) in to.chunks_exact_mut(products.max(1)).enumerate() {
        let (group, out) = (number / outs, number % outs);
        let (at, lane) = ((group * packed.dims()[1] + out / PANEL) * panel, 4 * (out % PANEL));
        for (i, x) in row.iter_mut().enumerate() {
            *x = from[at + i / 4 * STEP + lane + i % 4] as i8;
        }
    }
    Ok(weight)
}

/// Packed weights of one group.
#[derive(Clone, Copy)]
pub(super) struct Packed<'a> {
    bytes: &'a [u8],
    steps: usize,
}

impl<'a> Packed<'a> {
    /// The groups of a packed tensor without gaps.
    pub(super) fn group(
        packed: &'a Tensor,
        number: usize,
        outs: usize,
        products: usize,
    ) -> Result<Packed<'a>> {
        let dims = packed_dims(packed.dims().first().copied().unwrap_or(0), outs, products);
        if packed.dims() != dims || number >= dims[0] {
            return Err(Error::shape(format!(
                "{} are not packed weights of {outs} channels with {products} products each",
                packed.ty()
            )));
        }
        let size = dims[1..].iter().product::<usize>();
        let bytes = &bytes(packed)?[number * size..][..size];
        Ok(Packed { bytes, steps: dims[2] - 1 })
    }

    /// The steps of a panel.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// The bytes from one panel to the next.
    pub(super) fn panel_bytes(&self) -> usize {
        (self.steps + 1) * STEP
    }

    /// The panels.
    pub(super) fn panels(&self) -> usize {
        self.bytes.len() / self.panel_bytes()
    }

    /// Where a panel begins.
    pub(super) fn panel(&self, number: usize) -> *const i8 {
        self.bytes[number * self.panel_bytes()..].as_ptr().cast()
    }

    /// The sum of the weights of each channel of a panel.
    #[inline(always)]
    pub(super) fn sums(&self, number: usize) -> [i32; PANEL] {
        let row = &self.bytes[(number + 1) * self.panel_bytes() - STEP..][..STEP];
        std::array::from_fn(|i| {
            i32::from_le_bytes([row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3]])
        })
    }
}
