//! Kernels that work along one axis: each lane, the elements along it, at a time.

use fluvial_tensor::{Element, Error, Result, Tensor};
use smallvec::SmallVec;

use crate::copy::check_axis;
use crate::strided::View;

/// Applies `f` to each lane of the inputs along `axis`, converted to `A`; it fills a lane of `len`
/// elements of the result. The inputs differ in size along the axis only.
pub(crate) fn along<A: Element, B: Element, const K: usize>(
    inputs: [&Tensor; K],
    axis: usize,
    len: usize,
    mut f: impl FnMut([&[A]; K], &mut [B]) -> Result<()>,
) -> Result<Tensor> {
    inputs.iter().try_for_each(|input| check_axis(input, axis))?;
    let rank = inputs[0].rank();
    let order: SmallVec<[usize; 8]> = (0..rank).filter(|&i| i != axis).chain([axis]).collect();
    let mut inverse: SmallVec<[usize; 8]> = (0..rank).collect();
    order.iter().enumerate().for_each(|(at, &i)| inverse[i] = at);

    let mut dims: SmallVec<[usize; 8]> = order.iter().map(|&i| inputs[0].dims()[i]).collect();
    dims[rank - 1] = len;
    let mut out = Tensor::empty(B::DTYPE, &dims)?;
    if out.numel() > 0 {
        let permuted: SmallVec<[Tensor; 2]> =
            inputs.iter().map(|input| input.permute(&order)).collect::<Result<_>>()?;
        let views: SmallVec<[View<'_>; 2]> = permuted.iter().map(View::new).collect();
        let mut lanes: SmallVec<[Vec<A>; 2]> =
            inputs.iter().map(|input| room(input.dims()[axis])).collect::<Result<_>>()?;
        for (i, out) in out.as_mut_slice::<B>()?.chunks_exact_mut(len).enumerate() {
            for (lane, view) in lanes.iter_mut().zip(&views) {
                view.copy_to(i * lane.len(), lane);
            }
            f(std::array::from_fn(|k| lanes[k].as_slice()), out)?;
        }
    }
    out.permute(&inverse)
}

/// Room for so many elements; a view may repeat one more often than memory could hold it.
pub(crate) fn room<T: Element>(len: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(len)
        .map_err(|_| Error::memory(format!("cannot allocate room for {len} elements")))?;
    room.resize(len, T::default());
    Ok(room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;
    use fluvial_tensor::DType;

    #[test]
    fn lanes_of_every_axis() {
        let mut rng = Rng::new(21);
        let x = rng.tensor(DType::F32, &[2, 3, 4]);
        for axis in 0..3 {
            let backwards = along([&rng.scramble(&x)], axis, x.dims()[axis], |[lane], out| {
                out.iter_mut().zip(lane.iter().rev()).for_each(|(to, &from): (_, &f64)| *to = from);
                Ok(())
            });
            let n = x.dims()[axis];
            let want = x.slice(axis, n - 1, n, -1).unwrap().to_f64s();
            assert_eq!(backwards.unwrap().to_f64s(), want);
        }
        let none = Tensor::zeros(DType::F32, &[2, 0]).unwrap();
        let copied = along([&none], 1, 0, |_: [&[f64]; 1], _: &mut [f64]| Ok(())).unwrap();
        assert_eq!(copied.dims(), [2, 0]);
        assert!(room::<i64>(usize::MAX / 8).is_err());
        assert!(along([&none], 2, 0, |_: [&[f64]; 1], _: &mut [f64]| Ok(())).is_err());
    }
}
