//! Lists in C: a number of elements, and elements one behind the other.

use fluvial_core::{Call, DType, Error, ListKernel, Result, Type};

use crate::block::{Emit, Reuse, Walk};
use crate::device::Threads;
use crate::place::{Place, c_type, count_in_c};
use crate::sizes::in_c;
use crate::step::place_of;

/// Where the elements of a list begin.
const HEAD: usize = 64;

impl Emit<'_> {
    pub fn list(
        &mut self,
        walk: &mut Walk<'_>,
        index: usize,
        call: &Call,
        kind: ListKernel,
    ) -> Result<()> {
        let inputs = walk.inputs(call)?;
        let reuse = match kind {
            ListKernel::Push | ListKernel::Pop | ListKernel::Set => Reuse::First(1),
            _ => Reuse::Never,
        };
        let outs = self.outputs(walk, index, reuse)?;
        let plain = match (kind, inputs.last()) {
            (ListKernel::Unstack(_) | ListKernel::Push | ListKernel::Set, Some(last)) => {
                Some(self.plain(last)?)
            }
            _ => None,
        };
        self.kernel_of(Threads::Block, |emit| emit.list_step(call, kind, &inputs, &outs, plain))
    }

    fn list_step(
        &mut self,
        call: &Call,
        kind: ListKernel,
        inputs: &[Place],
        outs: &[Place],
        plain: Option<Place>,
    ) -> Result<()> {
        let plain = || plain.clone().ok_or_else(|| Error::internal("a list lacks its element"));
        let out = &outs[0];
        match kind {
            ListKernel::New => self.clear_list(out),
            ListKernel::Len => {
                let len = self.len(&inputs[0]);
                self.once(&format!("{}[0] = {len};", self.at(out)));
            }
            ListKernel::Push => {
                self.moved(&inputs[0], out)?;
                self.push(call, out, &plain()?)?;
            }
            ListKernel::Pop => {
                let len = self.len(&inputs[0]);
                self.refuse(call, &format!("{len} == 0"), "the list is empty");
                self.element_to(&inputs[0], &format!("{len} - 1"), &outs[1])?;
                self.moved(&inputs[0], out)?;
                self.once(&format!("{} -= 1;", self.len(out)));
            }
            ListKernel::Get => {
                let place = format!("{}[0]", self.at(&inputs[1]));
                self.check_place(call, &inputs[0], &place);
                self.element_to(&inputs[0], &place, out)?;
            }
            ListKernel::Set => {
                let place = format!("{}[0]", self.at(&inputs[1]));
                self.check_place(call, &inputs[0], &place);
                self.moved(&inputs[0], out)?;
                self.set(out, &place, &plain()?)?;
            }
            ListKernel::Stack(len, from_bottom) => {
                let found = self.len(&inputs[0]);
                let wanted = in_c(len);
                self.refuse(
                    call,
                    &format!("{found} != {wanted}"),
                    "the list has another number of elements",
                );
                let position = if from_bottom { "k".into() } else { format!("{wanted} - 1 - k") };
                let element = element(&inputs[0].ty)?;
                self.to.open(&format!("for (int64_t k = 0; k < {wanted}; k++) {{"));
                let (from, count) =
                    (self.data(&inputs[0], &position)?, count_in_c(element.dims())?);
                let c = c_type(element.dtype());
                let to = format!("{} + k * {count}", self.at(out));
                self.copy_bytes(&to, &from, &format!("sizeof({c}) * (size_t){count}"));
                self.to.close(1);
            }
            ListKernel::Unstack(from_bottom) => {
                let plain = plain()?;
                let len = in_c(inputs[0].ty.dim(0));
                self.refuse(call, &format!("{len} > {}", self.capacity), FULL);
                let position = if from_bottom { "k".into() } else { format!("{len} - 1 - k") };
                let element = element(&out.ty)?;
                let (count, c) = (count_in_c(element.dims())?, c_type(element.dtype()));
                self.once(&format!("{} = {len};", self.len(out)));
                self.to.open(&format!("for (int64_t k = 0; k < {len}; k++) {{"));
                let to = self.data(out, &position)?;
                let from = format!("{} + k * {count}", self.at(&plain));
                self.copy_bytes(&to, &from, &format!("sizeof({c}) * (size_t){count}"));
                self.to.close(1);
            }
            ListKernel::Zeros => {
                let list = element(&inputs[0].ty)?;
                self.copy_list(&inputs[0], out)?;
                self.zeros(&self.pointer(out.root), &list, 0)?;
            }
            ListKernel::Add => {
                let (a, b) = (self.len(&inputs[0]), self.len(&inputs[1]));
                self.refuse(
                    call,
                    &format!("{a} != {b}"),
                    "cotangents of one list differ in length",
                );
                self.copy_list(&inputs[0], out)?;
                let element = element(&out.ty)?;
                let (to, from) = (self.pointer(out.root), self.pointer(inputs[1].root));
                self.sums(&to, &from, &element, 0)?;
            }
        }
        Ok(())
    }

    /// The number of elements of a list, in C.
    fn len(&self, list: &Place) -> String {
        format!("*(int64_t *)(void *){}", self.pointer(list.root))
    }

    /// A pointer to an element of a list, in C.
    fn data(&self, list: &Place, position: &str) -> Result<String> {
        let element = element(&list.ty)?;
        let pointer = self.pointer(list.root);
        let each = self.bytes(&element)?.next_multiple_of(64);
        Ok(format!("({pointer} + {HEAD} + ({position}) * {each})"))
    }

    pub fn empty_list(&mut self, name: &str, ty: Type) -> Result<Place> {
        let list = self.buffer(name, ty)?;
        self.clear_list(&list);
        Ok(list)
    }

    pub fn clear_list(&mut self, list: &Place) {
        self.clear_bytes(&self.pointer(list.root), "sizeof(int64_t)");
    }

    pub fn copy_list(&mut self, from: &Place, to: &Place) -> Result<()> {
        let each = self.bytes(&element(&from.ty)?)?.next_multiple_of(64);
        let (to, from) = (self.pointer(to.root), self.pointer(from.root));
        let bytes = format!("{HEAD} + (size_t)(*(int64_t *)(void *){from}) * {each}");
        self.kernel_of(Threads::Block, |emit| {
            emit.copy_bytes(&to, &from, &bytes);
            Ok(())
        })
    }

    /// Brings a list to where it is changed.
    fn moved(&mut self, from: &Place, to: &Place) -> Result<()> {
        if from.root == to.root { Ok(()) } else { self.copy_list(from, to) }
    }

    /// Puts a value on top.
    pub fn push(&mut self, call: &Call, list: &Place, value: &Place) -> Result<()> {
        let len = self.len(list);
        let value = if value.ty.is_list() { value.clone() } else { self.plain(value)? };
        self.touch(list.root);
        self.touch(value.root);
        self.kernel_of(Threads::Block, |emit| {
            emit.refuse(call, &format!("{len} >= {}", emit.capacity), FULL);
            emit.set(list, &len, &value)?;
            emit.once(&format!("{len} += 1;"));
            Ok(())
        })
    }

    fn set(&mut self, list: &Place, position: &str, value: &Place) -> Result<()> {
        let to = self.data(list, position)?;
        if value.ty.is_list() {
            let each = self.bytes(&element(&value.ty)?)?.next_multiple_of(64);
            let (from, len) = (self.pointer(value.root), self.len(value));
            self.copy_bytes(&to, &from, &format!("{HEAD} + (size_t)({len}) * {each}"));
            return Ok(());
        }
        // Within a kernel, what is not plain was copied before.
        let plain = self.plain(value)?;
        let (count, c) = (count_in_c(value.ty.dims())?, c_type(value.ty.dtype()));
        let from = self.at(&plain);
        self.copy_bytes(&to, &from, &format!("sizeof({c}) * (size_t){count}"));
        Ok(())
    }

    fn element_to(&mut self, list: &Place, position: &str, to: &Place) -> Result<()> {
        let from = self.data(list, position)?;
        let bytes = match element(&to.ty) {
            Ok(inner) => {
                let each = self.bytes(&inner)?.next_multiple_of(64);
                format!("{HEAD} + (size_t)(*(int64_t *)(void *){from}) * {each}")
            }
            Err(_) => {
                let count = count_in_c(to.ty.dims())?;
                format!("sizeof({}) * (size_t){count}", c_type(to.ty.dtype()))
            }
        };
        self.copy_bytes(&self.at(to), &from, &bytes);
        Ok(())
    }

    fn check_place(&mut self, call: &Call, list: &Place, place: &str) {
        let len = self.len(list);
        self.refuse(call, &format!("{place} < 0 || {place} >= {len}"), "no such place in the list");
    }

    fn refuse(&mut self, call: &Call, condition: &str, why: &str) {
        self.to.open(&format!("if ({condition}) {{"));
        let fails = self.fails(&place_of(call), &format!("\"{why}\""));
        self.to.line(&fails);
        self.to.close(1);
    }

    /// Makes the elements of a list zeros.
    fn zeros(&mut self, pointer: &str, each: &Type, depth: usize) -> Result<()> {
        let (k, bytes) = (format!("k{depth}"), self.bytes(each)?.next_multiple_of(64));
        self.to.open(&format!(
            "for (int64_t {k} = 0; {k} < *(int64_t *)(void *)({pointer}); {k}++) {{"
        ));
        let at = format!("{pointer} + {HEAD} + {k} * {bytes}");
        match each.element() {
            Some(inner) => self.zeros(&at, &inner, depth + 1)?,
            None => {
                let (c, count) = (c_type(each.dtype()), count_in_c(each.dims())?);
                self.clear_bytes(&at, &format!("sizeof({c}) * (size_t){count}"));
            }
        }
        self.to.close(1);
        Ok(())
    }

    /// Adds the elements of one list to those of another.
    fn sums(&mut self, to: &str, from: &str, each: &Type, depth: usize) -> Result<()> {
        let (k, bytes) = (format!("k{depth}"), self.bytes(each)?.next_multiple_of(64));
        self.to.open(&format!("for (int64_t {k} = 0; {k} < *(int64_t *)(void *)({to}); {k}++) {{"));
        let (to, from) =
            (format!("{to} + {HEAD} + {k} * {bytes}"), format!("{from} + {HEAD} + {k} * {bytes}"));
        match (each.element(), each.dtype()) {
            (Some(inner), _) => self.sums(&to, &from, &inner, depth + 1)?,
            (None, dtype @ (DType::F32 | DType::F64)) => {
                let (c, count) = (c_type(dtype), count_in_c(each.dims())?);
                self.to.open(&format!("FL_EACH(j, {count}) {{"));
                self.to
                    .line(&format!("(({c} *)(void *)({to}))[j] += (({c} *)(void *)({from}))[j];"));
                self.to.close(1);
            }
            (None, dtype) => {
                return Err(Error::program(format!("lists of {dtype} are not added up in C")));
            }
        }
        self.to.close(1);
        Ok(())
    }
}

const FULL: &str = "the list is full: export with a larger --list";

fn element(list: &Type) -> Result<Type> {
    list.element().ok_or_else(|| Error::internal(format!("expected a list, found {list}")))
}
