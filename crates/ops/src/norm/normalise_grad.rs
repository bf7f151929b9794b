//! `normalise_grad`: the gradient of `normalise`, in one pass.

use super::family::{Layout, per_channel, per_param, stats_of};
use super::normalise::Together;
use super::normalise::rows;
use crate::batch::by_definition;
use crate::prelude::*;
use crate::shape::reshape;
use crate::{mean, rsqrt, sum};

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "normalise_grad", text: include_str!("normalise_grad.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("normalise_grad.wgsl"),
    args: &[
        "dy", "x", "means", "scales", "weight", "dx", "dweight", "dbias", "n_params", "rows",
        "size", "groups", "each", "centre",
    ],
    count: |n| n[9].int().saturating_add(n[8].int()),
};

/// Over a batch, in C.
pub(crate) static BATCH: Source = Source {
    name: "normalise_batch_grad",
    text: include_str!("normalise_batch_grad.c"),
    needs: &[],
};

attributes! {
    /// The gradient of [`Normalise`](super::normalise::Normalise), for given moments.
    ///
    /// Inputs: the cotangent of the result, the elements, the moments and, if so said, the weight.
    /// Outputs: the cotangents of the elements and, if so said, of weight and bias.
    pub struct NormaliseGrad = "normalise_grad" {
        /// What is taken together.
        pub over: Together,
        /// The number of axes or of groups.
        pub count: usize,
        /// What is added to the variance.
        pub eps: f64,
        /// Whether there is a weight.
        pub weight: bool,
        /// Whether there is a bias.
        pub bias: bool,
    }
}

impl NormaliseGrad {
    fn n_stats(&self) -> usize {
        if self.over == Together::Rms { 1 } else { 2 }
    }

    /// The definition by other ops, which has the op's own gradient.
    fn defined(&self, inputs: &[Var]) -> Result<Vec<Var>> {
        let (dy, x, stats) = (&inputs[0], &inputs[1], &inputs[2..2 + self.n_stats()]);
        let ty = x.ty();
        let layout = Layout::new(self.over, self.count, &ty)?;
        let kept = |statistic: &Var| reshape(statistic, &layout.kept);
        let scale = kept(&stats[self.n_stats() - 1])?;
        let scale = match self.over {
            Together::Batch => rsqrt(&(scale + self.eps))?,
            _ => scale,
        };
        let elements = reshape(x, &layout.dims)?;
        let centred = match self.over {
            Together::Rms => elements,
            _ => sub(&elements, &kept(&stats[0])?)?,
        };
        let place = mul(&centred, &scale)?;
        let weighted = match (self.weight, inputs.last()) {
            (true, Some(weight)) => mul(dy, &self.against(&ty, weight)?)?,
            _ => dy.clone(),
        };
        let weighted = reshape(&weighted, &layout.dims)?;
        let along = mean(&mul(&weighted, &place)?, &layout.axes, true)?;
        let rest = match self.over {
            Together::Rms => weighted,
            _ => sub(&weighted, &mean(&weighted, &layout.axes, true)?)?,
        };
        let dx = mul(&sub(&rest, &mul(&place, &along)?)?, &scale)?;
        let mut found = vec![reshape(&dx, ty.dims())?];
        if self.weight {
            found.push(self.per_param(&ty, &mul(dy, &reshape(&place, ty.dims())?)?)?);
        }
        if self.bias {
            found.push(self.per_param(&ty, dy)?);
        }
        Ok(found)
    }

    /// A parameter shaped so that it broadcasts against `x`.
    fn against(&self, x: &Type, param: &Var) -> Result<Var> {
        match self.over {
            Together::Layer | Together::Rms => Ok(param.clone()),
            Together::Group | Together::Batch => per_channel(x, param),
        }
    }

    /// The sum over all elements that share an element of a parameter.
    fn per_param(&self, x: &Type, of: &Var) -> Result<Var> {
        let rank = x.rank() as i64;
        let axes: Vec<i64> = match self.over {
            Together::Layer | Together::Rms => (0..rank - self.count as i64).collect(),
            Together::Group | Together::Batch => (0..rank).filter(|&axis| axis != 1).collect(),
        };
        if axes.is_empty() { Ok(of.clone()) } else { sum(of, &axes, false) }
    }
}

