//! Programs for the tests of files and verifier: a model as people write it, one with everything
//! that is hard to write down, and random ones.
#![allow(dead_code)]

pub mod ops;
pub mod random;

use fluvial_core::{
    Attr, DType, Dim, Loc, OpRef, Program, Result, Role, Runs, Tensor, Type, Var, assign_state, at,
    begin_program, bind, bind1, close, declare_state, end_program, program_input, structural,
    trace_block,
};
use ops::{Any, Empty, Everything, Found, Odd, Pop, Push, Repeat, Return, SQUARE, Switch};

pub fn ty(text: &str) -> Type {
    Type::parse(text).unwrap()
}

pub fn line(line: u32, column: u32) -> Loc {
    Loc::intern("src/model.rs", line, column, None, None)
}

/// A model as people write it: parameters, a loop, a gradient.
pub fn model() -> Program {
    begin_program();
    let x = program_input("x", ty("f32[batch, 2]")).unwrap();
    let _line = at(line(10, 5));
    let init = || structural::fill(0.5, &ty("f32[2]"));
    let scale = declare_state("fc.scale", ty("f32[2]"), Role::Parameter, init).unwrap();
    let init = || structural::constant(Tensor::scalar(0i64));
    let steps = declare_state("steps", ty("i64[]"), Role::Counter, init).unwrap();
    drop(_line);

    let _line = at(line(11, 9));
    let scaled = (&x * &scale).named("scaled");
    drop(_line);

    let _line = at(line(12, 9));
    let body = trace_block(&[scaled.ty()], |p| {
        let _line = at(line(13, 13));
        Ok(vec![bind1(&SQUARE, &[&p[0]])? + &x])
    });
    let closed = close(vec![body.unwrap()], Runs::Trips).unwrap();
    let repeat = Repeat { trips: 3, body: closed.blocks[0].clone() };
    let inputs: Vec<&Var> = [&scaled].into_iter().chain(&closed.captures).collect();
    let y = bind1(repeat, &inputs).unwrap();
    drop(_line);

    let _line = at(line(16, 9));
    let loss = structural::sum_to(&y, &[]).unwrap();
    assign_state("steps", &(&steps + 1.0)).unwrap();
    end_program(&[("loss", &loss), ("scaled", &scaled)]).unwrap()
}

/// A program with a gradient appended.
pub fn trained() -> Program {
    let program = Program::build(&[("x", ty("f32[n, 3]"))], |x| {
        let init = || structural::fill(1.0, &ty("f32[3]"));
        let w = declare_state("w", ty("f32[3]"), Role::Parameter, init)?;
        Ok(vec![structural::sum_to(&(&x[0] * &w / 2.0), &[])?])
    });
    program.unwrap().append_backward("out0", &[]).unwrap()
}

