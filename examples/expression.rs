//! An elementwise operation over whole tensors in one loop, composed at compile time: what the
//! `eval` of a big operation of one's own is made of.

use fluvial::prelude::*;
use fluvial::{Expression, Lazy, lazy};

/// A part of an expression is an ordinary function.
fn soft_clamp<E: Expression>(x: Lazy<E>, limit: f64) -> Lazy<impl Expression> {
    (x / limit).tanh() * limit
}

fn main() -> Result<()> {
    let x = Tensor::from_slice(&[-5.0f32, -0.5, 0.0, 1.0, 8.0, 2.0], &[2, 3])?;
    let scale = Tensor::from_slice(&[1.0f32, 2.0, 0.5], &[3])?;

    // Nothing is computed before `eval`, and then there is one vectorised loop without temporaries.
    let y = (soft_clamp(lazy(&x), 2.0) * lazy(&scale) + 1.0).eval()?;
    println!("clamped and scaled: {:?}", y.to_vec::<f32>()?);

    // The same with ops, which compute a tensor for each step.
    let (x_var, scale_var) = (Var::from(x.clone()), Var::from(scale.clone()));
    let same = tanh(&(&x_var / 2.0))? * 2.0 * &scale_var + 1.0;
    assert!(y.bitwise_eq(same.check()?.tensor()?));

    // Into memory that is there already, and to a single number.
    let mut out = Tensor::zeros(DType::F32, &[2, 3])?;
    lazy(&x).gt(0.0).select(lazy(&x), lazy(&x) * 0.1).eval_into(&mut out)?;
    let distance = (lazy(&x) - lazy(&out)) * (lazy(&x) - lazy(&out));
    println!(
        "leaky: {:?}, squared distance {}",
        out.to_vec::<f32>()?,
        distance.sum()?.item::<f32>()?
    );
    Ok(())
}

#[test]
fn the_example_runs() -> Result<()> {
    main()
}
