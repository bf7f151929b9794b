//! How windows lie on spatial axes, for convolutions and pools.

use fluvial_core::{Dim, Error, Result, Var};
use fluvial_ops::{self as ops, PadOptions};

use super::node::Node;

/// The windows on the spatial axes of `[batch, channels, ..]`.
pub struct Windows {
    pub kernel: Vec<usize>,
    pub stride: Vec<usize>,
    pub dilation: Vec<usize>,
    /// Padding in front of and behind each axis.
    pub before: Vec<usize>,
    pub after: Vec<usize>,
    /// Further elements behind, for a last window that is not whole.
    pub extra: Vec<usize>,
}

impl Windows {
    /// What the attributes of a node say of windows on `x`.
    pub fn new(n: &Node<'_>, x: &Var, kernel: Vec<usize>) -> Result<Windows> {
        let axes = kernel.len();
        if x.rank() != axes + 2 {
            return Err(n.refuse(format!("{} does not have {axes} spatial axes", x.ty())));
        }
        let each = |name: &str, default: usize| match sizes(n, name)? {
            Some(found) if found.len() == axes => Ok(found),
            None => Ok(vec![default; axes]),
            Some(_) => Err(n.refuse(format!("`{name}` has another number of axes"))),
        };
        let (stride, dilation) = (each("strides", 1)?, each("dilations", 1)?);
        if kernel.iter().chain(&stride).chain(&dilation).any(|&size| size == 0) {
            return Err(n.refuse("a kernel, stride or dilation is zero"));
        }
        let (mut before, mut after) = (vec![0; axes], vec![0; axes]);
        let auto = n.string("auto_pad", "NOTSET");
        match auto.as_str() {
            "NOTSET" | "" => {
                if let Some(pads) = sizes(n, "pads")? {
                    if pads.len() != 2 * axes {
                        return Err(n.refuse("`pads` has another number of axes"));
                    }
                    before.copy_from_slice(&pads[..axes]);
                    after.copy_from_slice(&pads[axes..]);
                }
            }
            "VALID" => {}
            "SAME_UPPER" | "SAME_LOWER" => {
                for i in 0..axes {
                    let reach = (kernel[i] - 1) * dilation[i] + 1;
                    let total = match (stride[i], x.dims()[i + 2].value()) {
                        (1, _) => reach - 1,
                        (stride, Some(size)) => (size.div_ceil(stride).max(1) - 1)
                            .saturating_mul(stride)
                            .saturating_add(reach)
                            .saturating_sub(size),
                        (_, None) => {
                            return Err(n.refuse("`auto_pad` needs spatial sizes that are known"));
                        }
                    };
                    let less = total / 2;
                    let upper = auto == "SAME_UPPER";
                    before[i] = if upper { less } else { total - less };
                    after[i] = total - before[i];
                }
            }
            other => return Err(n.refuse(format!("`{other}` is not an `auto_pad`"))),
        }
        let extra = vec![0; axes];
        Ok(Windows { kernel, stride, dilation, before, after, extra })
    }

    /// Elements behind the axes, so that the last window is whole, where sizes are rounded up. Windows
    /// that would begin behind the elements are left out.
    pub fn round_up(&mut self, x: &Var) -> Result<()> {
        for i in 0..self.kernel.len() {
            let Some(size) = x.dims()[i + 2].value() else {
                return Err(Error::symbolic("`ceil_mode` needs spatial sizes that are known"));
            };
            let reach = (self.kernel[i] - 1) * self.dilation[i] + 1;
            let whole = size + self.before[i] + self.after[i];
            let span = whole.saturating_sub(reach);
            let mut count = span.div_ceil(self.stride[i]) + 1;
            if (count - 1) * self.stride[i] >= size + self.before[i] {
                count -= 1;
            }
            let needed = (count.max(1) - 1) * self.stride[i] + reach;
            self.extra[i] = needed.saturating_sub(whole);
        }
        Ok(())
    }

    /// Whether the padding is the same on both sides.
    pub fn is_even(&self) -> bool {
        self.before == self.after && self.extra.iter().all(|&extra| extra == 0)
    }

    /// `x` with all padding, of this value.
    pub fn padded(&self, x: &Var, value: f64) -> Result<Var> {
        let before: Vec<i64> = self.before.iter().map(|&size| size as i64).collect();
        let after: Vec<i64> =
            self.after.iter().zip(&self.extra).map(|(&a, &b)| (a + b) as i64).collect();
        match before.iter().chain(&after).all(|&size| size == 0) {
            true => Ok(x.clone()),
            false => ops::pad(x, &before, &after, PadOptions::default().value(value)),
        }
    }

    /// The sums over the windows of an `x` that is padded.
    pub fn sums(&self, x: &Var) -> Result<Var> {
        let dims = x.dims();
        let mut flat = vec![dims[0].mul(dims[1])?, Dim::size(1)];
        flat.extend(&dims[2..]);
        let mut kernel = vec![Dim::size(1); 2];
        kernel.extend(self.kernel.iter().map(|&size| Dim::size(size)));
        let ones = ops::ones(&kernel, x.dtype())?;
        let options =
            ops::ConvOptions::default().stride(self.stride.clone()).dilation(self.dilation.clone());
        let sums = convolved(&ops::reshape(x, &flat)?, &ones, None, options)?;
        let mut out = vec![dims[0], dims[1]];
        out.extend(&sums.dims()[2..]);
        ops::reshape(&sums, &out)
    }
}

/// A convolution on one to three axes.
pub fn convolved(
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
    options: ops::ConvOptions,
) -> Result<Var> {
    match x.rank() {
        3 => ops::conv1d(x, weight, bias, options),
        4 => ops::conv2d(x, weight, bias, options),
        _ => ops::conv3d(x, weight, bias, options),
    }
}

/// Sizes of an attribute, if it is there.
pub fn sizes(n: &Node<'_>, name: &str) -> Result<Option<Vec<usize>>> {
    let Some(ints) = n.ints(name) else { return Ok(None) };
    let found: Option<Vec<usize>> =
        ints.iter().map(|&int| usize::try_from(int).ok().filter(|&size| size < 1 << 31)).collect();
    found.map(Some).ok_or_else(|| n.refuse(format!("`{name}` has a negative number")))
}
