//! `attention_grad`: the gradient of `attention`, without the matrix of the scores.

use super::attention::{HeadLayout, masks, outputs, products};
use super::scaled_dot_product_attention::{
    AttentionOptions, grouped_mask, groups, scaled, scores, split_heads, transposed,
    with_group_axis,
};
use crate::prelude::*;
use crate::reduce::logsumexp::finite_level;
use crate::shape::reshape;
use crate::{exp, matmul, sum, unsqueeze};

/// The function in C.
static SOURCE: Source = Source {
    name: "attention_grad",
    text: include_str!("attention_grad.c"),
    needs: &[&super::attention::SOURCE],
};

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("attention_grad.wgsl"),
    args: &[
        "dy",
        "q",
        "k",
        "v",
        "y",
        "logs",
        "mask",
        "holds",
        "dq",
        "dk",
        "dv",
        "work",
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
        "all_q",
        "all_k",
        "all_v",
    ],
    count: |n| {
        let (width, depth) = (n[21].int(), n[22].int());
        // As many sums has a lane.
        match (1..=256).contains(&width) && (1..=256).contains(&depth) {
            true => (n[25].int() + n[26].int()) / width + n[27].int() / depth,
            false => -1,
        }
    },
};

attributes! {
    /// The gradient of [`Attend`](super::attention::Attend), for a given result and given logarithms.
    ///
    /// Inputs: the cotangent of the result, queries, keys, values, the result, the logarithms and perhaps
    /// the mask. Outputs: the cotangents of queries, keys and values.
    pub struct AttendGrad = "attention_grad" {
        /// Whether query `i` attends to the keys up to `i` only.
        pub causal: bool,
        /// What products are multiplied with; one over the root of the width if not given.
        pub scale: Option<f64>,
    }
}

impl AttendGrad {
    /// The definition by other ops, which has the op's own gradient.
    fn defined(&self, inputs: &[Var]) -> Result<Vec<Var>> {
        let [dy, q, k, v, y, logs, rest @ ..] = inputs else {
            return Err(Error::internal("the inputs have been counted"));
        };
        let Some(groups) = groups(&q.ty(), &k.ty())? else {
            return self.of_heads([dy, q, k, v, y, logs], rest.first());
        };
        let split = |x: &Var| split_heads(x, groups);
        let split_q = split(q)?;
        let logs = reshape(logs, &split_q.dims()[..split_q.rank() - 1])?;
        let mask = rest.first().map(|mask| grouped_mask(mask, groups)).transpose()?;
        let own = [&split(dy)?, &split_q, &with_group_axis(k)?, &with_group_axis(v)?, &split(y)?];
        let [dy, own_q, own_k, own_v, y] = own;
        let found = self.of_heads([dy, own_q, own_k, own_v, y, &logs], mask.as_ref())?;
        found.iter().zip([q, k, v]).map(|(found, like)| reshape(found, &like.dims())).collect()
    }

    /// The same where each head has keys and values of its own.
    fn of_heads(&self, inputs: [&Var; 6], mask: Option<&Var>) -> Result<Vec<Var>> {
        let [dy, q, k, v, y, logs] = inputs;
        let options = AttentionOptions { causal: self.causal, dropout: 0.0, scale: self.scale };
        let level = unsqueeze(&finite_level(logs)?, -1)?;
        let weights = exp(&sub(&scores(q, k, mask, &options)?, &level)?)?;
        let by_weights = matmul(dy, &transposed(v)?)?;
        let mean = sum(&mul(dy, y)?, &[-1], true)?;
        let width = q.ty().dim(q.rank() - 1);
        let by_scores = mul(&weights, &sub(&by_weights, &mean)?)?;
        let by_scores = scaled(&by_scores, width, self.scale)?;
        Ok(vec![
            sum_to(&matmul(&by_scores, k)?, &q.dims())?,
            sum_to(&matmul(&transposed(&by_scores)?, q)?, &k.dims())?,
            sum_to(&matmul(&transposed(&weights)?, dy)?, &v.dims())?,
        ])
    }
}

impl Op for AttendGrad {
    fn arity(&self) -> Arity {
        Arity::AtLeast(6)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs.len() > 7 {
            return Err(Error::argument("expected at most seven inputs"));
        }
        let own: Vec<&Type> = inputs[1..4].iter().chain(&inputs[6..]).copied().collect();
        let [y, logs] = outputs(&own)?;
        for (found, wanted) in [(inputs[0], &y), (inputs[4], &y), (inputs[5], &logs)] {
            if found != wanted {
                return Err(Error::shape(format!("expected {wanted}, found {found}")));
            }
        }
        Ok(inputs[1..4].iter().map(|ty| **ty).collect())
    }

