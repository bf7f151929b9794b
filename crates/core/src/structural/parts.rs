//! `conj`, `real`, `imag`: what gradients of complex numbers need.
//!
//! The cotangent of a complex value is that of PyTorch: what the real and the imaginary part get, as one number. So
//! the rule of a function that has a complex derivative multiplies by the conjugate of the derivative, and what a
//! real input gets is the real part, which the reverse walk takes.

use fluvial_tensor::{Complex, Result, Tensor};

use super::arithmetic::f64s;
use super::{MUL, fill};
use crate::bind::bind1;
use crate::family::Elementwise;
use crate::grad::Keeps;
use crate::grads;
use crate::op::OpRef;
use crate::registry::OpDef;
use crate::sample::Sample;
use crate::var::Var;

/// The complex conjugate; real numbers are their own.
#[track_caller]
pub fn conj(x: &Var) -> Result<Var> {
    match x.dtype().is_complex() {
        true => bind1(&CONJ, &[x]),
        false => x.clone().check(),
    }
}

/// The real part of complex numbers; real ones stay as they are.
#[track_caller]
pub fn real(x: &Var) -> Result<Var> {
    match x.dtype().is_complex() {
        true => bind1(&REAL, &[x]),
        false => x.clone().check(),
    }
}

/// The imaginary part of complex numbers; zero for real ones.
#[track_caller]
pub fn imag(x: &Var) -> Result<Var> {
    match x.dtype().is_complex() {
        true => bind1(&IMAG, &[x]),
        false => fill(0.0, &x.clone().check()?.ty()),
    }
}

/// The op behind [`conj`].
pub static CONJ: Elementwise =
    Elementwise::unary("conj", |x| x.conj(), Keeps::NOTHING, |p| grads![p => conj(&p.dy())])
        .complex();

/// The op behind [`real`].
pub static REAL: Elementwise =
    Elementwise::unary("real", |x| x.real_part(), Keeps::NOTHING, |p| grads![p => p.dy()])
        .complex()
        .gives_part();

/// The op behind [`imag`].
pub static IMAG: Elementwise = Elementwise::unary(
    "imag",
    |x| x.imag_part(),
    Keeps::NOTHING,
    |p| grads![p => bind1(&MUL, &[&p.dy(), &p.dy().imaginary_unit()])],
)
.complex()
.gives_part();

pub(super) const CONJ_DEF: OpDef =
    OpDef::fixed("conj", || OpRef::Static(&CONJ), || samples(&CONJ, |x| x[0]));
pub(super) const REAL_DEF: OpDef =
    OpDef::fixed("real", || OpRef::Static(&REAL), || samples(&REAL, |x| x[0]));
pub(super) const IMAG_DEF: OpDef = OpDef::fixed(
    "imag",
    || OpRef::Static(&IMAG),
    || {
        let z = Tensor::from_slice(&[Complex::new(1.0, -2.0), Complex::new(0.0, 0.5)], &[2]);
        let sample = |z| Sample::new(&IMAG, [z]).gives([f64s(&[-2.0, 0.5], &[2])]);
        z.map(sample).into_iter().collect()
    },
);

fn samples(op: &'static Elementwise, reference: fn(&[f64]) -> f64) -> Vec<Sample> {
    let x = f64s(&[0.0, -1.5, 2.0, 1e-3], &[2, 2]);
    vec![Sample::new(op, [x]).gives_scalar(reference)]
}
