//! One function, run imperatively and as a program, with its gradients to order two.

use std::sync::Arc;

use fluvial_compile::Options;
use fluvial_core::state::current;
use fluvial_core::{
    ErrorKind, GradOptions, Program, Registry, Result, Role, State, Tensor, Type, Value, Var,
    imperative, read_state, verify,
};
use fluvial_runtime::Executor;

use crate::check::{
    Check, Context, Failure, Tolerance, all, close, ensure, has_gradient, same_bits,
};
use crate::gradcheck::{compare, energy, gradients, values};

/// Runs one function in both modes and checks that they agree: see [`Modes`].
#[track_caller]
pub fn both_modes<'a>(f: impl Fn(&[Var]) -> Result<Vec<Var>> + 'a, inputs: &[Tensor]) -> Agreement {
    Modes::of(f).check(inputs)
}

/// The check that a function gives the same in both modes.
///
/// The function is run imperatively, as a program, and as that program after it went through text
/// and through protobuf; the same with the gradient of the [`energy`] of its results, and with the
/// gradient of the energy of that. Values agree by bits, first gradients are equal numbers, second
/// ones agree to 1e-10. What the runs leave in the state is the same, whatever gradients were
/// taken. Further, the program run on tracked values, the program inlined into another one, and
/// `append_backward` give the same; and gradients agree with finite differences.
///
/// ```
/// use fluvial_core::Tensor;
/// use fluvial_testkit::Modes;
///
/// let x = Tensor::from_slice(&[1.0, 2.0], &[2]).unwrap();
/// let agreed = Modes::of(|x| Ok(vec![&x[0] * 3.0])).check(&[x]);
/// assert_eq!(agreed.outputs[0].tensor().unwrap().to_f64s(), [3.0, 6.0]);
/// ```
pub struct Modes<'a> {
    f: Function<'a>,
    setup: Setup<'a>,
    parameters: Vec<(String, Tensor)>,
    types: Option<Vec<Type>>,
    order: usize,
    differences: bool,
    replays: bool,
    first_order: Tolerance,
    registry: Registry,
}

type Function<'a> = Box<dyn Fn(&[Var]) -> Result<Vec<Var>> + 'a>;
type Setup<'a> = Box<dyn Fn(&State) -> Result<()> + 'a>;

/// What the modes agreed on.
#[derive(Debug)]
pub struct Agreement {
    /// What the function returned.
    pub outputs: Vec<Value>,
    /// The gradient of the energy of the outputs, for each float input and each parameter.
    pub first: Vec<Value>,
    /// The gradient of the energy of `first`.
    pub second: Vec<Value>,
    /// The state afterwards.
    pub state: Vec<(Arc<str>, Value)>,
    /// The program of the values alone.
    pub program: Program,
}

impl Agreement {
    /// The value a state had afterwards.
    #[track_caller]
    pub fn state(&self, name: &str) -> Vec<f64> {
        let found = self.state.iter().find(|(known, _)| &**known == name);
        found.map(|(_, value)| crate::check::flatten(value)).expect("the state was made")
    }
}

/// Values, first and second gradients.
type Orders<T> = [Vec<T>; 3];

struct Run {
    orders: Orders<Value>,
    state: Vec<(Arc<str>, Value)>,
}

impl<'a> Modes<'a> {
    /// The check of this function.
    pub fn of(f: impl Fn(&[Var]) -> Result<Vec<Var>> + 'a) -> Modes<'a> {
        Modes {
            f: Box::new(f),
            setup: Box::new(|_| Ok(())),
            parameters: Vec::new(),
            types: None,
            order: 2,
            differences: true,
            replays: true,
            first_order: Tolerance::EXACT,
            registry: fluvial_ops::registry(),
        }
    }

    /// Up to this order of gradients only.
    pub fn order(mut self, order: usize) -> Modes<'a> {
        self.order = order.min(2);
        self
    }

    /// With a state scope that `setup` has filled.
    pub fn state(mut self, setup: impl Fn(&State) -> Result<()> + 'a) -> Modes<'a> {
        self.setup = Box::new(setup);
        self
    }

    /// With a parameter in the state, with respect to which gradients are taken, too.
    pub fn parameter(mut self, name: &str, value: Tensor) -> Modes<'a> {
        self.parameters.push((name.to_string(), value));
        self
    }

