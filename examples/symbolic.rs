//! Program mode: the same kind of code, captured as data. C = B·A, D = C + 1, for any number of
//! rows; its gradient; the graph saved, loaded and run again.

use fluvial::prelude::*;

/// D and its gradients.
fn with_gradients(inputs: &[Var]) -> Result<Vec<Var>> {
    let (a, b) = (&inputs[0], &inputs[1]);
    let c = matmul(b, a)?.named("C");
    let d = (&c + 1.0).named("D");
    let gradients = grad(&[&sum(&(&d * &d), &[], false)?], &[a, b])?;
    Ok([vec![d], gradients].concat())
}

fn main() -> Result<()> {
    let rows = Dim::symbol("rows")?;
    let a = Type::of(DType::F32, &[3, 2])?;
    let b = Type::new(DType::F32, &[rows, Dim::size(3)])?;
    let program = Program::build(&[("A", a), ("B", b)], with_gradients)?;
    println!("{program:#}");

    // One program serves every size.
    let run = Interpreter::new(program.clone(), State::new())?;
    let a = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])?;
    let mut results = Vec::new();
    for rows in [1, 4] {
        let b = Tensor::full(&[rows, 3], 0.5f32)?;
        let outputs = run.run(&[("A", a.clone()), ("B", b)])?;
        println!("D with {rows} rows = {:?}", outputs[0]);
        results.push(outputs);
    }

    // A program is a file: text for people, protobuf for machines.
    let folder = std::env::temp_dir().join(format!("fluvial-symbolic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| Error::argument(error.to_string()))?;
    for name in ["graph.fl", "graph.flb"] {
        let path = folder.join(name);
        program.save(&path)?;
        let loaded = Program::load(&path, &registry())?;
        assert_eq!(loaded, program);
        let b = Tensor::full(&[4, 3], 0.5f32)?;
        let again = Interpreter::new(loaded, State::new())?.run(&[("A", a.clone()), ("B", b)])?;
        let same = again.iter().zip(&results[1]).all(|(x, y)| x.bitwise_eq(y));
        println!(
            "saved as {name}, loaded, and run again: {}",
            if same { "equal" } else { "different" }
        );
        assert!(same);
    }
    std::fs::remove_dir_all(&folder).map_err(|error| Error::argument(error.to_string()))
}

#[test]
fn the_example_runs() -> Result<()> {
    main()
}

#[test]
fn its_modes_agree() -> Result<()> {
    let inputs = [Tensor::full(&[3, 2], 0.25f32)?, Tensor::full(&[4, 3], 0.5f32)?];
    fluvial::runtime::check(with_gradients, &inputs).map(drop)
}
