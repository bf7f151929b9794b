//! `pool_pick`: the elements at the positions that a max pool has given.

use super::geometry::are_places;
use super::max_unpool::MaxUnpool;
use crate::prelude::*;

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "pool_pick", text: include_str!("pool_pick.c"), needs: &[] };

attributes! {
    /// The elements at positions counted over the last axes: the gradient of [`MaxUnpool`].
    pub struct PoolPick = "pool_pick" {
        /// How many of the last axes the positions are counted over.
        pub axes: usize,
    }
}

impl Op for PoolPick {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        are_places(inputs[1], self.axes, inputs[0])?;
        Ok(smallvec![inputs[1].with_dtype(inputs[0].dtype())])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (x, places) = (inputs[0].tensor()?, inputs[1].tensor()?);
        Ok(smallvec![kernels::pool_pick(x, places, self.axes)?.into()])
    }

    fn fails(&self, inputs: &[&Type]) -> Option<Fault> {
        let (dims, rank) = (inputs[0].dims(), inputs[0].rank());
        Some(Fault::position(1, count_of(&dims[rank - self.axes..])?))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b10), |p| {
            let (axes, x) = (p.op::<PoolPick>()?.axes, p.in_type(0)?);
            let sizes = x.dims()[x.rank() - axes..].to_vec();
            grads![p => bind1(MaxUnpool { sizes }, &[&p.dy(), &p.x(1)]), None]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let leading = inputs[1].rank() - self.axes;
        let (full, places) = (inputs[0].dims(), inputs[1].dims());
        let sizes = [
            kernel::count(&full[..leading])?,
            kernel::count(&full[leading..])?,
            kernel::count(&places[leading..])?,
        ];
        let args = [Arg::In(0), Arg::In(1), Arg::Out(0)].into_iter().chain(sizes.map(Arg::Size));
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(PoolPick::NAME, PoolPick::build, || {
    let x = f64s(&[1.0, 2.0, 3.0, 4.0], &[1, 2, 2]);
    vec![
        Sample::new(PoolPick { axes: 2 }, [x.clone(), i64s(&[3, 0, -1], &[1, 1, 3])])
            .gives([f64s(&[4.0, 1.0, 0.0], &[1, 1, 3])]),
        Sample::new(PoolPick { axes: 1 }, [x.clone(), i64s(&[1, 0], &[1, 2, 1])])
            .gives([f64s(&[2.0, 3.0], &[1, 2, 1])]),
        Sample::new(PoolPick { axes: 1 }, [x.clone(), i64s(&[1, 2], &[1, 2, 1])])
            .refused("out of range"),
        Sample::new(PoolPick { axes: 2 }, [x.clone(), i64s(&[1], &[1, 1])])
            .refused("do not belong"),
        Sample::new(PoolPick { axes: 3 }, [x.clone(), i64s(&[1], &[1, 1, 1])])
            .refused("expected numbers with channels"),
    ]
});
