//! `merge_rows`: rows put back where a mask took them from.

use super::split_rows;
use super::split_rows::is_mask;
use crate::prelude::*;
use crate::shape::assume_dims;

/// The rows of `yes` where `mask` holds and the rows of `no` where it does not, each in order: what
/// [`split_rows`] took apart.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let mask = Var::of(&[true, false, true], &[3])?;
/// let x = merge_rows(&mask, &Var::of(&[1.0, 3.0], &[2])?, &Var::of(&[2.0], &[1])?)?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn merge_rows(mask: &Var, yes: &Var, no: &Var) -> Result<Var> {
    bind1(MergeRows {}, &[mask, yes, no])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "merge_rows", text: include_str!("merge_rows.c"), needs: &[] };

attributes! {
    /// The op behind [`merge_rows`].
    pub struct MergeRows = "merge_rows" {}
}

impl Op for MergeRows {
    fn arity(&self) -> Arity {
        Arity::Exactly(3)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (mask, yes, no) = (inputs[0], inputs[1], inputs[2]);
        is_mask(mask)?;
        let tensors = !yes.is_list() && !no.is_list() && yes.rank() > 0 && no.rank() > 0;
        if !tensors || yes.dims()[1..] != no.dims()[1..] || yes.dtype() != no.dtype() {
            return Err(Error::shape(format!("rows of {yes} and of {no} are not alike"))
                .remedy("both sides must return rows of one type"));
        }
        if let (Some(all), Some(a), Some(b)) =
            (mask.dim(0).value(), yes.dim(0).value(), no.dim(0).value())
            && a + b != all
        {
            return Err(Error::shape(format!("{a} and {b} rows do not make {all}")));
        }
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(yes.dims());
        dims[0] = mask.dim(0);
        Ok(smallvec![yes.with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (mask, yes, no) = (inputs[0].tensor()?, inputs[1].tensor()?, inputs[2].tensor()?);
        Ok(smallvec![kernels::merge_rows(mask, yes, no)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Shape))
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b1), |p| {
            let (yes, no) = split_rows(&p.x(0), &p.dy())?;
            // In a program the split names new sizes, which are those of the inputs.
            grads![p =>
                None,
                assume_dims(&yes, p.in_type(1)?.dims()),
                assume_dims(&no, p.in_type(2)?.dims()),
            ]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let width = kernel::count(&outs[0].dims()[1..])?;
        let sizes = [inputs[0].dim(0), inputs[1].dim(0), inputs[2].dim(0), width].map(Arg::Size);
        let args = [Arg::In(0), Arg::In(1), Arg::In(2), Arg::Out(0)].into_iter().chain(sizes);
        Native::new(&SOURCE, [outs[0].dtype()], args).failing().alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(MergeRows::NAME, MergeRows::build, || {
    let mask = bools(&[true, false, true], &[3]);
    let (yes, no) = (f64s(&[1.0, 2.0, 5.0, 6.0], &[2, 2]), f64s(&[3.0, 4.0], &[1, 2]));
    vec![
        Sample::new(MergeRows {}, [mask.clone(), yes.clone(), no.clone()])
            .gives([f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])]),
        Sample::new(MergeRows {}, [bools(&[true], &[1]), no.clone(), f64s(&[], &[0, 2])])
            .gives([no.clone()]),
        Sample::new(MergeRows {}, [mask.clone(), yes.clone(), ramp(&[1, 3])]).refused("not alike"),
        Sample::new(MergeRows {}, [mask.clone(), yes.clone(), yes.clone()])
            .refused("do not make 3"),
        Sample::new(MergeRows {}, [mask, no.clone(), no]).refused("do not make 3"),
    ]
});
