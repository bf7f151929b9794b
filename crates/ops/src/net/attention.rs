//! `attention`: values by how much their keys fit the queries, without the matrix of the scores.

use super::SoftmaxOp;
use super::attention_grad::AttendGrad;
use super::scaled_dot_product_attention::{
    AttentionOptions, defined, fit, grouped_mask, groups, mask_fits, scores, split_heads,
    with_group_axis,
};
use crate::linalg::Matmul;
use crate::logsumexp;
use crate::prelude::*;
use crate::reading::{one_call, product, transposed};
use crate::shape::reshape;

/// The function in C.
pub(crate) static SOURCE: Source = Source {
    name: "attention",
    text: include_str!("attention.c"),
    needs: &[&crate::linalg::matmul::GEMM],
};

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("attention.wgsl"),
    args: &[
        "q",
        "k",
        "v",
        "mask",
        "holds",
        "y",
        "logs",
        "scores",
        "rank",
        "sizes",
        "steps_q",
        "steps_k",
        "steps_v",
        "steps_mask",
        "shared",
        "queries",
        "keys",
        "width",
        "depth",
        "causal",
        "scale",
    ],
    count: |n| match n[18].int() {
        // As many sums has a lane.
        ..=256 => n[9].ints().iter().fold(n[15].int(), |all, &size| all.saturating_mul(size)),
        _ => -1,
    },
};

/// The arguments of a mask: of numbers and of bools, of which one is null.
pub(super) fn masks(mask: Option<&&Type>, input: usize) -> [Arg; 2] {
    match mask {
        Some(mask) if mask.dtype().is_bool() => [Arg::Nothing, Arg::In(input)],
        Some(_) => [Arg::In(input), Arg::Nothing],
        None => [Arg::Nothing, Arg::Nothing],
    }
}

/// How heads lie in a batch, for the function in C.
pub(super) struct HeadLayout {
    pub args: Vec<Arg>,
    /// The number of scores of a head.
    pub scores: Dim,
}

impl HeadLayout {
    /// Of queries, keys, values and perhaps a mask.
    pub fn new(inputs: &[&Type], y: &Type, causal: bool, scale: Option<f64>) -> Result<HeadLayout> {
        let (q, k, v) = (inputs[0], inputs[1], inputs[2]);
        let batch = &y.dims()[..y.rank() - 2];
        let shared = match groups(q, k)? {
            Some(_) => known_size(q.dim(q.rank() - 3))? / known_size(k.dim(k.rank() - 3))?,
            None => 1,
        };
        let steps = |ty: &Type, n_inner: usize| -> Result<SmallVec<[Dim; 8]>> {
            let extra = (batch.len() + n_inner).saturating_sub(ty.rank());
            let own = kernel::distances(ty.dims())?;
            let step = |axis: usize| match axis.checked_sub(extra) {
                Some(i) if ty.dim(i) != Dim::size(1) => own[i],
                _ => Dim::size(0),
            };
            Ok((0..batch.len() + n_inner).map(step).collect())
        };
        let matrices = |ty: &Type| steps(ty, 2).map(|all| all[..batch.len()].into());
        let width = q.dim(q.rank() - 1);
        let scale = scale.unwrap_or(1.0 / (known_size(width)? as f64).sqrt());
        let (queries, keys) = (q.dim(q.rank() - 2), k.dim(k.rank() - 2));
        let of_mask = match inputs.get(3) {
            Some(mask) => steps(mask, 2)?,
            None => smallvec![Dim::size(0); batch.len() + 2],
        };
        let args = vec![
            Arg::Int(batch.len() as i64),
            Arg::Sizes(batch.into()),
            Arg::Sizes(matrices(q)?),
            Arg::Sizes(matrices(k)?),
            Arg::Sizes(matrices(v)?),
            Arg::Sizes(of_mask),
            Arg::Int(shared as i64),
            Arg::Size(queries),
            Arg::Size(keys),
            Arg::Size(width),
            Arg::Size(v.dim(v.rank() - 1)),
            Arg::Int(causal.into()),
            Arg::Number(scale),
        ];
        Ok(HeadLayout { args, scores: queries.mul(keys)? })
    }
}

