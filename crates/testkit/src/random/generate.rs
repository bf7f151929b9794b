//! How random steps are found: by trying random ops on the values there are.

use std::sync::LazyLock;

use fluvial_core::{
    Arity, Attr, Attrs, Dim, Grad, OpRef, Registry, Result, Type, Value, Var, bind, grad, no_grad,
};

use super::case::{Body, Step, concrete, perform};
use super::rng::Rng;
use crate::check::flatten;

/// Values are kept small.
const MAX_ELEMENTS: usize = 100;
const MAX_RANK: usize = 4;
const MAX_TRIES: usize = 60;

/// The values that steps can use: their types as a program sees them, and what they are.
#[derive(Clone, Default)]
pub(super) struct Pool {
    types: Vec<Type>,
    values: Vec<Value>,
}

impl Pool {
    pub fn push(&mut self, ty: Type, value: Value) {
        self.types.push(ty);
        self.values.push(value);
    }

    pub fn len(&self) -> usize {
        self.types.len()
    }
}

pub(super) struct Generator<'a> {
    rng: Rng,
    sizes: &'a [(Dim, Dim)],
    known: &'static KnownOps,
    /// The ops that may be called; all of them, if nothing is said.
    only: Option<&'a [&'a str]>,
}

/// What all cases are made from.
struct KnownOps {
    registry: Registry,
    ops: Vec<OpRef>,
}

static KNOWN: LazyLock<KnownOps> = LazyLock::new(|| {
    let registry = fluvial_ops::registry();
    let usable = |op: &OpRef| {
        let properties = op.properties();
        !properties.effect && !properties.random && !owns_lists(op) && is_smooth(op)
    };
    let samples = registry.defs().flat_map(|def| (def.samples)());
    let ops = samples.map(|sample| sample.op).filter(usable).collect();
    KnownOps { registry, ops }
});

impl<'a> Generator<'a> {
    pub fn new(rng: Rng, sizes: &'a [(Dim, Dim)], only: Option<&'a [&'a str]>) -> Generator<'a> {
        Generator { rng, sizes, known: &KNOWN, only }
    }

    /// Up to so many steps; inside, control flow is nested so deep.
    pub fn steps(&mut self, pool: &mut Pool, n_steps: usize, depth: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..n_steps {
            let step = match self.rng.below(8) {
                0 if depth > 0 => self.cond(pool, depth - 1),
                1 if depth > 0 => self.while_loop(pool, depth - 1),
                2 | 3 => self.view(pool),
                _ => self.call(pool),
            };
            steps.extend(step);
        }
        steps
    }

    /// A random op on random values, if one fits.
    fn call(&mut self, pool: &mut Pool) -> Option<Step> {
        for _ in 0..MAX_TRIES {
            let op = self.rng.pick(&self.known.ops).clone();
            if self.only.is_some_and(|only| !only.contains(&op.name())) {
                continue;
            }
            let n_inputs = match op.arity() {
                Arity::Exactly(n) => n,
                Arity::AtLeast(n) => n + self.rng.below(3),
            };
            let step = self.try_call(pool, op, n_inputs);
            if step.is_some() {
                return step;
            }
        }
        None
    }

    /// A view with attributes that fit a random value.
    fn view(&mut self, pool: &mut Pool) -> Option<Step> {
        let position = self.rng.below(pool.len());
        let ty = pool.types[position];
        let rank = ty.rank();
        let dims = |dims: &[Dim]| Attr::List(dims.iter().map(dim_attr).collect());
        let mut attrs = Attrs::new();
        let name = match self.rng.below(4) {
            0 => {
                let mut axes: Vec<i64> = (0..rank as i64).collect();
                for i in 0..rank {
                    axes.swap(i, self.rng.below(rank));
                }
                attrs.push("axes", Attr::List(axes.into_iter().map(Attr::Int).collect()));
                "permute"
            }
            1 => {
                let all = ty.dims().iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim)).ok()?;
                attrs.push("dims", dims(&[all]));
                "reshape"
            }
            2 => {
                let known = self.sizes.iter().map(|(symbol, _)| *symbol).chain([Dim::size(2)]);
                let mut longer = vec![*self.rng.pick(&known.collect::<Vec<_>>())];
                longer.extend(ty.dims());
                attrs.push("dims", dims(&longer));
                "expand"
            }
            _ => {
                attrs.push("axis", Attr::Int(self.rng.below(rank.max(1)) as i64));
                let mut end = || match self.rng.below(3) {
                    0 => Attr::None,
                    _ => Attr::Int(self.rng.below(7) as i64 - 3),
                };
                attrs.push("start", end());
                attrs.push("stop", end());
                attrs.push("step", Attr::Int(*self.rng.pick(&[1, 1, 2, -1, -2])));
                "slice"
            }
        };
        let op = self.known.registry.make(name, &attrs).ok()?;
        self.perform(pool, op, vec![position])
    }

    fn try_call(&mut self, pool: &mut Pool, op: OpRef, n_inputs: usize) -> Option<Step> {
        let inputs: Vec<usize> = (0..n_inputs).map(|_| self.recent(pool)).collect();
        self.perform(pool, op, inputs)
    }

    /// A position among the values, more often a late one.
    fn recent(&mut self, pool: &Pool) -> usize {
        let (a, b) = (self.rng.below(pool.len()), self.rng.below(pool.len()));
        a.max(b)
    }

