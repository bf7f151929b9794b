//! `complex`: numbers from their parts.

use crate::prelude::*;

/// The complex numbers with these real and imaginary parts, broadcast. Parts of `f64` make `c128`, others `c64`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let z = complex(&Var::scalar(3.0f64), &Var::scalar(4.0f64))?;
/// assert_eq!(abs(&z)?.item::<f64>()?, 5.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn complex(real: &Var, imag: &Var) -> Result<Var> {
    for part in [real, imag] {
        if part.dtype().is_complex() {
            return Err(
                Error::dtype("the parts of a complex number are real").at(scope::user_line())
            );
        }
    }
    bind1(&COMPLEX, &[real, imag])
}

/// The op behind [`complex`].
pub static COMPLEX: Elementwise = Elementwise::binary(
    "complex",
    |a, b| a.complex(b),
    Keeps::NOTHING,
    |p| grads![p => real(&p.dy()), imag(&p.dy())],
)
.domain(Domain::Float)
.gives_complex();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "complex",
    || (&COMPLEX).into(),
    || {
        let (real, imag) = (f64s(&[1.0, -2.0], &[2]), f64s(&[0.5], &[]));
        let z = [Complex::new(1.0, 0.5), Complex::new(-2.0, 0.5)];
        let z = Tensor::from_slice(&z, &[2]).expect("two elements");
        vec![Sample::new(&COMPLEX, [real, imag]).gives([z])]
    },
);
