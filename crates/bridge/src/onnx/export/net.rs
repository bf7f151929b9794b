//! Products of matrices, convolutions, pools, normalisations, attention and cells.

use fluvial_core::{DType, Dim, Error, Result};

use super::table::Export;
use super::{Node, Writer, float, int, ints};

pub const OPS: &[(&str, Export)] = &[
    ("attention", attention),
    ("avg_pool", |w, n| {
        let divisor: Option<usize> = n.attr("divisor")?;
        if divisor.is_some() {
            return Err(Error::argument("a divisor of its own cannot be written as ONNX"));
        }
        let counts: bool = n.attr("count_include_pad")?;
        let mut attrs = windows(n)?;
        attrs.push(int("count_include_pad", counts.into()));
        pooled(w, n, "AveragePool", n.x(0), attrs)
    }),
    ("conv", |w, n| {
        let attrs = of_conv(n)?;
        Ok(vec![w.with("Conv", &[n.x(0), n.x(1)], attrs)])
    }),
    ("conv_transpose", conv_transpose),
    ("gru_update", |w, n| {
        // Reset, update and new, of the input and of the state.
        let parts = |w: &mut Writer, x: &str| {
            let attrs = vec![int("axis", -1), int("num_outputs", 3)];
            w.several("Split", &[x], attrs, 3)
        };
        let (input, state) = (parts(w, n.x(0)), parts(w, n.x(1)));
        let gate = |w: &mut Writer, i: usize| {
            let sum = w.op("Add", &[&input[i], &state[i]]);
            w.op("Sigmoid", &[&sum])
        };
        let (reset, update) = (gate(w, 0), gate(w, 1));
        let hidden = w.op("Mul", &[&reset, &state[2]]);
        let fresh = w.op("Add", &[&input[2], &hidden]);
        let fresh = w.op("Tanh", &[&fresh]);
        // fresh + update * (h - fresh)
        let apart = w.op("Sub", &[n.x(2), &fresh]);
        let apart = w.op("Mul", &[&update, &apart]);
        Ok(vec![w.op("Add", &[&fresh, &apart])])
    }),
    ("log_softmax", |w, n| along(w, n, "LogSoftmax")),
    ("lstm_update", |w, n| {
        let attrs = vec![int("axis", -1), int("num_outputs", 4)];
        let parts = w.several("Split", &[n.x(0)], attrs, 4);
        let (input, forget) = (w.op("Sigmoid", &[&parts[0]]), w.op("Sigmoid", &[&parts[1]]));
        let (fresh, output) = (w.op("Tanh", &[&parts[2]]), w.op("Sigmoid", &[&parts[3]]));
        let (kept, new) = (w.op("Mul", &[&forget, n.x(1)]), w.op("Mul", &[&input, &fresh]));
        let c = w.op("Add", &[&kept, &new]);
        let shown = w.op("Tanh", &[&c]);
        Ok(vec![w.op("Mul", &[&output, &shown]), c])
    }),
    ("matmul", |w, n| {
        let (a, b): (bool, bool) = (n.attr("transpose_a")?, n.attr("transpose_b")?);
        let to = n.out().dtype();
        let mut turned = |i: usize, is_turned: bool| {
            let x = w.cast(n.x(i), n.types[i].dtype(), to);
            let rank = n.types[i].rank() as i64;
            match is_turned && rank > 1 {
                true => {
                    let order = (0..rank - 2).chain([rank - 1, rank - 2]);
                    w.with("Transpose", &[&x], vec![ints("perm", order)])
                }
                false => x,
            }
        };
        let (a, b) = (turned(0, a), turned(1, b));
        Ok(vec![w.op("MatMul", &[&a, &b])])
    }),
    ("max_pool", |w, n| {
        let mut attrs = windows(n)?;
        attrs.push(ints("dilations", sizes(n, "dilation")?));
        // ONNX takes the greatest of floats and bytes alone; f64 holds whole numbers of 32 bits.
        let (x, own) = (n.x(0), n.types[0].dtype());
        match own {
            DType::I64 | DType::U64 => Err(Error::dtype(format!(
                "the greatest elements of {own} cannot be written as ONNX"
            ))
            .remedy("cast to i32 or to a float before")),
            dtype if dtype.is_float() || matches!(dtype, DType::I8 | DType::U8) => {
                pooled(w, n, "MaxPool", x, attrs)
            }
            _ => {
                let wide = w.cast(x, own, DType::F64);
                let found = pooled(w, n, "MaxPool", &wide, attrs)?;
                Ok(vec![w.cast(&found[0], DType::F64, own)])
            }
        }
    }),
    ("normalise", normalise),
    ("softmax", |w, n| along(w, n, "Softmax")),
];