attributes! {
    /// The op behind [`scaled_dot_product_attention`](super::scaled_dot_product_attention()), for `f32` and
    /// `f64` without dropout.
    ///
    /// Inputs: queries, keys, values and perhaps a mask that broadcasts to the scores. Outputs: the result
    /// and, once a gradient was asked for, the logarithm of the sum of powers of each query's scores.
    pub struct Attend = "attention" {
        /// Whether query `i` attends to the keys up to `i` only.
        pub causal: bool,
        /// What products are multiplied with; one over the root of the width if not given.
        pub scale: Option<f64>,
        /// Whether the logarithms are an output.
        pub logs: bool,
    }
}

/// The types of the result and of the logarithms of an attention that there is a kernel for.
pub(super) fn outputs(inputs: &[&Type]) -> Result<[Type; 2]> {
    let (q, k, v, mask) = (inputs[0], inputs[1], inputs[2], inputs.get(3).copied());
    if inputs.iter().any(|ty| ty.is_list()) {
        return Err(Error::dtype("a list has no axes"));
    }
    fit(q, k, v)?;
    mask_fits(mask)?;
    let dtype = q.dtype();
    if !matches!(dtype, DType::F32 | DType::F64) || k.dtype() != dtype || v.dtype() != dtype {
        return Err(Error::dtype("expected queries, keys and values all of f32 or all of f64"));
    }
    let own = &q.dims()[..q.rank() - 2];
    let mut theirs = SmallVec::<[Dim; 8]>::from_slice(&k.dims()[..k.rank() - 2]);
    let mut batch = match groups(q, k)? {
        Some(_) => {
            theirs[k.rank() - 3] = q.dim(q.rank() - 3);
            broadcast(own, &theirs)?
        }
        None => broadcast(own, &theirs)?,
    };
    if groups(q, k)?.is_some() && batch[..] != *own {
        return Err(Error::shape("shared heads have the batch of the queries"));
    }
    batch.push(q.dim(q.rank() - 2));
    let logs = q.with_dims(&batch)?;
    let mut all = batch.clone();
    all.push(k.dim(k.rank() - 2));
    if let Some(mask) = mask {
        if !mask.dtype().is_bool() && mask.dtype() != dtype {
            return Err(Error::dtype(format!("expected a mask of bools or {dtype}")));
        }
        if broadcast(mask.dims(), &all)? != all {
            return Err(Error::shape(format!("a mask {mask} is larger than the scores")));
        }
    }
    batch.push(v.dim(v.rank() - 1));
    Ok([q.with_dims(&batch)?, logs])
}

impl Attend {
    pub(super) fn options(&self) -> AttentionOptions {
        AttentionOptions { causal: self.causal, dropout: 0.0, scale: self.scale }
    }

    /// The logarithms by other ops.
    fn logs_of(&self, inputs: &[Var]) -> Result<Var> {
        let (q, k, mask) = (&inputs[0], &inputs[1], inputs.get(3));
        let Some(groups) = groups(&q.ty(), &k.ty())? else {
            return logsumexp(&scores(q, k, mask, &self.options())?, &[-1], false);
        };
        let mask = mask.map(|mask| grouped_mask(mask, groups)).transpose()?;
        let (own, k) = (split_heads(q, groups)?, with_group_axis(k)?);
        let scores = scores(&own, &k, mask.as_ref(), &self.options())?;
        reshape(&logsumexp(&scores, &[-1], false)?, &q.dims()[..q.rank() - 1])
    }
}

/// The arithmetic of so many products of queries and keys, or of matrices of these sizes. Of causal ones half is left out.
pub(super) fn products(q: &Type, k: &Type, n: f64, causal: bool) -> Option<f64> {
    let keys = k.dim(k.rank() - 2).value()? as f64;
    let all = 2.0 * n * keys * q.numel()? as f64;
    Some(if causal { all / 2.0 } else { all })
}

impl Op for Attend {
    fn arity(&self) -> Arity {
        Arity::AtLeast(3)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs.len() > 4 {
            return Err(Error::argument("expected queries, keys, values and perhaps a mask"));
        }
        let [y, logs] = outputs(inputs)?;
        Ok(if self.logs { smallvec![y, logs] } else { smallvec![y] })
    }

