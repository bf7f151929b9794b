//! Views: other sizes and strides over the same memory.

use super::Tensor;
use crate::error::{Error, Result};
use crate::ty::Shape;

impl Tensor {
    /// A view whose axis `i` is axis `axes[i]` of this tensor.
    pub fn permute(&self, axes: &[usize]) -> Result<Tensor> {
        Ok(self.normalized(self.layout.permute(axes)?))
    }

    /// A view with two axes exchanged.
    pub fn transpose(&self, a: usize, b: usize) -> Result<Tensor> {
        Ok(self.normalized(self.layout.transpose(a, b)?))
    }

    /// A view of the elements `start + i * step` of an axis, for `i` below `len`. All must be in
    /// range and `step` must not be 0; a negative one runs backwards.
    pub fn slice(&self, axis: usize, start: usize, len: usize, step: isize) -> Result<Tensor> {
        Ok(self.normalized(self.layout.slice(axis, start, len, step)?))
    }

    /// A view that repeats axes of size 1 and adds axes in front, up to the sizes `dims`.
    pub fn expand(&self, dims: &[usize]) -> Result<Tensor> {
        Ok(self.normalized(self.layout.expand(dims)?))
    }

    /// The elements in row-major order with other sizes, without a copy; none if strides cannot
    /// express it or the number of elements differs.
    pub fn view(&self, dims: &[usize]) -> Option<Tensor> {
        Some(self.normalized(self.layout.reshape(dims)?))
    }

    /// The elements in row-major order with other sizes: a view where that is possible, else a
    /// copy.
    pub fn reshape(&self, dims: &[usize]) -> Result<Tensor> {
        if let Some(view) = self.view(dims) {
            return Ok(view);
        }
        let layout = crate::layout::Layout::contiguous(dims)?;
        if layout.numel() != self.numel() {
            return Err(Error::shape(format!(
                "shape {} with {} elements does not reshape to {} with {}",
                Shape(self.dims()),
                self.numel(),
                Shape(dims),
                layout.numel()
            )));
        }
        Ok(Tensor { layout, ..self.copy()? })
    }

    /// A view without an axis of size 1.
    pub fn squeeze(&self, axis: usize) -> Result<Tensor> {
        Ok(self.normalized(self.layout.squeeze(axis)?))
    }

    /// A view with a new axis of size 1 before `axis`, or at the end.
    pub fn unsqueeze(&self, axis: usize) -> Result<Tensor> {
        Ok(self.normalized(self.layout.unsqueeze(axis)?))
    }

    /// A view of the elements whose positions on axis `b` are those on axis `a` plus `offset`: a new
    /// last axis in place of the two.
    pub fn diagonal(&self, a: usize, b: usize, offset: isize) -> Result<Tensor> {
        Ok(self.normalized(self.layout.diagonal(a, b, offset)?))
    }

    /// A view of all windows of `size` neighbours on an axis, `step` apart: the axis counts the
    /// windows, a new last one the elements within. Windows may overlap.
    pub fn windows(&self, axis: usize, size: usize, step: usize) -> Result<Tensor> {
        Ok(self.normalized(self.layout.windows(axis, size, step)?))
    }

