//! The battery finds what is wrong: ops with one fault each, and what it says of them.

use fluvial_core::{
    Arity, DType, Elementwise, Error, Grad, Keeps, Op, OpRef, Properties, Result, Sample, Tensor,
    Type, Types, Value, Values, Var, attributes, bind1, grads,
};
use fluvial_ops::{exp, sin, stop_gradient};
use fluvial_testkit::battery::check_sample;

fn x() -> Tensor {
    Tensor::from_slice(&[0.3, -0.7, 1.1, 0.25, 0.9, -1.4], &[2, 3]).unwrap()
}

/// Checks the sample and expects a failure with this text.
#[track_caller]
fn finds(sample: Sample, text: &str) {
    let failure = check_sample(&sample).expect_err("the battery finds the fault").to_string();
    assert!(failure.contains(text), "expected {text:?}, found: {failure}");
}

fn elementwise(op: &'static Elementwise) -> Sample {
    Sample::new(op, [x()]).gives_scalar(|x| x[0] * x[0])
}

#[test]
fn a_right_op_passes() {
    static RIGHT: Elementwise = Elementwise::unary(
        "my.square",
        |x| x * x,
        Keeps::INPUTS,
        |p| grads![p => p.dy() * p.x(0) * 2.0],
    );
    // It is in no registry, so that files with it cannot be read.
    finds(elementwise(&RIGHT), "no op is named `my.square`");
}

#[test]
fn a_wrong_value() {
    static OP: Elementwise =
        Elementwise::unary("neg", |x| x * x + 1e-9, Keeps::NOTHING, |p| grads![p => -p.dy()]);
    finds(elementwise(&OP), "forward: differs in more than");
}

#[test]
fn a_wrong_gradient() {
    static OP: Elementwise =
        Elementwise::unary("neg", |x| -x, Keeps::NOTHING, |p| grads![p => -p.dy() * 1.00001]);
    finds(Sample::new(&OP, [x()]).gives_scalar(|x| -x[0]), "order 1: gradient against differences");
}

#[test]
fn a_gradient_that_cannot_be_differentiated_again() {
    static OP: Elementwise = Elementwise::unary(
        "sin",
        |x| x.sin(),
        Keeps::INPUTS,
        |p| grads![p => p.dy() * stop_gradient(&fluvial_ops::cos(&p.x(0))?)?],
    );
    let sample = Sample::new(&OP, [x()]).gives_scalar(|x| x[0].sin());
    finds(sample, "order 2: gradient against differences");
}

#[test]
fn a_rule_that_reads_what_it_does_not_keep() {
    static OP: Elementwise = Elementwise::unary(
        "sin",
        |x| x.sin(),
        Keeps::NOTHING,
        |p| grads![p => p.dy() * fluvial_ops::cos(&p.x(0))?],
    );
    finds(Sample::new(&OP, [x()]), "reads input 0, which its `Keeps` does not name");
}

#[test]
fn a_derivative_declared_zero_that_is_not() {
    static OP: Elementwise = Elementwise::unary_flat("sin", |x| x.sin());
    finds(Sample::new(&OP, [x()]).gives_scalar(|x| x[0].sin()), "order 1: gradient");
}

#[test]
fn an_error_that_is_not_the_expected_one() {
    let (a, b) = (x(), Tensor::zeros(DType::F64, &[4]).unwrap());
    let add = &fluvial_core::structural::ADD;
    finds(Sample::new(add, [a.clone(), b]).refused("some other reason"), "some other reason");
    finds(Sample::new(add, [a.clone(), a]).refused("anything"), "accepted imperatively");
}

/// Declares an op with one attribute and a number of faults to choose from.
macro_rules! faulty {
    ($name:ident = $text:literal, $infer:expr, $eval:expr, $rule:expr) => {
        attributes! {
            #[allow(missing_docs)]
            pub struct $name = $text {}
        }
        impl Op for $name {
            fn arity(&self) -> Arity {
                Arity::Exactly(1)
            }
            fn infer(&self, inputs: &[&Type]) -> Result<Types> {
                let infer: fn(&Type) -> Result<Type> = $infer;
                Ok([infer(inputs[0])?].into_iter().collect())
            }
            fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
                let eval: fn(&Tensor) -> Result<Tensor> = $eval;
                Ok([Value::from(eval(inputs[0].tensor()?)?)].into_iter().collect())
            }
            fn grad(&self) -> Grad {
                $rule
            }
            fn properties(&self) -> Properties {
                Properties::VIEW
            }
        }
    };
}

const PASS: Grad = Grad::Rule(Keeps::NOTHING, |p| grads![p => p.dy()]);

faulty!(WrongType = "stop_gradient", |ty| Ok(ty.with_dtype(DType::F32)), |x| Ok(x.clone()), PASS);
faulty!(
    IgnoresLayout = "stop_gradient",
    |ty| Ok(*ty),
    |x| {
        let first = x.slice(0, 0, 1, 1)?.expand(x.dims())?;
        Ok(if x.is_contiguous() { x.clone() } else { first })
    },
    PASS
);
faulty!(
    NoEmptyInputs = "stop_gradient",
    |ty| match ty.dims().iter().any(|dim| dim.is_symbolic()) {
        true => Err(Error::shape("symbols are not understood")),
        false => Ok(*ty),
    },
    |x| Ok(x.clone()),
    PASS
);
faulty!(
    Refuses = "stop_gradient",
    |ty| Ok(*ty),
    |_| Err(Error::shape("nothing fits")),
    Grad::NonDifferentiable("it never works")
);

#[test]
fn an_inferred_type_that_is_not_that_of_the_output() {
    finds(
        Sample::new(WrongType {}, [x()]),
        "`infer` says [f32[2, 3]], the outputs are [f64[2, 3]]",
    );
}

#[test]
fn a_layout_that_matters() {
    finds(
        Sample::new(IgnoresLayout {}, [x()]).gives([x()]),
        "other layouts: axes reversed in memory",
    );
}

#[test]
fn a_value_that_must_be_there() {
    finds(Sample::new(Refuses {}, [x()]), "nothing fits");
}

#[test]
fn a_faulty_user_function() {
    let bad = |x: &[Var]| bind1(OpRef::new(NoEmptyInputs {}), &[&x[0]]);
    assert!(bad(&[Var::new(x())]).is_ok());
    let modes = fluvial_testkit::Modes::of(|v| {
        // One mode takes another path than the other.
        let y = if v[0].is_symbolic() { exp(&v[0])? } else { sin(&v[0])? };
        Ok(vec![y])
    });
    let failure = modes.try_check(&[x().into()]).unwrap_err().to_string();
    assert!(
        failure.contains("program of order 0: values: value 0: differs in the bits"),
        "{failure}"
    );
}

#[test]
fn gradcheck_tells_both_slopes() {
    let wrong = std::panic::catch_unwind(|| {
        fluvial_testkit::gradcheck(|x| Ok(&x[0] * x[0].detach()), &[Tensor::scalar(1.5f64)]);
    });
    let message = *wrong.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.contains("differences say") && message.contains("the gradient says"),
        "{message}"
    );
    fluvial_testkit::gradcheck(|x| Ok(&x[0] * &x[0]), &[Tensor::scalar(1.5f64)]);
    fluvial_testkit::gradgradcheck(|x| exp(&(sin(&x[0])? * &x[1])), &[x(), Tensor::scalar(0.5f64)]);
}
