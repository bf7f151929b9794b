//! Attention and rotary embeddings.

use fluvial_core::{DType, Dim, Error, Result, Var};
use fluvial_ops::{self as ops, PadOptions};

use super::node::Node;
use super::shape::concat;
use super::table::Entry;
use super::value::Val;
use crate::onnx::types;

pub const OPS: &[Entry] = &[
    Entry::many("Attention", 23, attention),
    Entry::one("FlexAttention", 1, flex_attention).of("ai.onnx.preview").never_folds(),
    Entry::many("LinearAttention", 27, linear_attention),
    Entry::one("RotaryEmbedding", 23, rotary),
];

/// `[batch, steps, heads * width]` as `[batch, heads, steps, width]`.
pub fn heads(x: &Var, count: i64) -> Result<Var> {
    let Some(count) = usize::try_from(count).ok().filter(|&count| count > 0) else {
        return Err(Error::argument("the number of heads is not positive"));
    };
    let dims = x.dims();
    let width = dims[2].floor_div(Dim::size(count))?;
    let parts = crate::fit::reshaped(x, &[dims[0], dims[1], Dim::size(count), width])?;
    ops::permute(&parts, &[0, 2, 1, 3])
}

/// The inverse of [`heads`].
pub fn together(x: &Var) -> Result<Var> {
    let x = ops::permute(x, &[0, 2, 1, 3])?;
    let dims = x.dims();
    ops::reshape(&x, &[dims[0], dims[1], dims[2].mul(dims[3])?])
}

/// Each head of keys or values as often as queries need it.
pub fn repeated(x: &Var, queries: Dim) -> Result<Var> {
    match (x.dims()[1].value(), queries.value()) {
        (Some(own), Some(all)) if own != all && own > 0 && all % own == 0 => {
            ops::repeat_interleave(x, all / own, 1)
        }
        _ => Ok(x.clone()),
    }
}

/// Zero where `allowed`, minus infinity elsewhere.
pub fn bias_of(allowed: &Var, dtype: DType) -> Result<Var> {
    let zero = ops::cast(&Var::scalar(0.0f64), dtype)?;
    ops::where_(allowed, &zero, &zero.literal(f64::NEG_INFINITY))
}

fn plus(bias: Option<Var>, more: Var) -> Result<Option<Var>> {
    match bias {
        Some(bias) => ops::add(&bias, &more).map(Some),
        None => Ok(Some(more)),
    }
}

