//! Conversions from and to `ndarray`.

use super::Tensor;
use crate::element::Element;
use crate::error::{Error, Result};
use ::ndarray::{ArrayD, IxDyn};

/// Takes over the array's memory if it is in row-major order, else copies.
impl<T: Element> TryFrom<ArrayD<T>> for Tensor {
    type Error = Error;

    fn try_from(array: ArrayD<T>) -> Result<Tensor> {
        if !array.is_standard_layout() {
            return Tensor::try_from(&array);
        }
        let (dims, numel) = (array.shape().to_vec(), array.len());
        let (mut values, offset) = array.into_raw_vec_and_offset();
        values.drain(..offset.unwrap_or(0));
        values.truncate(numel);
        Tensor::from_vec(values, &dims)
    }
}

/// Copies the array.
impl<T: Element> TryFrom<&ArrayD<T>> for Tensor {
    type Error = Error;

    fn try_from(array: &ArrayD<T>) -> Result<Tensor> {
        match array.as_slice() {
            Some(values) => Tensor::from_slice(values, array.shape()),
            None => Tensor::from_vec(array.iter().copied().collect(), array.shape()),
        }
    }
}

impl Tensor {
    /// A copy as an `ndarray` array; an error if the elements do not have the type `T`.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        ArrayD::from_shape_vec(IxDyn(self.dims()), self.to_vec::<T>()?).map_err(|cause| {
            Error::internal("ndarray refused the shape").source_error(Box::new(cause))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::ndarray::{Slice, arr2};

    #[test]
    fn arrays_keep_shape_and_order() {
        let array = arr2(&[[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]).into_dyn();
        let tensor = Tensor::try_from(&array).unwrap();
        assert_eq!(tensor.dims(), [2, 3]);
        assert_eq!(tensor.to_ndarray::<f32>().unwrap(), array);
        let columns = tensor.transpose(0, 1).unwrap().to_ndarray::<f32>().unwrap();
        assert_eq!(columns, array.t());
        let transposed = Tensor::try_from(array.clone().reversed_axes()).unwrap();
        assert_eq!(transposed.to_vec::<f32>().unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert!(tensor.to_ndarray::<f64>().is_err());
    }

    #[test]
    fn an_owned_array_gives_its_memory() {
        let array = ArrayD::from_shape_fn(IxDyn(&[3, 4]), |index| (index[0] * 4 + index[1]) as i64);
        let data = array.as_ptr();
        let tensor = Tensor::try_from(array.clone()).unwrap();
        assert_eq!(tensor.to_ndarray::<i64>().unwrap(), array);
        assert_eq!(Tensor::try_from(array).unwrap().data_ptr(), data.cast());
    }

    #[test]
    fn parts_scalars_and_empty_arrays() {
        let mut array = ArrayD::from_shape_fn(IxDyn(&[4]), |index| index[0] as u8);
        array.slice_axis_inplace(::ndarray::Axis(0), Slice::from(1..3));
        assert_eq!(Tensor::try_from(array).unwrap().to_vec::<u8>().unwrap(), [1, 2]);
        let mut array = ArrayD::from_shape_fn(IxDyn(&[4]), |index| index[0] as u8);
        array.invert_axis(::ndarray::Axis(0));
        assert_eq!(Tensor::try_from(array).unwrap().to_vec::<u8>().unwrap(), [3, 2, 1, 0]);
        let scalar = ArrayD::from_elem(IxDyn(&[]), true);
        assert!(Tensor::try_from(scalar).unwrap().item::<bool>().unwrap());
        let none = ArrayD::<f32>::zeros(IxDyn(&[2, 0]));
        assert_eq!(Tensor::try_from(&none).unwrap().to_ndarray::<f32>().unwrap(), none);
        assert!(Tensor::try_from(ArrayD::<f32>::zeros(IxDyn(&[1; 9]))).is_err());
    }
}
