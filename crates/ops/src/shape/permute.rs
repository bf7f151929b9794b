//! `permute`: the axes in another order.

use crate::prelude::*;

/// The axes in another order, without a copy: axis `i` of the result is axis `axes[i]` of `x`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(permute(&x, &[1, 0])?.to_vec::<f64>()?, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn permute(x: &Var, axes: &[i64]) -> Result<Var> {
    bind1(Permute { axes: axes.to_vec() }, &[x])
}

attributes! {
    /// The op behind [`permute`].
    pub struct Permute = "permute" {
        /// Which axis of the input each axis of the result is.
        pub axes: Vec<i64>,
    }
}

impl Permute {
    fn order(&self, rank: usize) -> Result<Vec<usize>> {
        let order = self.axes.iter().map(|&i| axis(i, rank)).collect::<Result<Vec<_>>>()?;
        let complete = (0..rank).all(|i| order.contains(&i));
        match complete && order.len() == rank {
            true => Ok(order),
            false => Err(Error::argument(format!("{:?} does not name each axis once", self.axes))),
        }
    }
}

impl Op for Permute {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        let order = self.order(inputs[0].rank())?;
        let dims: SmallVec<[Dim; 8]> = order.iter().map(|&i| inputs[0].dim(i)).collect();
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Ok(smallvec![x.permute(&self.order(x.rank())?)?.into()])
    }

    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        let order = self.order(on.ty(inputs[0]).rank())?;
        let inner = on.producer(inputs[0]).and_then(|call| {
            let order = call.op.downcast::<Permute>()?.order(order.len()).ok()?;
            Some((order, call.inputs[0]))
        });
        let (order, source, is_new) = match inner {
            Some((inner, source)) => (order.iter().map(|&i| inner[i]).collect(), source, true),
            None => (order, inputs[0], false),
        };
        if order.is_sorted() {
            return Ok(Some(smallvec![source]));
        }
        let axes = order.iter().map(|&axis| axis as i64).collect();
        if is_new { on.call(Permute { axes }, &[source]).map(Some) } else { Ok(None) }
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let behind = self.axes.iter().map(|&named| batch.axis(named, batch.rank(0)));
        batch.with(Permute { axes: std::iter::once(0).chain(behind).collect() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let order = p.op::<Permute>()?.order(p.dy().rank())?;
            let mut inverse = vec![0; order.len()];
            for (i, &axis) in order.iter().enumerate() {
                inverse[axis] = i as i64;
            }
            grads![p => permute(&p.dy(), &inverse)]
        })
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let mut view = View::whole(inputs[0].rank());
        let order = self.order(inputs[0].rank())?;
        view.axes = order.iter().map(|&axis| smallvec![(axis, 1)]).collect();
        Ok(Some(Kernel::View(view)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Permute::NAME, Permute::build, || {
    let by = |axes: &[i64]| Permute { axes: axes.to_vec() };
    let x = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    vec![
        Sample::new(by(&[1, 0]), [x.clone()])
            .gives([f64s(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0], &[3, 2])]),
        Sample::new(by(&[0, -1]), [x.clone()]).gives([x.clone()]),
        Sample::new(by(&[2, 0, 1]), [f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 1, 2])])
            .gives([f64s(&[1.0, 3.0, 2.0, 4.0], &[2, 2, 1])]),
        Sample::new(by(&[]), [f64s(&[7.0], &[])]).gives([f64s(&[7.0], &[])]),
        Sample::new(by(&[0, 0]), [x.clone()]).refused("each axis once"),
        Sample::new(by(&[0, 2]), [x]).refused("out of range"),
    ]
});