    fn arithmetic(&self, inputs: &[&Type], _: &[Type]) -> Option<f64> {
        products(inputs[0], inputs[1], 2.0, self.causal)
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (q, k, v) = (inputs[0].tensor()?, inputs[1].tensor()?, inputs[2].tensor()?);
        let mask = inputs.get(3).map(|mask| mask.tensor()).transpose()?;
        let options = kernels::Attention { mask, causal: self.causal, scale: self.scale };
        let (y, logs) = kernels::attention(q, k, v, &options)?;
        let mut outputs: Values = smallvec![y.into()];
        if self.logs {
            outputs.push(logs.into());
        }
        Ok(outputs)
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let ranks = (0..3).map(|i| batch.rank(i)).collect::<SmallVec<[usize; 3]>>();
        if ranks.iter().any(|&rank| rank != ranks[0]) {
            return Ok(None);
        }
        let mut inputs = (0..3).map(|i| batch.full(i)).collect::<Result<Vec<_>>>()?;
        if batch.n_inputs() > 3 {
            inputs.push(batch.aligned(3, ranks[0])?);
        }
        bind(self.clone(), &inputs.iter().collect::<Vec<_>>()).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS.and_outputs(0b11), |p| {
            let op = p.op::<Attend>()?;
            let inputs: Vec<Var> = (0..p.n_inputs()).map(|i| p.x(i)).collect();
            let wanted: Vec<bool> = (0..p.n_inputs()).map(|i| p.wanted(i)).collect();
            let mut found = Cotangents::from_elem(None, p.n_inputs());
            if let Some(dy) = &p.dys()[0] {
                if wanted[..3].contains(&true) {
                    let gradient = AttendGrad { causal: op.causal, scale: op.scale };
                    let (y, logs) = (p.y(0), p.y(1));
                    let mut all = vec![dy, &inputs[0], &inputs[1], &inputs[2], &y, &logs];
                    all.extend(inputs.get(3));
                    let cotangents = bind(gradient, &all)?;
                    for (i, cotangent) in cotangents.into_iter().enumerate() {
                        found[i] = wanted[i].then_some(cotangent);
                    }
                }
                // A mask that is learnt is rare: the kernel has no gradient for it.
                if p.wanted(3) {
                    let by_mask = vjp_through(
                        |x| Ok(vec![defined(&x[0], &x[1], &x[2], x.get(3), &op.options())?]),
                        &inputs,
                        &[false, false, false, true],
                        &[Some(dy.clone())],
                    )?;
                    found[3] = by_mask[3].clone();
                }
            }
            if let Some(Some(dlogs)) = p.dys().get(1) {
                let by_logs = vjp_through(
                    |x| Ok(vec![op.logs_of(x)?]),
                    &inputs,
                    &wanted,
                    &[Some(dlogs.clone())],
                )?;
                for (found, by_logs) in found.iter_mut().zip(by_logs) {
                    *found = plus(found.take(), by_logs)?;
                }
            }
            Ok(found)
        })
    }

    fn properties(&self) -> Properties {
        Properties { residuals: !self.logs, ..Properties::PURE }
    }

    fn with_residuals(&self, _: &[bool], _: &[bool]) -> Result<Option<OpRef>> {
        Ok((!self.logs).then(|| Attend { logs: true, ..self.clone() }.into()))
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let logs = if self.logs { Arg::Out(1) } else { Arg::Nothing };
        let mask = masks(inputs.get(3), 3);
        let layout = HeadLayout::new(inputs, &outs[0], self.causal, self.scale)?;
        let work = Arg::Work(layout.scores.mul(Dim::size(inputs[0].dtype().size()))?);
        let operands = [Arg::In(0), Arg::In(1), Arg::In(2)].into_iter().chain(mask);
        let args = operands.chain([Arg::Out(0), logs, work]).chain(layout.args);
        Native::new(&SOURCE, [inputs[0].dtype()], args).with_shader(&SHADER).alone()
    }
}

