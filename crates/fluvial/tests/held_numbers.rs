//! Numbers for elements: what an integer type cannot hold is an error, in both modes.

use fluvial::prelude::*;

type Made = fn(&Var) -> Result<Var>;

const REFUSED: [(&str, Made); 7] = [
    ("300 does not fit uint8", |x| full(&x.dims(), 300, DType::U8)),
    ("-1 does not fit uint8", |x| full_like(x, -1.0)),
    ("NaN does not fit uint8", |x| full_like(x, f64::NAN)),
    ("300 does not fit uint8", |x| masked_fill(x, &gt(x, &x.literal(1.0))?, 300)),
    ("300 does not fit uint8", |x| pad(x, &[1], &[0], PadOptions::default().value(300))),
    ("300 does not fit uint8", |x| (x + 300.0).check()),
    ("-1 does not fit uint8", |x| (-1.0 * x).check()),
];

#[test]
fn what_does_not_fit_is_refused() -> Result<()> {
    let x = Var::of(&[1u8, 2, 3], &[3])?;
    for (text, made) in REFUSED {
        let error = made(&x).expect_err(text);
        assert!(error.message().starts_with(text), "{error}");
        assert!(error.to_string().contains("held_numbers.rs"), "{error}");
        assert!(error.remedy_text().is_some(), "{error}");
        let built = Program::build(&[("x", x.ty())], |x| Ok(vec![made(&x[0])?]));
        assert!(built.expect_err(text).message().starts_with(text), "{text}");
    }
    Ok(())
}

#[test]
fn what_fits_is_exact() -> Result<()> {
    let large = (1i64 << 53) + 1;
    let x = Var::of(&[1i64, 2], &[2])?;
    assert_eq!(full_like(&x, large)?.to_vec::<i64>()?, [large; 2]);
    assert_eq!(full(&[Dim::size(1)], u64::MAX, DType::U64)?.to_vec::<u64>()?, [u64::MAX]);
    assert_eq!(full_like(&x, -2.7)?.to_vec::<i64>()?, [-2; 2]);
    let program = Program::build(&[("x", x.ty())], |x| Ok(vec![full_like(&x[0], large)?]))?;
    let outputs = Executor::new(&program, State::new())?.run(&[("x", x.tensor()?.clone())])?;
    assert_eq!(outputs[0].to_vec::<i64>()?, [large; 2]);
    Ok(())
}
