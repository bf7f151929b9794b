//! Functions that are linear, of complex numbers: by those of real and imaginary parts.

use super::complex;
use crate::prelude::*;

/// A linear function of a value, given the one of real values.
#[track_caller]
pub(crate) fn linear(x: &Var, f: impl Fn(&Var) -> Result<Var>) -> Result<Var> {
    match x.dtype().is_complex() {
        true => complex(&f(&real(x)?)?, &f(&imag(x)?)?),
        false => f(x),
    }
}

/// A function that is linear in each of two values, given the one of real values.
#[track_caller]
pub(crate) fn bilinear(a: &Var, b: &Var, f: impl Fn(&Var, &Var) -> Result<Var>) -> Result<Var> {
    if !a.dtype().is_complex() {
        return linear(b, |b| f(a, b));
    }
    if !b.dtype().is_complex() {
        return linear(a, |a| f(a, b));
    }
    let ((ar, ai), (br, bi)) = ((real(a)?, imag(a)?), (real(b)?, imag(b)?));
    let re = sub(&f(&ar, &br)?, &f(&ai, &bi)?)?;
    let im = add(&f(&ar, &bi)?, &f(&ai, &br)?)?;
    complex(&re, &im)
}
