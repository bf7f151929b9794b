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

fn dtype_number(dtype: DType) -> generated::Dtype {
    match dtype {
        DType::Bool => generated::Dtype::Bool,
        DType::U8 => generated::Dtype::U8,
        DType::I8 => generated::Dtype::I8,
        DType::I32 => generated::Dtype::I32,
        DType::I64 => generated::Dtype::I64,
        DType::F16 => generated::Dtype::F16,
        DType::BF16 => generated::Dtype::Bf16,
        DType::F32 => generated::Dtype::F32,
        DType::F64 => generated::Dtype::F64,
    }
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
