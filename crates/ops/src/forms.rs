//! The spellings with small ops that are found, and run as the one op that they are.

use fluvial_core::Form;

/// The forms, in the order in which they are tried. What has been found is there for those that come later
/// in a program: softmax for attention, sigmoid for silu.
pub static FORMS: &[Form] = &[
    crate::net::softmax::FORM,
    crate::net::log_softmax::FORM,
    crate::unary::sigmoid::FORM,
    crate::unary::silu::FORM,
    crate::unary::gelu::FORM,
    crate::norm::normalise::FORM,
    crate::net::attention::FORM,
    crate::loss::class_losses::FORM,
];
