//! `normalise`: elements less their mean, over their deviation, in one pass.

use super::family::{Layout, affine, moments, per_param, stats_of};
use super::normalise_grad::NormaliseGrad;
use crate::batch::by_definition;
use crate::prelude::*;
use crate::reading::{
    self, Reduced, inputs_of, inverse, kept, one_call, plus_number, squared, unshaped, with_dims,
};
use crate::shape::reshape;
use crate::unary::rsqrt::RSQRT;
use crate::unary::sqrt::SQRT;
use crate::{rsqrt, sqrt};

choices! {
    /// Which elements a normalisation takes together.
    pub enum Together {
        /// Those along the last axes.
        Layer = "layer",
        /// Those along the last axes, by their root mean square: their mean stays.
        Rms = "rms",
        /// Those of neighbouring channels of a sample; channels are axis 1.
        Group = "group",
        /// Those of a channel in the whole batch; channels are axis 1.
        Batch = "batch",
    }
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "normalise", text: include_str!("normalise.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("normalise.wgsl"),
    args: &[
        "x", "weight", "bias", "y", "means", "scales", "rows", "size", "groups", "each", "centre",
        "eps",
    ],
    count: |n| n[6].int(),
};

/// Over a batch, in C.
pub(crate) static BATCH: Source =
    Source { name: "normalise_batch", text: include_str!("normalise_batch.c"), needs: &[] };

/// How elements lie in rows: the number of rows, their size, the groups, the elements of a weight, and whether rows are centred.
pub(super) fn rows(over: Together, count: usize, x: &Type) -> Result<[Arg; 5]> {
    let dims = x.dims();
    Ok(match over {
        Together::Layer | Together::Rms => {
            let split = dims.len() - count;
            let (rows, size) = (kernel::count(&dims[..split])?, kernel::count(&dims[split..])?);
            let centre = Arg::Int((over == Together::Layer).into());
            [Arg::Size(rows), Arg::Size(size), Arg::Int(1), Arg::Int(1), centre]
        }
        Together::Group | Together::Batch => {
            let groups = if count == 0 { dims[1] } else { Dim::size(count) };
            let each = kernel::count(&dims[2..])?;
            let size = dims[1].floor_div(groups)?.mul(each)?;
            let rows = dims[0].mul(groups)?;
            [Arg::Size(rows), Arg::Size(size), Arg::Size(groups), Arg::Size(each), Arg::Int(1)]
        }
    })
}

attributes! {
    /// The op behind [`layer_norm`](super::layer_norm()), [`rms_norm`](super::rms_norm()),
    /// [`group_norm`](super::group_norm()), [`instance_norm`](super::instance_norm) and
    /// [`batch_norm_train`](super::batch_norm_train), for `f32` and `f64`.
    ///
    /// Inputs: the elements and, if so said, weight and bias. Outputs: the result; for batches, mean and
    /// variance; else, once a gradient was asked for, mean (unless it stays) and inverse deviation.
    pub struct Normalise = "normalise" {
        /// What is taken together.
        pub over: Together,
        /// The number of axes; or that of groups, where 0 makes each channel one.
        pub count: usize,
        /// What is added to the variance.
        pub eps: f64,
        /// Whether there is a weight.
        pub weight: bool,
        /// Whether there is a bias.
        pub bias: bool,
        /// Whether the moments are outputs.
        pub moments: bool,
    }
}

impl Normalise {
    /// Normalises by the kernel where there is one for the element type, by the definition else. Returns
    /// the result and the further outputs.
    #[track_caller]
    pub(super) fn run(
        over: Together,
        count: usize,
        eps: f64,
        x: &Var,
        weight: Option<&Var>,
        bias: Option<&Var>,
    ) -> Result<Outputs> {
        let moments = over == Together::Batch;
        let (has_weight, has_bias) = (weight.is_some(), bias.is_some());
        let op = Normalise { over, count, eps, weight: has_weight, bias: has_bias, moments };
        let all: Vec<&Var> = [x].into_iter().chain(weight).chain(bias).collect();
        let dtype = x.dtype();
        let has_kernel = matches!(dtype, DType::F32 | DType::F64);
        if has_kernel && all.iter().all(|var| var.dtype() == dtype) {
            return bind(op, &all);
        }
        op.defined(x, weight, bias)
    }

    /// The definition by other ops, for all floats.
    fn defined(&self, x: &Var, weight: Option<&Var>, bias: Option<&Var>) -> Result<Outputs> {
        let ty = x.ty();
        let layout = Layout::new(self.over, self.count, &ty)?;
        let found = moments(self.over, &layout, x)?;
        let y = div(&found.centred, &sqrt(&(&found.variance + self.eps))?)?;
        let y = affine(self.over, &reshape(&y, ty.dims())?, weight, bias, ty.dtype())?;
        let mut outputs: Outputs = smallvec![y];
        if self.moments {
            let flat = |statistic: &Var| reshape(statistic, &layout.stats);
            outputs.extend([flat(&found.mean)?, flat(&found.variance)?]);
        }
        Ok(outputs)
    }

    /// The further outputs by other ops.
    fn moments_of(&self, x: &Var) -> Result<Vec<Var>> {
        let layout = Layout::new(self.over, self.count, &x.ty())?;
        let found = moments(self.over, &layout, x)?;
        let flat = |statistic: &Var| reshape(statistic, &layout.stats);
        let scale = match self.over {
            Together::Batch => flat(&found.variance)?,
            _ => flat(&rsqrt(&(&found.variance + self.eps))?)?,
        };
        match self.over {
            Together::Rms => Ok(vec![scale]),
            _ => Ok(vec![flat(&found.mean)?, scale]),
        }
    }

    fn gradient(&self) -> NormaliseGrad {
        let Normalise { over, count, eps, weight, bias, .. } = *self;
        NormaliseGrad { over, count, eps, weight, bias }
    }
}

impl Op for Normalise {
    fn arity(&self) -> Arity {
        Arity::Exactly(1 + usize::from(self.weight) + usize::from(self.bias))
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let x = inputs[0];
        let layout = Layout::of_kernel(self.over, self.count, x)?;
        let own = per_param(self.over, self.count, x);
        for param in &inputs[1..] {
            if param.is_list() || param.dtype() != x.dtype() || param.dims() != own {
                return Err(Error::shape(format!("a weight or bias {param} does not fit {x}")));
            }
        }
        let mut outputs: Types = smallvec![*x];
        if self.moments {
            outputs.extend(stats_of(self.over, &layout, x)?);
        }
        Ok(outputs)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let params = inputs[1..].iter().map(|input| input.tensor()).collect::<Result<Vec<_>>>()?;
        let weight = params.first().copied().filter(|_| self.weight);
        let bias = params.last().copied().filter(|_| self.bias);
        let count = self.count;
        let found = match self.over {
            _ if x.numel() == 0 => {
                let nan = |ty: &Type| Tensor::full(&known_sizes(ty)?, f64::NAN)?.cast(ty.dtype());
                outs.iter().map(nan).collect::<Result<Vec<_>>>()?
            }
            Together::Layer => {
                let n = x.dims()[x.rank() - count..].iter().product();
                let (y, mean, rstd) = kernels::layer_norm(x, n, weight, bias, self.eps)?;
                vec![y, mean, rstd]
            }
            Together::Rms => {
                let n = x.dims()[x.rank() - count..].iter().product();
                let (y, rstd) = kernels::rms_norm(x, n, weight, self.eps)?;
                vec![y, rstd]
            }
            Together::Group => {
                let groups = if count == 0 { x.dims()[1] } else { count };
                let (y, mean, rstd) = kernels::group_norm(x, groups, weight, bias, self.eps)?;
                vec![y, mean, rstd]
            }
            Together::Batch => {
                let (y, mean, _, variance) =
                    kernels::batch_norm_moments(x, weight, bias, self.eps)?;
                vec![y, mean, variance]
            }
        };
        let shaped = |(ty, found): (&Type, &Tensor)| Ok(found.reshape(&known_sizes(ty)?)?.into());
        outs.iter().zip(&found).map(shaped).collect()
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let params = (1..batch.n_inputs()).any(|i| batch.is_batched(i));
        let of_rows = matches!(self.over, Together::Layer | Together::Rms);
        if of_rows && !params {
            let inputs: Vec<&Var> = (0..batch.n_inputs()).map(|i| batch.given(i)).collect();
            return bind(self.clone(), &inputs).map(Some);
        }
        let definition = |inputs: &[Var]| {
            let weight = inputs.get(1).filter(|_| self.weight);
            let bias = inputs.last().filter(|_| self.bias);
            let plain = Normalise { moments: false, ..self.clone() };
            let mut found = plain.defined(&inputs[0], weight, bias)?.into_vec();
            if self.moments {
                found.extend(self.moments_of(&inputs[0])?);
            }
            Ok(found)
        };
        by_definition(batch, definition).map(Some)
    }

    fn grad(&self) -> Grad {
        let inputs = if self.weight { 0b11 } else { 0b1 };
        Grad::Rule(Keeps::inputs(inputs).and_outputs(0b110), |p| {
            let op = p.op::<Normalise>()?;
            let mut found = Cotangents::from_elem(None, p.n_inputs());
            if let Some(dy) = &p.dys()[0] {
                let n_stats = if op.over == Together::Rms { 1 } else { 2 };
                let mut inputs = vec![dy.clone(), p.x(0)];
                inputs.extend((1..=n_stats).map(|i| p.y(i)));
                inputs.extend(op.weight.then(|| p.x(1)));
                let all = bind(op.gradient(), &inputs.iter().collect::<Vec<_>>())?;
                for (i, (found, cotangent)) in found.iter_mut().zip(all).enumerate() {
                    *found = p.wanted(i).then_some(cotangent);
                }
            }
            if p.wanted(0) && p.dys()[1..].iter().any(Option::is_some) {
                let by_moments =
                    vjp_through(|x| op.moments_of(&x[0]), &[p.x(0)], &[true], &p.dys()[1..])?;
                found[0] = plus(found[0].take(), by_moments[0].clone())?;
            }
            Ok(found)
        })
    }

    fn properties(&self) -> Properties {
        Properties { residuals: !self.moments, ..Properties::PURE }
    }

    fn with_residuals(&self, _: &[bool], _: &[bool]) -> Result<Option<OpRef>> {
        Ok((!self.moments).then(|| Normalise { moments: true, ..self.clone() }.into()))
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let x = inputs[0];
        let optional =
            |present: bool, input: usize| if present { Arg::In(input) } else { Arg::Nothing };
        let (weight, bias) =
            (optional(self.weight, 1), optional(self.bias, 1 + usize::from(self.weight)));
        let moment = |output: usize| if self.moments { Arg::Out(output) } else { Arg::Nothing };
        let operands = [Arg::In(0), weight, bias, Arg::Out(0)];
        if self.over == Together::Batch {
            let sizes = kernel::around(x, 1)?.map(Arg::Size);
            let args = operands.into_iter().chain([moment(1), moment(2)]).chain(sizes);
            return Native::new(&BATCH, [x.dtype()], args.chain([Arg::Number(self.eps)])).alone();
        }
        let moments = match self.over {
            Together::Rms => [Arg::Nothing, moment(1)],
            _ => [moment(1), moment(2)],
        };
        let args = operands.into_iter().chain(moments).chain(rows(self.over, self.count, x)?);
        let args = args.chain([Arg::Number(self.eps)]);
        Native::new(&SOURCE, [x.dtype()], args).with_shader(&SHADER).alone()
    }
}

/// Rows less their mean over the root of their variance, or rows over the root of their mean square; then
/// a weight, then a bias.
pub(crate) const FORM: Form =
    Form { name: Normalise::NAME, ends: &["div", "mul", "add"], find: spelled };

fn spelled(look: &mut Look<'_>, call: &Call) -> Option<Found> {
    if let Some(&[centred, root]) = inputs_of(call, DIV.name()) {
        return by_root(look, centred, root, false);
    }
    if let Some(inputs) = inputs_of(call, ADD.name()) {
        return with_param(look, inputs, true);
    }
    let inputs = inputs_of(call, MUL.name())?;
    let found = look.attempt(|look| with_param(look, inputs, false));
    found.or_else(|| {
        look.either(inputs, |look, centred, factor| by_root(look, centred, factor, true))
    })
}

/// The op for `value` over a root, or times an inverse one.
fn by_root(look: &mut Look<'_>, value: ValueId, root: ValueId, inverted: bool) -> Option<Found> {
    let mut eps = 0.0;
    let (_, axes) = kept(look, root, |look, root| {
        let below = below_root(look, root, inverted)?;
        let below = unshaped(look, below);
        let variance = match plus_number(look, below) {
            Some((variance, found)) => {
                eps = found;
                unshaped(look, variance)
            }
            None => below,
        };
        let (squares, axes) = reading::mean(look, variance)?;
        let found: Reduced = (squared(look, squares)?, axes);
        (found.0 == value).then_some(found)
    })?;
    let rank = look.ty(value).rank();
    let is_last = axes.iter().rev().zip((0..rank).rev()).all(|(&axis, last)| axis == last);
    if !is_last || axes.is_empty() || eps < 0.0 {
        return None;
    }
    let centred = look.attempt(|look| {
        let inputs = look.inputs(value, SUB.name())?;
        let (source, own) = kept(look, inputs[1], reading::mean)?;
        (source == inputs[0] && own == axes).then_some(source)
    });
    let (over, x) = match centred {
        Some(x) => (Together::Layer, x),
        None => (Together::Rms, value),
    };
    let count = axes.len();
    let op = Normalise { over, count, eps, weight: false, bias: false, moments: false };
    one_call(op, &[x])
}

/// What a root, or the inverse of one, was taken of.
fn below_root(look: &mut Look<'_>, value: ValueId, inverted: bool) -> Option<ValueId> {
    if !inverted {
        return look.input(value, SQRT.name());
    }
    let at_once = look.attempt(|look| look.input(value, RSQRT.name()));
    at_once.or_else(|| {
        let root = inverse(look, value)?;
        look.input(root, SQRT.name())
    })
}

/// The op with a weight or a bias besides.
fn with_param(look: &mut Look<'_>, inputs: &[ValueId], is_bias: bool) -> Option<Found> {
    look.either(inputs, |look, y, param| {
        let (op, own) = look.op::<Normalise>(y)?;
        let taken = op.bias || op.moments || (!is_bias && op.weight);
        if taken || !matches!(op.over, Together::Layer | Together::Rms) {
            return None;
        }
        if is_bias && op.over == Together::Rms {
            return None;
        }
        let dims = per_param(op.over, op.count, look.ty(own[0]));
        let param = with_dims(look, param, dims)?;
        let op = Normalise { weight: op.weight || !is_bias, bias: is_bias, ..op.clone() };
        one_call(op, &[&own[..], &[param]].concat())
    })
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef =
    OpDef::new(Normalise::NAME, Normalise::build, || {
        let of = |over, count, params: bool, moments| Normalise {
            over,
            count,
            eps: 0.25,
            weight: params,
            bias: params && over != Together::Rms,
            moments,
        };
        let x = ramp(&[2, 2, 3]);
        let (weight, bias) = (f64s(&[1.0, 0.5, -2.0], &[3]), f64s(&[0.25, 1.0, 0.0], &[3]));
        let channels = [f64s(&[1.0, -2.0], &[2]), f64s(&[0.25, 1.0], &[2])];
        let rows = f64s(&[1.0, 3.0, 10.0, 30.0], &[2, 2]);
        let exact = |over, count| Normalise { eps: 0.0, ..of(over, count, false, true) };
        let signs = f64s(&[-1.0, 1.0, -1.0, 1.0], &[2, 2]);
        let (two, ten) = (f64s(&[2.0, 20.0], &[2]), f64s(&[1.0, 0.1], &[2]));
        let all = |x: &Tensor, params: &[Tensor]| {
            [x].into_iter().chain(params).cloned().collect::<Vec<Tensor>>()
        };
        let both = [weight.clone(), bias];
        vec![
            Sample::new(exact(Together::Layer, 1), [rows.clone()]).gives([
                signs.clone(),
                two.clone(),
                ten.clone(),
            ]),
            Sample::new(exact(Together::Rms, 2), [f64s(&[1.0, 7.0], &[1, 2])])
                .gives([f64s(&[0.2, 1.4], &[1, 2]), f64s(&[0.2], &[])]),
            Sample::new(exact(Together::Group, 1), [rows.clone()]).gives([
                signs.clone(),
                two.reshape(&[2, 1]).expect("a column"),
                ten.reshape(&[2, 1]).expect("a column"),
            ]),
            Sample::new(exact(Together::Batch, 0), [rows.transpose(0, 1).expect("a matrix")])
                .gives([signs.transpose(0, 1).expect("a matrix"), two, f64s(&[1.0, 100.0], &[2])]),
            Sample::new(of(Together::Layer, 1, true, false), all(&x, &both)),
            Sample::new(of(Together::Layer, 1, true, true), all(&x, &both)),
            Sample::new(of(Together::Layer, 3, false, false), [x.clone()]),
            Sample::new(of(Together::Rms, 1, true, false), all(&x, &both[..1])),
            Sample::new(of(Together::Group, 1, true, false), all(&x, &channels)),
            Sample::new(of(Together::Group, 0, true, false), all(&x, &channels)),
            Sample::new(of(Together::Batch, 0, true, true), all(&x, &channels)),
            Sample::new(of(Together::Layer, 1, true, false), all(&x, &channels))
                .refused("does not fit"),
            Sample::new(of(Together::Group, 3, false, false), [x.clone()]).refused("do not make"),
            Sample::new(of(Together::Layer, 4, false, false), [x]).refused("were asked for"),
            Sample::new(of(Together::Layer, 1, false, false), [i64s(&[1], &[1])])
                .refused("only floats"),
        ]
    });
