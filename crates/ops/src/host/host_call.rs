//! `host_call`: a function of the host language inside a program.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::prelude::*;

/// A function that a program may call by name.
pub type HostFunction = Arc<dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync>;

static FUNCTIONS: RwLock<BTreeMap<String, HostFunction>> = RwLock::new(BTreeMap::new());

/// Gives a function a name under which programs of this process call it; a later one of the same
/// name replaces it.
pub fn register_host(
    name: &str,
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
) {
    let mut functions = FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner);
    let old = functions.insert(name.to_string(), Arc::new(function));
    // What the old function owned is freed without the lock: it may run code of its own.
    drop(functions);
    drop(old);
}

/// Calls a registered function on the inputs, in both modes, exactly once per run of the op.
/// `outputs` are the types it returns; the run checks them.
///
/// Its gradient is another registered function, named by `backward`: it takes the inputs, then the
/// cotangents of the outputs, and returns one cotangent per input of floats or complex numbers.
/// Without it, a gradient that passes through is an error.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// register_host("double", |x| Ok(vec![(Var::from(x[0].clone()) * 2.0).tensor()?.clone()]));
/// let x = Var::scalar(3.0f64);
/// let y = host_call("double", &[&x], &[x.ty()], None)?;
/// assert_eq!(y[0].item::<f64>()?, 6.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn host_call(
    name: &str,
    inputs: &[&Var],
    outputs: &[Type],
    backward: Option<&str>,
) -> Result<Vec<Var>> {
    let op = HostCall {
        function: name.into(),
        outputs: outputs.to_vec(),
        backward: backward.map(Arc::from),
    };
    bind(op, inputs).map(Outputs::into_vec)
}

attributes! {
    /// The op behind [`host_call`].
    pub struct HostCall = "host_call" {
        /// The name of the function.
        pub function: Arc<str>,
        /// The types it returns.
        pub outputs: Vec<Type>,
        /// The name of the function that computes its gradient.
        pub backward: Option<Arc<str>>,
    }
}

impl Op for HostCall {
    fn arity(&self) -> Arity {
        Arity::AtLeast(0)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        match inputs.iter().chain(&self.outputs.iter().collect::<Vec<_>>()).any(|ty| ty.is_list()) {
            true => Err(Error::dtype("functions of the host take and return tensors")),
            false => Ok(self.outputs.iter().copied().collect()),
        }
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let function = FUNCTIONS
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&*self.function)
            .cloned()
            .ok_or_else(|| {
                Error::argument(format!("no function is registered as `{}`", self.function))
                    .remedy("register it before the program runs")
            })?;
        let inputs: Vec<Tensor> =
            inputs.iter().map(|value| value.tensor().cloned()).collect::<Result<_>>()?;
        // The function may call ops: they run at once, and are not recorded.
        let _scope = (imperative(), no_grad());
        let results = function(&inputs)?;
        let found: Vec<Type> = results.iter().map(Tensor::ty).collect();
        let fits = found.len() == outs.len()
            && found.iter().zip(outs).all(|(found, out)| found == out || out.is_symbolic());
        if !fits {
            return Err(Error::new(
                ErrorKind::Callback,
                format!("`{}` returned {found:?}, but declared {outs:?}", self.function),
            ));
        }
        Ok(results.into_iter().map(Value::Tensor).collect())
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Callback))
    }

    fn ranks(&self) -> Option<Ranks> {
        Some(Ranks::Differ)
    }

    fn grad(&self) -> Grad {
        match self.backward {
            Some(_) => Grad::Rule(Keeps::ALL, backward),
            None => Grad::NonDifferentiable("its function was registered without a gradient"),
        }
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

fn backward(p: &Pull<'_>) -> Result<Cotangents> {
    let op = p.op::<HostCall>()?;
    let mut inputs: Vec<Var> = (0..p.n_inputs()).map(|i| p.x(i)).collect();
    let trained = |&i: &usize| inputs[i].dtype().is_inexact() && !inputs[i].ty().is_list();
    let trained: Vec<usize> = (0..inputs.len()).filter(trained).collect();
    let types: Vec<Type> = trained.iter().map(|&i| inputs[i].ty()).collect();
    for (i, cotangent) in p.dys().iter().enumerate() {
        inputs.push(match cotangent {
            Some(cotangent) => cotangent.clone(),
            None => zeros_like(&p.y(i))?,
        });
    }
    let name = op.backward.as_deref().unwrap_or_default();
    let found = host_call(name, &inputs.iter().collect::<Vec<_>>(), &types, None)?;
    let mut cotangents: Cotangents = smallvec![None; p.n_inputs()];
    for (i, cotangent) in trained.into_iter().zip(found) {
        cotangents[i] = Some(cotangent);
    }
    Ok(cotangents)
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(HostCall::NAME, HostCall::build, || {
    register_host("fluvial.sample", |x| Ok(vec![x[0].clone()]));
    let x = ramp(&[2]);
    let of = |name: &str, outputs: Vec<Type>| HostCall {
        function: name.into(),
        outputs,
        backward: None,
    };
    vec![
        Sample::new(of("fluvial.sample", vec![x.ty()]), [x.clone()]).gives([x.clone()]),
        Sample::new(of("fluvial.absent", vec![x.ty()]), [x.clone()]).refused("no function"),
        Sample::new(of("fluvial.sample", vec![]), [x]).refused("but declared"),
    ]
});
