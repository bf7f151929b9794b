//! A random function that runs in both modes, with inputs for it.

use fluvial_core::{
    DType, Dim, Mode, OpRef, Program, Result, Tensor, Type, Value, Var, bind, mode_of,
};
use fluvial_ops::{cast, cond, gt, logical_and, lt, sum, tanh, while_loop};

use super::generate::{Generator, Pool};
use super::rng::Rng;
use crate::gradcheck::energy;

/// A function made of random steps, and inputs for it.
pub struct Case {
    /// The types of the inputs; sizes may be symbols.
    pub types: Vec<Type>,
    /// The inputs.
    pub inputs: Vec<Tensor>,
    /// What the symbols stand for in these inputs.
    pub sizes: Vec<(Dim, Dim)>,
    steps: Vec<Step>,
    results: Vec<usize>,
}

/// A step adds its outputs to the values there are; it names its inputs by their positions.
#[derive(Clone)]
pub(super) enum Step {
    Call {
        op: OpRef,
        inputs: Vec<usize>,
    },
    /// One of two bodies, by whether the sum of a value is positive.
    Cond {
        by: usize,
        branches: [Body; 2],
    },
    /// Repeats a body on a float value so many times, or until its sum grows large.
    While {
        trips: i64,
        carried: usize,
        body: Body,
    },
}

/// Steps inside a step. They see all values there are, in a loop the carried one behind them.
#[derive(Clone)]
pub(super) struct Body {
    pub steps: Vec<Step>,
    pub result: usize,
}

/// The program of [`Case::random`] with this seed: its results, and last their
/// [`energy`](crate::gradcheck::energy) if there are floats among them.
pub fn program(seed: u64) -> Program {
    Case::random(seed).program().expect("a random case was run while it was made")
}

impl Case {
    /// The case of this seed.
    pub fn random(seed: u64) -> Case {
        Case::random_of(seed, None, &DTYPES)
    }

    /// The case of this seed of which only these ops are called besides views, on inputs of these types.
    pub fn random_of(seed: u64, only: Option<&[&str]>, dtypes: &[DType]) -> Case {
        let mut rng = Rng::new(seed);
        let (mut types, mut sizes) = (Vec::new(), Vec::new());
        for name in ["n", "m"] {
            let symbol = Dim::symbol(name).expect("a name of one letter");
            sizes.push((symbol, Dim::size(1 + rng.below(3))));
        }
        for _ in 0..2 + rng.below(4) {
            types.push(input_type(&mut rng, dtypes, &sizes));
        }
        let inputs: Vec<Tensor> =
            types.iter().map(|ty| input_value(&mut rng, ty, &sizes)).collect();
        let mut pool = Pool::default();
        for (ty, tensor) in types.iter().zip(&inputs) {
            pool.push(*ty, tensor.clone().into());
        }
        let n_inputs = types.len();
        let n_steps = 4 + rng.below(12);
        // A program knows a symbol only if an input has it as a size.
        sizes.retain(|(symbol, _)| types.iter().any(|ty| ty.dims().contains(symbol)));
        let mut generator = Generator::new(rng, &sizes, only);
        let steps = generator.steps(&mut pool, n_steps, 2);
        let results = (n_inputs.min(pool.len() - 1)..pool.len()).rev().take(3).collect();
        Case { types, inputs, sizes, steps, results }
    }

    /// Applies the function, in either mode.
    pub fn apply(&self, x: &[Var]) -> Result<Vec<Var>> {
        let mut values = x.to_vec();
        perform(&self.steps, &mut values, &self.sizes)?;
        Ok(self.results.iter().map(|&i| values[i].clone()).collect())
    }

    /// The program of the function; its last output is the energy of the others, if there is one.
    pub fn program(&self) -> Result<Program> {
        let names: Vec<String> = (0..self.types.len()).map(|i| format!("x{i}")).collect();
        let inputs = names.iter().map(String::as_str).zip(self.types.iter().copied());
        Program::build(&inputs.collect::<Vec<_>>(), |x| self.with_energy(x))
    }

