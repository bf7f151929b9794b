//! The elements of a tensor, part by part.

use fluvial_core::{DType, Element, Error, Result, Tensor, Value};
use fluvial_tensor::dispatch;

/// How many parts a value has: the size of the first axis, the length of a list; none for a single number.
pub fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Tensor(tensor) => tensor.dims().first().copied(),
        Value::List(list) => Some(list.len()),
        Value::Device(here) => here.ty().dims().first().and_then(|dim| dim.value()),
        Value::Channel(_) => None,
    }
}

/// The parts of a value from `start` on, at most `count`, as [`length`] counts them: sub-tensors along the first axis,
/// which share its memory, or the elements of a list, the one that came first being number 0.
pub fn rows(value: &Value, start: usize, count: usize) -> Result<Vec<Value>> {
    let length = length(value).unwrap_or(0);
    let stop = start.saturating_add(count).min(length);
    match value {
        Value::Tensor(_) | Value::Device(_) => {
            let tensor = value.tensor()?;
            (start..stop).map(|i| tensor.index(0, i).map(Value::from)).collect()
        }
        Value::List(list) => {
            let from_top = list.iter().skip(length - stop).take(stop.saturating_sub(start));
            let mut found: Vec<Value> = from_top.cloned().collect();
            found.reverse();
            Ok(found)
        }
        Value::Channel(_) => Ok(Vec::new()),
    }
}

/// One element as text, with as many digits as tell it from its neighbours. An index has a number for each axis.
pub fn element_text(tensor: &Tensor, index: &[usize]) -> Result<String> {
    if index.len() != tensor.rank() {
        return Err(Error::index(format!(
            "an index of {} numbers was given for {}",
            index.len(),
            tensor.ty()
        ))
        .remedy("give one number for each axis"));
    }
    let mut element = tensor.clone();
    for (axis, &i) in index.iter().enumerate() {
        let size = element.dims()[0];
        if i >= size {
            return Err(Error::index(format!(
                "index {i} is out of range for axis {axis} of size {size}"
            ))
            .in_op("element", &[&tensor.ty()]));
        }
        element = element.index(0, i)?;
    }
    dispatch!(element.dtype(), T => element.item::<T>().map(text))
}

/// An element as text.
pub(super) fn text<T: Element>(x: T) -> String {
    match (T::DTYPE.is_float(), T::DTYPE.is_bool()) {
        (true, _) if T::DTYPE.size() < 8 => format!("{:?}", x.to_f64() as f32),
        (true, _) => format!("{:?}", x.to_f64()),
        (_, true) => (x.to_i64() != 0).to_string(),
        _ if T::DTYPE == DType::U64 => (x.to_i64() as u64).to_string(),
        _ => x.to_i64().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use fluvial_core::{List, Type};

    use super::*;

    #[test]
    fn elements_have_all_their_digits() {
        let tensor = Tensor::from_slice(&[0.1f32, 1e-9, 16_777_216.0, f32::NAN], &[2, 2]).unwrap();
        assert_eq!(element_text(&tensor, &[0, 0]).unwrap(), "0.1");
        assert_eq!(element_text(&tensor, &[0, 1]).unwrap(), "1e-9");
        assert_eq!(element_text(&tensor, &[1, 0]).unwrap(), "16777216.0");
        assert_eq!(element_text(&tensor, &[1, 1]).unwrap(), "NaN");
        assert_eq!(element_text(&Tensor::scalar(i64::MAX), &[]).unwrap(), "9223372036854775807");
        assert_eq!(element_text(&Tensor::scalar(true), &[]).unwrap(), "true");
        assert!(element_text(&tensor, &[2, 0]).unwrap_err().message().contains("out of range"));
        assert!(element_text(&tensor, &[0]).unwrap_err().remedy_text().is_some());
    }

    #[test]
    fn pages_stay_within_what_is_there() {
        let tensor =
            Value::from(Tensor::from_f64s(DType::I32, &[0., 1., 2., 3., 4., 5.], &[3, 2]).unwrap());
        let of = |value: &Value, start, count| -> Vec<Vec<f64>> {
            let rows = rows(value, start, count).unwrap();
            rows.iter().map(|row| row.tensor().unwrap().to_f64s()).collect()
        };
        assert_eq!(of(&tensor, 1, 1), [[2.0, 3.0]]);
        assert_eq!(of(&tensor, 2, usize::MAX), [[4.0, 5.0]]);
        assert_eq!(of(&tensor, 7, 1), [[0.0; 0]; 0]);
        assert_eq!(of(&Tensor::scalar(1.0f32).into(), 0, 5), [[0.0; 0]; 0]);
        let scalars = (0..5).map(|i| Value::from(Tensor::scalar(f64::from(i))));
        let list = Value::from(List::from_bottom(Type::scalar(DType::F64), scalars).unwrap());
        assert_eq!(length(&list), Some(5));
        assert_eq!(of(&list, 1, 2), [[1.0], [2.0]]);
        assert_eq!(of(&list, 4, 2), [[4.0]]);
        assert_eq!(of(&list, 9, 2), [[0.0; 0]; 0]);
    }
}
