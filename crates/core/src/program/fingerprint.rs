//! A number that tells programs apart, whatever lines they were written on.

use std::fmt::Write;

use super::Program;
use crate::attrs::Attr;
use crate::block::Block;

impl Program {
    /// A number that is the same for programs that do the same in the same way. The lines and the names of
    /// values have no part in it.
    pub fn fingerprint(&self) -> u64 {
        self.hash(false)
    }

    /// The same, and also the same for programs whose loops over readers go through their data a different number of
    /// times: a run of one can go on as a run of the other.
    pub fn fingerprint_of_run(&self) -> u64 {
        self.hash(true)
    }

    fn hash(&self, is_of_run: bool) -> u64 {
        let mut hash = Hash { sum: 0xcbf2_9ce4_8422_2325, is_of_run };
        for (name, decl) in &self.states {
            let _ = write!(hash, "{name} {} {};", decl.ty, decl.role.name());
        }
        let _ = write!(hash, "{:?} {:?}", self.inputs, self.outputs);
        hash.block(&self.startup);
        hash.block(&self.main);
        hash.sum
    }
}

/// FNV-1a: the same on every machine and in every version.
struct Hash {
    sum: u64,
    /// Whether the number of epochs has no part in it.
    is_of_run: bool,
}

impl Hash {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.sum = (self.sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn block(&mut self, block: &Block) {
        let _ = write!(self, "({} {:?}", block.n_params, block.results);
        for ty in &block.types {
            let _ = write!(self, " {ty}");
        }
        for call in &block.calls {
            let _ = write!(self, ";{} {:?} {}", call.op.name(), call.inputs, call.n_outputs);
            let is_left_out =
                |name: &str| self.is_of_run && call.op.reader().is_some() && name == "epochs";
            let attrs = call.op.attrs();
            let attrs: Vec<_> = attrs.iter().filter(|(name, _)| !is_left_out(name)).collect();
            for (name, attr) in attrs {
                self.bytes(name.as_bytes());
                self.attr(attr);
            }
        }
        self.bytes(b")");
    }

    fn attr(&mut self, attr: &Attr) {
        match attr {
            Attr::None => self.bytes(b"-"),
            Attr::Bool(bool) => self.bytes(&[u8::from(*bool)]),
            Attr::Int(int) => self.bytes(&int.to_le_bytes()),
            Attr::Float(float) => self.bytes(&float.to_bits().to_le_bytes()),
            Attr::Str(text) => self.bytes(text.as_bytes()),
            Attr::Dim(dim) => drop(write!(self, "{dim}")),
            Attr::DType(dtype) => drop(write!(self, "{dtype}")),
            Attr::Type(ty) => drop(write!(self, "{ty}")),
            Attr::Tensor(tensor) => {
                let _ = write!(self, "{}", tensor.ty());
                for number in tensor.to_f64s() {
                    self.bytes(&number.to_bits().to_le_bytes());
                }
            }
            Attr::List(items) => items.iter().for_each(|item| self.attr(item)),
            Attr::Block(block) => self.block(block),
        }
        self.bytes(b",");
    }
}

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}