    /// With programs whose inputs have these types, of which sizes may be symbols.
    pub fn types(mut self, types: &[Type]) -> Modes<'a> {
        self.types = Some(types.to_vec());
        self
    }

    /// Without finite differences, for values that are not `f64`.
    pub fn without_differences(mut self) -> Modes<'a> {
        self.differences = false;
        self
    }

    /// Without the further ways to run the program, where many calls are checked that differ little.
    pub fn without_replays(mut self) -> Modes<'a> {
        self.replays = false;
        self
    }

    /// With first gradients that agree within this tolerance only, since sums are associated
    /// differently.
    pub fn first_order(mut self, tolerance: Tolerance) -> Modes<'a> {
        self.first_order = tolerance;
        self
    }

    /// With the ops of this registry in files.
    pub fn registry(mut self, registry: Registry) -> Modes<'a> {
        self.registry = registry;
        self
    }

    /// Checks; panics with what differs.
    #[track_caller]
    pub fn check(&self, inputs: &[Tensor]) -> Agreement {
        match self.try_check(&values(inputs)) {
            Ok(agreement) => agreement,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Checks on values that may be lists.
    pub fn try_check(&self, inputs: &[Value]) -> Check<Agreement> {
        let at = self.with_parameters(inputs);
        let plain = self.imperative(&at, 0, &[]).context("run imperatively")?;
        let outputs = plain.orders[0].clone();
        let mut agreed = plain;
        let mut programs = Vec::new();
        for order in 0..=self.order {
            if order > 0 {
                let run = self.imperative(&at, order, &outputs);
                let run = run.context(format!("imperative gradient of order {order}"))?;
                self.agree(&run, &agreed, order - 1).context("imperatively, with gradients")?;
                agreed = run;
            }
            let program = self.program(&at, order, &outputs);
            let program = program.context(format!("building the program of order {order}"))?;
            self.check_program(&program, &at, &agreed, order)
                .context(format!("program of order {order}"))?;
            programs.push(program);
        }
        let program = programs.swap_remove(0);
        if self.replays {
            self.check_replays(&program, &at, &outputs, &agreed)?;
        }
        if self.differences {
            self.compare_with_differences(&at, &outputs, &agreed.orders)?;
        }
        let Run { orders: [outputs, first, second], state } = agreed;
        Ok(Agreement { outputs, first, second, state, program })
    }

    /// Checks the gradients of the imperative mode alone, against differences.
    pub(crate) fn differences(&self, inputs: &[Value]) -> Check {
        let at = self.with_parameters(inputs);
        let outputs = self.imperative(&at, 0, &[])?.orders[0].clone();
        let run = self.imperative(&at, self.order, &outputs)?;
        self.compare_with_differences(&at, &outputs, &run.orders)
    }

    fn with_parameters(&self, inputs: &[Value]) -> Vec<Value> {
        let parameters = self.parameters.iter().map(|(_, tensor)| Value::from(tensor.clone()));
        inputs.iter().cloned().chain(parameters).collect()
    }

    /// Runs `f` on the inputs in a state scope of its own, and returns what it left there.
    fn run(
        &self,
        at: &[Value],
        order: usize,
        f: impl FnOnce(&State, &[Var]) -> Result<Orders<Var>>,
    ) -> Result<Run> {
        let state = State::new();
        let _scope = state.enter();
        (self.setup)(&state)?;
        let (inputs, parameters) = at.split_at(at.len() - self.parameters.len());
        for ((name, _), value) in self.parameters.iter().zip(parameters) {
            state.insert(name, Role::Parameter, value.clone())?;
        }
        let var = |value: &Value| match order > 0 && has_gradient(&value.ty()) {
            true => Var::new(value.clone()).track(),
            false => Ok(Var::new(value.clone())),
        };
        let orders = f(&state, &inputs.iter().map(var).collect::<Result<Vec<_>>>()?)?;
        let mut values = Orders::default();
        for (values, vars) in values.iter_mut().zip(&orders) {
            *values = vars.iter().map(|var| var.value().cloned()).collect::<Result<_>>()?;
        }
        let names = state.names().into_iter();
        let after = names.map(|name| Ok((name.clone(), state.read(&name)?.value()?.clone())));
        Ok(Run { orders: values, state: after.collect::<Result<_>>()? })
    }

    fn imperative(&self, at: &[Value], order: usize, outputs: &[Value]) -> Result<Run> {
        self.run(at, order, |_, x| self.derive(x, at, order, outputs))
    }

    /// The function and its gradients, in either mode. `outputs` tells how long lists are.
    fn derive(
        &self,
        x: &[Var],
        at: &[Value],
        order: usize,
        outputs: &[Value],
    ) -> Result<Orders<Var>> {
        let wrt = self.wrt(x)?;
        let results = (self.f)(x)?.into_iter().map(Var::check).collect::<Result<Vec<_>>>()?;
        differentiate(results, &wrt, at, order, outputs)
    }

    /// The float inputs and the parameters.
    fn wrt(&self, x: &[Var]) -> Result<Vec<Var>> {
        let floats = x.iter().filter(|var| has_gradient(&var.ty())).cloned().map(Ok);
        floats.chain(self.parameters.iter().map(|(name, _)| read_state(name))).collect()
    }

    fn program(&self, at: &[Value], order: usize, outputs: &[Value]) -> Result<Program> {
        self.build(at, |x| Ok(self.derive(x, at, order, outputs)?.concat()))
    }

    /// The program of `f`, in a state scope like that of a run.
    fn build(&self, at: &[Value], f: impl FnOnce(&[Var]) -> Result<Vec<Var>>) -> Result<Program> {
        let n_inputs = at.len() - self.parameters.len();
        let mut program = None;
        self.run(at, 0, |_, _| {
            let types: Vec<Type> = match &self.types {
                Some(types) => types.clone(),
                None => at[..n_inputs].iter().map(Value::ty).collect(),
            };
            let names: Vec<String> = (0..n_inputs).map(|i| format!("x{i}")).collect();
            let inputs: Vec<(&str, Type)> = names.iter().map(String::as_str).zip(types).collect();
            program = Some(Program::build(&inputs, f)?);
            Ok(Orders::default())
        })?;
        Ok(program.unwrap_or_default())
    }

    fn run_program(&self, program: &Program, at: &[Value], like: &Run) -> Result<Run> {
        self.run(at, 0, |state, x| {
            program.initialise(state)?;
            let mut results = program.apply(&x.iter().collect::<Vec<_>>())?.into_iter();
            Ok([0, 1, 2].map(|i| results.by_ref().take(like.orders[i].len()).collect()))
        })
    }

    fn run_compiled(&self, program: &Program, at: &[Value], like: &Run) -> Check<Run> {
        let mut listing = String::new();
        let run = self.run(at, 0, |state, x| {
            let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
            let options = Options { verify: true, ..Options::default() };
            let executor = Executor::with(program, &outputs, state.clone(), &options)?;
            listing = format!("{:#}", executor.compiled().program);
            let x = x.iter().map(|var| var.value().cloned()).collect::<Result<Vec<_>>>()?;
            // The second run finds plan and memory of the first; effects must not happen twice.
            if !program.main.has_effect() {
                executor.call().inputs(x.clone()).values()?;
            }
            let mut results = executor.call().inputs(x.clone()).values()?.into_iter().map(Var::new);
            Ok([0, 1, 2].map(|i| results.by_ref().take(like.orders[i].len()).collect()))
        });
        run.context(format!("compiled:\n{listing}"))
    }

    fn check_program(&self, program: &Program, at: &[Value], like: &Run, order: usize) -> Check {
        let run = |program: &Program| -> Check {
            let run = self.run_program(program, at, like)?;
            self.agree(&run, like, order)?;
            let compiled = self.run_compiled(program, at, like)?;
            for (found, expected) in compiled.orders.iter().zip(&run.orders) {
                all(found, expected, same_bits).context("compiled")?;
            }
            self.agree(&compiled, like, order).context("compiled")
        };
        let copies = round_trips(program, &self.registry).with_listing(program)?;
        run(program).with_listing(program)?;
        for (form, copy) in copies {
            run(&copy).context(format!("read back from {form}"))?;
        }
        Ok(())
    }

    /// Checks that a run gave what another did, up to this order, and left the same state.
    fn agree(&self, run: &Run, like: &Run, order: usize) -> Check {
        let by_order = [
            ("values", None),
            ("first gradients", Some(self.first_order)),
            ("second gradients", Some(Tolerance::of(1e-10))),
        ];
        for (k, (what, tolerance)) in by_order.into_iter().enumerate().take(order + 1) {
            let pair = |found: &Value, expected: &Value| match tolerance {
                None => same_bits(found, expected),
                Some(tolerance) => close(found, expected, tolerance),
            };
            all(&run.orders[k], &like.orders[k], pair).context(what)?;
        }
        for (name, expected) in &like.state {
            let found = run.state.iter().find(|(known, _)| known == name);
            let found = found.ok_or_else(|| Failure::new(format!("state `{name}` is missing")))?;
            same_bits(&found.1, expected).context(format!("state `{name}`"))?;
        }
        Ok(())
    }

    /// Other ways to run the program: on tracked values, inlined, and with gradients appended.
    fn check_replays(
        &self,
        program: &Program,
        at: &[Value],
        outputs: &[Value],
        like: &Run,
    ) -> Check {
        let inline = |x: &[Var]| {
            {
                let _now = imperative();
                program.initialise(&current())?;
            }
            program.apply(&x.iter().collect::<Vec<_>>())
        };
        let inlined = self.build(at, inline).context("inlining the program")?;
        let mut again = Program { startup: program.startup.clone(), ..inlined };
        again.states.extend(program.states.clone());
        self.check_program(&again, at, like, 0).context("the program inlined into another")?;
        if self.order == 0 {
            return Ok(());
        }
        let run = self.run(at, self.order, |state, x| {
            program.initialise(state)?;
            let wrt = self.wrt(x)?;
            let results = program.apply(&x.iter().collect::<Vec<_>>())?;
            differentiate(results, &wrt, at, self.order, outputs)
        });
        let run = run.context("the program on tracked values")?;
        self.agree(&run, like, self.order).context("the program on tracked values")?;
        self.check_appended(at, outputs, like).context("append_backward")
    }

    fn check_appended(&self, at: &[Value], outputs: &[Value], like: &Run) -> Check {
        let mut has_loss = false;
        let program = self.build(at, |x| {
            let mut results = (self.f)(x)?;
            let loss = energy(&results, outputs)?;
            has_loss = loss.is_some();
            results.extend(loss);
            Ok(results)
        })?;
        let mut names: Vec<&str> = program
            .inputs
            .iter()
            .zip(at)
            .filter(|(_, value)| has_gradient(&value.ty()))
            .map(|(name, _)| &**name)
            .collect();
        names.extend(self.parameters.iter().map(|(name, _)| name.as_str()));
        if !has_loss || names.is_empty() {
            return Ok(());
        }
        let loss = format!("out{}", outputs.len());
        for (i, name) in names.iter().enumerate() {
            let appended = match program.append_backward(&loss, &[name]) {
                Ok(appended) => appended,
                Err(error) if error.kind() == ErrorKind::Unreached => {
                    let zero = crate::check::flatten(&like.orders[1][i]).iter().all(|&x| x == 0.0);
                    ensure(zero, || format!("a gradient is lost: {error}"))?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let appended = appended.prune(&[&format!("grad({name})")])?;
            let expected = Run {
                orders: [vec![], vec![like.orders[1][i].clone()], vec![]],
                state: Vec::new(),
            };
            self.check_program(&appended, at, &expected, 1).context(format!("grad({name})"))?;
        }
        Ok(())
    }

    fn compare_with_differences(
        &self,
        at: &[Value],
        outputs: &[Value],
        orders: &Orders<Value>,
    ) -> Check {
        for (order, found) in orders.iter().enumerate().take(self.order + 1).skip(1) {
            let f = |at: &[Value]| -> Check<f64> {
                let run = self.imperative(at, order - 1, outputs)?;
                let vars: Vec<Var> =
                    run.orders[order - 1].iter().map(|value| Var::new(value.clone())).collect();
                let energy = energy(&vars, &run.orders[order - 1])?;
                Ok(energy.map_or(Ok(0.0), |energy| energy.item::<f64>())?)
            };
            compare(&f, at, found).context(format!("order {order}"))?;
        }
        Ok(())
    }
}

/// The gradients of `results`, to this order.
fn differentiate(
    results: Vec<Var>,
    wrt: &[Var],
    at: &[Value],
    order: usize,
    outputs: &[Value],
) -> Result<Orders<Var>> {
    let wrt: Vec<&Var> = wrt.iter().collect();
    let floats: Vec<Value> = at.iter().filter(|value| has_gradient(&value.ty())).cloned().collect();
    let mut orders = [results, vec![], vec![]];
    for k in 1..=order {
        let like = if k == 1 { outputs } else { &floats };
        let loss = energy(&orders[k - 1], like)?;
        let options = GradOptions { create_graph: k < order, ..GradOptions::default() };
        orders[k] = gradients(loss.as_ref(), &wrt, options)?;
    }
    Ok(orders)
}

/// The program after it went through text and through protobuf, with the name of the form. Checks
/// that it is valid, and that it comes back equal.
pub fn round_trips(program: &Program, registry: &Registry) -> Check<[(&'static str, Program); 2]> {
    verify(program).context("the verifier")?;
    let text = program.to_string();
    let from_text = Program::parse(&text, registry).context("reading the text form")?;
    ensure(from_text == *program, || "the text form does not give the program back".into())?;
    ensure(from_text.to_string() == text, || "the text form is printed differently".into())?;
    let bytes = program.to_bytes();
    let from_bytes = Program::from_bytes(&bytes, registry).context("reading the binary form")?;
    ensure(from_bytes == *program, || "the binary form does not give the program back".into())?;
    Ok([("text", from_text), ("bytes", from_bytes)])
}

/// Adds the listing of the program to a failure.
trait WithListing<T> {
    fn with_listing(self, program: &Program) -> Check<T>;
}

impl<T> WithListing<T> for Check<T> {
    fn with_listing(self, program: &Program) -> Check<T> {
        self.map_err(|failure| Failure::new(format!("{failure}\n{program:#}")))
    }
}
