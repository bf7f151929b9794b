//! Random programs, and the little generator behind them.

use fluvial_core::{
    Attr, DType, Dim, Loc, Phase, Program, Result, Role, Runs, Tensor, Type, Var, assign_state, at,
    begin_program, bind, bind1, close, declare_state, end_program, program_input, read_state,
    structural, trace_block,
};

use super::ops::{Any, Everything, Found, Repeat, SQUARE, Switch};

/// A generator of numbers that look random (xorshift64*); the same seed gives the same numbers.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (((self.next() >> 32) * n as u64) >> 32) as usize
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// A program of random shape that keeps every invariant.
pub fn program(rng: &mut Rng) -> Program {
    begin_program();
    let mut values = Vec::new();
    for i in 0..1 + rng.below(3) {
        let ty = random_type(rng, &["n", "m"]);
        values.push(program_input(&random_name(rng, i), ty).unwrap());
    }
    let states = rng.below(3);
    for i in 0..states {
        let ty = random_type(rng, &[]);
        let role = *rng.pick(&Role::ALL);
        let name = format!("{i}{}", random_text(rng));
        let value = rng.below(5) as f64;
        let state = declare_state(&name, ty, role, || structural::fill(value, &ty)).unwrap();
        values.push(state);
        if rng.below(2) == 0 {
            let changed = bind1(everything(rng), &[&read_state(&name).unwrap()]).unwrap();
            assign_state(&name, &changed).unwrap();
        }
    }
    grow(rng, &mut values, 0).unwrap();
    let outputs: Vec<(String, Var)> =
        (0..rng.below(4)).map(|i| (random_name(rng, i), rng.pick(&values).clone())).collect();
    let outputs: Vec<(&str, &Var)> =
        outputs.iter().map(|(name, value)| (name.as_str(), value)).collect();
    end_program(&outputs).unwrap()
}

/// Adds random calls.
fn grow(rng: &mut Rng, values: &mut Vec<Var>, depth: usize) -> Result<()> {
    for _ in 0..rng.below(8) {
        let _line = at(random_place(rng));
        let x = rng.pick(values).clone();
        let new = match rng.below(if depth < 3 { 8 } else { 6 }) {
            0 if x.ty().is_float() && !x.dtype().is_stored() => bind1(&SQUARE, &[&x])?,
            1 if !x.ty().dtype().is_bool() && !x.dtype().is_stored() => &x * 2.0 - &x,
            2 => bind1(everything(rng), &[&x])?,
            3 => bind(Found {}, &[&x])?[1].clone(),
            4 => structural::constant(random_tensor(rng))?,
            5 => {
                let dtype = *rng.pick(&DType::ALL);
                let from = if x.dtype().is_complex() { structural::real(&x)? } else { x.clone() };
                structural::cast(&from, dtype)?
            }
            6 => repeat(rng, &x, depth)?,
            7 => switch(rng, &x, depth)?,
            _ => continue,
        };
        let new = new.check()?;
        let name = random_text(rng);
        values.push(if rng.below(3) == 0 { new.named(&name) } else { new });
    }
    Ok(())
}

fn repeat(rng: &mut Rng, x: &Var, depth: usize) -> Result<Var> {
    let body = trace_block(&[x.ty()], |p| {
        let mut inner = vec![p[0].clone(), x.clone()];
        grow(rng, &mut inner, depth + 1)?;
        Ok(vec![p[0].clone()])
    })?;
    let closed = close(vec![body], Runs::Trips)?;
    let inputs: Vec<&Var> = [x].into_iter().chain(&closed.captures).collect();
    bind1(Repeat { trips: rng.next() as i64, body: closed.blocks[0].clone() }, &inputs)
}

fn switch(rng: &mut Rng, x: &Var, depth: usize) -> Result<Var> {
    let mut parts = Vec::new();
    for _ in 0..1 + rng.below(3) {
        parts.push(trace_block(&[x.ty()], |p| {
            grow(rng, &mut vec![p[0].clone(), x.clone()], depth + 1)?;
            Ok(vec![p[0].clone()])
        })?);
    }
    let closed = close(parts, Runs::One)?;
    let which = Var::scalar(rng.below(9) as i64);
    let inputs: Vec<&Var> = [&which, x].into_iter().chain(&closed.captures).collect();
    bind1(Switch { branches: closed.blocks.clone() }, &inputs)
}

fn everything(rng: &mut Rng) -> Everything {
    Everything {
        flag: rng.below(2) == 0,
        int: rng.next() as i64,
        float: f64::from_bits(rng.next()),
        floats: (0..rng.below(3)).map(|_| f64::from_bits(rng.next())).collect(),
        text: random_text(rng).into(),
        tensor: random_tensor(rng),
        ty: random_type(rng, &["p", "q"]),
        any: Any(random_attr(rng, 3)),
        present: (rng.below(2) == 0).then(|| rng.next() as i64),
        ..Everything::plain()
    }
}

fn random_attr(rng: &mut Rng, depth: usize) -> Attr {
    match rng.below(if depth > 0 { 8 } else { 6 }) {
        0 => Attr::None,
        1 => Attr::Bool(rng.below(2) == 0),
        2 => Attr::Int(rng.next() as i64),
        3 => Attr::Float(f64::from_bits(rng.next())),
        4 => Attr::Str(random_text(rng).into()),
        5 => Attr::Tensor(random_tensor(rng)),
        _ => Attr::List((0..rng.below(4)).map(|_| random_attr(rng, depth - 1)).collect()),
    }
}

fn random_type(rng: &mut Rng, symbols: &[&str]) -> Type {
    let dims: Vec<Dim> = (0..rng.below(4))
        .map(|_| match symbols.is_empty() || rng.below(2) == 0 {
            true => Dim::size(rng.below(5)),
            false => Dim::symbol(rng.pick::<&str>(symbols)).unwrap(),
        })
        .collect();
    Type::new(*rng.pick(&DType::ALL), &dims).unwrap()
}

fn random_tensor(rng: &mut Rng) -> Tensor {
    let dims: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(5)).collect();
    let numel = dims.iter().product();
    let numbers: Vec<f64> = (0..numel).map(|_| f64::from_bits(rng.next())).collect();
    let tensor = Tensor::from_f64s(*rng.pick(&DType::ALL), &numbers, &dims).unwrap();
    match dims.len() {
        2.. => tensor.transpose(0, 1).unwrap(),
        _ => tensor,
    }
}

fn random_place(rng: &mut Rng) -> Loc {
    let mut place = Loc::Unknown;
    for _ in 0..rng.below(4) {
        let function = random_text(rng);
        let function = (rng.below(2) == 0).then_some(&*function);
        let file = random_text(rng);
        place =
            Loc::intern(&file, rng.below(100) as u32, rng.below(3) as u32, function, Some(place));
        if rng.below(2) == 0 {
            place = place.with_phase(*rng.pick(&Phase::ALL)).with_layer(&random_text(rng));
        }
    }
    place
}

/// A name that no other has, plain or not.
fn random_name(rng: &mut Rng, i: usize) -> String {
    format!("{}{i}", random_text(rng))
}

fn random_text(rng: &mut Rng) -> String {
    const PIECES: &[&str] = &[
        "a", "B", "_", ".", "7", " ", "\"", "\\", "\n", "\u{1b}", "é", "🦀", "//", "#", "%", "at",
        "/x-", "0", "]", "{",
    ];
    (0..rng.below(4)).map(|_| *rng.pick(PIECES)).collect()
}
