//! Arrays in memory as a dataset.

use std::sync::Arc;

use fluvial_tensor::{Error, Result, Tensor};

use super::permutation::mix;
use super::stack::copy_rows;
use crate::source::{Dataset, Field};

/// Arrays in memory: sample `i` is element `i` of the first axis of each.
///
/// ```
/// use fluvial_data::{Dataset, reader::Arrays};
/// use fluvial_tensor::Tensor;
/// let arrays = Arrays::new([("x", Tensor::from_slice(&[1, 2, 3, 4, 5, 6], &[3, 2])?)])?;
/// assert_eq!(arrays.len(), 3);
/// assert_eq!(arrays.gather(&[2, 0])?[0].to_vec::<i32>()?, [5, 6, 1, 2]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub struct Arrays {
    fields: Vec<Field>,
    /// In row-major order.
    arrays: Vec<Tensor>,
    len: usize,
}

impl Arrays {
    /// A dataset of these arrays, which must have as many elements on their first axes.
    pub fn new<'a>(named: impl IntoIterator<Item = (&'a str, Tensor)>) -> Result<Arrays> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (name, array) in named {
            if array.rank() == 0 {
                return Err(Error::shape(format!("`{name}` has no axis of samples"))
                    .remedy("give arrays of which the first axis counts the samples"));
            }
            let ty = array.ty();
            let ty = ty.with_dims(&ty.dims()[1..])?;
            fields.push(Field { name: name.into(), ty });
            arrays.push(array.contiguous()?);
        }
        let Some(len) = arrays.first().map(|array| array.dims()[0]) else {
            return Err(Error::argument("a dataset of no arrays has no samples"));
        };
        if let Some(other) = arrays.iter().position(|array| array.dims()[0] != len) {
            return Err(Error::shape(format!(
                "`{}` has {len} samples, but `{}` has {}",
                fields[0].name,
                fields[other].name,
                arrays[other].dims()[0]
            )));
        }
        Ok(Arrays { fields, arrays, len })
    }

    /// A number that tells different contents apart.
    pub(super) fn checksum(&self) -> u64 {
        let mut sum = self.len as u64;
        for (field, array) in self.fields.iter().zip(&self.arrays) {
            sum = sum_bytes(sum, field.name.as_bytes());
            sum = sum_bytes(sum, field.ty.to_string().as_bytes());
            sum = sum_bytes(sum, array.as_bytes().unwrap_or_default());
        }
        sum
    }
}

/// Four sums side by side, so that one does not wait for the other.
fn sum_bytes(start: u64, bytes: &[u8]) -> u64 {
    let mut lanes = [1, 2, 3, 4].map(|lane| mix(start.wrapping_add(lane)));
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let mut chunks = bytes.chunks_exact(32);
    for chunk in &mut chunks {
        for (lane, part) in lanes.iter_mut().zip(chunk.chunks_exact(8)) {
            *lane = (*lane ^ word(part)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
    }
    let sum = lanes.into_iter().fold(bytes.len() as u64, |sum, lane| mix(sum ^ lane));
    chunks.remainder().iter().fold(sum, |sum, &byte| mix(sum ^ u64::from(byte)))
}

impl Dataset for Arrays {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn len(&self) -> u64 {
        self.len as u64
    }

    fn gather(&self, numbers: &[u64]) -> Result<Vec<Tensor>> {
        numbers.iter().try_for_each(|&number| self.check(number))?;
        self.arrays
            .iter()
            .map(|array| {
                let mut sizes = array.dims().to_vec();
                sizes[0] = numbers.len();
                let mut out = Tensor::empty(array.dtype(), &sizes)?;
                let rows = numbers.iter().map(|&number| number as usize).enumerate();
                copy_rows(&mut out, array, rows)?;
                Ok(out)
            })
            .collect()
    }

    fn arrays(&self) -> Option<Vec<(Arc<str>, Tensor)>> {
        Some(self.fields.iter().map(|field| field.name.clone()).zip(self.arrays.clone()).collect())
    }

    fn get(&self, number: u64) -> Result<Vec<Tensor>> {
        self.check(number)?;
        self.arrays.iter().map(|array| array.index(0, number as usize)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_tensor::DType;

    #[test]
    fn samples_of_every_dtype_are_gathered() {
        for dtype in DType::ALL {
            let values: Vec<f64> = (0..24).map(f64::from).collect();
            let array = Tensor::from_f64s(dtype, &values, &[4, 3, 2]).unwrap();
            let array = array.transpose(1, 2).unwrap();
            let arrays = Arrays::new([("x", array.clone())]).unwrap();
            assert_eq!(arrays.fields()[0].ty.to_string(), format!("{dtype}[2, 3]"));
            let got = arrays.gather(&[3, 1, 3]).unwrap().remove(0);
            for (i, number) in [3, 1, 3].into_iter().enumerate() {
                let expected = array.index(0, number).unwrap();
                assert!(got.index(0, i).unwrap().bitwise_eq(&expected));
                assert!(arrays.get(number as u64).unwrap()[0].bitwise_eq(&expected));
            }
            assert_eq!(arrays.gather(&[]).unwrap()[0].dims(), [0, 2, 3]);
        }
    }

    #[test]
    fn mistakes_are_errors() {
        let x = |n: usize| Tensor::zeros(DType::F32, &[n]).unwrap();
        let message = |arrays: Vec<(&str, Tensor)>| Arrays::new(arrays).err().unwrap().to_string();
        assert_eq!(message(vec![("a", x(3)), ("b", x(4))]), "`a` has 3 samples, but `b` has 4");
        assert!(message(vec![("a", Tensor::scalar(1))]).contains("no axis of samples"));
        assert!(message(vec![]).contains("no arrays"));
        let arrays = Arrays::new([("x", x(3))]).unwrap();
        assert!(arrays.gather(&[0, 3]).is_err() && arrays.get(3).is_err());
    }

    #[test]
    fn checksums_tell_contents_apart() {
        let sum = |name: &str, values: &[f32], sizes: &[usize]| {
            let tensor = Tensor::from_slice(values, sizes).unwrap();
            Arrays::new([(name, tensor)]).unwrap().checksum()
        };
        let mut values = [0.5_f32; 20];
        let first = sum("x", &values, &[20]);
        assert_eq!(first, sum("x", &values, &[20]));
        assert_ne!(first, sum("y", &values, &[20]));
        assert_ne!(first, sum("x", &values, &[20, 1]));
        for i in 0..20 {
            values[i] = 1.5;
            assert_ne!(first, sum("x", &values, &[20]));
            values[i] = 0.5;
        }
    }
}