    fn arithmetic(&self, inputs: &[&Type], _: &[Type]) -> Option<f64> {
        // The weights again, and four products with their cotangents.
        products(inputs[1], inputs[2], 5.0, self.causal)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let all = inputs.iter().map(|input| input.tensor()).collect::<Result<Vec<_>>>()?;
        if all[0].numel() == 0 {
            let zeros = |ty: &Type| Ok(Tensor::zeros(ty.dtype(), &known_sizes(ty)?)?.into());
            return outs.iter().map(zeros).collect();
        }
        let mask = all.get(6).copied();
        let options = kernels::Attention { mask, causal: self.causal, scale: self.scale };
        let (dq, dk, dv) =
            kernels::attention_grad(all[0], all[1], all[2], all[3], all[4], all[5], &options)?;
        Ok(smallvec![dq.into(), dk.into(), dv.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let ranks = (0..3).map(|i| batch.rank(i + 1)).collect::<SmallVec<[usize; 3]>>();
        if ranks.iter().any(|&rank| rank != ranks[0]) {
            return Ok(None);
        }
        let mut inputs = (0..6).map(|i| batch.full(i)).collect::<Result<Vec<_>>>()?;
        if batch.n_inputs() > 6 {
            inputs.push(batch.aligned(6, ranks[0])?);
        }
        bind(self.clone(), &inputs.iter().collect::<Vec<_>>()).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, |p| {
            let op = p.op::<AttendGrad>()?;
            let inputs: Vec<Var> = (0..p.n_inputs()).map(|i| p.x(i)).collect();
            let wanted: Vec<bool> = (0..p.n_inputs()).map(|i| p.wanted(i)).collect();
            vjp_through(|inputs| op.defined(inputs), &inputs, &wanted, p.dys())
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let own: Vec<&Type> = inputs[1..4].iter().chain(&inputs[6..]).copied().collect();
        let layout = HeadLayout::new(&own, inputs[0], self.causal, self.scale)?;
        let work = Arg::Work(layout.scores.mul(Dim::size(2 * inputs[0].dtype().size()))?);
        let operands = (0..6).map(Arg::In).chain(masks(inputs.get(6), 6));
        let counts = own[..3].iter().map(|ty| kernel::count(ty.dims()).map(Arg::Size));
        let counts = counts.collect::<Result<Vec<_>>>()?;
        let args =
            operands.chain((0..3).map(Arg::Out)).chain([work]).chain(layout.args).chain(counts);
        Native::new(&SOURCE, [inputs[0].dtype()], args).with_shader(&SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AttendGrad::NAME, AttendGrad::build, || {
    let plain = |causal| AttendGrad { causal, scale: None };
    let turned = |dims: &[usize]| {
        let numbers: Vec<f64> = ramp(dims).to_f64s().into_iter().map(|x| 0.5 - x / 2.0).collect();
        f64s(&numbers, dims)
    };
    let (q, k, v) = (ramp(&[1, 3, 2]), ramp(&[1, 2, 2]), ramp(&[1, 2, 1]));
    let (y, dy) = (ramp(&[1, 3, 1]), turned(&[1, 3, 1]));
    let logs = f64s(&[1.0, 0.5, 2.0], &[1, 3]);
    let hidden = bools(&[true, false, true, true, false, true], &[3, 2]);
    let all = |rest: Option<Tensor>| {
        let own = [&dy, &q, &k, &v, &y, &logs].map(Tensor::clone);
        own.into_iter().chain(rest).collect::<Vec<Tensor>>()
    };
    let one = |x: f64| f64s(&[x], &[1, 1]);
    vec![
        // A single key has all the weight, so only its value has a gradient.
        Sample::new(
            plain(false),
            [one(2.0), one(1.0), one(3.0), one(5.0), one(5.0), f64s(&[3.0], &[1])],
        )
        .gives([one(0.0), one(0.0), one(2.0)]),
        Sample::new(plain(false), all(None)),
        Sample::new(AttendGrad { scale: Some(0.75), ..plain(true) }, all(None)),
        Sample::new(plain(false), all(Some(hidden))),
        Sample::new(
            plain(false),
            [
                turned(&[4, 1, 1]),
                ramp(&[4, 1, 2]),
                ramp(&[2, 2, 2]),
                ramp(&[2, 2, 1]),
                ramp(&[4, 1, 1]),
                turned(&[4, 1]),
            ],
        ),
        Sample::new(plain(false), all(None).into_iter().rev()).refused("expected"),
    ]
});
