//! Attention in the forms of the domain `com.microsoft`: over a whole input, over queries, keys and values, with groups of
//! heads, and quantised.

use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops as ops;

use super::attention::{bias_of, heads, repeated, rotate, together};
use super::linalg::matmul;
use super::node::Node;
use super::quant;
use super::shape::concat;
use super::table::Entry;
use super::value::Val;

const DOMAIN: &str = "com.microsoft";

pub const OPS: &[Entry] = &[
    Entry::many("Attention", 1, |n| {
        let all = plus(&matmul(&n.var(0)?, &n.var(1)?)?, n.opt(2)?)?;
        of_whole(n, &all, 3, 4, n.opt(5)?)
    })
    .of(DOMAIN)
    .refuses("a buffer that past and present keys share; rotated positions"),
    Entry::many("GroupQueryAttention", 1, group_query).of(DOMAIN).refuses(
        "a buffer that past and present keys share; windows; quantised keys; smooth softmax",
    ),
    Entry::many("MultiHeadAttention", 1, multi_head)
        .of(DOMAIN)
        .refuses("packed queries, keys and values; a buffer that past and present keys share"),
    Entry::many("QAttention", 1, |n| {
        let product = quant::matmul_sums(&n.var(0)?, &n.var(1)?, n.opt(6)?, n.opt(7)?)?;
        let scale = ops::mul(&n.var(3)?, &n.var(4)?)?;
        let all = ops::mul(&ops::cast(&product, DType::F32)?, &scale)?;
        of_whole(n, &plus(&all, n.opt(2)?)?, 5, 8, None)
    })
    .of(DOMAIN),
];

pub fn plus(x: &Var, more: Option<Var>) -> Result<Var> {
    more.map_or_else(|| Ok(x.clone()), |more| ops::add(x, &more))
}

/// Attention of an input to itself, of whose products queries, keys and values are parts. Gives the result and the keys and
/// values of now, in one tensor.
fn of_whole(
    n: &Node<'_>,
    all: &Var,
    mask: usize,
    past: usize,
    bias: Option<Var>,
) -> Result<Vec<Val>> {
    if n.flag("do_rotary", false) || n.flag("past_present_share_buffer", false) {
        return Err(n.refuse("`do_rotary` or `past_present_share_buffer`"));
    }
    let parts = match n.ints("qkv_hidden_sizes") {
        Some(sizes) => {
            let sizes =
                sizes.into_iter().map(crate::fit::non_negative).collect::<Result<Vec<_>>>()?;
            ops::split(all, &sizes, -1)?
        }
        None => ops::chunk(all, 3, -1)?,
    };
    let [q, k, v] = &parts[..] else {
        return Err(n.refuse("its weight does not have three parts"));
    };
    let count = n.int("num_heads", 0);
    let (q, mut k, mut v) = (heads(q, count)?, heads(k, count)?, heads(v, count)?);
    let mut before = Dim::size(0);
    if let Some(past) = n.opt(past)? {
        let both = ops::unbind(&past, 0)?;
        let [old_k, old_v] = &both[..] else {
            return Err(n.refuse("`past` does not have two parts"));
        };
        before = old_k.dims()[2];
        k = concat(&[old_k.clone(), k], 2)?;
        v = concat(&[old_v.clone(), v], 2)?;
    }
    let mask = n.opt(mask)?;
    let mask = mask.map(|mask| allowed(n, &mask, &q, k.dims()[2])).transpose()?;
    let result = attend(n, &q, &k, &v, before, mask, bias, n.flag("unidirectional", false))?;
    let present = match n.wants(1) {
        true => ops::stack(&[&k, &v], 0)?.into(),
        false => Val::Nothing,
    };
    Ok(vec![result.into(), present])
}