fn attention(n: &Node<'_>) -> Result<Vec<Val>> {
    let (mut q, mut k, mut v) = (n.var(0)?, n.var(1)?, n.var(2)?);
    let is_flat = q.rank() == 3;
    if is_flat {
        let (own, others) = (n.int("q_num_heads", 0), n.int("kv_num_heads", 0));
        (q, k, v) = (heads(&q, own)?, heads(&k, others)?, heads(&v, others)?);
    }
    if [&q, &k, &v].iter().any(|part| part.rank() != 4) {
        return Err(n.refuse("queries, keys and values do not have 3 or 4 axes"));
    }
    let dtype = q.dtype();
    let mut before = None;
    if let (Some(past_k), Some(past_v)) = (n.opt(4)?, n.opt(5)?) {
        before = Some(past_k.dims()[2]);
        k = concat(&[past_k, k], 2)?;
        v = concat(&[past_v, v], 2)?;
    }
    let (present_k, present_v) = (k.clone(), v.clone());
    let (steps, keys) = (q.dims()[2], k.dims()[2]);
    let lengths = n.opt(6)?;
    let mut bias = match n.opt(3)? {
        Some(mask) => Some(mask_bias(&mask, keys, dtype)?),
        None => None,
    };
    let (left, right) = (n.int("left_window_size", -1), n.int("right_window_size", -1));
    let is_causal = n.flag("is_causal", false);
    if is_causal || left >= 0 || right >= 0 {
        // How far each query lies behind each key.
        let rows = ops::unsqueeze(&ops::iota(steps, DType::I64)?, 1)?;
        let mut apart = ops::sub(&rows, &ops::iota(keys, DType::I64)?)?;
        match (&before, &lengths) {
            (Some(before), _) => {
                apart = ops::add(&apart, &ops::dim_size(*before, DType::I64)?)?;
            }
            (None, Some(lengths)) => {
                let offset = ops::sub(lengths, &ops::dim_size(steps, DType::I64)?)?;
                let dims = [lengths.dims()[0], Dim::size(1), Dim::size(1), Dim::size(1)];
                apart = ops::add(&apart, &ops::reshape(&offset, &dims)?)?;
            }
            (None, None) => {}
        }
        let mut limit = |allowed: Var| {
            bias = plus(bias.take(), bias_of(&allowed, dtype)?)?;
            Result::Ok(())
        };
        if is_causal {
            limit(ops::ge(&apart, &Var::scalar(0i64))?)?;
        }
        if left >= 0 {
            limit(ops::le(&apart, &Var::scalar(left))?)?;
        }
        if right >= 0 {
            limit(ops::ge(&apart, &Var::scalar(-right))?)?;
        }
    }
    if let Some(lengths) = &lengths {
        let dims = [lengths.dims()[0], Dim::size(1), Dim::size(1), Dim::size(1)];
        let ends = ops::reshape(lengths, &dims)?;
        let allowed = ops::lt(&ops::iota(keys, DType::I64)?, &ends)?;
        bias = plus(bias, bias_of(&allowed, dtype)?)?;
    }
    let wide_k = repeated(&k, q.dims()[1])?;
    let wide_v = repeated(&v, q.dims()[1])?;
    let scale = match n.opt_float("scale") {
        Some(scale) => scale,
        None => match q.dims()[3].value() {
            Some(width) => 1.0 / (width as f64).sqrt(),
            None => return Err(n.refuse("the width of heads is not known")),
        },
    };
    let scale = scale.sqrt();
    let scaled = |x: &Var| (x * scale).check();
    let mut products = ops::matmul(&scaled(&q)?, &ops::transpose(&scaled(&wide_k)?, 2, 3)?)?;
    let cap = n.float("softcap", 0.0);
    if cap > 0.0 {
        products = (&ops::tanh(&(&products / cap).check()?)? * cap).check()?;
    }
    let biased = match &bias {
        Some(bias) => ops::add(&products, bias)?,
        None => products.clone(),
    };
    let precise = match n.opt_int("softmax_precision") {
        Some(number) => ops::cast(&biased, types::dtype(number)?)?,
        None => biased.clone(),
    };
    let mut shares = ops::softmax(&precise, -1)?;
    if let Some(bias) = &bias {
        // A query that may attend to no key gives zeros.
        let most = ops::max(bias, &[-1], true)?;
        let is_masked = ops::eq(&most, &most.literal(f64::NEG_INFINITY))?;
        shares = ops::where_(&is_masked, &shares.literal(0.0), &shares)?;
    }
    let shares = ops::cast(&shares, dtype)?;
    let mut result = ops::matmul(&shares, &wide_v)?;
    if is_flat {
        result = together(&result)?;
    }
    let shown = match n.int("qk_matmul_output_mode", 0) {
        2 => biased,
        3 => shares,
        _ => products,
    };
    Ok(vec![result.into(), present_k.into(), present_v.into(), shown.into()])
}

/// A mask as what is added; keys behind its end are masked.
fn mask_bias(mask: &Var, keys: Dim, dtype: DType) -> Result<Var> {
    let bias = match mask.dtype().is_bool() {
        true => bias_of(mask, dtype)?,
        false => ops::cast(mask, dtype)?,
    };
    let own = bias.dims().last().copied().unwrap_or(Dim::size(1));
    match (own.value(), keys.value()) {
        (Some(own), Some(keys)) if own < keys => {
            let more = (keys - own) as i64;
            let options = PadOptions::default().value(f64::NEG_INFINITY);
            ops::pad(&bias, &[0], &[more], options)
        }
        _ => Ok(bias),
    }
}

/// Attention whose scores and shares graphs of the node change.
fn flex_attention(n: &Node<'_>) -> Result<Var> {
    let (q, k, v) = (n.var(0)?, n.var(1)?, n.var(2)?);
    if [&q, &k, &v].iter().any(|part| part.rank() != 4) {
        return Err(n.refuse("queries, keys and values do not have 4 axes"));
    }
    let (k, v) = (repeated(&k, q.dims()[1])?, repeated(&v, q.dims()[1])?);
    let scale = match (n.opt_float("scale"), q.dims()[3].value()) {
        (Some(scale), _) => scale,
        (None, Some(width)) => 1.0 / (width as f64).sqrt(),
        (None, None) => return Err(n.refuse("the width of heads is not known")),
    };
    let scaled = |x: &Var| (x * scale.sqrt()).check();
    let scores = ops::matmul(&scaled(&q)?, &ops::transpose(&scaled(&k)?, 2, 3)?)?;
    let wide = match (n.opt_int("softmax_precision"), q.dtype()) {
        (Some(number), _) => types::dtype(number)?,
        (None, DType::F16 | DType::BF16) => DType::F32,
        (None, own) => own,
    };
    let changed = |x: Var, name: &str| {
        if n.attr(name).is_none() {
            return Ok(x);
        }
        let found = n.importer.subgraph(n.graph(name)?, vec![Val::from(x)], n.env)?;
        let first = found.first().ok_or_else(|| n.refuse(format!("`{name}` gives nothing")))?;
        ops::cast(&first.var()?, wide)
    };
    let scores = changed(ops::cast(&scores, wide)?, "score_mod")?;
    let shares = changed(ops::softmax(&scores, -1)?, "prob_mod")?;
    ops::cast(&ops::matmul(&shares, &ops::cast(&v, wide)?)?, v.dtype())
}

