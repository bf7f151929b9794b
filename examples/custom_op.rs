//! An op of one's own, outside Fluvial's crates: attributes, shapes, values and gradient in one
//! place. It works in both modes, to any order of gradient, and in program files.

use fluvial::core::{
    Arity, Grad, Keeps, Op, OpDef, Types, Value, Values, attributes, bind1, grads,
};
use fluvial::prelude::*;

/// A smooth clamp: `limit * tanh(x / limit)`.
#[track_caller]
pub fn soft_clamp(x: &Var, limit: f64) -> Result<Var> {
    bind1(SoftClamp { limit }, &[x])
}

attributes! {
    /// The op behind [`soft_clamp`].
    pub struct SoftClamp = "my.soft_clamp" {
        /// Where the result levels off.
        pub limit: f64,
    }
}

impl Op for SoftClamp {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if self.limit.is_nan() || self.limit <= 0.0 {
            return Err(Error::argument(format!("the limit must be positive, not {}", self.limit)));
        }
        if inputs[0].dtype() != DType::F64 || inputs[0].is_list() {
            return Err(Error::dtype("only f64 is clamped here").remedy("cast it first"));
        }
        Ok(Types::from_elem(*inputs[0], 1))
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let clamped: Vec<f64> =
            x.to_vec::<f64>()?.iter().map(|x| self.limit * (x / self.limit).tanh()).collect();
        Ok(Values::from_elem(Tensor::from_vec(clamped, x.dims())?.into(), 1))
    }

    fn grad(&self) -> Grad {
        // Written with the framework's own ops, so it can be differentiated again.
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let ratio = p.y(0) / p.op::<SoftClamp>()?.limit;
            grads![p => p.dy() * (1.0 - &ratio * &ratio)]
        })
    }
}

fn main() -> Result<()> {
    let f = |x: &Var| sum(&soft_clamp(x, 2.0)?, &[], false);

    // Imperatively, with first and second derivative.
    let x = Var::of(&[-5.0, -0.5, 0.0, 1.0, 8.0], &[5])?.track()?;
    let y = f(&x)?;
    let options = GradOptions { create_graph: true, ..GradOptions::default() };
    let first = grad_with(&[&y], &[&x], options)?;
    let second = grad(&[&sum(&first[0], &[], false)?], &[&x])?;
    println!("clamped sum {y}\nfirst  {}\nsecond {}", first[0], second[0]);

    // As a program with its gradient: printed, read back by a registry that knows the op, and run.
    let program = Program::build(&[("x", x.ty())], |x| {
        let y = f(&x[0])?;
        let gradient = grad(&[&y], &[&x[0]])?;
        Ok(vec![y, gradient[0].clone()])
    })?;
    println!("\n{program:#}");
    const OPS: &[OpDef] = &[OpDef::new(SoftClamp::NAME, SoftClamp::build, Vec::new)];
    let loaded = Program::parse(&program.to_string(), &registry().with(OPS)?)?;
    assert_eq!(loaded, program);
    let outputs = loaded.apply(&[&x.detach()])?;
    assert!(outputs[0].tensor()?.bitwise_eq(y.tensor()?));
    assert!(outputs[1].tensor()?.bitwise_eq(first[0].tensor()?));
    println!("the program, read back from its text, gives the same numbers");

    // A refused input names the op, the types and this line, in both modes.
    println!("\n{}", soft_clamp(&Var::scalar(1.0f32), 2.0).expect_err("f32 is refused"));
    Ok(())
}

#[test]
fn the_example_runs() -> Result<()> {
    main()
}

#[test]
fn its_modes_agree() -> Result<()> {
    let x = Tensor::from_slice(&[-5.0, -0.5, 0.0, 1.0, 8.0], &[5])?;
    fluvial::runtime::check(
        |x| grad(&[&sum(&soft_clamp(&x[0], 2.0)?, &[], false)?], &[&x[0]]),
        &[x],
    )
    .map(drop)
}
