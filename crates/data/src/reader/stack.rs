//! Samples into batches.

use fluvial_tensor::{DType, Dim, Error, Number, Result, Tensor};

use crate::source::{Field, Sample};

/// Copies elements of the first axis of `from` to places on the first axis of `to`: pairs of the place and
/// the number. Both are contiguous, and agree in all but the first axis.
pub(super) fn copy_rows(
    to: &mut Tensor,
    from: &Tensor,
    rows: impl Iterator<Item = (usize, usize)>,
) -> Result<()> {
    let n_elements: usize = from.dims()[1..].iter().product();
    copy_parts(
        to,
        from,
        rows.map(|(place, row)| (place * n_elements, row * n_elements, n_elements)),
    )
}

/// Copies ranges of elements: where to, where from, and how many. Both tensors are contiguous.
fn copy_parts(
    to: &mut Tensor,
    from: &Tensor,
    parts: impl Iterator<Item = (usize, usize, usize)>,
) -> Result<()> {
    let no_order = || Error::internal("elements to be copied are not in row-major order");
    if to.dtype().is_bool() {
        let from = from.as_slice::<bool>().ok_or_else(no_order)?;
        let to = to.as_mut_slice::<bool>()?;
        parts.for_each(|(at, start, len)| {
            to[at..at + len].copy_from_slice(&from[start..start + len])
        });
        return Ok(());
    }
    let size = to.dtype().size();
    let from = from.as_bytes().ok_or_else(no_order)?;
    let to = to.as_bytes_mut()?;
    parts.for_each(|(at, start, len)| {
        let (at, start, len) = (at * size, start * size, len * size);
        to[at..at + len].copy_from_slice(&from[start..start + len]);
    });
    Ok(())
}

/// A tensor with every element `value`.
pub(super) fn filled(dtype: DType, sizes: &[usize], value: f64) -> Result<Tensor> {
    Number::from(value).element(dtype)?.expand(sizes)?.copy()
}

/// Makes the first axis longer, by elements of this value.
pub(super) fn lengthen(x: &Tensor, size: usize, value: f64) -> Result<Tensor> {
    if x.dims()[0] == size {
        return Ok(x.clone());
    }
    let mut sizes = x.dims().to_vec();
    sizes[0] = size;
    let mut out = filled(x.dtype(), &sizes, value)?;
    copy_parts(&mut out, &x.contiguous()?, std::iter::once((0, 0, x.numel())))?;
    Ok(out)
}

/// Stacks the samples along a new first axis. A field with a padding value is lengthened to the longest.
pub(super) fn stack(samples: &[Sample], fields: &[Field], pads: &[Option<f64>]) -> Result<Sample> {
    let column = |(i, (field, pad)): (usize, (&Field, &Option<f64>))| {
        let tensors: Vec<&Tensor> = samples.iter().filter_map(|sample| sample.get(i)).collect();
        stack_field(&tensors, field, *pad)
    };
    fields.iter().zip(pads).enumerate().map(column).collect()
}

/// Stacks samples of these fields along a new first axis: for datasets that make them one by one.
pub fn stack_samples(samples: &[Sample], fields: &[Field]) -> Result<Vec<Tensor>> {
    stack(samples, fields, &vec![None; fields.len()])
}

fn stack_field(tensors: &[&Tensor], field: &Field, pad: Option<f64>) -> Result<Tensor> {
    let mut sizes = match tensors.first() {
        Some(first) => first.dims().to_vec(),
        None => field.ty.sizes().map(|sizes| sizes.to_vec()).unwrap_or_default(),
    };
    let n_free = usize::from(pad.is_some() && !sizes.is_empty());
    if let Some(other) = tensors
        .iter()
        .find(|other| other.rank() != sizes.len() || other.dims()[n_free..] != sizes[n_free..])
    {
        return Err(uneven(field, &sizes, other.dims()));
    }
    if n_free == 1 {
        sizes[0] = tensors.iter().map(|tensor| tensor.dims()[0]).max().unwrap_or(0);
    }
    let row: usize = sizes.iter().product();
    let whole: Vec<usize> = std::iter::once(tensors.len()).chain(sizes).collect();
    let dtype = tensors.first().map_or(field.ty.dtype(), |first| first.dtype());
    let mut out = match pad {
        Some(value) if tensors.iter().any(|tensor| tensor.numel() < row) => {
            filled(dtype, &whole, value)?
        }
        _ => Tensor::empty(dtype, &whole)?,
    };
    for (i, tensor) in tensors.iter().enumerate() {
        if tensor.dtype() != dtype {
            return Err(Error::dtype(format!(
                "field `{}` has {dtype} and {} elements in one batch",
                field.name,
                tensor.dtype()
            )));
        }
        copy_parts(&mut out, &tensor.contiguous()?, std::iter::once((i * row, 0, tensor.numel())))?;
    }
    Ok(out)
}