/// Where queries may attend, `[batch, 1, steps or 1, keys]`.
fn allowed(n: &Node<'_>, mask: &Var, q: &Var, keys: Dim) -> Result<Var> {
    let batch = q.dims()[0];
    let one = Dim::size(1);
    match mask.rank() {
        1 => {
            let places = ops::iota(keys, DType::I64)?;
            let mask = ops::cast(mask, DType::I64)?;
            let bound = |x: &Var| ops::reshape(x, &[batch, one, one, one]);
            if mask.dims()[0] == batch {
                return ops::lt(&places, &bound(&mask)?);
            }
            // Ends, and behind them starts.
            let parts = ops::split(&mask, &[batch, batch], 0)?;
            let before_end = ops::lt(&places, &bound(&parts[0])?)?;
            ops::logical_and(&before_end, &ops::ge(&places, &bound(&parts[1])?)?)
        }
        2 => {
            let counts = ops::ne(mask, &mask.literal(0.0))?;
            ops::unsqueeze(&ops::unsqueeze(&counts, 1)?, 1)
        }
        3 => ops::unsqueeze(&ops::ne(mask, &mask.literal(0.0))?, 1),
        _ => Err(n.refuse(format!("a mask of type {}", mask.ty()))),
    }
}

/// What queries `[batch, heads, steps, width]` find, `[batch, steps, heads * width]`; `before` are the keys of the past.
#[allow(clippy::too_many_arguments)]
fn attend(
    n: &Node<'_>,
    q: &Var,
    k: &Var,
    v: &Var,
    before: Dim,
    mask: Option<Var>,
    bias: Option<Var>,
    is_causal: bool,
) -> Result<Var> {
    let (dtype, steps, keys) = (q.dtype(), q.dims()[2], k.dims()[2]);
    let mut total = bias;
    let mut add = |more: Var| -> Result<()> {
        total = Some(match total.take() {
            Some(bias) => ops::add(&bias, &more)?,
            None => more,
        });
        Ok(())
    };
    if let Some(mask) = mask {
        add(bias_of(&mask, dtype)?)?;
    }
    if is_causal {
        let rows = ops::unsqueeze(&ops::iota(steps, DType::I64)?, 1)?;
        let rows = ops::add(&rows, &ops::dim_size(before, DType::I64)?)?;
        add(bias_of(&ops::le(&ops::iota(keys, DType::I64)?, &rows)?, dtype)?)?;
    }
    let scale = n.opt_float("scale").filter(|&scale| scale != 0.0);
    let cap = n.float("softcap", 0.0);
    if cap > 0.0 {
        let Some(width) = q.dims()[3].value() else {
            return Err(n.refuse("the width of heads is not known"));
        };
        let scale = scale.unwrap_or(1.0 / (width as f64).sqrt());
        let products = (&ops::matmul(q, &ops::transpose(k, 2, 3)?)? * scale).check()?;
        let capped = (&ops::tanh(&(&products / cap).check()?)? * cap).check()?;
        let shares = ops::softmax(&plus(&capped, total)?, -1)?;
        return together(&ops::matmul(&shares, v)?);
    }
    let options = ops::AttentionOptions { scale, ..Default::default() };
    together(&ops::scaled_dot_product_attention(q, k, v, total.as_ref(), options)?)
}

fn multi_head(n: &Node<'_>) -> Result<Vec<Val>> {
    let q = n.var(0)?;
    let count = n.int("num_heads", 0);
    if q.rank() != 3 || !n.has(1) || !n.has(2) || n.has(8) {
        return Err(n.refuse("packed queries, keys and values, or a shared buffer"));
    }
    let (k, v) = (n.var(1)?, n.var(2)?);
    let mut biases = [None, None, None];
    if let Some(bias) = n.opt(3)? {
        let width = q.dims()[2];
        let rest = fluvial_core::Whole::from(bias.dims()[0]);
        let rest = rest.sub(width.into())?.sub(width.into())?.dim()?;
        let parts = ops::split(&bias, &[width, width, rest], 0)?;
        biases = [Some(parts[0].clone()), Some(parts[1].clone()), Some(parts[2].clone())];
    }
    let [of_q, of_k, of_v] = biases;
    let q = heads(&plus(&q, of_q)?, count)?;
    // Keys and values of another input may have their heads already.
    let split = |x: Var, bias: Option<Var>| match x.rank() {
        4 => Ok(x),
        _ => heads(&plus(&x, bias)?, count),
    };
    let (mut k, mut v) = (split(k, of_k)?, split(v, of_v)?);
    let mut before = Dim::size(0);
    if let (Some(old_k), Some(old_v)) = (n.opt(6)?, n.opt(7)?) {
        before = old_k.dims()[2];
        k = concat(&[old_k, k], 2)?;
        v = concat(&[old_v, v], 2)?;
    }
    let mask = n.opt(4)?;
    let mask = mask.map(|mask| allowed(n, &mask, &q, k.dims()[2])).transpose()?;
    let result = attend(n, &q, &k, &v, before, mask, n.opt(5)?, n.flag("unidirectional", false))?;
    Ok(vec![result.into(), k.into(), v.into()])
}

