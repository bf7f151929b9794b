//! The programs that compute the gradients of a program.

use std::sync::{Arc, Mutex, PoisonError};

use fluvial_compile::Options;
use fluvial_core::{
    Ask, Block, Cache, Dim, Error, Grad, Program, Residual, Result, State, Stateless, Sum, Type,
    Value, Var, cotangents, linearize,
};
use fluvial_ops::control::Attempt;
use fluvial_ops::{assume_dims, cond_of};

use crate::executor::Executor;

/// What the gradients of a program need: found out when it is first recorded.
pub(crate) struct Derivatives {
    pub function: Stateless,
    /// The names of its parameters.
    names: Vec<Arc<str>>,
    pub n_inputs: usize,
    pub n_outputs: usize,
    /// Which parameters of the function its float outputs need.
    pub taken: Vec<usize>,
    /// The float outputs.
    floats: Vec<usize>,
    /// The function of what is taken that computes the float outputs, without effects that they do not need.
    pure: Block,
    can_repeat: bool,
    /// By output: by parameter of the function, whether it depends on it.
    influences: Vec<Vec<bool>>,
    options: Options,
    gradients: Cache<Asked, Arc<Gradient>>,
    kept: Cache<Asked, Arc<Linear>>,
    /// What was asked of the last call, by what was tracked in it.
    habit: Mutex<Option<(Vec<bool>, Asked)>>,
}

/// A gradient: with respect to which parameters of the function, and of which outputs.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub wanted: Vec<usize>,
    pub given: Vec<usize>,
    /// The parameters that have sums already, to which it adds.
    pub summed: Vec<usize>,
}

/// What a recorded call keeps.
pub(super) enum Way {
    /// What it was applied to: everything is computed again.
    Again,
    /// What the way back needs.
    Kept(Arc<Linear>),
    /// Nothing helps: the gradient is this error.
    Refused(Error),
}

/// How many gradients of a program are kept compiled.
const MAX_GRADIENTS: usize = 8;

impl Derivatives {
    pub fn new(program: &Program, outputs: &[&str], options: &Options) -> Result<Derivatives> {
        let function = program.stateless(outputs)?;
        let types: Vec<Type> = function.block.result_types().copied().collect();
        let floats: Vec<usize> = (0..outputs.len()).filter(|&i| types[i].is_inexact()).collect();
        let influence = |i: usize| match floats.contains(&i) {
            true => function.block.influences(&[i]),
            false => vec![false; function.block.n_params],
        };
        let influences = (0..outputs.len()).map(influence).collect();
        let (pure, taken) = function.block.function_of(&floats)?;
        let can_repeat = Attempt::repeats(&pure).is_none();
        let states = function.reads.iter().map(|name| format!("state({name})").into());
        Ok(Derivatives {
            names: program.inputs.iter().cloned().chain(states).collect(),
            n_inputs: program.inputs.len(),
            n_outputs: outputs.len(),
            function,
            taken,
            floats,
            pure,
            can_repeat,
            influences,
            options: options.clone(),
            gradients: Cache::new(MAX_GRADIENTS),
            kept: Cache::new(MAX_GRADIENTS),
            habit: Mutex::new(None),
        })
    }

    /// Which outputs depend on what is tracked.
    pub fn reached(&self, tracked: &[bool]) -> Vec<bool> {
        let depends =
            |by: &Vec<bool>| by.iter().zip(tracked).any(|(&depends, &tracked)| depends && tracked);
        self.influences.iter().map(depends).collect()
    }

    /// Where a parameter of the function that is taken stands among those.
    pub fn place(&self, param: usize) -> usize {
        self.taken.iter().position(|&taken| taken == param).unwrap_or(usize::MAX)
    }

    /// Whether an output depends on one of the parameters that are taken.
    pub fn depends(&self, output: usize, taken: usize) -> bool {
        match (self.influences.get(output), self.taken.get(taken)) {
            (Some(influences), Some(&param)) => influences[param],
            _ => true,
        }
    }

    /// Whether an output depends on one of the parameters that are taken in any run: not only through a branch or trip.
    pub fn passes_on(&self, output: usize, taken: usize) -> bool {
        let (block, Some(&param)) = (&self.function.block, self.taken.get(taken)) else {
            return true;
        };
        let mut depends = vec![false; block.types.len()];
        depends[param] = true;
        for call in &block.calls {
            let passes = !matches!(call.op.grad(), Grad::Stop)
                && call.op.blocks().is_empty()
                && call.inputs.iter().any(|&id| depends[id as usize]);
            for id in call.outputs() {
                depends[id as usize] = passes && block.types[id as usize].is_inexact();
            }
        }
        block.results.get(output).is_none_or(|&id| depends[id as usize])
    }