impl Op for NormaliseGrad {
    fn arity(&self) -> Arity {
        Arity::Exactly(2 + self.n_stats() + usize::from(self.weight))
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let x = inputs[1];
        let layout = Layout::of_kernel(self.over, self.count, x)?;
        let param = x.with_dims(per_param(self.over, self.count, x))?;
        let stats = stats_of(self.over, &layout, x)?;
        let weight = self.weight.then_some(&param);
        for (found, wanted) in inputs.iter().zip([x, x].into_iter().chain(&stats).chain(weight)) {
            if *found != wanted {
                return Err(Error::shape(format!("expected {wanted}, found {found}")));
            }
        }
        let n_params = usize::from(self.weight) + usize::from(self.bias);
        Ok([*x].into_iter().chain((0..n_params).map(|_| param)).collect())
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let all = inputs.iter().map(|input| input.tensor()).collect::<Result<Vec<_>>>()?;
        let (dy, x, stats) = (all[0], all[1], &all[2..2 + self.n_stats()]);
        let weight = all.last().copied().filter(|_| self.weight);
        let n = |count: usize| x.dims()[x.rank() - count..].iter().product();
        let (dx, dweight, dbias) = match self.over {
            _ if x.numel() == 0 => {
                let zeros = |ty: &Type| Ok(Tensor::zeros(ty.dtype(), &known_sizes(ty)?)?.into());
                return outs.iter().map(zeros).collect();
            }
            Together::Layer => {
                kernels::layer_norm_grad(dy, x, stats[0], stats[1], weight, n(self.count))?
            }
            Together::Rms => {
                let (dx, dweight) = kernels::rms_norm_grad(dy, x, stats[0], weight, n(self.count))?;
                (dx, dweight.clone(), dweight)
            }
            Together::Group => {
                let groups = if self.count == 0 { x.dims()[1] } else { self.count };
                kernels::group_norm_grad(dy, x, groups, stats[0], stats[1], weight)?
            }
            Together::Batch => {
                let inverse = |variance: f64| 1.0 / (variance + self.eps).sqrt();
                let rstds: Vec<f64> = stats[1].to_f64s().into_iter().map(inverse).collect();
                let rstd = Tensor::from_f64s(x.dtype(), &rstds, stats[1].dims())?;
                kernels::batch_norm_grad(dy, x, stats[0], &rstd, weight)?
            }
        };
        let params = [self.weight.then_some(dweight), self.bias.then_some(dbias)];
        let found = [dx].into_iter().chain(params.into_iter().flatten());
        let shaped = |(ty, found): (&Type, Tensor)| Ok(found.reshape(&known_sizes(ty)?)?.into());
        outs.iter().zip(found).map(shaped).collect()
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        by_definition(batch, |inputs| self.defined(inputs)).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, |p| {
            let op = p.op::<NormaliseGrad>()?;
            let inputs: Vec<Var> = (0..p.n_inputs()).map(|i| p.x(i)).collect();
            let wanted: Vec<bool> = (0..p.n_inputs()).map(|i| p.wanted(i)).collect();
            vjp_through(|inputs| op.defined(inputs), &inputs, &wanted, p.dys())
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let (x, n_stats) = (inputs[1], self.n_stats());
        let mean = if n_stats == 2 { Arg::In(2) } else { Arg::Nothing };
        let weight = if self.weight { Arg::In(2 + n_stats) } else { Arg::Nothing };
        let dweight = if self.weight { Arg::Out(1) } else { Arg::Nothing };
        let dbias = if self.bias { Arg::Out(1 + usize::from(self.weight)) } else { Arg::Nothing };
        let operands = [
            Arg::In(0),
            Arg::In(1),
            mean,
            Arg::In(1 + n_stats),
            weight,
            Arg::Out(0),
            dweight,
            dbias,
        ];
        if self.over == Together::Batch {
            let sizes = kernel::around(x, 1)?.map(Arg::Size);
            let args = operands.into_iter().chain(sizes).chain([Arg::Number(self.eps)]);
            return Native::new(&BATCH, [x.dtype()], args).alone();
        }
        let n_params = outs.get(1).map_or(Ok(Dim::size(0)), |param| kernel::count(param.dims()))?;
        let args = operands.into_iter().chain([Arg::Size(n_params)]);
        let args = args.chain(rows(self.over, self.count, x)?);
        Native::new(&SOURCE, [x.dtype()], args).with_shader(&SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(NormaliseGrad::NAME, NormaliseGrad::build, || {
    let of = |over, count, params: bool| NormaliseGrad {
        over,
        count,
        eps: 0.25,
        weight: params,
        bias: params && over != Together::Rms,
    };
    let (x, dy) = (ramp(&[2, 2, 3]), ramp(&[2, 3, 2]).permute(&[2, 0, 1]).expect("three axes"));
    let weight = f64s(&[1.0, 0.5, -2.0], &[3]);
    let channels = f64s(&[1.0, -2.0], &[2]);
    let means = |dims: &[usize]| ramp(dims);
    let scales = |dims: &[usize]| {
        let numbers: Vec<f64> =
            (0..dims.iter().product()).map(|i| 0.5 + i as f64 * 0.125).collect();
        f64s(&numbers, dims)
    };
    let rows = f64s(&[1.0, 3.0], &[1, 2]);
    vec![
        // Along the normalised direction there is no gradient.
        Sample::new(
            NormaliseGrad { eps: 0.0, ..of(Together::Layer, 1, false) },
            [f64s(&[-1.0, 1.0], &[1, 2]), rows.clone(), f64s(&[2.0], &[1]), f64s(&[1.0], &[1])],
        )
        .gives([f64s(&[0.0, 0.0], &[1, 2])]),
        Sample::new(
            of(Together::Layer, 1, true),
            [dy.clone(), x.clone(), means(&[2, 2]), scales(&[2, 2]), weight.clone()],
        ),
        Sample::new(
            of(Together::Layer, 3, true),
            [dy.clone(), x.clone(), means(&[]), scales(&[]), ramp(&[2, 2, 3])],
        ),
        Sample::new(of(Together::Rms, 1, true), [dy.clone(), x.clone(), scales(&[2, 2]), weight]),
        Sample::new(
            of(Together::Group, 1, true),
            [dy.clone(), x.clone(), means(&[2, 1]), scales(&[2, 1]), channels.clone()],
        ),
        Sample::new(
            of(Together::Group, 0, false),
            [dy.clone(), x.clone(), means(&[2, 2]), scales(&[2, 2])],
        ),
        Sample::new(of(Together::Batch, 0, true), [dy, x, means(&[2]), scales(&[2]), channels]),
        Sample::new(
            of(Together::Layer, 1, false),
            [rows.clone(), rows.clone(), rows.clone(), rows],
        )
        .refused("expected"),
    ]
});
