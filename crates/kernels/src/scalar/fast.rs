//! Which operations have a function of their own in `f32`.

use super::activation;
use super::compute::{VisitBinary, VisitUnary};
use super::float::Fast;
use super::inst::{Binary, Unary};
use crate::math::{exp, log, normal, pieces, sigmoid, trig};

/// The fast unary functions.
#[inline(always)]
pub(crate) fn unary<V: VisitUnary<f32>>(op: Unary, visitor: V) -> Fast<V::Output, V> {
    Ok(match op {
        Unary::Exp => visitor.visit_many(exp::exp, exp::exp_of_many),
        Unary::Exp2 => visitor.visit(exp::exp2),
        Unary::Expm1 => visitor.visit(exp::expm1),
        Unary::Tanh => visitor.visit(sigmoid::tanh),
        Unary::Erf => visitor.visit(normal::erf),
        Unary::Erfc => visitor.visit_many(pieces::erfc, pieces::erfc_of_many),
        Unary::Log => visitor.visit_usual(log::is_usual, log::log, f32::ln),
        Unary::Log2 => visitor.visit_usual(log::is_positive, log::log2, f32::log2),
        Unary::Log10 => visitor.visit_usual(log::is_positive, log::log10, wide(f64::log10)),
        Unary::Log1p => visitor.visit_usual(log::is_above_minus_one, log::log1p, wide(f64::ln_1p)),
        Unary::Sigmoid => visitor.visit(sigmoid::sigmoid),
        Unary::Silu => visitor.visit_many(pieces::silu, pieces::silu_of_many),
        Unary::Mish => {
            visitor.visit_usual(sigmoid::is_above_minus_80, sigmoid::mish, wide(activation::mish))
        }
        Unary::Gelu => visitor.visit_many(pieces::gelu, pieces::gelu_of_many),
        Unary::GeluTanh => visitor.visit(sigmoid::gelu_tanh),
        Unary::Sin => visitor.visit_usual(trig::is_moderate_angle, trig::sin, f32::sin),
        Unary::Cos => visitor.visit_usual(trig::is_moderate_angle, trig::cos, f32::cos),
        _ => return Err(visitor),
    })
}

/// The fast binary functions.
#[inline(always)]
pub(crate) fn binary<V: VisitBinary<f32>>(op: Binary, visitor: V) -> Fast<V::Output, V> {
    Ok(match op {
        Binary::Pow => visitor.visit_usual(log::is_usual_power, log::pow, f32::powf),
        Binary::Softplus => {
            let slow = |x: f32, beta: f32| activation::softplus(x as f64, beta as f64) as f32;
            visitor.visit_usual(log::is_moderate_product, log::softplus, slow)
        }
        _ => return Err(visitor),
    })
}

/// A function of `f64`, rounded.
#[inline(always)]
fn wide(f: impl Fn(f64) -> f64) -> impl Fn(f32) -> f32 {
    move |x| f(x as f64) as f32
}
