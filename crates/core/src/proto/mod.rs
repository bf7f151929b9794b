//! The binary form of programs: files that end in `.flb`, a protobuf message that
//! `proto/program.proto` describes. [`Program::save`] and [`Program::load`] handle both forms.

mod checksum;
mod decode;
mod elements;
mod encode;
mod file;

/// The messages, generated from `proto/program.proto`.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
#[rustfmt::skip]
mod generated;

pub(crate) use elements::{Elements, SHORT};

use fluvial_tensor::{DType, Phase, Result};
use prost::Message;

use crate::program::{Program, Role};
use crate::registry::Registry;

impl Program {
    /// The binary form, with a checksum.
    pub fn to_bytes(&self) -> Vec<u8> {
        checksum::sealed(encode::program(self).encode_to_vec())
    }

    /// Reads the binary form and verifies its checksum, if it has one, and the program. `registry` has the ops that it may use.
    ///
    /// Any bytes give a program or an error, in memory that is proportional to their number.
    ///
    /// ```
    /// use fluvial_core::{DType, Program, Registry, Type};
    ///
    /// let ty = Type::of(DType::F32, &[2])?;
    /// let program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * 2.0]))?;
    /// let bytes = program.to_bytes();
    /// assert_eq!(Program::from_bytes(&bytes, &Registry::structural())?, program);
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], registry: &Registry) -> Result<Program> {
        let program = decode::program(bytes, registry)?;
        crate::verify::verify(&program)?;
        Ok(program)
    }
}

/// By its name, which the enum of the format has, too.
fn dtype_number(dtype: DType) -> generated::Dtype {
    let name = format!("DTYPE_{}", dtype.name().to_uppercase());
    generated::Dtype::from_str_name(&name).unwrap_or(generated::Dtype::Unspecified)
}

fn role_number(role: Role) -> generated::Role {
    match role {
        Role::Parameter => generated::Role::Parameter,
        Role::Buffer => generated::Role::Buffer,
        Role::Optimizer => generated::Role::Optimizer,
        Role::Random => generated::Role::Random,
        Role::Counter => generated::Role::Counter,
    }
}

fn phase_number(phase: Phase) -> generated::Phase {
    match phase {
        Phase::Forward => generated::Phase::Forward,
        Phase::Backward => generated::Phase::Backward,
        Phase::Optimizer => generated::Phase::Optimizer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_has_every_element_type() {
        for dtype in DType::ALL {
            assert_ne!(dtype_number(dtype), generated::Dtype::Unspecified, "{dtype}");
        }
    }
}