    /// The step, if the op takes the types, gives nothing unwieldy, and runs on the values.
    fn perform(&mut self, pool: &mut Pool, op: OpRef, inputs: Vec<usize>) -> Option<Step> {
        let types: Vec<&Type> = inputs.iter().map(|&i| &pool.types[i]).collect();
        let outs = fluvial_core::inferred(&*op, &types).ok()?;
        let lost =
            matches!(op.grad(), Grad::NonDifferentiable(_)) && outs.iter().any(Type::is_float);
        if lost || outs.is_empty() || !outs.iter().all(|ty| self.is_handy(ty)) {
            return None;
        }
        let _no_grad = no_grad();
        let vars: Vec<Var> = inputs.iter().map(|&i| Var::new(pool.values[i].clone())).collect();
        let refs: Vec<&Var> = vars.iter().collect();
        let outputs = bind(concrete(&op, self.sizes).ok()?, &refs).ok()?;
        let outputs: Vec<Value> =
            outputs.iter().map(|output| output.value().cloned()).collect::<Result<_>>().ok()?;
        if !outputs.iter().flat_map(flatten).all(f64::is_finite) {
            return None;
        }
        for (ty, output) in outs.iter().zip(outputs) {
            pool.push(*ty, output);
        }
        Some(Step::Call { op, inputs })
    }

    fn is_handy(&self, ty: &Type) -> bool {
        let known =
            |symbol: Dim| self.sizes.iter().find(|(own, _)| *own == symbol).map(|(_, size)| *size);
        let numel = ty.substitute(&known).ok().and_then(|ty| ty.numel());
        let open = ty.dims().iter().any(|dim| dim.fresh_index().is_some());
        !open && !ty.is_list() && ty.rank() <= MAX_RANK && numel.is_some_and(|n| n <= MAX_ELEMENTS)
    }

    fn cond(&mut self, pool: &mut Pool, depth: usize) -> Option<Step> {
        let (by, base) = (self.rng.below(pool.len()), self.recent(pool));
        let ty = pool.types[base];
        let then = self.body(&mut pool.clone(), &ty, depth)?;
        let otherwise = self.body(&mut pool.clone(), &ty, depth)?;
        self.run(pool, ty, Step::Cond { by, branches: [then, otherwise] })
    }

    fn while_loop(&mut self, pool: &mut Pool, depth: usize) -> Option<Step> {
        let floats: Vec<usize> = (0..pool.len()).filter(|&i| pool.types[i].is_float()).collect();
        if floats.is_empty() {
            return None;
        }
        let carried = *self.rng.pick(&floats);
        let ty = pool.types[carried];
        let mut inner = pool.clone();
        inner.push(ty, pool.values[carried].clone());
        let body = self.body(&mut inner, &ty, depth)?;
        let trips = self.rng.below(4) as i64;
        self.run(pool, ty, Step::While { trips, carried, body })
    }

    /// The step, if it runs on the values.
    fn run(&self, pool: &mut Pool, ty: Type, step: Step) -> Option<Step> {
        let _no_grad = no_grad();
        let mut values: Vec<Var> = pool.values.iter().cloned().map(Var::new).collect();
        perform(std::slice::from_ref(&step), &mut values, self.sizes).ok()?;
        pool.push(ty, values.last()?.value().ok()?.clone());
        Some(step)
    }

    /// Random steps, and the latest value of this type.
    fn body(&mut self, pool: &mut Pool, ty: &Type, depth: usize) -> Option<Body> {
        let n_steps = 1 + self.rng.below(4);
        let steps = self.steps(pool, n_steps, depth);
        let result = (0..pool.len()).rev().find(|&i| pool.types[i] == *ty)?;
        Some(Body { steps, result })
    }
}

fn dim_attr(dim: &Dim) -> Attr {
    match dim.value() {
        Some(size) => Attr::Int(size as i64),
        None => Attr::Dim(*dim),
    }
}

/// Whether an elementwise op and its gradients are finite, as far as a few numbers can tell.
///
/// Where something infinite lies beside the path of a gradient, a program may multiply it by a
/// cotangent of zero, of which the tape knows that it is not there.
fn is_smooth(op: &OpRef) -> bool {
    let (true, Arity::Exactly(n_inputs)) = (op.properties().elementwise, op.arity()) else {
        return true;
    };
    let slopes = |last: f64| -> Result<Vec<Var>> {
        let numbers = [Var::of(&[-2.0, -0.5, 0.0, 0.5], &[4])?, Var::of(&[last; 4], &[4])?];
        let mut inputs = vec![numbers[0].track()?; n_inputs];
        inputs[n_inputs - 1] = numbers[usize::from(n_inputs > 1)].track()?;
        let inputs: Vec<&Var> = inputs.iter().collect();
        let mut found = bind(op, &inputs)?.into_vec();
        let loss = fluvial_ops::sum(&found[0], &[], false)?;
        if loss.is_tracked() {
            found.extend(grad(&[&loss], &inputs)?);
        }
        Ok(found)
    };
    let is_finite =
        |var: &Var| var.value().is_ok_and(|value| flatten(value).iter().all(|x| x.is_finite()));
    [0.0, -1.0]
        .into_iter()
        .all(|last| slopes(last).map_or(true, |found| found.iter().all(is_finite)))
}

/// Whether lists go in or come out.
fn owns_lists(op: &OpRef) -> bool {
    op.name().starts_with("list_")
}