/// Attention by a state that each step decays, corrects, adds to and reads, in single precision.
fn linear_attention(n: &Node<'_>) -> Result<Vec<Val>> {
    let own = n.var(0)?.dtype();
    let (q_heads, kv_heads) = (n.int("q_num_heads", 0), n.int("kv_num_heads", 0));
    let wide = |x: Var, count: i64| {
        ops::permute(&heads(&ops::cast(&x, DType::F32)?, count)?, &[2, 0, 1, 3])
    };
    // [steps, batch, heads, width]
    let (q, k) = (wide(n.var(0)?, q_heads)?, wide(n.var(1)?, kv_heads)?);
    let v = wide(n.var(2)?, kv_heads)?;
    let rule = n.string("update_rule", "gated_delta");
    let decay = n.opt(4)?.map(|x| wide(x, kv_heads)).transpose()?;
    let beta = match n.opt(5)? {
        Some(x) => {
            let count = x.dims()[2].value().unwrap_or(0) as i64;
            Some(wide(x, count)?)
        }
        None => None,
    };
    if rule.starts_with("gated") != decay.is_some() || rule.ends_with("delta") != beta.is_some() {
        return Err(n.refuse(format!("the inputs do not fit the rule `{rule}`")));
    }
    let (k_width, v_width) = (k.dims()[3], v.dims()[3]);
    let past = n.opt(3)?;
    let state_type = past.as_ref().map_or(own, Var::dtype);
    let state = match past {
        Some(state) => ops::cast(&state, DType::F32)?,
        None => ops::zeros(&[k.dims()[1], k.dims()[2], k_width, v_width], DType::F32)?,
    };
    let scale = match (n.float("scale", 0.0), k_width.value()) {
        (scale, _) if scale != 0.0 => scale,
        (_, Some(width)) => 1.0 / (width as f64).sqrt(),
        _ => return Err(n.refuse("the width of heads is not known")),
    };
    let queries = q.dims()[2];
    let mut xs = vec![q, k, v];
    xs.extend(decay.iter().chain(&beta).cloned());
    let step = |states: &[Var], now: &[Var]| {
        let mut state = states[0].clone();
        let (k, mut v) = (ops::unsqueeze(&now[1], 3)?, ops::unsqueeze(&now[2], 2)?);
        if decay.is_some() {
            state = ops::mul(&state, &ops::unsqueeze(&ops::exp(&now[3])?, 3)?)?;
        }
        if beta.is_some() {
            let found = ops::sum(&ops::mul(&state, &k)?, &[2], true)?;
            let share = ops::unsqueeze(&now[now.len() - 1], 2)?;
            v = ops::mul(&share, &ops::sub(&v, &found)?)?;
        }
        state = ops::add(&state, &ops::mul(&k, &v)?)?;
        let read = repeated(&state, queries)?;
        let out = ops::sum(&ops::mul(&ops::unsqueeze(&now[0], 3)?, &read)?, &[2], false)?;
        Ok((vec![state], vec![(&out * scale).check()?]))
    };
    let (last, outs) = ops::scan(&[&state], &xs.iter().collect::<Vec<_>>(), step)?;
    let out = together(&ops::permute(&outs[0], &[1, 2, 0, 3])?)?;
    Ok(vec![ops::cast(&out, own)?.into(), ops::cast(&last[0], state_type)?.into()])
}

fn rotary(n: &Node<'_>) -> Result<Var> {
    let mut x = n.var(0)?;
    let is_flat = x.rank() == 3;
    if is_flat {
        x = heads(&x, n.int("num_heads", 0))?;
    }
    let (mut cos, mut sin) = (n.var(1)?, n.var(2)?);
    if let Some(places) = n.opt(3)? {
        cos = ops::gather(&cos, &places, 0)?;
        sin = ops::gather(&sin, &places, 0)?;
    }
    let turned = rotate(&x, &cos, &sin, n.flag("interleaved", false))?;
    if is_flat { together(&turned) } else { Ok(turned) }
}

/// Rotates `[batch, heads, steps, width]` by `[batch, steps, half]`.
pub fn rotate(x: &Var, cos: &Var, sin: &Var, interleaved: bool) -> Result<Var> {
    let per_head = |table: &Var| match table.rank() {
        3 => ops::unsqueeze(table, 1),
        _ => Ok(table.clone()),
    };
    ops::rotary_embedding(x, &per_head(cos)?, &per_head(sin)?, interleaved)
}