/// The attributes of a convolution.
pub fn of_conv(n: &Node<'_>) -> Result<Vec<super::AttributeProto>> {
    let groups: usize = n.attr("groups")?;
    Ok(vec![
        ints("strides", sizes(n, "stride")?),
        ints("dilations", sizes(n, "dilation")?),
        ints("pads", [sizes(n, "before")?, sizes(n, "after")?].concat()),
        int("group", groups as i64),
    ])
}

fn sizes(n: &Node<'_>, name: &'static str) -> Result<Vec<i64>> {
    let all: Vec<usize> = n.attr(name)?;
    Ok(all.into_iter().map(|size| size as i64).collect())
}

fn windows(n: &Node<'_>) -> Result<Vec<super::AttributeProto>> {
    let padding = sizes(n, "padding")?;
    let ceil_mode: bool = n.attr("ceil_mode")?;
    Ok(vec![
        ints("kernel_shape", sizes(n, "kernel")?),
        ints("strides", sizes(n, "stride")?),
        ints("pads", [padding.clone(), padding].concat()),
        int("ceil_mode", ceil_mode.into()),
    ])
}

/// Pools take `[batch, channels, ..]`; ours have any axes in front of the spatial ones.
fn pooled(
    w: &mut Writer,
    n: &Node<'_>,
    op: &str,
    x: &str,
    attrs: Vec<super::AttributeProto>,
) -> Result<Vec<String>> {
    let kernel: Vec<usize> = n.attr("kernel")?;
    let (dims, spatial) = (n.types[0].dims(), kernel.len());
    if dims.len() == spatial + 2 {
        return Ok(vec![w.with(op, &[x], attrs)]);
    }
    let mut flat = vec![Dim::size(1), Dim::REST];
    flat.extend(&dims[dims.len() - spatial..]);
    let shape = shape_with_rest(w, &flat)?;
    let x = w.op("Reshape", &[x, &shape]);
    let found = w.with(op, &[&x], attrs);
    let out = w.sizes(n.out().dims())?;
    Ok(vec![w.op("Reshape", &[&found, &out])])
}

