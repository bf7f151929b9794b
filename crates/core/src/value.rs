//! What flows along an edge of a program: a tensor, a list of values, or a channel.

use std::sync::Arc;

use fluvial_tensor::{Error, Result, Tensor, Type};

use crate::device::DeviceTensor;
use crate::tasks::Channel;

/// A run-time value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A strided tensor in host memory.
    Tensor(Tensor),
    /// A tensor in the memory of a device.
    Device(Arc<DeviceTensor>),
    /// A stack of values: the history of a loop.
    List(List),
    /// Where tasks send values and receive them.
    Channel(Channel),
}

impl Value {
    /// The type of the value; all its dims are sizes.
    #[inline]
    pub fn ty(&self) -> Type {
        match self {
            Value::Tensor(tensor) => tensor.ty(),
            Value::Device(tensor) => tensor.ty(),
            Value::List(list) => list.ty,
            Value::Channel(channel) => channel.ty(),
        }
    }

    /// The tensor, or an error if this is a list. What is on a device is copied to the host, once.
    #[inline]
    pub fn tensor(&self) -> Result<&Tensor> {
        match self {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Device(tensor) => tensor.host(),
            _ => Err(Error::dtype(format!("expected a tensor, found {}", self.ty()))),
        }
    }

    /// The list, or an error if this is a tensor.
    pub fn list(&self) -> Result<&List> {
        match self {
            Value::List(list) => Ok(list),
            _ => Err(Error::dtype(format!("expected a list, found {}", self.ty()))),
        }
    }

    /// The channel, or an error if this is none.
    pub fn channel(&self) -> Result<&Channel> {
        match self {
            Value::Channel(channel) => Ok(channel),
            _ => Err(Error::dtype(format!("expected a channel, found {}", self.ty()))),
        }
    }

    /// Whether both values have the same type and the same bits; a channel equals itself.
    pub fn bitwise_eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Tensor(a), Value::Tensor(b)) => a.bitwise_eq(b),
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| x.bitwise_eq(y))
            }
            (Value::Channel(a), Value::Channel(b)) => a.same(b),
            (Value::Device(_), Value::Device(_) | Value::Tensor(_))
            | (Value::Tensor(_), Value::Device(_)) => {
                matches!((self.tensor(), other.tensor()), (Ok(a), Ok(b)) if a.bitwise_eq(b))
            }
            _ => false,
        }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}

impl From<List> for Value {
    fn from(list: List) -> Value {
        Value::List(list)
    }
}

impl From<Channel> for Value {
    fn from(channel: Channel) -> Value {
        Value::Channel(channel)
    }
}

/// A persistent stack. `push` and `pop` take constant time and share the tail, so a list saved
/// inside another list costs one pointer.
#[derive(Clone)]
pub struct List {
    head: Option<Arc<Cell>>,
    len: usize,
    ty: Type,
}

struct Cell {
    value: Value,
    tail: Option<Arc<Cell>>,
}

impl List {
    /// The empty list of elements of type `element`.
    pub fn new(element: Type) -> Result<List> {
        Ok(List { head: None, len: 0, ty: element.list_of()? })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The type every element is declared to have; sizes may differ from element to element
    /// where it has symbols.
    pub fn element(&self) -> Type {
        self.ty.element().expect("a list type has an element type")
    }

    /// The list with `value` on top.
    pub fn push(&self, value: Value) -> List {
        let cell = Cell { value, tail: self.head.clone() };
        List { head: Some(Arc::new(cell)), len: self.len + 1, ty: self.ty }
    }

    /// The list without its top, and the top; nothing if the list is empty.
    pub fn pop(&self) -> Option<(List, Value)> {
        let cell = self.head.as_ref()?;
        let rest = List { head: cell.tail.clone(), len: self.len - 1, ty: self.ty };
        Some((rest, cell.value.clone()))
    }

    /// The elements from the top down.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        let mut next = self.head.as_deref();
        std::iter::from_fn(move || {
            let cell = next?;
            next = cell.tail.as_deref();
            Some(&cell.value)
        })
    }

    /// A list of these elements, the last of them on top.
    pub fn from_bottom(element: Type, values: impl IntoIterator<Item = Value>) -> Result<List> {
        Ok(values.into_iter().fold(List::new(element)?, |list, value| list.push(value)))
    }
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} elements", self.ty, self.len)
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // A loop may push a million times: dropping the chain must not recurse.
        let mut next = self.tail.take();
        while let Some(mut cell) = next.and_then(Arc::into_inner) {
            next = cell.tail.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use fluvial_tensor::DType;

    use super::*;

    #[test]
    fn lists_share_tails_and_drop_without_recursion() {
        let one = Value::from(Tensor::scalar(1.0f64));
        let base = List::new(Type::scalar(DType::F64)).unwrap();
        let mut list = base.clone();
        for _ in 0..1_000_000 {
            list = list.push(one.clone());
        }
        let (rest, _) = list.pop().unwrap();
        assert_eq!((rest.len(), list.len(), base.len()), (999_999, 1_000_000, 0));
        assert!(base.pop().is_none());
    }
}
