//! From a program to its message.

use std::collections::HashMap;
use std::sync::Arc;

use fluvial_tensor::{Dim, Loc, Tensor, Type};

use super::elements::Elements;
use super::generated::{self as message, size, value};
use super::{dtype_number, phase_number, role_number};
use crate::attrs::Attr;
use crate::block::{Block, Call, ValueId};
use crate::program::Program;
use crate::text::FORMAT_VERSION;

pub(super) fn program(program: &Program) -> message::Program {
    let mut writer = Writer::default();
    writer.out.format = FORMAT_VERSION;
    writer.out.is_checked = true;
    for (name, decl) in &program.states {
        let role = role_number(decl.role).into();
        let state = message::State { name: writer.string(name), r#type: writer.ty(&decl.ty), role };
        writer.out.states.push(state);
    }
    writer.out.inputs = program.inputs.iter().map(|name| writer.string(name)).collect();
    writer.out.outputs = program.outputs.iter().map(|name| writer.string(name)).collect();
    if program.startup != Block::default() {
        writer.out.startup = writer.block(&program.startup);
    }
    writer.out.main = writer.block(&program.main);
    writer.out
}

/// The message so far, and where in its tables things stand, counted from 1.
#[derive(Default)]
struct Writer {
    out: message::Program,
    strings: HashMap<Arc<str>, u32>,
    types: HashMap<Type, u32>,
    locations: HashMap<LocationKey, u32>,
}

/// File, line, column, function, parent, phase, layer.
type LocationKey = (u32, u32, u32, u32, u32, i32, u32);

impl Writer {
    fn string(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        self.out.strings.push(text.to_string());
        let index = self.out.strings.len() as u32;
        self.strings.insert(text.into(), index);
        index
    }

    fn ty(&mut self, ty: &Type) -> u32 {
        if let Some(&known) = self.types.get(ty) {
            return known;
        }
        let sizes = ty.dims().iter().map(|dim| self.size(*dim)).collect();
        let dtype = dtype_number(ty.dtype()).into();
        let (lists, channel) = (ty.lists().into(), ty.is_channel());
        self.out.types.push(message::Type { dtype, sizes, lists, channel });
        let index = self.out.types.len() as u32;
        self.types.insert(*ty, index);
        index
    }

    fn size(&mut self, dim: Dim) -> message::Size {
        let kind = match dim.value() {
            Some(size) => size::Kind::Known(size as u64),
            None => size::Kind::Symbolic(self.string(&dim.to_string())),
        };
        message::Size { kind: Some(kind) }
    }

    fn location(&mut self, loc: Loc) -> u32 {
        let known = loc.is_known().then_some(loc);
        let chain: Vec<Loc> = std::iter::successors(known, |loc| loc.parent()).collect();
        chain.into_iter().rev().fold(0, |parent, loc| {
            let file = self.string(&loc.file());
            let function = loc.function().map_or(0, |name| self.string(&name));
            let layer = loc.layer().map_or(0, |name| self.string(&name));
            let (line, column) = (loc.line(), loc.column());
            let phase: i32 = phase_number(loc.phase()).into();
            let key = (file, line, column, function, parent, phase, layer);
            *self.locations.entry(key).or_insert_with(|| {
                let (file, line, column, function, parent, phase, layer) = key;
                let location =
                    message::Location { file, line, column, function, parent, phase, layer };
                self.out.locations.push(location);
                self.out.locations.len() as u32
            })
        })
    }

    /// Adds the blocks nested in it first.
    fn block(&mut self, block: &Block) -> u32 {
        let n_params = block.n_params.min(block.types.len());
        let params = block.types[..n_params].iter().map(|ty| self.ty(ty)).collect();
        let calls = block.calls.iter().map(|call| self.call(block, call)).collect();
        let names = block.names.iter();
        let names =
            names.map(|(&value, name)| message::ValueName { value, name: self.string(name) });
        let names = names.collect();
        let results = block.results.clone();
        self.out.blocks.push(message::Block { params, calls, results, names });
        self.out.blocks.len() as u32
    }

    /// The type of a value; 0, which a reader refuses, if a faulty block has none for it.
    fn type_of(&mut self, block: &Block, id: ValueId) -> u32 {
        block.types.get(id as usize).map_or(0, |ty| self.ty(ty))
    }

    fn call(&mut self, block: &Block, call: &Call) -> message::Call {
        // A call of a faulty program may claim more outputs than there are values.
        let n_outputs = call.n_outputs.min(block.types.len());
        let outputs = (0..n_outputs).map(|i| call.first_output.wrapping_add(i as ValueId));
        let attributes = call.op.attrs();
        let attributes = attributes.iter().map(|(name, attr)| {
            let value = Some(self.value(attr));
            message::Attribute { name: self.string(name), value }
        });
        message::Call {
            attributes: attributes.collect(),
            op: self.string(call.op.name()),
            inputs: call.inputs.to_vec(),
            outputs: outputs.map(|id| self.type_of(block, id)).collect(),
            location: self.location(call.loc),
        }
    }

    fn value(&mut self, attr: &Attr) -> message::Value {
        let kind = match attr {
            Attr::None => value::Kind::None(true),
            Attr::Bool(value) => value::Kind::Boolean(*value),
            Attr::Int(value) => value::Kind::Integer(*value),
            Attr::Float(value) => value::Kind::Float(*value),
            Attr::Str(text) => value::Kind::Text(self.string(text)),
            Attr::Dim(dim) => value::Kind::Size(self.string(&dim.to_string())),
            Attr::DType(dtype) => value::Kind::Dtype(dtype_number(*dtype).into()),
            Attr::Type(ty) => value::Kind::Type(self.ty(ty)),
            Attr::Tensor(tensor) => value::Kind::Tensor(self.tensor(tensor)),
            Attr::List(items) => {
                let items = items.iter().map(|item| self.value(item)).collect();
                value::Kind::List(message::List { items })
            }
            Attr::Block(block) => value::Kind::Block(self.block(block)),
        };
        message::Value { kind: Some(kind) }
    }

    fn tensor(&mut self, tensor: &Tensor) -> message::Tensor {
        let Elements { bytes, everywhere } = Elements::of(tensor);
        message::Tensor { r#type: self.ty(&tensor.ty()), data: bytes, everywhere }
    }
}