fn shape_with_rest(w: &mut Writer, dims: &[Dim]) -> Result<String> {
    let mut parts = Vec::new();
    for &dim in dims {
        parts.push(if dim == Dim::REST { w.ints(&[-1])? } else { w.size(dim)? });
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    Ok(w.with("Concat", &parts, vec![int("axis", 0)]))
}

fn along(w: &mut Writer, n: &Node<'_>, op: &str) -> Result<Vec<String>> {
    let axis: i64 = n.attr("axis")?;
    let x = w.cast(n.x(0), n.types[0].dtype(), n.out().dtype());
    Ok(vec![w.with(op, &[&x], vec![int("axis", axis)])])
}

fn conv_transpose(w: &mut Writer, n: &Node<'_>) -> Result<Vec<String>> {
    let (stride, dilation) = (sizes(n, "stride")?, sizes(n, "dilation")?);
    let (before, after) = (sizes(n, "before")?, sizes(n, "after")?);
    let groups: usize = n.attr("groups")?;
    let wanted: Vec<Dim> = n.attr("sizes")?;
    let axes = stride.len();
    let (x, kernel) = (n.types[0].dims(), n.types[1].dims());
    let mut more = Vec::new();
    for i in 0..axes {
        let size = x[x.len() - axes + i];
        let Some(kernel) = kernel[kernel.len() - axes + i].value() else {
            return Err(Error::symbolic("the size of a kernel is not known"));
        };
        // (size - 1) * stride + reach - before - after, and what is added to it.
        let reach = (kernel as i64 - 1) * dilation[i] + 1 - before[i] - after[i] - stride[i];
        let scaled = size.mul(Dim::size(stride[i] as usize))?;
        let rest = fluvial_core::Whole::from(wanted[i]).sub(scaled.into())?;
        match rest.number() {
            Some(rest) => more.push(rest - reach),
            None => return Err(Error::symbolic("the size of the result is not known")),
        }
    }
    let attrs = vec![
        ints("strides", stride),
        ints("dilations", dilation),
        ints("pads", [before, after].concat()),
        ints("output_padding", more),
        int("group", groups as i64),
    ];
    Ok(vec![w.with("ConvTranspose", &[n.x(0), n.x(1)], attrs)])
}

fn normalise(w: &mut Writer, n: &Node<'_>) -> Result<Vec<String>> {
    let over: fluvial_ops::norm::Together = n.attr("over")?;
    let over = format!("{over:?}").to_lowercase();
    let (count, eps): (usize, f64) = (n.attr("count")?, n.attr("eps")?);
    let (weight, bias): (bool, bool) = (n.attr("weight")?, n.attr("bias")?);
    let dtype = n.out().dtype();
    let dims = n.out().dims();
    let (axes, shape): (Vec<i64>, Option<Vec<Dim>>) = match over.as_str() {
        "layer" | "rms" => (((dims.len() - count) as i64..dims.len() as i64).collect(), None),
        "group" => {
            let mut shape = vec![dims[0], Dim::size(count)];
            shape.push(dims[1].floor_div(Dim::size(count))?);
            shape.extend(&dims[2..]);
            ((2..shape.len() as i64).collect(), Some(shape))
        }
        other => return Err(Error::argument(format!("a normalisation over `{other}`"))),
    };
    if over == "layer" && weight {
        let attrs = vec![int("axis", -(count as i64)), float("epsilon", eps)];
        let inputs: Vec<&str> = n.inputs.iter().map(String::as_str).collect();
        return Ok(vec![w.with("LayerNormalization", &inputs, attrs)]);
    }
    let mut x = n.inputs[0].clone();
    if let Some(shape) = &shape {
        let sizes = w.sizes(shape)?;
        x = w.op("Reshape", &[&x, &sizes]);
    }
    let axes = w.ints(&axes)?;
    let mean_of =
        |w: &mut Writer, x: &str| w.with("ReduceMean", &[x, &axes], vec![int("keepdims", 1)]);
    let centred = match over.as_str() {
        "rms" => x,
        _ => {
            let mean = mean_of(w, &x);
            w.op("Sub", &[&x, &mean])
        }
    };
    let squares = w.op("Mul", &[&centred, &centred]);
    let variance = mean_of(w, &squares);
    let eps = w.number(eps, dtype)?;
    let variance = w.op("Add", &[&variance, &eps]);
    let root = w.op("Sqrt", &[&variance]);
    let mut result = w.op("Div", &[&centred, &root]);
    if shape.is_some() {
        let sizes = w.sizes(dims)?;
        result = w.op("Reshape", &[&result, &sizes]);
    }
    let mut next = 1;
    for (is_there, op) in [(weight, "Mul"), (bias, "Add")] {
        if !is_there {
            continue;
        }
        let mut part = n.inputs[next].clone();
        if shape.is_some() {
            // One number for each channel.
            let mut sizes = vec![1; dims.len() - 1];
            sizes[0] = -1;
            let sizes = w.ints(&sizes)?;
            part = w.op("Reshape", &[&part, &sizes]);
        }
        result = w.op(op, &[&result, &part]);
        next += 1;
    }
    Ok(vec![result])
}

fn attention(w: &mut Writer, n: &Node<'_>) -> Result<Vec<String>> {
    let (causal, scale): (bool, Option<f64>) = (n.attr("causal")?, n.attr("scale")?);
    let (q, k) = (n.types[0], n.types[1]);
    let (rank, dtype) = (q.rank(), q.dtype());
    if q.dims()[..rank - 2] != k.dims()[..k.rank().saturating_sub(2)] {
        return Err(Error::argument("heads that share keys cannot be written as ONNX"));
    }
    let Some(width) = q.dim(rank - 1).value() else {
        return Err(Error::symbolic("the width of heads is not known"));
    };
    let order = (0..rank as i64 - 2).chain([rank as i64 - 1, rank as i64 - 2]);
    let turned = w.with("Transpose", &[n.x(1)], vec![ints("perm", order)]);
    let scale = w.number(scale.unwrap_or(1.0 / (width as f64).sqrt()), dtype)?;
    let scaled = w.op("Mul", &[n.x(0), &scale]);
    let mut scores = w.op("MatMul", &[&scaled, &turned]);
    let far = w.number(f64::NEG_INFINITY, dtype)?;
    if let (Some(mask), Some(ty)) = (n.inputs.get(3), n.types.get(3)) {
        scores = match ty.dtype() {
            DType::Bool => w.op("Where", &[mask, &scores, &far]),
            own => {
                let mask = w.cast(mask, own, dtype);
                w.op("Add", &[&scores, &mask])
            }
        };
    }
    if causal {
        let rows = super::shape::counted(w, q.dim(rank - 2))?;
        let axes = w.ints(&[1])?;
        let rows = w.op("Unsqueeze", &[&rows, &axes]);
        let columns = super::shape::counted(w, k.dim(rank - 2))?;
        let is_seen = w.op("LessOrEqual", &[&columns, &rows]);
        scores = w.op("Where", &[&is_seen, &scores, &far]);
    }
    let mut shares = w.with("Softmax", &[&scores], vec![int("axis", -1)]);
    if n.inputs.len() > 3 {
        // Where a mask leaves nothing to look at, the result is zero.
        let axes = w.ints(&[-1])?;
        let most = w.with("ReduceMax", &[&scores, &axes], vec![int("keepdims", 1)]);
        let is_blind = w.op("Equal", &[&most, &far]);
        let zero = w.number(0.0, dtype)?;
        shares = w.op("Where", &[&is_blind, &zero, &shares]);
    }
    Ok(vec![w.op("MatMul", &[&shares, n.x(2)])])
}