    /// Whether the outputs can be computed again without doing anything twice.
    pub fn can_repeat(&self) -> bool {
        self.can_repeat
    }

    /// What a call is to keep in which these parameters of the function are tracked.
    pub(super) fn way(&self, tracked: &[bool]) -> Way {
        let asked = match self.can_repeat() {
            true => match &*self.lock() {
                Some((known, asked)) if known == tracked => asked.clone(),
                _ => return Way::Again,
            },
            false => Asked {
                wanted: (0..tracked.len()).filter(|&i| tracked[i]).collect(),
                given: self.floats.clone(),
                summed: Vec::new(),
            },
        };
        match self.kept.get_or(&asked, || Linear::new(self, &asked).map(Arc::new)) {
            Ok(linear) => Way::Kept(linear),
            Err(error) => Way::Refused(error),
        }
    }

    /// From now on, calls with the same values tracked keep what this gradient needs.
    pub(super) fn expect(&self, tracked: &[bool], asked: Asked) {
        *self.lock() = Some((tracked.to_vec(), asked));
    }

    /// From now on, calls with these values tracked keep no more than what they are applied to.
    pub fn expect_nothing(&self, tracked: &[bool]) {
        let mut habit = self.lock();
        if habit.as_ref().is_some_and(|(known, _)| known == tracked) {
            *habit = None;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Vec<bool>, Asked)>> {
        self.habit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program that computes a gradient from what is taken and from cotangents.
    pub(super) fn gradient(&self, asked: &Asked) -> Result<Arc<Gradient>> {
        self.gradients.get_or(asked, || Gradient::new(self, asked).map(Arc::new))
    }

    /// An executor of a way back. The memory limit is one of runs of the program itself.
    fn executor(&self, program: &Program) -> Result<Executor> {
        executor(program, &Options { memory_limit: None, ..self.options.clone() })
    }
}

/// A program that computes the outputs again and goes back.
pub(super) struct Gradient {
    /// From what is taken, the cotangents of the outputs, and the sums to which it adds.
    pub executor: Executor,
    /// The parameters of the function whose totals it gives, and whether only a run knows if there are any.
    /// Behind the totals it says for those of a run whether they are there.
    pub found: Vec<(usize, bool)>,
}

impl Gradient {
    fn new(of: &Derivatives, asked: &Asked) -> Result<Gradient> {
        let position = |i: &usize| of.floats.iter().position(|known| known == i);
        let given: Vec<usize> = asked.given.iter().filter_map(position).collect();
        let results: Vec<Type> = of.pure.result_types().copied().collect();
        let mut types = of.pure.param_types().to_vec();
        for &i in &given {
            types.push(named(&results[i])?);
        }
        let wanted: Vec<usize> =
            (0..of.taken.len()).filter(|&i| asked.wanted.contains(&of.taken[i])).collect();
        let is_summed = |i: &&usize| asked.summed.contains(&of.taken[**i]);
        types.extend(wanted.iter().filter(is_summed).map(|&i| of.pure.types[i]));
        let mut found = Vec::new();
        let program = build(&types, |vars| {
            let (params, rest) = vars.split_at(of.taken.len());
            let (dys, sums) = rest.split_at(given.len());
            let mut sums = sums.iter();
            let start = |i: &usize| {
                let sum = is_summed(&i).then(|| sums.next()).flatten();
                sum.cloned().map(Sum::certain)
            };
            let starts: Vec<Option<Sum>> = wanted.iter().map(start).collect();
            let results = of.pure.apply(&params.iter().collect::<Vec<_>>())?;
            let ys: Vec<&Var> = given.iter().map(|&i| &results[i]).collect();
            let fit = |(y, dy): (&&Var, &Var)| match dy.ty() == y.ty() {
                true => Ok(dy.clone()),
                false => assume_dims(dy, &y.dims()),
            };
            let seeds = ys.iter().zip(dys).map(|pair| fit(pair).map(Sum::certain));
            let seeds = seeds.collect::<Result<Vec<Sum>>>()?;
            let wrt: Vec<&Var> = wanted.iter().map(|&i| &params[i]).collect();
            let cotangents = cotangents(&ys, &seeds, &wrt, &starts, &[])?;
            let mut flags = Vec::new();
            let mut vars = Vec::new();
            for (&i, sum) in wanted.iter().zip(cotangents) {
                let Some(Sum { var, present }) = sum else { continue };
                found.push((of.taken[i], present.is_some()));
                vars.push(var);
                flags.extend(present.map(|present| present.flag));
            }
            vars.extend(flags);
            Ok(vars)
        })?;
        Ok(Gradient { executor: of.executor(&program)?, found })
    }
}

/// A program split in two: one that also returns what the way back needs, and the ways back.
pub(super) struct Linear {
    /// From the parameters of the function to its results and what is saved besides.
    pub forward: Executor,
    pub backward: Vec<Backward>,
    /// What it was made for.
    pub asked: Asked,
    /// The parameters of the function to whose sums the ways back add.
    pub summed: Vec<usize>,
    residuals: Vec<Residual>,
}

/// A way back from some outputs.
pub(super) struct Backward {
    pub given: Vec<usize>,
    /// From what is taken that has open sizes, their cotangents, the sums, whether there is anything in them, and the
    /// residuals.
    pub executor: Executor,
    /// As of a [`Gradient`].
    pub found: Vec<(usize, bool)>,
}

impl Linear {
    fn new(of: &Derivatives, asked: &Asked) -> Result<Linear> {
        let is_wanted =
            |&i: &usize| of.function.block.types[i].is_inexact() && of.taken.contains(&i);
        let wrt: Vec<usize> = asked.wanted.iter().copied().filter(is_wanted).collect();
        // What cannot be run again cannot be asked twice what it needs: each output has a way of its own.
        let groups: Vec<Vec<usize>> = match of.can_repeat() {
            true => vec![asked.given.clone()],
            false => asked.given.iter().map(|&i| vec![i]).collect(),
        };
        let mut asks = groups.iter().map(|group| Ask {
            given: group.iter().map(|&i| (i, false)).collect(),
            same: Vec::new(),
        });
        // Several ways add to the same sums, one after the other.
        let is_summed = |i: &usize| !of.can_repeat() || asked.summed.contains(i);
        let summed: Vec<usize> = wrt.iter().copied().filter(is_summed).collect();
        let linear = linearize(&of.function.block, &wrt, &summed, cond_of, &mut |_| asks.next())?;
        let fluvial_core::Linear { forward, reverses, residuals } = linear;
        let n_results = forward.results.len();
        let forward = Program {
            inputs: of.names.clone(),
            outputs: (0..n_results).map(|i| format!("out{i}").into()).collect(),
            main: Block::clone(&forward),
            ..Program::default()
        };
        let sized = of.sized();
        let mut backward = Vec::new();
        for (given, reverse) in groups.into_iter().zip(reverses) {
            if reverse.found.is_empty() {
                continue;
            }
            // First what has sizes by themselves: those of residuals are computed from them.
            let mut types: Vec<Type> = sized.iter().map(|&i| of.pure.types[i]).collect();
            for ty in reverse.block.param_types() {
                types.push(named(ty)?);
            }
            let program = build(&types, |vars| {
                reverse.block.apply(&vars[sized.len()..].iter().collect::<Vec<_>>())
            })?;
            let executor = of.executor(&program)?;
            backward.push(Backward { given, executor, found: reverse.found });
        }
        let forward = executor(&forward, &of.options)?;
        Ok(Linear { forward, backward, asked: asked.clone(), summed, residuals })
    }

    /// The residuals, from the parameters of the function and what the forward program has saved.
    pub fn residuals(&self, params: &[Value], saved: &[Value]) -> Vec<Value> {
        let value = |residual: &Residual| match *residual {
            Residual::Param(i) => params[i].clone(),
            Residual::Result(i) => saved[i].clone(),
        };
        self.residuals.iter().map(value).collect()
    }

    /// How many residuals there are.
    pub fn n_residuals(&self) -> usize {
        self.residuals.len()
    }
}

impl Derivatives {
    /// Which of what is taken has open sizes, by which ways back know theirs.
    pub fn sized(&self) -> Vec<usize> {
        (0..self.taken.len()).filter(|&i| self.pure.types[i].is_symbolic()).collect()
    }
}

fn executor(program: &Program, options: &Options) -> Result<Executor> {
    let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
    Executor::with(program, &outputs, State::new(), options)
}

fn build(types: &[Type], f: impl FnOnce(&[Var]) -> Result<Vec<Var>>) -> Result<Program> {
    let names: Vec<String> = (0..types.len()).map(|i| format!("in{i}")).collect();
    let inputs: Vec<(&str, Type)> = names.iter().map(String::as_str).zip(types.to_vec()).collect();
    Program::build(&inputs, f)
}

/// The type with sizes that only a run knows as sizes of an input.
fn named(ty: &Type) -> Result<Type> {
    let rename = |dim: Dim| {
        let name = dim.symbol_name()?;
        Dim::symbol(&format!("open{name}")).ok().filter(|_| name.starts_with('_'))
    };
    ty.substitute(&rename)
}