fn group_query(n: &Node<'_>) -> Result<Vec<Val>> {
    let is_other = n.int("local_window_size", -1) >= 0
        || n.flag("smooth_softmax", false)
        || n.has(11)
        || n.opt_int("k_quant_type").is_some();
    if is_other {
        return Err(n.refuse("windows, quantised keys, sinks or smooth softmax"));
    }
    let (count, shared) = (n.int("num_heads", 0), n.int("kv_num_heads", 0));
    let mut q = n.var(0)?;
    let (mut k, mut v) = match (n.opt(1)?, n.opt(2)?) {
        (Some(k), Some(v)) => (k, v),
        _ => {
            // All in one: as many queries, keys and values as there are heads of each.
            let heads = count.saturating_add(shared).saturating_add(shared);
            let all = crate::fit::non_negative(heads)?;
            let width = q.dims()[2].floor_div(all)?;
            let sizes = [count, shared, shared]
                .map(|heads| crate::fit::non_negative(heads).and_then(|heads| heads.mul(width)));
            let [a, b, c] = sizes;
            let parts = ops::split(&q, &[a?, b?, c?], -1)?;
            q = parts[0].clone();
            (parts[1].clone(), parts[2].clone())
        }
    };
    (q, k, v) = (heads(&q, count)?, heads(&k, shared)?, heads(&v, shared)?);
    let (batch, steps) = (q.dims()[0], q.dims()[2]);
    let ends = ops::cast(&ops::flatten(&n.var(5)?, 0, -1)?, DType::I64)?;
    let ends = ops::add(&ends, &Var::scalar(1i64))?;
    let (old_k, old_v) = (n.opt(3)?, n.opt(4)?);
    let before = old_k.as_ref().map_or(Dim::size(0), |old| old.dims()[2]);
    if n.flag("do_rotary", false) {
        let places = match n.opt(9)? {
            Some(places) => ops::cast(&places, DType::I64)?,
            None => {
                let first = ops::dim_size(before, DType::I64)?;
                ops::unsqueeze(&ops::add(&ops::iota(steps, DType::I64)?, &first)?, 0)?
            }
        };
        let interleaved = n.flag("rotary_interleaved", false);
        let of = |slot: usize| ops::gather(&n.var(slot)?, &places, 0);
        let (cos, sin) = (of(7)?, of(8)?);
        q = rotate(&q, &cos, &sin, interleaved)?;
        k = rotate(&k, &cos, &sin, interleaved)?;
    }
    if let (Some(old_k), Some(old_v)) = (old_k, old_v) {
        if before != Dim::size(0) {
            // Where samples have pasts of different lengths, new keys would lie inside of a buffer.
            let all = ops::dim_size(before.add(steps)?, DType::I64)?;
            let first = ops::eq(&ops::dim_size(before, DType::I64)?, &Var::scalar(0i64))?;
            let fits = ops::logical_or(&ops::all(&ops::eq(&ends, &all)?, &[], false)?, &first)?;
            ops::assert_(
                &fits,
                "past keys and `seqlens_k` do not fit: buffers that are not full are not supported",
                &[],
            )?;
        }
        k = concat(&[old_k, k], 2)?;
        v = concat(&[old_v, v], 2)?;
    }
    let one = Dim::size(1);
    let places = ops::iota(k.dims()[2], DType::I64)?;
    let mask = ops::lt(&places, &ops::reshape(&ends, &[batch, one, one, one])?)?;
    let (wide_k, wide_v) = (repeated(&k, q.dims()[1])?, repeated(&v, q.dims()[1])?);
    let result = attend(n, &q, &wide_k, &wide_v, before, Some(mask), n.opt(10)?, true)?;
    Ok(vec![result.into(), k.into(), v.into()])
}
