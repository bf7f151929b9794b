//! From the bytes of a message to a program. Nothing in them is trusted.

use std::collections::HashMap;
use std::sync::Arc;

use fluvial_tensor::{DType, Dim, Error, Loc, Marks, Phase, Result, Tensor, Type};
use prost::Message;

use super::checksum;
use super::elements::Elements;
use super::generated::{self as message, size, value};
use super::{phase_number, role_number};
use crate::attrs::{Attr, Attrs};
use crate::block::{Block, Call, ValueId};
use crate::program::{Program, Role, StateDecl};
use crate::registry::Registry;
use crate::text::check_version;
use crate::verify::MAX_NESTING;

/// Names of attributes are copied for each use, so they may not be long.
const MAX_ATTRIBUTE_NAME: usize = 255;

/// The program as the bytes say; only the verifier can tell whether it is in order.
pub(super) fn program(bytes: &[u8], registry: &Registry) -> Result<Program> {
    let header = message::Header::decode(bytes).map_err(not_a_program)?;
    if header.format == 0 {
        return Err(Error::parse(
            "the bytes are not a program: they have no version of the format",
        )
        .remedy("a program in text form ends in `.fl`, one in binary form in `.flb`"));
    }
    check_version(header.format.into())?;
    let message = message::Program::decode(bytes).map_err(not_a_program)?;
    if message.is_checked || message.checksum != 0 {
        checksum::verify(bytes)?;
    }
    let mut reader = Reader::new(registry, message.strings);
    reader.types = message.types.iter().map(|ty| reader.ty(ty)).collect::<Result<_>>()?;
    for location in &message.locations {
        let loc = reader.location(location)?;
        reader.locations.push(loc);
    }
    for (index, block) in message.blocks.into_iter().enumerate() {
        let block = reader.block(block).map_err(|error| error.note(format!("in block {index}")))?;
        reader.blocks.push(Some(block));
    }
    let mut program = Program::default();
    for state in &message.states {
        let name = reader.string(state.name)?;
        let role = Role::ALL.into_iter().find(|&role| role_number(role) as i32 == state.role);
        let role = role.ok_or_else(|| missing("role", state.role))?;
        let decl = StateDecl::new(reader.type_at(state.r#type)?, role);
        if program.states.insert(name.clone(), decl).is_some() {
            return Err(Error::parse(format!("state `{name}` is declared twice")));
        }
    }
    program.inputs = reader.all_strings(&message.inputs)?;
    program.outputs = reader.all_strings(&message.outputs)?;
    if message.startup != 0 {
        program.startup = reader.take_block(message.startup)?.0;
    }
    program.main = reader.take_block(message.main)?.0;
    Ok(program)
}

fn not_a_program(error: prost::DecodeError) -> Error {
    Error::parse(format!("the bytes are not a program, or they are damaged: {error}"))
        .source_error(Box::new(error))
}

#[cold]
fn missing(table: &str, index: impl std::fmt::Display) -> Error {
    Error::parse(format!("the program refers to {table} {index}, which does not exist"))
}

struct Reader<'a> {
    registry: &'a Registry,
    strings: Vec<Arc<str>>,
    types: Vec<Type>,
    locations: Vec<Loc>,
    /// Sizes that were read, by their string.
    sizes: HashMap<u32, Dim>,
    /// Those that nothing refers to yet.
    blocks: Vec<Option<Nested>>,
}

/// A block, and how deep blocks and lists are nested in it.
type Nested = (Block, usize);

impl<'a> Reader<'a> {
    fn new(registry: &'a Registry, strings: Vec<String>) -> Reader<'a> {
        Reader {
            registry,
            strings: strings.into_iter().map(Arc::from).collect(),
            types: Vec::new(),
            locations: Vec::new(),
            sizes: HashMap::new(),
            blocks: Vec::new(),
        }
    }

    fn string(&self, index: u32) -> Result<Arc<str>> {
        at(&self.strings, index).cloned().ok_or_else(|| missing("string", index))
    }

    fn all_strings(&self, indices: &[u32]) -> Result<Vec<Arc<str>>> {
        indices.iter().map(|&index| self.string(index)).collect()
    }

    fn type_at(&self, index: u32) -> Result<Type> {
        at(&self.types, index).copied().ok_or_else(|| missing("type", index))
    }

    fn location_at(&self, index: u32) -> Result<Loc> {
        match index {
            0 => Ok(Loc::Unknown),
            _ => at(&self.locations, index).copied().ok_or_else(|| missing("location", index)),
        }
    }

    /// A block can stand in one place only, so that a program is no larger than its file.
    fn take_block(&mut self, index: u32) -> Result<Nested> {
        let slot = (index as usize).checked_sub(1).and_then(|i| self.blocks.get_mut(i));
        let slot = slot.ok_or_else(|| missing("block", index))?;
        slot.take().ok_or_else(|| Error::parse(format!("block {index} stands in two places")))
    }

    fn ty(&mut self, ty: &message::Type) -> Result<Type> {
        let mut dims = Vec::with_capacity(ty.sizes.len());
        for size in &ty.sizes {
            dims.push(match size.kind {
                Some(size::Kind::Known(size)) if size <= i64::MAX as u64 => {
                    Dim::size(size as usize)
                }
                Some(size::Kind::Known(size)) => {
                    return Err(Error::parse(format!("{size} is larger than any size")));
                }
                Some(size::Kind::Symbolic(text)) => self.size(text)?,
                None => return Err(Error::parse("a size is neither a number nor symbolic")),
            });
        }
        let lists = 0..ty.lists.min(u8::MAX.into());
        let list = Type::new(dtype(ty.dtype)?, &dims);
        let list = lists.fold(list, |ty, _| ty.and_then(Type::list_of));
        if ty.channel { list.and_then(Type::channel_of) } else { list }
    }

    fn size(&mut self, text: u32) -> Result<Dim> {
        if let Some(&known) = self.sizes.get(&text) {
            return Ok(known);
        }
        let dim = Dim::parse(&self.string(text)?)?;
        self.sizes.insert(text, dim);
        Ok(dim)
    }

    fn location(&self, location: &message::Location) -> Result<Loc> {
        let function = match location.function {
            0 => None,
            index => Some(self.string(index)?),
        };
        let parent = Some(self.location_at(location.parent)?);
        let file = self.string(location.file)?;
        let (line, column) = (location.line, location.column);
        let place = Loc::intern(&file, line, column, function.as_deref(), parent);
        // A phase that a newer version has added is overlooked.
        let known = |phase: &Phase| phase_number(*phase) as i32 == location.phase;
        let phase = Phase::ALL.into_iter().find(known).unwrap_or_default();
        let marks = Marks::default().with_phase(phase);
        Ok(place.with_marks(match location.layer {
            0 => marks,
            index => marks.with_layer(&self.string(index)?),
        }))
    }

    fn block(&mut self, message: message::Block) -> Result<Nested> {
        let mut block = Block::default();
        for ty in message.params {
            block.types.push(self.type_at(ty)?);
        }
        block.n_params = block.types.len();
        let mut depth = 0;
        for (index, call) in message.calls.into_iter().enumerate() {
            let inner = self
                .call(&mut block, call)
                .map_err(|error| error.note(format!("in call {index}")))?;
            depth = depth.max(inner);
        }
        for name in message.names {
            let text = self.string(name.name)?;
            if block.names.insert(name.value, text).is_some() {
                return Err(Error::parse(format!("value %{} has two names", name.value)));
            }
        }
        for &id in &message.results {
            defined(&block, id)?;
        }
        block.results = message.results;
        Ok((block, depth))
    }

    /// Appends a call; says how deep blocks and lists are nested in it.
    fn call(&mut self, block: &mut Block, call: message::Call) -> Result<usize> {
        for &id in &call.inputs {
            defined(block, id)?;
        }
        let mut attrs = Attrs::new();
        let mut depth = 0;
        for attribute in call.attributes {
            let name = self.string(attribute.name)?;
            if name.len() > MAX_ATTRIBUTE_NAME {
                return Err(Error::parse("the name of an attribute is too long"));
            }
            let (attr, inner) = self.value(attribute.value)?;
            depth = depth.max(inner);
            attrs.push(name.to_string(), attr);
        }
        let op = self.registry.make(&self.string(call.op)?, &attrs)?;
        let n_values = block.types.len().saturating_add(call.outputs.len());
        if ValueId::try_from(n_values).is_err() {
            return Err(Error::parse("a block cannot have more than 2^32 values"));
        }
        let first_output = block.types.len() as ValueId;
        for &ty in &call.outputs {
            block.types.push(self.type_at(ty)?);
        }
        let loc = self.location_at(call.location)?;
        let (inputs, n_outputs) = (call.inputs.into(), call.outputs.len());
        block.calls.push(Call { op, inputs, first_output, n_outputs, loc, twin: None });
        Ok(depth)
    }

    /// An attribute, and how deep blocks and lists are nested in it.
    fn value(&mut self, value: Option<message::Value>) -> Result<(Attr, usize)> {
        let kind = value.and_then(|value| value.kind);
        let kind = kind.ok_or_else(|| Error::parse("an attribute has no value"))?;
        let plain = match kind {
            value::Kind::None(_) => Attr::None,
            value::Kind::Boolean(value) => Attr::Bool(value),
            value::Kind::Integer(value) => Attr::Int(value),
            value::Kind::Float(value) => Attr::Float(value),
            value::Kind::Text(text) => Attr::Str(self.string(text)?),
            value::Kind::Size(text) => Attr::Dim(self.size(text)?),
            value::Kind::Dtype(number) => Attr::DType(dtype(number)?),
            value::Kind::Type(index) => Attr::Type(self.type_at(index)?),
            value::Kind::Tensor(tensor) => Attr::Tensor(self.tensor(tensor)?),
            value::Kind::List(list) => return self.list(list),
            value::Kind::Block(index) => {
                let (block, depth) = self.take_block(index)?;
                return Ok((Attr::Block(Arc::new(block)), deeper(depth)?));
            }
        };
        Ok((plain, 0))
    }

    fn list(&mut self, list: message::List) -> Result<(Attr, usize)> {
        let mut items = Vec::new();
        let mut depth = 0;
        for item in list.items {
            let (attr, inner) = self.value(Some(item))?;
            depth = depth.max(inner);
            items.push(attr);
        }
        Ok((Attr::List(items), deeper(depth)?))
    }

    fn tensor(&self, tensor: message::Tensor) -> Result<Tensor> {
        let elements = Elements { bytes: tensor.data, everywhere: tensor.everywhere };
        elements.into_tensor(&self.type_at(tensor.r#type)?)
    }
}

/// The entry of a table whose entries are counted from 1.
fn at<T>(table: &[T], index: u32) -> Option<&T> {
    table.get((index as usize).checked_sub(1)?)
}

fn deeper(depth: usize) -> Result<usize> {
    match depth < MAX_NESTING {
        true => Ok(depth + 1),
        false => {
            let message = format!("blocks and lists are nested more than {MAX_NESTING} deep");
            Err(Error::parse(message))
        }
    }
}

fn defined(block: &Block, id: ValueId) -> Result<()> {
    match (id as usize) < block.types.len() {
        true => Ok(()),
        false => Err(Error::parse(format!("value %{id} is used before it is defined"))),
    }
}

fn dtype(number: i32) -> Result<DType> {
    let named = message::Dtype::try_from(number).ok().map(|known| known.as_str_name());
    let name = named.and_then(|name| name.strip_prefix("DTYPE_")).map(str::to_lowercase);
    name.and_then(|name| DType::parse(&name)).ok_or_else(|| missing("dtype", number))
}
