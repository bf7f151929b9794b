//! Ops on integers of 8 bits, as nodes that quantise and dequantise around ops on floats, which runtimes put together again.

use fluvial_core::{Dim, Error, Result};
use fluvial_ops::int8::unpack_int8;

use super::net::of_conv;
use super::table::Export;
use super::{Node, Writer, int};

pub const OPS: &[(&str, Export)] = &[
    ("conv_integer", |w, n| {
        let attrs = of_conv(n)?;
        Ok(vec![w.with("ConvInteger", &[n.x(0), n.x(1), n.x(2), n.x(3)], attrs)])
    }),
    ("dynamic_quantize_linear", |w, n| {
        Ok(w.several("DynamicQuantizeLinear", &[n.x(0)], vec![], 3))
    }),
    ("int8_conv", |w, n| {
        let kernel: Vec<usize> = n.attr("kernel")?;
        let groups: usize = n.attr("groups")?;
        let (outs, ins) = (size(n.out().dim(1))?, size(n.types[0].dim(1))?);
        let dims: Vec<usize> = [outs, ins / groups.max(1)].into_iter().chain(kernel).collect();
        let weight = unpack_int8(&w.replaced(n.x(3))?, &dims)?;
        let weight = w.constant(&weight)?;
        let weight = w.with("DequantizeLinear", &[&weight, n.x(4)], vec![int("axis", 0)]);
        let x = w.op("DequantizeLinear", &[n.x(0), n.x(1), n.x(2)]);
        let attrs = of_conv(n)?;
        let y = w.with("Conv", &[&x, &weight], attrs);
        finished(w, n, y, 1)
    }),
    ("int8_linear", |w, n| {
        let (x, out) = (n.types[0], n.out());
        let (ins, outs) = (size(x.dim(x.rank() - 1))?, size(out.dim(out.rank() - 1))?);
        let weight = unpack_int8(&w.replaced(n.x(3))?, &[outs, ins])?;
        let weight = w.constant(&weight.transpose(0, 1)?.contiguous()?)?;
        let weight = w.with("DequantizeLinear", &[&weight, n.x(4)], vec![int("axis", 1)]);
        let x = w.op("DequantizeLinear", &[n.x(0), n.x(1), n.x(2)]);
        let y = w.op("MatMul", &[&x, &weight]);
        finished(w, n, y, out.rank() - 1)
    }),
    ("matmul_integer", |w, n| Ok(vec![w.op("MatMulInteger", &[n.x(0), n.x(1), n.x(2), n.x(3)])])),
    ("quantize_linear", |w, n| {
        let x = w.cast(n.x(0), n.types[0].dtype(), n.types[1].dtype());
        Ok(vec![w.op("QuantizeLinear", &[&x, n.x(1), n.x(2)])])
    }),
];

fn size(dim: Dim) -> Result<usize> {
    dim.value().ok_or_else(|| Error::symbolic("the number of channels is not known"))
}

/// What follows the sums, of which one axis has the channels.
fn finished(w: &mut Writer, n: &Node<'_>, mut y: String, channels: usize) -> Result<Vec<String>> {
    let (bias, relu): (bool, bool) = (n.attr("bias")?, n.attr("relu")?);
    if bias {
        let mut dims = vec![1i64; n.out().rank()];
        dims[channels] = -1;
        let dims = w.ints(&dims)?;
        let bias = w.op("Reshape", &[n.x(5), &dims]);
        y = w.op("Add", &[&y, &bias]);
    }
    Ok(vec![if relu { w.op("Relu", &[&y]) } else { y }])
}