    /// A view of element `i` of an axis, without that axis.
    pub fn index(&self, axis: usize, i: usize) -> Result<Tensor> {
        Ok(self.normalized(self.layout.index(axis, i)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::testing::Rng;

    /// A tensor as sizes and row-major values; every view is a copy by index arithmetic.
    struct Model {
        dims: Vec<usize>,
        values: Vec<i32>,
    }

    impl Model {
        fn get(&self, index: &[usize]) -> i32 {
            let flat = index.iter().zip(&self.dims).fold(0, |flat, (i, n)| flat * n + i);
            self.values[flat]
        }

        /// Element `index` of the result is element `source(index)` of this.
        fn map(&self, dims: Vec<usize>, source: impl Fn(&[usize]) -> Vec<usize>) -> Model {
            let numel: usize = dims.iter().product();
            let values = (0..numel).map(|mut flat| {
                let mut index = vec![0; dims.len()];
                for axis in (0..dims.len()).rev() {
                    index[axis] = flat % dims[axis];
                    flat /= dims[axis];
                }
                self.get(&source(&index))
            });
            Model { values: values.collect(), dims: dims.clone() }
        }
    }

    fn random_dims(rng: &mut Rng, rank: usize) -> Vec<usize> {
        (0..rank).map(|_| [0, 1, 1, 2, 3, 4, 5, 3][rng.below(8)]).collect()
    }

    /// Splits a number of elements into random sizes.
    fn random_split(rng: &mut Rng, mut numel: usize) -> Vec<usize> {
        let mut dims = vec![];
        while numel > 1 && dims.len() < 5 {
            let divisors: Vec<usize> = (1..=numel).filter(|d| numel.is_multiple_of(*d)).collect();
            let n = divisors[rng.below(divisors.len())];
            dims.push(n);
            numel /= n;
        }
        dims.push(numel);
        dims
    }

    fn random_step(rng: &mut Rng, tensor: &Tensor, model: &Model) -> (Tensor, Model) {
        let dims = model.dims.clone();
        let rank = dims.len();
        match rng.below(9) {
            0 => {
                let mut axes: Vec<usize> = (0..rank).collect();
                for i in (1..rank).rev() {
                    axes.swap(i, rng.below(i + 1));
                }
                let new = axes.iter().map(|&axis| dims[axis]).collect();
                let source = |index: &[usize]| {
                    let mut from = vec![0; rank];
                    for (to, &axis) in axes.iter().enumerate() {
                        from[axis] = index[to];
                    }
                    from
                };
                (tensor.permute(&axes).unwrap(), model.map(new, source))
            }
            1 | 2 if rank > 0 && !dims.contains(&0) => {
                let axis = rng.below(rank);
                let n = dims[axis];
                let start = rng.below(n);
                let step: isize = [1, 2, 3, -1, -2, -3][rng.below(6)];
                let room = if step > 0 { n - 1 - start } else { start };
                let len = rng.below(room / step.unsigned_abs() + 2);
                let mut new = dims.clone();
                new[axis] = len;
                let source = |index: &[usize]| {
                    let mut from = index.to_vec();
                    from[axis] = (start as isize + index[axis] as isize * step) as usize;
                    from
                };
                (tensor.slice(axis, start, len, step).unwrap(), model.map(new, source))
            }
            3 => {
                let added = rng.below(2);
                let mut new = random_dims(rng, added);
                new.extend(dims.iter().map(|&n| if n == 1 { rng.below(4) } else { n }));
                let source = |index: &[usize]| {
                    let pairs = index[added..].iter().zip(&dims);
                    pairs.map(|(&i, &n)| if n == 1 { 0 } else { i }).collect()
                };
                (tensor.expand(&new).unwrap(), model.map(new.clone(), source))
            }
            4 => {
                let new = random_split(rng, model.values.len());
                let values = model.values.clone();
                if let Some(view) = tensor.view(&new) {
                    assert!(view.shares_storage(tensor) || view.storage_refs() == 1);
                }
                (tensor.reshape(&new).unwrap(), Model { dims: new, values })
            }
            5 => {
                let axis = rng.below(rank + 1);
                let mut new = dims.clone();
                new.insert(axis, 1);
                let values = model.values.clone();
                let unsqueezed = tensor.unsqueeze(axis).unwrap();
                let back = unsqueezed.squeeze(axis).unwrap();
                assert_eq!(back.dims(), tensor.dims());
                (unsqueezed, Model { dims: new, values })
            }
            6 if rank > 0 && !dims.contains(&0) => {
                let axis = rng.below(rank);
                let i = rng.below(dims[axis]);
                let mut new = dims.clone();
                new.remove(axis);
                let source = |index: &[usize]| {
                    let mut from = index.to_vec();
                    from.insert(axis, i);
                    from
                };
                (tensor.index(axis, i).unwrap(), model.map(new, source))
            }
            7 if rank > 1 => {
                let a = rng.below(rank);
                let b = (a + 1 + rng.below(rank - 1)) % rank;
                let offset = rng.below(5) as isize - 2;
                let (down, right) = ((-offset).max(0) as usize, offset.max(0) as usize);
                let len = dims[a].saturating_sub(down).min(dims[b].saturating_sub(right));
                let others: Vec<usize> = (0..rank).filter(|&i| i != a && i != b).collect();
                let mut new: Vec<usize> = others.iter().map(|&i| dims[i]).collect();
                new.push(len);
                let source = |index: &[usize]| {
                    let mut from = vec![0; rank];
                    let (last, rest) = index.split_last().unwrap();
                    others.iter().zip(rest).for_each(|(&axis, &i)| from[axis] = i);
                    (from[a], from[b]) = (last + down, last + right);
                    from
                };
                (tensor.diagonal(a, b, offset).unwrap(), model.map(new, source))
            }
            8 if rank > 0 && rank < 6 => {
                let axis = rng.below(rank);
                let (size, step) = (rng.below(dims[axis] + 1), 1 + rng.below(3));
                let mut new = dims.clone();
                new[axis] = (dims[axis] - size) / step + 1;
                new.push(size);
                let source = |index: &[usize]| {
                    let (within, rest) = index.split_last().unwrap();
                    let mut from = rest.to_vec();
                    from[axis] = from[axis] * step + within;
                    from
                };
                (tensor.windows(axis, size, step).unwrap(), model.map(new, source))
            }
            _ => (tensor.clone(), model.map(dims, |index| index.to_vec())),
        }
    }

    fn check(tensor: &Tensor, model: &Model) {
        assert_eq!(tensor.dims(), model.dims);
        assert_eq!(tensor.numel(), model.values.len());
        assert_eq!(tensor.to_vec::<i32>().unwrap(), model.values);
        let floats: Vec<f64> = model.values.iter().map(|&v| f64::from(v)).collect();
        assert_eq!(tensor.to_f64s(), floats);
        assert_eq!(tensor.cast(DType::F64).unwrap().as_slice::<f64>().unwrap(), floats);
        let packed = tensor.contiguous().unwrap();
        assert_eq!(packed.as_slice::<i32>().unwrap(), model.values);
        assert!(packed.is_contiguous() && packed.bitwise_eq(tensor) && tensor.bitwise_eq(&packed));
        if let Some(values) = tensor.as_slice::<i32>() {
            assert_eq!(values, model.values);
        }
        if !model.values.is_empty() {
            let first = vec![0; model.dims.len()];
            assert_eq!(tensor.get_f64(&first).unwrap(), f64::from(model.get(&first)));
        }
    }

    #[test]
    fn random_chains_of_views_match_index_arithmetic() {
        let mut rng = Rng::new(5);
        for _ in 0..3_000 {
            let rank = rng.below(5);
            let dims = random_dims(&mut rng, rank);
            let values: Vec<i32> = (0..dims.iter().product::<usize>() as i32).collect();
            let mut tensor = Tensor::from_slice(&values, &dims).unwrap();
            let mut model = Model { dims, values };
            for _ in 0..4 {
                if model.dims.len() > 6 || model.values.len() > 2_000 {
                    break;
                }
                let base_before = (tensor.clone(), model.values.clone());
                (tensor, model) = random_step(&mut rng, &tensor, &model);
                check(&tensor, &model);
                let mut written = tensor.clone();
                written.as_mut_slice::<i32>().unwrap().fill(-1);
                assert!(written.to_vec::<i32>().unwrap().iter().all(|&v| v == -1));
                check(&tensor, &model);
                assert_eq!(base_before.0.to_vec::<i32>().unwrap(), base_before.1);
            }
        }
    }

    #[test]
    fn views_share_and_reshape_copies_only_if_it_must() {
        let x = Tensor::from_vec((0..12).collect::<Vec<i64>>(), &[3, 4]).unwrap();
        let columns = x.transpose(0, 1).unwrap();
        assert!(columns.shares_storage(&x));
        assert_eq!((columns.strides(), columns.dims()), (&[1, 4][..], &[4, 3][..]));
        assert_eq!(x.storage_refs(), 2);
        assert!(columns.view(&[12]).is_none());
        let flat = columns.reshape(&[12]).unwrap();
        assert!(!flat.shares_storage(&x));
        assert_eq!(flat.to_vec::<i64>().unwrap(), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
        assert!(x.reshape(&[2, 6]).unwrap().shares_storage(&x));
        assert_eq!(
            x.reshape(&[5]).unwrap_err().to_string(),
            "shape [3, 4] with 12 elements does not reshape to [5] with 5"
        );
        assert!(x.reshape(&[1; 9]).is_err());
    }

    #[test]
    fn a_view_of_one_element_lets_go_of_the_memory() {
        let x = Tensor::from_slice(&[1.5_f32, 2.5, 3.5], &[3]).unwrap();
        let last = x.index(0, 2).unwrap();
        assert_eq!(last.item::<f32>().unwrap(), 3.5);
        assert!(!last.shares_storage(&x));
        assert_eq!((x.storage_refs(), last.storage_refs()), (1, 1));
        assert_eq!(x.slice(0, 1, 0, 1).unwrap().storage_refs(), 1);
        let repeated = last.expand(&[2, 2]).unwrap();
        assert_eq!(repeated.strides(), [0, 0]);
        assert_eq!(repeated.to_vec::<f32>().unwrap(), [3.5; 4]);
        assert_eq!(repeated.slice(0, 1, 2, -1).unwrap().index(1, 1).unwrap().dims(), [2]);
    }
}