/// What is hard to write down.
pub fn hard() -> Program {
    begin_program();
    let odd = "an \"odd\" name\n\u{202e}";
    let init = || structural::constant(Tensor::from_slice(&[true, false], &[2])?);
    let _ = declare_state(odd, ty("bool[2]"), Role::Buffer, init).unwrap();
    let init = || structural::constant(Tensor::from_slice::<u8>(&[], &[0])?);
    let _ = declare_state("0.w", ty("u8[0]"), Role::Optimizer, init).unwrap();
    let x = program_input("x", ty("f32[batch, (h - 3)//2 + 1, h]")).unwrap();
    let y = program_input("two words", ty("f64[n, batch]")).unwrap();

    let places = [
        Loc::Unknown,
        Loc::intern("C:\\my models\\a.py", 3, 0, Some("<lambda>"), None),
        Loc::intern("a//b.py", 0, 0, None, Some(Loc::intern("", 1, 2, Some("f"), None))),
        Loc::intern("a-b/c.py", 7, 1, Some("g.h"), Some(line(1, 1))),
    ];
    let mut z = y.clone();
    for (place, attr) in places.into_iter().zip(attributes()) {
        let _line = at(place);
        let op = Everything { any: Any(attr), sizes: sizes(), ..Everything::plain() };
        z = bind1(op, &[&z]).unwrap();
    }
    for (i, attr) in attributes().into_iter().enumerate() {
        let texts = ["", "a\\b\"c", "\0\t\r\n", "é 漢 🦀", "'", "\u{7f}\u{feff}\u{200b}"];
        let mut op = Everything { any: Any(attr), ..Everything::plain() };
        op.text = texts[i % texts.len()].into();
        op.size = Dim::parse("2*n*batch + 1").unwrap();
        op.floats =
            vec![-0.0, f64::INFINITY, f64::NAN, f64::from_bits(0xfff8_0000_0000_0001), 1e300];
        op.ty = ty("list list f32[n, k]");
        op.tensors = if i == 0 { tensors() } else { vec![] };
        z = bind1(op, &[&z]).unwrap().named("z");
    }
    bind(Return { r#in: 1 }, &[&z]).unwrap();
    let z = bind1(Odd {}, &[&z]).unwrap();

    let found = bind(Found {}, &[&x]).unwrap();
    let again = bind(Found {}, &[&found[1]]).unwrap();
    let list = bind1(Empty { element: again[1].ty() }, &[]).unwrap();
    let list = bind1(Push {}, &[&list, &again[1]]).unwrap();
    let popped = bind(Pop {}, &[&list]).unwrap();
    let branches = (0..3).map(|i| {
        let outer = &popped[1];
        trace_block(&[z.ty()], move |p| {
            let inner = nested(&p[0], i)?;
            Ok(vec![inner, outer * 1.5, bind(Found {}, &[outer])?[1].clone()])
        })
    });
    let closed = close(branches.collect::<Result<_>>().unwrap(), Runs::One).unwrap();
    let which = Var::scalar(1i32);
    let inputs: Vec<&Var> = [&which, &z].into_iter().chain(&closed.captures).collect();
    let switched = bind(Switch { branches: closed.blocks.clone() }, &inputs).unwrap();
    let outputs = [("", &switched[0]), ("grad(fc.w)", &switched[1]), ("x", &x), ("z", &z)];
    end_program(&outputs).unwrap()
}

/// Repeats inside repeats.
fn nested(x: &Var, depth: usize) -> Result<Var> {
    if depth == 0 {
        return Ok(x.clone());
    }
    let body =
        trace_block(&[x.ty()], |p| Ok(vec![nested(&p[0].clone().named("inner"), depth - 1)?]))?;
    let closed = close(vec![body], Runs::Trips)?;
    bind1(OpRef::new(Repeat { trips: depth as i64, body: closed.blocks[0].clone() }), &[x])
}

fn sizes() -> Vec<Vec<Dim>> {
    vec![vec![], vec![Dim::size(3), Dim::parse("batch").unwrap()]]
}

/// Attributes of every shape.
pub fn attributes() -> Vec<Attr> {
    let nested = (0..20).fold(Attr::List(vec![]), |inner, i| match i % 3 {
        0 => Attr::List(vec![inner, Attr::Int(i)]),
        _ => Attr::List(vec![inner]),
    });
    vec![
        Attr::Int(i64::MIN),
        Attr::Float(1.0),
        Attr::Float(f64::from_bits(0x7ff0_0000_0000_0001)),
        Attr::Float(5e-324),
        Attr::DType(DType::I8),
        Attr::Type(ty("bool[]")),
        Attr::Str("none".into()),
        Attr::Dim(Dim::parse("(3*n - batch)//(n*n) + 1").unwrap()),
        nested,
        Attr::List(vec![Attr::None, Attr::Bool(false), Attr::List(vec![]), Attr::Str("]".into())]),
    ]
}

/// Constants of every dtype, short and long, contiguous and not.
pub fn tensors() -> Vec<Tensor> {
    let mut tensors = Vec::new();
    for dtype in DType::ALL {
        let numbers: Vec<f64> = (0..48).map(|i| f64::from(i % 7) * 0.3 - 0.5).collect();
        let base = Tensor::from_f64s(dtype, &numbers, &[4, 12]).unwrap();
        tensors.extend([
            base.transpose(0, 1).unwrap(),
            base.slice(1, 10, 4, -2).unwrap(),
            base.slice(0, 1, 1, 1).unwrap(),
            base.slice(0, 0, 0, 1).unwrap(),
            base.index(0, 0).unwrap().index(0, 3).unwrap(),
            base.index(0, 0).unwrap().index(0, 3).unwrap().expand(&[100, 3]).unwrap(),
            base.index(0, 0).unwrap().expand(&[5, 12]).unwrap(),
        ]);
    }
    let specials = [f32::NAN, f32::from_bits(0xff80_0001), -0.0, f32::INFINITY, f32::NEG_INFINITY];
    tensors.push(Tensor::from_slice(&specials, &[5]).unwrap());
    tensors.push(Tensor::from_slice(&specials.repeat(10), &[2, 25]).unwrap());
    tensors
}
