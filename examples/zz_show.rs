use fluvial::prelude::*;
fn main() -> Result<()> {
    let net = Sequential::new("net")
        .add(|at| Linear::new(at, 16, 16))
        .then(relu)
        .add(|at| Linear::new(at, 16, 10));
    let opt = Adam::new(net.parameters(), 1e-3);
    let x = Type::of(DType::F32, &[16, 16])?;
    let y = Type::of(DType::I64, &[16])?;
    let program = Program::build(&[("x", x), ("y", y)], |v| {
        let loss =
            cross_entropy(&net.forward(&v[0])?, &v[1], None, CrossEntropyOptions::default())?;
        opt.minimize(&loss)?;
        Ok(vec![loss])
    })?;
    println!("{program:#}");
    let e = Executor::new(&program, State::new())?;
    println!("{:#}", e.compiled().program);
    Ok(())
}
