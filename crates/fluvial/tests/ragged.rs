//! Sequences of different lengths, in both modes.

use fluvial::prelude::*;

fn model(data: &Var, lengths: &Var) -> Result<Vec<Var>> {
    let ragged = Ragged::from_lengths(data, &[lengths])?;
    let shares = ragged.map(|rows| sum(rows, &[1], false))?.softmax()?;
    let pooled = ragged.pool(SequencePooling::Max)?;
    let zero = zeros_like(&pooled)?;
    let (last, sums) = ragged.scan(&[&zero], true, |carried, row| {
        let next = tanh(&(&carried[0] + row))?;
        Ok((vec![next.clone()], vec![next]))
    })?;
    let joined = Ragged::join(&[&ragged, &sums[0]])?;
    let expanded = ragged.expand(&pooled)?;
    Ok(vec![
        shares.data,
        pooled,
        last[0].clone(),
        joined.data,
        joined.lengths[0].clone(),
        expanded.data,
        ragged.row(-1)?,
        ragged.padded(Some(&Var::scalar(7.0)))?,
    ])
}

fn sequences(lengths: &[i64]) -> Result<(Var, Var)> {
    let rows: usize = lengths.iter().map(|&length| length as usize).sum();
    let elements: Vec<f64> = (0..2 * rows).map(|i| (i as f64 * 0.37).sin()).collect();
    Ok((Var::of(&elements, &[rows, 2])?, Var::of(lengths, &[lengths.len()])?))
}

#[test]
fn one_program_serves_all_lengths() -> Result<()> {
    let (rows, n) = (Dim::symbol("rows")?, Dim::symbol("n")?);
    let types = [
        ("data", Type::new(DType::F64, &[rows, Dim::size(2)])?),
        ("lengths", Type::new(DType::I64, &[n])?),
    ];
    let program = Program::build(&types, |x| model(&x[0], &x[1]))?;
    let read = Program::parse(&program.to_string(), &registry())?;
    for lengths in [&[2, 0, 3][..], &[1], &[4, 4], &[0, 1, 0]] {
        let (data, lengths) = sequences(lengths)?;
        let expected = model(&data, &lengths)?;
        for found in [program.apply(&[&data, &lengths])?, read.apply(&[&data, &lengths])?] {
            for (a, b) in expected.iter().zip(&found) {
                assert_eq!(a.ty(), b.ty());
                assert_eq!(a.tensor()?.to_f64s(), b.tensor()?.to_f64s());
            }
        }
    }
    Ok(())
}

#[test]
fn levels() -> Result<()> {
    let data = Var::of(&[1.0, 2.0, 3.0, 4.0], &[4])?;
    let offsets = [Var::of(&[0i64, 2, 3], &[3])?, Var::of(&[0i64, 1, 3, 4], &[4])?];
    let ragged = Ragged::from_offsets(&data, &[&offsets[0], &offsets[1]])?;
    assert_eq!(ragged.row(0)?.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
    let taken = ragged.take(&Var::of(&[1i64, 0], &[2])?)?;
    assert_eq!(taken.data.to_vec::<f64>()?, [4.0, 1.0, 2.0, 3.0]);
    assert_eq!(taken.lengths[1].to_vec::<i64>()?, [1, 1, 2]);
    let rows = [Var::of(&[1.0], &[1])?, Var::of(&[2.0, 3.0], &[2])?];
    let made = Ragged::from_rows(&[&rows[0], &rows[1]])?;
    assert_eq!(made.lengths[0].to_vec::<i64>()?, [1, 2]);
    Ok(())
}

#[test]
fn wrong_lengths_are_refused() -> Result<()> {
    let data = Var::of(&[1.0, 2.0], &[2])?;
    let ragged = Ragged::from_lengths(&data, &[&Var::of(&[3i64], &[1])?])?;
    let fault = ragged.softmax().unwrap_err().to_string();
    assert!(fault.contains("add up to 3, but there are 2 rows"), "{fault}");
    assert!(Ragged::from_lengths(&data, &[]).is_err());
    Ok(())
}