    /// The results, and their energy if there are floats among them; in either mode.
    pub fn with_energy(&self, x: &[Var]) -> Result<Vec<Var>> {
        let mut results = self.apply(x)?;
        let like = vec![Value::from(Tensor::scalar(0.0f64)); results.len()];
        let energy = energy(&results, &like)?;
        results.extend(energy);
        Ok(results)
    }
}

/// Adds the outputs of the steps to the values, in either mode.
pub(super) fn perform(steps: &[Step], values: &mut Vec<Var>, sizes: &[(Dim, Dim)]) -> Result<()> {
    let run = |body: &Body, outer: &[Var], carried: Option<&Var>| {
        let mut values: Vec<Var> = outer.iter().chain(carried).cloned().collect();
        perform(&body.steps, &mut values, sizes)?;
        Ok(vec![values[body.result].clone()])
    };
    for step in steps {
        let outputs = match step {
            Step::Call { op, inputs } => {
                let inputs: Vec<&Var> = inputs.iter().map(|&i| &values[i]).collect();
                let op = match mode_of(&inputs) {
                    Mode::Imperative => concrete(op, sizes)?,
                    Mode::Building => op.clone(),
                };
                bind(op, &inputs)?.into_vec()
            }
            Step::Cond { by, branches: [then, otherwise] } => {
                let positive = gt(&total(&values[*by])?, &Var::scalar(0.0f64))?;
                cond(&positive, || run(then, values, None), || run(otherwise, values, None))?
            }
            Step::While { trips, carried, body } => {
                let goes_on = |v: &[Var]| {
                    let small = lt(&total(&v[1])?, &Var::scalar(1e3f64))?;
                    logical_and(&lt(&v[0], &Var::scalar(*trips))?, &small)
                };
                let step = |v: &[Var]| {
                    let next = run(body, values, Some(&v[1]))?;
                    Ok(vec![&v[0] + 1.0, tanh(&next[0])?])
                };
                let init = [&Var::scalar(0i64), &values[*carried]];
                while_loop(&init, goes_on, step)?.split_off(1)
            }
        };
        values.extend(outputs);
    }
    Ok(())
}

/// The op with sizes in place of symbols.
pub(super) fn concrete(op: &OpRef, sizes: &[(Dim, Dim)]) -> Result<OpRef> {
    let attrs = op.attrs();
    if !attrs.is_symbolic() {
        return Ok(op.clone());
    }
    op.rebuild(&attrs.substitute(&|symbol| {
        sizes.iter().find(|(known, _)| *known == symbol).map(|(_, size)| *size)
    })?)
}

fn total(x: &Var) -> Result<Var> {
    sum(&cast(x, DType::F64)?, &[], false)
}

/// The types of inputs, as often as they shall occur.
const DTYPES: [DType; 9] = [
    DType::F64,
    DType::F64,
    DType::F64,
    DType::F64,
    DType::F32,
    DType::F16,
    DType::I64,
    DType::I32,
    DType::Bool,
];

fn input_type(rng: &mut Rng, dtypes: &[DType], sizes: &[(Dim, Dim)]) -> Type {
    let known = [Dim::size(1), Dim::size(2), Dim::size(3), sizes[0].0, sizes[1].0];
    let dims: Vec<Dim> = (0..rng.below(4)).map(|_| *rng.pick(&known)).collect();
    Type::new(*rng.pick(dtypes), &dims).expect("few axes")
}

fn input_value(rng: &mut Rng, ty: &Type, sizes: &[(Dim, Dim)]) -> Tensor {
    let known = |symbol: Dim| sizes.iter().find(|(own, _)| *own == symbol).map(|(_, size)| *size);
    let dims = ty.substitute(&known).ok().and_then(|ty| ty.sizes()).expect("all symbols are known");
    let count: usize = dims.iter().product();
    let numbers: Vec<f64> = (0..count).map(|_| rng.between(-2.0, 2.0)).collect();
    Tensor::from_f64s(ty.dtype(), &numbers, &dims).expect("as many numbers as elements")
}
