//! Imperative mode: each line runs at once, every value can be looked at, gradients come from the
//! tape. Fits a line to noisy points by gradient descent.

use fluvial::prelude::*;

fn main() -> Result<()> {
    seed(7)?;
    let ty = Type::of(DType::F32, &[64])?;
    let x = uniform(&ty, -1.0, 1.0)?;
    let y = &x * 3.0 - 0.5 + normal(&ty, 0.0, 0.05)?;

    let mut slope = Var::scalar(0.0f32).track()?;
    let mut offset = Var::scalar(0.0f32).track()?;
    for step in 0..60 {
        let error = &x * &slope + &offset - &y;
        let loss = mean(&(&error * &error), &[], false)?;
        loss.backward()?;
        if step % 15 == 0 {
            println!("step {step:2}  loss {loss}  slope {slope}  offset {offset}");
        }
        // Updates are ordinary arithmetic; the new values start a tape of their own.
        slope = descend(&slope)?;
        offset = descend(&offset)?;
    }
    println!("found  y = {slope} x + {offset}");
    assert!(
        (slope.item::<f32>()? - 3.0).abs() < 0.05 && (offset.item::<f32>()? + 0.5).abs() < 0.05
    );

    // Mistakes are reported at the line that made them, with a remedy.
    let mistake = add(&x, &Var::of(&[1.0f32, 2.0], &[2])?);
    println!("\n{}", mistake.expect_err("64 and 2 elements do not broadcast"));
    Ok(())
}

fn descend(parameter: &Var) -> Result<Var> {
    let gradient = parameter.grad().ok_or_else(|| Error::gradient("no gradient reached it"))?;
    (parameter.detach() - gradient * 0.3).track()
}

#[test]
fn the_example_runs() -> Result<()> {
    main()
}