/// `softmax(q k^T * scale + mask) v`, where the scale may also be at `q`, and be left out as the mask may.
/// A query whose mask is negative infinity throughout gives zeros then, not NaN.
pub(crate) const FORM: Form = Form { name: Attend::NAME, ends: &[Matmul::NAME], find: spelled };

fn spelled(look: &mut Look<'_>, call: &Call) -> Option<Found> {
    let outer = call.op.downcast::<Matmul>()?;
    let &[weights, v] = &call.inputs[..] else { return None };
    if outer.transpose_a || outer.transpose_b {
        return None;
    }
    let (softmax, inputs) = look.op::<SoftmaxOp>(weights)?;
    let (scores, rank) = (inputs[0], look.ty(inputs[0]).rank());
    if axis(softmax.axis, rank).ok()? + 1 != rank {
        return None;
    }
    let masked = look.attempt(|look| {
        let inputs = look.inputs(scores, ADD.name())?;
        look.either(&inputs, |look, scores, mask| Some((scaled_product(look, scores)?, Some(mask))))
    });
    let ((q, k, scale), mask) = match masked {
        Some(found) => found,
        None => (scaled_product(look, scores)?, None),
    };
    let op = Attend { causal: false, scale: Some(scale), logs: false };
    let inputs: Vec<ValueId> = [q, k, v].into_iter().chain(mask).collect();
    one_call(op, &inputs)
}

/// Queries, keys and the scale of their product.
fn scaled_product(look: &mut Look<'_>, value: ValueId) -> Option<(ValueId, ValueId, f64)> {
    look.attempt(|look| {
        let (outside, factors) = product(look, value, &[], 1);
        let &[scores] = &factors[..] else { return None };
        let (op, inputs) = look.op::<Matmul>(scores)?;
        let k = match op.transpose_b {
            true => inputs[1],
            false => transposed(look, inputs[1])?,
        };
        if op.transpose_a || look.ty(k).rank() < 2 {
            return None;
        }
        let scaled = look.attempt(|look| match product(look, inputs[0], &[], 1) {
            (inside, factors) if factors.len() == 1 && inside != 1.0 => Some((inside, factors[0])),
            _ => None,
        });
        let (inside, q) = scaled.unwrap_or((1.0, inputs[0]));
        Some((q, k, inside * outside))
    })
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Attend::NAME, Attend::build, || {
    let plain = |causal, logs| Attend { causal, scale: None, logs };
    let (q, k, v) = (ramp(&[1, 3, 2]), ramp(&[1, 2, 2]), ramp(&[1, 2, 1]));
    let hidden = bools(&[true, false, true, true, false, true], &[3, 2]);
    let zeros = f64s(&[0.0; 2], &[2, 1]);
    let values = f64s(&[1.0, 3.0], &[2, 1]);
    let ln2 = std::f64::consts::LN_2;
    vec![
        Sample::new(plain(true, true), [zeros.clone(), zeros.clone(), values.clone()])
            .gives([f64s(&[1.0, 2.0], &[2, 1]), f64s(&[0.0, ln2], &[2])]),
        Sample::new(
            plain(false, false),
            [zeros.clone(), zeros, values, bools(&[true, false, false, false], &[2, 2])],
        )
        .gives([f64s(&[1.0, 0.0], &[2, 1])]),
        Sample::new(plain(false, false), [q.clone(), k.clone(), v.clone()]),
        Sample::new(
            Attend { scale: Some(0.75), ..plain(true, false) },
            [q.clone(), k.clone(), v.clone()],
        ),
        Sample::new(plain(false, true), [q.clone(), k.clone(), v.clone(), hidden]),
        Sample::new(plain(false, false), [q.clone(), k.clone(), v.clone(), ramp(&[3, 2])]),
        Sample::new(
            plain(false, false),
            [ramp(&[4, 1, 2]), ramp(&[2, 2, 2]), ramp(&[2, 2, 1]), ramp(&[4, 1, 2])],
        ),
        Sample::new(plain(false, false), [q.clone(), v.clone(), k.clone()]).refused("width"),
        Sample::new(plain(false, false), [q, k, v, ramp(&[5, 1, 3, 2])]).refused("larger"),
    ]
});