fn uneven(field: &Field, a: &[usize], b: &[usize]) -> Error {
    let name = &field.name;
    let fault = format!("field `{name}` has the sizes {a:?} and {b:?} in one batch");
    let only_first = a.len() == b.len() && !a.is_empty() && a[1..] == b[1..];
    Error::shape(fault).remedy(match only_first {
        true => format!("put `.pad({name:?})` before it, or batch results of one size only"),
        false => "make the sizes equal before; `pad` changes only the first one".into(),
    })
}

/// Refuses a sample of `who` that is not of these fields.
pub fn check_sample(sample: &[Tensor], fields: &[Field], who: &str) -> Result<()> {
    if sample.len() != fields.len() {
        return Err(Error::argument(format!(
            "{who} gave a sample of {} tensors, not of {}",
            sample.len(),
            fields.len()
        )));
    }
    let fits = |tensor: &Tensor, field: &Field| {
        let sizes = tensor.dims().iter().zip(field.ty.dims());
        tensor.dtype() == field.ty.dtype()
            && tensor.rank() == field.ty.rank()
            && sizes.into_iter().all(|(&size, dim)| dim.is_symbolic() || *dim == Dim::size(size))
    };
    match sample.iter().zip(fields).find(|(tensor, field)| !fits(tensor, field)) {
        None => Ok(()),
        Some((tensor, field)) => Err(Error::argument(format!(
            "{who} gave {} as field `{}`, which is declared as {}",
            tensor.ty(),
            field.name,
            field.ty
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_tensor::Type;

    fn fields(text: &str) -> Vec<Field> {
        vec![Field { name: "x".into(), ty: Type::parse(text).unwrap() }]
    }

    #[test]
    fn sequences_are_lengthened_in_every_dtype() {
        for dtype in DType::ALL {
            let samples: Vec<Sample> = [1, 3, 0]
                .map(|n| vec![Tensor::from_f64s(dtype, &vec![1.0; n * 2], &[n, 2]).unwrap()])
                .into();
            let fields = fields(&format!("{dtype}[n, 2]"));
            let stacked = stack(&samples, &fields, &[Some(0.0)]).unwrap().remove(0);
            assert_eq!((stacked.dtype(), stacked.dims()), (dtype, &[3, 3, 2][..]));
            let (one, zero) = ([1.0; 2], [0.0; 2]);
            let expected = [one, zero, zero, one, one, one, zero, zero, zero].concat();
            assert_eq!(stacked.to_f64s(), expected);
        }
    }

    #[test]
    fn sizes_that_differ_are_named_with_the_remedy() {
        let sample = |sizes: &[usize]| vec![Tensor::zeros(DType::F32, sizes).unwrap()];
        let fields = fields("f32[n, 2]");
        let message =
            |a, b, pad| stack(&[sample(a), sample(b)], &fields, &[pad]).unwrap_err().to_string();
        assert_eq!(
            message(&[3, 2], &[4, 2], None),
            "field `x` has the sizes [3, 2] and [4, 2] in one batch\n  \
             remedy: put `.pad(\"x\")` before it, or batch results of one size only"
        );
        assert_eq!(
            message(&[3, 2], &[4, 1], Some(0.0)),
            "field `x` has the sizes [3, 2] and [4, 1] in one batch\n  \
             remedy: make the sizes equal before; `pad` changes only the first one"
        );
        assert!(stack(&[sample(&[3]), sample(&[3, 1])], &fields, &[None]).is_err());
    }

    #[test]
    fn nothing_is_stacked_to_nothing() {
        let stacked = stack(&[], &fields("i32[2, 3]"), &[None]).unwrap();
        assert_eq!(stacked[0].ty(), Type::parse("i32[0, 2, 3]").unwrap());
    }
}
